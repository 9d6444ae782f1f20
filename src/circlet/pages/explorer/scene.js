// What is looked at: a run with its arrays, and the plane in which it is seen.
import { COMPONENTS } from "circlet/address";
import * as geometry from "circlet/geometry";

const BOX_FRAMES = 25; // steps that decide the box of a picture
const MOST = 6; // principal components to choose from
const BESIDE = ["embedding", "signals", "curves"]; // arrays with logs of their own

/** The steps of some arrays, in their order. */
function stepsOf(arrays) {
  return [...new Set(arrays.flatMap(({ steps }) => steps))].sort((a, b) => a - b);
}

export class Scene {
  /** @param {Point} point @param {Run} run @param {System} system @param {Arrays} logged @param {View} view */
  constructor(point, run, system, logged, view) {
    const { trained, ...arrays } = logged;
    const { signals, curves, ...states } = arrays;
    this.point = point;
    this.run = run;
    this.system = system;
    this.view = view;
    this.arrays = arrays;
    this.trained = trained?.frame(); // of every pair, whether it is trained on; not if that is unknown
    this.logs = stepsOf(Object.values(arrays)); // of all arrays
    // The pictures move with the embedding and the weights: other steps would show no other frame.
    const frames = stepsOf(Object.values(states));
    this.steps = frames.length > 2 ? frames : this.logs;
    if (!this.steps.length) this.steps = [point.steps];
    // Of the embedding; what only its outcome is shown of may say so in its parameters.
    const { p, d } = point.parameters;
    const [tokens, dimensions] = states.embedding?.shape ?? [p ?? 0, d ?? 0];
    this.tokens = tokens;
    this.d = dimensions;
    this.p = p ?? this.tokens;
    // Its tokens have frequencies if they are the numbers modulo p.
    this.isCyclic = system.signals && this.p === this.tokens;
    this.frequencies = this.isCyclic ? Math.floor((this.tokens - 1) / 2) : 0;
    this.main = undefined; // mean and principal axes of the embedding as it is logged last
    this.made = new Map();
  }

  /** Frequency of the largest signal at the end; 0 if none is logged. */
  get strongest() {
    const last = this.arrays.signals?.frame();
    return last ? last.indexOf(Math.max(...last)) + 1 : 0;
  }

  /** Principal axes of the embedding as it is logged last: { along, share }; of few or one, none. */
  get components() {
    const last = this.arrays.embedding?.frame();
    this.main ??= last ? geometry.principal(last, this.d, MOST) : { axes: [] };
    return this.main.axes;
  }

  /** Look again, after the plane was changed: what depends on it is computed anew. */
  see() {
    this.made = new Map();
  }

  /** See it as another, in the plane of its own. */
  seeAs(view) {
    const { plane, x, y } = this.view;
    Object.assign(this.view, view, { plane, x, y });
    this.see();
  }

  /** What `make` makes, once for a run and a plane; `name` is unlike others of its panels. */
  once(name, make) {
    if (!this.made.has(name)) this.made.set(name, make());
    return this.made.get(name);
  }

  /** The place of the step that is nearest to one. */
  nearest(step) {
    const away = this.steps.map((other) => Math.abs(other - step));
    return away.indexOf(Math.min(...away));
  }

  /** The logged step at which an array is shown at some step. */
  logged(name, step) {
    return this.arrays[name]?.logged(step);
  }

  /** The network of the embedding that is shown at a step; none if it is not logged as often. */
  weights(step) {
    const entries = Object.entries(this.arrays);
    const others = entries.filter(([name]) => !BESIDE.includes(name));
    const now = this.logged("embedding", step);
    if (!others.length || others.some(([, series]) => series.logged(step) !== now)) return null;
    return Object.fromEntries(entries.map(([name, series]) => [name, series.at(step)]));
  }

  /** Whether what is seen are the two dimensions that there are. */
  get isWhole() {
    return this.d === 2 && !this.view.plane && this.view.x !== this.view.y;
  }

  /** Rows of length d in the plane: [x_0, y_0, x_1, y_1, ...]. */
  inPlane(matrix) {
    const { d } = this;
    const { plane, x, y } = this.view;
    if (plane > 0) return geometry.along(matrix, d, geometry.frequencyPlane(matrix, d, plane));
    if (plane === COMPONENTS) {
      const directions = [x, y].map((n) => this.components[n].along);
      return geometry.along(matrix, d, directions, this.main.mean);
    }
    return geometry.along(matrix, d, [geometry.unit(d, x), geometry.unit(d, y)]);
  }

  /** Points of the plane as rows of length 2 of the space. */
  fromPlane(points) {
    const swapped = [geometry.unit(2, 1), geometry.unit(2, 0)];
    return this.view.x === 0 ? points : geometry.along(points, 2, swapped);
  }

  get axes() {
    const { plane, x, y } = this.view;
    if (plane > 0) return { xLabel: `along Re F${plane}`, yLabel: `along Im F${plane}` };
    if (plane === COMPONENTS) {
      const label = (n) =>
        `component ${n + 1}: ${Math.round(100 * this.components[n].share)} % of the final variance`;
      return { xLabel: label(x), yLabel: label(y) };
    }
    return { xLabel: `dimension ${x + 1}`, yLabel: y < this.d ? `dimension ${y + 1}` : "" };
  }

  /** The plane in names of files. */
  get planeName() {
    const { plane, x, y } = this.view;
    if (plane > 0) return `frequency_${plane}`;
    return `${plane === COMPONENTS ? "components" : "dimensions"}_${x + 1}_${y + 1}`;
  }

  /** Some steps of the embedding's training, for what holds of all. */
  get some() {
    const { steps } = this.arrays.embedding ?? this;
    const interval = Math.max(1, Math.floor(steps.length / BOX_FRAMES));
    return steps.filter((_, i) => i % interval === 0 || i === steps.length - 1);
  }

  /**
   * The box of a picture, of places in the plane: lists of them by step, as `placesAt` has them. It
   * holds the whole training, or what is there at this step.
   */
  box(name, placesAt, step, centred = true) {
    if (this.view.fit) return geometry.boxAround(placesAt(step), centred);
    const whole = () => geometry.boxAround(this.some.flatMap(placesAt), centred);
    return this.once(`box of ${name}`, whole);
  }
}
