import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { arraysOf, Series, unpack } from "circlet/catalogue";
import { close } from "./close.js";

test("a packed text is unpacked", async () => {
  const packed = gzipSync("Mușat, −1").toString("base64");
  assert.equal(await unpack(packed).text(), "Mușat, −1");
});

/** A chunk as packing.py writes it. */
function chunk(arrays, ...blobs) {
  const header = Buffer.from(JSON.stringify({ arrays }));
  const padded = Buffer.concat([header, Buffer.from(" ".repeat(-header.length & 3))]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(padded.length);
  return new Uint8Array(Buffer.concat([length, padded, ...blobs])).buffer;
}

test("arrays of a chunk are 32-bit floats, or rounded ones with their scale", () => {
  const curves = Buffer.from(new Float32Array([1.5, 2, NaN, 1e-9]).buffer);
  const scale = Buffer.from(new Float32Array([0.5, 2]).buffer);
  const whole = Buffer.from(new Int16Array([1, -2, 3, -32768]).buffer);
  const of = { shape: [2], steps: [0, 10], size: 2 };
  const byRun = arraysOf(
    chunk(
      [
        { run: "a", name: "curves", at: 0, ...of },
        { run: "b", name: "embedding", at: 16, rounded: true, ...of },
      ],
      ...[curves, scale, whole],
    ),
  );
  assert.deepEqual([...byRun.keys()], ["a", "b"]);
  assert.ok(Number.isNaN(byRun.get("a").curves.at(10)[0]));
  close(byRun.get("a").curves.at(0), [1.5, 2]);
  close(byRun.get("b").embedding.at(3), [0.5, -1]);
  close(byRun.get("b").embedding.frame().subarray(0, 1), [6]);
  assert.ok(Number.isNaN(byRun.get("b").embedding.frame()[1]));
});

test("a series has the values of the last logged step", () => {
  const series = new Series([2, 5, 9], [1], Float32Array.from([20, 50, 90]));
  const at = [0, 2, 4, 5, 100].map((step) => [series.logged(step), ...series.at(step)]);
  assert.deepEqual(at, [[2, 20], [2, 20], [2, 20], [5, 50], [9, 90]]); // prettier-ignore
});
