// What pictures of several collections draw alike.
import { paleColours } from "circlet/colours";
import { gridIn } from "circlet/geometry";
import { range } from "circlet/numbers";

/** Places by class, as texts or dots: [{ xy, words, colour, size }, ...]. */
export function byClass(count, classes, xy, words, colours, size) {
  const groups = range(count, (c) => ({ xy: [], words: [], colour: colours(c), size }));
  classes.forEach((c, n) => {
    groups[c].xy.push(xy[2 * n], xy[2 * n + 1]);
    groups[c].words.push(words[n]);
  });
  return groups;
}

/**
 * The answers of the network of a step on a grid in a box, by `classesAt`, of so many classes; none
 * if the network, or the whole plane, is not there.
 */
export function regionsIn(/** @type {Scene} */ scene, step, box, atRest, classesAt, count) {
  const weights = scene.isWhole && scene.weights(step);
  if (!weights) return undefined;
  const side = atRest ? 224 : 64;
  const classes = classesAt(weights, 2, scene.fromPlane(gridIn(box, side)));
  return { side, classes, colour: paleColours(count) };
}
