// Which run the page opens with, and the order of what there is to choose from.
import { sum } from "circlet/numbers";
import { inWords } from "circlet/words";

/** Points with runs, by system, those of experiments with the most runs first; each has its `place`. */
export function inOrder(/** @type {Catalogue} */ { points, systems }) {
  const rank = ({ system }) => Object.keys(systems).indexOf(system);
  const count = ({ experiment }) => runsOf(points, experiment);
  return points
    .map((point, place) => ({ ...point, place }))
    .filter((point) => point.runs.length)
    .sort((a, b) => rank(a) - rank(b) || count(b) - count(a));
}

/** How many runs of an experiment there are. */
export const runsOf = (/** @type {Point[]} */ points, name) =>
  sum(points.map(({ experiment, runs }) => (experiment === name ? runs.length : 0)));

/**
 * The run that moves most: of the first system that opens with some outcome and has one, the
 * training with the most frames; else of any, the one with the most; else the first run.
 */
export function openingOf(/** @type {Point[]} */ points, systems) {
  const all = points.flatMap((point) => point.runs.map((run) => ({ point, run })));
  const trained = all.filter(({ run }) => run.shown === "training");
  const hoped = trained.filter(
    ({ point, run }) => run.outcome === systems[point.system].opens_with,
  );
  const from = [hoped, trained].find((some) => some.length);
  if (!from) return all[0].run;
  const ofFirst = from.filter(({ point }) => point.system === from[0].point.system);
  return ofFirst.reduce((best, other) => (other.run.frames > best.run.frames ? other : best)).run;
}

/** An experiment in words: its name, what it sweeps, and how many runs it has. */
export function experimentInWords(name, /** @type {Experiment} */ { swept }, runs) {
  const ranges = swept.map(({ name: parameter, values }) => {
    const words = values.length > 3 ? `${values[0]} to ${values.at(-1)}` : values.join(", ");
    return `${inWords(parameter)} ${words}`;
  });
  const count = `${runs} run${runs === 1 ? "" : "s"}`;
  return `${inWords(name)}: ${[...ranges, count].join("; ")}`;
}
