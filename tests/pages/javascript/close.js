import assert from "node:assert/strict";

/** Whether numbers are those expected. */
export function close(found, expected, most = 1e-9) {
  assert.equal(found.length, expected.length);
  expected.forEach((value, i) => {
    assert.ok(Math.abs(found[i] - value) <= most, `${i}: ${found[i]} is not ${value}`);
  });
}
