// The runs of a study: choosing one, and moving through its training.
import { CHECKS, format, parse } from "circlet/address";
import { Kept } from "circlet/beside";
import { Board } from "circlet/board";
import { arraysOf, arrived, unpack } from "circlet/catalogue";
import { byId, options, Player, rounded } from "circlet/controls";
import { reading } from "circlet/curves";
import { offerFiles } from "circlet/files";
import { Grid } from "circlet/grid";
import { experimentInWords, inOrder, openingOf } from "circlet/opening";
import { PANELS } from "circlet/own";
import { fits, offerPlanes, onPlane } from "circlet/plane";
import { sentence } from "circlet/reading";
import { Runs } from "circlet/runs";
import { Scene } from "circlet/scene";
import { introduce, Tour } from "circlet/tour";

const REST = 150; // milliseconds after which a picture is at rest
const PATIENCE = 300; // after which a reader is told what is waited for
const WHOLE = 8; // seconds of a training that is played as a whole
const SLOWEST = 2; // steps a second
const WAITING = "This run is still being loaded.";

/**
 * Set up the runs of a catalogue, with panels that there are by name, and a promise of the plotting
 * library: `start` resolves when a run is shown, `add` adds results of a reader. `say` tells the
 * reader what is wrong, or "".
 */
export function explore(catalogue, makers, plotly, say) {
  const { systems } = catalogue;
  const points = inOrder(catalogue);
  const unpacked = new Map(); // promises of the arrays of runs, by the name of their data
  const theirs = Object.values(systems).flatMap((system) => system.panels);
  const every = new Set([...theirs, ...Object.keys(PANELS)]); // for results of a reader, too
  const board = new Board(every, makers, { plotly, goTo, light });
  const beside = new Board(every, makers, { plotly, goTo, light, kept: true }); // of the run that is kept
  const kept = new Kept(board, beside);
  const { choices } = board;
  const { view } = parse("", choices); // how embeddings are seen
  const runs = new Runs(systems, change);
  const tour = new Tour(catalogue.tour.filter(({ run }) => ownerOf(run)));
  const grid = new Grid(catalogue.experiments, (place) =>
    choosePoint(
      points.find((other) => other.place === place),
      { sameSeed: true },
    ),
  );
  let point, scene, at, resting;
  let addressed; // the run in the address
  let known = ""; // the address that was read or written last
  let places = catalogue.points.length; // so far
  let [asked, opened] = [0, 0]; // choices of a point so far, of which the last one counts

  function ownerOf(runId) {
    return points.find((entry) => entry.runs.some((run) => run.run_id === runId));
  }

  /** The arrays of a run of the page, when they have arrived; they are unpacked once. */
  async function packedAt({ place }, { run_id: runId, seed, shown }) {
    if (shown === "outcome") return {};
    const name = shown === "training" ? `chunk-${place}-${seed}` : `chunk-${place}`;
    const read = async () => arraysOf(await unpack(await arrived(name)));
    if (!unpacked.has(name)) unpacked.set(name, read());
    return (await unpacked.get(name)).get(runId);
  }

  /** The arrays of a run, or the error in reading them. */
  async function arraysAt(entry, run) {
    const wait = setTimeout(() => (byId("waiting").textContent = WAITING), PATIENCE);
    try {
      return (await (entry.arraysOf?.(run) ?? packedAt(entry, run))) ?? {};
    } catch (error) {
      return error; // which is said when the run is shown
    } finally {
      clearTimeout(wait);
      byId("waiting").textContent = "";
    }
  }

  // Choosing: system, experiment, point, run.

  const distinct = (values) => [...new Set(values)];
  function offer() {
    const same = (name) => points.filter((entry) => entry[name] === point[name]);
    const every = distinct(points.map((entry) => entry.system));
    const written = (name) => [
      name,
      systems[name].short ? `${name} (${systems[name].short})` : name,
    ];
    options("system", every.map(written), point.system);
    const experiments = distinct(same("system").map((entry) => entry.experiment));
    const inWords = (name) => {
      const own = points.filter((entry) => entry.experiment === name);
      const count = own.reduce((sum, entry) => sum + entry.runs.length, 0);
      return [name, experimentInWords(name, catalogue.experiments[name], count)];
    };
    options("experiment", experiments.map(inWords), point.experiment);
    grid.offer(same("experiment"), point);
  }

  /**
   * Choose a point, and of its runs that of a link, `runId` at a `step`, or with `sameSeed` that of
   * the same seed at the same step, or what is there. Whether it is shown: another may have been
   * chosen while it was unpacked.
   */
  async function choosePoint(entry, { runId, step, sameSeed } = {}) {
    const mine = ++asked;
    player.play(false);
    moving();
    const run = runs.wanted(entry, runId, sameSeed);
    const arrays = await arraysAt(entry, run);
    if (mine !== asked) return false;
    opened = mine;
    const before = point;
    const d = scene?.d;
    point = entry;
    if (before?.system !== point.system) chooseSystem();
    offer();
    // A plane of one space says nothing of another.
    const isIn = (now) => runId || (before?.system === point.system && d === now.d);
    const wanted = sameSeed ? stepOfOthers() : step;
    runs.open(point, run, sameSeed);
    chooseRun(run, arrays, wanted, isIn);
    return true;
  }

  /** Show the panels of the system, and what it and its outcomes are. */
  function chooseSystem() {
    const system = systems[point.system];
    introduce(system);
    byId("outcomes").textContent = system.outcomes;
    byId("outcome-word").textContent = system.outcome;
    board.use(system);
    kept.place();
  }

  /** The step at which another run is seen: the same, unless it is the end that is looked at. */
  function stepOfOthers() {
    return scene && at < scene.steps.length - 1 ? scene.steps[at] : undefined;
  }

  /** The reader chooses another run of the point. */
  async function change(run) {
    const mine = ++asked;
    player.play(false);
    moving();
    const arrays = await arraysAt(point, run);
    if (mine !== asked) return;
    opened = mine;
    chooseRun(run, arrays, stepOfOthers());
    const training = byId("training"); // on a phone it is above the list
    if (training.getBoundingClientRect().bottom < 0) training.scrollIntoView();
  }

  /** Show a run; `isIn` says of a scene whether the plane that the reader has chosen is one of it. */
  function chooseRun(run, arrays, step, isIn = () => true) {
    player.play(false);
    moving();
    byId("not-here").hidden = true;
    byId("training").hidden = false;
    try {
      if (arrays instanceof Error) throw arrays;
      scene = new Scene(point, run, systems[point.system], arrays, view);
      if (!isIn(scene)) view.chosen = false;
      offerPlanes(scene, board.shown);
      at = step === undefined ? scene.steps.length - 1 : scene.nearest(step);
      byId("step-slider").max = scene.steps.length - 1;
      for (const id of ["step-slider", "play", "back", "forward"]) {
        byId(id).disabled = scene.steps.length < 2;
      }
      offerMoments(run.moments ?? []);
      const isDrawn = board.arrange(scene);
      byId("nothing").hidden = isDrawn;
      byId("panels").hidden = !isDrawn && !kept.run;
      byId("nothing").textContent = isDrawn ? "" : whyNothing(run);
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

  /** Offer to go to what happens in a training, as buttons and as marks under the slider. */
  function offerMoments(moments) {
    const epochs = point.steps_per_epoch;
    const buttons = moments.map(({ step, text }) => {
      const when = epochs > 1 ? `epoch ${rounded(step / epochs)}` : `step ${step}`;
      const button = document.createElement("button");
      button.textContent = `${text}: ${when}`;
      button.addEventListener("click", () => goTo(step));
      return button;
    });
    byId("moments").replaceChildren(...buttons);
    byId("moments").hidden = !buttons.length || scene.steps.length < 2;
    const marks = moments.map(({ step }) =>
      Object.assign(new Option(), { value: scene.nearest(step) }),
    );
    byId("marks").replaceChildren(...marks);
  }

  // Drawing.

  /** Why a run has no picture at all, and where there are some. */
  function whyNothing({ shown }) {
    const played = point.runs.filter((run) => run.shown === "training").length;
    const why =
      shown === "outcome"
        ? "This page has only the numbers of this run, in the list."
        : "The study logs nothing of this run that could be drawn.";
    return played ? `${why} Those marked ▸ can be played: ${played} of this point.` : why;
  }

  function drawCharts() {
    board.drawCharts();
    kept.drawCharts();
  }

  function drawMoving(atRest) {
    const step = scene.steps[at];
    board.drawMoving(step, atRest);
    kept.drawMoving(step, atRest);
    read(step, atRest);
  }

  function release() {
    kept.release();
    show();
  }

  /** Keep a run of a point beside the others. */
  async function keep(entry, run) {
    const arrays = await arraysAt(entry, run);
    const words = `${grid.title(entry)}, seed ${run.seed}, ${run.outcome}`;
    kept.keep(entry, run, systems[entry.system], arrays, view, words);
    drawCharts();
    show();
  }

  function show() {
    const step = scene.steps[at];
    drawMoving(false);
    board.cursor(step);
    beside.cursor(step);
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
    await Promise.allSettled([...board.queues, ...beside.queues]);
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
      parts.push(dated(`now ${words}`, arrays.curves.logged(step)));
    }
    for (const panel of board.shown) {
      const found = panel.reading?.(scene, step, atRest);
      if (found) parts.push(dated(found.words, found.step));
    }
    byId("reading-now").textContent = parts.join(" · ");
    byId("sentence-now").textContent = sentence(scene, step);
    tour.at(scene, at);
  }

  /** Light up a pair of numbers, [a, b], in both runs; none puts it out. */
  function light(pair) {
    board.light(pair, scene.steps[at]);
    beside.light(pair, scene.steps[at]);
  }

  // Moving through the training.

  function moveTo(place) {
    player.play(false);
    at = Math.min(Math.max(place, 0), scene.steps.length - 1);
    show();
  }

  /** Go to the logged step that is nearest to one. */
  function goTo(step) {
    moveTo(scene.nearest(step));
  }

  let due; // when the next step is
  const player = new Player(
    byId("play"),
    "Play",
    (now) => {
      const whole = scene.steps.length / WHOLE; // steps a second, if the training takes its time
      const wait = 1000 / (Number(byId("speed").value) || Math.max(whole, SLOWEST));
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
    const usual = fits(board.shown);
    const address = format(
      scene.run.run_id,
      kept.run?.run_id,
      scene.steps[at],
      view,
      usual,
      choices,
    );
    // Another run is another place to come back to; what is seen of it is not.
    const another = addressed && addressed !== scene.run.run_id;
    addressed = scene.run.run_id;
    if (address === location.hash) return;
    if (another) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    known = location.hash;
  }

  /** Show the view that the address names; if it names none, the first stop or what moves most. */
  async function recall() {
    known = location.hash;
    const { runId, beside: besides, step, view: seen } = parse(known, choices);
    if (runId === null && scene) return; // the name of a part of the page
    Object.assign(view, seen);
    for (const id of CHECKS) byId(id).checked = view[id];
    for (const name of Object.keys(choices)) byId(name).value = view[name];
    const owner = ownerOf(runId);
    const [stop] = tour.stops;
    const opening = stop
      ? { entry: ownerOf(stop.run), runId: stop.run, step: stop.step }
      : { entry: openingOf(points, systems).entry, runId: openingOf(points, systems).run.run_id };
    const link = owner ? { entry: owner, runId, step } : opening;
    tour.asked(link.runId, link.step);
    if (!(await choosePoint(link.entry, link))) return;
    const keeper = ownerOf(besides);
    if (!keeper && kept.run) release();
    else if (keeper && kept.run?.run_id !== besides) {
      await keep(
        keeper,
        keeper.runs.find((run) => run.run_id === besides),
      );
    }
    addressed = scene?.run.run_id;
    byId("not-here").textContent = `The run “${runId}” is not in this page.`;
    byId("not-here").hidden = runId === null || owner !== undefined;
  }

  // Files.

  function fileOf(id) {
    const step = scene.steps[at];
    const file = board.fileOf(id, step) ?? beside.fileOf(id, step);
    return { ...file, redraw: () => file.redraw(scene.steps[at]) };
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
    offerPlanes(scene, board.shown);
    show();
  });
  byId("lines").addEventListener("change", ({ target }) => {
    view.lines = view.wanted = target.value;
    kept.see(view);
    show();
  });
  for (const id of CHECKS) {
    byId(id).addEventListener("change", ({ target }) => {
      view[id] = target.checked;
      if (id === "fit") view.fitted = true;
      kept.see(view);
      if (id === "log") drawCharts();
      show();
    });
  }
  board.offerChoices((choice, value) => {
    view[choice] = value;
    kept.see(view);
    drawCharts();
    show();
  });
  byId("keep").addEventListener("click", () => keep(point, scene.run));
  byId("release").addEventListener("click", release);
  byId("tour-play").addEventListener("click", () => {
    player.play(!player.playing);
    const { top } = byId("panels").getBoundingClientRect();
    if (player.playing && top > innerHeight / 2) byId("training").scrollIntoView();
  });
  offerFiles(byId("explore"), fileOf);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (!scene) return;
    drawCharts();
    show();
  });
  addEventListener("hashchange", recall);

  /** Add results of a reader, and show the first of them; what was added before is replaced. */
  async function add(own) {
    Object.assign(systems, own.systems);
    Object.assign(catalogue.experiments, own.experiments);
    const isOld = ({ arraysOf, experiment }) => arraysOf && experiment in own.experiments;
    const others = points.filter((entry) => !isOld(entry));
    const added = own.points.map((entry, i) => ({ ...entry, place: places + i }));
    places += added.length;
    points.splice(0, Infinity, ...others, ...added);
    await choosePoint(added[0]);
  }

  return { start: recall, add };
}
