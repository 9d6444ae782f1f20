// The live simulation: controls, canvas, readings. The equations are in particles.js.
import { byId, isCircle, Player, ratioText } from "circlet/controls";
import { saveTable } from "circlet/draw";
import {
  forces,
  imperfect,
  normRatio,
  pairsOf,
  start,
  step,
  sumsOf,
  weightOf,
} from "circlet/particles";

const VIEW = 2.5; // of the plane, in standard deviations each way

/** Set the simulation up, with parameters as in a study. */
export function simulate(defaults) {
  const canvas = byId("stage");
  const pen = canvas.getContext("2d");
  const settings = { ...defaults };
  let pairs, weight, positions, steps, dragged, picked;

  /** What the controls say; a field that is empty or out of range keeps its last value. */
  function read() {
    for (const name of ["p", "f_a", "g_a", "g_r", "step_size", "seed"]) {
      const field = byId(name);
      if (field.checkValidity() && field.value !== "") settings[name] = Number(field.value);
    }
    settings.per_frame = Number(byId("per_frame").value);
  }

  function restart() {
    read();
    pairs = pairsOf(settings.p);
    weight = weightOf(pairs);
    positions = start(settings.p, settings.seed, settings.std);
    steps = 0;
    picked = 0;
    show();
  }

  function advance(times) {
    for (let i = 0; i < times; i++) {
      const held =
        dragged === undefined ? null : [positions[2 * dragged], positions[2 * dragged + 1]];
      step(positions, pairs, settings, weight);
      if (held) [positions[2 * dragged], positions[2 * dragged + 1]] = held;
      steps++;
    }
  }

  /** Pixels of a point of the plane. */
  function place(x, y) {
    const unit = canvas.width / (2 * VIEW * settings.std);
    return [canvas.width / 2 + x * unit, canvas.height / 2 - y * unit];
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    return (name) => style.getPropertyValue(name).trim();
  }

  function arrow([x, y], [dx, dy], size) {
    const length = Math.hypot(dx, dy);
    if (length < size) return;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + dx, y + dy);
    const angle = Math.atan2(dy, dx);
    for (const side of [-0.5, 0.5]) {
      pen.moveTo(x + dx, y + dy);
      pen.lineTo(x + dx - size * Math.cos(angle + side), y + dy - size * Math.sin(angle + side));
    }
    pen.stroke();
  }

  function draw() {
    const colour = colours();
    const text = Math.max(canvas.width / 38, 11 * devicePixelRatio);
    const dot = 0.38 * text;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.lineWidth = canvas.width / 500;
    const bad = imperfect(positions, pairs);
    if (byId("sums-shown").checked) {
      const sums = sumsOf(positions, pairs);
      for (let i = 0; i < bad.length; i++) {
        const [x, y] = place(sums[2 * i] / 2, sums[2 * i + 1] / 2);
        if (bad[i] && byId("imperfect").checked) {
          pen.strokeStyle = colour("--bad");
          pen.beginPath();
          for (const side of [-1, 1]) {
            pen.moveTo(x - dot / 2, y - (side * dot) / 2);
            pen.lineTo(x + dot / 2, y + (side * dot) / 2);
          }
          pen.stroke();
        } else {
          pen.fillStyle = colour("--quiet");
          pen.beginPath();
          pen.arc(x, y, dot / 3, 0, 2 * Math.PI);
          pen.fill();
        }
      }
    }
    pen.strokeStyle = colour("--line");
    pen.beginPath();
    for (let a = 0; a <= settings.p; a++) {
      const i = 2 * (a % settings.p);
      pen.lineTo(...place(positions[i], positions[i + 1]));
    }
    pen.stroke();
    if (byId("arrows").checked) {
      const total = forces(positions, pairs, settings, weight);
      const largest = Math.max(...total.map(Math.abs), 1e-12);
      pen.strokeStyle = colour("--force");
      for (let a = 0; a < settings.p; a++) {
        const reach = canvas.width / 8 / largest;
        const along = [total[2 * a] * reach, -total[2 * a + 1] * reach];
        arrow(place(positions[2 * a], positions[2 * a + 1]), along, dot);
      }
    }
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.font = `${text}px system-ui, sans-serif`;
    for (let a = 0; a < settings.p; a++) {
      const [x, y] = place(positions[2 * a], positions[2 * a + 1]);
      pen.beginPath();
      pen.arc(x, y, 1.9 * dot, 0, 2 * Math.PI);
      pen.fillStyle = colour(a === picked ? "--picked" : "--paper");
      pen.fill();
      pen.strokeStyle = colour("--ink");
      pen.stroke();
      pen.fillStyle = colour("--ink");
      pen.fillText(a, x, y);
    }
    return bad.filter(Boolean).length;
  }

  function show() {
    const imperfections = draw();
    const ratio = normRatio(positions);
    byId("steps").textContent = steps;
    byId("ratio").textContent = ratioText(ratio);
    byId("shape").textContent = isCircle(ratio) ? "a circle" : "no circle";
    byId("imperfections").textContent = `${imperfections} of ${pairs.target.length}`;
  }

  function pointed(event) {
    const box = canvas.getBoundingClientRect();
    const unit = (2 * VIEW * settings.std) / box.width;
    return [
      (event.clientX - box.left - box.width / 2) * unit,
      -(event.clientY - box.top - box.height / 2) * unit,
    ];
  }

  function move(a, x, y) {
    positions[2 * a] = x;
    positions[2 * a + 1] = y;
    show();
  }

  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = pointed(event);
    let nearest = Infinity;
    for (let a = 0; a < settings.p; a++) {
      const away = Math.hypot(positions[2 * a] - x, positions[2 * a + 1] - y);
      if (away < nearest) [nearest, picked] = [away, a];
    }
    dragged = picked;
    canvas.setPointerCapture(event.pointerId);
    move(picked, x, y);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged !== undefined) move(dragged, ...pointed(event));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => (dragged = undefined));
  }
  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  canvas.addEventListener("keydown", (event) => {
    if (event.key in ARROWS) {
      const [dx, dy] = ARROWS[event.key].map((way) => 0.05 * settings.std * way);
      move(picked, positions[2 * picked] + dx, positions[2 * picked + 1] + dy);
    } else if (event.key === "n" || event.key === "N") {
      picked = (picked + (event.key === "n" ? 1 : settings.p - 1)) % settings.p;
      show();
    } else if (event.key === " ") player.play(!player.playing);
    else return;
    event.preventDefault();
  });

  const player = new Player(byId("run"), "Start", () => {
    advance(settings.per_frame);
    show();
  });
  byId("step").addEventListener("click", () => {
    player.play(false);
    advance(1);
    show();
  });
  byId("restart").addEventListener("click", restart);
  byId("save").addEventListener("click", () => {
    const rows = Array.from({ length: settings.p }, (_, a) => [
      a,
      positions[2 * a],
      positions[2 * a + 1],
    ]);
    saveTable(`particles_step_${steps}.csv`, ["particle", "x", "y"], rows, 15);
  });
  for (const name of ["p", "seed"]) byId(name).addEventListener("change", restart);
  for (const name of ["f_a", "g_a", "g_r", "step_size", "per_frame"]) {
    byId(name).addEventListener("input", () => {
      read();
      show();
    });
  }
  for (const name of ["sums-shown", "imperfect", "arrows"])
    byId(name).addEventListener("change", show);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

  /** As many pixels as the screen has, so that text is sharp, and legible on a phone. */
  function fit() {
    canvas.width = canvas.height = Math.round(canvas.clientWidth * devicePixelRatio);
  }

  fit();
  restart();
  new ResizeObserver(() => {
    fit();
    show();
  }).observe(canvas);
}
