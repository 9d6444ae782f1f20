import assert from "node:assert/strict";
import test from "node:test";
import { outcomesOf, shareOf, sweptIn, titleOf } from "circlet/grid";
import { experimentInWords, inOrder, openingOf } from "circlet/opening";
import { columnsOf, listed, noteOf, wantedOf } from "circlet/runs";

const run = (seed, outcome, shown, more) => ({
  run_id: `e/s${seed}`,
  seed,
  outcome,
  shown,
  ...more,
});
const RUNS = [
  run(0, "grid", "outcome", { loss: 3 }),
  run(1, "circle", "training", { loss: 1, frames: 5 }),
  run(2, "circle", "training", { frames: 9 }),
];
const seeds = (runs) => runs.map(({ seed }) => seed);

test("runs are sorted, what is not known last, and filtered", () => {
  const by = { by: "loss", isDown: false, outcome: "" };
  assert.deepEqual(seeds(listed(RUNS, by)), [1, 0, 2]);
  assert.deepEqual(seeds(listed(RUNS, { ...by, isDown: true })), [0, 1, 2]);
  assert.deepEqual(seeds(listed(RUNS, { ...by, outcome: "circle" })), [1, 2]);
  assert.equal(listed(RUNS, { ...by, outcome: "neither" }).length, 3);
});

test("the run of a link, or of the same seed, or the first training is wanted", () => {
  const list = { by: "seed", isDown: false, outcome: "", seed: 2 };
  const wanted = (...link) => wantedOf({ list }, { runs: RUNS }, ...link).seed;
  assert.deepEqual([wanted("e/s0"), wanted(undefined, true), wanted("another")], [0, 2, 1]);
  list.outcome = "grid";
  assert.equal(wanted(), 0);
});

test("columns are of what runs have; a status is listed unless all are finished", () => {
  const system = { outcome: "status", columns: { loss: "loss (nat)", norm: "norm" } };
  assert.deepEqual([...columnsOf(system, RUNS).keys()], ["seed", "outcome", "loss"]);
  const finished = [run(0, "finished", "end")];
  assert.deepEqual([...columnsOf(system, finished)], [["seed", "seed"]]);
});

test("a note says what the signs mean and what lacks", () => {
  const note = noteOf({ runs: RUNS, planned: 9, unlisted: 2 });
  assert.ok(note.startsWith("▸: full training; grey: numbers only; not on this page: 2"));
  assert.ok(note.endsWith("not finished: 4 of 9"));
});

const SWEPT = [
  { name: "task", values: ["a", "b"], words: true },
  { name: "weight_decay", values: ["0", "1", "2", "3"], words: false },
];
const POINT = {
  ...{ experiment: "decay_scan", name: "p17", at: [1, 2], seeds: { embedding: 4 } },
  outcomes: [["circle", 2], ["grid", 1]], // prettier-ignore
  estimates: { is_circle: [0.6667, 0.2, 0.94, 3] },
};

test("a point is named by what is swept, numbers first", () => {
  const swept = sweptIn({ swept: SWEPT });
  assert.equal(titleOf(POINT, swept, false), "weight decay 2, task b, embedding seed 4");
  const alone = { ...POINT, seeds: {} };
  assert.equal(titleOf(alone, [], true), "decay scan");
  assert.equal(titleOf(alone, [], false), "p17");
  const words = experimentInWords("decay_scan", { swept: SWEPT }, 1);
  assert.equal(words, "decay scan: task a, b; weight decay 0 to 3; 1 run");
});

test("the outcomes of a point have the interval of the one that colours", () => {
  const words = "circle (2 of 3); grid (1 of 3)";
  const measured = "; share 0.667 (95 % interval 0.2 … 0.94), n = 3";
  assert.equal(outcomesOf(POINT, "is_circle", "share"), words + measured);
  assert.equal(outcomesOf(POINT, "other", ""), words);
  assert.equal(shareOf(5, [5, 10, null]), 0.5);
  assert.equal(shareOf(0.2, [0.2], 1), 0.2);
  assert.deepEqual([shareOf(null, [1]), shareOf(0, [0])], [0, 0]);
});

test("the page opens with what moves most of the first system that has what it hopes for", () => {
  const point = (system, experiment, runs) => ({ system, experiment, runs });
  const points = [
    point("second", "b", RUNS),
    point("first", "small", [run(7, "grid", "training", { frames: 99 })]),
    point("first", "empty", []),
    point("first", "large", RUNS),
  ];
  const systems = { first: { opens_with: "circle" }, second: { opens_with: "circle" } };
  const sorted = inOrder({ points, systems });
  assert.deepEqual(sorted.map(({ place }) => place), [3, 1, 0]); // prettier-ignore
  assert.equal(openingOf(sorted, systems).seed, 2);
  systems.first.opens_with = systems.second.opens_with = "neither";
  assert.equal(openingOf(sorted, systems).seed, 7);
  assert.equal(openingOf([point("first", "a", RUNS.slice(0, 1))], systems).seed, 0);
});
