// Choosing what is looked at: system, experiment, point and run; and keeping a run beside it.
import { packedAt } from "circlet/catalogue";
import { byId, element, options } from "circlet/controls";
import { offerPoints, titleIn } from "circlet/grid";
import { goTo, moving, redraw, show } from "circlet/moving";
import { experimentInWords, runsOf } from "circlet/opening";
import { offerPlanes, usualPlane } from "circlet/plane";
import { offerRuns, wantedOf } from "circlet/runs";
import { Scene } from "circlet/scene";
import { introduce } from "circlet/tour";
import { rounded } from "circlet/words";

const TIMEOUT_MS = 300; // milliseconds after which the page says what it waits for
const WAITING = "This run is still being loaded.";

/** The point of a run; none if it is not in the page. */
export const ownerOf = (/** @type {{ points: Point[] }} */ { points }, runId) =>
  points.find((point) => point.runs.some((run) => run.run_id === runId));

/** The arrays of a run, or the error in reading them, which is said when the run is shown. */
async function arraysAt(/** @type {Point} */ point, run) {
  const wait = setTimeout(() => (byId("waiting").textContent = WAITING), TIMEOUT_MS);
  try {
    return (await packedAt(point, run)) ?? {};
  } catch (error) {
    return error;
  } finally {
    clearTimeout(wait);
    byId("waiting").textContent = "";
  }
}

/** The same for a run that is to be shown; nothing if another was asked for meanwhile. */
async function ask(/** @type {State} */ state, point, run) {
  const mine = ++state.asked;
  state.player.play(false);
  moving(state);
  const arrays = await arraysAt(point, run);
  if (mine !== state.asked) return undefined;
  state.opened = mine;
  return arrays;
}

/** Offer the systems, the experiments of the chosen one, and the points of the chosen one. */
function offer(/** @type {State} */ state) {
  const { catalogue, points, point } = state;
  const { experiments, systems } = catalogue;
  const distinct = (name, from) => [...new Set(from.map((entry) => entry[name]))];
  const titles = distinct("system", points).map((name) => {
    const { short } = systems[name];
    return [name, short ? `${name} (${short})` : name];
  });
  const same = points.filter((entry) => entry.system === point.system);
  const inWords = distinct("experiment", same).map((name) => [
    name,
    experimentInWords(name, experiments[name], runsOf(points, name)),
  ]);
  options("system", titles, point.system);
  options("experiment", inWords, point.experiment);
  offerPoints(state);
  offerRuns(state);
}

/**
 * Choose a point, and of its runs that of a link, `runId` at a `step`, or with `sameSeed` that of
 * the same seed at the same step, or what is there. Whether it is shown: another may have been
 * chosen while it was unpacked.
 * @param {State} state @param {Point} point
 * @param {{ runId?: string, step?: number, sameSeed?: boolean }} link
 */
export async function choosePoint(state, point, { runId, step, sameSeed } = {}) {
  const run = wantedOf(state, point, runId, sameSeed);
  const arrays = await ask(state, point, run);
  if (!arrays) return false;
  const before = state.point;
  Object.assign(state, { point, run });
  if (!sameSeed) state.list.seed = run.seed; // else it comes back where there is a run of it
  if (before?.system !== point.system) chooseSystem(state);
  offer(state);
  chooseRun(state, run, arrays, sameSeed ? stepOfOthers(state) : step, Boolean(runId));
  if (!sameSeed) showTraining();
  return true;
}

/** Show the panels of the system, and what it and its outcomes are. */
function chooseSystem(/** @type {State} */ { catalogue, point, boards }) {
  const system = catalogue.systems[point.system];
  introduce(system);
  byId("outcomes").textContent = system.outcomes;
  byId("outcome-word").textContent = system.outcome;
  boards[0].use(system);
  pair(boards);
}

/** Put each panel of the run that is kept behind the one that shows the same. */
function pair(/** @type {State["boards"]} */ [{ shown }, kept]) {
  kept.shown.forEach(({ id }, i) => {
    if (shown[i]) byId(shown[i].id).after(byId(id));
  });
}

/** The step at which another run is seen: the same, unless it is the end that is looked at. */
function stepOfOthers(/** @type {State} */ { scene, at }) {
  return scene && at < scene.steps.length - 1 ? scene.steps[at] : undefined;
}

/** The reader chooses another run of the point. */
export async function change(/** @type {State} */ state, /** @type {Run} */ run) {
  state.run = run;
  state.list.seed = run.seed;
  const arrays = await ask(state, state.point, run);
  if (!arrays) return;
  chooseRun(state, run, arrays, stepOfOthers(state));
  showTraining();
}

/** Scroll back to the training if it is out of sight, as on a phone, where it is above the lists. */
function showTraining() {
  const training = byId("training");
  if (training.getBoundingClientRect().bottom < 0) training.scrollIntoView();
}

/** Show a run at a step, or its end; `isLinked`: in the plane of a link. */
function chooseRun(/** @type {State} */ state, run, arrays, step, isLinked = false) {
  state.player.play(false);
  moving(state);
  byId("not-here").hidden = true;
  byId("training").hidden = false;
  try {
    if (arrays instanceof Error) throw arrays;
    open(state, run, arrays, step, isLinked);
    redraw(state);
    state.say("");
  } catch (error) {
    const [board, , ofTour] = state.boards;
    state.scene = board.scene = ofTour.scene = undefined;
    ofTour.use(undefined);
    for (const id of ["training", "tour-play", "tour-step"]) byId(id).hidden = true; // others can be chosen
    const words = `${run.run_id} cannot be shown`;
    state.say(`${words}: ${error.message}.`);
    console.error(words, error);
  }
}

/** Take a run into the state, and its panels, its steps and what happens in it into the page. */
function open(/** @type {State} */ state, run, arrays, step, isLinked) {
  const { boards, catalogue, point, view } = state;
  const [board, kept] = boards;
  const before = state.scene;
  const scene = new Scene(point, run, catalogue.systems[point.system], arrays, view);
  const isAlike = before?.point.system === point.system && before.d === scene.d;
  if (!isLinked && !isAlike) view.chosen = false; // a plane of one space says nothing of another
  offerPlanes(scene, board.shown);
  state.scene = scene;
  state.at = step === undefined ? scene.steps.length - 1 : scene.nearest(step);
  byId("step-slider").max = scene.steps.length - 1;
  for (const id of ["step-slider", "play", "back", "forward"]) {
    byId(id).disabled = scene.steps.length < 2;
  }
  offerMoments(state);
  const isDrawn = board.arrange(scene);
  byId("nothing").hidden = isDrawn;
  byId("panels").hidden = !isDrawn && !kept.scene;
  byId("nothing").textContent = isDrawn ? "" : whyNothing(point, run);
}

/** Offer to go to what happens in a training, as buttons and as marks under the slider. */
function offerMoments(/** @type {State} */ state) {
  const { point, scene } = state;
  const { moments = [] } = scene.run;
  const epochs = point.steps_per_epoch;
  const buttons = moments.map(({ step, text }) => {
    const when = epochs > 1 ? `epoch ${rounded(step / epochs)}` : `step ${step}`;
    const button = element("button", { textContent: `${text}: ${when}` });
    button.addEventListener("click", () => goTo(state, step));
    return button;
  });
  byId("moments").replaceChildren(...buttons);
  byId("moments").hidden = !buttons.length || scene.steps.length < 2;
  const marks = moments.map(({ step }) => element("option", { value: scene.nearest(step) }));
  byId("marks").replaceChildren(...marks);
}

/** Why a run has no picture at all, and where there are some. */
function whyNothing({ runs }, { shown }) {
  const played = runs.filter((run) => run.shown === "training").length;
  const why =
    shown === "outcome"
      ? "This page has only the numbers of this run, in the list."
      : "The study logs nothing of this run that can be drawn.";
  return played ? `${why} Runs marked ▸ can be played: ${played} of this setting.` : why;
}

/** Keep a run of a point beside the others, in the plane of its own. */
export async function keep(/** @type {State} */ state, point, run) {
  const { boards, catalogue, view } = state;
  const [, board] = boards;
  const arrays = await arraysAt(point, run);
  const system = catalogue.systems[point.system];
  const scene = new Scene(point, run, system, arrays, { ...view });
  board.use(system);
  Object.assign(scene.view, usualPlane(scene, board.shown));
  board.arrange(scene);
  scene.seeAs(view);
  mark(boards, `Kept: ${titleIn(state, point)}, seed ${run.seed}, ${run.outcome}.`);
  redraw(state);
}

export function release(/** @type {State} */ state) {
  const [, kept] = state.boards;
  kept.scene = undefined;
  kept.use(undefined);
  mark(state.boards, "");
  show(state);
}

/** Say which run is kept; "" if none is. */
function mark(boards, words) {
  byId("kept-words").textContent = words;
  byId("kept-now").hidden = !words;
  byId("panels").classList.toggle("double", Boolean(words));
  pair(boards);
}
