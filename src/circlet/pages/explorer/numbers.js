// Small arithmetic that all parts of the page use.

/**
 * What `of` makes of 0, 1, ... below a count; without it these numbers.
 * @type {<T = number>(count: number, of?: (i: number) => T) => T[]}
 */
export const range = (count, of = /** @type {any} */ ((i) => i)) =>
  Array.from({ length: count }, (_, i) => of(i));

/** @type {(values: Iterable<number>) => number} */
export const sum = (values) => Array.from(values).reduce((total, value) => total + value, 0);

/** Items by what `key` gives of each, in their order. @type {<T, K>(items: T[], key: (item: T) => K) => Map<K, T[]>} */
export function grouped(items, key) {
  const groups = new Map();
  for (const item of items) {
    if (!groups.has(key(item))) groups.set(key(item), []);
    groups.get(key(item)).push(item);
  }
  return groups;
}

/** Uniform random numbers from a seed: mulberry32, enough for starts and examples. */
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A standard normal number, of uniform ones. */
export const normal = (random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
