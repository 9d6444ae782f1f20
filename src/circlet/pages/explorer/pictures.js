// What is drawn of an embedding and of its pair sums, by a run's panels and by the live network.
import { classColour } from "circlet/draw";
import { outward } from "circlet/geometry";

const CROWDED = 30; // numbers above which their names do not fit in their places

/** Of an embedding in the plane, joined by lines: every number in its place, or a dot beside it. */
export function embeddingIn(xy, lines, { colour }) {
  const p = xy.length / 2;
  const words = Array.from({ length: p }, (_, a) => a);
  if (p > CROWDED) {
    return {
      lines,
      dots: [{ xy, colour: colour("ink"), size: 4 }],
      texts: [{ xy: outward(xy, 0.09), words, colour: colour("quiet"), size: 8 }],
    };
  }
  return {
    lines,
    dots: [{ xy, colour: colour("paper"), size: 17 }],
    texts: [{ xy, words, colour: colour("ink"), size: 12 }],
  };
}

/**
 * Of pair sums in the plane: the number of each's class, or a dot of its colour, over the regions in
 * which the classifier names a class, { side, classes }, if they are known; the `bad` are marked.
 */
export function sumsIn(xy, { p, target }, bad, isNumbered, regions, now) {
  const marked = [];
  bad?.forEach((is, i) => is && marked.push(xy[2 * i], xy[2 * i + 1]));
  const marks = { xy: marked, colour: now.colour("picked"), size: 15 };
  const background = regions && { ...regions, colour: classColour(p, now, true) };
  const ink = now.colour("ink");
  const colours = classColour(p, now);
  const groups = byClass(p, target, xy, target).map((group, c) => ({
    ...group,
    colour: isNumbered && (regions || bad) ? ink : colours(c), // to be read on any background
    size: isNumbered ? 9 : p > CROWDED ? 3.5 : 6,
  }));
  const [dots, texts] = isNumbered ? [[marks], groups] : [[marks, ...groups], []];
  return { dots, texts, regions: background };
}

/** Places by class: [{ xy, words }, ...]. */
export function byClass(count, classes, xy, words) {
  const groups = Array.from({ length: count }, () => ({ xy: [], words: [] }));
  classes.forEach((c, n) => {
    groups[c].xy.push(xy[2 * n], xy[2 * n + 1]);
    groups[c].words.push(words[n]);
  });
  return groups;
}
