// Panels of a run that any system may have; collections add their own. PanelMaker in types.d.ts says
// what a panel is.
import { Chart } from "circlet/charts";
import { classColours, colour } from "circlet/colours";
import { axesOf, domains, valueAxis, wrapped } from "circlet/curves";
import { Plane } from "circlet/draw";
import { around, delta, outward, progression, shortestStep } from "circlet/geometry";
import { range } from "circlet/numbers";
import { inWords } from "circlet/words";

export const CROWDED = 30; // numbers above which their names do not fit in their places
const NAMELESS = 300; // above which they do not fit at all
export const [FIRST, SECOND] = ["#0072b2", "#d55e00"]; // two colours: positive, negative

/** Names of columns: word_1, word_2, ... */
export const names = (count, word) => range(count, (i) => `${word}_${i + 1}`);

/** Rows of a matrix, each after what names it: its number, or what `named` gives of that. */
export const rowsOf = (matrix, width, named = (n) => [n]) =>
  range(matrix.length / width, (n) => [
    ...named(n),
    ...matrix.subarray(n * width, (n + 1) * width),
  ]);

/** Why there is nothing to draw of a run. */
export function absent(/** @type {Scene} */ { run }) {
  if (run.shown === "outcome") return "This page has only the outcome of this run.";
  if (run.shown === "end") return "This page has only the end of this run.";
  return "The study does not log this.";
}

// The embedding.

/** Places of tokens, and of positions if the network has them. */
const placesOf = (/** @type {Scene} */ scene, step) =>
  ["embedding", "position"]
    .filter((name) => scene.arrays[name])
    .map((name) => scene.inPlane(scene.arrays[name].at(step)));

/** What joins the numbers: neighbours on the circle, or the progression that is shortest at the end. */
export function linesOf(/** @type {Scene} */ scene, xy) {
  const { frequencies, p, view } = scene;
  if (!frequencies) return [];
  if (view.plane > 0) return around(xy, delta(view.plane, p));
  const atEnd = () => shortestStep(scene.inPlane(scene.arrays.embedding.frame()));
  return progression(xy, scene.once("progression", atEnd));
}

/** Numbers joined by lines: each in its place, or a dot beside it. */
function embeddingIn(xy, lines) {
  const words = range(xy.length / 2);
  const curves = [{ lines, colour: colour("line"), width: 1.1 }];
  if (words.length <= CROWDED) {
    const dots = [{ xy, colour: colour("paper"), size: 17 }];
    return { curves, dots, texts: [{ xy, words, colour: colour("ink"), size: 12 }] };
  }
  const names = { xy: outward(xy, 0.09), words, colour: colour("quiet"), size: 8 };
  const dots = [{ xy, colour: colour("ink"), size: 4 }];
  return { curves, dots, texts: words.length > NAMELESS ? [] : [names] };
}

/** Tokens, marked, and positions. */
function withPositions(xy, positions) {
  const words = range(xy.length / 2);
  const numbers = range(positions.length / 2, (a) => a + 1);
  return {
    dots: [{ xy, colour: colour("picked"), size: 24 }],
    texts: [
      { xy: positions, words: numbers, colour: colour("quiet"), size: 10 },
      { xy, words, colour: colour("ink"), size: 13, isBold: true },
    ],
  };
}

/** @type {MakePanel} */
function embeddingPanel(holder) {
  const plane = new Plane(holder);
  let shown; // the places of the tokens
  return {
    source: "embedding",
    picture: plane,
    note({ arrays, frequencies }) {
      if (arrays.position) return "marked: tokens; grey: positions";
      return frequencies ? "" : "numbers: tokens, counted from 0";
    },
    draw(scene, step) {
      const [xy, positions] = placesOf(scene, step);
      shown = xy;
      const box = scene.box("embedding", (at) => placesOf(scene, at), step);
      const drawn = positions ? withPositions(xy, positions) : embeddingIn(xy, linesOf(scene, xy));
      plane.draw({ ...scene.axes, box, ...drawn });
    },
    light(scene, step, pair = []) {
      const xy = pair.flatMap((a) => [shown[2 * a], shown[2 * a + 1]]);
      plane.ring([{ xy, size: 22 }]);
    },
    table({ arrays: { embedding, position }, d }, step) {
      /** @param {(n: number) => any[]} [named] */
      const rows = (series, named) => rowsOf(series.at(step), d, named);
      const columns = names(d, "dimension");
      if (!position) return [["token", ...columns], rows(embedding)];
      const tokens = rows(embedding, (n) => ["token", n]);
      const positions = rows(position, (n) => ["position", n + 1]);
      return [
        ["of", "number", ...columns],
        [...tokens, ...positions],
      ];
    },
  };
}

// Curves over steps.

/** Steps of an array that can be drawn, and what `of` gives of its values there; on a logarithmic axis not 0. */
function curveOf(series, { log }, of) {
  const places = range(series.steps.length).filter((i) => !log || series.steps[i] > 0);
  return { x: places.map((i) => series.steps[i]), y: places.map((i) => of(series.frame(i))) };
}

/** The axis of steps, from the first that is logged to the last: the same under all curves. */
function stepAxis(/** @type {Scene} */ { logs, view: { log } }) {
  const ends = [logs.find((step) => !log || step > 0), logs.at(-1)];
  return {
    title: { text: "step" },
    exponentformat: "none",
    ...(ends[0] < ends[1] && { range: log ? ends.map(Math.log10) : ends }),
    ...(log ? { type: "log", dtick: 1 } : { type: "linear" }),
  };
}

/** The series as a table, with the step before its values. @type {(series: any, columns: string[]) => Table} */
const seriesTable = (series, columns) => [
  ["step", ...columns],
  series.steps.map((step, i) => [step, ...series.frame(i)]),
];

/** What is enlarged stays so for this. */
const sameView = ({ run, view }) => `${run.run_id} ${view.log}`;

/** Why a run has no signals, or "". */
function lacksSignals(/** @type {Scene} */ scene) {
  if (!scene.arrays.embedding || scene.frequencies) {
    return scene.arrays.signals?.steps.length > 1 ? "" : absent(scene);
  }
  const isFew = scene.isCyclic;
  const why = isFew ? "too few to have frequencies" : "not the numbers modulo p";
  return `There are ${scene.tokens} tokens, ${why}.`;
}

/** Names of the signals that end large: of the others the names would cover each other. */
function namesOf(last, coloured, colours) {
  const strong = Math.max(...last) / 10;
  const place = { x: 1, xref: "paper", xanchor: "left", xshift: 2, showarrow: false };
  return coloured.flatMap((k, rank) => {
    const [y, color] = [last[k - 1], colours(rank)];
    return y > strong ? [{ ...place, y, text: `${k}`, font: { color } }] : [];
  });
}

/** @type {MakePanel} */
function signalsPanel(holder, { plotly, goTo }) {
  const chart = new Chart(holder, plotly, goTo);
  return {
    picture: chart,
    missing: lacksSignals,
    note({ run, system: { coloured } }) {
      if (!run[coloured]) return "";
      return run[coloured].length ? `coloured: ${coloured}` : `no ${coloured}: all are coloured`;
    },
    draw(scene) {
      const series = scene.arrays.signals;
      const some = scene.run[scene.system.coloured] ?? []; // frequencies
      const coloured = some.length ? some : range(series.size, (i) => i + 1);
      const colours = classColours(coloured.length);
      const traces = range(series.size, (i) => {
        const rank = coloured.indexOf(i + 1);
        const faint = { color: colour("faint"), width: 1 };
        return {
          ...curveOf(series, scene.view, (values) => values[i]),
          mode: "lines",
          hovertemplate: `k = ${i + 1}: %{y:.3g}<br>step %{x}<extra></extra>`,
          line: rank < 0 ? faint : { color: colours(rank), width: 2 },
        };
      });
      traces.sort((a, b) => a.line.width - b.line.width);
      chart.show(traces, {
        xaxis: stepAxis(scene),
        yaxis: { title: { text: "signal" } },
        annotations: namesOf(series.frame(), coloured, colours),
        uirevision: sameView(scene),
      });
    },
    table: ({ arrays: { signals } }) => seriesTable(signals, names(signals.size, "signal")),
  };
}

const TITLE = 15; // letters that fit beside one of several axes

/** Colours and dashes of curves by their label: the first two as everywhere, train and test. */
function lineOf(label, labels) {
  const rank = labels.indexOf(label);
  const color = classColours(rank < 2 ? 2 : Math.max(6, labels.length))(rank);
  return { color, width: 2, dash: rank === 1 ? "6px,3px" : "solid" };
}

/** How many rows a legend has beyond the first: all its columns are as wide as the longest label. */
function legendRows(holder, labels) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  const columns = Math.max(1, Math.floor((holder.clientWidth - 70) / (45 + 6 * longest)));
  return Math.max(0, Math.ceil(labels.length / columns) - 1);
}

/** A metric as a curve on an axis; `isNamed`: in the legend. */
function metricTrace(/** @type {Scene} */ scene, axis, curve, labels, isNamed) {
  const { label, meaning, name, place, unit } = curve;
  const drawn = curveOf(scene.arrays.curves, scene.view, (values) => values[place]);
  const isLine = drawn.y.some((one, i) => Number.isFinite(one) && Number.isFinite(drawn.y[i + 1]));
  const value = unit && !axis.isShare ? `%{y:.3g} ${unit}` : "%{y:.3g}";
  return {
    ...drawn,
    mode: isLine ? "lines" : "markers",
    name: label,
    showlegend: isNamed,
    line: lineOf(label, labels),
    hovertemplate: `${inWords(name)}: ${value}<br>${meaning}<br>step %{x}<extra></extra>`,
  };
}

/** What happens in a training, as lines over curves; the buttons beside the slider name it. */
const momentLines = (/** @type {Scene} */ { run: { moments = [] }, view: { log } }) =>
  moments
    .filter(({ step }) => !log || step > 0)
    .map(({ step }) => ({
      type: "line",
      ...{ x0: step, x1: step, y0: 0, y1: 1, yref: "paper", layer: "below" },
      line: { color: colour("line"), width: 1, dash: "dot" },
    }));

/** The metrics of a run as traces and axes, one above the other; and the labels in the legend. */
function metricsIn(/** @type {Scene} */ scene) {
  const axes = axesOf(scene.system.metrics);
  const labels = [...new Set(axes.flatMap(({ curves }) => curves.map(({ label }) => label)))];
  const named = new Set();
  const layout = {};
  const traces = axes.flatMap((axis, n) => {
    const id = n ? `${n + 1}` : "";
    const drawn = axis.curves.map((curve) => {
      const isNamed = axis.curves.length > 1 && !named.has(curve.label);
      if (isNamed) named.add(curve.label);
      return { ...metricTrace(scene, axis, curve, labels, isNamed), yaxis: `y${id}` };
    });
    const values = drawn.flatMap(({ y }) => y);
    const isAmongMany = axes.length > 2;
    const title = isAmongMany
      ? { text: wrapped(axis.title, TITLE), standoff: 8 }
      : { text: axis.title };
    const domain = domains(axes.length)[n];
    layout[`yaxis${id}`] = { title, ...valueAxis(axis, values), domain, automargin: "left" };
    return drawn;
  });
  return { traces, layout, named: [...named] };
}

/** @type {MakePanel} */
function lossesPanel(holder, { plotly, goTo }) {
  const chart = new Chart(holder, plotly, goTo);
  return {
    picture: chart,
    missing: (scene) => (scene.arrays.curves ? "" : absent(scene)),
    note: ({ run }) => (run.moments ? "dotted: events of this training" : ""),
    draw(scene) {
      const { traces, layout, named } = metricsIn(scene);
      const ids = Object.keys(layout);
      const height = 21 + 7 * Math.max(0, ids.length - 2) + 1.2 * legendRows(holder, named);
      holder.style.height = `${height}rem`;
      chart.show(traces, {
        ...layout,
        xaxis: { ...stepAxis(scene), anchor: ids.at(-1).replace("axis", "") },
        showlegend: named.length > 0,
        legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom" },
        margin: { l: 58, r: 26, t: 26, b: 40 },
        shapes: momentLines(scene),
        uirevision: sameView(scene),
      });
    },
    table: ({ arrays: { curves }, system: { metrics } }) =>
      seriesTable(
        curves,
        metrics.map(({ name }) => name),
      ),
  };
}

/** @type {Record<string, PanelMaker>} */
export const panels = {
  embedding: {
    title: "Embedding",
    help:
      "Where the network places each number. Lines, if any, join numbers that differ by a fixed " +
      "step: the step with the shortest lines at the end of training. They follow a circle or the " +
      "rows of a grid.",
    make: embeddingPanel,
  },
  signals: {
    title: "Signals",
    help:
      "The size of the circle of each frequency at each step: the norm of the Fourier " +
      "coefficient of the embedding.",
    make: signalsPanel,
  },
  losses: {
    title: "Metrics",
    help:
      "Loss: how improbable the network finds the right answers. Accuracy: the share of right " +
      "answers. Test: on examples that the network was not trained on.",
    make: lossesPanel,
  },
};
