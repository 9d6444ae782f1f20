// The tour: a few stops, each a run at a step with two sentences, as links.
import { byId, element } from "circlet/controls";

const addressOf = ({ run, step }) => `#run=${run}&step=${step}`;

const NOWHERE = "Pick a stop, or look at any other run below.";

export class Tour {
  /** Stops of runs that are in the page. @param {Stop[]} stops */
  constructor(stops) {
    this.stops = stops;
    /** @type {Stop} */
    this.stop = undefined; // whose text is shown
    /** @type {Stop} */
    this.wanted = undefined; // that an address names
    byId("tour").hidden = !stops.length;
    const items = stops.map((stop, i) => {
      const words = { href: addressOf(stop), textContent: `${i + 1} ${stop.title}` };
      const link = element("a", words);
      link.addEventListener("click", () => this.choose(stop));
      return element("li", {}, link);
    });
    byId("tour-stops").replaceChildren(...items);
    byId("tour-next").addEventListener("click", () => {
      this.choose(stops[(stops.indexOf(this.stop) + 1) % stops.length]);
      location.hash = addressOf(this.stop);
    });
  }

  /** The reader asks for a stop; its text is shown, even if the address is its own already. */
  choose(stop) {
    this.stop = stop;
    this.say();
  }

  /** An address names a run and a step, which may be those of a stop. */
  asked(runId, step) {
    this.wanted = this.stops.find((stop) => stop.run === runId && stop.step === step);
  }

  /**
   * Where the reader is: a scene and one of its steps, by place. A stop stays while its run does,
   * unless one is reached that is later in the tour.
   */
  at(/** @type {Scene} */ scene, place) {
    const { run_id: runId } = scene.run;
    if (this.stop?.run !== runId) this.stop = undefined;
    const isHere = (stop) => stop.run === runId && scene.nearest(stop.step) === place;
    const here = this.stops.findIndex(isHere);
    if (this.wanted?.run === runId) {
      this.stop = this.wanted;
      this.wanted = undefined;
    } else if (here > this.stops.indexOf(this.stop)) this.stop = this.stops[here];
    this.say();
  }

  say() {
    byId("tour-text").textContent = this.stop?.text ?? NOWHERE;
    for (const link of byId("tour-stops").querySelectorAll("a")) {
      const isHere = this.stop && link.hash === addressOf(this.stop);
      if (isHere) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
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
