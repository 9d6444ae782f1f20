// What this collection adds to the explorer: of some sequences their embeddings and attention.
import { classColour, Heat, Plane, theme } from "circlet/draw";
import { gridIn } from "circlet/geometry";
import { classesAt, embed, probes } from "circlet/odonnat/transformer";
import { absent, gridSide, names, rowsOf } from "circlet/panels";
import { byClass } from "circlet/pictures";

/** The sequences that are looked at. */
const probesOf = (scene) => scene.once("probes", () => probes(scene.point.parameters));

/** What they become at a step: their embeddings xi, and attention. Both panels draw it. */
function embedded(scene, step) {
  const last = scene.once("embedded", () => ({}));
  if (last.step === step) return last;
  return Object.assign(last, embed(scene.weights(step), scene.d, probesOf(scene).tokens), { step });
}

/** Values of every sequence as a table. */
function sequenceTable(scene, matrix, width, word) {
  const { tokens, label } = probesOf(scene);
  const first = tokens.map((sequence, n) => [sequence.join(" "), label[n]]);
  return [["tokens", "class", ...names(width, word)], rowsOf(matrix, width, first)];
}

function sequencesPanel(holder) {
  const plane = new Plane(holder);
  const places = (scene, step) => scene.inPlane(embedded(scene, step).xi);
  return {
    source: "position",
    picture: plane,
    fits: true, // sequences start far from where they end
    numbered: true,
    missing: (scene) => (scene.arrays.position ? "" : absent(scene)),
    note: ({ view }) =>
      view.numbers
        ? "numbers: sum of the first tokens; a head may weigh them, and count a distractor"
        : "",
    draw(scene, step, atRest) {
      const now = theme();
      const { point, view } = scene;
      const { label, sum } = probesOf(scene);
      const count = point.parameters.vocabulary;
      const box = scene.box("sequences", (at) => [places(scene, at)], step, false);
      const side = gridSide(atRest);
      const asked = scene.isWhole && scene.fromPlane(gridIn(box, side));
      const colours = classColour(count, now);
      const groups = byClass(count, label, places(scene, step), sum).map((group, c) => ({
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
          classes: classesAt(scene.weights(step), 2, asked),
          colour: classColour(count, now, true),
        },
        [view.numbers ? "texts" : "dots"]: groups,
      });
    },
    table(scene, step) {
      return sequenceTable(scene, embedded(scene, step).xi, scene.d, "xi");
    },
  };
}

function attentionPanel(holder) {
  const heat = new Heat(holder);
  const attention = (scene, step) => embedded(scene, step).attention;
  const most = (scene) =>
    scene.once("attention", () => {
      const finite = (step) => attention(scene, step).filter(Number.isFinite);
      return Math.max(0, ...scene.some.map((step) => Math.max(0, ...finite(step))));
    });
  return {
    source: "position",
    picture: heat,
    missing: (scene) => (scene.arrays.position ? "" : absent(scene)),
    note: (scene) => `background: 0; full colour: ${Number(most(scene).toPrecision(2))}`,
    draw(scene, step) {
      const { length, k } = scene.point.parameters;
      const { sum, tokens } = probesOf(scene);
      const newSum = (total, n) => (total !== sum[n - 1] ? [[n, `${total}`]] : []);
      heat.draw({
        values: attention(scene, step),
        rows: tokens.length,
        columns: length,
        most: most(scene),
        x: Array.from({ length }, (_, i) => [i, `${i + 1}`]),
        y: sum.flatMap(newSum),
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

export const panels = {
  sequences: {
    title: "Sequence embeddings",
    help:
      "A point for each of some example sequences, coloured by its right answer. Background: the " +
      "answer that the network gives there. In a third colour it answers with a token that is no answer.",
    make: sequencesPanel,
  },
  attention: {
    title: "Attention",
    help: "A row for each sequence: how much of each position enters its point.",
    make: attentionPanel,
  },
};
