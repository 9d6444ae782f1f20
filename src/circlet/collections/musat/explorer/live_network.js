// The live training: pictures and readings. The equations are in network.js.
import { byId } from "circlet/controls";
import { Plane, theme } from "circlet/draw";
import { boxAround, gridIn, progression, shortestStep } from "circlet/geometry";
import { live } from "circlet/live";
import { begin, classesAt, initial, measure, split, step } from "circlet/musat/network";
import { pairsOf, sumsOf } from "circlet/musat/particles";
import { imperfect, readShape } from "circlet/musat/shape";
import { sumsIn } from "circlet/musat/sums";
import { embeddingIn } from "circlet/pictures";

const SIDE = 64; // of the grid on which the classifier is asked

export function train(defaults) {
  const pairs = pairsOf(defaults.p);
  const embedding = new Plane(byId("network-embedding-picture"));
  const sums = new Plane(byId("network-sums-picture"));
  const curves = new Plane(byId("network-losses-picture"));
  let training, losses; // [step, train loss, test loss], as they were shown

  function show() {
    const now = theme();
    const { weights, trained } = training;
    const xy = weights.embedding;
    const box = boxAround([xy]);
    const labels = { xLabel: "dimension 1", yLabel: "dimension 2" };
    embedding.draw({ ...labels, box, ...embeddingIn(xy, progression(xy, shortestStep(xy)), now) });
    const wide = box.map((end) => 2 * end);
    const bad = imperfect(xy, pairs);
    const regions = { side: SIDE, classes: classesAt(weights, 2, gridIn(wide, SIDE)) };
    sums.draw({
      ...labels,
      box: wide,
      ...sumsIn(sumsOf(xy, pairs), pairs, bad, true, regions, now),
    });
    const measured = measure(weights, defaults, pairs, trained);
    remember(measured);
    for (const part of ["train", "test"]) {
      const loss = measured[`${part}_loss`];
      const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
      const accuracy = (100 * measured[`${part}_accuracy`]).toFixed(0);
      const words = Number.isFinite(loss) ? `${text} nat` : "loss not finite";
      byId(`network-${part}`).textContent = `${words}, ${accuracy} % right`;
    }
    readShape("network", xy, bad);
  }

  /** Take note of the losses of a step, and draw them. */
  function remember({ train_loss, test_loss }) {
    if (losses.at(-1)?.[0] !== training.steps) losses.push([training.steps, train_loss, test_loss]);
    const curve = (of) =>
      losses.flatMap((row) => (row[of] > 0 ? [row[0], Math.log10(row[of])] : []));
    const [train, test] = [curve(1), curve(2)];
    const heights = [...train, ...test].filter((value, i) => i % 2 && Number.isFinite(value));
    const [low, high] = [Math.min(0, ...heights), Math.max(0.5, ...heights)];
    const labels = { xLabel: "step", yLabel: "log10 of the loss (nat)" };
    const box = [0, Math.max(training.steps, 10), low - 0.1, high + 0.1];
    curves.draw({ ...labels, box, lines: [train], arrows: [test] });
  }

  const embeddingTable = () => {
    const { embedding: xy } = training.weights;
    const rows = Array.from({ length: defaults.p }, (_, a) => [a, xy[2 * a], xy[2 * a + 1]]);
    return [["token", "dimension_1", "dimension_2"], rows];
  };
  const sumsTable = () => {
    const xy = sumsOf(training.weights.embedding, pairs);
    const { first, second, target } = pairs;
    const rows = target.map((c, i) => [first[i], second[i], c, xy[2 * i], xy[2 * i + 1]]);
    return [["a", "b", "class", "x", "y"], rows];
  };
  const files = {
    "network-embedding": { picture: embedding, table: embeddingTable },
    "network-losses": {
      picture: curves,
      table: () => [["step", "train_loss", "test_loss"], losses],
    },
    "network-sums": { picture: sums, table: sumsTable },
  };
  live(
    "network",
    { ...defaults },
    {
      begin({ seed }) {
        losses = [];
        const trained = split(defaults.p, defaults.train_fraction, seed);
        training = begin(defaults, initial(defaults, seed), trained);
      },
      step: (settings) => step(training, settings),
      show,
      files: (id) => files[id],
    },
  );
}
