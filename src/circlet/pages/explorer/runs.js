// The list of the runs of a point: sorted by any column, filtered by outcome; one of them is chosen.
import { byId, element, on, options } from "circlet/controls";
import { grouped } from "circlet/numbers";
import { rounded } from "circlet/words";

const KINDS = {
  training: "▸: full training",
  end: "no mark: final state only",
  outcome: "grey: numbers only",
};

/** The first of some runs that has its training, else the first. @type {(runs: Run[]) => Run} */
const firstOf = (runs) => runs.find((run) => run.shown === "training") ?? runs[0];

/** The runs with an outcome, sorted; all, if none has it. @type {(runs: Run[], order: { by: string, isDown: boolean, outcome: string }) => Run[]} */
export function listed(runs, { by, isDown, outcome }) {
  const key = (run) => run[by] ?? (isDown ? -Infinity : Infinity);
  const compare = (a, b) => Number(key(a) > key(b)) - Number(key(a) < key(b)) || a.seed - b.seed;
  const filtered = runs.filter((run) => run.outcome === outcome);
  return (filtered.length ? filtered : [...runs]).sort((a, b) => (isDown ? -1 : 1) * compare(a, b));
}

/** Columns that say something of some runs of a system, with their headings. */
export function columnsOf(/** @type {System} */ { columns, outcome }, /** @type {Run[]} */ runs) {
  const isInformative = outcome !== "status" || runs.some((run) => run.outcome !== "finished");
  const all = Object.entries({ seed: "seed", ...(isInformative && { outcome }), ...columns });
  return new Map(all.filter(([name]) => runs.some((run) => name in run)));
}

/** What the signs mean, and what is not listed. */
export function noteOf(/** @type {Point} */ { runs, planned, unlisted }) {
  const here = Object.keys(KINDS).filter((kind) => runs.some((run) => run.shown === kind));
  const legend = here.map((kind) => KINDS[kind]).join("; ");
  const more = unlisted ? `; not on this page: ${unlisted}` : "";
  const missing = planned - runs.length - unlisted;
  return `${legend}${more}${missing > 0 ? `; not finished: ${missing} of ${planned}` : ""}`;
}

/**
 * The run of a point that is to be shown: the one of an id, if it is there, or with `sameSeed` the
 * one of the seed that the reader has chosen; else the first that is listed.
 */
export function wantedOf(/** @type {State} */ { list }, { runs }, runId, sameSeed = false) {
  const isLinked = (run) => (sameSeed ? run.seed === list.seed : run.run_id === runId);
  return runs.find(isLinked) ?? firstOf(listed(runs, list));
}

/** List the runs of the chosen point, and offer their outcomes, the most frequent first. */
export function offerRuns(/** @type {State} */ state) {
  const { list, point, run } = state;
  if (run.outcome !== list.outcome) list.outcome = "";
  if (!columnsIn(state).has(list.by)) list.by = "seed";
  const counts = [...grouped(point.runs, ({ outcome }) => outcome)];
  counts.sort(([, a], [, b]) => b.length - a.length);
  const entries = counts.map(([outcome, some]) => [outcome, `${outcome} (${some.length})`]);
  options("filter", [["", `all (${point.runs.length})`], ...entries], list.outcome);
  listRuns(state);
}

const columnsIn = (/** @type {State} */ { catalogue, point }) =>
  columnsOf(catalogue.systems[point.system], point.runs);

function listRuns(/** @type {State} */ state) {
  const { list, point, run } = state;
  const columns = columnsIn(state);
  const rows = listed(point.runs, list).map((one) => rowOf(one, one === run, [...columns.keys()]));
  byId("run-head").replaceChildren(...[...columns].map((column) => headOf(state, column)));
  byId("run-list").replaceChildren(...rows);
  byId("run-note").textContent = noteOf(point);
  // Within its own box: the page must not move.
  const box = byId("run-list").closest(".runs");
  const row = byId("run-list").querySelector("input:checked")?.closest("tr");
  if (!row) return;
  const below = row.offsetTop + row.offsetHeight - box.clientHeight;
  const above = row.offsetTop - row.offsetHeight * 2; // under the head
  if (box.scrollTop < below) box.scrollTop = below;
  if (box.scrollTop > above) box.scrollTop = Math.max(above, 0);
}

function headOf(/** @type {State} */ { catalogue, point, list }, [name, heading]) {
  const { metrics } = catalogue.systems[point.system];
  const title = metrics.find((metric) => metric.name === name)?.meaning ?? "";
  const button = element("button", { textContent: heading, title });
  button.dataset.by = name;
  const cell = element("th", {}, button);
  if (list.by === name) cell.ariaSort = list.isDown ? "descending" : "ascending";
  return cell;
}

function rowOf(/** @type {Run} */ run, checked, [, ...columns]) {
  const radio = element("input", { type: "radio", name: "run", value: run.run_id, checked });
  const label = element("label", {}, radio, ` ${run.seed}${run.shown === "training" ? " ▸" : ""}`);
  const cells = columns.map((name) => element("td", { textContent: rounded(run[name]) }));
  return element("tr", { className: run.shown }, element("td", {}, label), ...cells);
}

/** Let the reader sort, filter and choose: `change` is called with a run. */
export function wireRuns(/** @type {State} */ state, change) {
  const { list } = state;
  on("filter", "change", ({ value }) => {
    list.outcome = value;
    const runs = listed(state.point.runs, list);
    if (!runs.includes(state.run)) change(firstOf(runs));
    listRuns(state);
  });
  on("run-head", "click", ({ dataset: { by } }) => {
    if (!by) return;
    list.isDown = list.by === by && !list.isDown;
    list.by = by;
    listRuns(state);
    byId("run-head").querySelector(`[data-by="${by}"]`).focus();
  });
  on("run-list", "change", ({ value }) => {
    change(state.point.runs.find((run) => run.run_id === value));
  });
  on("run-list", "click", (target) => {
    if (!target.closest("label")) target.closest("tr")?.querySelector("input").click();
  });
}
