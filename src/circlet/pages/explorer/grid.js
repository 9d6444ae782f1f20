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

/** What a point has of what is swept, in words. */
const valuesOf = (/** @type {Point} */ { at }, swept) =>
  swept.map(({ name, values, place }) => `${inWords(name)} ${values[at[place]]}`);

/** A point by what is swept, else by its experiment, if it is alone there, or its name. */
export function titleOf(/** @type {Point} */ point, swept, isAlone) {
  const seeds = Object.entries(point.seeds).map(([name, seed]) => `${name} seed ${seed}`);
  const otherwise = isAlone ? inWords(point.experiment) : point.name;
  return [...valuesOf(point, swept), ...seeds].join(", ") || otherwise;
}

/** Where an estimate lies between the ends of all, or of what there can be, 0 to 1. */
export function shareOf(estimate, estimates, most) {
  if (typeof estimate !== "number") return 0;
  const numbers = estimates.filter((value) => typeof value === "number");
  const [low, high] = [Math.min(0, ...numbers), most ?? Math.max(...numbers)];
  return high > low ? (estimate - low) / (high - low) : 0;
}

/** The outcomes of a point in words, with the interval of one of them. */
export function outcomesOf(/** @type {Point} */ { estimates, outcomes }, name, label) {
  const total = outcomes.reduce((before, [, count]) => before + count, 0);
  const counted = outcomes.map(([outcome, count]) => `${outcome} (${count} of ${total})`);
  const [estimate, low, high, n] = estimates[name] ?? [];
  const interval =
    typeof low === "number" ? ` (95 % interval ${rounded(low)} … ${rounded(high)})` : "";
  const measured = n ? `; ${label} ${rounded(estimate)}${interval}, n = ${n}` : "";
  return `${counted.join("; ")}${measured}`;
}

const experimentOf = (/** @type {State} */ { catalogue, point }) =>
  catalogue.experiments[point.experiment];

/** The points of the experiment that is looked at. */
const pointsOf = (/** @type {State} */ { points, point }) =>
  points.filter(({ experiment }) => experiment === point.experiment);

/** A point by what its experiment sweeps. */
export const titleIn = (/** @type {State} */ state, /** @type {Point} */ point) => {
  const { experiment } = point;
  const isAlone = state.points.filter((other) => other.experiment === experiment).length < 2;
  return titleOf(point, sweptIn(state.catalogue.experiments[experiment]), isAlone);
};

/** Offer the points of the experiment, and the outcomes that may colour them. */
export function offerPoints(/** @type {State} */ state) {
  const { outcomes } = experimentOf(state);
  const labels = Object.entries(outcomes).map(([name, { label }]) => [name, label]);
  if (!(state.colour in outcomes)) state.colour = labels[0]?.[0] ?? "";
  options("colour", labels, state.colour);
  byId("colour").closest("label").hidden = labels.length < 2 || pointsOf(state).length < 2;
  draw(state);
}

function draw(/** @type {State} */ state) {
  const { point, colour } = state;
  const isFocused = byId("points").contains(document.activeElement);
  byId("points").replaceChildren(...tables(state));
  byId("points").hidden = pointsOf(state).length < 2;
  const words = outcomesOf(point, colour, experimentOf(state).outcomes[colour]?.label);
  byId("point-note").textContent = `${titleIn(state, point)}: ${words}`;
  if (isFocused) byId("points").querySelector("input:checked")?.focus();
}

/** A table for each combination of what is swept beside x and y; a list where that is no grid. */
function tables(/** @type {State} */ state) {
  const points = pointsOf(state);
  const swept = sweptIn(experimentOf(state));
  const [x, y, ...others] = swept;
  const count = swept.reduce((product, { values }) => product * values.length, 1);
  if (!x || count > 2 * points.length) {
    const cells = points.map((point) => cell(state, point, `${titleIn(state, point)}: `));
    return [element("div", { className: "list" }, ...cells)];
  }
  const parts = grouped(points, (point) => valuesOf(point, others).join(", "));
  return [...parts].map(([caption, part]) => table(state, part, x, y, caption));
}

function table(state, points, x, y, caption) {
  const head = (text) => element("th", { textContent: text });
  const corner = y ? `${inWords(y.name)} \\ ${inWords(x.name)}` : inWords(x.name);
  const rows = y ? y.values.map((value, i) => ({ value, i })).reverse() : [{ value: "" }];
  const body = rows.map(({ value, i }) => {
    const row = points.filter((point) => !y || point.at[y.place] === i);
    const cells = x.values.map((_, j) => {
      const here = row.filter((point) => point.at[x.place] === j);
      return element("td", {}, ...here.map((point) => cell(state, point)));
    });
    return element("tr", {}, head(value), ...cells);
  });
  const first = element("thead", {}, element("tr", {}, head(corner), ...x.values.map(head)));
  const above = caption ? [element("caption", { textContent: caption })] : [];
  return element("table", {}, ...above, first, element("tbody", {}, ...body));
}

/** A point as a radio button; its text is its outcome, after its name if it needs one. */
function cell(/** @type {State} */ state, /** @type {Point} */ point, name = "") {
  const { colour } = state;
  const all = pointsOf(state).map(({ estimates }) => estimates[colour]?.[0]);
  const estimate = point.estimates[colour]?.[0];
  const share = shareOf(estimate, all, experimentOf(state).outcomes[colour]?.most);
  const text = rounded(estimate);
  const title = titleIn(state, point);
  const how = { type: "radio", name: "point", value: point.place, checked: point === state.point };
  const radio = element("input", { ...how, ariaLabel: `${title}: ${text}` });
  const label = element("label", { title }, radio, `${name}${text}`);
  label.style.setProperty("--share", `${Math.round(100 * share)}%`);
  label.classList.toggle("dark", share > DARK);
  return label;
}

/** Let the reader choose: `choose` is called with a point. */
export function wirePoints(/** @type {State} */ state, choose) {
  on("points", "change", ({ value }) =>
    choose(state.points.find(({ place }) => place === Number(value))),
  );
  on("colour", "change", ({ value }) => {
    state.colour = value;
    draw(state);
  });
}
