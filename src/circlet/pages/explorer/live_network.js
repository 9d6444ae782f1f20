// A training in the page: controls, pictures, readings. The equations are in network.js.
import { byId, isCircle, Player, ratioText } from "circlet/controls";
import { classColour, Plane, saveTable, theme } from "circlet/draw";
import { around, boxAround, gridIn } from "circlet/geometry";
import { begin, classesAt, initial, measure, split, step } from "circlet/network";
import { imperfect, normRatio, pairsOf, sumsOf } from "circlet/particles";

const SIDE = 64; // of the grid on which the classifier is asked

export function train(defaults) {
  const pairs = pairsOf(defaults.p);
  const planes = {
    embedding: new Plane(byId("net-embedding")),
    sums: new Plane(byId("net-sums")),
  };
  const settings = { ...defaults };
  let training;

  function read() {
    for (const name of ["learning_rate", "weight_decay", "seed"]) {
      const field = byId(`net-${name}`);
      if (field.checkValidity() && field.value !== "") settings[name] = Number(field.value);
    }
    settings.per_frame = Number(byId("net-per_frame").value);
  }

  function restart() {
    read();
    const trained = split(defaults.p, defaults.train_fraction, settings.seed);
    training = begin(defaults, initial(defaults, settings.seed), trained);
    show();
  }

  function advance(times) {
    for (let i = 0; i < times; i++) step(training, settings);
  }

  function show() {
    const now = theme();
    const { weights, trained } = training;
    const xy = weights.embedding;
    const box = boxAround([xy]);
    const words = Array.from({ length: defaults.p }, (_, a) => a);
    const labels = { xLabel: "dimension 1", yLabel: "dimension 2" };
    planes.embedding.draw({
      ...labels,
      box,
      lines: around(xy, 1),
      dots: [{ xy, colour: now.colour("paper"), size: 17 }],
      texts: [{ xy, words, colour: now.colour("ink"), size: 12 }],
    });
    const sums = sumsOf(xy, pairs);
    const wide = box.map((end) => 2 * end);
    const bad = imperfect(xy, pairs);
    const wrong = [];
    bad.forEach((is, i) => is && wrong.push(sums[2 * i], sums[2 * i + 1]));
    planes.sums.draw({
      ...labels,
      box: wide,
      dots: [{ xy: wrong, colour: now.colour("picked"), size: 15 }],
      texts: [{ xy: sums, words: pairs.target, colour: now.colour("ink"), size: 9 }],
      regions: {
        side: SIDE,
        classes: classesAt(weights, 2, gridIn(wide, SIDE)),
        colour: classColour(defaults.p, now, true),
      },
    });
    const measured = measure(weights, defaults, pairs, trained);
    const ratio = normRatio(xy);
    const count = bad.filter(Boolean).length;
    byId("net-steps").textContent = training.steps;
    for (const part of ["train", "test"]) {
      const loss = measured[`${part}_loss`];
      const text = loss < 0.001 ? loss.toExponential(1) : loss.toFixed(3);
      const accuracy = (100 * measured[`${part}_accuracy`]).toFixed(0);
      byId(`net-${part}`).textContent = `${text} nat, ${accuracy} % right`;
    }
    const shape = isCircle(ratio) ? "a circle" : "no circle";
    byId("net-ratio").textContent = `${ratioText(ratio)}, ${shape}`;
    byId("net-imperfections").textContent = `${count} of ${pairs.target.length}`;
  }

  const player = new Player(byId("net-run"), "Start", () => {
    advance(settings.per_frame);
    show();
  });
  byId("net-step").addEventListener("click", () => {
    player.play(false);
    advance(1);
    show();
  });
  byId("net-restart").addEventListener("click", restart);
  byId("net-seed").addEventListener("change", restart);
  for (const name of ["learning_rate", "weight_decay", "per_frame"]) {
    byId(`net-${name}`).addEventListener("input", read);
  }
  byId("net-save").addEventListener("click", () => {
    const rows = Array.from({ length: defaults.p }, (_, a) => [
      a,
      ...training.weights.embedding.subarray(2 * a, 2 * a + 2),
    ]);
    saveTable(
      `network_step_${training.steps}.csv`,
      ["token", "dimension_1", "dimension_2"],
      rows,
      15,
    );
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

  restart();
}
