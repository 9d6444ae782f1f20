// What panels of runs and live simulations draw alike.
import { colour } from "circlet/colours";
import { outward } from "circlet/geometry";
import { range } from "circlet/numbers";

export const CROWDED = 30; // numbers above which their names do not fit in their places
const NAMELESS = 300; // above which they do not fit at all

/** Of an embedding in the plane, joined by lines: every number in its place, or a dot beside it. */
export function embeddingIn(xy, lines) {
  const words = range(xy.length / 2);
  const curves = [{ lines, colour: colour("line"), width: 1.1 }];
  if (words.length <= CROWDED) {
    const dots = [{ xy, colour: colour("paper"), size: 17 }];
    return { curves, dots, texts: [{ xy, words, colour: colour("ink"), size: 12 }] };
  }
  const names = { xy: outward(xy, 0.09), words, colour: colour("quiet"), size: 8 };
  const dots = [{ xy, colour: colour("ink"), size: 4 }];
  return { curves, dots, texts: words.length > NAMELESS ? [] : [names] };
}

/** Rings around the two numbers of a pair [a, b], where they are in the plane; none of no pair. */
export const pairIn = (xy, pair = []) => [
  { xy: pair.flatMap((a) => [xy[2 * a], xy[2 * a + 1]]), size: 22 },
];

/** Places by class: [{ xy, words }, ...]. */
export function byClass(count, classes, xy, words) {
  const groups = range(count, () => ({ xy: [], words: [] }));
  classes.forEach((c, n) => {
    groups[c].xy.push(xy[2 * n], xy[2 * n + 1]);
    groups[c].words.push(words[n]);
  });
  return groups;
}
