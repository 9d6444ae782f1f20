// The network with constant attention (section 3) in double precision: the equations of
// ../equations/constant_attention.py and of AdamW. A test compares 100 steps of both.
// Arrays are row by row: embedding (p, d), hidden.weight (hidden, d), output.weight (p, hidden).
import { pairsOf, sumsOf } from "circlet/musat/particles";
import { normal, uniform } from "circlet/numbers";

const NAMES = ["embedding", "hidden.weight", "hidden.bias", "output.weight", "output.bias"];

let on = new Int16Array(0); // neurons that are on, at one point

/**
 * Scores of the classes at points of R^d, written into `h` (hidden) and `o` (p). The class with the
 * largest, of equal ones the first.
 */
function scores(weights, d, x, at, h, o) {
  const [first, bias] = [weights["hidden.weight"], weights["hidden.bias"]];
  const [second, shift] = [weights["output.weight"], weights["output.bias"]];
  if (on.length < h.length) on = new Int16Array(h.length);
  let count = 0;
  for (let j = 0; j < h.length; j++) {
    let total = bias[j];
    for (let i = 0; i < d; i++) total += first[j * d + i] * x[at + i];
    h[j] = total > 0 ? total : 0;
    if (total > 0) on[count++] = j;
  }
  let best = 0;
  for (let c = 0; c < o.length; c++) {
    let total = shift[c];
    for (let n = 0; n < count; n++) total += second[c * h.length + on[n]] * h[on[n]];
    o[c] = total;
    if (total > o[best]) best = c;
  }
  return best;
}

/** Room for the neurons and the scores of a network. */
const room = (weights) =>
  ["hidden.bias", "output.bias"].map((name) => new Float64Array(weights[name].length));

/** Scores become their exponentials, the largest 1; the sum of all. */
function exponentials(o, best) {
  const highest = o[best];
  let total = 0;
  for (let c = 0; c < o.length; c++) total += o[c] = Math.exp(o[c] - highest);
  return total;
}

/** The class that the network gives to each of some points, rows of length d. */
export function classesAt(weights, d, points) {
  const [h, o] = room(weights);
  const classes = new Int16Array(points.length / d);
  for (let n = 0; n < classes.length; n++) classes[n] = scores(weights, d, points, n * d, h, o);
  return classes;
}

/**
 * What the network answers to all ordered pairs of p numbers, row by row: the class `given` and its
 * `probability`.
 */
export function answersTo(weights, p) {
  const [h, o] = room(weights);
  const d = weights.embedding.length / p;
  const pairs = pairsOf(p);
  const given = new Int16Array(p * p);
  const probability = new Float64Array(p * p);
  const x = sumsOf(weights.embedding, pairs, d);
  pairs.first.forEach((a, n) => {
    const best = scores(weights, d, x, n * d, h, o);
    const total = exponentials(o, best);
    const b = pairs.second[n];
    for (const i of [a * p + b, b * p + a]) [given[i], probability[i]] = [best, 1 / total];
  });
  return { given, probability };
}

/** Which pairs are trained on: a share of them, rounded down, drawn by a seed. */
export function split(p, share, seed) {
  const random = uniform(seed ^ 0x5eed);
  const order = pairsOf(p).target.map(() => random());
  const kept = [...order].sort((a, b) => a - b)[Math.floor(share * order.length)];
  return order.map((value) => value < kept);
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
 * @param {Record<string, Float64Array>} [gradients]
 */
export function measure(weights, { d }, pairs, trained, gradients) {
  const { first, second, target } = pairs;
  const [h, o] = room(weights);
  const x = sumsOf(weights.embedding, pairs, d);
  const back = new Float64Array(h.length);
  const train = trained.filter(Boolean).length;
  const counts = { train, test: trained.length - train };
  const measured = { train_loss: 0, test_loss: 0, train_accuracy: 0, test_accuracy: 0 };
  target.forEach((y, n) => {
    const best = scores(weights, d, x, n * d, h, o);
    const part = trained[n] ? "train" : "test";
    const gap = o[best] - o[y];
    const total = exponentials(o, best);
    measured[`${part}_loss`] += (Math.log(total) + gap) / counts[part];
    if (best === y) measured[`${part}_accuracy`] += 1 / counts[part];
    if (!trained[n] || !gradients) return;
    for (let c = 0; c < o.length; c++) o[c] = (o[c] / total - Number(c === y)) / train;
    const inputs = {
      first: first[n] * d,
      second: second[n] * d,
      x: x.subarray(n * d, (n + 1) * d),
    };
    propagate(weights, gradients, inputs, h, o, back);
  });
  return measured;
}

/** Add the gradients at a pair, whose scores have the gradients `o`; `back` has room for the neurons. */
function propagate(weights, gradients, { first, second, x }, h, o, back) {
  back.fill(0);
  for (let c = 0; c < o.length; c++) {
    gradients["output.bias"][c] += o[c];
    for (let j = 0; j < h.length; j++) {
      if (!h[j]) continue;
      gradients["output.weight"][c * h.length + j] += o[c] * h[j];
      back[j] += o[c] * weights["output.weight"][c * h.length + j];
    }
  }
  const d = x.length;
  for (let j = 0; j < h.length; j++) {
    if (!h[j]) continue;
    gradients["hidden.bias"][j] += back[j];
    for (let i = 0; i < d; i++) {
      gradients["hidden.weight"][j * d + i] += back[j] * x[i];
      const along = back[j] * weights["hidden.weight"][j * d + i];
      gradients.embedding[first + i] += along;
      gradients.embedding[second + i] += along;
    }
  }
}

const zeros = (weights) =>
  Object.fromEntries(NAMES.map((name) => [name, new Float64Array(weights[name].length)]));

/** A training at step 0. */
export function begin(sizes, weights, trained) {
  const moments = { means: zeros(weights), squares: zeros(weights) };
  return { sizes, weights, trained, pairs: pairsOf(sizes.p), steps: 0, ...moments };
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
