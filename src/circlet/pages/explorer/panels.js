// Panels of a run that any system may have; collections add their own (circlet.pages.explorer). Each
// has a `title`, `help`, what it shows in a sentence or two, and
// `make(holder, { plotly, goTo, light, data })` makes it: `missing(scene)`, why it is empty, or "", or
// null if it has nothing to do with this run and is not to be there; `draw(scene, step, atRest)` on its
// `picture`; `table(scene, step)`, its data; and `source`, the array whose logged steps it moves with:
// without one it is a chart, over which a line moves. It may have a `note(scene, step)`; `choices`,
// selects in its caption, by the name of what they set in the view; `reading(scene, step, atRest)`,
// words for the line above all panels and the step that they are of; `light(scene, step, pair)`, which
// marks what belongs to a pair of numbers [a, b], or to none, when a reader points at one in some
// panel, which then calls the `light` that it was made with; `numbered`, if it can write classes as
// numbers; and `fits`, if each step usually has its own scale, and a `title(system)` in place of that
// of all.
import { Chart } from "circlet/charts";
import { axesOf, domains, inWords, titleOf, valueAxis, wrapped } from "circlet/curves";
import { classColour, Plane, theme } from "circlet/draw";
import { around, progression, shortestStep } from "circlet/geometry";
import { embeddingIn, pairIn } from "circlet/pictures";

export const NUMBERED = 20; // classes up to which one is drawn as its number
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
  let shown; // the places of the tokens
  const places = (scene, step) =>
    ["embedding", "position"]
      .filter((name) => scene.arrays[name])
      .map((name) => scene.inPlane(scene.arrays[name].at(step)));
  /** What joins the numbers: the same progression in all of a training, that of its end. */
  function lines(scene, xy) {
    if (!scene.frequencies || scene.view.lines === "none") return [];
    if (scene.view.lines === "neighbours") return around(xy, scene.neighbour);
    if (scene.view.lines === "successive") return around(xy, 1);
    const atEnd = () => shortestStep(scene.inPlane(scene.arrays.embedding.frame()));
    return progression(xy, scene.once("progression", atEnd));
  }
  return {
    source: "embedding",
    picture: plane,
    missing: (scene) => (scene.arrays.embedding ? "" : absent(scene)),
    note({ arrays, frequencies }) {
      if (arrays.position) return "marked: tokens; grey: positions";
      return frequencies ? "" : "numbers: tokens, counted from 0";
    },
    draw(scene, step) {
      const now = theme();
      const { colour } = now;
      const { axes } = scene;
      const [xy, positions] = places(scene, step);
      shown = xy;
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
      plane.draw({ ...axes, box, ...embeddingIn(xy, lines(scene, xy), now) });
    },
    light: (scene, step, pair) => plane.ring(pairIn(shown, pair)),
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
function stepAxis({ logs, view: { log } }) {
  const ends = [logs.find((step) => !log || step > 0), logs.at(-1)];
  return {
    title: { text: "step" },
    exponentformat: "none",
    ...(ends[0] < ends[1] && { range: log ? ends.map(Math.log10) : ends }),
    ...(log ? { type: "log", dtick: 1 } : { type: "linear" }),
  };
}

/** What happens in a training, as lines over curves; the buttons beside the slider name it. */
const momentLines = ({ run: { moments = [] }, view: { log } }) =>
  moments
    .filter(({ step }) => !log || step > 0)
    .map(({ step }) => ({
      type: "line",
      ...{ x0: step, x1: step, y0: 0, y1: 1, yref: "paper", layer: "below" },
      line: { color: theme().colour("line"), width: 1, dash: "dot" },
    }));

/** The series as rows of a table, with the step before its values. */
const seriesRows = (series) => series.steps.map((step, i) => [step, ...series.frame(i)]);

/** Signals of all frequencies; coloured are those in a column of the run, or else all. */
function signalsPanel(holder, { plotly, goTo }) {
  const chart = new Chart(holder, plotly, goTo);
  return {
    picture: chart,
    missing(scene) {
      if (scene.arrays.embedding && !scene.frequencies) {
        const why = scene.isCyclic
          ? "so few have no frequencies"
          : "they are not the numbers modulo p";
        return `There are ${scene.tokens} tokens: ${why}.`;
      }
      return scene.arrays.signals?.steps.length > 1 ? "" : absent(scene);
    },
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

const TITLE = 15; // letters that fit beside one of several axes

/** Colours and dashes of curves by their label: the first two as everywhere, train and test. */
function lineOf(label, labels) {
  const rank = labels.indexOf(label);
  const color =
    rank < 2 ? [FIRST, SECOND][rank] : classColour(Math.max(6, labels.length), theme())(rank);
  return { color, width: 2, dash: rank === 1 ? "6px,3px" : "solid" };
}

/** How many rows a legend has beyond the first: all its columns are as wide as the longest label. */
function legendRows(holder, labels) {
  const longest = Math.max(0, ...[...labels].map((label) => label.length));
  const columns = Math.max(1, Math.floor((holder.clientWidth - 70) / (45 + 6 * longest)));
  return Math.max(0, Math.ceil(labels.size / columns) - 1);
}

/** The metrics of a run: an axis for each unit, one above the other. */
function lossesPanel(holder, { plotly, goTo }) {
  const chart = new Chart(holder, plotly, goTo);
  return {
    picture: chart,
    title: titleOf,
    missing: (scene) => (scene.arrays.curves ? "" : absent(scene)),
    note: ({ run }) => (run.moments ? "dotted: what the buttons above name" : ""),
    draw(scene) {
      const { arrays, run, system, view } = scene;
      const shown = visible(arrays.curves, view);
      const axes = axesOf(system.metrics);
      const labels = [...new Set(axes.flatMap(({ curves }) => curves.map(({ label }) => label)))];
      const named = new Set(); // in the legend
      const layout = {};
      const traces = axes.flatMap((axis, n) => {
        const id = n ? `${n + 1}` : "";
        const drawn = axis.curves.map(({ label, meaning, name, place, unit }) => {
          const isFirst = axis.curves.length > 1 && !named.has(label);
          if (isFirst) named.add(label);
          const [value, step] = ["%{y:.3g}", "step %{x}"];
          const words = unit && !axis.isShare ? `${value} ${unit}` : value;
          const y = shown.map(([, at]) => arrays.curves.frame(at)[place]);
          const isLine = y.some((one, i) => Number.isFinite(one) && Number.isFinite(y[i + 1]));
          return {
            x: shown.map(([at]) => at),
            y,
            yaxis: `y${id}`,
            mode: isLine ? "lines" : "markers",
            name: label,
            showlegend: isFirst,
            line: lineOf(label, labels),
            hovertemplate: `${inWords({ name })}: ${words}<br>${meaning}<br>${step}<extra></extra>`,
          };
        });
        layout[`yaxis${id}`] = {
          title:
            axes.length > 2
              ? { text: wrapped(axis.title, TITLE), standoff: 8 }
              : { text: axis.title },
          ...valueAxis(
            axis,
            drawn.flatMap(({ y }) => y),
          ),
          domain: domains(axes.length)[n],
          automargin: "left",
        };
        return drawn;
      });
      const ids = Object.keys(layout);
      const height = 21 + 7 * Math.max(0, axes.length - 2) + 1.2 * legendRows(holder, named);
      holder.style.height = `${height}rem`;
      Object.assign(layout, {
        xaxis: { ...stepAxis(scene), anchor: ids.at(-1).replace("axis", "") },
        showlegend: named.size > 0,
        legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom" },
        margin: { l: 58, r: 12, t: 26, b: 40 },
        shapes: momentLines(scene),
        uirevision: `${run.run_id} ${view.log}`,
      });
      chart.show(traces, layout, ["xaxis", ...ids]);
    },
    table: ({ arrays: { curves }, system: { metrics } }) => [
      ["step", ...metrics.map(({ name }) => name)],
      seriesRows(curves),
    ],
  };
}

export const panels = {
  embedding: {
    title: "Embedding",
    help:
      "Where the network places each number. Lines join numbers in equal steps, those with the " +
      "shortest lines at the end: round a circle, or along the rows of a grid.",
    make: embeddingPanel,
  },
  signals: {
    title: "Signals",
    help:
      "How large the circle of each frequency is, step by step: the norm of the Fourier " +
      "coefficient of the embedding.",
    make: signalsPanel,
  },
  losses: {
    title: "Losses and accuracy",
    help:
      "The loss is how surprised the network is by the right answers; accuracy, the share of " +
      "right ones. Test: on what it was not trained on.",
    make: lossesPanel,
  },
};
