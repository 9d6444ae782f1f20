// The shape of an embedding in the plane (appendix A): a circle or not, and its imperfections.
import { byId } from "circlet/controls";
import { sumsOf } from "circlet/musat/particles";

/** Largest norm of an embedding over the smallest. */
export function normRatio(positions) {
  const norms = [];
  for (let i = 0; i < positions.length; i += 2) {
    norms.push(Math.hypot(positions[i], positions[i + 1]));
  }
  return Math.max(...norms) / Math.min(...norms);
}

/** Of every pair, whether the nearest other pair sum has another class: an imperfection. */
export function imperfect(positions, pairs) {
  const sums = sumsOf(positions, pairs);
  return pairs.target.map((target, i) => {
    let nearest = Infinity;
    let found = target;
    for (let j = 0; j < pairs.target.length; j++) {
      if (i === j) continue;
      const squared = (sums[2 * j] - sums[2 * i]) ** 2 + (sums[2 * j + 1] - sums[2 * i + 1]) ** 2;
      if (squared < nearest) {
        nearest = squared;
        found = pairs.target[j];
      }
    }
    return found !== target;
  });
}

/** That ratio as text. */
export const ratioText = (ratio) => (ratio < 100 ? ratio.toFixed(2) : "over 100");

/** Read off the shape of an embedding in a live section; `imperfect` is as above. */
export function readShape(name, positions, imperfect) {
  const ratio = normRatio(positions);
  const isFinite = positions.every(Number.isFinite);
  const shape = ratio < 1.2 ? "a circle" : "no circle";
  const count = imperfect.filter(Boolean).length;
  byId(`${name}-ratio`).textContent = isFinite ? `${ratioText(ratio)}, ${shape}` : "diverged";
  byId(`${name}-imperfections`).textContent = isFinite ? `${count} of ${imperfect.length}` : "–";
}
