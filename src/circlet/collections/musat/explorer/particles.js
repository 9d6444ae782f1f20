// The particle model (section 6) in the browser: the equations of ../equations/particles.py, in double
// precision. A test compares 100 steps of both. Positions are [x_0, y_0, x_1, y_1, ...].
import { normal, range, sum, uniform } from "circlet/numbers";

/** All unordered pairs of p particles, a <= b, in lexicographic order, and the class of each. */
export function pairsOf(p) {
  const pairs = range(p).flatMap((a) => range(p - a, (i) => [a, a + i]));
  const [first, second] = [0, 1].map((side) => pairs.map((pair) => pair[side]));
  return { p, first, second, target: pairs.map(([a, b]) => (a + b) % p) };
}

/** Weight of couples of different class: both kinds then weigh the same in total. */
export function weightOf({ p, target }) {
  const counts = range(p, (c) => target.filter((other) => other === c).length);
  const alike = sum(counts.map((count) => count ** 2));
  return (alike - target.length) / (target.length ** 2 - alike);
}

/** Sums of the positions of every pair, rows of length d. */
export function sumsOf(positions, { first, second }, d = 2) {
  const sums = new Float64Array(d * first.length);
  for (let n = 0; n < first.length; n++) {
    for (let i = 0; i < d; i++) {
      sums[n * d + i] = positions[first[n] * d + i] + positions[second[n] * d + i];
    }
  }
  return sums;
}

/** Force of pair sum j on pair sum i, added to `total`. */
function couple(i, j, sums, isSame, { f_a, g_a, g_r }, weight, total) {
  const [x, y, u, v] = [sums[2 * i], sums[2 * i + 1], sums[2 * j], sums[2 * j + 1]];
  const squared = (u - x) ** 2 + (v - y) ** 2;
  // Sums that coincide exert no force on each other.
  const pull = isSame ? g_a / Math.sqrt(squared) : (-weight * g_r) / squared;
  const strength = squared > 0 ? pull : 0;
  const along = (isSame ? f_a : -weight * f_a) / Math.max(Math.sqrt(u * u + v * v), 1e-12);
  const alignment = x * u + y * v > 0 ? along : 0;
  total[0] += strength * (u - x) + alignment * u;
  total[1] += strength * (v - y) + alignment * v;
}

/** Force on every particle, [x, y, ...]; strengths f_a, g_a, g_r as in the paper. */
function forces(positions, { p, first, second, target }, strengths, weight) {
  const sums = sumsOf(positions, { first, second });
  const forces = new Float64Array(2 * p);
  for (let i = 0; i < target.length; i++) {
    const total = [0, 0];
    for (let j = 0; j < target.length; j++) {
      if (i !== j) couple(i, j, sums, target[i] === target[j], strengths, weight, total);
    }
    for (const a of [first[i], second[i]]) {
      forces[2 * a] += total[0];
      forces[2 * a + 1] += total[1];
    }
  }
  return forces;
}

/** Centre the particles and scale each coordinate to a standard deviation, in place. */
function standardise(positions, std) {
  const p = positions.length / 2;
  for (const axis of [0, 1]) {
    const values = range(p, (a) => positions[2 * a + axis]);
    const mean = sum(values) / p;
    const scale = std / Math.sqrt(sum(values.map((value) => (value - mean) ** 2)) / p);
    values.forEach((value, a) => (positions[2 * a + axis] = scale * (value - mean)));
  }
}

/** One step, in place; settings hold the strengths, step_size and std. */
export function step(positions, pairs, settings, weight) {
  const total = forces(positions, pairs, settings, weight);
  for (let i = 0; i < positions.length; i++) positions[i] += settings.step_size * total[i];
  standardise(positions, settings.std);
}

/** Standard normal positions from a seed, centred and scaled. */
export function start(p, seed, std) {
  const random = uniform(seed);
  const positions = Float64Array.from({ length: 2 * p }, () => normal(random));
  standardise(positions, std);
  return positions;
}
