import assert from "node:assert/strict";

/** Whether numbers are those expected. */
export function close(values, expected, most = 1e-9) {
  assert.equal(values.length, expected.length);
  expected.forEach((value, i) => {
    assert.ok(Math.abs(values[i] - value) <= most, `${i}: ${values[i]} is not ${value}`);
  });
}
