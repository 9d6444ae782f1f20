// The metrics of a system as curves: what is drawn on which axis, in which colour, in which words.
import { grouped, range } from "circlet/numbers";
import { inWords } from "circlet/words";

const SHARE = "0..1"; // the unit of shares

/** Of "train_loss": what of it, "train", and what it is, "loss". @type {(name: string) => { quantity: string, part: string }} */
function split(name) {
  const words = name.split("_");
  return { quantity: words.at(-1), part: words.slice(0, -1).join(" ") };
}

/** Whether metrics are the same quantity, each of a part. */
const alike = (axis) => axis.every(({ quantity, part }) => part && quantity === axis[0].quantity);

/** The title of an axis of a unit; `what` is drawn there, if that is one thing. */
function titled(unit, what) {
  if (unit === SHARE || !unit) return what || "share";
  return what ? `${what} (${unit})` : unit;
}

/**
 * The axes of a system's metrics, from above: metrics of one unit share one; those without a unit,
 * if they are the same quantity. Each has a `title`, `isShare`, and its `curves`: a metric, its
 * `place` in the log, and its `label` among the curves of that axis.
 */
export function axesOf(/** @type {Metric[]} */ metrics) {
  const split_ = metrics.map((metric, place) => ({ ...metric, ...split(metric.name), place }));
  const axes = [...grouped(split_, ({ unit, quantity }) => unit || `of ${quantity}`).values()];
  const shared = axes.filter((axis) => axis.length > 1 && alike(axis)).flat();
  const parts = shared.map(({ part }) => part);
  return axes.map((axis) => {
    const [{ unit, quantity, name, part }] = axis;
    const isShort = alike(axis) && (axis.length > 1 || parts.includes(part));
    const what = isShort ? quantity : axis.length === 1 ? inWords(name) : "";
    const curves = axis.map((one) => ({ ...one, label: isShort ? one.part : inWords(one.name) }));
    const isShare = unit === SHARE;
    return { title: titled(unit, what), isShare, quantity: isShort ? quantity : "", curves };
  });
}

/** Values at a step in a few words: of the first axis the first metric, of others the last. */
export function reading(metrics, values, write) {
  const axes = axesOf(metrics);
  const chosen =
    axes.length === 1 ? axes[0].curves : axes.map(({ curves }, i) => curves.at(i ? -1 : 0));
  return chosen.map((one) => `${inWords(one.name)} ${write(values[one.place])}`).join(", ");
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
  if (decades >= 2) return { type: "log", dtick: Math.ceil(decades / 6) };
  return { type: "log", tickformat: "~g", ...(decades < 1 ? {} : { dtick: "D2" }) };
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
  const two = [0.58, 0.36];
  const heights = count === 2 ? two : range(count, () => (1 - GAP * (count - 1)) / count);
  let below = 1 + GAP;
  return heights.map((height) => {
    const top = below - GAP;
    below = top - height;
    return [Math.max(0, below), top];
  });
}
