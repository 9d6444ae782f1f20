import assert from "node:assert/strict";
import test from "node:test";
import { COMPONENTS, format, parse } from "circlet/address";

test("an address that names nothing has the usual view", () => {
  const { runId, beside, step, view } = parse("");
  assert.deepEqual([runId, beside, step], [null, null, undefined]);
  const usual = { plane: 0, x: 0, y: 1, chosen: false };
  const boxes = { fit: false, fitted: false, log: false };
  assert.deepEqual(view, { ...usual, ...boxes });
});

const ADDRESSES = [
  "#run=e/p17/s00001&step=7",
  "#run=e/p17/s00001&step=0&beside=e/p17/s00002&frequency=3",
  "#run=a&step=7&dimensions=6,8&fit=1&log=1",
  "#run=a&step=7&components=1,3",
];

for (const address of ADDRESSES) {
  test(`${address} is read as it was written`, () => {
    assert.equal(format(parse(address), false), address);
  });
}

test("a box unticked where it is usual is in the address", () => {
  const link = parse("#run=a&step=1&fit=0");
  assert.ok(link.view.fitted);
  assert.equal(format(link, true), "#run=a&step=1&fit=0");
});

test("what cannot be is left out", () => {
  const wrong = "#run=a&step=1e9&dimensions=9,-1&frequency=x&log=yes";
  const { step, view } = parse(wrong);
  assert.equal(step, undefined);
  assert.deepEqual([view.plane, view.x, view.y], [0, 8, 1]);
  assert.equal(view.log, false);
  assert.equal(parse("#%").runId, null);
  assert.equal(parse("#run=%22%3E%3Cb%3E").runId, '"><b>');
  assert.equal(parse("#components=2,1").view.plane, COMPONENTS);
});
