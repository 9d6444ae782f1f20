// The address in the browser, so that a view can be sent to somebody and come back to.
import { CHECKS, format, parse } from "circlet/address";
import { choosePoint, keep, ownerOf, release } from "circlet/choosing";
import { byId } from "circlet/controls";
import { openingOf } from "circlet/opening";
import { fits } from "circlet/plane";

/** Write what is seen into the address. */
export function remember(/** @type {State} */ state) {
  if (location.hash !== state.address) return; // another was set, and is about to be read
  const { scene, at, view, boards } = state;
  const [board, kept] = boards;
  const { run_id: runId } = scene.run;
  const seen = { runId, beside: kept.scene?.run.run_id, step: scene.steps[at], view };
  const address = format(seen, fits(board.shown));
  // Another run is another place to come back to; what is seen of it is not.
  const isAnother = state.addressed && state.addressed !== runId;
  state.addressed = runId;
  if (address === location.hash) return;
  if (isAnother) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  state.address = location.hash;
}

/** What the page opens with: the first stop of the tour, or what moves most. */
function opening(/** @type {State} */ { points, catalogue, tour }) {
  const [stop] = tour.stops;
  if (stop) return { runId: stop.run, step: stop.step };
  return { runId: openingOf(points, catalogue.systems).run_id, step: undefined };
}

/** Show the view that the address names; if it names none, what the page opens with. */
export async function recall(/** @type {State} */ state) {
  state.address = location.hash;
  const named = parse(state.address);
  if (named.runId === null && state.scene) return; // the name of a part of the page
  Object.assign(state.view, named.view);
  for (const id of CHECKS) byId(id).checked = state.view[id];
  const isHere = ownerOf(state, named.runId) !== undefined;
  const link = isHere ? named : opening(state);
  const isNamed = ({ run, step }) => run === link.runId && step === link.step;
  state.tour.wanted = state.tour.stops.find(isNamed);
  if (!(await choosePoint(state, ownerOf(state, link.runId), link))) return;
  await recallKept(state, named.beside);
  state.addressed = state.scene?.run.run_id;
  byId("not-here").textContent = `The run “${named.runId}” is not on this page.`;
  byId("not-here").hidden = named.runId === null || isHere;
}

/** Keep the run that an address names beside the other; if it names none, none. */
async function recallKept(/** @type {State} */ state, runId) {
  const now = state.boards[1].scene?.run.run_id;
  const point = ownerOf(state, runId);
  if (!point && now) release(state);
  if (!point || now === runId) return;
  const kept = point.runs.find((run) => run.run_id === runId);
  await keep(state, point, kept);
}
