// Pair sums on the regions of the classifier, and which of them are imperfect.
import { classColours, colour } from "circlet/colours";
import { Plane } from "circlet/draw";
import { classesAt } from "circlet/musat/network";
import { pairsOf, sumsOf } from "circlet/musat/particles";
import { imperfect, normRatio, ratioText } from "circlet/musat/shape";
import { CROWDED, rowsOf } from "circlet/panels";
import { byClass, regionsIn } from "circlet/pictures";

const NUMBERED = 20; // classes up to which one is drawn as its number
const [MOVING, RESTING] = [60, 128]; // numbers up to which imperfections are counted, p^4 couples

/**
 * Of pair sums in the plane: the number of each's class, or a dot of its colour, over regions, if
 * there are some; the `bad` are marked.
 */
function sumsIn(xy, { p, target }, bad, regions) {
  const isNumbered = p <= NUMBERED;
  const marked = [];
  bad?.forEach((is, i) => is && marked.push(xy[2 * i], xy[2 * i + 1]));
  const marks = { xy: marked, colour: colour("picked"), size: 15 };
  const isInk = isNumbered && (regions || bad); // to be read on any background
  const colours = isInk ? () => colour("ink") : classColours(p);
  const size = isNumbered ? 9 : p > CROWDED ? 3.5 : 6;
  const groups = byClass(p, target, xy, target, colours, size);
  if (isNumbered) return { dots: [marks], texts: groups, regions };
  return { dots: [marks, ...groups], regions };
}

/** Rings around all pair sums with the answer of a pair [a, b], its own a larger one. */
function sameAnswer(xy, { p, first, second, target }, pair) {
  const groups = [13, 22].map((size) => ({ xy: [], size }));
  if (!pair) return groups;
  const [low, high] = [Math.min(...pair), Math.max(...pair)];
  target.forEach((c, i) => {
    if (c !== (low + high) % p) return;
    const isPair = first[i] === low && second[i] === high;
    groups[Number(isPair)].xy.push(xy[2 * i], xy[2 * i + 1]);
  });
  return groups;
}

/**
 * Norm ratio of an embedding in the plane, and of every pair whether it is an imperfection; none
 * in other dimensions. Imperfections of many numbers are counted only at rest, or not at all.
 */
function structure(/** @type {Scene} */ scene, step, atRest) {
  const { embedding } = scene.arrays;
  if (!embedding || scene.d !== 2) return null;
  const byStep = scene.once("structures", () => new Map());
  const logged = embedding.logged(step);
  if (byStep.get(logged)?.marked) return byStep.get(logged);
  const places = Float64Array.from(embedding.at(step));
  if (!places.every(Number.isFinite)) return null;
  const isCounted = scene.p <= (atRest ? RESTING : MOVING);
  const marked = isCounted ? imperfect(places, pairsOf(scene.p)) : null;
  byStep.set(logged, { step: logged, ratio: normRatio(places), marked });
  return byStep.get(logged);
}

const pairsIn = (/** @type {Scene} */ scene) => scene.once("pairs", () => pairsOf(scene.p));

const places = (/** @type {Scene} */ scene, step) =>
  sumsOf(scene.inPlane(scene.arrays.embedding.at(step)), pairsIn(scene));

/** What the marks are, or why there are none. */
function noteOf(/** @type {Scene} */ scene, step) {
  if (!scene.isWhole)
    return scene.d === 2 ? "marks and regions are shown only for both dimensions" : "";
  const lacks = scene.arrays["hidden.weight"] && !scene.weights(step);
  const marks =
    structure(scene, step, false)?.marked && "marked: the nearest other sum has another answer";
  return [marks, lacks && "classifier not logged at this step"].filter(Boolean).join("; ");
}

/** The panel of the pair sums of a run. @type {MakePanel} */
export function sumsPanel(holder) {
  const plane = new Plane(holder);
  let drawn; // places of the sums
  return {
    source: "embedding",
    picture: plane,
    note: noteOf,
    draw(scene, step, atRest) {
      const box = scene.box("sums", (at) => [places(scene, at)], step);
      const bad = scene.isWhole ? structure(scene, step, atRest)?.marked : undefined;
      const regions = regionsIn(scene, step, box, atRest, classesAt, scene.p);
      drawn = places(scene, step);
      const shown = sumsIn(drawn, pairsIn(scene), bad, regions);
      plane.draw({ ...scene.axes, box, ...shown });
    },
    light: (scene, step, pair) => plane.ring(sameAnswer(drawn, pairsIn(scene), pair)),
    reading(scene, step, atRest) {
      const values = structure(scene, step, atRest);
      if (!values) return null;
      const { ratio, marked } = values;
      const bad = marked?.filter(Boolean).length;
      const count = marked ? `, imperfections ${bad} of ${marked.length}` : "";
      return { step: values.step, words: `norm ratio ${ratioText(ratio)}${count}` };
    },
    table(scene, step) {
      const { first, second, target } = pairsIn(scene);
      const pair = (n) => [first[n], second[n], target[n]];
      return [["a", "b", "class", "x", "y"], rowsOf(places(scene, step), 2, pair)];
    },
  };
}
