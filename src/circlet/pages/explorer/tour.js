// The tour: a few stops, each a run at a step with two sentences, as links.
import { byId } from "circlet/controls";

const addressOf = ({ run, step }) => `#run=${run}&step=${step}`;

const NOWHERE = "Pick a stop, or look at any other run below.";

export class Tour {
  /** Stops as in the catalogue, of runs that are in the page. */
  constructor(stops) {
    this.stops = stops;
    byId("tour").hidden = !stops.length;
    const items = stops.map((stop, i) => {
      const link = document.createElement("a");
      Object.assign(link, { href: addressOf(stop), textContent: `${i + 1} ${stop.title}` });
      link.addEventListener("click", () => this.choose(stop));
      const item = document.createElement("li");
      item.append(link);
      return item;
    });
    byId("tour-stops").replaceChildren(...items);
    byId("tour-next").addEventListener("click", () => {
      const next = stops[(stops.indexOf(this.stop) + 1) % stops.length];
      this.choose(next);
      location.hash = addressOf(next);
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
  at(scene, place) {
    const { run_id } = scene.run;
    if (this.wanted?.run === run_id) {
      [this.stop, this.wanted] = [this.wanted, undefined];
    } else {
      if (this.stop?.run !== run_id) this.stop = undefined;
      const isHere = (stop) => stop.run === run_id && scene.nearest(stop.step) === place;
      const here = this.stops.findIndex(isHere);
      if (here > this.stops.indexOf(this.stop)) this.stop = this.stops[here];
    }
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
export function introduce({ introduction, terms }) {
  byId("introduction").textContent = introduction;
  byId("terms").hidden = !Object.keys(terms).length;
  const entries = Object.entries(terms).flatMap(([word, meaning]) =>
    [
      ["dt", word],
      ["dd", meaning],
    ].map(([kind, text]) => Object.assign(document.createElement(kind), { textContent: text })),
  );
  byId("terms")
    .querySelector("dl")
    .replaceChildren(...entries);
}
