// Moving through a training: by hand or by itself; drawing both runs at a step, and what is read off.
import { byId, playerOf } from "circlet/controls";
import { reading } from "circlet/curves";
import { remember } from "circlet/linking";
import { absent } from "circlet/panels";
import { tell } from "circlet/tour";
import { rounded } from "circlet/words";

const REST = 150; // milliseconds after which a picture is at rest
const WHOLE = 8; // seconds of a training that is played as a whole
const SLOWEST = 2; // steps a second

/** The step that is looked at. */
export const stepOf = (/** @type {State} */ { scene, at }) => scene.steps[at];

function drawMoving(/** @type {State} */ state, atRest) {
  tell(state);
  for (const board of state.boards) board.drawMoving(stepOf(state), atRest);
  read(state, atRest);
}

/** Draw what is seen; finely, once nothing moves. */
export function show(/** @type {State} */ state) {
  drawMoving(state, false);
  moving(state);
  if (!state.player.playing) state.resting = setTimeout(() => rest(state), REST);
}

/** Draw what is seen anew, with its charts. */
export function redraw(/** @type {State} */ state) {
  for (const board of state.boards) board.drawCharts();
  show(state);
}

/** Something moves: it is not at rest. */
export function moving(/** @type {State} */ state) {
  clearTimeout(state.resting);
  state.resting = undefined;
  delete byId("explore").dataset.rests;
}

/** What may take its time, once nothing moves. */
async function rest(/** @type {State} */ state) {
  drawMoving(state, true);
  remember(state);
  const mine = state.resting;
  await Promise.allSettled(state.boards.flatMap((board) => board.queues));
  const isDone = mine === state.resting && state.asked === state.opened;
  if (isDone) byId("explore").dataset.rests = "yes"; // for those who drive the page
}

/** What is read off at a step, in words; of what was logged before it, with that step. */
function readings(/** @type {Scene} */ scene, panels, step, atRest) {
  const { run, system, arrays } = scene;
  const { curves } = arrays;
  const parts = panels.map((panel) => panel.reading?.(scene, step, atRest)).filter(Boolean);
  if (curves) {
    const words = `now ${reading(system.metrics, curves.at(step), rounded)}`;
    parts.unshift({ words, step: curves.logged(step) });
  }
  const dated = parts.map((one) =>
    one.step === step ? one.words : `${one.words} (step ${one.step})`,
  );
  const ending = system.outcome === "status" ? "" : " at the end";
  return [`seed ${run.seed}: ${run.outcome}${ending}`, ...dated].join(" · ");
}

function read(/** @type {State} */ state, atRest) {
  const { scene, at, boards } = state;
  const step = stepOf(state);
  const { steps, steps_per_epoch: epochs } = scene.point;
  const epoch = epochs > 1 ? `, epoch ${rounded(step / epochs)}` : "";
  for (const id of ["step-now", "tour-step"]) {
    byId(id).textContent = `step ${step} of ${steps}${epoch}`;
  }
  byId("step-slider").value = at;
  byId("step-slider").setAttribute("aria-valuetext", `step ${step}`);
  byId("reading-now").textContent = readings(scene, boards[0].shown, step, atRest);
  const isEnd = scene.run.shown === "end";
  byId("end-only").textContent = isEnd ? `${absent(scene)} Runs marked ▸ can be played.` : "";
}

export function moveTo(/** @type {State} */ state, place) {
  state.player.play(false);
  state.at = Math.min(Math.max(place, 0), state.scene.steps.length - 1);
  show(state);
}

/** Go to the logged step that is nearest to one. */
export const goTo = (/** @type {State} */ state, step) => moveTo(state, state.scene.nearest(step));

/** Play what a stop of the tour is about, or pause. */
export function playStop(/** @type {State} */ state) {
  const { tour, scene, player } = state;
  if (player.playing) return player.play(false);
  const { step, until } = tour.stop;
  if (until !== undefined) {
    const first = scene.nearest(step);
    state.end = Math.max(scene.nearest(until), first + 1);
    if (state.at < first || state.at >= state.end) state.at = first;
  }
  player.play(true);
}

/** What plays a training, so many steps a second, or as a whole in some seconds. */
export function trainingPlayer(/** @type {State} */ state) {
  let due; // when the next step is
  let first; // where it began
  const last = () => Math.min(state.end ?? Infinity, state.scene.steps.length - 1);
  const next = (now) => {
    const whole = (last() - first) / WHOLE;
    const wait = 1000 / (Number(byId("speed").value) || Math.max(whole, SLOWEST));
    due ??= now + wait;
    if (now < due - 1) return;
    const steps = 1 + Math.floor((now - due) / wait);
    due += steps * wait;
    state.at = Math.min(state.at + steps, last());
    if (state.at === last()) player.play(false);
    else show(state);
  };
  const changed = () => {
    due = undefined;
    if (!player.playing) state.end = undefined;
    else if (state.at === last()) state.at = 0;
    first = state.end === undefined ? 0 : state.at;
    byId("tour-play").textContent = player.playing ? "Pause" : "Play this training";
    show(state);
  };
  const player = playerOf(byId("play"), "Play", next, changed);
  return player;
}
