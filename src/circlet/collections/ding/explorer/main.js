// What this collection adds to the explorer: the answers of its networks, and the matrices of the linear
// ODEs, of data.py.
import { answersPanel, HELP } from "circlet/answers";
import { Chart } from "circlet/charts";
import { colour } from "circlet/colours";
import { range } from "circlet/numbers";
import { absent, FIRST, names, SECOND } from "circlet/panels";

/** @type {MakePanel} */
function lawPanel(holder, { plotly, data }) {
  const chart = new Chart(holder, plotly);
  return {
    picture: chart,
    missing(scene) {
      if (data[scene.run.run_id]) return "";
      if (scene.run.shown !== "training") return absent(scene);
      return "No ODE was fitted to this run; only sufficiently long runs with the role “trajectory” have one.";
    },
    note: () =>
      "effect of each signal on each signal, per step; full colour: 98th percentile of sizes",
    draw(scene) {
      const z = data[scene.run.run_id].map((row) => row.slice(1));
      const sizes = z.flat().map(Math.abs);
      sizes.sort((a, b) => a - b);
      const most = sizes[Math.floor(0.98 * sizes.length)] || 1; // a few are far larger
      const frequencies = range(z.length, (i) => i + 1);
      const heat = {
        type: "heatmap",
        ...{ x: frequencies, y: frequencies, z, zmin: -most, zmax: most },
        colorscale: [SECOND, colour("paper"), FIRST].map((end, i) => [i / 2, end]),
        colorbar: { thickness: 10, outlinewidth: 0 },
        hovertemplate: "of k = %{x} on k = %{y}: %{z:.3g} per step<extra></extra>",
      };
      chart.show([heat], {
        xaxis: { title: { text: "effect of frequency" } },
        yaxis: { title: { text: "effect on frequency" }, autorange: "reversed" },
        margin: { l: 48, r: 10, t: 8, b: 40 },
        uirevision: scene.run.run_id,
      });
    },
    table(scene) {
      const matrix = data[scene.run.run_id];
      const columns = ["on", "constant", ...names(matrix.length, "of")];
      return [columns, matrix.map((row, i) => [i + 1, ...row])];
    },
  };
}

/** The answers of a run at a step, which are in the page. */
function answersAt({ arrays: { answers, probability } }, step) {
  return { given: answers.at(step).map(Math.round), probability: probability.at(step) };
}

/** @type {Record<string, PanelMaker>} */
export const panels = {
  ordered_answers: {
    title: "Answers",
    help: HELP,
    make: answersPanel("answers", answersAt),
  },
  ode: {
    title: "Linear ODE of the signals",
    help:
      "Linear equations fitted to the signals by Lasso. A cell shows how much one signal makes " +
      "another grow (blue) or shrink (orange) in a step.",
    make: lawPanel,
  },
};
