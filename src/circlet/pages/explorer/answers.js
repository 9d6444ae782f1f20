// The answers of a network to every sum of two numbers: a table of right and wrong ones, and two
// fields to ask for one. Runs and live networks have the same.
import { classColours, colour } from "circlet/colours";
import { element } from "circlet/controls";
import { Cells } from "circlet/draw";
import { range } from "circlet/numbers";

const MOVING = 60; // numbers up to which answers are computed while training is scrubbed
const HINT = "Type two numbers, or point at a cell of the table. A click or tap keeps the cell.";

export const HELP =
  "The network's answer to every sum a + b, in row a and column b. Filled cells are right, crossed " +
  "cells are wrong. The network was trained on the blue pairs. The orange pairs were held out (test " +
  "pairs): only a network that has learned the rule answers them correctly. Point at a cell to ring its " +
  "two numbers in the embedding, and all pairs with the same answer in the pair sums.";

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
  const of = (some) => `${some.filter(({ isRight }) => isRight).length} of ${some.length}`;
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

/** A table and two fields for numbers in an element: its parts. */
function made(holder) {
  const stage = element("div");
  holder.replaceChildren(stage);
  const fields = ["a", "b"].map((name) =>
    element("input", { type: "number", min: 0, step: 1, name }),
  );
  const [a, b] = fields.map((field) => element("label", {}, `${field.name} `, field));
  const summary = element("p");
  const words = element("p", { role: "status" });
  holder.append(element("div", { className: "ask" }, summary, a, "+", b, words));
  return { stage, fields, summary, words, picture: new Cells(stage) };
}

/** Call `light` with the pair [a, b] that a reader points at or types, or with nothing. */
function wire({ stage, fields, picture }, light) {
  const typed = () => {
    const isComplete = fields.every((field) => field.value && field.checkValidity());
    light(isComplete ? fields.map((field) => Number(field.value)) : undefined);
  };
  for (const field of fields) field.addEventListener("input", typed);
  stage.addEventListener("pointermove", (event) => light(picture.pointed(event)));
  stage.addEventListener("pointerleave", typed);
  stage.addEventListener("click", (event) => {
    const pair = picture.pointed(event);
    if (!pair) return;
    fields.forEach((field, i) => (field.value = pair[i]));
    light(pair);
  });
}

/** Rows as cells: their colour is the set, if that is known. */
function cellsOf(rows, trained) {
  const colours = classColours(2);
  const of = ({ wasTrained }) => (trained ? colours(wasTrained ? 0 : 1) : colour("quiet"));
  return rows.map((row) => ({ colour: of(row), isCrossed: !row.isRight }));
}

/**
 * The panel of the answers of a run. `source` is the array with whose logged steps they move;
 * `read(scene, step)` gives `given` and `probability`, or nothing where they are not known.
 * @returns {MakePanel}
 */
export const answersPanel =
  (source, read) =>
  (holder, { light }) => {
    const parts = made(holder);
    const { fields, picture, summary, words } = parts;
    let isLogged;
    let rows = [];
    wire(parts, light);
    return {
      source,
      picture,
      note({ trained }) {
        if (!isLogged) return "the network is not logged at this step";
        const unknown = "×: wrong; training pairs unknown";
        return trained ? "blue: trained on; orange: held out; ×: wrong" : unknown;
      },
      draw(scene, step, atRest) {
        const { p, trained } = scene;
        if (!atRest && p > MOVING) return;
        const answers = read(scene, scene.logged(source, step));
        isLogged = Boolean(answers);
        holder.classList.toggle("unknown", !isLogged);
        if (!isLogged) return;
        rows = rowsOf({ p, trained, ...answers });
        for (const field of fields) field.max = p - 1;
        const labels = { xLabel: "b", yLabel: "a" };
        picture.draw({ rows: p, columns: p, cells: cellsOf(rows, trained), ...labels });
        summary.textContent = shareOf(rows, p, trained);
      },
      light({ p, trained }, step, pair) {
        const row = rows.find(({ a, b }) => pair?.[0] === a && pair[1] === b);
        picture.outline(row && pair);
        const isValid = fields.every((field) => field.checkValidity());
        const hint = isValid ? HINT : `The numbers are 0 to ${p - 1}.`;
        words.textContent = row ? answerTo(row, p, trained) : hint;
      },
      table({ trained }) {
        const set = ({ wasTrained }) => trained && (wasTrained ? "train" : "test");
        const cells = (row) => [row.a, row.b, row.right, row.given, row.probability, set(row)];
        return [["a", "b", "class", "answer", "probability", "set"], rows.map(cells)];
      },
    };
  };
