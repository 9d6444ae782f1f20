// What this collection adds to the explorer: a law that all runs of a setting share, which goes on from
// the signals of the step that is shown.
import { classColour, Plane, theme } from "circlet/draw";
import { rollout, survivors } from "circlet/findings/law";
import { absent, names } from "circlet/panels";

const POINTS = 100; // of a curve, while it moves

/** The line of frequency k through signals by step, as far as it stays in the plot. */
function line(steps, signals, k, top) {
  const xy = [];
  for (const [i, step] of steps.entries()) {
    const value = signals[i][k];
    if (!(value >= 0 && value <= top)) break;
    xy.push(step, value);
  }
  return xy;
}

function lawPanel(holder, { data }) {
  const plane = new Plane(holder);
  const lawsOf = ({ point }) => data[`${point.experiment}/${point.name}`];
  /** What the law makes of the signals of a step, and who wins: by the law, and in the run. */
  function predict(scene, step) {
    const series = scene.arrays.signals;
    const first = series.logged(step);
    const windows = lawsOf(scene)[scene.view.law];
    const path = rollout(windows, series.at(step), first);
    const { last } = windows.at(-1);
    const [alive, lived] = [path.at(-1), series.at(last)].map(survivors);
    return { first, last, path, alive, lived };
  }
  let found;
  return {
    source: "signals",
    picture: plane,
    choices: {
      law: {
        three_numbers: "own signal and mean",
        mean_field: "signal, mean and squares",
        equivariant: "ratios of frequencies",
      },
    },
    missing(scene) {
      if (!lawsOf(scene)) return null;
      return scene.arrays.signals?.steps.length > 1 ? "" : absent(scene);
    },
    note() {
      const { first, last, alive, lived } = found;
      if (first >= last) return `the law ends at step ${last}`;
      const right = alive.filter((k) => lived.includes(k)).length;
      const others = alive.length - right;
      return `dashed: the law; it finds ${right} of ${lived.length} winners, and ${others} others`;
    },
    draw(scene, step) {
      found = predict(scene, step);
      const { first, last, path, lived } = found;
      const { arrays } = scene;
      const steps = arrays.signals.steps.filter((one) => one <= last);
      const signals = steps.map((_, i) => arrays.signals.frame(i));
      const values = () => signals.flatMap((s) => [...s]).filter(Number.isFinite);
      const top = 1.05 * scene.once("top of the signals", () => Math.max(1e-9, ...values()));
      const every = Math.ceil(path.length / POINTS);
      const ahead = [...path.keys()].filter((i) => i % every === 0 || i === path.length - 1);
      const ofLaw = [ahead.map((i) => first + i), ahead.map((i) => path[i])];
      const now = theme();
      const curves = [false, true].flatMap((isAlive) => {
        const ks = [...path[0].keys()].filter((k) => lived.includes(k + 1) === isAlive);
        const colour = isAlive ? classColour(2, now)(0) : now.colour("faint");
        return [
          { lines: ks.map((k) => line(steps, signals, k, top)), colour },
          { lines: ks.map((k) => line(...ofLaw, k, top)), colour, dash: "5 3" },
        ];
      });
      plane.draw({ box: [0, last, 0, top], xLabel: "step", yLabel: "signal", curves });
    },
    table(scene, step) {
      const { first, path } = predict(scene, step);
      const columns = ["step", ...names(path[0].length, "law")];
      return [columns, path.map((s, i) => [first + i, ...s])];
    },
  };
}

export const panels = {
  shared_law: {
    title: "A law that all runs share",
    help:
      "One law, fitted to all runs of this setting (this one among them), goes on from the signals of " +
      "the step shown; move the slider to start it elsewhere. Solid: what the run does; dashed: what " +
      "the law says. Blue: the winners, which end above twice the mean of all signals in the run (not " +
      "counting k = 0). “Own signal and mean”: in a step a signal changes by a · signal + b · mean of " +
      "all signals + c, three numbers for each range of steps. “Ratios of frequencies”: what a " +
      "frequency does to another depends on the ratio of the two alone.",
    make: lawPanel,
  },
};
