// The live particles: picture, readings, dragging. The equations are in particles.js.
import { colour } from "circlet/colours";
import { byId } from "circlet/controls";
import { Plane } from "circlet/draw";
import { progression, shortestStep } from "circlet/geometry";
import { live } from "circlet/live";
import { pairsOf, start, step, sumsOf, weightOf } from "circlet/musat/particles";
import { imperfect, readShape } from "circlet/musat/shape";
import { range } from "circlet/numbers";
import { rowsOf } from "circlet/panels";

const VIEW = 2.5; // of the plane, in standard deviations each way
const MOVE = 0.05; // by a key, likewise
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** The place of particle a. */
const placeOf = (positions, a) => positions.slice(2 * a, 2 * a + 2);

/** The means of all pairs: those marked as imperfect, and the others. */
function means({ pairs, positions }, bad) {
  const groups = [
    { xy: [], colour: colour("quiet"), size: 3 },
    { xy: [], colour: colour("bad"), size: 5, isCross: true },
  ];
  const sums = sumsOf(positions, pairs);
  bad.forEach((is, i) => groups[Number(is)].xy.push(sums[2 * i] / 2, sums[2 * i + 1] / 2));
  return groups;
}

/** Draw the particles, and read off their shape. */
function show(plane, now, settings) {
  const { pairs, positions, picked } = now;
  const bad = imperfect(positions, pairs);
  const edge = VIEW * settings.std;
  const lines = progression(positions, shortestStep(positions));
  plane.draw({
    xLabel: "dimension 1",
    yLabel: "dimension 2",
    box: [-edge, edge, -edge, edge],
    curves: [{ lines, colour: colour("line"), width: 1.1 }],
    dots: [
      ...means(now, bad),
      { xy: positions, colour: colour("paper"), size: 13 },
      { xy: placeOf(positions, picked), colour: colour("picked"), size: 13 },
    ],
    texts: [{ xy: positions, words: range(pairs.p), colour: colour("ink"), size: 10 }],
  });
  readShape("particles", positions, bad);
}

/** Set the simulation up, with parameters as in a study. */
export function simulate(defaults) {
  const stage = byId("particles-picture");
  const plane = new Plane(stage);
  const now = {}; // pairs and their weight; positions; the particle that is picked, and whether it is dragged
  const { player, draw } = live("particles", defaults, {
    begin({ p, seed, std }) {
      const pairs = pairsOf(p);
      const weight = weightOf(pairs);
      Object.assign(now, { pairs, weight, positions: start(p, seed, std) });
      Object.assign(now, { picked: 0, isDragged: false });
    },
    step(settings) {
      const place = placeOf(now.positions, now.picked);
      step(now.positions, now.pairs, settings, now.weight);
      if (now.isDragged) now.positions.set(place, 2 * now.picked);
    },
    show: (settings) => show(plane, now, settings),
    files: () => ({
      picture: plane,
      table: () => [["particle", "x", "y"], rowsOf(now.positions, 2)],
    }),
  });
  const move = (place) => {
    now.positions.set(place, 2 * now.picked);
    draw();
  };
  const ariaLabel = "The particles in the plane";
  Object.assign(stage, { tabIndex: 0, role: "application", ariaLabel });
  stage.setAttribute("aria-describedby", "particles-help particles-reading");
  wirePointer(stage, plane, now, move);
  stage.addEventListener("keydown", (event) => {
    const { pairs, picked, positions } = now;
    if (event.key in ARROWS) {
      const way = ARROWS[event.key].map((by) => MOVE * defaults.std * by);
      move(placeOf(positions, picked).map((value, axis) => value + way[axis]));
    } else if (event.key.toLowerCase() === "n") {
      now.picked = (picked + (event.shiftKey ? pairs.p - 1 : 1)) % pairs.p;
      draw();
    } else if (event.key === " ") player.play(!player.playing);
    else return;
    event.preventDefault();
  });
}

/** Let the particle that is nearest to the pointer be dragged. */
function wirePointer(stage, plane, now, move) {
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = plane.pointed(event);
    const away = range(now.pairs.p, (a) => {
      const [u, v] = placeOf(now.positions, a);
      return Math.hypot(u - x, v - y);
    });
    now.picked = away.indexOf(Math.min(...away));
    now.isDragged = true;
    stage.setPointerCapture(event.pointerId);
    move([x, y]);
  });
  stage.addEventListener("pointermove", (event) => {
    if (now.isDragged) move(plane.pointed(event));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    stage.addEventListener(end, () => (now.isDragged = false));
  }
}
