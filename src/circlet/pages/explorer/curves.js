// The metrics of a system as curves: what is drawn on which axis, in which colour, in which words.

export const SHARE = "0..1"; // the unit of shares

/** The name of a metric in words. */
export const inWords = ({ name }) => name.replaceAll("_", " ");

/** Of "train_loss": what of it, "train", and what it is, "loss". */
function split(name) {
  const words = name.split("_");
  return { quantity: words.at(-1), part: words.slice(0, -1).join(" ") };
}

/**
 * The axes of a system's metrics, from above: metrics of one unit share one; those without a unit,
 * if they are the same quantity. Each has a `title`, `isShare`, and its `curves`: a metric, its
 * `place` in the log, and its `label` among the curves of that axis.
 */
export function axesOf(metrics) {
  const axes = new Map();
  metrics.forEach((metric, place) => {
    const own = { ...metric, ...split(metric.name), place };
    const key = metric.unit || `of ${own.quantity}`;
    axes.set(key, [...(axes.get(key) ?? []), own]);
  });
  const alike = (own) => own.every(({ quantity, part }) => part && quantity === own[0].quantity);
  const every = [...axes.values()];
  const shared = new Set(
    every
      .filter((own) => own.length > 1 && alike(own))
      .flat()
      .map((one) => one.part),
  );
  return every.map((own) => {
    const [{ unit, quantity }] = own;
    const short = alike(own) && (own.length > 1 || shared.has(own[0].part));
    const what = short ? quantity : own.length === 1 ? inWords(own[0]) : "";
    const isShare = unit === SHARE;
    const title = isShare || !unit ? what || "share" : what ? `${what} (${unit})` : unit;
    const curves = own.map((one) => ({ ...one, label: short ? one.part : inWords(one) }));
    return { title, isShare, quantity: short ? quantity : "", curves };
  });
}

/** What the curves are of, as the title of a panel. */
export function titleOf({ metrics }) {
  const found = [...new Set(metrics.map(({ name }) => split(name).quantity))];
  const known = { loss: "losses", accuracy: "accuracy" };
  if (!found.length || found.some((quantity) => !known[quantity])) return "Metrics";
  const words = found.map((quantity) => known[quantity]).join(" and ");
  return words[0].toUpperCase() + words.slice(1);
}

/** Values at a step in a few words: of the first axis the first metric, of others the last. */
export function reading(metrics, values, write) {
  const axes = axesOf(metrics);
  const chosen =
    axes.length === 1 ? axes[0].curves : axes.map(({ curves }, i) => curves.at(i ? -1 : 0));
  return chosen.map((one) => `${inWords(one)} ${write(values[one.place])}`).join(", ");
}

/** An axis of numbers: of shares from 0 to 1; logarithmic, if all are positive. */
export function valueAxis({ isShare, quantity }, values) {
  if (isShare) return { range: [-0.03, 1.03] };
  const finite = values.filter(Number.isFinite);
  const positive = finite.filter((value) => value > 0);
  // A loss may be rounded to zero at the end of a training, which is left out.
  const isPositive = positive.length === finite.length || quantity === "loss";
  if (!positive.length || !isPositive || Math.min(...finite) < 0) return { type: "linear" };
  const decades = Math.log10(Math.max(...positive) / Math.min(...positive));
  // About six ticks, however many powers of ten it spans. Within a decade the library finds steps
  // itself; the format is so that it writes whole numbers.
  if (decades < 2)
    return { type: "log", tickformat: "~g", ...(decades < 1 ? {} : { dtick: "D2" }) };
  return { type: "log", dtick: Math.ceil(decades / 6) };
}

/** A text in lines of at most so many letters, if its words allow it. */
export function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && longer.length > most) lines.push(word);
    else lines.splice(-1, 1, longer);
  }
  return lines.join("<br>");
}

const GAP = 0.06; // between two axes

/** Where axes lie, from above, as shares of the height: the first of two is the larger one. */
export function domains(count) {
  if (count === 2)
    return [
      [0.42, 1],
      [0, 0.36],
    ];
  const height = (1 - GAP * (count - 1)) / count;
  return Array.from({ length: count }, (_, i) => {
    const top = 1 - i * (height + GAP);
    return [Math.max(0, top - height), top];
  });
}
