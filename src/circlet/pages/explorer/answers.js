// The answers of a network to every sum of two numbers: a table of right and wrong ones, and two
// fields to ask for one. Runs and live networks have the same.
import { classColours, colour } from "circlet/colours";
import { element } from "circlet/controls";
import { Cells } from "circlet/draw";
import { range } from "circlet/numbers";
import { absent } from "circlet/panels";

const MOVING = 60; // numbers up to which answers are computed while training is scrubbed
const HINT = "Type two numbers, or point at a cell of the table; a click keeps it.";

export const HELP =
  "The network's answer to every sum a + b, in row a and column b: a filled cell is right, a crossed " +
  "one is wrong. It was trained on the blue pairs. The orange ones were held out (test pairs): only a " +
  "network that has found the rule gets them right. Point at a cell: its two numbers are ringed in the " +
  "embedding, and in the pair sums all pairs with the same answer.";

/** The place of a pair in a list of all pairs of p numbers: ordered, or those with a <= b. */
function placeOf(p, count, a, b) {
  if (count === p * p) return a * p + b;
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return low * p - (low * (low - 1)) / 2 + high - low;
}

/**
 * All ordered pairs of p numbers, row by row, with what a network answers: the class `given` to each,
 * and its `probability`. `trained`: of every pair, ordered or a <= b, whether it was trained on, if
 * that is known.
 */
export function rowsOf({ p, given, probability, trained }) {
  return range(p * p, (i) => {
    const [a, b] = [Math.floor(i / p), i % p];
    const wasTrained = Boolean(trained?.[placeOf(p, trained.length, a, b)]);
    const right = (a + b) % p;
    const isRight = given[i] === right;
    return { a, b, right, given: given[i], isRight, probability: probability[i], wasTrained };
  });
}

/** How many pairs are right, of those that were trained on and of the others, in words. */
export function shareOf(rows, p, trained) {
  const counts = trained?.length === p * p ? rows : rows.filter(({ a, b }) => a <= b);
  const of = (own) => `${own.filter(({ isRight }) => isRight).length} of ${own.length}`;
  if (!trained) return `Right: ${of(counts)} pairs.`;
  const [seen, unseen] = [true, false].map((is) => counts.filter((row) => row.wasTrained === is));
  return `Right: ${of(seen)} pairs trained on, ${of(unseen)} held out.`;
}

/** What a network answers to a pair, in words. */
export function answerTo({ a, b, right, given, isRight, probability, wasTrained }, p, trained) {
  const rest = a + b < p ? "" : `, and ${a + b} mod ${p} = ${right}`;
  const set = `: this pair was ${wasTrained ? "trained on" : "held out"}`;
  return [
    `${isRight ? "Right" : "Wrong"}: the network answers ${given} (probability ${probability.toFixed(3)}).`,
    `${a} + ${b} = ${a + b}${rest}.`,
    `Row ${a}, column ${b}${trained ? set : ""}.`,
  ].join(" ");
}

export class Answers {
  /**
   * A table and two fields in an element; `light` is called with the pair [a, b] that a reader
   * points at or types, or with nothing.
   * @param {(pair?: number[]) => void} light
   */
  constructor(holder, light) {
    const stage = element("div");
    holder.replaceChildren(stage);
    this.picture = new Cells(stage);
    this.fields = ["a", "b"].map((name) => {
      const field = element("input", { type: "number", min: 0, step: 1, name });
      field.addEventListener("input", () => light(this.asked));
      return field;
    });
    this.summary = element("p");
    this.words = element("p", { role: "status" });
    const [a, b] = this.fields.map((field) => element("label", {}, `${field.name} `, field));
    holder.append(element("div", { className: "ask" }, this.summary, a, "+", b, this.words));
    this.p = 0; // of what is drawn, as are:
    this.rows = [];
    this.trained = undefined;
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

  /** Draw answers as `rowsOf` takes them. */
  draw(answers) {
    const { p, trained } = answers;
    this.p = p;
    this.trained = trained;
    this.rows = rowsOf(answers);
    for (const field of this.fields) field.max = p - 1;
    const colours = classColours(2);
    const of = ({ wasTrained }) => (trained ? colours(wasTrained ? 0 : 1) : colour("quiet"));
    const cells = this.rows.map((row) => ({ colour: of(row), isCrossed: !row.isRight }));
    this.picture.draw({ rows: p, columns: p, cells, xLabel: "b", yLabel: "a" });
    this.summary.textContent = shareOf(this.rows, p, trained);
  }

  /** What the colours mean. */
  get note() {
    return this.trained
      ? "blue: trained on; orange: held out; ×: wrong"
      : "×: wrong; which pairs were trained on is not known";
  }

  /** Mark a pair, and say what the network answers to it; without one, how to choose one. */
  mark(pair) {
    const { p, rows, trained } = this;
    const isHere = pair?.every((number) => number < p);
    this.picture.outline(isHere ? pair : undefined);
    const isValid = this.fields.every((field) => field.checkValidity());
    const hint = isValid ? HINT : `The numbers are 0 to ${p - 1}.`;
    this.words.textContent = isHere ? answerTo(rows[pair[0] * p + pair[1]], p, trained) : hint;
  }

  /** @returns {Table} */
  get table() {
    const set = ({ wasTrained }) => this.trained && (wasTrained ? "train" : "test");
    const cells = (row) => [row.a, row.b, row.right, row.given, row.probability, set(row)];
    return [["a", "b", "class", "answer", "probability", "set"], this.rows.map(cells)];
  }
}

/**
 * The panel of the answers of a run. `source` is the array with whose logged steps they move;
 * `read(scene, step)` gives `given` and `probability`, or nothing where they are not known.
 * @returns {MakePanel}
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
