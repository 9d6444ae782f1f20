// What is looked at: a run with its arrays, and the plane in which it is seen.
import * as geometry from "circlet/geometry";
import { imperfect, normRatio, pairsOf } from "circlet/particles";
import * as transformer from "circlet/transformer";

const BOX_FRAMES = 25; // steps that decide the box of a picture
const [MOVING, RESTING] = [60, 128]; // numbers up to which imperfections are counted, p^4 couples

export class Scene {
  /** point, run: as in the catalogue; arrays: Series by name; law: matrices by method, or none. */
  constructor(point, run, arrays, law, view) {
    Object.assign(this, { point, run, arrays, law, view });
    const every = Object.values(arrays).flatMap((series) => series.steps);
    this.steps = [...new Set(every)].sort((a, b) => a - b);
    if (!this.steps.length) this.steps = [point.steps];
    this.isTransformer = point.system === "sparse_transformer";
    this.p = point.parameters.p;
    this.d = point.parameters.d;
    this.structures = new Map();
    if (this.isTransformer) this.probes = transformer.probes(point.parameters);
    else this.pairs = pairsOf(this.p);
    this.see();
  }

  /** The frequencies that an embedding has. */
  get frequencies() {
    return this.isTransformer ? 0 : Math.floor((this.p - 1) / 2);
  }

  /** Frequency of the largest signal at the end; 0 if none is logged. */
  get strongest() {
    const last = this.arrays.signals?.frame();
    return last ? last.indexOf(Math.max(...last)) + 1 : 0;
  }

  /** Look again, after the plane was changed: what depends on it is computed anew. */
  see() {
    this.boxes = this.arrays.embedding ? this.findBoxes() : {};
  }

  /** The logged step at which an array is shown at some step. */
  logged(name, step) {
    return this.arrays[name]?.logged(step);
  }

  /** Whether all values of an array are finite at some step: of a run that has diverged, not. */
  isFinite(name, step) {
    return this.arrays[name].at(step).every(Number.isFinite);
  }

  /**
   * How far apart are numbers that are neighbours on a circle, if any: that of the plane's frequency,
   * or of the strongest where the plane is all there is.
   */
  get neighbour() {
    const k = this.view.plane || (this.d === 2 && !this.isTransformer && this.strongest);
    return k ? geometry.delta(k, this.p) : undefined;
  }

  /** The network of the embedding that is shown at a step; none if it is not logged as often. */
  weights(step) {
    const of = "hidden.weight";
    if (!this.arrays[of] || this.logged(of, step) !== this.logged("embedding", step)) return null;
    const entries = Object.entries(this.arrays);
    return Object.fromEntries(entries.map(([name, series]) => [name, series.at(step)]));
  }

  /** Whether what is seen are the two dimensions that there are. */
  get isWhole() {
    return this.d === 2 && !this.view.plane && this.view.x !== this.view.y;
  }

  /** Rows of length d in the plane: [x_0, y_0, x_1, y_1, ...]. */
  inPlane(matrix) {
    const { plane, x, y } = this.view;
    return plane
      ? geometry.frequencyPlane(matrix, this.d, plane)
      : geometry.dimensions(matrix, this.d, x, y);
  }

  /** Points of the plane as rows of length 2 of the space. */
  fromPlane(points) {
    return this.view.x === 0 ? points : geometry.dimensions(points, 2, 1, 0);
  }

  get axes() {
    const { plane, x, y } = this.view;
    if (plane) return { xLabel: `along Re F${plane}`, yLabel: `along Im F${plane}` };
    return { xLabel: `dimension ${x + 1}`, yLabel: y < this.d ? `dimension ${y + 1}` : "" };
  }

  /** The plane in names of files. */
  get planeName() {
    const { plane, x, y } = this.view;
    return plane ? `frequency_${plane}` : `dimensions_${x + 1}_${y + 1}`;
  }

  /** What sequences become at a step: their embeddings xi, and attention. */
  sequences(step) {
    if (this.embedded?.step !== step) {
      // Two panels draw it.
      const made = transformer.embed(this.weights(step), this.d, this.probes.tokens);
      this.embedded = { step, ...made };
    }
    return this.embedded;
  }

  /** Boxes that hold the whole training, of every picture. */
  findBoxes() {
    const { embedding, position } = this.arrays;
    const every = Math.max(1, Math.floor(embedding.steps.length / BOX_FRAMES));
    const last = embedding.steps.length - 1;
    const some = embedding.steps.filter((_, i) => i % every === 0 || i === last);
    const places = some.map((step) => this.inPlane(embedding.at(step)));
    if (!this.isTransformer) {
      const box = geometry.boxAround(places);
      return { embedding: box, sums: box.map((end) => 2 * end) };
    }
    places.push(...some.map((step) => this.inPlane(position.at(step))));
    const seen = some.map((step) => this.sequences(step));
    return {
      embedding: geometry.boxAround(places),
      sequences: geometry.boxAround(
        seen.map(({ xi }) => this.inPlane(xi)),
        false,
      ),
      attention: Math.max(
        ...seen.map(({ attention }) => Math.max(0, ...attention.filter(Number.isFinite))),
      ),
    };
  }

  /** The box of a picture: that of the whole training, or of its places now. */
  box(name, places, centred = true) {
    return this.view.fit ? geometry.boxAround(places, centred) : this.boxes[name];
  }

  /**
   * Norm ratio of an embedding in the plane, and of every pair whether it is an imperfection; none
   * in other dimensions. Of many numbers imperfections are counted at rest alone, or not at all.
   */
  structure(step, atRest) {
    const { embedding } = this.arrays;
    if (!embedding || this.d !== 2 || this.isTransformer) return null;
    const logged = embedding.logged(step);
    const known = this.structures.get(logged);
    if (known?.marked) return known;
    const places = Float64Array.from(embedding.at(step));
    if (!places.every(Number.isFinite)) return null;
    const counted = this.p <= (atRest ? RESTING : MOVING);
    const found = {
      step: logged,
      ratio: normRatio(places),
      marked: counted ? imperfect(places, this.pairs) : null,
    };
    this.structures.set(logged, found);
    return found;
  }
}
