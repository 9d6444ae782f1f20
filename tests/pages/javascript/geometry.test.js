import assert from "node:assert/strict";
import test from "node:test";
import * as geometry from "circlet/geometry";
import { normal, range, sum, uniform } from "circlet/numbers";
import { close } from "./close.js";

const random = uniform(1);
const normals = (count) => Float64Array.from({ length: count }, () => normal(random));

test("neighbours of a circle are joined round it", () => {
  const xy = range(26); // places 2 a, 2 a + 1 stand for a
  const names = (lines) => lines.map((line) => range(line.length / 2, (i) => line[2 * i] / 2));
  assert.equal(geometry.delta(5, 13), 8); // 5 * 8 = 40 = 1 mod 13
  assert.equal(geometry.delta(2, 12), undefined);
  assert.deepEqual(names(geometry.around(xy, 8)), [range(14, (i) => (8 * i) % 13)]);
  const rings = range(3, (i) => [i, i + 3, i + 6, i + 9, i]);
  assert.deepEqual(names(geometry.around(xy.slice(0, 24), 3)), rings);
});

test("the shortest progression has the least total length, and leaves out long lines", () => {
  for (const p of [5, 12, 17]) {
    const xy = normals(2 * p);
    const place = (a) => [xy[2 * (a % p)], xy[2 * (a % p) + 1]];
    const length = (a, by) =>
      Math.hypot(...place(a + by).map((value, axis) => value - place(a)[axis]));
    const total = (by) => sum(range(p, (a) => length(a, by)));
    const by = geometry.shortestStep(xy);
    const totals = range(Math.floor(p / 2), (i) => total(i + 1));
    assert.equal(total(by), Math.min(...totals));
    const lengths = range(p, (a) => length(a, by));
    const sorted = [...lengths].sort((a, b) => a - b);
    const median = (sorted[Math.floor((p - 1) / 2)] + sorted[Math.floor(p / 2)]) / 2;
    const joined = range(p).filter((a) => lengths[a] <= 2 * median);
    const lines = joined.map((a) => [...place(a), ...place(a + by)]);
    assert.deepEqual(geometry.progression(xy, by), lines);
  }
  assert.equal(geometry.shortestStep([NaN, 0, 1, 1, 2, 2, 3, 3]), 1);
});

test("circles of frequencies are seen in their planes", () => {
  const [p, d] = [13, 4];
  const angle = (k, a) => (2 * Math.PI * k * a) / p;
  const circles = (a) => [Math.cos, Math.sin].flatMap((of) => [5, 3].map((k) => of(angle(k, a))));
  const rows = range(p, circles).flat();
  for (const k of [3, 5]) {
    const xy = geometry.along(rows, d, geometry.frequencyPlane(rows, d, k));
    close(xy, range(p, (a) => [Math.cos(angle(k, a)), -Math.sin(angle(k, a))]).flat());
  }
  const axes = [geometry.unit(d, 3), geometry.unit(d, 4)]; // there is no fifth dimension
  const shown = geometry.along(rows, d, axes);
  close(shown, range(p, (a) => [Math.sin(angle(3, a)), 0]).flat());
});

test("principal axes are orthogonal, and their shares those of the variance", () => {
  const [rows, d] = [200, 4];
  const sizes = [4, 2, 1, 0];
  const matrix = normals(rows * d).map((value, n) => 7 + sizes[n % d] * value);
  const { mean, axes } = geometry.principal(matrix, d, 6);
  assert.equal(axes.length, 3); // it spans no more
  close(mean, [7, 7, 7, 7], 0.9);
  const variance = ({ along }) => sum(geometry.project(matrix, d, along, mean).map((x) => x ** 2));
  const whole = sum(range(d, (i) => variance({ along: geometry.unit(d, i) })));
  close(
    axes.map(({ share }) => share),
    axes.map((axis) => variance(axis) / whole),
  );
  close([sum(axes.map(({ share }) => share))], [1]);
  const products = axes.map(({ along }) => geometry.project(axes[0].along, d, along)[0]);
  close(products, [1, 0, 0], 1e-6);
});

test("a box holds all places that are finite", () => {
  const xy = [3, -1, NaN, 9, -2, 0.5];
  close(geometry.boxAround([xy]), [-3.36, 3.36, -3.36, 3.36]);
  close(geometry.boxAround([xy], false), [-2.3, 3.3, -3.05, 2.55]);
  assert.deepEqual(geometry.boxAround([[NaN, NaN]]), [-1, 1, -1, 1]);
  assert.deepEqual(geometry.boxAround([[0, 0]]), [-1, 1, -1, 1]);
  assert.deepEqual([...geometry.gridIn([0, 2, 0, 4], 2)], [0.5, 3, 1.5, 3, 0.5, 1, 1.5, 1]);
});

test("ticks are round and between the ends", () => {
  assert.deepEqual(geometry.ticks(-1, 1), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(geometry.ticks(0, 17), [0, 5, 10, 15]);
  assert.ok(geometry.ticks(1, 1 + 1e-15).length <= 10);
});

test("names are moved away from the middle", () => {
  close(geometry.outward([3, 4, 0, 0.5], 0.1), [3.3, 4.4, 0, 1]);
});
