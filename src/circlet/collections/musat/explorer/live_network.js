// The live training of a network, and of a second one that differs in one knob: pictures and readings.
// The equations are in network.js.
import { Answers } from "circlet/answers";
import { classColours } from "circlet/colours";
import { byId } from "circlet/controls";
import { Plane } from "circlet/draw";
import { boxAround, progression, shortestStep } from "circlet/geometry";
import { live } from "circlet/live";
import { answersTo, begin, initial, measure, split, step } from "circlet/musat/network";
import { pairsOf, sumsOf } from "circlet/musat/particles";
import { imperfect, readShape } from "circlet/musat/shape";
import { regionsIn, sameAnswer, sumsIn, sumsTable } from "circlet/musat/sums";
import { range } from "circlet/numbers";
import { rowsOf } from "circlet/panels";
import { embeddingIn, pairIn } from "circlet/pictures";

const SIDE = 64; // of the grid on which the classifier is asked
const LABELS = { xLabel: "dimension 1", yLabel: "dimension 2" };

/** A network in its panels and readings, whose ids begin with a name. */
class Shown {
  /** `light` is called with the pair of numbers at which a reader points. */
  constructor(name, sizes, light) {
    this.name = name;
    this.sizes = sizes;
    this.pairs = pairsOf(sizes.p);
    const stage = (panel) => byId(`${name}-${panel}-picture`);
    this.embedding = new Plane(stage("embedding"));
    this.sums = new Plane(stage("sums"));
    this.curves = new Plane(stage("losses"));
    this.answers = new Answers(stage("answers"), light);
    this.pair = undefined; // that is lit up
  }

  begin({ seed }) {
    this.losses = []; // [step, train loss, test loss], as they were shown
    const trained = split(this.sizes.p, this.sizes.train_fraction, seed);
    this.training = begin(this.sizes, initial(this.sizes, seed), trained);
  }

  get places() {
    return this.training.weights.embedding;
  }

  /** Draw all but the losses, and read off what there is to read. */
  show() {
    const { name, pairs, places, sizes } = this;
    const { weights, trained, steps } = this.training;
    const box = boxAround([places]);
    const lines = progression(places, shortestStep(places));
    this.embedding.draw({ ...LABELS, box, ...embeddingIn(places, lines) });
    const wide = box.map((end) => 2 * end);
    const bad = imperfect(places, pairs);
    const regions = regionsIn(weights, wide, SIDE);
    const sums = sumsIn(sumsOf(places, pairs), pairs, bad, true, regions);
    this.sums.draw({ ...LABELS, box: wide, ...sums });
    this.answers.draw({ p: sizes.p, trained, ...answersTo(weights, sizes.p) });
    this.light(this.pair);
    const measured = measure(weights, sizes, pairs, trained);
    const { train_loss: train, test_loss: test } = measured;
    if (this.losses.at(-1)?.[0] !== steps) this.losses.push([steps, train, test]);
    this.read("train", train, measured.train_accuracy);
    this.read("test", test, measured.test_accuracy);
    readShape(name, places, bad);
  }

  read(part, loss, accuracy) {
    const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
    const words = Number.isFinite(loss) ? `${text} nat` : "loss not finite";
    byId(`${this.name}-${part}`).textContent = `${words}, ${(100 * accuracy).toFixed(0)} % right`;
  }

  /** Light up a pair of numbers, and the pairs with its answer. */
  light(pair) {
    const { pairs, places } = this;
    this.pair = pair;
    this.embedding.ring(pairIn(places, pair));
    this.sums.ring(sameAnswer(sumsOf(places, pairs), pairs, pair));
    this.answers.mark(pair);
  }

  /** Its losses as curves: [step, log10 of the train or the test loss, ...]. */
  get logarithms() {
    const of = (column) =>
      this.losses.flatMap((row) => (row[column] > 0 ? [row[0], Math.log10(row[column])] : []));
    return [of(1), of(2)];
  }

  drawLosses(box) {
    const colours = classColours(2);
    const [train, test] = this.logarithms;
    const curves = [
      { lines: [train], colour: colours(0) },
      { lines: [test], colour: colours(1), dash: "6 3" },
    ];
    this.curves.draw({ xLabel: "step", yLabel: "log10 of the loss (nat)", box, curves });
  }

  /** What the buttons of its panels save. @returns {Record<string, PanelFile>} */
  get files() {
    const { name, pairs, places } = this;
    const numbers = range(pairs.p, (a) => [a]);
    return {
      [`${name}-embedding`]: {
        picture: this.embedding,
        table: () => [["token", "dimension_1", "dimension_2"], rowsOf(places, 2, numbers)],
      },
      [`${name}-sums`]: {
        picture: this.sums,
        table: () => sumsTable(sumsOf(places, pairs), pairs),
      },
      [`${name}-losses`]: {
        picture: this.curves,
        table: () => [["step", "train_loss", "test_loss"], this.losses],
      },
      [`${name}-answers`]: { picture: this.answers.picture, table: () => this.answers.table },
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
  const knob = byId("network-knob");
  const light = (pair) => shown().forEach((network) => network.light(pair));
  const both = ["network", "other"].map((name) => new Shown(name, defaults, light));
  const shown = () => (knob.value ? both : both.slice(0, 1));
  /** The settings of both: the second has its own value of the knob. */
  const settingsOf = (settings) => [settings, { ...settings, [knob.value]: settings.other }];
  live(
    "network",
    { ...defaults },
    {
      begin: (settings) => settingsOf(settings).forEach((own, i) => both[i].begin(own)),
      step: (settings) =>
        shown().forEach(({ training }, i) => step(training, settingsOf(settings)[i])),
      show() {
        for (const network of shown()) network.show();
        for (const network of shown()) network.drawLosses(lossBox(shown()));
      },
      files: (id) => ({ ...both[0].files, ...both[1].files })[id],
    },
  );
  knob.addEventListener("change", () => {
    for (const part of byId("live-network").querySelectorAll("[data-other]")) {
      part.hidden = !knob.value;
    }
    if (knob.value) {
      const { min, max, step: unit } = byId(`network-${knob.value}`);
      Object.assign(byId("network-other"), { min, max, step: unit, value: knobs[knob.value] });
    }
    byId("network-restart").click(); // both from step 0
  });
}
