// The live particles: picture, readings, dragging. The equations are in particles.js.
import { byId } from "circlet/controls";
import { Plane, theme } from "circlet/draw";
import { progression, shortestStep } from "circlet/geometry";
import { live } from "circlet/live";
import { forces, pairsOf, start, step, sumsOf, weightOf } from "circlet/musat/particles";
import { imperfect, readShape } from "circlet/musat/shape";

const VIEW = 2.5; // of the plane, in standard deviations each way
const REACH = 0.3; // of the longest arrow, likewise
const MOVE = 0.05; // by a key, likewise
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** An arrow from a place: a line there, and back over its head. */
function arrow(x, y, dx, dy) {
  const [along, across] = [0.25, 0.12];
  const wing = (side) => [
    x + (1 - along) * dx + side * across * dy,
    y + (1 - along) * dy - side * across * dx,
  ];
  return [x, y, x + dx, y + dy, ...wing(1), x + dx, y + dy, ...wing(-1)];
}

/** Set the simulation up, with parameters as in a study. */
export function simulate(defaults) {
  const plane = new Plane(byId("particles-picture"));
  const isChecked = (name) => byId(`particles-${name}`).checked;
  const { std } = defaults;
  let pairs, weight, positions, dragged, picked;

  function begin({ p, seed }) {
    pairs = pairsOf(p);
    weight = weightOf(pairs);
    positions = start(p, seed, std);
    picked = 0;
    dragged = false;
  }

  function advance(settings) {
    const held = dragged && positions.slice(2 * picked, 2 * picked + 2);
    step(positions, pairs, settings, weight);
    if (held) positions.set(held, 2 * picked);
  }

  /** The means of all pairs: those marked as imperfect, and the others. */
  function means(bad) {
    const { colour } = theme();
    const groups = [
      { xy: [], colour: colour("quiet"), size: 3 },
      { xy: [], colour: colour("bad"), size: 5, cross: true },
    ];
    const sums = sumsOf(positions, pairs);
    bad.forEach((is, i) => {
      const group = groups[Number(is && isChecked("imperfect"))];
      group.xy.push(sums[2 * i] / 2, sums[2 * i + 1] / 2);
    });
    return groups;
  }

  function arrows(settings) {
    const total = forces(positions, pairs, settings, weight);
    const every = Array.from({ length: pairs.p }, (_, a) => [2 * a, 2 * a + 1]);
    const longest = Math.max(...every.map(([x, y]) => Math.hypot(total[x], total[y])), 1e-12);
    const unit = (REACH * std) / longest;
    return every.map(([x, y]) =>
      arrow(positions[x], positions[y], unit * total[x], unit * total[y]),
    );
  }

  function show(settings) {
    const { colour } = theme();
    const bad = imperfect(positions, pairs);
    const edge = VIEW * std;
    const one = positions.slice(2 * picked, 2 * picked + 2);
    plane.draw({
      xLabel: "dimension 1",
      yLabel: "dimension 2",
      box: [-edge, edge, -edge, edge],
      lines: progression(positions, shortestStep(positions)),
      arrows: isChecked("arrows") ? arrows(settings) : [],
      dots: [
        ...(isChecked("means") ? means(bad) : []),
        { xy: positions, colour: colour("paper"), size: 13 },
        { xy: one, colour: colour("picked"), size: 13 },
      ],
      texts: [
        { xy: positions, words: [...Array(pairs.p).keys()], colour: colour("ink"), size: 10 },
      ],
    });
    readShape("particles", positions, bad);
  }

  const { player, draw } = live(
    "particles",
    { ...defaults },
    {
      begin,
      step: advance,
      show,
      files: () => ({
        picture: plane,
        table: () => [
          ["particle", "x", "y"],
          Array.from({ length: pairs.p }, (_, a) => [a, ...positions.slice(2 * a, 2 * a + 2)]),
        ],
      }),
    },
  );

  const stage = byId("particles-picture");
  Object.assign(stage, {
    tabIndex: 0,
    role: "application",
    ariaLabel: "The particles in the plane",
  });
  stage.setAttribute("aria-describedby", "particles-help particles-reading");
  function move(x, y) {
    positions.set([x, y], 2 * picked);
    draw();
  }

  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = plane.pointed(event);
    const away = (a) => Math.hypot(positions[2 * a] - x, positions[2 * a + 1] - y);
    for (let a = 0; a < pairs.p; a++) if (away(a) < away(picked)) picked = a;
    dragged = true;
    stage.setPointerCapture(event.pointerId);
    move(x, y);
  });
  stage.addEventListener("pointermove", (event) => {
    if (dragged) move(...plane.pointed(event));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    stage.addEventListener(end, () => (dragged = false));
  }
  stage.addEventListener("keydown", (event) => {
    if (event.key in ARROWS) {
      const [dx, dy] = ARROWS[event.key].map((way) => MOVE * std * way);
      move(positions[2 * picked] + dx, positions[2 * picked + 1] + dy);
    } else if (event.key.toLowerCase() === "n") {
      picked = (picked + (event.shiftKey ? pairs.p - 1 : 1)) % pairs.p;
      draw();
    } else if (event.key === " ") player.play(!player.playing);
    else return;
    event.preventDefault();
  });
}
