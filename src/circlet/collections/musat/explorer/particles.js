// The particle model (section 6) in the browser: the equations of ../equations/particles.py, in double
// precision. A test compares 100 steps of both. Positions are [x_0, y_0, x_1, y_1, ...].
import { uniform } from "circlet/random";

/** All unordered pairs of p particles, a <= b, in lexicographic order, and the class of each. */
export function pairsOf(p) {
  const first = [];
  const second = [];
  const target = [];
  for (let a = 0; a < p; a++) {
    for (let b = a; b < p; b++) {
      first.push(a);
      second.push(b);
      target.push((a + b) % p);
    }
  }
  return { p, first, second, target };
}

/** Weight of couples of different class: both kinds then weigh the same in total. */
export function weightOf({ target }) {
  let same = 0;
  let other = 0;
  for (let i = 0; i < target.length; i++) {
    for (let j = 0; j < target.length; j++) {
      if (target[i] !== target[j]) other++;
      else if (i !== j) same++;
    }
  }
  return same / other;
}

/** Sums of the positions of every pair, [x, y, ...]. */
export function sumsOf(positions, { first, second }) {
  const sums = new Float64Array(2 * first.length);
  for (let i = 0; i < first.length; i++) {
    sums[2 * i] = positions[2 * first[i]] + positions[2 * second[i]];
    sums[2 * i + 1] = positions[2 * first[i] + 1] + positions[2 * second[i] + 1];
  }
  return sums;
}

/** Force on every particle, [x, y, ...]; strengths f_a, g_a, g_r as in the paper. */
export function forces(positions, pairs, { f_a, g_a, g_r }, weight = weightOf(pairs)) {
  const { p, first, second, target } = pairs;
  const sums = sumsOf(positions, pairs);
  const n = first.length;
  const heading = new Float64Array(2 * n);
  for (let i = 0; i < n; i++) {
    const length = Math.max(Math.hypot(sums[2 * i], sums[2 * i + 1]), 1e-12);
    heading[2 * i] = sums[2 * i] / length;
    heading[2 * i + 1] = sums[2 * i + 1] / length;
  }
  const total = new Float64Array(2 * p);
  for (let i = 0; i < n; i++) {
    const x = sums[2 * i];
    const y = sums[2 * i + 1];
    let along = 0;
    let across = 0;
    for (let j = 0; j < n; j++) {
      if (i === j) continue;
      const dx = sums[2 * j] - x;
      const dy = sums[2 * j + 1] - y;
      const squared = dx * dx + dy * dy;
      const same = target[i] === target[j];
      // Sums that coincide exert no force on each other.
      if (squared > 0) {
        const strength = same ? g_a / Math.sqrt(squared) : (-weight * g_r) / squared;
        along += strength * dx;
        across += strength * dy;
      }
      if (x * sums[2 * j] + y * sums[2 * j + 1] > 0) {
        const strength = same ? f_a : -weight * f_a;
        along += strength * heading[2 * j];
        across += strength * heading[2 * j + 1];
      }
    }
    total[2 * first[i]] += along;
    total[2 * first[i] + 1] += across;
    total[2 * second[i]] += along;
    total[2 * second[i] + 1] += across;
  }
  return total;
}

/** Centre the particles and scale each coordinate to a standard deviation, in place. */
export function standardise(positions, std) {
  const p = positions.length / 2;
  for (const axis of [0, 1]) {
    let mean = 0;
    for (let a = 0; a < p; a++) mean += positions[2 * a + axis] / p;
    let variance = 0;
    for (let a = 0; a < p; a++) {
      positions[2 * a + axis] -= mean;
      variance += positions[2 * a + axis] ** 2 / p;
    }
    const scale = std / Math.sqrt(variance);
    for (let a = 0; a < p; a++) positions[2 * a + axis] *= scale;
  }
}

/** One step, in place; settings hold the strengths, step_size and std. */
export function step(positions, pairs, settings, weight = weightOf(pairs)) {
  const total = forces(positions, pairs, settings, weight);
  for (let i = 0; i < positions.length; i++) positions[i] += settings.step_size * total[i];
  standardise(positions, settings.std);
}

/** Standard normal positions from a seed, centred and scaled. */
export function start(p, seed, std) {
  const random = uniform(seed);
  const positions = new Float64Array(2 * p);
  for (let i = 0; i < 2 * p; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    const angle = 2 * Math.PI * random();
    positions[i] = radius * Math.cos(angle);
    positions[i + 1] = radius * Math.sin(angle);
  }
  standardise(positions, std);
  return positions;
}
