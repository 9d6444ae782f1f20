// The runs of a study: choosing one, and moving through its training.
import { CHECKS, format, parse } from "circlet/address";
import { arraysOf, unpack } from "circlet/catalogue";
import { byId, options, Player, rounded } from "circlet/controls";
import { reading } from "circlet/curves";
import { offerFiles } from "circlet/files";
import { Grid } from "circlet/grid";
import { fits, isChart, offerPlanes, onPlane } from "circlet/plane";
import { Runs } from "circlet/runs";
import { Scene } from "circlet/scene";

const REST = 150; // milliseconds after which a picture is at rest

/**
 * Set up the runs of a catalogue, with panels that there are by name, and the plotting library;
 * resolves when a run is shown. `say` tells the reader what is wrong, or "".
 */
export function explore(catalogue, makers, plotly, say) {
  const { systems } = catalogue;
  const rank = (system) => Object.keys(systems).indexOf(system);
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
  const panels = {}; // those of the study's systems, by name
  for (const name of Object.values(systems).flatMap((system) => system.panels)) {
    panels[name] ??= place(name);
  }
  const choices = Object.assign({}, ...Object.values(panels).map((panel) => panel.choices));
  const { view } = parse("", choices); // how embeddings are seen
  const runs = new Runs(systems, change);
  const grid = new Grid(catalogue.experiments, (place) => {
    const entry = points.find((other) => other.place === place);
    const seed = runs.run?.seed; // the same in another setting
    choosePoint(entry, undefined, entry.runs.find((run) => run.seed === seed)?.run_id);
  });
  let shown = []; // panels of the system that is looked at
  let point, scene, at, resting;
  let addressed; // the run in the address
  let known = ""; // the address that was read or written last
  let [asked, opened] = [0, 0]; // choices of a point so far, of which the last one counts

  /** Make a panel of the page, with its choices. */
  function place(name) {
    const none = {
      title: name,
      make: () => ({ missing: () => "There is no panel of this name." }),
    };
    const { title, make, data } = makers[name] ?? none;
    const id = name.replace(".", "-");
    const html = byId("panel").innerHTML.replaceAll("$id", id).replaceAll("$title", title);
    byId("panels").insertAdjacentHTML("beforeend", html);
    const panel = { id, ...make(byId(`${id}-picture`), { plotly, goTo, data }) };
    for (const [choice, values] of Object.entries(panel.choices ?? {})) {
      const select = document.createElement("select");
      Object.assign(select, { id: choice, ariaLabel: choice });
      select.append(...Object.entries(values).map(([value, words]) => new Option(words, value)));
      select.addEventListener("change", () => {
        view[choice] = select.value;
        drawCharts();
        show();
      });
      byId(id).querySelector(".save").before(select);
    }
    return panel;
  }

  // Choosing: system, experiment, point, run.

  const distinct = (values) => [...new Set(values)];
  const named = (value) => [value, value];

  function offer() {
    const same = (name) => points.filter((entry) => entry[name] === point[name]);
    const every = distinct(points.map((entry) => entry.system));
    const written = (name) => [
      name,
      systems[name].short ? `${name} (${systems[name].short})` : name,
    ];
    options("system", every.map(written), point.system);
    const experiments = distinct(same("system").map((entry) => entry.experiment));
    options("experiment", experiments.map(named), point.experiment);
    grid.offer(same("experiment"), point);
  }

  /**
   * Choose a point, and of its runs that of a link: { runId, step }, the wanted one, or what is
   * there. Whether it is shown: another may have been chosen while it was unpacked.
   */
  async function choosePoint(entry, link, wanted) {
    const mine = ++asked;
    player.play(false);
    moving();
    if (!chunks.has(entry.place)) {
      const bytes = await unpack(byId(`chunk-${entry.place}`).textContent);
      if (mine !== asked) return false;
      chunks.set(entry.place, arraysOf(bytes));
    }
    opened = mine;
    const before = point;
    const d = scene?.d;
    point = entry;
    if (before?.system !== point.system) chooseSystem();
    offer();
    // A plane of one space says nothing of another.
    const kept = (now) => link || (before?.system === point.system && d === now.d);
    chooseRun(runs.open(point, link?.runId ?? wanted), link?.step, kept);
    return true;
  }

  /** Show the panels of the system, in its order, and what its outcomes mean. */
  function chooseSystem() {
    const system = systems[point.system];
    byId("outcomes").textContent = system.outcomes;
    byId("outcome-word").textContent = system.outcome;
    shown = system.panels.map((name) => panels[name]);
    for (const { id } of Object.values(panels)) byId(id).hidden = true;
    for (const { id, title } of shown) {
      byId(id).hidden = false;
      byId("panels").append(byId(id));
      if (title) entitle(byId(id), title(system));
    }
  }

  /** The reader chooses another run: its same step, unless it is the end that is looked at. */
  function change(run) {
    chooseRun(run, scene && at < scene.steps.length - 1 ? scene.steps[at] : undefined);
  }

  /** Another title of a panel, which its buttons say, too. */
  function entitle(panel, words) {
    const title = panel.querySelector("b");
    for (const button of panel.querySelectorAll("button")) {
      button.ariaLabel = button.ariaLabel.replace(title.textContent, words);
    }
    title.textContent = words;
  }

  /** Show a run; `kept` says of a scene whether the plane that the reader has chosen is one of it. */
  function chooseRun(run, step, kept = () => true) {
    player.play(false);
    moving();
    byId("not-here").hidden = true;
    byId("training").hidden = false;
    try {
      const arrays = chunks.get(point.place).get(run.run_id) ?? {};
      scene = new Scene(point, run, systems[point.system], arrays, view);
      if (!kept(scene)) view.chosen = false;
      offerPlanes(scene, shown);
      at = step === undefined ? scene.steps.length - 1 : nearest(step);
      byId("step-slider").max = scene.steps.length - 1;
      for (const id of ["step-slider", "play", "back", "forward"]) {
        byId(id).disabled = scene.steps.length < 2;
      }
      arrange();
      drawCharts();
      show();
      say("");
    } catch (error) {
      scene = undefined;
      byId("training").hidden = true; // others can be chosen
      const words = `${run.run_id} cannot be shown`;
      say(`${words}: ${error.message}.`);
      console.error(words, error);
    }
  }

  // Drawing.

  const isShown = (panel) => shown.includes(panel) && !byId(`${panel.id}-picture`).hidden;

  /** Panels without data say why. */
  function arrange() {
    for (const panel of shown) {
      const { id } = panel;
      const why = panel.missing(scene);
      byId(`${id}-missing`).textContent = why;
      byId(`${id}-note`).textContent = "";
      byId(`${id}-picture`).hidden = why !== "";
      for (const button of byId(id).querySelectorAll("button")) button.disabled = why !== "";
    }
  }

  function drawCharts() {
    for (const panel of shown.filter(isShown).filter(isChart)) {
      byId(`${panel.id}-note`).textContent = panel.note?.(scene) ?? "";
      panel.draw(scene);
    }
  }

  function drawMoving(atRest) {
    const step = scene.steps[at];
    for (const panel of shown.filter(isShown)) {
      if (isChart(panel)) continue;
      panel.draw(scene, step, atRest);
      const logged = scene.logged(panel.source, step);
      const older = logged === step ? "" : `as logged at step ${logged}`;
      const isFinite = scene.isFinite(panel.source, step);
      const words = [
        older,
        isFinite ? panel.note?.(scene, step) : "not all values are finite here",
      ];
      byId(`${panel.id}-note`).textContent = words.filter(Boolean).join("; ");
    }
    read(step, atRest);
  }

  function show() {
    const step = scene.steps[at];
    drawMoving(false);
    for (const { picture } of shown.filter(isChart)) picture?.cursor(step);
    moving();
    if (!player.playing) resting = setTimeout(rest, REST);
  }

  function moving() {
    clearTimeout(resting);
    resting = undefined;
    delete byId("explore").dataset.rests;
  }

  /** What may take its time, once nothing moves. */
  async function rest() {
    drawMoving(true);
    remember();
    const mine = resting;
    await Promise.allSettled(shown.map(({ picture }) => picture?.queue));
    const isDone = mine === resting && asked === opened;
    if (isDone) byId("explore").dataset.rests = "yes"; // for those who drive the page
  }

  function read(step, atRest) {
    const { run, arrays } = scene;
    const epochs = point.steps_per_epoch;
    const epoch = epochs > 1 ? `, epoch ${rounded(step / epochs)}` : "";
    byId("step-now").textContent = `step ${step} of ${point.steps}${epoch}`;
    const slider = byId("step-slider");
    slider.value = at;
    slider.setAttribute("aria-valuetext", `step ${step}`);
    const ending = systems[point.system].outcome === "status" ? "" : " at the end";
    const parts = [`seed ${run.seed}: ${run.outcome}${ending}`];
    const dated = (words, logged) => (logged === step ? words : `${words} (step ${logged})`);
    if (arrays.curves) {
      const words = reading(systems[point.system].metrics, arrays.curves.at(step), rounded);
      parts.push(dated(words, arrays.curves.logged(step)));
    }
    for (const panel of shown) {
      const found = panel.reading?.(scene, step, atRest);
      if (found) parts.push(dated(found.words, found.step));
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
    if (location.hash !== known) return; // another was set, and is about to be read
    const address = format(scene.run.run_id, scene.steps[at], view, fits(shown), choices);
    // Another run is another place to come back to; what is seen of it is not.
    const another = addressed && addressed !== scene.run.run_id;
    addressed = scene.run.run_id;
    if (address === location.hash) return;
    if (another) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    known = location.hash;
  }

  /** Show the view that the address names; the first training if it names none. */
  async function recall() {
    known = location.hash;
    const { runId, step, view: seen } = parse(known, choices);
    if (runId === null && scene) return; // the name of a part of the page
    Object.assign(view, seen);
    for (const id of CHECKS) byId(id).checked = view[id];
    for (const name of Object.keys(choices)) byId(name).value = view[name];
    const owner = points.find((entry) => entry.runs.some((run) => run.run_id === runId));
    const trained = ({ runs }) => runs.filter((run) => run.shown === "training");
    const best = (entry) =>
      trained(entry).find((run) => run.outcome === systems[entry.system].opens_with);
    const start = points.find(best) ?? points.find((entry) => trained(entry).length) ?? points[0];
    const link = owner ? { runId, step } : { runId: best(start)?.run_id };
    if (!(await choosePoint(owner ?? start, link))) return;
    addressed = scene?.run.run_id;
    byId("not-here").textContent = `The run “${runId}” is not in this page.`;
    byId("not-here").hidden = runId === null || owner !== undefined;
  }

  // Files.

  /** A panel as a file. */
  function fileOf(id) {
    const panel = shown.find((other) => other.id === id);
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
  byId("step-slider").addEventListener("input", ({ target }) => moveTo(Number(target.value)));
  byId("back").addEventListener("click", () => moveTo(at - 1));
  byId("forward").addEventListener("click", () => moveTo(at + 1));
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input[type=number], select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!scene || scene.steps.length < 2) return;
    if (event.key.toLowerCase() === "k") player.play(!player.playing);
    else if (event.key === ",") moveTo(at - 1);
    else if (event.key === ".") moveTo(at + 1);
  });
  onPlane((changes) => {
    Object.assign(view, changes, { chosen: true, wanted: "" });
    offerPlanes(scene, shown);
    show();
  });
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
  offerFiles(byId("explore"), fileOf);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!scene) return;
    drawCharts();
    show();
  });
  addEventListener("hashchange", recall);

  return recall();
}
