// Panels of a run that any system may have; collections add their own (circlet.pages.explorer). Each
// has a `title`, and `make(holder, { plotly, goTo, data })` makes it: `missing(scene)`, why it is
// empty, or ""; `draw(scene, step, atRest)` on its `picture`;
// `table(scene, step)`, its data; and `source`, the array whose logged steps it moves with: without
// one it is a chart, over which a line moves. It may have a `note(scene, step)`; `choices`, selects in its caption, by the
// name of what they set in the view; `reading(scene, step, atRest)`, words for the line above all
// panels and the step that they are of; `numbered`, if it can write classes as numbers; and `fits`,
// if each step usually has its own scale.
import { Chart } from "circlet/charts";
import { classColour, Plane, theme } from "circlet/draw";
import { around } from "circlet/geometry";
import { embeddingIn } from "circlet/pictures";

export const NUMBERED = 20; // classes up to which one is drawn as its number
const MEASURED = ["train_loss", "test_loss", "train_accuracy", "test_accuracy"];
export const [FIRST, SECOND] = ["#0072b2", "#d55e00"]; // train and test; positive and negative

/** Side of the grid on which a classifier is asked. */
export const gridSide = (atRest) => (atRest ? 224 : 64);

/** Names of columns: word_1, word_2, ... */
export const names = (count, word) => Array.from({ length: count }, (_, i) => `${word}_${i + 1}`);

/** Rows of a matrix, each after what names it. */
export const rowsOf = (matrix, width, first) =>
  first.map((cells, n) => [...cells, ...matrix.subarray(n * width, (n + 1) * width)]);

/** Why there is nothing to draw of a run. */
export function absent({ run }) {
  if (run.shown === "outcome") return "This page has only the outcome of this run.";
  if (run.shown === "end") return "This page has only the end of this run.";
  return "The study does not log this.";
}

/** Embeddings of tokens, and of positions if the network has them. */
function embeddingPanel(holder) {
  const plane = new Plane(holder);
  const places = (scene, step) =>
    ["embedding", "position"]
      .filter((name) => scene.arrays[name])
      .map((name) => scene.inPlane(scene.arrays[name].at(step)));
  return {
    source: "embedding",
    picture: plane,
    missing: (scene) => (scene.arrays.embedding ? "" : absent(scene)),
    note: ({ arrays }) => (arrays.position ? "marked: tokens; grey: positions" : ""),
    draw(scene, step) {
      const now = theme();
      const { colour } = now;
      const { axes, view } = scene;
      const [xy, positions] = places(scene, step);
      const box = scene.box("embedding", (at) => places(scene, at), step);
      if (positions) {
        const numbers = Array.from({ length: positions.length / 2 }, (_, a) => a + 1);
        const words = Array.from({ length: xy.length / 2 }, (_, a) => a);
        plane.draw({
          ...axes,
          box,
          dots: [{ xy, colour: colour("picked"), size: 24 }],
          texts: [
            { xy: positions, words: numbers, colour: colour("quiet"), size: 10 },
            { xy, words, colour: colour("ink"), size: 13, bold: true },
          ],
        });
        return;
      }
      const by = view.lines === "neighbours" ? scene.neighbour : 1;
      const lines = scene.frequencies && view.lines !== "none" ? around(xy, by) : [];
      plane.draw({ ...axes, box, ...embeddingIn(xy, lines, now) });
    },
    table({ arrays, d }, step) {
      const of = (series, first, what) => {
        const matrix = series.at(step);
        const numbers = Array.from({ length: matrix.length / d }, (_, n) => [...what, first + n]);
        return rowsOf(matrix, d, numbers);
      };
      const { embedding, position } = arrays;
      const columns = names(d, "dimension");
      if (!position) return [["token", ...columns], of(embedding, 0, [])];
      const rows = [...of(embedding, 0, ["token"]), ...of(position, 1, ["position"])];
      return [["of", "number", ...columns], rows];
    },
  };
}

/** Logged steps of an array that can be drawn, and their places; on a logarithmic axis not 0. */
const visible = (series, { log }) =>
  series.steps.map((step, i) => [step, i]).filter(([step]) => !log || step > 0);

/** The axis of steps, from the first that is logged to the last: the same under all curves. */
function stepAxis({ steps, view: { log } }) {
  const ends = [steps.find((step) => !log || step > 0), steps.at(-1)];
  return {
    title: { text: "step" },
    exponentformat: "none",
    ...(ends[0] < ends[1] && { range: log ? ends.map(Math.log10) : ends }),
    ...(log ? { type: "log", dtick: 1 } : { type: "linear" }),
  };
}

/** The series as rows of a table, with the step before its values. */
const seriesRows = (series) => series.steps.map((step, i) => [step, ...series.frame(i)]);

/** Signals of all frequencies; coloured are those in a column of the run, or else all. */
function signalsPanel(holder, { plotly, goTo }) {
  const chart = new Chart(holder, plotly, goTo);
  return {
    picture: chart,
    missing: (scene) => (scene.arrays.signals?.steps.length > 1 ? "" : absent(scene)),
    note({ run, system: { coloured } }) {
      if (!run[coloured]) return "";
      return run[coloured].length ? `coloured: ${coloured}` : `no ${coloured}: all are coloured`;
    },
    draw(scene) {
      const { arrays, run, system, view } = scene;
      const now = theme();
      const series = arrays.signals;
      const shown = visible(series, view);
      const some = run[system.coloured] ?? [];
      const coloured = some.length ? some : Array.from({ length: series.size }, (_, i) => i + 1);
      const colours = classColour(coloured.length, now);
      const traces = Array.from({ length: series.size }, (_, i) => {
        const rank = coloured.indexOf(i + 1);
        const faint = { color: now.colour("faint"), width: 1 };
        return {
          x: shown.map(([step]) => step),
          y: shown.map(([, place]) => series.frame(place)[i]),
          mode: "lines",
          hovertemplate: `k = ${i + 1}: %{y:.3g}<br>step %{x}<extra></extra>`,
          line: rank < 0 ? faint : { color: colours(rank), width: 2 },
        };
      });
      const last = series.frame();
      const strong = Math.max(...last) / 10; // of the others the names would cover each other
      const named = coloured.filter((k) => last[k - 1] > strong);
      const annotations = named.map((k) => ({
        x: 1,
        xref: "paper",
        xanchor: "left",
        xshift: 2,
        y: last[k - 1],
        text: `${k}`,
        showarrow: false,
        font: { color: traces[k - 1].line.color },
      }));
      traces.sort((a, b) => a.line.width - b.line.width);
      const margin = { l: 58, r: 26, t: 8, b: 40 };
      const yaxis = { title: { text: "signal" } };
      const uirevision = `${run.run_id} ${view.log}`;
      chart.show(traces, { xaxis: stepAxis(scene), yaxis, annotations, margin, uirevision });
    },
    table: ({ arrays: { signals } }) => [
      ["step", ...names(signals.size, "signal")],
      seriesRows(signals),
    ],
  };
}

/** A logarithmic axis of a loss: with about six ticks, however many powers of ten it spans. */
function lossAxis(values) {
  const finite = values.filter((value) => value > 0 && Number.isFinite(value));
  const decades = Math.log10(Math.max(...finite) / Math.min(...finite));
  // Within a decade the library finds steps itself; the format is so that it writes whole numbers.
  if (decades < 2)
    return { type: "log", tickformat: "~g", ...(decades < 1 ? {} : { dtick: "D2" }) };
  return { type: "log", dtick: Math.ceil(decades / 6) };
}

function lossesPanel(holder, { plotly, goTo }) {
  const chart = new Chart(holder, plotly, goTo);
  return {
    picture: chart,
    missing: (scene) => (scene.arrays.curves ? "" : absent(scene)),
    draw(scene) {
      const { arrays, run, view } = scene;
      const shown = visible(arrays.curves, view);
      const traces = MEASURED.map((name, i) => ({
        x: shown.map(([step]) => step),
        y: shown.map(([, place]) => arrays.curves.frame(place)[i]),
        yaxis: i < 2 ? "y" : "y2",
        mode: "lines",
        name: i % 2 ? "test" : "train",
        showlegend: i < 2,
        line: { color: i % 2 ? SECOND : FIRST, width: 2, dash: i % 2 ? "6px,3px" : "solid" },
        hovertemplate: `${name.replace("_", " ")}: %{y:.3g}<br>step %{x}<extra></extra>`,
      }));
      const losses = [...traces[0].y, ...traces[1].y];
      const layout = {
        xaxis: { ...stepAxis(scene), anchor: "y2" },
        yaxis: { title: { text: "loss (nat)" }, ...lossAxis(losses), domain: [0.42, 1] },
        yaxis2: { title: { text: "accuracy" }, range: [-0.03, 1.03], domain: [0, 0.36] },
        showlegend: true,
        legend: { orientation: "h", x: 1, xanchor: "right", y: 1.12 },
        margin: { l: 58, r: 12, t: 26, b: 40 },
        uirevision: `${run.run_id} ${view.log}`,
      };
      chart.show(traces, layout, ["xaxis", "yaxis", "yaxis2"]);
    },
    table: ({ arrays: { curves } }) => [["step", ...MEASURED], seriesRows(curves)],
  };
}

export const panels = {
  embedding: { title: "Embedding", make: embeddingPanel },
  signals: { title: "Signals", make: signalsPanel },
  losses: { title: "Losses and accuracy", make: lossesPanel },
};
