"""Simulate how often the intervals of `circlet.analysis` contain the truth, at fixed seeds.

    python docs/interval_coverage.py   # write docs/studies/coverage.csv, in about two minutes

Each case is a method, a population with a known truth, and a number of independent samples as in
the tables. Samples for which a method gives no interval are left out.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import coverage_populations as draws
import numpy as np
import pandas as pd

from circlet.analysis import association, contrasts, stats

FILE = Path(__file__).parent / "studies/coverage.csv"


class Case(NamedTuple):
    """A method, its bound on coverage, a population and its truth, and how to draw and estimate."""

    method: str
    least: float  # coverage that is stated for all populations of the method
    population: str
    sizes: tuple[int, ...]
    truth: float
    draw: Callable[[np.random.Generator, int], tuple]  # arguments of `estimate`
    estimate: Callable[..., Any]
    repetitions: int = 2000  # 0: `draw` and `estimate` handle many samples at once


def _means() -> Iterator[Case]:
    """Yield cases of means, medians and deviations of independent values."""
    sizes = (5, 6, 10, 20, 40, 100)
    # `means` is `mean` of many rows at once.
    within = partial(stats.means, lower=0, upper=1)
    for method, least, populations, estimate in (
        ("mean", 0.88, draws.UNBOUNDED, stats.means),
        ("bounded mean", 0.84, draws.BOUNDED, within),
        ("bounded mean, a rare kind of run", 0.0, draws.TWO_KINDS, within),
    ):
        for name, population in populations.items():
            draw = draws.samples(population)
            yield Case(method, least, name, sizes, population.mean, draw, estimate, 0)
    for name, population in draws.COUNTS.items():
        draw, estimate = draws.sample(population), stats.mean_count
        yield Case("mean of counts", 0.9, name, (5, 10, 40), population.mean, draw, estimate)
    log_normal, exponential = (draws.sample(q) for q in (draws.LOG_NORMAL, draws.EXPONENTIAL))
    for name, truth, draw in (
        ("log-normal", 1.0, log_normal),
        ("exponential", math.exp(-np.euler_gamma), exponential),
    ):
        yield Case("geometric mean", 0.9, name, (5, 12, 40), truth, draw, stats.geometric_mean)
    yield Case("median", 0.93, "log-normal", (6, 40), 1.0, log_normal, stats.median)
    failing = draws.sample(draws.failing(0.2))
    for name, truth, draw in (
        ("normal", 1.0, draws.sample(draws.NORMAL)),
        ("exponential", 1.0, exponential),
        ("accuracies, 20 % at chance", draws.failing_deviation(0.2), failing),
    ):
        yield Case("deviation", 0.84, name, (20, 100), truth, draw, stats.deviation)
    name, truth = "exponential, logged every 50 steps", 100 * math.log(2)
    yield Case("median time", 0.9, name, (6, 10), truth, draws.logged, stats.median_time, 300)


_share, _share_difference = cache(stats.share), cache(contrasts.share_difference)


def _shares() -> Iterator[Case]:
    """Yield cases of shares and counts of runs, and of their differences."""
    for p in (0.02, 0.12, 0.5):
        for method, least, kind in (
            ("share or count (Wilson)", 0.8, "wilson"),
            ("share (exact)", 0.94, "exact"),
        ):
            yield Case(
                method,
                least,
                f"{p:.0%} of runs".replace("%", " %"),
                (5, 12, 40, 100),
                p,
                lambda r, n, p=p, kind=kind: (int(r.binomial(n, p)), n, kind),
                _share,
                20_000,
            )
    for n, m, p, q in ((12, 12, 0.05, 0.5), (40, 100, 0.5, 0.5), (100, 100, 0.01, 0.12)):
        yield Case(
            "difference of shares",
            0.93,
            f"{p:.0%} and {q:.0%} of runs".replace("%", " %"),
            (n,),
            p - q,
            lambda r, n, m=m, p=p, q=q: (int(r.binomial(n, p)), n, int(r.binomial(m, q)), m),
            _share_difference,
            20_000,
        )


def _difference_of_estimates(x: np.ndarray, y: np.ndarray) -> stats.Estimate:
    return contrasts.difference(stats.mean(x), stats.mean(y))


def _two_kinds() -> Iterator[Case]:
    """Yield cases of differences and ratios of two kinds of runs."""
    sizes = (6, 20, 100)
    differences = (
        ("difference of means", 0.86, contrasts.mean_difference),
        ("difference of estimates", 0.88, _difference_of_estimates),
    )
    for name, population in draws.UNBOUNDED.items():
        for method, least, estimate in differences:
            yield Case(
                method,
                least,
                f"{name}, one sample a quarter as large",
                sizes,
                0.0,
                lambda r, n, draw=population.draw: (draw(r, (n,)), draw(r, (4 * n,))),
                estimate,
            )
    yield Case(
        "ratio of means",
        0.93,
        "counts, Poisson with means 5 and 10",
        sizes,
        0.5,
        lambda r, n: (r.poisson(5, n), r.poisson(10, n)),
        lambda x, y: contrasts.quotient(stats.mean(x), stats.mean(y)),
    )
    yield Case(
        "difference within strata",
        0.92,
        "normal, five strata",
        (30, 100, 500),
        1.0,
        lambda r, n: (
            [(1 + k + r.normal(0, 2, n // 15), k + r.normal(size=n // 5)) for k in range(5)],
        ),
        contrasts.stratified_difference,
    )
    yield Case(
        "paired difference",
        0.88,
        "shares, beta(4, 2) and beta(5, 1)",
        (5, 12, 50),
        5 / 6 - 4 / 6,
        lambda r, n: tuple(pd.Series(r.beta(a, 6 - a, n)) for a in (4, 5)),
        lambda x, y: contrasts.paired_difference(x, y, reach=1)[0],
        1000,
    )
    yield Case(
        "paired difference of shares",
        0.91,
        "30 and 60 % of runs",
        (5, 12, 50),
        0.3,
        lambda r, n: tuple(pd.Series(r.random(n) < s).astype(float) for s in (0.3, 0.6)),
        lambda x, y: contrasts.paired_difference(x, y, is_share=True)[0],
        1000,
    )


def _dependent() -> Iterator[Case]:
    """Yield cases of correlations, slopes and means of dependent values."""
    yield Case(
        "correlation over units",
        0.88,
        "normal, five of each unit, r = 0.6",
        (6, 10, 40),
        0.6,
        partial(draws.correlated, rows=5),
        association.correlation_over_units,
        400,
    )
    yield Case(
        "mean over units",
        0.9,
        "ten runs of each embedding",
        (6, 10, 40),
        0.8,
        draws.embeddings,
        partial(stats.over_units, lower=0, upper=1),
        1000,
    )
    yield Case(
        "ratio of sums",
        0.86,
        "spikes of a kind, geometric with mean 6",
        (6, 10, 40),
        0.6,
        draws.spikes,
        stats.ratio,
    )
    yield Case(
        "correlation",
        0.91,
        "normal, r = 0.6",
        (10, 82),
        0.6,
        lambda r, n: draws.correlated(r, n, 1)[:2],
        association.correlation,
    )
    for method, estimate in (
        ("slope over seeds", association.slope),
        ("rank correlation over seeds", association.rank_correlation),
    ):
        name = "normal, a level and a slope of each seed"
        yield Case(method, 0.9, name, (5, 8), 0.0, draws.swept, estimate, 400)
    yield Case(
        "crossed mean",
        0.9,
        "normal, rows and columns",
        (5, 8),
        0.0,
        lambda r, n: draws.crossed(r, n, n),
        stats.crossed_mean,
        400,
    )


def simulated(case: Case, n: int) -> dict[str, Any]:
    """Return how often the interval of a case contains the truth, and its median width."""
    named = f"{case.method}, {case.population}, {n}"
    stream = np.random.default_rng(zlib.crc32(named.encode()))
    if not case.repetitions:
        ends = case.estimate(*case.draw(stream, n))
        low, high = ends["low"].to_numpy(), ends["high"].to_numpy()
    else:
        drawn = [case.estimate(*case.draw(stream, n)) for _ in range(case.repetitions)]
        low, high = np.array([(estimate.low, estimate.high) for estimate in drawn]).T
    has_ends = ~np.isnan(low)
    covered = (low <= case.truth + 1e-12) & (case.truth - 1e-12 <= high)
    return {
        "method": case.method,
        "least": case.least,
        "population": case.population,
        "n": n,
        "samples": int(has_ends.sum()),
        "coverage": float(covered[has_ends].mean()),
        "width": float(np.median((high - low)[has_ends])),
    }


def text() -> str:
    """Return the coverage of all cases as CSV."""
    cases = (*_means(), *_shares(), *_two_kinds(), *_dependent())
    rows = pd.DataFrame([simulated(case, n) for case in cases for n in case.sizes])
    return str(rows.to_csv(index=False, float_format="%.4g", lineterminator="\n"))


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
