// What this collection adds to the explorer: a law that all runs of a setting share, which goes on from
// the signals of the step that is shown.
import { classColours, colour } from "circlet/colours";
import { Plane } from "circlet/draw";
import { rollout, survivors } from "circlet/findings/law";
import { range } from "circlet/numbers";
import { absent, names } from "circlet/panels";

const POINTS = 100; // of a curve, while it moves
const LAWS = {
  three_numbers: "own signal and mean",
  mean_field: "signal, mean and squares",
  equivariant: "ratios of frequencies",
};

/** The line of frequency k through signals by step, up to the edges of the plot. */
function line(steps, signals, k, top) {
  const outside = steps.findIndex((_, i) => !(signals[i][k] >= 0 && signals[i][k] <= top));
  const seen = outside < 0 ? steps : steps.slice(0, outside);
  return seen.flatMap((step, i) => [step, signals[i][k]]);
}

/** What the law makes of the signals of a step, and who wins: by the law, and in the run. */
function predict(/** @type {Scene} */ scene, windows, step) {
  const series = scene.arrays.signals;
  const first = series.logged(step);
  const path = rollout(windows, series.at(step), first);
  const { last } = windows.at(-1);
  const [alive, lived] = [path.at(-1), series.at(last)].map(survivors);
  return { first, last, path, alive, lived };
}

/** Curves of the run, and dashed ones of the law, in a box: of winners in a colour. */
function curvesOf(/** @type {Scene} */ scene, { first, last, path, lived }) {
  const series = scene.arrays.signals;
  const steps = series.steps.filter((step) => step <= last);
  const signals = steps.map((_, i) => series.frame(i));
  const values = () => signals.flatMap((s) => [...s]).filter(Number.isFinite);
  const top = 1.05 * scene.once("top of the signals", () => Math.max(1e-9, ...values()));
  const every = Math.ceil(path.length / POINTS);
  const ahead = range(path.length).filter((i) => i % every === 0 || i === path.length - 1);
  const [later, predicted] = [ahead.map((i) => first + i), ahead.map((i) => path[i])];
  const curves = [false, true].flatMap((isAlive) => {
    const ks = range(path[0].length).filter((k) => lived.includes(k + 1) === isAlive);
    const look = { colour: isAlive ? classColours(2)(0) : colour("faint") };
    return [
      { ...look, lines: ks.map((k) => line(steps, signals, k, top)) },
      { ...look, lines: ks.map((k) => line(later, predicted, k, top)), dash: "5 3" },
    ];
  });
  return { box: [0, last, 0, top], curves };
}

/** @type {MakePanel} */
function lawPanel(holder, { data }) {
  const plane = new Plane(holder);
  const lawsOf = ({ point }) => data[`${point.experiment}/${point.name}`];
  const found = (scene, step) => predict(scene, lawsOf(scene)[scene.view.law], step);
  let shown;
  return {
    source: "signals",
    picture: plane,
    choices: { law: LAWS },
    missing(scene) {
      if (!lawsOf(scene)) return null;
      return scene.arrays.signals?.steps.length > 1 ? "" : absent(scene);
    },
    note() {
      const { first, last, alive, lived } = shown;
      if (first >= last) return `the law ends at step ${last}`;
      const right = alive.filter((k) => lived.includes(k)).length;
      const others = alive.length - right;
      return `dashed: the law; it identifies ${right} of ${lived.length} winners and wrongly adds ${others}`;
    },
    draw(scene, step) {
      shown = found(scene, step);
      plane.draw({ xLabel: "step", yLabel: "signal", ...curvesOf(scene, shown) });
    },
    table(scene, step) {
      const { first, path } = found(scene, step);
      const columns = ["step", ...names(path[0].length, "law")];
      return [columns, path.map((s, i) => [first + i, ...s])];
    },
  };
}

/** @type {Record<string, PanelMaker>} */
export const panels = {
  shared_law: {
    title: "A law that all runs share",
    help:
      "One law was fitted to all runs of this setting, including this run. Starting from the signals of " +
      "the step shown, the law predicts the rest. Move the slider to start from another step. Solid: the " +
      "run. Dashed: the law. Blue: the winners, whose final signals in the run exceed twice the mean of " +
      "all signals (without k = 0). “Own signal and mean”: in a step a signal changes by a · signal + b · " +
      "mean of all signals + c, with three numbers for each range of steps. “Ratios of frequencies”: the " +
      "effect of one frequency on another depends only on their ratio. A law that fits every step may " +
      "still miss the winners.",
    make: lawPanel,
  },
};
