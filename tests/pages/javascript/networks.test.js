import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import * as network from "circlet/musat/network";
import * as particles from "circlet/musat/particles";
import { imperfect, normRatio } from "circlet/musat/shape";
import { probes } from "circlet/odonnat/transformer";

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

test("pair sums nearest to one of another class are imperfect", () => {
  const pairs = particles.pairsOf(2); // classes 0, 1, 0
  assert.deepEqual(imperfect([0, 0, 1, 0], pairs), [true, true, true]);
  assert.deepEqual(imperfect([0, 0, 0, 0], { ...pairs, target: [0, 0, 0] }), [false, false, false]);
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
