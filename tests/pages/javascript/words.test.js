import assert from "node:assert/strict";
import test from "node:test";
import * as curves from "circlet/curves";
import { csv } from "circlet/files";
import { stopAt } from "circlet/tour";
import { rounded } from "circlet/words";

const metric = (name, unit = "") => ({ name, unit, meaning: "" });

test("numbers have three digits", () => {
  const written = [0.12345, 1234.5, 1e12, 2, null, undefined, "text"].map(rounded);
  assert.deepEqual(written, ["0.123", "1235", "1000000000000", "2", "–", "–", "text"]);
});

test("metrics of one unit share an axis", () => {
  const names = ["train_loss", "test_loss"];
  const axes = curves.axesOf([
    ...names.map((name) => metric(name, "nat")),
    metric("test_accuracy", "0..1"),
    metric("weight_norm"),
  ]);
  const titles = axes.map(({ title, curves: one }) => [title, ...one.map(({ label }) => label)]);
  assert.deepEqual(titles, [
    ["loss (nat)", "train", "test"],
    ["accuracy", "test"],
    ["weight norm", "weight norm"],
  ]);
});

test("an axis is logarithmic where all is positive", () => {
  const of = (values, quantity = "") => curves.valueAxis({ quantity }, values);
  assert.deepEqual(of([1, 1e7, NaN]), { type: "log", dtick: 2 });
  assert.equal(of([1, 20]).dtick, "D2");
  assert.equal(of([0, 1]).type, "linear");
  assert.equal(of([0, 1], "loss").type, "log"); // rounded to zero
  assert.equal(of([-1, 1], "loss").type, "linear");
  assert.deepEqual(curves.valueAxis({ isShare: true }, [0.2]), { range: [-0.03, 1.03] });
});

test("axes lie above each other, and long titles are wrapped", () => {
  for (const count of [1, 2, 3, 5]) {
    const domains = curves.domains(count);
    assert.ok(Math.abs(domains[0][1] - 1) < 1e-9 && Math.abs(domains.at(-1)[0]) < 1e-9);
    domains.slice(1).forEach(([, top], i) => assert.ok(top < domains[i][0]));
  }
  assert.equal(curves.wrapped("gain of the loss in all", 8), "gain of<br>the loss<br>in all");
});

test("a file of data quotes what it must", () => {
  const rows = [["a, b", 'c "d"', 1 / 3, 7, undefined]];
  assert.equal(csv([["x", "y", "z", "n", "u"], rows], 3), 'x,y,z,n,u\n"a, b","c ""d""",0.333,7,\n');
});

test("a stop stays while its run does", () => {
  const [end, forms] = [9, 3].map((step) => ({ run: "r", step }));
  const scene = { run: { run_id: "r" }, nearest: (step) => step };
  const tour = { stops: [end, forms], stop: undefined, wanted: undefined };
  const at = (place) => (tour.stop = stopAt(tour, scene, place));
  assert.deepEqual([5, 9, 3].map(at), [undefined, end, end]); // also if it is played
  tour.wanted = forms; // by an address
  assert.deepEqual([3, 9].map(at), [forms, forms]);
  tour.wanted = undefined;
  assert.equal(at(9), forms);
  assert.equal(stopAt(tour, { ...scene, run: { run_id: "other" } }, 3), undefined);
});
