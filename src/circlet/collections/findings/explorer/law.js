// Laws of the signals that all runs share: the equations of shared_laws.py in double precision. A
// test compares what both make of the same signals.
import { range, sum } from "circlet/numbers";

/** Terms that may act on a frequency: its signal s, the mean m of all signals, the mean q of their squares. */
const TERMS = {
  s: (s) => s,
  m: (s, m) => m,
  "q/m": (s, m, q) => q / m,
  "s^2/m": (s, m) => s ** 2 / m,
  "s q/m^2": (s, m, q) => (s * q) / m ** 2,
  "s^3/m^2": (s, m) => s ** 3 / m ** 2,
  1: () => 1,
  "s/m": (s, m) => s / m,
  "q/m^2": (s, m, q) => q / m ** 2,
  "s^2": (s) => s ** 2,
  "s m": (s, m) => s * m,
  "m^2": (s, m) => m ** 2,
  q: (s, m, q) => q,
};

/** The place of frequency k r mod p, up to sign, of all k and r of n frequencies. */
function products(n) {
  const p = 2 * n + 1;
  const place = (product) => Math.min(product % p, p - (product % p)) - 1;
  return range(n, (k) => range(n, (r) => place((k + 1) * (r + 1))));
}

/** What changes signals in a step, by the coefficients of a law, its terms by name. */
function changeBy(coefficients, n) {
  if ("r=1" in coefficients) return changeByRatios(coefficients, n);
  const entries = Object.entries(coefficients);
  return (signals) => {
    const m = sum(signals) / n;
    const q = sum(signals.map((s) => s ** 2)) / n;
    return signals.map((s) => sum(entries.map(([name, c]) => c * TERMS[name](s, m, q))));
  };
}

/** Of a law whose terms are the ratios r of frequencies: k / r is what changes frequency k by it. */
function changeByRatios(coefficients, n) {
  // Where j r = k, frequency j has the ratio r to k.
  const terms = range(n, () => new Float64Array(n));
  products(n).forEach((row, j) =>
    row.forEach((k, r) => (terms[k][j] = coefficients[`r=${r + 1}`])),
  );
  return (signals) =>
    signals.map((_, k) => coefficients["1"] + sum(terms[k].map((c, j) => c * signals[j])));
}

/**
 * Signals from a step on, by the law of each window, to the end of the last: a list of those of
 * `first`, first + 1, ...
 */
export function rollout(windows, signals, first) {
  let s = Float64Array.from(signals);
  const path = [s];
  for (const window of windows) {
    const change = changeBy(window.coefficients, s.length);
    for (let step = Math.max(window.first, first); step < window.last; step++) {
      const by = change(s);
      s = s.map((value, k) => value + by[k]);
      path.push(s);
    }
  }
  return path;
}

/** Which frequencies have more than twice the mean over all p, without k = 0. */
export function survivors(signals) {
  const least = (4 * sum(signals)) / (2 * signals.length + 1);
  return range(signals.length, (i) => i + 1).filter((k) => signals[k - 1] > least);
}
