import assert from "node:assert/strict";
import test from "node:test";
import { answerTo, rowsOf, shareOf } from "circlet/answers";
import { linesOf } from "circlet/panels";
import { Scene } from "circlet/scene";
import { Series } from "circlet/catalogue";
import { close } from "./close.js";

const P = 3;
const GIVEN = [0, 1, 2, 1, 2, 0, 2, 0, 0]; // of 2 + 2 = 1 it says 0

for (const trained of [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1, 1, 0], undefined]) {
  test(`answers are counted by pair, trained on: ${trained}`, () => {
    const rows = rowsOf({ p: P, given: GIVEN, probability: Array(9).fill(0.5), trained });
    const pairs = trained?.length === 9 ? "8 of 8" : "5 of 5";
    const shares = `Right: ${pairs} pairs trained on, 0 of 1 held out.`;
    assert.equal(shareOf(rows, P, trained), trained ? shares : "Right: 5 of 6 pairs.");
    const said = answerTo(rows[8], P, trained);
    const start = "Wrong: the network answers 0 (probability 0.500). 2 + 2 = 4, and 4 mod 3 = 1.";
    const end = trained ? ": this pair was held out." : ".";
    assert.equal(said, `${start} Row 2, column 2${end}`);
    assert.ok(answerTo(rows[0], P, trained).includes("0 + 0 = 0. Row 0"));
  });
}

const view = { plane: 0, x: 0, y: 1, fit: false };
const scene = (arrays, parameters, changes = {}) => {
  const point = { parameters, steps: 9 };
  return new Scene(point, {}, { signals: true }, arrays, { ...view, ...changes });
};
const embedding = new Series(
  [0, 2, 4],
  [5, 2],
  Float32Array.from({ length: 30 }, (_, i) => i),
);
const often = new Series([0, 1, 2, 3, 4, 8], [2], Float32Array.from([5, 1, 5, 1, 1, 1, 5, 1, 1, 5, 1, 9])); // prettier-ignore

test("pictures move with the states, and charts with all that is logged", () => {
  const now = scene({ embedding, signals: often }, { p: 5 });
  assert.deepEqual([now.steps, now.logs], [[0, 2, 4], [0, 1, 2, 3, 4, 8]]); // prettier-ignore
  assert.deepEqual([now.frequencies, now.d, now.strongest], [2, 2, 2]);
  assert.deepEqual([now.nearest(3), now.nearest(99), now.logged("embedding", 3)], [1, 2, 2]);
  assert.deepEqual(scene({}, {}).steps, [9]);
});

test("lines join neighbours on a circle, or else the shortest progression at the end", () => {
  const xy = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4];
  const placesOf = (lines) => lines.map((line) => line.filter((_, i) => i % 2 === 0));
  const now = scene({ embedding }, { p: 5 });
  assert.deepEqual(placesOf(linesOf(now, xy)), [[0, 1], [1, 2], [2, 3], [3, 4]]); // prettier-ignore
  const circle = scene({ embedding }, { p: 5 }, { plane: 2 });
  assert.deepEqual(placesOf(linesOf(circle, xy)), [[0, 3, 1, 4, 2, 0]]);
  const unnumbered = new Scene({ parameters: { p: 5 }, steps: 9 }, {}, {}, { embedding }, view);
  assert.deepEqual(linesOf(unnumbered, xy), []);
});

test("a network is that of the embedding, if both are logged at a step", () => {
  const weight = new Series([0, 4], [1], Float32Array.from([7, 8]));
  const now = scene({ embedding, "output.weight": weight }, { p: 5 });
  assert.equal(now.weights(2), null);
  assert.deepEqual([...now.weights(4)["output.weight"]], [8]);
  assert.equal(scene({ embedding }, { p: 5 }).weights(4), null);
});

test("a plane of swapped dimensions leads back", () => {
  const now = scene({ embedding }, { p: 5 }, { x: 1, y: 0 });
  const xy = now.inPlane(embedding.at(0));
  close(xy.subarray(0, 4), [1, 0, 3, 2]);
  close(now.fromPlane(xy), embedding.at(0));
  assert.deepEqual(now.axes, { xLabel: "dimension 2", yLabel: "dimension 1" });
  assert.equal(now.planeName, "dimensions_2_1");
  assert.ok(now.isWhole);
});
