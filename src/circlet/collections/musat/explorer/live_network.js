// The live training of a network in the panels that show a run. The equations are in network.js.
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

/** The network in its panels and readings. */
class Shown {
  /** Panels are made by `makers`. */
  constructor(sizes, makers) {
    this.sizes = sizes;
    this.pair = undefined; // that is lit up
    this.curves = new Plane(byId("network-losses-picture"));
    const light = (pair) => this.light(pair);
    this.panels = Object.entries(makers).map(([panel, { make }]) => {
      const id = `network-${panel}`;
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

  /** Draw everything, and read off what there is to read. */
  show() {
    const { scene, sizes } = this;
    const { weights, pairs, trained, steps } = this.training;
    for (const panel of this.panels) panel.draw(scene, steps, false);
    this.light(this.pair);
    const measured = measure(weights, sizes, pairs, trained);
    const { train_loss: train, test_loss: test } = measured;
    if (this.losses.at(-1)?.[0] !== steps) this.losses.push([steps, train, test]);
    this.read("train", train, measured.train_accuracy);
    this.read("test", test, measured.test_accuracy);
    readShape("network", weights.embedding, imperfect(weights.embedding, pairs));
    this.drawLosses();
  }

  read(part, loss, accuracy) {
    const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
    const words = Number.isFinite(loss) ? `${text} nat` : "loss not finite";
    byId(`network-${part}`).textContent = `${words}, ${(100 * accuracy).toFixed(0)} % right`;
  }

  /** Light up a pair of numbers, and the pairs with its answer. */
  light(pair) {
    this.pair = pair;
    for (const panel of this.panels) panel.light(this.scene, this.training.steps, pair);
  }

  /** Losses on a logarithmic axis: [step, log10 of the train or the test loss, ...]. */
  drawLosses() {
    const colours = classColours(2);
    const of = (column) => this.losses.flatMap((row) => [row[0], Math.log10(row[column])]);
    const [train, test] = [of(1), of(2)];
    const heights = [...train, ...test].filter((value, i) => i % 2 && Number.isFinite(value));
    const last = Math.max(10, this.training.steps);
    this.curves.draw({
      xLabel: "step",
      yLabel: "log10 of the loss (nat)",
      box: [0, last, Math.min(0, ...heights) - 0.1, Math.max(0.5, ...heights) + 0.1],
      curves: [
        { lines: [train], colour: colours(0) },
        { lines: [test], colour: colours(1), dash: "6 3" },
      ],
    });
  }

  /** What the buttons of a panel save. @returns {PanelFile} */
  fileOf(id) {
    /** @returns {Table} */
    const losses = () => [["step", "train_loss", "test_loss"], this.losses];
    if (id === "network-losses") return { picture: this.curves, table: losses };
    const panel = this.panels.find((one) => one.id === id);
    return { picture: panel.picture, table: () => panel.table(this.scene, this.training.steps) };
  }
}

/** Set the training up with parameters as in a study; `makers`: panels. */
export function train(defaults, makers) {
  const network = new Shown(defaults, makers);
  live("network", defaults, {
    begin: (settings) => network.begin(settings),
    step: (settings) => step(network.training, settings),
    show: () => network.show(),
    files: (id) => network.fileOf(id),
  });
}
