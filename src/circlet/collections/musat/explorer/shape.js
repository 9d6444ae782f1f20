// The shape of an embedding in the plane (appendix A): a circle or not, and its imperfections.
import { byId } from "circlet/controls";
import { sumsOf } from "circlet/musat/particles";
import { range } from "circlet/numbers";

/** Largest norm of an embedding over the smallest. */
export function normRatio(positions) {
  const norms = range(positions.length / 2, (a) =>
    Math.hypot(positions[2 * a], positions[2 * a + 1]),
  );
  return Math.max(...norms) / Math.min(...norms);
}

/** Of every pair, whether the nearest other pair sum has another class: an imperfection. */
export function imperfect(positions, pairs) {
  const sums = sumsOf(positions, pairs);
  return pairs.target.map((target, i) => {
    let [nearest, label] = [Infinity, target];
    for (let j = 0; j < pairs.target.length; j++) {
      const squared = (sums[2 * j] - sums[2 * i]) ** 2 + (sums[2 * j + 1] - sums[2 * i + 1]) ** 2;
      if (i !== j && squared < nearest) [nearest, label] = [squared, pairs.target[j]];
    }
    return label !== target;
  });
}

/** That ratio as text. */
export const ratioText = (ratio) => (ratio < 100 ? ratio.toFixed(2) : "over 100");

/** Read off the shape of an embedding in a live section; `marked` is as `imperfect` has it. */
export function readShape(name, positions, marked) {
  const ratio = normRatio(positions);
  const isFinite = positions.every(Number.isFinite);
  const shape = `${ratioText(ratio)}, ${ratio < 1.2 ? "a circle" : "no circle"}`;
  const count = `${marked.filter(Boolean).length} of ${marked.length}`;
  byId(`${name}-ratio`).textContent = isFinite ? shape : "diverged";
  byId(`${name}-imperfections`).textContent = isFinite ? count : "–";
}
