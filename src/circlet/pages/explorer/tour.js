// The tour: a few stops, each a run at a step with two sentences, as links.
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
    const link = element("a", { href: addressOf(stop), textContent: `${i + 1} ${stop.title}` });
    link.addEventListener("click", () => choose(stop));
    return element("li", {}, link);
  });
  byId("tour").hidden = !stops.length;
  byId("tour-stops").replaceChildren(...items);
  on("tour-next", "click", () => {
    choose(stops[(stops.indexOf(tour.stop) + 1) % stops.length]);
    location.hash = addressOf(tour.stop);
  });
}

/**
 * The stop at a place of a scene: the last one stays while its run does, unless one is reached that
 * is later in the tour. What an address names comes first, once.
 */
export function stopAt(/** @type {State["tour"]} */ { stops, stop, wanted }, scene, place) {
  const { run_id: runId } = scene.run;
  if (wanted?.run === runId) return wanted;
  const last = stop?.run === runId ? stop : undefined;
  const isHere = (one) => one.run === runId && scene.nearest(one.step) === place;
  const here = stops.findIndex(isHere);
  return here > stops.indexOf(last) ? stops[here] : last;
}

/** Tell of the stop where the reader is. */
export function tell(/** @type {State} */ { tour, scene, at }) {
  tour.stop = stopAt(tour, scene, at);
  if (tour.stop === tour.wanted) tour.wanted = undefined;
  say(tour);
}

function say(/** @type {State["tour"]} */ { stop }) {
  byId("tour-text").textContent = stop?.text ?? NOWHERE;
  for (const link of byId("tour-stops").querySelectorAll("a")) {
    const isHere = stop && link.hash === addressOf(stop);
    if (isHere) link.setAttribute("aria-current", "step");
    else link.removeAttribute("aria-current");
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
  byId("terms")
    .querySelector("dl")
    .replaceChildren(...entries);
}
