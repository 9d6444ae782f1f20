// Which run the page opens with, and the order of what there is to choose from.

/** Points with runs, by system, those of experiments with the most runs first; each has its `place`. */
export function inOrder({ points, systems }) {
  const rank = (system) => Object.keys(systems).indexOf(system);
  const counts = {}; // of runs, by experiment: the largest is the main one
  for (const { experiment, runs } of points) {
    counts[experiment] = (counts[experiment] ?? 0) + runs.length;
  }
  return points
    .map((entry, place) => ({ ...entry, place }))
    .filter((entry) => entry.runs.length)
    .sort((a, b) => rank(a.system) - rank(b.system) || counts[b.experiment] - counts[a.experiment]);
}

/**
 * The run that moves most: of the first system that opens with some outcome and has one, the
 * training with the most frames; else of any, the one with the most; else the first run.
 */
export function openingOf(points, systems) {
  const every = points.flatMap((entry) => entry.runs.map((run) => ({ entry, run })));
  const trained = every.filter(({ run }) => run.shown === "training");
  const hoped = trained.filter(
    ({ entry, run }) => run.outcome === systems[entry.system].opens_with,
  );
  const first = (found) => found.filter(({ entry }) => entry.system === found[0].entry.system);
  const moves = (best, other) => (other.run.frames > best.run.frames ? other : best);
  const from = [hoped, trained].find((found) => found.length);
  return from ? first(from).reduce(moves) : every[0];
}

/** An experiment in words: its name, what it sweeps, and how many runs it has. */
export function experimentInWords(name, { swept }, runs) {
  const words = (text) => text.replaceAll("_", " ");
  const ranges = swept.map(({ name: parameter, values }) =>
    values.length > 3
      ? `${words(parameter)} ${values[0]} to ${values.at(-1)}`
      : `${words(parameter)} ${values.join(", ")}`,
  );
  const counted = `${runs} run${runs === 1 ? "" : "s"}`;
  return [words(name), [...ranges, counted].join("; ")].join(": ");
}
