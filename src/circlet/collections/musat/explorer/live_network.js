// The live training: pictures and readings. The equations are in network.js.
import { byId } from "circlet/controls";
import { Plane, theme } from "circlet/draw";
import { around, boxAround, gridIn } from "circlet/geometry";
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
  let training;

  function show() {
    const now = theme();
    const { weights, trained } = training;
    const xy = weights.embedding;
    const box = boxAround([xy]);
    const labels = { xLabel: "dimension 1", yLabel: "dimension 2" };
    embedding.draw({ ...labels, box, ...embeddingIn(xy, around(xy, 1), now) });
    const wide = box.map((end) => 2 * end);
    const bad = imperfect(xy, pairs);
    const regions = { side: SIDE, classes: classesAt(weights, 2, gridIn(wide, SIDE)) };
    sums.draw({
      ...labels,
      box: wide,
      ...sumsIn(sumsOf(xy, pairs), pairs, bad, true, regions, now),
    });
    const measured = measure(weights, defaults, pairs, trained);
    for (const part of ["train", "test"]) {
      const loss = measured[`${part}_loss`];
      const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
      const accuracy = (100 * measured[`${part}_accuracy`]).toFixed(0);
      const words = Number.isFinite(loss) ? `${text} nat` : "loss not finite";
      byId(`network-${part}`).textContent = `${words}, ${accuracy} % right`;
    }
    readShape("network", xy, bad);
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
    "network-sums": { picture: sums, table: sumsTable },
  };
  live(
    "network",
    { ...defaults },
    {
      begin({ seed }) {
        const trained = split(defaults.p, defaults.train_fraction, seed);
        training = begin(defaults, initial(defaults, seed), trained);
      },
      step: (settings) => step(training, settings),
      show,
      files: (id) => files[id],
    },
  );
}
