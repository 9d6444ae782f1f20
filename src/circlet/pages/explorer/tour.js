// The tour: a few stops, as links, each a run at a step with some sentences and pictures.
import { byId, element, on } from "circlet/controls";

const addressOf = ({ run, step }) => `#run=${run}&step=${step}`;

const NOWHERE = "Pick a stop of the tour, or any run below.";

/** Offer stops, those of runs that are in the page. */
export function offerTour(/** @type {State} */ { tour }) {
  const { stops } = tour;
  const choose = (stop) => {
    tour.stop = stop; // even if the address is its own already
    say(tour);
  };
  const items = stops.map((stop, i) => {
    const title = element("span", { textContent: ` ${stop.title}` });
    const properties = { href: addressOf(stop), ariaLabel: `${i + 1} ${stop.title}` };
    const link = element("a", properties, `${i + 1}`, title);
    link.addEventListener("click", () => choose(stop));
    return element("li", {}, link);
  });
  byId("tour").hidden = !stops.length;
  byId("tour-stops").replaceChildren(...items);
  on("tour-next", "click", () => {
    choose(stops[(stops.indexOf(tour.stop) + 1) % stops.length]);
    location.hash = addressOf(tour.stop);
    byId("tour").scrollIntoView();
  });
}

/**
 * The stop at a place of a scene: what an address names comes first, once; then the last one, while
 * its run stays.
 */
export function stopAt(/** @type {State["tour"]} */ { stops, stop, wanted }, scene, place) {
  const { run_id: runId } = scene.run;
  if (wanted?.run === runId) return wanted;
  if (stop?.run === runId) return stop;
  return stops.find((one) => one.run === runId && scene.nearest(one.step) === place);
}

/** Tell of the stop where the reader is, beside the pictures that it is about. */
export function tell(/** @type {State} */ { tour, scene, at, boards: [, , board] }) {
  tour.stop = stopAt(tour, scene, at);
  if (tour.stop === tour.wanted) tour.wanted = undefined;
  say(tour);
  const seen = tour.stop && scene;
  if (tour.drawn === tour.stop && board.scene === seen) return;
  tour.drawn = tour.stop;
  board.scene = seen;
  const panels = seen?.system.panels ?? [];
  const some = tour.stop?.panels ?? panels.slice(0, 1);
  const shown = some.filter((name) => panels.includes(name));
  board.use(seen?.system, shown);
  if (!seen) return;
  board.arrange(seen);
  board.drawCharts();
}

function say(/** @type {State["tour"]} */ { stops, stop }) {
  byId("tour-title").textContent = stop ? `${stop.title}. ` : "";
  byId("tour-words").textContent = stop?.text ?? NOWHERE;
  for (const id of ["tour-play", "tour-step"]) byId(id).hidden = !stop;
  byId("tour-next").textContent = stop === stops.at(-1) ? "First stop" : "Next stop";
  for (const link of byId("tour-stops").querySelectorAll("a")) {
    const isHere = stop && link.hash === addressOf(stop);
    link.ariaCurrent = isHere ? "step" : null;
  }
}

/** What is trained, in two sentences, and its words behind a question mark. */
export function introduce(/** @type {System} */ { introduction, terms }) {
  byId("introduction").textContent = introduction;
  const entries = Object.entries(terms).flatMap(([word, meaning]) => [
    element("dt", { textContent: word }),
    element("dd", { textContent: meaning }),
  ]);
  byId("terms").hidden = !entries.length;
  document.querySelector("#terms dl").replaceChildren(...entries);
}
