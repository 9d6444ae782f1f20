// Embeddings in the plane: pairs of dimensions, planes of frequencies, boxes that hold them.

/** Columns i and j of a matrix of rows of length d, as [x_0, y_0, x_1, y_1, ...]. */
export function dimensions(matrix, d, i, j) {
  const rows = matrix.length / d;
  const xy = new Float64Array(2 * rows);
  for (let a = 0; a < rows; a++) {
    xy[2 * a] = matrix[a * d + i];
    xy[2 * a + 1] = j < d ? matrix[a * d + j] : 0;
  }
  return xy;
}

/** Fourier coefficient F_k of an embedding, p rows of length d: real and imaginary part. */
export function coefficient(embedding, d, k) {
  const p = embedding.length / d;
  const parts = [new Float64Array(d), new Float64Array(d)];
  for (let a = 0; a < p; a++) {
    const angle = (-2 * Math.PI * ((k * a) % p)) / p;
    const waves = [Math.cos(angle), Math.sin(angle)];
    for (let part = 0; part < 2; part++) {
      for (let i = 0; i < d; i++) parts[part][i] += waves[part] * embedding[a * d + i];
    }
  }
  return parts;
}

/** An embedding along Re F_k and Im F_k, as spectrum.plane has it: [x_0, y_0, x_1, y_1, ...]. */
export function frequencyPlane(embedding, d, k) {
  const p = embedding.length / d;
  const xy = new Float64Array(2 * p);
  coefficient(embedding, d, k).forEach((axis, part) => {
    const length = Math.hypot(...axis) || 1;
    for (let a = 0; a < p; a++) {
      let along = 0;
      for (let i = 0; i < d; i++) along += embedding[a * d + i] * axis[i];
      xy[2 * a + part] = along / length;
    }
  });
  return xy;
}

const TURNS = 200; // of the power iteration; what is alike then spans the same plane

/**
 * The mean of the rows of a matrix, and its principal axes, the largest first: each its direction,
 * `along`, and its `share` of the variance. There are fewer than `most` if the rows span less.
 */
export function principal(matrix, d, most) {
  const rows = matrix.length / d;
  const mean = new Float64Array(d);
  const finite = Float64Array.from(matrix, (value) => (Number.isFinite(value) ? value : 0));
  finite.forEach((value, n) => (mean[n % d] += value / rows));
  const rest = finite.map((value, n) => value - mean[n % d]);
  const whole = rest.reduce((total, value) => total + value * value, 0);
  const axes = [];
  while (axes.length < most && whole > 0) {
    let along = Float64Array.from({ length: d }, (_, i) => Math.sin(i + 1));
    let size = 0; // the variance along it
    const places = new Float64Array(rows);
    for (let turn = 0; turn < TURNS; turn++) {
      for (let a = 0; a < rows; a++) {
        places[a] = 0;
        for (let i = 0; i < d; i++) places[a] += rest[a * d + i] * along[i];
      }
      const next = new Float64Array(d);
      rest.forEach((value, n) => (next[n % d] += value * places[Math.floor(n / d)]));
      size = Math.hypot(...next);
      if (!(size > 1e-12 * whole)) break;
      along = next.map((value) => value / size);
    }
    if (!(size > 1e-12 * whole)) break;
    axes.push({ along, share: size / whole });
    for (let a = 0; a < rows; a++) {
      let place = 0;
      for (let i = 0; i < d; i++) place += rest[a * d + i] * along[i];
      for (let i = 0; i < d; i++) rest[a * d + i] -= place * along[i];
    }
  }
  return { mean, axes };
}

/** Rows of a matrix along two directions, from a point: [x_0, y_0, x_1, y_1, ...]. */
export function along(matrix, d, origin, directions) {
  const xy = new Float64Array((2 * matrix.length) / d);
  for (let n = 0; n < xy.length; n++) {
    const row = Math.floor(n / 2) * d;
    for (let i = 0; i < d; i++) xy[n] += (matrix[row + i] - origin[i]) * directions[n % 2][i];
  }
  return xy;
}

/** The step between neighbours on the circle of frequency k, 1/k mod p; undefined if k has none. */
export function delta(k, p) {
  for (let n = 1; n < p; n++) if ((n * k) % p === 1) return n;
  return undefined;
}

/** Places in the order a, a + by, a + 2 by, ... mod p, closed: lines that join them. */
export function around(xy, by) {
  const p = xy.length / 2;
  const joined = [];
  const seen = new Set();
  for (let first = 0; first < p; first++) {
    if (seen.has(first)) continue;
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
  return Array.from({ length: p }, (_, a) => {
    const b = (a + by) % p;
    return Math.hypot(xy[2 * b] - xy[2 * a], xy[2 * b + 1] - xy[2 * a + 1]);
  });
}

/**
 * The step of the arithmetic progression that the eye looks for in a circle or a grid: joining a and
 * a + step (mod p) gives the shortest lines in total. As `best_step` in plotting/panels.py.
 */
export function shortestStep(xy) {
  let [best, least] = [1, Infinity];
  for (let by = 1; by <= xy.length / 4; by++) {
    const total = lengths(xy, by).reduce((sum, length) => sum + length, 0);
    if (total < least) [best, least] = [by, total];
  }
  return best;
}

/**
 * Lines between a and a + by (mod p), without those more than twice as long as the median: they lead
 * from one row of a grid to another.
 */
export function progression(xy, by) {
  const every = lengths(xy, by);
  const sorted = [...every].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const median = (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  const p = every.length;
  return every.flatMap((length, a) => {
    const b = (a + by) % p;
    return length <= 2 * median ? [[xy[2 * a], xy[2 * a + 1], xy[2 * b], xy[2 * b + 1]]] : [];
  });
}

/** Places moved away from the origin, by a share of the largest distance from it. */
export function outward(xy, share) {
  let largest = 0;
  for (let i = 0; i < xy.length; i += 2) largest = Math.max(largest, Math.hypot(xy[i], xy[i + 1]));
  return xy.map((value, i) => {
    const length = Math.hypot(xy[i - (i % 2)], xy[i - (i % 2) + 1]) || 1;
    return value * (1 + (share * largest) / length);
  });
}

const MARGIN = 1.12;

/** Left, right, bottom, top of a square that holds all places; of the origin, too, in its middle. */
export function boxAround(every, centred = true) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const xy of every) {
    for (let i = 0; i < xy.length; i += 2) {
      if (!Number.isFinite(xy[i]) || !Number.isFinite(xy[i + 1])) continue;
      left = Math.min(left, xy[i]);
      right = Math.max(right, xy[i]);
      bottom = Math.min(bottom, xy[i + 1]);
      top = Math.max(top, xy[i + 1]);
    }
  }
  if (left > right) return [-1, 1, -1, 1];
  if (centred) {
    const reach = MARGIN * Math.max(-left, right, -bottom, top) || 1;
    return [-reach, reach, -reach, reach];
  }
  const half = (MARGIN * Math.max(right - left, top - bottom)) / 2 || 1;
  const [x, y] = [(left + right) / 2, (bottom + top) / 2];
  return [x - half, x + half, y - half, y + half];
}

/** Points on a grid in a box, from its upper left, row by row: [x, y, ...]. */
export function gridIn([left, right, bottom, top], side) {
  const points = new Float64Array(2 * side * side);
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) {
      const at = 2 * (row * side + column);
      points[at] = left + ((column + 0.5) / side) * (right - left);
      points[at + 1] = top - ((row + 0.5) / side) * (top - bottom);
    }
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
  const some = Array.from({ length: 2 * most }, (_, i) => (first + i) * step);
  return some.filter((value) => value <= high).map((value) => Number(value.toPrecision(6)));
}
