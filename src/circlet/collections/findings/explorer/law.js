// Laws of the signals that all runs share: the equations of shared_laws.py in double precision. A
// test compares what both make of the same signals.

/** What a frequency may feel: its signal s, the mean m of all signals, the mean q of their squares. */
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

/** a to the power of b modulo p. */
function power(a, b, p) {
  let found = 1;
  for (let i = 0; i < b; i++) found = (found * a) % p;
  return found;
}

/** The place of frequency k / r mod p, up to sign, of all k and r of n frequencies; p is prime. */
function ratios(n) {
  const p = 2 * n + 1;
  const frequencies = Array.from({ length: n }, (_, i) => i + 1);
  const inverse = frequencies.map((r) => power(r, p - 2, p));
  return frequencies.map((k) =>
    inverse.map((one) => {
      const ratio = (k * one) % p;
      return Math.min(ratio, p - ratio) - 1;
    }),
  );
}

/** What changes signals in a step, by the coefficients of a law, its terms by name. */
function changeBy(coefficients, n) {
  const entries = Object.entries(coefficients);
  const isOfRatios = entries.some(([name]) => name.startsWith("r="));
  if (!isOfRatios) {
    return (s) => {
      const m = s.reduce((sum, value) => sum + value, 0) / n;
      const q = s.reduce((sum, value) => sum + value ** 2, 0) / n;
      return s.map((own) =>
        entries.reduce((sum, [name, c]) => sum + c * TERMS[name](own, m, q), 0),
      );
    };
  }
  const seen = ratios(n);
  const ofRatio = seen.map((_, i) => coefficients[`r=${i + 1}`]);
  const change = (s, k) =>
    ofRatio.reduce((sum, c, r) => sum + c * s[seen[k][r]], coefficients["1"]);
  return (s) => s.map((_, k) => change(s, k));
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
  const n = signals.length;
  const mean = signals.reduce((sum, value) => sum + value, 0) / n;
  const least = (2 * mean * 2 * n) / (2 * n + 1);
  return [...signals.keys()].filter((k) => signals[k] > least).map((k) => k + 1);
}
