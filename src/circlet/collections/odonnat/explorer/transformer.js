// The transformer with sparse sums: what its layers make of some sequences, by the equations of
// ../equations/sparse_transformer.py. A test compares both.
import { project } from "circlet/geometry";
import { grouped, range, sum, uniform } from "circlet/numbers";

const EPS = 1e-5; // of the norms, outside of the root
const [MOST_SUMS, PREFIXES, SUFFIXES] = [12, 2, 4];

/** Sequences to look at, the same for all runs: up to two prefixes per sum, four suffixes each. */
export function probes({ p, length, k }) {
  const random = uniform(0);
  const draw = (n) => range(n, () => Math.floor(p * random()));
  const ends = [0, p - 1].map((token) => range(k, () => token)); // the smallest and the largest sum
  const drawn = [...range(20000, () => draw(k)), ...ends];
  const distinct = new Map(drawn.map((prefix) => [`${prefix}`, prefix])); // the first of each
  const bySum = grouped([...distinct.values()], sum);
  const sums = [...bySum.keys()].sort((a, b) => a - b);
  const count = Math.min(MOST_SUMS, sums.length);
  const shown = range(
    count,
    (i) => sums[Math.round((i * (sums.length - 1)) / Math.max(count - 1, 1))],
  );
  const prefixes = shown.flatMap((total) => bySum.get(total).slice(0, PREFIXES));
  const tokens = prefixes.flatMap((prefix) =>
    range(SUFFIXES, () => [...prefix, ...draw(length - k)]),
  );
  const totals = prefixes.flatMap((prefix) => range(SUFFIXES, () => sum(prefix)));
  return { tokens, sum: totals, label: totals.map((total) => total % p) };
}

function normed(x) {
  const divisor = Math.sqrt(sum(x.map((value) => value * value)) / x.length) + EPS;
  return x.map((value) => value / divisor);
}

/** Score and value of every token at a position, when they are asked for: `look(token, position)`. */
function tables({ embedding, position, query, "value.weight": value }, d) {
  const cache = new Map();
  const made = (token, at) => {
    const z = normed(range(d, (i) => embedding[token * d + i] + position[at * d + i]));
    const score = project(query, d, z)[0] / Math.sqrt(d);
    return { score, v: project(value, d, z) };
  };
  return (token, at) => {
    const key = `${token} ${at}`;
    if (!cache.has(key)) cache.set(key, made(token, at));
    return cache.get(key);
  };
}

/** Sequence embeddings xi, rows of length d, and attention to every position, of some sequences. */
export function embed(weights, d, tokens) {
  const length = weights.position.length / d;
  const look = tables(weights, d);
  const xi = new Float64Array(tokens.length * d);
  const attention = new Float64Array(tokens.length * length);
  tokens.forEach((sequence, n) => {
    const seen = sequence.map(look);
    const highest = Math.max(...seen.map(({ score }) => score));
    const powers = seen.map(({ score }) => Math.exp(score - highest));
    const total = sum(powers);
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
  const classes = new Int16Array(points.length / d);
  for (let n = 0; n < classes.length; n++) {
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
      if (logit > highest) [highest, classes[n]] = [logit, token];
    }
  }
  return classes;
}
