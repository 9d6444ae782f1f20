// What the page holds: packed texts, and the arrays of runs (written by __init__.py).

/** The text of an element, once all of it is there: the page may still be on its way. */
export function arrived(id) {
  return new Promise((resolve) => {
    const look = () => {
      const node = document.getElementById(id);
      if (!node || (!node.nextSibling && document.readyState === "loading")) return;
      watcher.disconnect();
      document.removeEventListener("DOMContentLoaded", look);
      resolve(node.textContent);
    };
    const watcher = new MutationObserver(look);
    watcher.observe(document.body, { childList: true });
    document.addEventListener("DOMContentLoaded", look);
    look();
  });
}

/** What a packed text, base64 of gzip, holds: its `text()`, or its `arrayBuffer()`. */
export function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream);
}

const NAN = -32768; // code of a value that is not finite

/** The values of an array of a chunk, at all of its steps. */
function valuesOf({ steps, size, at, rounded }, buffer) {
  const count = steps.length * size;
  if (!rounded) return new Float32Array(buffer, at, count);
  const scale = new Float32Array(buffer, at, steps.length);
  const whole = new Int16Array(buffer, at + 4 * steps.length, count);
  const values = new Float32Array(count);
  scale.forEach((unit, step) => {
    for (let i = step * size; i < (step + 1) * size; i++) {
      values[i] = whole[i] === NAN ? NaN : whole[i] * unit;
    }
  });
  return values;
}

/** An array of a run at its logged steps. */
export class Series {
  /** shape: of its values at a step; values: step by step. @param {number[]} steps @param {number[]} shape @param {Matrix} values */
  constructor(steps, shape, values) {
    this.steps = steps;
    this.shape = shape;
    this.values = values;
    this.size = values.length / steps.length;
  }

  /** Its values at the last logged step that is not after `step`. */
  at(step) {
    return this.frame(this.place(step));
  }

  /** That logged step. */
  logged(step) {
    return this.steps[this.place(step)];
  }

  place(step) {
    const last = this.steps.findLastIndex((other) => other <= step);
    return Math.max(0, last);
  }

  /** Its values at the i-th logged step; the last if none is named. */
  frame(i = this.steps.length - 1) {
    return this.values.subarray(i * this.size, (i + 1) * this.size);
  }
}

/** Arrays of runs, by run and name, of their chunk. */
export function arraysOf(/** @type {ArrayBuffer} */ chunk) {
  const length = new DataView(chunk).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(chunk.slice(4, 4 + length)));
  const buffer = chunk.slice(4 + length);
  const byRun = new Map();
  for (const array of header.arrays) {
    if (!byRun.has(array.run)) byRun.set(array.run, {});
    const { name, run, shape, steps } = array;
    byRun.get(run)[name] = new Series(steps, shape, valuesOf(array, buffer));
  }
  return byRun;
}

const unpacked = new Map(); // promises of arrays, by the name of their data

/** The arrays of a run of the page, when they have arrived; they are unpacked once. */
export async function packedAt(/** @type {Point} */ { place }, /** @type {Run} */ run) {
  if (run.shown === "outcome") return {};
  const name = run.shown === "training" ? `chunk-${place}-${run.seed}` : `chunk-${place}`;
  const read = async () => arraysOf(await unpack(await arrived(name)).arrayBuffer());
  if (!unpacked.has(name)) unpacked.set(name, read());
  return (await unpacked.get(name)).get(run.run_id);
}
