// The list of the runs of a point: sorted by any column, filtered by outcome; one of them is chosen.
import { byId, options, rounded } from "circlet/controls";

const KINDS = {
  training: "▸: full training",
  end: "no mark: final state only",
  outcome: "grey: numbers only",
};

/** The first of some runs that has its training, else the first. */
export const firstOf = (runs) => runs.find((run) => run.shown === "training") ?? runs[0];

export class Runs {
  /** Systems as in the catalogue; `chosen` is called with a run that the reader chooses. */
  constructor(systems, chosen) {
    Object.assign(this, { systems, chosen, by: "seed", down: false, outcome: "" });
    byId("filter").addEventListener("change", ({ target }) => {
      this.outcome = target.value;
      if (!this.listed().includes(this.run)) this.take(firstOf(this.listed()));
      this.list();
    });
    byId("run-head").addEventListener("click", ({ target }) => {
      if (target.dataset.by) this.sort(target.dataset.by);
    });
    byId("run-list").addEventListener("change", ({ target }) => {
      this.take(this.point.runs.find((run) => run.run_id === target.value));
    });
    byId("run-list").addEventListener("click", ({ target }) => {
      if (!target.closest("label")) target.closest("tr")?.querySelector("input").click();
    });
  }

  /**
   * The run of a point that is to be shown: the one of an id, if it is there, or with `sameSeed` the
   * one of the seed that the reader has chosen; else the first that is listed.
   */
  wanted(point, runId, sameSeed = false) {
    const linked = point.runs.find((run) =>
      sameSeed ? run.seed === this.seed : run.run_id === runId,
    );
    return linked ?? firstOf(this.listed(point));
  }

  /** List the runs of a point, of which one is shown. */
  open(point, run, sameSeed = false) {
    Object.assign(this, { point, run });
    if (run.outcome !== this.outcome) this.outcome = "";
    if (!this.columns.includes(this.by)) this.by = "seed";
    if (!sameSeed) this.seed = run.seed; // else it comes back where there is a run of it
    this.offer();
    this.list();
  }

  get system() {
    return this.systems[this.point.system];
  }

  /** Headings by column. */
  get heads() {
    const { columns, outcome } = this.system;
    return { seed: "seed", outcome, ...columns };
  }

  get columns() {
    const { runs } = this.point;
    const told = this.system.outcome !== "status" || runs.some((run) => run.outcome !== "finished");
    const says = (name) => (name !== "outcome" || told) && runs.some((run) => name in run);
    return Object.keys(this.heads).filter(says);
  }

  /** The runs of a point with the outcome that is filtered by, sorted; all, if none has it. */
  listed(point = this.point) {
    const { by, down, outcome } = this;
    const key = (run) => run[by] ?? (down ? -Infinity : Infinity);
    const compare = (a, b) => (key(a) > key(b)) - (key(a) < key(b)) || a.seed - b.seed;
    const found = point.runs.filter((run) => run.outcome === outcome);
    return (found.length ? found : [...point.runs]).sort((a, b) => (down ? -1 : 1) * compare(a, b));
  }

  take(run) {
    this.run = run;
    this.seed = run.seed;
    this.chosen(run);
  }

  sort(by) {
    this.down = this.by === by && !this.down;
    this.by = by;
    this.list();
    byId("run-head").querySelector(`[data-by="${by}"]`).focus();
  }

  /** Offer the outcomes, the most frequent first. */
  offer() {
    const { runs } = this.point;
    const counts = new Map();
    for (const { outcome } of runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const entries = sorted.map(([outcome, count]) => [outcome, `${outcome} (${count})`]);
    options("filter", [["", `all (${runs.length})`], ...entries], this.outcome);
  }

  list() {
    byId("run-head").replaceChildren(...this.columns.map((name) => this.head(name)));
    byId("run-list").replaceChildren(...this.listed().map((run) => this.row(run)));
    byId("run-note").textContent = this.note;
    // Within its own box: the page must not move.
    const box = byId("run-list").closest(".runs");
    const row = byId("run-list").querySelector("input:checked")?.closest("tr");
    if (!row) return;
    const below = row.offsetTop + row.offsetHeight - box.clientHeight;
    const above = row.offsetTop - row.offsetHeight * 2; // under the head
    if (box.scrollTop < below) box.scrollTop = below;
    if (box.scrollTop > above) box.scrollTop = Math.max(above, 0);
  }

  head(name) {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    button.textContent = this.heads[name];
    button.dataset.by = name;
    button.title = this.system.metrics.find((metric) => metric.name === name)?.meaning ?? "";
    if (this.by === name) cell.ariaSort = this.down ? "descending" : "ascending";
    cell.append(button);
    return cell;
  }

  row(run) {
    const row = document.createElement("tr");
    row.className = run.shown;
    for (const name of this.columns) row.insertCell().textContent = rounded(run[name]);
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "run", value: run.run_id });
    radio.checked = run === this.run;
    const label = document.createElement("label");
    label.append(radio, ` ${run.seed}${run.shown === "training" ? " ▸" : ""}`);
    row.cells[0].replaceChildren(label);
    return row;
  }

  /** What the signs mean, and what is not listed. */
  get note() {
    const { runs, planned, unlisted } = this.point;
    const here = Object.keys(KINDS).filter((kind) => runs.some((run) => run.shown === kind));
    const legend = here.map((kind) => KINDS[kind]).join("; ");
    const more = unlisted ? `; ${unlisted} more are not in this page` : "";
    const missing = planned - runs.length - unlisted;
    const waiting = missing > 0 ? `; ${missing} of ${planned} are not done` : "";
    return `${legend}${more}${waiting}`;
  }
}
