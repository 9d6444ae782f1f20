// The runs of a study: choosing one, moving through its training, and the address of what is seen.
import { arraysOf, unpack } from "circlet/catalogue";
import { byId, Player, ratioText, rounded } from "circlet/controls";
import { offerFiles } from "circlet/files";
import { makePanels, NUMBERED } from "circlet/panels";
import { Scene } from "circlet/scene";

// Systems in the order of their papers, and the columns of their runs beside seed and outcome.
const SYSTEMS = {
  constant_attention: { paper: "Mușat", columns: ["test_accuracy", "norm_ratio", "imperfections"] },
  particles: { paper: "Mușat", columns: ["norm_ratio", "imperfections"] },
  embedding_mlp: { paper: "Ding et al.", columns: ["test_accuracy", "test_loss"] },
  sparse_transformer: {
    paper: "Odonnat et al.",
    columns: ["test_accuracy", "structure_epoch", "fit_epoch"],
  },
};
const COLUMNS = {
  seed: "seed",
  outcome: "outcome",
  test_accuracy: "test accuracy",
  test_loss: "test loss",
  norm_ratio: "norm ratio",
  imperfections: "imper\u00adfections",
  structure_epoch: "head at epoch",
  fit_epoch: "fit at epoch",
};
const REST = 150; // milliseconds after which a picture is at rest
const LINES = ["successive", "neighbours", "none"];
const CHECKS = ["numbers", "fit", "log"];

/** Set up the runs of a catalogue, beside the plotting library; resolves when one is shown. */
export function explore(catalogue, plotly) {
  const systems = Object.keys(SYSTEMS);
  const rank = (system) => (systems.indexOf(system) + systems.length) % systems.length;
  const counts = {}; // of runs, by experiment: the largest is the main one
  for (const { experiment, runs } of catalogue.points) {
    counts[experiment] = (counts[experiment] ?? 0) + runs.length;
  }
  const runsOf = ({ experiment }) => counts[experiment];
  const points = catalogue.points
    .map((entry, place) => ({ ...entry, place }))
    .filter((entry) => entry.runs.length)
    .sort((a, b) => rank(a.system) - rank(b.system) || runsOf(b) - runsOf(a));
  const chunks = new Map(); // arrays of points that were chosen, by place
  const order = { by: "seed", down: false, filter: "" };
  // What is drawn of a run: `plane` is a frequency, or 0 for the dimensions x and y; `chosen`,
  // whether the reader has chosen that; `wanted`, the lines that the reader has chosen, and `fitted`,
  // whether the scale.
  const view = { plane: 0, x: 0, y: 1, chosen: false, wanted: "", method: "lasso" };
  Object.assign(view, { numbers: true, fit: false, log: false });
  const panels = makePanels(plotly, goTo);
  let point, scene, at, resting;
  let addressed; // the run in the address
  let asked = 0; // choices of a point so far: the last one counts

  // Choosing: system, experiment, point, run.

  function options(select, entries, chosen) {
    const make = ([value, words]) => new Option(words, value, false, `${value}` === `${chosen}`);
    select.replaceChildren(...entries.map(make));
  }

  const distinct = (values) => [...new Set(values)];
  const named = (value) => [value, value];

  function offer() {
    const same = (name) => points.filter((entry) => entry[name] === point[name]);
    const every = distinct(points.map((entry) => entry.system));
    const paper = (name) => (SYSTEMS[name] ? `${name} (${SYSTEMS[name].paper})` : name);
    options(
      byId("system"),
      every.map((name) => [name, paper(name)]),
      point.system,
    );
    const experiments = distinct(same("system").map((entry) => entry.experiment));
    options(byId("experiment"), experiments.map(named), point.experiment);
    const counted = ([outcome, count]) => `${count} ${outcome}`;
    const summary = ({ name, outcomes }) => `${name}: ${outcomes.map(counted).join("; ")}`;
    const own = same("experiment").map((entry) => [entry.place, summary(entry)]);
    options(byId("point"), own, point.place);
  }

  /** Choose a point, and of its runs that of a link: { runId, step }; or what is there. */
  async function choosePoint(entry, link) {
    const mine = ++asked;
    byId("not-here").hidden = true;
    player.play(false);
    clearTimeout(resting);
    if (!chunks.has(entry.place)) {
      const bytes = await unpack(byId(`chunk-${entry.place}`).textContent);
      if (mine !== asked) return;
      chunks.set(entry.place, arraysOf(bytes));
    }
    const before = point;
    point = entry;
    // A plane of one space says nothing of another.
    const kept = before?.system === point.system && before.parameters.d === point.parameters.d;
    if (!link && !kept) view.chosen = false;
    if (!point.runs.some((run) => run.outcome === order.filter)) order.filter = "";
    if (!columns().includes(order.by)) order.by = "seed";
    offer();
    offerOutcomes();
    const run = link && point.runs.find((other) => other.run_id === link.runId);
    if (run && run.outcome !== order.filter) order.filter = "";
    chooseRun(run ?? first(), run && link.step);
    list();
  }

  const columns = () =>
    ["seed", "outcome", ...(SYSTEMS[point.system]?.columns ?? [])].filter((name) =>
      point.runs.some((run) => name in run),
    );

  function listed() {
    const chosen = point.runs.filter((run) => !order.filter || run.outcome === order.filter);
    const key = (run) => run[order.by] ?? (order.down ? -Infinity : Infinity);
    const compare = (a, b) => (key(a) > key(b)) - (key(a) < key(b)) || a.seed - b.seed;
    return chosen.sort((a, b) => (order.down ? -1 : 1) * compare(a, b));
  }

  /** The first run in the list that has its training, else the first. */
  const first = () => listed().find((run) => run.shown === "training") ?? listed()[0];

  function offerOutcomes() {
    const counts = new Map();
    for (const { outcome } of point.runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const entries = sorted.map(([outcome, count]) => [outcome, `${outcome} (${count})`]);
    options(byId("filter"), [["", `all (${point.runs.length})`], ...entries], order.filter);
  }

  function headOf(name) {
    const cell = document.createElement("th");
    const button = document.createElement("button");
    button.textContent = COLUMNS[name];
    button.dataset.by = name;
    if (order.by === name) cell.ariaSort = order.down ? "descending" : "ascending";
    cell.append(button);
    return cell;
  }

  function rowOf(run) {
    const row = document.createElement("tr");
    row.className = run.shown;
    for (const name of columns()) row.insertCell().textContent = rounded(run[name]);
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "run", value: run.run_id });
    radio.checked = run === scene.run;
    const label = document.createElement("label");
    label.append(radio, ` ${run.seed}${run.shown === "training" ? " ▸" : ""}`);
    row.cells[0].replaceChildren(label);
    return row;
  }

  function list() {
    byId("run-head").replaceChildren(...columns().map(headOf));
    byId("run-list").replaceChildren(...listed().map(rowOf));
    const kinds = {
      training: "▸ with its training",
      end: "without ▸ its end alone",
      outcome: "grey: its outcome alone",
    };
    const here = Object.keys(kinds).filter((kind) => point.runs.some((run) => run.shown === kind));
    const legend = here.map((kind) => kinds[kind]).join("; ");
    const more = point.unlisted ? `; ${point.unlisted} more are not in this page` : "";
    const missing = point.planned - point.runs.length - point.unlisted;
    const waiting = missing > 0 ? `; ${missing} of ${point.planned} are not done` : "";
    byId("run-note").textContent = `${legend}${more}${waiting}`;
    // Within its own box: the page must not move.
    const box = byId("run-list").closest(".runs");
    const row = byId("run-list").querySelector("input:checked")?.closest("tr");
    if (!row) return;
    const below = row.offsetTop + row.offsetHeight - box.clientHeight;
    const above = row.offsetTop - row.offsetHeight * 2; // under the head
    if (box.scrollTop < below) box.scrollTop = below;
    if (box.scrollTop > above) box.scrollTop = Math.max(above, 0);
  }

  function chooseRun(run, step) {
    player.play(false);
    const arrays = chunks.get(point.place).get(run.run_id) ?? {};
    scene = new Scene(point, run, arrays, catalogue.coefficients[run.run_id], view);
    findPlane();
    at = step === undefined ? scene.steps.length - 1 : nearest(step);
    byId("step-slider").max = scene.steps.length - 1;
    for (const id of ["step-slider", "play", "back", "forward"]) {
      byId(id).disabled = scene.steps.length < 2;
    }
    arrange();
    drawCharts();
    show();
  }

  // The plane in which embeddings are seen.

  /** Offer the planes of a run; unless the reader has chosen, take the one that shows most. */
  function findPlane() {
    const { d, frequencies, strongest, isTransformer } = scene;
    const valid = view.plane <= frequencies && view.x < d && view.y < Math.max(d, 2);
    if (!view.chosen || !valid) {
      Object.assign(view, { plane: d > 2 ? strongest : 0, x: 0, y: 1, chosen: false });
    }
    if (!view.fitted) view.fit = isTransformer; // whose sequences start far from where they end
    byId("fit").checked = view.fit;
    view.lines = view.wanted || (view.plane ? "neighbours" : "successive");
    const planes = Array.from({ length: frequencies }, (_, i) => [i + 1, `frequency ${i + 1}`]);
    options(byId("plane"), [[0, "dimensions"], ...planes], view.plane);
    const dimensions = Array.from({ length: d }, (_, i) => [i, `${i + 1}`]);
    options(byId("x"), dimensions, view.x);
    options(byId("y"), dimensions, view.y);
    byId("lines").value = view.lines;
    const hide = (id, hidden) => (byId(id).closest("label").hidden = hidden);
    hide("plane", frequencies === 0);
    hide("x", view.plane > 0);
    hide("y", view.plane > 0 || d < 2);
    hide("lines", isTransformer);
    hide("numbers", scene.p > NUMBERED);
    scene.see();
  }

  function changePlane(changes) {
    Object.assign(view, changes, { chosen: true, wanted: "" });
    findPlane();
    show();
  }

  // Drawing.

  const isShown = ({ id }) => !byId(id).hidden && !byId(`${id}-picture`).hidden;

  /** Show the panels of the run's system; those without data say why. */
  function arrange() {
    for (const panel of panels) {
      const { id } = panel;
      byId(id).hidden = !panel.shows(scene);
      const why = byId(id).hidden ? "" : panel.missing(scene);
      byId(`${id}-missing`).textContent = why;
      byId(`${id}-note`).textContent = "";
      byId(`${id}-picture`).hidden = why !== "";
      for (const button of byId(id).querySelectorAll("button")) button.disabled = why !== "";
    }
  }

  function drawCharts() {
    for (const panel of panels) {
      if (!panel.chart || !isShown(panel)) continue;
      byId(`${panel.id}-note`).textContent = panel.note(scene);
      panel.draw(scene);
    }
  }

  function drawMoving(atRest) {
    const step = scene.steps[at];
    for (const panel of panels) {
      if (!panel.source || !isShown(panel)) continue;
      panel.draw(scene, step, atRest);
      const logged = scene.logged(panel.source, step);
      const older = logged === step ? "" : `as logged at step ${logged}`;
      const words = [older, panel.note(scene, step)].filter(Boolean);
      byId(`${panel.id}-note`).textContent = words.join("; ");
    }
    read(step, atRest);
  }

  function show() {
    const step = scene.steps[at];
    drawMoving(false);
    for (const { chart } of panels) chart?.cursor(step);
    clearTimeout(resting);
    if (!player.playing) resting = setTimeout(rest, REST);
  }

  /** What may take its time, once nothing moves. */
  function rest() {
    drawMoving(true);
    remember();
  }

  function read(step, atRest) {
    const { run, arrays } = scene;
    const epochs = point.steps_per_epoch;
    const epoch = epochs > 1 ? `, epoch ${rounded(step / epochs)}` : "";
    byId("step-now").textContent = `step ${step} of ${point.steps}${epoch}`;
    const slider = byId("step-slider");
    slider.value = at;
    slider.setAttribute("aria-valuetext", `step ${step}`);
    const parts = [`seed ${run.seed}: ${run.outcome} at the end`];
    const dated = (words, logged) => (logged === step ? words : `${words} (step ${logged})`);
    if (arrays.curves) {
      const [loss, , , accuracy] = arrays.curves.at(step);
      const words = `train loss ${rounded(loss)}, test accuracy ${rounded(accuracy)}`;
      parts.push(dated(words, arrays.curves.logged(step)));
    }
    const structure = scene.structure(step, atRest);
    if (structure) {
      const { ratio, marked } = structure;
      const count = marked?.filter(Boolean).length;
      const imperfections = marked ? `, imperfections ${count} of ${marked.length}` : "";
      parts.push(dated(`norm ratio ${ratioText(ratio)}${imperfections}`, structure.step));
    }
    byId("reading-now").textContent = parts.join(" · ");
  }

  // Moving through the training.

  function nearest(step) {
    const away = scene.steps.map((other) => Math.abs(other - step));
    return away.indexOf(Math.min(...away));
  }

  function moveTo(place) {
    player.play(false);
    at = Math.min(Math.max(place, 0), scene.steps.length - 1);
    show();
  }

  /** Go to the logged step that is nearest to one. */
  function goTo(step) {
    moveTo(nearest(step));
  }

  let due; // when the next step is
  const player = new Player(
    byId("play"),
    "Play",
    (now) => {
      const wait = 1000 / Number(byId("speed").value);
      due ??= now + wait;
      if (now < due - 1) return;
      const steps = 1 + Math.floor((now - due) / wait);
      due += steps * wait;
      at = Math.min(at + steps, scene.steps.length - 1);
      if (at === scene.steps.length - 1) player.play(false);
      else show();
    },
    () => {
      due = undefined;
      if (player.playing && at === scene.steps.length - 1) at = 0;
      show();
    },
  );

  // The address, so that a view can be sent to somebody.

  function remember() {
    const parts = new URLSearchParams({ run: scene.run.run_id, step: scene.steps[at] });
    if (view.chosen && view.plane) parts.set("frequency", view.plane);
    if (view.chosen && !view.plane) parts.set("dimensions", `${view.x + 1},${view.y + 1}`);
    if (view.wanted) parts.set("lines", view.wanted);
    if (view.method !== "lasso") parts.set("method", view.method);
    const usual = { numbers: true, fit: scene.isTransformer, log: false };
    for (const id of CHECKS) if (view[id] !== usual[id]) parts.set(id, Number(view[id]));
    const address = `#${parts}`.replace(/%(2F|2C|3D)/g, decodeURIComponent);
    // Another run is another place to come back to; what is seen of it is not.
    const another = addressed && addressed !== scene.run.run_id;
    addressed = scene.run.run_id;
    if (address === location.hash) return;
    if (another) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  /** Show the view that the address names; the first training if it names none. */
  async function recall() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const runId = parts.get("run");
    if (runId === null && scene) return; // the name of a part of the page
    const whole = (text, otherwise) => (/^[1-9]\d*$/.test(text ?? "") ? Number(text) : otherwise);
    const [x, y] = (parts.get("dimensions") ?? "").split(",");
    Object.assign(view, {
      plane: whole(parts.get("frequency"), 0),
      x: whole(x, 1) - 1,
      y: whole(y, 2) - 1,
      chosen: parts.has("frequency") || parts.has("dimensions"),
      wanted: LINES.find((name) => name === parts.get("lines")) ?? "",
      method: parts.get("method") === "least_squares" ? "least_squares" : "lasso",
    });
    for (const id of CHECKS) {
      view[id] = parts.has(id) ? parts.get(id) === "1" : id === "numbers";
      byId(id).checked = view[id];
    }
    view.fitted = parts.has("fit");
    byId("method").value = view.method;
    const owner = points.find((entry) => entry.runs.some((run) => run.run_id === runId));
    const training = ({ runs }) => runs.some((run) => run.shown === "training");
    const circle = ({ runs }) =>
      runs.find((run) => run.shown === "training" && run.outcome === "circle");
    const step = /^\d+$/.test(parts.get("step") ?? "") ? Number(parts.get("step")) : undefined;
    const start = points.find(circle) ?? points.find(training) ?? points[0];
    const link = owner ? { runId, step } : { runId: circle(start)?.run_id };
    await choosePoint(owner ?? start, link);
    addressed = scene?.run.run_id;
    byId("not-here").hidden = runId === null || owner !== undefined;
  }

  // Files.

  /** A panel as a file. */
  function fileOf(id) {
    const panel = panels.find((other) => other.id === id);
    const asked = scene;
    const step = scene.steps[at];
    const moment = panel.source
      ? `_step_${scene.logged(panel.source, step)}_${scene.planeName}`
      : "";
    return {
      name: `${scene.run.run_id.replaceAll("/", "_")}${moment}_${id}`,
      picture: panel.picture,
      draw: () => panel.draw(asked, step, true),
      redraw: () => isShown(panel) && panel.draw(scene, scene.steps[at], true),
      table: () => panel.table(scene, step),
      digits: 6,
    };
  }

  // Controls.

  for (const id of ["system", "experiment"]) {
    byId(id).addEventListener("change", ({ target }) =>
      choosePoint(points.find((entry) => entry[id] === target.value)),
    );
  }
  byId("point").addEventListener("change", ({ target }) =>
    choosePoint(points.find((entry) => entry.place === Number(target.value))),
  );
  byId("filter").addEventListener("change", ({ target }) => {
    order.filter = target.value;
    if (!listed().includes(scene.run)) chooseRun(first());
    list();
  });
  byId("run-head").addEventListener("click", ({ target }) => {
    const by = target.dataset.by;
    if (!by) return;
    order.down = order.by === by && !order.down;
    order.by = by;
    list();
    byId("run-head").querySelector(`[data-by="${by}"]`).focus();
  });
  byId("run-list").addEventListener("change", ({ target }) => {
    byId("not-here").hidden = true;
    // The same step of another run, unless it is the end that is looked at.
    const step = at < scene.steps.length - 1 ? scene.steps[at] : undefined;
    const run = point.runs.find((other) => other.run_id === target.value);
    chooseRun(run, step);
  });
  byId("run-list").addEventListener("click", ({ target }) => {
    if (!target.closest("label")) target.closest("tr")?.querySelector("input").click();
  });
  byId("step-slider").addEventListener("input", ({ target }) => moveTo(Number(target.value)));
  byId("back").addEventListener("click", () => moveTo(at - 1));
  byId("forward").addEventListener("click", () => moveTo(at + 1));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input:not([type=range], [type=radio]), select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || scene.steps.length < 2) return;
    if (event.key.toLowerCase() === "k") player.play(!player.playing);
    else if (event.key === ",") moveTo(at - 1);
    else if (event.key === ".") moveTo(at + 1);
  });
  byId("plane").addEventListener("change", ({ target }) =>
    changePlane({ plane: Number(target.value), x: 0, y: 1 }),
  );
  for (const id of ["x", "y"]) {
    byId(id).addEventListener("change", ({ target }) =>
      changePlane({ plane: 0, [id]: Number(target.value) }),
    );
  }
  byId("lines").addEventListener("change", ({ target }) => {
    view.lines = view.wanted = target.value;
    show();
  });
  for (const id of CHECKS) {
    byId(id).addEventListener("change", ({ target }) => {
      view[id] = target.checked;
      if (id === "fit") view.fitted = true;
      if (id === "log") drawCharts();
      show();
    });
  }
  byId("method").addEventListener("change", ({ target }) => {
    view.method = target.value;
    drawCharts();
    show();
  });
  offerFiles(byId("explore"), fileOf);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    drawCharts();
    show();
  });
  addEventListener("hashchange", recall);

  return recall();
}
