// The runs of a study: what is seen of them is one state (State in types.d.ts), which changes by
// choosing a run (choosing.js), moving through its training (moving.js) and the controls here.
import { CHECKS, parse } from "circlet/address";
import { Board } from "circlet/board";
import { change, choosePoint, keep, ownerOf, release } from "circlet/choosing";
import { byId, on, onScheme } from "circlet/controls";
import { offerFiles } from "circlet/files";
import { wirePoints } from "circlet/grid";
import { recall } from "circlet/linking";
import { goTo, moveTo, playStop, redraw, stepOf, trainingPlayer } from "circlet/moving";
import { inOrder } from "circlet/opening";
import { offerPlanes } from "circlet/plane";
import { wireRuns } from "circlet/runs";
import { offerTour } from "circlet/tour";

/** See both runs anew, after the reader has changed the view. */
function see(/** @type {State} */ state, changes) {
  const { boards, scene, view } = state;
  Object.assign(view, changes);
  offerPlanes(scene, boards[0].shown);
  boards[1].scene?.seeAs(view);
  redraw(state);
}

function wireView(/** @type {State} */ state) {
  const plane = (changes) => see(state, { ...changes, chosen: true });
  on("plane", "change", ({ value }) => plane({ plane: Number(value), x: 0, y: 1 }));
  for (const id of ["x", "y"]) on(id, "change", ({ value }) => plane({ [id]: Number(value) }));
  for (const id of CHECKS) {
    on(id, "change", ({ checked }) => {
      see(state, { [id]: checked, ...(id === "fit" && { fitted: true }) });
    });
  }
}

function wire(/** @type {State} */ state) {
  for (const id of ["system", "experiment"]) {
    on(id, "change", ({ value }) => {
      const first = state.points.find((point) => point[id] === value);
      choosePoint(state, first);
    });
  }
  on("step-slider", "input", ({ value }) => moveTo(state, Number(value)));
  on("back", "click", () => moveTo(state, state.at - 1));
  on("forward", "click", () => moveTo(state, state.at + 1));
  on("keep", "click", () => keep(state, state.point, state.scene.run));
  on("release", "click", () => release(state));
  on("tour-play", "click", () => playStop(state));
  const narrow = matchMedia("(max-width: 40rem)");
  const fold = () => (byId("options").open = !narrow.matches);
  narrow.addEventListener("change", fold);
  fold();
  offerFiles(byId("explore"), (id) => {
    const [file] = state.boards.map((board) => board.fileOf(id, stepOf(state))).filter(Boolean);
    return { ...file, redraw: () => file.redraw(stepOf(state)) };
  });
  onScheme(() => {
    if (state.scene) redraw(state);
  });
  addEventListener("hashchange", () => recall(state));
}

/**
 * Set up the runs of a catalogue, with panels that there are by name, and a promise of the plotting
 * library; resolves when a run is shown. `say` tells the reader what is wrong, or "".
 */
export function explore(/** @type {Catalogue} */ catalogue, makers, plotly, say) {
  const names = new Set(Object.values(catalogue.systems).flatMap(({ panels }) => panels));
  const tools = {
    plotly,
    goTo: (step) => goTo(state, step),
    light: (pair) => state.boards.forEach((board) => board.light(pair, stepOf(state))),
  };
  const board = (/** @type {Board["what"]} */ what) => new Board(names, makers, tools, what);
  /** @type {State["boards"]} */
  const boards = [board("run"), board("kept"), board("tour")];
  const { view } = parse("");
  const points = inOrder(catalogue);
  /** @type {State} */
  const state = {
    ...{ catalogue, points, view, boards, say },
    ...{ at: 0, asked: 0, opened: 0, address: "", colour: "" },
    list: { by: "seed", isDown: false, outcome: "" },
    tour: { stops: catalogue.tour.filter(({ run }) => ownerOf({ points }, run)) },
  };
  offerTour(state);
  wireRuns(state, (run) => change(state, run));
  wirePoints(state, (point) => choosePoint(state, point, { sameSeed: true }));
  state.player = trainingPlayer(state);
  wireView(state);
  wire(state);
  return recall(state);
}
