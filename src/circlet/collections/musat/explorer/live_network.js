// The live training of a network, and of a second one that differs in one knob, in the panels that
// show a run. The equations are in network.js.
import { parse } from "circlet/address";
import { Series } from "circlet/catalogue";
import { classColours } from "circlet/colours";
import { byId } from "circlet/controls";
import { Plane } from "circlet/draw";
import { live } from "circlet/live";
import { begin, initial, measure, split, step } from "circlet/musat/network";
import { imperfect, readShape } from "circlet/musat/shape";
import { Scene } from "circlet/scene";

/** Each step in its own scale, with all that can be drawn. @type {View} */
const VIEW = { ...parse("").view, fit: true };

/** A network in its panels and readings, whose ids begin with a name. */
class Shown {
  /** Panels are made by `makers`; `light` is called with the pair at which a reader points. */
  constructor(name, sizes, makers, light) {
    this.name = name;
    this.sizes = sizes;
    this.pair = undefined; // that is lit up
    this.curves = new Plane(byId(`${name}-losses-picture`));
    this.panels = Object.entries(makers).map(([panel, { make }]) => {
      const id = `${name}-${panel}`;
      return { id, ...make(byId(`${id}-picture`), { light }) };
    });
  }

  begin({ seed }) {
    this.losses = []; // [step, train loss, test loss], as they were shown
    const trained = split(this.sizes.p, this.sizes.train_fraction, seed);
    this.training = begin(this.sizes, initial(this.sizes, seed), trained);
  }

  /** The network as a run that is logged at this step alone. */
  get scene() {
    const { weights, trained, steps } = this.training;
    const { p, d } = this.sizes;
    const series = (values) => new Series([steps], [p, d], values); // the embedding's shape
    /** @type {Arrays} */
    const logged = { trained: series(Float64Array.from(trained, Number)) };
    for (const [name, values] of Object.entries(weights)) logged[name] = series(values);
    const run = /** @type {any} */ ({});
    const point = /** @type {any} */ ({ parameters: { p, d }, steps });
    const system = /** @type {any} */ ({ signals: true });
    return new Scene(point, run, system, logged, VIEW);
  }

  /** Draw everything except the losses, and read off what there is to read. */
  show() {
    const { name, scene, sizes } = this;
    const { weights, pairs, trained, steps } = this.training;
    for (const panel of this.panels) panel.draw(scene, steps, false);
    this.light(this.pair);
    const measured = measure(weights, sizes, pairs, trained);
    const { train_loss: train, test_loss: test } = measured;
    if (this.losses.at(-1)?.[0] !== steps) this.losses.push([steps, train, test]);
    this.read("train", train, measured.train_accuracy);
    this.read("test", test, measured.test_accuracy);
    readShape(name, weights.embedding, imperfect(weights.embedding, pairs));
  }

  read(part, loss, accuracy) {
    const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
    const words = Number.isFinite(loss) ? `${text} nat` : "loss not finite";
    byId(`${this.name}-${part}`).textContent = `${words}, ${(100 * accuracy).toFixed(0)} % right`;
  }

  /** Light up a pair of numbers, and the pairs with its answer. */
  light(pair) {
    this.pair = pair;
    for (const panel of this.panels) panel.light(this.scene, this.training.steps, pair);
  }

  /** Its losses as curves: [step, log10 of the train or the test loss, ...]. */
  get logarithms() {
    const of = (column) => this.losses.flatMap((row) => [row[0], Math.log10(row[column])]);
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

  /** What the buttons of a panel save; nothing, if it is not its own. @returns {PanelFile} */
  fileOf(id) {
    /** @returns {Table} */
    const losses = () => [["step", "train_loss", "test_loss"], this.losses];
    if (id === `${this.name}-losses`) return { picture: this.curves, table: losses };
    const panel = this.panels.find((one) => one.id === id);
    return (
      panel && { picture: panel.picture, table: () => panel.table(this.scene, this.training.steps) }
    );
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
 * and its usual value there; `makers`: panels.
 */
export function train(defaults, knobs, makers) {
  const knob = byId("network-knob");
  const light = (pair) => shown().forEach((network) => network.light(pair));
  const both = ["network", "other"].map((name) => new Shown(name, defaults, makers, light));
  const shown = () => (knob.value ? both : both.slice(0, 1));
  /** The settings of both: the second has its own value of the knob. */
  const settingsOf = (settings) => [settings, { ...settings, [knob.value]: settings.other }];
  const begin = (settings) => settingsOf(settings).forEach((own, i) => both[i].begin(own));
  const advance = (settings) =>
    shown().forEach(({ training }, i) => step(training, settingsOf(settings)[i]));
  const show = () => {
    for (const network of shown()) network.show();
    for (const network of shown()) network.drawLosses(lossBox(shown()));
  };
  const files = (id) => both[0].fileOf(id) ?? both[1].fileOf(id);
  live("network", defaults, { begin, step: advance, show, files });
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
