// The network with constant attention (section 3) in double precision: the equations of
// ../equations/constant_attention.py and of AdamW. A test compares 100 steps of both.
// Arrays are row by row: embedding (p, d), hidden.weight (hidden, d), output.weight (p, hidden).
import { pairsOf } from "circlet/musat/particles";
import { uniform } from "circlet/random";

export const NAMES = ["embedding", "hidden.weight", "hidden.bias", "output.weight", "output.bias"];

let on = new Int16Array(0); // neurons that are on, at one point

/** Scores of the classes at points of R^d, written into `h` (hidden) and `o` (p). */
function scores(weights, d, x, at, h, o) {
  const [first, bias] = [weights["hidden.weight"], weights["hidden.bias"]];
  const [second, shift] = [weights["output.weight"], weights["output.bias"]];
  if (on.length < h.length) on = new Int16Array(h.length);
  let count = 0;
  for (let j = 0; j < h.length; j++) {
    let sum = bias[j];
    for (let i = 0; i < d; i++) sum += first[j * d + i] * x[at + i];
    h[j] = sum > 0 ? sum : 0;
    if (sum > 0) on[count++] = j;
  }
  for (let c = 0; c < o.length; c++) {
    let sum = shift[c];
    for (let n = 0; n < count; n++) sum += second[c * h.length + on[n]] * h[on[n]];
    o[c] = sum;
  }
}

/** The class with the largest score, of equal ones the first. */
function largest(o) {
  let best = 0;
  for (let c = 1; c < o.length; c++) if (o[c] > o[best]) best = c;
  return best;
}

/** The class that the network gives to each of some points, rows of length d. */
export function classesAt(weights, d, points) {
  const h = new Float64Array(weights["hidden.bias"].length);
  const o = new Float64Array(weights["output.bias"].length);
  const found = new Int16Array(points.length / d);
  for (let n = 0; n < found.length; n++) {
    scores(weights, d, points, n * d, h, o);
    found[n] = largest(o);
  }
  return found;
}

/**
 * What the network answers to all ordered pairs of p numbers, row by row: the class `given` and its
 * `probability`.
 */
export function answersTo(weights, p) {
  const { embedding } = weights;
  const d = embedding.length / p;
  const h = new Float64Array(weights["hidden.bias"].length);
  const o = new Float64Array(p);
  const x = new Float64Array(d);
  const given = new Int16Array(p * p);
  const probability = new Float64Array(p * p);
  for (let a = 0; a < p; a++) {
    for (let b = a; b < p; b++) {
      for (let i = 0; i < d; i++) x[i] = embedding[a * d + i] + embedding[b * d + i];
      scores(weights, d, x, 0, h, o);
      const best = largest(o);
      let total = 0;
      for (let c = 0; c < p; c++) total += Math.exp(o[c] - o[best]);
      for (const i of [a * p + b, b * p + a]) [given[i], probability[i]] = [best, 1 / total];
    }
  }
  return { given, probability };
}

/** Which pairs are trained on: a share of them, rounded down, drawn by a seed. */
export function split(p, share, seed) {
  const random = uniform(seed ^ 0x5eed);
  const order = pairsOf(p).target.map(() => random());
  const kept = [...order].sort((a, b) => a - b)[Math.floor(share * order.length)];
  return order.map((value) => value < kept);
}

function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Weights at step 0: the embedding N(0, 1), the layers PyTorch's default. */
export function initial({ p, d, hidden }, seed) {
  const random = uniform(seed);
  const layer = (size, inputs) =>
    Float64Array.from({ length: size }, () => (2 * random() - 1) / Math.sqrt(inputs));
  return {
    embedding: Float64Array.from({ length: p * d }, () => normal(random)),
    "hidden.weight": layer(hidden * d, d),
    "hidden.bias": layer(hidden, d),
    "output.weight": layer(p * hidden, hidden),
    "output.bias": layer(p, hidden),
  };
}

/**
 * Mean cross-entropy (nat) and accuracy of the train and of the test pairs; the gradient of the
 * train loss is added to `gradients`, arrays like the weights.
 */
export function measure(weights, { p, d, hidden }, pairs, trained, gradients) {
  const { first, second, target } = pairs;
  const embedding = weights.embedding;
  const x = new Float64Array(d);
  const [h, o] = [new Float64Array(hidden), new Float64Array(p)];
  const back = new Float64Array(hidden);
  const counts = { train: 0, test: 0 };
  for (const of of trained) counts[of ? "train" : "test"]++;
  const found = { train_loss: 0, test_loss: 0, train_accuracy: 0, test_accuracy: 0 };
  for (let n = 0; n < target.length; n++) {
    const [a, b, y] = [first[n] * d, second[n] * d, target[n]];
    for (let i = 0; i < d; i++) x[i] = embedding[a + i] + embedding[b + i];
    scores(weights, d, x, 0, h, o);
    const part = trained[n] ? "train" : "test";
    const best = largest(o);
    const highest = o[best];
    let total = 0;
    for (let c = 0; c < p; c++) total += Math.exp(o[c] - highest);
    found[`${part}_loss`] += (highest + Math.log(total) - o[y]) / counts[part];
    if (best === y) found[`${part}_accuracy`] += 1 / counts[part];
    if (!trained[n] || !gradients) continue;
    back.fill(0);
    for (let c = 0; c < p; c++) {
      const residual = (Math.exp(o[c] - highest) / total - (c === y ? 1 : 0)) / counts.train;
      gradients["output.bias"][c] += residual;
      for (let j = 0; j < hidden; j++) {
        if (!h[j]) continue;
        gradients["output.weight"][c * hidden + j] += residual * h[j];
        back[j] += residual * weights["output.weight"][c * hidden + j];
      }
    }
    for (let j = 0; j < hidden; j++) {
      if (!h[j]) continue;
      gradients["hidden.bias"][j] += back[j];
      for (let i = 0; i < d; i++) {
        gradients["hidden.weight"][j * d + i] += back[j] * x[i];
        const along = back[j] * weights["hidden.weight"][j * d + i];
        gradients.embedding[a + i] += along;
        gradients.embedding[b + i] += along;
      }
    }
  }
  return found;
}

const zeros = (weights) =>
  Object.fromEntries(NAMES.map((name) => [name, new Float64Array(weights[name].length)]));

/** A training at step 0. */
export function begin(sizes, weights, trained) {
  const pairs = pairsOf(sizes.p);
  return {
    sizes,
    weights,
    trained,
    pairs,
    steps: 0,
    means: zeros(weights),
    squares: zeros(weights),
  };
}

const [BETA1, BETA2, EPS] = [0.9, 0.999, 1e-8];

/** One step of AdamW on all train pairs, in place; returns the losses before it. */
export function step(training, { learning_rate, weight_decay }) {
  const { weights, sizes, pairs, trained, means, squares } = training;
  const gradients = zeros(weights);
  const measured = measure(weights, sizes, pairs, trained, gradients);
  training.steps++;
  const [one, two] = [1 - BETA1 ** training.steps, 1 - BETA2 ** training.steps];
  for (const name of NAMES) {
    const [w, g, m, v] = [weights[name], gradients[name], means[name], squares[name]];
    for (let i = 0; i < w.length; i++) {
      w[i] *= 1 - learning_rate * weight_decay;
      m[i] += (1 - BETA1) * (g[i] - m[i]);
      v[i] += (1 - BETA2) * (g[i] * g[i] - v[i]);
      w[i] -= ((learning_rate / one) * m[i]) / (Math.sqrt(v[i] / two) + EPS);
    }
  }
  return measured;
}
