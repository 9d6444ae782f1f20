// The panels of a run. Each has `id`; `shows(scene)`, whether its system has it; `missing(scene)`,
// why it is empty, or ""; `draw`; `table(scene, step)`, its data; and either `source`, the array
// whose logged steps it moves with, or a chart, over which a line moves.
import { Chart } from "circlet/charts";
import { byId } from "circlet/controls";
import { classColour, Heat, Plane, theme } from "circlet/draw";
import * as geometry from "circlet/geometry";
import * as network from "circlet/network";
import { sumsOf } from "circlet/particles";
import { byClass, embeddingIn, sumsIn } from "circlet/pictures";
import * as transformer from "circlet/transformer";

const [COARSE, FINE] = [64, 224]; // sides of the grid on which a classifier is asked
export const NUMBERED = 20; // classes up to which a pair sum is drawn as the number of its class
const MEASURED = ["train_loss", "test_loss", "train_accuracy", "test_accuracy"];
const [FIRST, SECOND] = ["#0072b2", "#d55e00"]; // train and test; positive and negative

const names = (count, word) => Array.from({ length: count }, (_, i) => `${word}_${i + 1}`);

/** Rows of a matrix, each after what names it. */
const rowsOf = (matrix, width, first) =>
  first.map((cells, n) => [...cells, ...matrix.subarray(n * width, (n + 1) * width)]);

/** Why there is nothing to draw of a run. */
function kept({ run }) {
  if (run.shown === "outcome") return "This page has only the outcome of this run.";
  if (run.shown === "end") return "This page has only the end of this run.";
  return "The study does not log this.";
}

function embeddingPanel() {
  const plane = new Plane(byId("embedding-picture"));
  return {
    id: "embedding",
    source: "embedding",
    picture: plane,
    shows: () => true,
    missing: (scene) => (scene.arrays.embedding ? "" : kept(scene)),
    note: ({ isTransformer }) => (isTransformer ? "marked: tokens; grey: positions" : ""),
    draw(scene, step) {
      const now = theme();
      const { colour } = now;
      const { arrays, axes, view } = scene;
      const xy = scene.inPlane(arrays.embedding.at(step));
      if (scene.isTransformer) {
        const positions = scene.inPlane(arrays.position.at(step));
        const places = Array.from({ length: positions.length / 2 }, (_, a) => a + 1);
        const words = Array.from({ length: xy.length / 2 }, (_, a) => a);
        plane.draw({
          ...axes,
          box: scene.box("embedding", [xy, positions]),
          dots: [{ xy, colour: colour("picked"), size: 24 }],
          texts: [
            { xy: positions, words: places, colour: colour("quiet"), size: 10 },
            { xy, words, colour: colour("ink"), size: 13, bold: true },
          ],
        });
        return;
      }
      const by = view.lines === "neighbours" ? scene.neighbour : 1;
      const lines = view.lines === "none" ? [] : geometry.around(xy, by);
      const box = scene.box("embedding", [xy]);
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

function sumsPanel() {
  const plane = new Plane(byId("sums-picture"));
  const places = (scene, step) =>
    sumsOf(scene.inPlane(scene.arrays.embedding.at(step)), scene.pairs);
  return {
    id: "sums",
    source: "embedding",
    picture: plane,
    shows: ({ isTransformer }) => !isTransformer,
    missing: (scene) => (scene.arrays.embedding ? "" : kept(scene)),
    note(scene, step) {
      const lacks = scene.isWhole && scene.arrays["hidden.weight"] && !scene.weights(step);
      const marks = scene.isWhole && scene.structure(step)?.marked;
      const parts = [];
      if (scene.d === 2 && !scene.isWhole) parts.push("marks and regions: only of both dimensions");
      if (marks) parts.push("marked: nearest is of another class");
      if (lacks) parts.push("classifier not logged here");
      return parts.join("; ");
    },
    draw(scene, step, atRest) {
      const now = theme();
      const { p, pairs, view } = scene;
      const xy = places(scene, step);
      const box = scene.box("sums", [xy]);
      const structure = scene.isWhole ? scene.structure(step, atRest) : null;
      const weights = scene.isWhole ? scene.weights(step) : null;
      const side = atRest ? FINE : COARSE;
      const regions = weights && {
        side,
        classes: network.classesAt(weights, 2, scene.fromPlane(geometry.gridIn(box, side))),
      };
      const isNumbered = view.numbers && p <= NUMBERED;
      const shown = sumsIn(xy, pairs, structure?.marked, isNumbered, regions, now);
      plane.draw({ ...scene.axes, box, ...shown });
    },
    table(scene, step) {
      const { first, second, target } = scene.pairs;
      const pairs = target.map((c, i) => [first[i], second[i], c]);
      return [["a", "b", "class", "x", "y"], rowsOf(places(scene, step), 2, pairs)];
    },
  };
}

/** Values of every sequence as a table. */
function sequenceTable({ probes }, matrix, width, word) {
  const first = probes.tokens.map((tokens, n) => [tokens.join(" "), probes.label[n]]);
  return [["tokens", "class", ...names(width, word)], rowsOf(matrix, width, first)];
}

function sequencesPanel() {
  const plane = new Plane(byId("sequences-picture"));
  return {
    id: "sequences",
    source: "position",
    picture: plane,
    shows: ({ isTransformer }) => isTransformer,
    missing: (scene) => (scene.arrays.position ? "" : kept(scene)),
    note: ({ view }) => (view.numbers ? "numbers: sum of the first tokens" : ""),
    draw(scene, step, atRest) {
      const now = theme();
      const { probes, point, view } = scene;
      const count = point.parameters.vocabulary;
      const xy = scene.inPlane(scene.sequences(step).xi);
      const box = scene.box("sequences", [xy], false);
      const side = atRest ? FINE : COARSE;
      const asked = scene.isWhole && scene.fromPlane(geometry.gridIn(box, side));
      const colours = classColour(count, now);
      const groups = byClass(count, probes.label, xy, probes.sum).map((group, c) => ({
        ...group,
        colour: colours(c),
        size: view.numbers ? 11 : 6,
      }));
      plane.draw({
        xLabel: `${scene.axes.xLabel} of ξ`,
        yLabel: `${scene.axes.yLabel} of ξ`,
        box,
        regions: asked && {
          side,
          classes: transformer.classesAt(scene.weights(step), 2, asked),
          colour: classColour(count, now, true),
        },
        [view.numbers ? "texts" : "dots"]: groups,
      });
    },
    table(scene, step) {
      return sequenceTable(scene, scene.sequences(step).xi, scene.d, "xi");
    },
  };
}

function attentionPanel() {
  const heat = new Heat(byId("attention-picture"));
  return {
    id: "attention",
    source: "position",
    picture: heat,
    shows: ({ isTransformer }) => isTransformer,
    missing: (scene) => (scene.arrays.position ? "" : kept(scene)),
    note: ({ boxes }) => `background: 0; full colour: ${Number(boxes.attention.toPrecision(2))}`,
    draw(scene, step) {
      const { length, k } = scene.point.parameters;
      const { sum, tokens } = scene.probes;
      const newSum = (total, n) => (total !== sum[n - 1] ? [[n, `${total}`]] : []);
      heat.draw({
        values: scene.sequences(step).attention,
        rows: tokens.length,
        columns: length,
        most: scene.boxes.attention,
        x: Array.from({ length }, (_, i) => [i, `${i + 1}`]),
        y: sum.flatMap(newSum),
        xLabel: `position; the first ${k} count`,
        yLabel: "sum of the first tokens",
      });
    },
    table(scene, step) {
      const { length } = scene.point.parameters;
      return sequenceTable(scene, scene.sequences(step).attention, length, "position");
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

function signalsPanel(plotly, goTo) {
  const chart = new Chart(byId("signals-picture"), plotly, goTo);
  return {
    id: "signals",
    chart,
    picture: chart,
    shows: ({ isTransformer }) => !isTransformer,
    missing: (scene) => (scene.arrays.signals?.steps.length > 1 ? "" : kept(scene)),
    note({ run }) {
      if (!run.survivors) return "";
      const rule = "at the end above twice the mean";
      return run.survivors.length ? `coloured: survivors, ${rule}` : `none is ${rule}`;
    },
    draw(scene) {
      const { arrays, run, view } = scene;
      const now = theme();
      const series = arrays.signals;
      const shown = visible(series, view);
      const alive = run.survivors?.length ? run.survivors : null; // if none is, all are coloured
      const colours = classColour(alive ? alive.length : series.size, now);
      const traces = Array.from({ length: series.size }, (_, i) => {
        const rank = alive ? alive.indexOf(i + 1) : i;
        const dead = { color: now.colour("faint"), width: 1 };
        return {
          x: shown.map(([step]) => step),
          y: shown.map(([, place]) => series.frame(place)[i]),
          mode: "lines",
          hovertemplate: `k = ${i + 1}: %{y:.3g}<br>step %{x}<extra></extra>`,
          line: rank < 0 ? dead : { color: colours(rank), width: 2 },
        };
      });
      const last = series.frame();
      const strong = Math.max(...last) / 10; // of the others the names would cover each other
      const named = (alive ?? traces.map((_, i) => i + 1)).filter((k) => last[k - 1] > strong);
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

function lossesPanel(plotly, goTo) {
  const chart = new Chart(byId("losses-picture"), plotly, goTo);
  return {
    id: "losses",
    chart,
    picture: chart,
    shows: ({ point }) => point.system !== "particles",
    missing: (scene) => (scene.arrays.curves ? "" : kept(scene)),
    note: () => "",
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

function lawPanel(plotly) {
  const chart = new Chart(byId("ode-picture"), plotly);
  const matrixOf = ({ law, view }) => law[view.method] ?? Object.values(law)[0];
  return {
    id: "ode",
    chart,
    picture: chart,
    shows: ({ point }) => point.system === "embedding_mlp",
    missing(scene) {
      if (scene.law) return "";
      if (scene.run.shown !== "training") return kept(scene);
      return "The study fits none to this run: it does to those of the role “trajectory”, if they are long enough.";
    },
    note: () =>
      "change of a signal per step, by each signal; full colour: 98th percentile of sizes",
    draw(scene) {
      const { colour } = theme();
      const matrix = matrixOf(scene).map((row) => row.slice(1));
      const sizes = matrix.flat().map(Math.abs);
      sizes.sort((a, b) => a - b);
      const most = sizes[Math.floor(0.98 * sizes.length)] || 1; // a few are far larger
      const frequencies = matrix.map((_, i) => i + 1);
      const heat = {
        type: "heatmap",
        z: matrix,
        x: frequencies,
        y: frequencies,
        zmin: -most,
        zmax: most,
        colorscale: [
          [0, SECOND],
          [0.5, colour("paper")],
          [1, FIRST],
        ],
        colorbar: { thickness: 10, outlinewidth: 0 },
        hovertemplate: "of k = %{x} on k = %{y}: %{z:.3g} per step<extra></extra>",
      };
      chart.show([heat], {
        xaxis: { title: { text: "of frequency" } },
        yaxis: { title: { text: "on frequency" }, autorange: "reversed" },
        margin: { l: 48, r: 10, t: 8, b: 40 },
        uirevision: `${scene.run.run_id} ${scene.view.method}`,
      });
    },
    table(scene) {
      const matrix = matrixOf(scene);
      const columns = ["on", "constant", ...names(matrix.length, "of")];
      return [columns, matrix.map((row, i) => [i + 1, ...row])];
    },
  };
}

/** All panels, in the order of the page. */
export function makePanels(plotly, goTo) {
  return [
    embeddingPanel(),
    sumsPanel(),
    sequencesPanel(),
    attentionPanel(),
    signalsPanel(plotly, goTo),
    lossesPanel(plotly, goTo),
    lawPanel(plotly),
  ];
}
