// Embeddings in the plane: directions of planes, lines between places, boxes that hold them.
import { range, sum } from "circlet/numbers";

/** Rows of length d of a matrix along a direction, from a point. @type {(matrix: Numbers, d: number, direction: Numbers, origin?: Numbers) => Float64Array} */
export function project(matrix, d, direction, origin) {
  const places = new Float64Array(matrix.length / d);
  for (let row = 0; row < places.length; row++) {
    for (let i = 0; i < d; i++) {
      places[row] += (matrix[row * d + i] - (origin?.[i] ?? 0)) * direction[i];
    }
  }
  return places;
}

/** The same along two directions: [x_0, y_0, x_1, y_1, ...]. @type {(matrix: Numbers, d: number, directions: Numbers[], origin?: Numbers) => Float64Array} */
export function along(matrix, d, directions, origin) {
  const xy = new Float64Array((2 * matrix.length) / d);
  directions.forEach((direction, axis) =>
    project(matrix, d, direction, origin).forEach((value, n) => (xy[2 * n + axis] = value)),
  );
  return xy;
}

/** The direction of dimension i of d; of one that there is not, none. */
export const unit = (d, i) => range(d, (j) => Number(i === j));

/** Directions of frequency k, Re F_k and Im F_k of an embedding, p rows of length d. */
export function frequencyPlane(embedding, d, k) {
  const p = embedding.length / d;
  return [Math.cos, Math.sin].map((wave) => {
    const axis = new Float64Array(d);
    for (let n = 0; n < embedding.length; n++) {
      axis[n % d] += wave((-2 * Math.PI * ((k * Math.floor(n / d)) % p)) / p) * embedding[n];
    }
    const length = Math.hypot(...axis) || 1;
    return axis.map((value) => value / length);
  });
}

const ITERATIONS = 200; // of the power iteration; what is alike then spans the same plane
const NOTHING = 1e-12; // share of the variance

/**
 * The mean of the rows of a matrix, and its principal axes, the largest first: each its direction,
 * `along`, and its `share` of the variance. There are fewer than `most` if the rows span less.
 */
export function principal(matrix, d, most) {
  const rest = Float64Array.from(matrix, (value) => (Number.isFinite(value) ? value : 0));
  const mean = new Float64Array(d);
  rest.forEach((value, n) => (mean[n % d] += (value * d) / rest.length));
  rest.forEach((value, n) => (rest[n] = value - mean[n % d]));
  const whole = sum(rest.map((value) => value ** 2));
  const axes = [];
  while (axes.length < most && whole > 0) {
    let axis = Float64Array.from({ length: d }, (_, i) => Math.sin(i + 1));
    let size = 0; // the variance along it
    for (let iteration = 0; iteration < ITERATIONS; iteration++) {
      const places = project(rest, d, axis);
      const next = new Float64Array(d);
      rest.forEach((value, n) => (next[n % d] += value * places[Math.floor(n / d)]));
      size = Math.hypot(...next);
      if (!(size > NOTHING * whole)) return { mean, axes };
      axis = next.map((value) => value / size);
    }
    axes.push({ along: axis, share: size / whole });
    const places = project(rest, d, axis);
    rest.forEach((value, n) => (rest[n] = value - places[Math.floor(n / d)] * axis[n % d]));
  }
  return { mean, axes };
}

/** The step between neighbours on the circle of frequency k, 1/k mod p; undefined if k has none. */
export const delta = (k, p) => range(p).find((n) => (n * k) % p === 1);

/** Places in the order a, a + by, a + 2 by, ... mod p, closed: lines that join them. */
export function around(xy, by) {
  const p = xy.length / 2;
  const joined = [];
  const seen = new Set();
  for (const first of range(p)) {
    const line = [];
    for (let a = first; !seen.has(a); a = (a + by) % p) {
      seen.add(a);
      line.push(xy[2 * a], xy[2 * a + 1]);
    }
    if (line.length > 2) joined.push([...line, line[0], line[1]]);
  }
  return joined;
}

/** Lengths of the lines from every place to the one `by` further, mod p. */
function lengths(xy, by) {
  const p = xy.length / 2;
  return range(p, (a) => {
    const b = (a + by) % p;
    return Math.hypot(xy[2 * b] - xy[2 * a], xy[2 * b + 1] - xy[2 * a + 1]);
  });
}

/**
 * The step of the arithmetic progression that the eye looks for in a circle or a grid: joining a and
 * a + step (mod p) gives the shortest lines in total. As `best_step` in plotting/panels.py.
 */
export function shortestStep(xy) {
  const totals = range(Math.floor(xy.length / 4), (i) => sum(lengths(xy, i + 1)));
  return 1 + Math.max(0, totals.indexOf(Math.min(...totals)));
}

/**
 * Lines between a and a + by (mod p), without those more than twice as long as the median: they lead
 * from one row of a grid to another.
 */
export function progression(xy, by) {
  const distances = lengths(xy, by);
  const p = distances.length;
  const sorted = [...distances].sort((a, b) => a - b);
  const median = (sorted[Math.ceil(p / 2) - 1] + sorted[Math.floor(p / 2)]) / 2;
  const line = (a, b) => [xy[2 * a], xy[2 * a + 1], xy[2 * b], xy[2 * b + 1]];
  return range(p)
    .filter((a) => distances[a] <= 2 * median)
    .map((a) => line(a, (a + by) % p));
}

/** Places moved away from the origin, by a share of the largest distance from it. */
export function outward(xy, share) {
  const away = range(xy.length / 2, (a) => Math.hypot(xy[2 * a], xy[2 * a + 1]));
  const by = share * Math.max(0, ...away);
  return xy.map((value, i) => value * (1 + by / (away[Math.floor(i / 2)] || 1)));
}

const MARGIN = 1.12;

/** A square that holds all places; of the origin, too, in its middle. @type {(lists: Numbers[], centred?: boolean) => Box} */
export function boxAround(lists, centred = true) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const xy of lists) {
    for (let i = 0; i < xy.length; i += 2) {
      if (!Number.isFinite(xy[i]) || !Number.isFinite(xy[i + 1])) continue;
      left = Math.min(left, xy[i]);
      right = Math.max(right, xy[i]);
      bottom = Math.min(bottom, xy[i + 1]);
      top = Math.max(top, xy[i + 1]);
    }
  }
  if (left > right) return [-1, 1, -1, 1];
  const [x, y] = centred ? [0, 0] : [(left + right) / 2, (bottom + top) / 2];
  const half = MARGIN * Math.max(x - left, right - x, y - bottom, top - y) || 1;
  return [x - half, x + half, y - half, y + half];
}

/** Points on a grid in a box, from its upper left, row by row: [x, y, ...]. */
export function gridIn([left, right, bottom, top], side) {
  const points = new Float64Array(2 * side * side);
  for (let i = 0; i < side * side; i++) {
    points[2 * i] = left + (((i % side) + 0.5) / side) * (right - left);
    points[2 * i + 1] = top - ((Math.floor(i / side) + 0.5) / side) * (top - bottom);
  }
  return points;
}

/** Round values between two ends, about `most` of them. */
export function ticks(low, high, most = 5) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((n) => n * power >= rough);
  const first = Math.ceil(low / step);
  // Not while n * step <= high: between two ends that nearly touch, n + 1 may be n.
  const some = range(2 * most, (i) => (first + i) * step);
  return some.filter((value) => value <= high).map((value) => Number(value.toPrecision(6)));
}
