// The points of an experiment, laid out by what it sweeps and coloured by what their runs end with.
import { byId, element, on, options } from "circlet/controls";
import { grouped } from "circlet/numbers";
import { inWords, rounded } from "circlet/words";

const DARK = 0.6; // share of colour from which text is light

/** What is swept, the parameters with the most values first. */
export const sweptIn = (/** @type {Experiment} */ { swept }) =>
  swept
    .map((parameter, place) => ({ ...parameter, place }))
    .sort((a, b) => Number(a.words) - Number(b.words) || b.values.length - a.values.length);

/** A point by what is swept, else by its experiment, if it is alone there, or its name. */
export function titleOf(/** @type {Point} */ point, swept, isAlone) {
  const words = swept.map(
    ({ name, values, place }) => `${inWords(name)} ${values[point.at[place]]}`,
  );
  const seeds = Object.entries(point.seeds).map(([name, seed]) => `${name} seed ${seed}`);
  const otherwise = isAlone ? inWords(point.experiment) : point.name;
  return [...words, ...seeds].join(", ") || otherwise;
}

/** Where an estimate lies between the ends of all, or of what there can be, 0 to 1. */
export function shareOf(estimate, every, most) {
  if (typeof estimate !== "number") return 0;
  const known = every.filter((value) => typeof value === "number");
  const [low, high] = [Math.min(0, ...known), most ?? Math.max(...known)];
  return high > low ? (estimate - low) / (high - low) : 0;
}

/** The outcomes of a point in words, with the interval of one of them. */
export function outcomesOf(/** @type {Point} */ { estimates, outcomes }, name, label) {
  const total = outcomes.reduce((before, [, count]) => before + count, 0);
  const counted = outcomes.map(([outcome, count]) => `${outcome} (${count} of ${total})`);
  const [estimate, low, high, n] = estimates[name] ?? [];
  const interval = typeof low === "number" ? ` [${rounded(low)} … ${rounded(high)}]` : "";
  const measured = n ? `; ${label} ${rounded(estimate)}${interval}, n = ${n}` : "";
  return `${counted.join("; ")}${measured}`;
}

export class Grid {
  /** `choose` is called with the place of a point when the reader picks one. */
  constructor(experiments, choose) {
    this.experiments = experiments;
    this.colour = ""; // outcome that colours the cells
    /** @type {Point[]} */
    this.points = [];
    /** @type {Point[]} */
    this.line = []; // points on the slider
    /** @type {Point} */
    this.chosen = undefined;
    on("points", "change", ({ value }) => choose(Number(value)));
    on("point-slider", "input", ({ value }) => choose(this.line[value].place));
    on("colour", "change", ({ value }) => {
      this.colour = value;
      this.draw();
    });
  }

  /** @returns {Experiment} */
  get experiment() {
    return this.experiments[this.chosen.experiment];
  }

  /** Show the points of an experiment, of which one is chosen. */
  offer(points, chosen) {
    this.points = points;
    this.chosen = chosen;
    const outcomes = Object.entries(this.experiment.outcomes);
    const labels = outcomes.map(([name, { label }]) => [name, label]);
    if (!(this.colour in this.experiment.outcomes)) this.colour = labels[0]?.[0] ?? "";
    options("colour", labels, this.colour);
    byId("colour").closest("label").hidden = labels.length < 2;
    this.draw();
  }

  title(point) {
    return titleOf(point, sweptIn(this.experiment), this.points.length < 2);
  }

  draw() {
    this.slide();
    const isFocused = byId("points").contains(document.activeElement);
    byId("points").replaceChildren(...this.tables());
    byId("points").hidden = this.points.length < 2;
    const { label } = this.experiment.outcomes[this.colour] ?? {};
    const words = outcomesOf(this.chosen, this.colour, label);
    byId("point-note").textContent = `${this.title(this.chosen)}: ${words}`;
    if (isFocused) byId("points").querySelector("input:checked")?.focus();
  }

  /** A slider over the points, if they are on a line. */
  slide() {
    const [x, y] = sweptIn(this.experiment);
    const isLine = x && !y && !x.words && this.points.length > 2;
    const slider = byId("point-slider");
    slider.closest("label").hidden = !isLine;
    if (!isLine) return;
    this.line = [...this.points].sort((a, b) => a.at[x.place] - b.at[x.place]);
    slider.max = this.line.length - 1;
    slider.value = this.line.indexOf(this.chosen);
    slider.setAttribute("aria-valuetext", this.title(this.chosen));
    byId("point-now").textContent = this.title(this.chosen);
  }

  /** A table for each combination of what is swept beside x and y; a list where that is no grid. */
  tables() {
    const [x, y, ...others] = sweptIn(this.experiment);
    const cells = this.experiment.swept.reduce((product, { values }) => product * values.length, 1);
    if (!x || cells > 2 * this.points.length) {
      const every = this.points.map((point) => this.cell(point, `${this.title(point)}: `));
      return [element("div", { className: "list" }, ...every)];
    }
    const captionOf = (point) =>
      others.map(({ name, values, place }) => `${inWords(name)} ${values[point.at[place]]}`);
    const parts = grouped(this.points, (point) => captionOf(point).join(", "));
    return [...parts].map(([caption, points]) => this.table(points, x, y, caption));
  }

  table(points, x, y, caption) {
    const head = (text) => element("th", { textContent: text });
    const corner = y ? `${inWords(y.name)} \\ ${inWords(x.name)}` : inWords(x.name);
    const rows = y ? y.values.map((value, i) => ({ value, i })).reverse() : [{ value: "" }];
    const body = rows.map(({ value, i }) => {
      const own = points.filter((point) => !y || point.at[y.place] === i);
      const cells = x.values.map((_, j) => {
        const here = own.filter((point) => point.at[x.place] === j);
        return element("td", {}, ...here.map((point) => this.cell(point)));
      });
      return element("tr", {}, head(value), ...cells);
    });
    const first = element("thead", {}, element("tr", {}, head(corner), ...x.values.map(head)));
    const above = caption ? [element("caption", { textContent: caption })] : [];
    return element("table", {}, ...above, first, element("tbody", {}, ...body));
  }

  /** A point as a radio button; its text is its outcome, after its name if it needs one. */
  cell(point, name = "") {
    const every = this.points.map(({ estimates }) => estimates[this.colour]?.[0]);
    const estimate = point.estimates[this.colour]?.[0];
    const share = shareOf(estimate, every, this.experiment.outcomes[this.colour]?.most);
    const text = rounded(estimate);
    const title = this.title(point);
    const radio = element("input", { type: "radio", name: "point", value: point.place });
    radio.checked = point === this.chosen;
    radio.ariaLabel = `${title}: ${text}`;
    const label = element("label", { title }, radio, `${name}${text}`);
    label.style.setProperty("--share", `${Math.round(100 * share)}%`);
    label.classList.toggle("dark", share > DARK);
    return label;
  }
}
