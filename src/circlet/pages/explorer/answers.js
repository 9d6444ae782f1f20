// The answers of a network to every sum of two numbers: a table of right and wrong ones, and two
// fields to ask for one. Runs and live networks have the same.
import { Cells, classColour, theme } from "circlet/draw";
import { absent } from "circlet/panels";

const MOVING = 60; // numbers up to which answers are computed while training is scrubbed
const HINT = "Type two numbers, or point at a cell of the table; a click keeps it.";

/** The place of a pair in a list of all pairs of p numbers: ordered, or those with a <= b. */
function placeOf(p, count, a, b) {
  if (count === p * p) return a * p + b;
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return low * p - (low * (low - 1)) / 2 + high - low;
}

export const HELP =
  "The network's answer to every sum a + b, in row a and column b: a filled cell is right, a crossed " +
  "one is wrong. It was trained on the blue pairs. The orange ones were held out (test pairs): only a " +
  "network that has found the rule gets them right. Point at a cell: its two numbers are ringed in the " +
  "embedding, and in the pair sums all pairs with the same answer.";

export class Answers {
  /**
   * A table and two fields in an element; `light` is called with the pair [a, b] that a reader
   * points at or types, or with nothing.
   */
  constructor(holder, light) {
    const stage = document.createElement("div");
    this.form = document.createElement("div");
    this.form.className = "ask";
    holder.replaceChildren(stage, this.form);
    this.picture = new Cells(stage);
    this.fields = ["a", "b"].map((name) => {
      const label = document.createElement("label");
      const field = document.createElement("input");
      Object.assign(field, { type: "number", min: 0, step: 1, name });
      field.addEventListener("input", () => light(this.asked));
      label.append(`${name} `, field);
      return label.appendChild(field);
    });
    [this.summary, this.words] = ["p", "p"].map((name) => document.createElement(name));
    this.words.setAttribute("role", "status");
    const [a, b] = this.fields.map((field) => field.parentNode);
    this.form.append(this.summary, a, "+", b, this.words);
    stage.addEventListener("pointermove", (event) => light(this.picture.pointed(event)));
    stage.addEventListener("pointerleave", () => light(this.asked));
    stage.addEventListener("click", (event) => {
      const pair = this.picture.pointed(event);
      if (!pair) return;
      this.fields.forEach((field, i) => (field.value = pair[i]));
      light(pair);
    });
  }

  /** The pair in the fields, if both have numbers of the network. */
  get asked() {
    const isComplete = this.fields.every((field) => field.value && field.checkValidity());
    return isComplete ? this.fields.map((field) => Number(field.value)) : undefined;
  }

  /**
   * Draw answers to the sums of p numbers: the class `given` to each ordered pair, row by row, and
   * its `probability`. `trained`: of every pair, ordered or a <= b, whether it was trained on, if that
   * is known.
   */
  draw(answers) {
    const { p, given, trained } = answers;
    this.answers = answers;
    for (const field of this.fields) field.max = p - 1;
    const colour = trained ? classColour(2, theme()) : () => theme().colour("quiet");
    const cells = Array.from(given, (c, i) => {
      const [a, b] = [Math.floor(i / p), i % p];
      return { colour: colour(this.wasTrained(a, b) ? 0 : 1), isCrossed: c !== (a + b) % p };
    });
    this.picture.draw({ side: p, cells, xLabel: "b", yLabel: "a" });
    this.summary.textContent = this.share;
  }

  wasTrained(a, b) {
    const { p, trained } = this.answers;
    return Boolean(trained?.[placeOf(p, trained.length, a, b)]);
  }

  /** How many pairs are right, of those that were trained on and of the others. */
  get counts() {
    const { p, given, trained } = this.answers;
    const isOrdered = trained?.length === p * p;
    const found = { trained: [0, 0], heldOut: [0, 0] };
    for (let a = 0; a < p; a++) {
      for (let b = isOrdered ? 0 : a; b < p; b++) {
        const part = found[this.wasTrained(a, b) ? "trained" : "heldOut"];
        part[1]++;
        if (given[a * p + b] === (a + b) % p) part[0]++;
      }
    }
    return found;
  }

  /** How many are right, in words. */
  get share() {
    const { trained, heldOut } = this.counts;
    const of = ([right, all]) => `${right} of ${all}`;
    if (!this.answers.trained) return `Right: ${of(heldOut)} pairs.`;
    return `Right: ${of(trained)} pairs trained on, ${of(heldOut)} held out.`;
  }

  /** What the colours mean. */
  get note() {
    return this.answers.trained
      ? "blue: trained on; orange: held out; ×: wrong"
      : "×: wrong; which pairs were trained on is not known";
  }

  /** Mark a pair, and say what the network answers to it; without one, how to choose one. */
  mark(pair) {
    const { p, given, probability, trained } = this.answers ?? { p: 0 };
    const isHere = pair?.every((number) => number < p);
    this.picture.outline(isHere ? pair : undefined);
    if (!isHere) {
      this.words.textContent = this.fields.every((field) => field.checkValidity())
        ? HINT
        : `The numbers are 0 to ${p - 1}.`;
      return;
    }
    const [a, b] = pair;
    const i = a * p + b;
    const right = (a + b) % p;
    const rest = a + b < p ? "" : `, and ${a + b} mod ${p} = ${right}`;
    const verdict = given[i] === right ? "Right" : "Wrong";
    const set = this.wasTrained(a, b) ? "trained on" : "held out";
    this.words.textContent = [
      `${verdict}: the network answers ${given[i]} (probability ${probability[i].toFixed(3)}).`,
      `${a} + ${b} = ${a + b}${rest}.`,
      `Row ${a}, column ${b}${trained ? `: this pair was ${set}` : ""}.`,
    ].join(" ");
  }

  /** Columns and rows of its data. */
  get table() {
    const { p, given, probability, trained } = this.answers;
    const rows = Array.from(given, (c, i) => {
      const [a, b] = [Math.floor(i / p), i % p];
      const set = trained && (this.wasTrained(a, b) ? "train" : "test");
      return [a, b, (a + b) % p, c, probability[i], set];
    });
    return [["a", "b", "class", "answer", "probability", "set"], rows];
  }
}

/**
 * The panel of the answers of a run. `source` is the array with whose logged steps they move;
 * `read(scene, step)` gives `given` and `probability`, or nothing where they are not known.
 */
export const answersPanel =
  (source, read) =>
  (holder, { light }) => {
    const answers = new Answers(holder, light);
    let isKnown;
    return {
      source,
      picture: answers.picture,
      missing: (scene) => (scene.arrays[source] ? "" : absent(scene)),
      note: () => (isKnown ? answers.note : "the network is not logged here"),
      draw(scene, step, atRest) {
        if (!atRest && scene.p > MOVING) return;
        const found = read(scene, scene.logged(source, step));
        isKnown = Boolean(found);
        if (found) answers.draw({ p: scene.p, trained: scene.trained, ...found });
        holder.classList.toggle("unknown", !isKnown);
      },
      light: (scene, step, pair) => answers.mark(pair),
      table: () => answers.table,
    };
  };
