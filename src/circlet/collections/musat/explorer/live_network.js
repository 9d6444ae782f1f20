// The live training of a network, and of a second one that differs in one knob: pictures and readings.
// The equations are in network.js.
import { Answers } from "circlet/answers";
import { byId } from "circlet/controls";
import { classColour, Plane, theme } from "circlet/draw";
import { boxAround, gridIn, progression, shortestStep } from "circlet/geometry";
import { live } from "circlet/live";
import { answersTo, begin, classesAt, initial, measure, split, step } from "circlet/musat/network";
import { pairsOf, sumsOf } from "circlet/musat/particles";
import { imperfect, readShape } from "circlet/musat/shape";
import { sameAnswer, sumsIn } from "circlet/musat/sums";
import { embeddingIn, pairIn } from "circlet/pictures";

const SIDE = 64; // of the grid on which the classifier is asked
const LABELS = { xLabel: "dimension 1", yLabel: "dimension 2" };

/** A network in its panels and readings, whose ids begin with a name. */
class Shown {
  /** `light` is called with the pair of numbers at which a reader points. */
  constructor(name, sizes, pairs, light) {
    Object.assign(this, { name, sizes, pairs });
    const stage = (panel) => byId(`${name}-${panel}-picture`);
    this.embedding = new Plane(stage("embedding"));
    this.sums = new Plane(stage("sums"));
    this.curves = new Plane(stage("losses"));
    this.answers = new Answers(stage("answers"), light);
  }

  begin({ seed }) {
    this.losses = []; // [step, train loss, test loss], as they were shown
    const trained = split(this.sizes.p, this.sizes.train_fraction, seed);
    this.training = begin(this.sizes, initial(this.sizes, seed), trained);
  }

  step(settings) {
    step(this.training, settings);
  }

  /** Draw all but the losses, and read off what there is to read. */
  show() {
    const { name, pairs, sizes } = this;
    const now = theme();
    const { weights, trained } = this.training;
    const xy = weights.embedding;
    const box = boxAround([xy]);
    const lines = progression(xy, shortestStep(xy));
    this.embedding.draw({ ...LABELS, box, ...embeddingIn(xy, lines, now) });
    const wide = box.map((end) => 2 * end);
    const bad = imperfect(xy, pairs);
    const regions = { side: SIDE, classes: classesAt(weights, 2, gridIn(wide, SIDE)) };
    const sums = sumsIn(sumsOf(xy, pairs), pairs, bad, true, regions, now);
    this.sums.draw({ ...LABELS, box: wide, ...sums });
    this.answers.draw({ p: sizes.p, trained, ...answersTo(weights, sizes.p) });
    this.light(this.pair);
    const measured = measure(weights, sizes, pairs, trained);
    this.remember(measured);
    for (const part of ["train", "test"]) {
      const loss = measured[`${part}_loss`];
      const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
      const accuracy = (100 * measured[`${part}_accuracy`]).toFixed(0);
      const words = Number.isFinite(loss) ? `${text} nat` : "loss not finite";
      byId(`${name}-${part}`).textContent = `${words}, ${accuracy} % right`;
    }
    readShape(name, xy, bad);
  }

  /** Light up a pair of numbers, and the pairs with its answer. */
  light(pair) {
    this.pair = pair;
    const xy = this.training.weights.embedding;
    this.embedding.ring(pairIn(xy, pair));
    this.sums.ring(sameAnswer(sumsOf(xy, this.pairs), this.pairs, pair));
    this.answers.mark(pair);
  }

  /** Take note of the losses of a step. */
  remember({ train_loss, test_loss }) {
    const { steps } = this.training;
    if (this.losses.at(-1)?.[0] !== steps) this.losses.push([steps, train_loss, test_loss]);
  }

  /** Its losses as curves: [step, log10 of the train or the test loss, ...]. */
  get logarithms() {
    const of = (column) =>
      this.losses.flatMap((row) => (row[column] > 0 ? [row[0], Math.log10(row[column])] : []));
    return [of(1), of(2)];
  }

  drawLosses(box) {
    const labels = { xLabel: "step", yLabel: "log10 of the loss (nat)" };
    const colour = classColour(2, theme());
    const [train, test] = this.logarithms;
    const curves = [
      { lines: [train], colour: colour(0) },
      { lines: [test], colour: colour(1), dash: "6 3" },
    ];
    this.curves.draw({ ...labels, box, curves });
  }

  get files() {
    const { embedding, sums, curves, answers } = this;
    const { p } = this.sizes;
    const embeddingTable = () => {
      const xy = this.training.weights.embedding;
      const rows = Array.from({ length: p }, (_, a) => [a, xy[2 * a], xy[2 * a + 1]]);
      return [["token", "dimension_1", "dimension_2"], rows];
    };
    const sumsTable = () => {
      const xy = sumsOf(this.training.weights.embedding, this.pairs);
      const { first, second, target } = this.pairs;
      const rows = target.map((c, i) => [first[i], second[i], c, xy[2 * i], xy[2 * i + 1]]);
      return [["a", "b", "class", "x", "y"], rows];
    };
    const lossTable = () => [["step", "train_loss", "test_loss"], this.losses];
    return {
      [`${this.name}-embedding`]: { picture: embedding, table: embeddingTable },
      [`${this.name}-sums`]: { picture: sums, table: sumsTable },
      [`${this.name}-losses`]: { picture: curves, table: lossTable },
      [`${this.name}-answers`]: { picture: answers.picture, table: () => answers.table },
    };
  }
}

/** The box of the losses of some networks, the same for all. */
function lossBox(networks) {
  const last = Math.max(10, ...networks.map(({ training }) => training.steps));
  const curves = networks.flatMap((network) => network.logarithms);
  const heights = curves.flatMap((xy) => xy.filter((value, i) => i % 2 && Number.isFinite(value)));
  return [0, last, Math.min(0, ...heights) - 0.1, Math.max(0.5, ...heights) + 0.1];
}

/**
 * Set the training up with parameters as in a study; `knobs`: what a second network may differ in,
 * and its usual value there.
 */
export function train(defaults, knobs) {
  const pairs = pairsOf(defaults.p);
  const light = (pair) => shown().forEach((network) => network.light(pair));
  const [one, other] = ["network", "other"].map((name) => new Shown(name, defaults, pairs, light));
  const knob = byId("network-knob");
  const value = byId("network-other");
  const shown = () => (knob.value ? [one, other] : [one]);
  /** What the second network has in place of the first's settings. */
  const changed = (settings) => ({ ...settings, [knob.value]: settings.other });

  function show() {
    const networks = shown();
    for (const network of networks) network.show();
    for (const network of networks) network.drawLosses(lossBox(networks));
  }

  live(
    "network",
    { ...defaults },
    {
      begin(settings) {
        one.begin(settings);
        other.begin(changed(settings));
      },
      step(settings) {
        one.step(settings);
        if (knob.value) other.step(changed(settings));
      },
      show,
      files: (id) => ({ ...one.files, ...other.files })[id],
    },
  );

  knob.addEventListener("change", () => {
    for (const part of document.querySelectorAll("#live-network [data-other]")) {
      part.hidden = !knob.value;
    }
    if (knob.value) {
      const { min, max, step: unit } = byId(`network-${knob.value}`);
      Object.assign(value, { min, max, step: unit, value: knobs[knob.value] });
    }
    byId("network-restart").click(); // both from step 0
  });
}
