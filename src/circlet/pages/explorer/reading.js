// What happens at a step, in one sentence.
import { range } from "circlet/numbers";
import { inWords } from "circlet/words";

const BACK = 0.1; // share of a training that a change is measured over
const [FAST, SLOW, SPIKE] = [0.7, 0.97, 2]; // ratios of a loss to that of before
const NEAR_ZERO = 1e-3; // of a loss, in its unit: below it ratios mean little
const LEADS = 1.5; // times as large as the second signal

/** How a loss changed, by its ratio to that of before. */
export function trend(ratio) {
  if (!Number.isFinite(ratio)) return "";
  if (ratio > SPIKE) return "jumps up";
  if (ratio > 1 / SLOW) return "rises";
  if (ratio >= SLOW) return "hardly changes";
  return ratio < FAST ? "drops" : "falls slowly";
}

/** What the train loss, or the first that there is, does at a step. */
function lossNow(/** @type {Scene} */ { arrays: { curves }, system: { metrics } }, step) {
  const place = metrics.findIndex(({ name }) => name.endsWith("loss"));
  if (!curves || place < 0) return "";
  const now = curves.place(step);
  const back = Math.max(1, Math.round(BACK * (curves.steps.length - 1)));
  if (now < 1) return "training starts from random weights";
  const value = (i) => curves.frame(Math.max(i, 0))[place];
  const [before, here] = [value(now - back), value(now)];
  const isSmall = Math.max(Math.abs(before), Math.abs(here)) < NEAR_ZERO;
  const words = isSmall ? "stays near zero" : trend(here / before);
  return words && `the ${inWords(metrics[place].name)} ${words}`;
}

/** Which frequency dominates, if one does. */
export function dominating(signals) {
  const order = range(signals.length).sort((a, b) => signals[b] - signals[a]);
  const [first, second] = order;
  if (second === undefined || !(signals[first] > 0)) return "";
  if (signals[first] > LEADS * signals[second]) return `frequency ${first + 1} dominates`;
  const lead = order.filter((k) => signals[k] * LEADS > signals[first]);
  if (lead.length > 4) return "no frequency stands out";
  const names = lead.sort((a, b) => a - b).map((k) => k + 1);
  return `frequencies ${names.slice(0, -1).join(", ")} and ${names.at(-1)} lead`;
}

/** One sentence on a scene at a step; "" if its logs say nothing. */
export function sentence(/** @type {Scene} */ scene, step) {
  const { signals } = scene.arrays;
  const parts = [lossNow(scene, step), signals ? dominating(signals.at(step)) : ""];
  const text = parts.filter(Boolean).join("; ");
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}
