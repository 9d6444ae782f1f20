"""Laws of the signals that all runs share, fitted to many runs and scored on others.

Relabelling the numbers, a -> u a mod p, changes neither the task nor the distribution of embeddings
and splits, and permutes the frequencies. So in a law of all runs the effect of frequency l on k can
depend on k / l mod p alone, up to sign (equivariance). Let x be the signals, s the signal of one
frequency, m their mean, q the mean of their squares and v the change in the last step. The change
in the next step is modelled as a sum of terms:

    unconstrained   sum_l A_kl x_l + b_k              as Ding et al.'s equation 3, of all runs
    equivariant     sum_l a_(k/l) x_l + b
    mean field      some of TERMS, which are functions of s and of moments of all signals
    ... + memory    the same and functions of v

Each law is fitted by least squares, for which sums of products of the terms over a run are enough:
fits, selection, folds and the jackknife add them up.

A mean-field law without memory keeps the order of the signals, because each changes by the same
function of its signal. So the strongest signals at the start are also the strongest at the end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from circlet.analysis import log_frames, spectrum
from circlet.study.plan import Study
from circlet.study.points import Point

Array = np.ndarray
Design = Callable[[Array, Array], Array]

FOLDS = 5
MAX_TERMS = 8  # most terms that a selection tries
MIN_RUNS = 6  # fewest runs of a point


Term = Callable[[Array, Array, Array, Array], Array]
"""A function of s and v, (..., n), m and q, (..., 1)."""

# Terms of mean-field laws. The first six are proportional to the scale of the signals: laws of
# these terms alone are the same at any scale.
TERMS: dict[str, Term] = {
    "s": lambda s, v, m, q: s,
    "m": lambda s, v, m, q: m,
    "q/m": lambda s, v, m, q: q / m,
    "s^2/m": lambda s, v, m, q: s**2 / m,
    "s q/m^2": lambda s, v, m, q: s * q / m**2,
    "s^3/m^2": lambda s, v, m, q: s**3 / m**2,
    "1": lambda s, v, m, q: np.ones_like(s),
    "s/m": lambda s, v, m, q: s / m,
    "q/m^2": lambda s, v, m, q: q / m**2,
    "s^2": lambda s, v, m, q: s**2,
    "s m": lambda s, v, m, q: s * m,
    "m^2": lambda s, v, m, q: m**2,
    "q": lambda s, v, m, q: q,
}
MEMORY: dict[str, Term] = {
    "v": lambda s, v, m, q: v,
    "mean v": lambda s, v, m, q: v.mean(-1, keepdims=True),
    "v s/m": lambda s, v, m, q: v * s / m,
}


@cache
def ratios(p: int) -> Array:
    """Index of the frequency k / r mod p, up to sign, at [k - 1, r - 1]; p is prime."""
    half = (p - 1) // 2
    k = np.arange(1, half + 1)
    inverse = np.array([pow(int(r), -1, p) for r in k])
    quotients = k[:, None] * inverse % p
    return np.minimum(quotients, p - quotients) - 1


@dataclass(frozen=True)
class Form:
    """The features of a law, as a function of signals and previous changes (steps, n)."""

    design: Design  # (steps, n, terms); (steps, terms) if `each`
    terms: tuple[str, ...]
    each: bool = False  # whether every frequency has separate coefficients


def mean_field(names: Sequence[str]) -> Form:
    """A law of some of TERMS and MEMORY."""
    all_terms = TERMS | MEMORY
    functions = [all_terms[name] for name in names]

    def design(s: Array, v: Array) -> Array:
        m, q = s.mean(-1, keepdims=True), (s**2).mean(-1, keepdims=True)
        terms = [np.broadcast_to(function(s, v, m, q), s.shape) for function in functions]
        return np.stack(terms, axis=-1)

    return Form(design, tuple(names))


def form(name: str, n: int) -> Form:
    """The law ``unconstrained`` or ``equivariant`` of n frequencies."""
    if name == "unconstrained":
        return Form(
            lambda s, v: np.insert(s, n, 1, axis=-1),
            (*(f"x_{k}" for k in range(1, n + 1)), "1"),
            each=True,
        )
    ratio = tuple(f"r={r}" for r in range(1, n + 1))
    # Signals as seen from each frequency: x_(k / r), (steps, n, n ratios r = 1..n).
    return Form(lambda s, v: np.insert(s[:, ratios(2 * n + 1)], n, 1, axis=-1), (*ratio, "1"))


class Sums(NamedTuple):
    """Sums of products over steps, all that least squares need: they add up over runs."""

    terms: Array  # (terms, terms)
    target: Array  # (terms, outputs): one output, or one for each frequency
    square: float  # sum of the squared changes

    def chosen(self, columns: Sequence[int]) -> "Sums":
        """Return the sums of some terms."""
        return Sums(self.terms[np.ix_(columns, columns)], self.target[list(columns)], self.square)

    def solve(self) -> Array:
        """Return the least-squares coefficients, (terms, outputs); the smallest if not unique."""
        scale = np.sqrt(np.diag(self.terms))
        scale = np.where(scale > 0, scale, 1.0)[:, None]
        normal = self.terms / (scale * scale.T)
        return np.linalg.lstsq(normal, self.target / scale, rcond=1e-12)[0] / scale

    def error(self, coefficients: Array) -> float:
        """Return the sum of squares that the law with these coefficients leaves."""
        cross = float((coefficients * self.target).sum())
        return self.square - 2 * cross + float((coefficients * (self.terms @ coefficients)).sum())


def sums(form: Form, s: Array, v: Array, y: Array) -> Sums:
    """Sums over some steps of a run, of arrays (steps, n)."""
    design = form.design(s, v)
    if form.each:
        rows, target = design, y
    else:
        rows, target = design.reshape(-1, design.shape[-1]), y.reshape(-1, 1)
    return Sums(rows.T @ rows, rows.T @ target, float((y**2).sum()))


def total(parts: Iterable[Sums]) -> Sums:
    """Add up the sums of several runs."""
    return Sums(*(np.sum(of_parts, axis=0) for of_parts in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Law:
    """A fitted law of the change in a step."""

    form: Form
    coefficients: Array  # (terms, outputs)

    def change(self, s: Array, v: Array) -> Array:
        """Change in the next step at signals and last changes (steps, n), of the same shape."""
        design = self.form.design(s, v)
        next_changes = design @ self.coefficients
        return next_changes if self.form.each else next_changes[..., 0]


def select(parts: Sequence[Sums]) -> list[int]:
    """Select terms forward, from each run's sums of all candidates.

    Each step adds the term that lowers the error of the fit most. The number of terms is the
    smallest whose error on held-out runs (FOLDS folds) is within a standard error of the minimum.
    """
    whole = total(parts)
    order: list[int] = []
    errors: list[Array] = []  # by number of terms: error of each fold / its sum of squares
    folds = [range(i, len(parts), FOLDS) for i in range(min(FOLDS, len(parts)))]
    held_out = [total(parts[i] for i in fold) for fold in folds]
    others = [
        Sums(whole.terms - part.terms, whole.target - part.target, whole.square - part.square)
        for part in held_out
    ]
    while len(order) < min(MAX_TERMS, len(whole.terms)):
        remaining = [t for t in range(len(whole.terms)) if t not in order]

        def misses(term: int) -> float:
            sums = whole.chosen([*order, term])
            return sums.error(sums.solve())

        order.append(min(remaining, key=misses))
        fits = [part.chosen(order).solve() for part in others]
        errors.append(np.array([part.chosen(order).error(c) / part.square
                                for part, c in zip(held_out, fits, strict=True)]))  # fmt: skip
    means = np.array([e.mean() for e in errors])
    best = int(means.argmin())
    allowed = means[best] + errors[best].std(ddof=1) / np.sqrt(len(folds))
    return order[: int(np.argmax(means <= allowed)) + 1]


WINDOWS = ((0, 10), (10, 50), (50, 200), (200, 1000))  # steps first <= s < last
STEPS = WINDOWS[-1][1]
THREE = ("s", "m", "1")
LAWS = (
    "unconstrained",
    "equivariant",
    "three_numbers",
    "mean_field",
    "persistence",
    "memory",
)


def fit(name: str, runs: Sequence[Array], window: tuple[int, int]) -> Law:
    """Fit a law of LAWS to the steps of a window of runs, each (steps + 1, n).

    ``three_numbers`` is a s + b m + c; ``mean_field`` and ``memory`` select their terms, the latter
    also from MEMORY; ``persistence`` is a multiple of the last change.
    """
    fixed = {"three_numbers": THREE, "persistence": ("v",)}
    candidates = {"mean_field": tuple(TERMS), "memory": (*TERMS, *MEMORY)}
    if name in fixed:
        law_form = mean_field(fixed[name])
    elif name in candidates:
        wide = mean_field(candidates[name])
        parts = [sums(wide, *inside(x, window)) for x in runs]
        law_form = mean_field([wide.terms[i] for i in select(parts)])
    else:
        law_form = form(name, runs[0].shape[1])
    return Law(law_form, total(sums(law_form, *inside(x, window)) for x in runs).solve())


def inside(x: Array, window: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Signals, last changes and next changes (steps, n) in a window of a run (steps + 1, n).

    Before the first step nothing has changed: its last change is 0.
    """
    steps, y = slice(*window), np.diff(x, axis=0)
    last = np.concatenate([np.zeros_like(y[:1]), y[:-1]])
    return x[:-1][steps], last[steps], y[steps]


def windows(steps: int) -> list[tuple[int, int]]:
    """The windows of steps of a run, up to step 1000; the last ends with the run."""
    return [(first, min(last, steps)) for first, last in WINDOWS if first < steps]


def rollout(laws: Sequence[tuple[tuple[int, int], Law]], x: Array, first: int) -> Array:
    """Predict signals of runs x (runs, steps + 1, n) from step ``first`` on by each window's law.

    The result is (steps + 1 - first, runs, n), infinite or NaN once signals diverge.
    """
    s = x[:, first]
    v = s - x[:, max(first - 1, 0)]
    path = [s]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for (begin, end), law in laws:
            for _ in range(max(begin, first), end):
                v = law.change(s, v)
                s = s + v
                path.append(s)
    return np.stack(path)


def survivors(signals: Array) -> Array:
    """Return which frequencies survive by rule A; signals (..., n) lack k = 0, taken as 0."""
    with np.errstate(invalid="ignore"):
        total = 2 * signals.sum(-1, keepdims=True)
        return signals > spectrum.survival_threshold(total, 2 * signals.shape[-1] + 1)


def halves(study: Study) -> Iterator[tuple[Point, dict[str, Any], list[Array], list[Array]]]:
    """Yield points with enough runs and prime p, keys, and both halves' signals (steps + 1, n).

    Laws are fitted to the first half and scored on the second: the runs of a point share nothing.
    """
    for point in study.experiment(study.reproduce["shared_law"]):
        steps = range(min(STEPS, point.steps) + 1)
        logs = [log_frames.finished(block, "signals", steps) for block in point.blocks]
        runs = []
        for _, rows in log_frames.concatenate(logs).groupby("run_id", sort=False):
            wide = rows.pivot(index="step", columns="frequency", values="signal")
            runs.append(wide.to_numpy(np.float64))
        if len(runs) >= MIN_RUNS and spectrum.is_prime(point.parameters["p"]):
            keys = log_frames.keys(point, study) | {"point": point.name}
            yield point, keys, runs[: len(runs) // 2], runs[len(runs) // 2 :]
