import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { rollout, survivors } from "circlet/findings/law";
import * as network from "circlet/musat/network";
import * as particles from "circlet/musat/particles";
import { imperfect, normRatio } from "circlet/musat/shape";
import { embed, probes } from "circlet/odonnat/transformer";
import { range, sum } from "circlet/numbers";
import { close } from "./close.js";

const SIZES = { p: 17, d: 2, hidden: 32, train_fraction: 0.8, learning_rate: 0.01 };
const DATA = new URL("../../../src/circlet/collections/musat/explorer/data.py", import.meta.url);

/** What a button of the page starts with. */
function startOf(words) {
  const [, values] = readFileSync(DATA, "utf8").match(`"${words}": ({"seed".*?})`);
  return JSON.parse(values);
}

/** A network as it ends. */
function trained(words) {
  const { seed, weight_decay, steps } = startOf(words);
  const chosen = network.split(SIZES.p, SIZES.train_fraction, seed);
  const training = network.begin(SIZES, network.initial(SIZES, seed), chosen);
  for (let i = 0; i < steps; i++) network.step(training, { ...SIZES, weight_decay });
  const { weights, pairs } = training;
  const ratio = normRatio(weights.embedding);
  return { ratio, ...network.measure(weights, SIZES, pairs, chosen) };
}

test("live networks end in what their buttons say", () => {
  assert.ok(trained("a circle").ratio < 1.2);
  const grid = trained("a grid");
  assert.ok(grid.ratio > 1.2 && grid.test_accuracy > 0.6);
  const overfit = trained("overfitting");
  assert.ok(overfit.train_accuracy > 0.9 && overfit.test_accuracy < 0.2);
});

test("gradients are those of finite differences", () => {
  const sizes = { p: 5, d: 2, hidden: 4 };
  const weights = network.initial(sizes, 3);
  const chosen = network.split(5, 0.6, 3);
  const pairs = particles.pairsOf(5);
  const loss = () => network.measure(weights, sizes, pairs, chosen).train_loss;
  const zeros = network.NAMES.map((name) => [name, new Float64Array(weights[name].length)]);
  const gradients = Object.fromEntries(zeros);
  network.measure(weights, sizes, pairs, chosen, gradients);
  for (const name of network.NAMES) {
    const slopes = range(weights[name].length, (i) => {
      const [own, by] = [weights[name][i], 1e-6];
      const [up, down] = [by, -by].map((change) => {
        weights[name][i] = own + change;
        return loss();
      });
      weights[name][i] = own;
      return (up - down) / (2 * by);
    });
    close(gradients[name], slopes, 1e-7);
  }
});

test("couples of one class weigh as much as the others", () => {
  const { target } = particles.pairsOf(7);
  const every = target.flatMap((a, i) => target.flatMap((b, j) => (i === j ? [] : [a === b])));
  const same = every.filter(Boolean).length;
  assert.equal(particles.weightOf({ p: 7, target }), same / (every.length - same));
});

test("a step keeps particles centred and scaled", () => {
  const pairs = particles.pairsOf(9);
  const positions = particles.start(9, 4, 0.5);
  const settings = { f_a: 1, g_a: 1, g_r: 1, step_size: 0.01, std: 0.5 };
  particles.step(positions, pairs, settings, particles.weightOf(pairs));
  for (const axis of [0, 1]) {
    const own = positions.filter((_, i) => i % 2 === axis);
    close([sum(own), sum(own.map((x) => x ** 2)) / 9], [0, 0.25]);
  }
});

test("pair sums nearest to one of another class are imperfect", () => {
  const pairs = particles.pairsOf(2); // classes 0, 1, 0
  assert.deepEqual(imperfect([0, 0, 1, 0], pairs), [true, true, true]);
  assert.deepEqual(imperfect([0, 0, 0, 0], { ...pairs, target: [0, 0, 0] }), [false, false, false]);
});

test("a law is followed from window to window", () => {
  const windows = [
    { first: 0, last: 2, coefficients: { s: 1 } },
    { first: 2, last: 3, coefficients: { m: 1, 1: -1 } },
  ];
  const path = rollout(windows, [1, 3], 1).map((s) => [...s]);
  assert.deepEqual(path, [[1, 3], [2, 6], [5, 9]]); // prettier-ignore
  const ratios = { "r=1": 2, "r=2": 10, 1: 0.5 }; // of p = 5: 1 / 2 = 3 = -2
  const [, next] = rollout([{ first: 0, last: 1, coefficients: ratios }], [1, 3], 0);
  assert.deepEqual([...next], [1 + 2 + 30 + 0.5, 3 + 6 + 10 + 0.5]);
  assert.deepEqual(survivors([1, 1, 9, 1]), [3]);
});

test("example sequences have all sums, and no prefix twice", () => {
  const { tokens, sum: totals, label } = probes({ p: 3, length: 5, k: 2 });
  assert.deepEqual([...new Set(totals)], [0, 1, 2, 3, 4]);
  tokens.forEach((sequence, n) => {
    assert.equal(sequence.length, 5);
    assert.equal(sequence[0] + sequence[1], totals[n]);
    assert.equal(label[n], totals[n] % 3);
  });
});

test("attention to all positions is one, and its mean of the values is the embedding", () => {
  const weights = {
    embedding: [1, 0, 0, 1],
    position: [0, 0, 1, 1],
    query: [3, -1],
    "value.weight": [1, 2, 3, 4],
  };
  const { xi, attention } = embed(weights, 2, [[0, 1], [1, 1]]); // prettier-ignore
  close([attention[0] + attention[1], attention[2] + attention[3]], [1, 1]);
  assert.ok(xi.every(Number.isFinite) && attention[0] > attention[1]);
});
