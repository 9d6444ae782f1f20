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
export const firstOf = (runs) => runs.find((run) => run.shown === "training") ?? runs[0];

/** The runs with an outcome, sorted; all, if none has it. @type {(runs: Run[], order: { by: string, isDown: boolean, outcome: string }) => Run[]} */
export function listed(runs, { by, isDown, outcome }) {
  const key = (run) => run[by] ?? (isDown ? -Infinity : Infinity);
  const compare = (a, b) => Number(key(a) > key(b)) - Number(key(a) < key(b)) || a.seed - b.seed;
  const found = runs.filter((run) => run.outcome === outcome);
  return (found.length ? found : [...runs]).sort((a, b) => (isDown ? -1 : 1) * compare(a, b));
}

/** Columns that say something of some runs of a system, with their headings. */
export function columnsOf(/** @type {System} */ { columns, outcome }, /** @type {Run[]} */ runs) {
  const isTold = outcome !== "status" || runs.some((run) => run.outcome !== "finished");
  const every = Object.entries({ seed: "seed", ...(isTold && { outcome }), ...columns });
  return new Map(every.filter(([name]) => runs.some((run) => name in run)));
}

/** What the signs mean, and what is not listed. */
export function noteOf(/** @type {Point} */ { runs, planned, unlisted }) {
  const here = Object.keys(KINDS).filter((kind) => runs.some((run) => run.shown === kind));
  const legend = here.map((kind) => KINDS[kind]).join("; ");
  const more = unlisted ? `; ${unlisted} more are not in this page` : "";
  const missing = planned - runs.length - unlisted;
  return `${legend}${more}${missing > 0 ? `; ${missing} of ${planned} are not done` : ""}`;
}

export class Runs {
  /** Systems as in the catalogue; `chosen` is called with a run that the reader chooses. */
  constructor(systems, chosen) {
    this.systems = systems;
    this.chosen = chosen;
    this.by = "seed";
    this.isDown = false;
    this.outcome = ""; // that is filtered by
    this.seed = undefined; // that the reader has chosen
    /** @type {Point} */
    this.point = undefined;
    /** @type {Run} */
    this.run = undefined;
    on("filter", "change", ({ value }) => {
      this.outcome = value;
      const runs = listed(this.point.runs, this);
      if (!runs.includes(this.run)) this.take(firstOf(runs));
      this.list();
    });
    byId("run-head").addEventListener("click", ({ target }) => {
      if (target.dataset.by) this.sort(target.dataset.by);
    });
    on("run-list", "change", ({ value }) =>
      this.take(this.point.runs.find((run) => run.run_id === value)),
    );
    byId("run-list").addEventListener("click", ({ target }) => {
      if (!target.closest("label")) target.closest("tr")?.querySelector("input").click();
    });
  }

  /**
   * The run of a point that is to be shown: the one of an id, if it is there, or with `sameSeed` the
   * one of the seed that the reader has chosen; else the first that is listed.
   */
  wanted(/** @type {Point} */ { runs }, runId, sameSeed = false) {
    const isLinked = (run) => (sameSeed ? run.seed === this.seed : run.run_id === runId);
    return runs.find(isLinked) ?? firstOf(listed(runs, this));
  }

  /** List the runs of a point, of which one is shown. */
  open(/** @type {Point} */ point, run, sameSeed = false) {
    this.point = point;
    this.run = run;
    if (run.outcome !== this.outcome) this.outcome = "";
    if (!this.columns.has(this.by)) this.by = "seed";
    if (!sameSeed) this.seed = run.seed; // else it comes back where there is a run of it
    const counts = [...grouped(point.runs, ({ outcome }) => outcome)];
    counts.sort(([, a], [, b]) => b.length - a.length);
    const entries = counts.map(([outcome, own]) => [outcome, `${outcome} (${own.length})`]);
    options("filter", [["", `all (${point.runs.length})`], ...entries], this.outcome);
    this.list();
  }

  get columns() {
    return columnsOf(this.systems[this.point.system], this.point.runs);
  }

  take(run) {
    this.run = run;
    this.seed = run.seed;
    this.chosen(run);
  }

  sort(by) {
    this.isDown = this.by === by && !this.isDown;
    this.by = by;
    this.list();
    byId("run-head").querySelector(`[data-by="${by}"]`).focus();
  }

  list() {
    const { columns } = this;
    const rows = listed(this.point.runs, this).map((run) => this.row(run, [...columns.keys()]));
    byId("run-head").replaceChildren(...[...columns].map((column) => this.head(column)));
    byId("run-list").replaceChildren(...rows);
    byId("run-note").textContent = noteOf(this.point);
    // Within its own box: the page must not move.
    const box = byId("run-list").closest(".runs");
    const row = byId("run-list").querySelector("input:checked")?.closest("tr");
    if (!row) return;
    const below = row.offsetTop + row.offsetHeight - box.clientHeight;
    const above = row.offsetTop - row.offsetHeight * 2; // under the head
    if (box.scrollTop < below) box.scrollTop = below;
    if (box.scrollTop > above) box.scrollTop = Math.max(above, 0);
  }

  head([name, heading]) {
    const { metrics } = this.systems[this.point.system];
    const title = metrics.find((metric) => metric.name === name)?.meaning ?? "";
    const button = element("button", { textContent: heading, title });
    button.dataset.by = name;
    const cell = element("th", {}, button);
    if (this.by === name) cell.ariaSort = this.isDown ? "descending" : "ascending";
    return cell;
  }

  row(/** @type {Run} */ run, [, ...columns]) {
    const radio = element("input", { type: "radio", name: "run", value: run.run_id });
    radio.checked = run === this.run;
    const label = element(
      "label",
      {},
      radio,
      ` ${run.seed}${run.shown === "training" ? " ▸" : ""}`,
    );
    const cells = columns.map((name) => element("td", { textContent: rounded(run[name]) }));
    return element("tr", { className: run.shown }, element("td", {}, label), ...cells);
  }
}
