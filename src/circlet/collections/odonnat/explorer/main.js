// What this collection adds to the explorer: of some sequences their embeddings and attention.
import { classColours, colour, rgb } from "circlet/colours";
import { Cells, Plane } from "circlet/draw";
import { range } from "circlet/numbers";
import { classesAt, embed, probes } from "circlet/odonnat/transformer";
import { names, rowsOf } from "circlet/panels";
import { byClass, regionsIn } from "circlet/pictures";

/** The sequences that are looked at. */
const probesOf = (/** @type {Scene} */ scene) =>
  scene.once("probes", () => probes(scene.point.parameters));

/** What they become at a step: their embeddings xi, and attention. Both panels draw it. */
function embedded(/** @type {Scene} */ scene, step) {
  const last = scene.once("embedded", () => ({}));
  if (last.step === step) return last;
  return Object.assign(last, embed(scene.weights(step), scene.d, probesOf(scene).tokens), { step });
}

/** Values of every sequence as a table. @returns {Table} */
function sequenceTable(scene, matrix, width, word) {
  const { tokens, label } = probesOf(scene);
  const named = (n) => [tokens[n].join(" "), label[n]];
  return [["tokens", "class", ...names(width, word)], rowsOf(matrix, width, named)];
}

/** @type {MakePanel} */
function sequencesPanel(holder) {
  const plane = new Plane(holder);
  const places = (scene, step) => scene.inPlane(embedded(scene, step).xi);
  return {
    source: "position",
    picture: plane,
    fits: true, // sequences start far from where they end
    note: () => "colour: right answer; number: plain sum of the first tokens",
    draw(scene, step, atRest) {
      const { axes, point } = scene;
      const { label, sum } = probesOf(scene);
      const count = point.parameters.vocabulary;
      const box = scene.box("sequences", (at) => [places(scene, at)], step, false);
      const texts = byClass(count, label, places(scene, step), sum, classColours(count), 11);
      plane.draw({
        xLabel: `${axes.xLabel} of ξ`,
        yLabel: `${axes.yLabel} of ξ`,
        box,
        regions: regionsIn(scene, step, box, atRest, classesAt, count),
        texts,
      });
    },
    table: (scene, step) => sequenceTable(scene, embedded(scene, step).xi, scene.d, "xi"),
  };
}

/** @type {MakePanel} */
function attentionPanel(holder) {
  const picture = new Cells(holder);
  const attention = (scene, step) => embedded(scene, step).attention;
  const most = (scene) =>
    scene.once("attention", () => {
      const finite = (step) => attention(scene, step).filter(Number.isFinite);
      return Math.max(0, ...scene.some.map((step) => Math.max(0, ...finite(step))));
    });
  return {
    source: "position",
    picture,
    note: (scene) => `background: 0; full colour: ${Number(most(scene).toPrecision(2))}`,
    draw(scene, step) {
      const { length: columns, k } = scene.point.parameters;
      const { sum } = probesOf(scene);
      const [low, high] = ["paper", "force"].map((name) => rgb(colour(name)));
      const cells = Array.from(attention(scene, step), (value) => {
        const share = Math.min(value / most(scene), 1) || 0;
        const mixed = [0, 1, 2].map((part) => low[part] + share * (high[part] - low[part]));
        return { colour: `rgb(${mixed.join(" ")})` };
      });
      picture.draw({
        rows: sum.length,
        columns,
        cells,
        x: range(columns, (i) => [i, `${i + 1}`]),
        y: sum.flatMap((total, n) => (total !== sum[n - 1] ? [[n, `${total}`]] : [])),
        xLabel: `position; the first ${k} count`,
        yLabel: "sum of the first tokens",
      });
    },
    table(scene, step) {
      const { length } = scene.point.parameters;
      return sequenceTable(scene, attention(scene, step), length, "position");
    },
  };
}

/** @type {Record<string, PanelMaker>} */
export const panels = {
  sequences: {
    title: "Sequence embeddings",
    help:
      "Each point is an example sequence, coloured by its right answer. Background: the network's " +
      "answer at each point. A third colour marks answers with a token that is never right. If a head " +
      "weights tokens differently, sequences with several plain sums share a cluster.",
    make: sequencesPanel,
  },
  attention: {
    title: "Attention",
    help: "Each row is a sequence. The colour shows how much each position contributes to its point.",
    make: attentionPanel,
  },
};
