// Pair sums on the regions of the classifier, and which of them are imperfect.
import { classColour, Plane, theme } from "circlet/draw";
import { gridIn } from "circlet/geometry";
import { classesAt } from "circlet/musat/network";
import { pairsOf, sumsOf } from "circlet/musat/particles";
import { imperfect, normRatio, ratioText } from "circlet/musat/shape";
import { absent, gridSide, NUMBERED, rowsOf } from "circlet/panels";
import { byClass, CROWDED } from "circlet/pictures";

const [MOVING, RESTING] = [60, 128]; // numbers up to which imperfections are counted, p^4 couples

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

/** Rings around all pair sums with the answer of a pair [a, b], its own a larger one. */
export function sameAnswer(xy, { p, first, second, target }, pair) {
  const groups = [
    { xy: [], size: 13 },
    { xy: [], size: 22 },
  ];
  if (!pair) return groups;
  const [low, high] = [Math.min(...pair), Math.max(...pair)];
  target.forEach((c, i) => {
    if (c !== (low + high) % p) return;
    const isOwn = first[i] === low && second[i] === high;
    groups[Number(isOwn)].xy.push(xy[2 * i], xy[2 * i + 1]);
  });
  return groups;
}

/**
 * Norm ratio of an embedding in the plane, and of every pair whether it is an imperfection; none
 * in other dimensions. Of many numbers imperfections are counted at rest alone, or not at all.
 */
function structure(scene, step, atRest) {
  const { embedding } = scene.arrays;
  if (!embedding || scene.d !== 2) return null;
  const known = scene.once("structures", () => new Map());
  const logged = embedding.logged(step);
  if (known.get(logged)?.marked) return known.get(logged);
  const places = Float64Array.from(embedding.at(step));
  if (!places.every(Number.isFinite)) return null;
  const counted = scene.p <= (atRest ? RESTING : MOVING);
  const marked = counted ? imperfect(places, pairsOf(scene.p)) : null;
  known.set(logged, { step: logged, ratio: normRatio(places), marked });
  return known.get(logged);
}

/** The panel of the pair sums of a run. */
export function sumsPanel(holder) {
  const plane = new Plane(holder);
  let drawn; // places of the sums
  const pairsIn = (scene) => scene.once("pairs", () => pairsOf(scene.p));
  const places = (scene, step) =>
    sumsOf(scene.inPlane(scene.arrays.embedding.at(step)), pairsIn(scene));
  return {
    source: "embedding",
    picture: plane,
    numbered: true,
    missing: (scene) => (scene.arrays.embedding ? "" : absent(scene)),
    note(scene, step) {
      const lacks = scene.isWhole && scene.arrays["hidden.weight"] && !scene.weights(step);
      const marks = scene.isWhole && structure(scene, step)?.marked;
      const parts = [];
      if (scene.d === 2 && !scene.isWhole) parts.push("marks and regions: only of both dimensions");
      if (marks) parts.push("marked: nearest is of another class");
      if (lacks) parts.push("classifier not logged here");
      return parts.join("; ");
    },
    draw(scene, step, atRest) {
      const now = theme();
      const box = scene.box("sums", (at) => [places(scene, at)], step);
      const bad = scene.isWhole ? structure(scene, step, atRest)?.marked : null;
      const weights = scene.isWhole ? scene.weights(step) : null;
      const side = gridSide(atRest);
      const regions = weights && {
        side,
        classes: classesAt(weights, 2, scene.fromPlane(gridIn(box, side))),
      };
      const isNumbered = scene.view.numbers && scene.p <= NUMBERED;
      drawn = places(scene, step);
      const shown = sumsIn(drawn, pairsIn(scene), bad, isNumbered, regions, now);
      plane.draw({ ...scene.axes, box, ...shown });
    },
    light: (scene, step, pair) => plane.ring(sameAnswer(drawn, pairsIn(scene), pair)),
    reading(scene, step, atRest) {
      const found = structure(scene, step, atRest);
      if (!found) return null;
      const { ratio, marked } = found;
      const count =
        marked && `, imperfections ${marked.filter(Boolean).length} of ${marked.length}`;
      return { step: found.step, words: `norm ratio ${ratioText(ratio)}${count ?? ""}` };
    },
    table(scene, step) {
      const { first, second, target } = pairsIn(scene);
      const pairs = target.map((c, i) => [first[i], second[i], c]);
      return [["a", "b", "class", "x", "y"], rowsOf(places(scene, step), 2, pairs)];
    },
  };
}
