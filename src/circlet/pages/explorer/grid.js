// The points of an experiment, laid out by what it sweeps and coloured by what their runs end with.
import { byId, options, rounded } from "circlet/controls";

const WORDS = (name) => name.replaceAll("_", " ");
const DARK = 0.6; // share of colour from which text is light

export class Grid {
  /** `choose` is called with the place of a point when the reader picks one. */
  constructor(experiments, choose) {
    this.experiments = experiments;
    this.colour = ""; // outcome that colours the cells
    byId("points").addEventListener("change", ({ target }) => choose(Number(target.value)));
    byId("point-slider").addEventListener("input", ({ target }) =>
      choose(this.line[target.value].place),
    );
    byId("colour").addEventListener("change", ({ target }) => {
      this.colour = target.value;
      this.draw();
    });
  }

  /** Show the points of an experiment, of which one is chosen. */
  offer(points, chosen) {
    Object.assign(this, { points, chosen });
    const { outcomes } = this.experiments[chosen.experiment];
    const names = Object.keys(outcomes);
    if (!names.includes(this.colour)) this.colour = names[0] ?? "";
    options(
      "colour",
      names.map((name) => [name, outcomes[name].label]),
      this.colour,
    );
    byId("colour").closest("label").hidden = names.length < 2;
    this.draw();
  }

  draw() {
    this.slide();
    const focused = byId("points").contains(document.activeElement);
    byId("points").replaceChildren(...this.tables());
    byId("points").hidden = this.points.length < 2;
    byId("point-note").textContent = this.note;
    if (focused) byId("points").querySelector("input:checked")?.focus();
  }

  /** A slider over the points, if they are on a line. */
  slide() {
    const [x, y] = this.swept;
    const slider = byId("point-slider");
    const isLine = x && !y && !x.words && this.points.length > 2;
    slider.closest("label").hidden = !isLine;
    if (!isLine) return;
    this.line = [...this.points].sort((a, b) => a.at[x.place] - b.at[x.place]);
    slider.max = this.line.length - 1;
    slider.value = this.line.indexOf(this.chosen);
    slider.setAttribute("aria-valuetext", this.title(this.chosen));
    byId("point-now").textContent = this.title(this.chosen);
  }

  /** What is swept, the parameters with the most values first. */
  get swept() {
    const { swept } = this.experiments[this.chosen.experiment];
    return swept
      .map((parameter, place) => ({ ...parameter, place }))
      .sort((a, b) => a.words - b.words || b.values.length - a.values.length);
  }

  /** A table for each combination of what is swept beside x and y; a list where that is no grid. */
  tables() {
    const [x, y, ...others] = this.swept;
    const cells = this.swept.reduce((product, { values }) => product * values.length, 1);
    if (!x || cells > 2 * this.points.length) return [this.list()];
    const parts = new Map();
    for (const point of this.points) {
      const key = others.map(({ place }) => point.at[place]).join();
      if (!parts.has(key)) parts.set(key, []);
      parts.get(key).push(point);
    }
    return [...parts].map(([key, own]) => {
      const at = key.split(",");
      const caption = others.map(({ name, values }, i) => `${WORDS(name)} ${values[at[i]]}`);
      return this.table(own, x, y, caption.join(", "));
    });
  }

  table(points, x, y, caption) {
    const table = document.createElement("table");
    if (caption) table.createCaption().textContent = caption;
    const head = table.createTHead().insertRow();
    head.append(this.head(y ? `${WORDS(y.name)} \\ ${WORDS(x.name)}` : WORDS(x.name)));
    head.append(...x.values.map((value) => this.head(value)));
    const rows = y ? y.values.map((value, i) => [i, value]).reverse() : [[undefined, ""]];
    for (const [i, value] of rows) {
      const row = table.insertRow();
      row.append(this.head(value));
      for (const j of x.values.keys()) {
        const here = (point) => point.at[x.place] === j && (!y || point.at[y.place] === i);
        const cell = row.insertCell();
        cell.append(...points.filter(here).map((point) => this.cell(point)));
      }
    }
    return table;
  }

  head(text) {
    const head = document.createElement("th");
    head.textContent = text;
    return head;
  }

  list() {
    const list = document.createElement("div");
    list.className = "list";
    list.append(...this.points.map((point) => this.cell(point, this.title(point))));
    return list;
  }

  /** A point as a radio button; its text is its outcome unless it needs a name. */
  cell(point, name = "") {
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "point", value: point.place });
    radio.checked = point === this.chosen;
    const label = document.createElement("label");
    const [estimate] = point.estimates[this.colour] ?? [];
    const text = estimate === undefined ? "–" : rounded(estimate);
    label.append(radio, name ? `${name}: ${text}` : text);
    label.title = this.title(point);
    radio.ariaLabel = `${this.title(point)}: ${text}`;
    const share = this.share(estimate);
    label.style.setProperty("--share", `${Math.round(100 * share)}%`);
    label.classList.toggle("dark", share > DARK);
    return label;
  }

  /** Where an estimate lies between the ends of those of all points, 0 to 1. */
  share(estimate) {
    if (typeof estimate !== "number") return 0;
    const every = this.points.map(({ estimates }) => estimates[this.colour]?.[0]);
    const known = every.filter((value) => typeof value === "number");
    const { most } = this.experiments[this.chosen.experiment].outcomes[this.colour];
    const [low, high] = [Math.min(0, ...known), most ?? Math.max(...known)];
    return high > low ? (estimate - low) / (high - low) : 0;
  }

  /** A point by what is swept, else by its name. */
  title(point) {
    const words = this.swept.map(({ name, values, place }) => {
      return `${WORDS(name)} ${values[point.at[place]]}`;
    });
    const seeds = Object.entries(point.seeds).map(([name, seed]) => `${name} seed ${seed}`);
    const alone = this.points.length < 2 && point.experiment.replaceAll("_", " ");
    return [...words, ...seeds].join(", ") || alone || point.name;
  }

  /** The chosen point in words: its outcomes, with the interval of the one that colours. */
  get note() {
    const { estimates, outcomes } = this.chosen;
    const total = outcomes.reduce((sum, [, count]) => sum + count, 0);
    const counted = outcomes
      .map(([outcome, count]) => `${outcome} (${count} of ${total})`)
      .join("; ");
    const [estimate, low, high, n] = estimates[this.colour] ?? [];
    const { label } = this.experiments[this.chosen.experiment].outcomes[this.colour] ?? {};
    const interval = typeof low === "number" ? ` [${rounded(low)} … ${rounded(high)}]` : "";
    const measured = n ? `; ${label} ${rounded(estimate)}${interval}, n = ${n}` : "";
    return `${this.title(this.chosen)}: ${counted}${measured}`;
  }
}
