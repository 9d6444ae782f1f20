// The transformer with sparse sums: what its layers make of some sequences, by the equations of
// ../equations/sparse_transformer.py. A test compares both.
import { uniform } from "circlet/random";

const EPS = 1e-5; // of the norms, outside of the root
const [MOST_SUMS, PREFIXES, SUFFIXES] = [12, 2, 4];

/** Sequences to look at, the same for all runs: up to two prefixes per sum, four suffixes each. */
export function probes({ p, length, k }) {
  const random = uniform(0);
  const draw = (n) => Array.from({ length: n }, () => Math.floor(p * random()));
  const bySum = new Map();
  const keep = (prefix) => {
    const sum = prefix.reduce((total, token) => total + token, 0);
    const known = bySum.get(sum) ?? [];
    const fresh = known.length < PREFIXES && !known.some((other) => `${other}` === `${prefix}`);
    bySum.set(sum, fresh ? [...known, prefix] : known);
  };
  for (let n = 0; n < 20000; n++) keep(draw(k));
  keep(Array(k).fill(0));
  keep(Array(k).fill(p - 1));
  const sums = [...bySum.keys()].sort((a, b) => a - b);
  const count = Math.min(MOST_SUMS, sums.length);
  const tokens = [];
  const sum = [];
  for (let i = 0; i < count; i++) {
    const shown = sums[Math.round((i * (sums.length - 1)) / Math.max(count - 1, 1))];
    for (const prefix of bySum.get(shown)) {
      for (let n = 0; n < SUFFIXES; n++) {
        tokens.push([...prefix, ...draw(length - k)]);
        sum.push(shown);
      }
    }
  }
  return { tokens, sum, label: sum.map((total) => total % p) };
}

function normed(x) {
  const divisor = Math.sqrt(x.reduce((total, value) => total + value * value, 0) / x.length) + EPS;
  return x.map((value) => value / divisor);
}

/** Sequence embeddings xi, rows of length d, and attention to every position, of some sequences. */
export function embed(weights, d, tokens) {
  const { embedding, position, query } = weights;
  const value = weights["value.weight"];
  const length = position.length / d;
  const table = new Map(); // score and value of a token at a position
  const look = (token, at) => {
    const key = token * length + at;
    if (!table.has(key)) {
      const e = new Float64Array(d);
      for (let i = 0; i < d; i++) e[i] = embedding[token * d + i] + position[at * d + i];
      const z = normed(e);
      let score = 0;
      const v = new Float64Array(d);
      for (let i = 0; i < d; i++) {
        score += (query[i] * z[i]) / Math.sqrt(d);
        for (let j = 0; j < d; j++) v[i] += value[i * d + j] * z[j];
      }
      table.set(key, { score, v });
    }
    return table.get(key);
  };
  const xi = new Float64Array(tokens.length * d);
  const attention = new Float64Array(tokens.length * length);
  tokens.forEach((sequence, n) => {
    const seen = sequence.map(look);
    const highest = Math.max(...seen.map(({ score }) => score));
    const powers = seen.map(({ score }) => Math.exp(score - highest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    seen.forEach(({ v }, at) => {
      const share = powers[at] / total;
      attention[n * length + at] = share;
      for (let i = 0; i < d; i++) xi[n * d + i] += share * v[i];
    });
  });
  return { xi, attention };
}

/** The error function, to 1.5e-7 (Abramowitz and Stegun, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series =
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

/** The token with the largest logit at each of some sequence embeddings, rows of length d. */
export function classesAt(weights, d, points) {
  const { embedding } = weights;
  const [first, bias] = [weights["hidden.weight"], weights["hidden.bias"]];
  const [second, shift] = [weights["output.weight"], weights["output.bias"]];
  const hidden = first.length / d;
  const [s, r] = [new Float64Array(d), new Float64Array(d)];
  const found = new Int16Array(points.length / d);
  for (let n = 0; n < found.length; n++) {
    let square = 0;
    for (let i = 0; i < d; i++) square += points[n * d + i] ** 2 / d;
    for (let i = 0; i < d; i++) {
      s[i] = points[n * d + i] / (Math.sqrt(square) + EPS);
      r[i] = points[n * d + i] + (shift ? shift[i] : 0);
    }
    for (let j = 0; j < hidden; j++) {
      let sum = bias ? bias[j] : 0;
      for (let i = 0; i < d; i++) sum += first[j * d + i] * s[i];
      const active = (sum * (1 + erf(sum / Math.SQRT2))) / 2;
      for (let i = 0; i < d; i++) r[i] += second[i * hidden + j] * active;
    }
    let highest = -Infinity;
    for (let token = 0; token < embedding.length / d; token++) {
      let logit = 0;
      for (let i = 0; i < d; i++) logit += embedding[token * d + i] * r[i];
      if (logit > highest) [highest, found[n]] = [logit, token];
    }
  }
  return found;
}
