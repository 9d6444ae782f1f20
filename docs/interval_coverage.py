"""Simulate how often the intervals of `circlet.analysis` contain the truth, at fixed seeds.

    python docs/interval_coverage.py   # write docs/studies/coverage.csv, in about two minutes

Each case is a method, a population with a known truth, and a number of independent samples as in
the tables. Samples for which a method gives no interval are left out.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from functools import cache
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
    n: int
    truth: float
    draw: Callable[[np.random.Generator], Any]
    estimate: Callable[[Any], Any]
    repetitions: int = 2000  # 0: `draw` and `estimate` handle many samples at once


def _means() -> Iterator[Case]:
    """Yield cases of means, medians and deviations of independent values."""
    for n in (5, 6, 10, 20, 40, 100):
        for name, population in draws.UNBOUNDED.items():
            # `means` is `mean` of many rows at once.
            yield Case(
                "mean", 0.88, name, n, population.mean, draws.samples(population, n), stats.means, 0
            )
        for method, least, populations in (
            ("bounded mean", 0.84, draws.BOUNDED),
            ("bounded mean, a rare kind of run", 0.0, draws.TWO_KINDS),
        ):
            for name, population in populations.items():
                yield Case(
                    method,
                    least,
                    name,
                    n,
                    population.mean,
                    draws.samples(population, n),
                    lambda rows: stats.means(rows, 0, 1),
                    0,
                )
    for n in (5, 10, 40):
        for name, population in draws.COUNTS.items():
            yield Case(
                "mean of counts",
                0.9,
                name,
                n,
                population.mean,
                draws.sample(population, n),
                stats.mean_count,
            )
    for n in (5, 12, 40):
        for name, population, truth in (
            ("log-normal", draws.LOG_NORMAL, 1.0),
            ("exponential", draws.EXPONENTIAL, math.exp(-np.euler_gamma)),
        ):
            yield Case(
                "geometric mean",
                0.9,
                name,
                n,
                truth,
                draws.sample(population, n),
                stats.geometric_mean,
            )
    for n in (6, 40):
        population = draws.LOG_NORMAL
        yield Case(
            "median",
            0.93,
            "log-normal",
            n,
            1.0,
            draws.sample(population, n),
            stats.median,
        )
    for n in (20, 100):
        for name, population, truth in (
            ("normal", draws.NORMAL, 1.0),
            ("exponential", draws.EXPONENTIAL, 1.0),
            ("accuracies, 20 % at chance", draws.failing(0.2), draws.failing_deviation(0.2)),
        ):
            yield Case(
                "deviation", 0.84, name, n, truth, draws.sample(population, n), stats.deviation
            )
    for n in (6, 10):
        yield Case(
            "median time",
            0.9,
            "exponential, logged every 50 steps",
            n,
            100 * math.log(2),
            lambda r, n=n: draws.logged(r, n),
            lambda times: stats.median_time(*times),
            300,
        )


_share, _share_difference = cache(stats.share), cache(contrasts.share_difference)


def _shares() -> Iterator[Case]:
    """Yield cases of shares and counts of runs, and of their differences."""
    for n in (5, 12, 40, 100):
        for p in (0.02, 0.12, 0.5):
            for method, least, kind in (
                ("share or count (Wilson)", 0.8, "wilson"),
                ("share (exact)", 0.94, "exact"),
            ):
                yield Case(
                    method,
                    least,
                    f"{p:.0%} of runs".replace("%", " %"),
                    n,
                    p,
                    lambda r, n=n, p=p: int(r.binomial(n, p)),
                    lambda k, n=n, kind=kind: _share(k, n, kind),
                    20_000,
                )
    for n, m, p, q in ((12, 12, 0.05, 0.5), (40, 100, 0.5, 0.5), (100, 100, 0.01, 0.12)):
        yield Case(
            "difference of shares",
            0.93,
            f"{p:.0%} and {q:.0%} of runs".replace("%", " %"),
            n,
            p - q,
            lambda r, n=n, m=m, p=p, q=q: (int(r.binomial(n, p)), n, int(r.binomial(m, q)), m),
            lambda k: _share_difference(*k),
            20_000,
        )


def _two_kinds() -> Iterator[Case]:
    """Yield cases of differences and ratios of two kinds of runs."""
    for n in (6, 20, 100):
        for name, population in draws.UNBOUNDED.items():
            yield Case(
                "difference of means",
                0.86,
                f"{name}, one sample a quarter as large",
                n,
                0.0,
                lambda r, n=n, population=population: (
                    population.draw(r, (n,)),
                    population.draw(r, (4 * n,)),
                ),
                lambda xy: contrasts.mean_difference(*xy),
            )
            yield Case(
                "difference of estimates",
                0.88,
                f"{name}, one sample a quarter as large",
                n,
                0.0,
                lambda r, n=n, population=population: (
                    population.draw(r, (n,)),
                    population.draw(r, (4 * n,)),
                ),
                lambda xy: contrasts.difference(*map(stats.mean, xy)),
            )
        yield Case(
            "ratio of means",
            0.93,
            "counts, Poisson with means 5 and 10",
            n,
            0.5,
            lambda r, n=n: (r.poisson(5, n), r.poisson(10, n)),
            lambda xy: contrasts.quotient(*map(stats.mean, xy)),
        )
        yield Case(
            "difference within strata",
            0.92,
            "normal, five strata",
            5 * n,
            1.0,
            lambda r, n=n: [
                (1 + k + r.normal(0, 2, n // 3), k + r.normal(size=n)) for k in range(5)
            ],
            contrasts.stratified_difference,
        )
    for n in (5, 12, 50):
        yield Case(
            "paired difference",
            0.88,
            "shares, beta(4, 2) and beta(5, 1)",
            n,
            5 / 6 - 4 / 6,
            lambda r, n=n: tuple(pd.Series(r.beta(a, 6 - a, n)) for a in (4, 5)),
            lambda xy: contrasts.paired_difference(*xy, reach=1)[0],
            1000,
        )
        yield Case(
            "paired difference of shares",
            0.91,
            "30 and 60 % of runs",
            n,
            0.3,
            lambda r, n=n: tuple(pd.Series(r.random(n) < s).astype(float) for s in (0.3, 0.6)),
            lambda xy: contrasts.paired_difference(*xy, is_share=True)[0],
            1000,
        )


def _dependent() -> Iterator[Case]:
    """Yield cases of correlations, slopes and means of dependent values."""
    for n in (6, 10, 40):
        yield Case(
            "correlation over units",
            0.88,
            "normal, five of each unit, r = 0.6",
            n,
            0.6,
            lambda r, n=n: draws.correlated(r, n, 5),
            lambda xy: association.correlation_over_units(*xy),
            400,
        )
        yield Case(
            "mean over units",
            0.9,
            "ten runs of each embedding",
            n,
            0.8,
            lambda r, n=n: draws.embeddings(r, n),
            lambda v: stats.over_units(*v, 0, 1),
            1000,
        )
        yield Case(
            "ratio of sums",
            0.86,
            "spikes of a kind, geometric with mean 6",
            n,
            0.6,
            lambda r, n=n: draws.spikes(r, n),
            lambda v: stats.ratio(*v),
        )
    for n in (10, 82):
        yield Case(
            "correlation",
            0.91,
            "normal, r = 0.6",
            n,
            0.6,
            lambda r, n=n: draws.correlated(r, n, 1),
            lambda xy: association.correlation(*xy[:2]),
        )
    for n in (5, 8):
        for method, estimate in (
            ("slope over seeds", association.slope),
            ("rank correlation over seeds", association.rank_correlation),
        ):
            yield Case(
                method,
                0.9,
                "normal, a level and a slope of each seed",
                n,
                0.0,
                lambda r, n=n: draws.swept(r, n),
                lambda v, estimate=estimate: estimate(*v),
                400,
            )
        yield Case(
            "crossed mean",
            0.9,
            "normal, rows and columns",
            n,
            0.0,
            lambda r, n=n: draws.crossed(r, n, n),
            lambda v: stats.crossed_mean(*v),
            400,
        )


def cases() -> list[Case]:
    """Return all cases."""
    return [*_means(), *_shares(), *_two_kinds(), *_dependent()]


def simulated(case: Case) -> dict[str, Any]:
    """Return how often the interval of a case contains the truth, and its median width."""
    named = f"{case.method}, {case.population}, {case.n}"
    stream = np.random.default_rng(zlib.crc32(named.encode()))
    if not case.repetitions:
        ends = case.estimate(case.draw(stream))
        low, high = ends["low"].to_numpy(), ends["high"].to_numpy()
    else:
        drawn = [case.estimate(case.draw(stream)) for _ in range(case.repetitions)]
        low, high = np.array([(estimate.low, estimate.high) for estimate in drawn]).T
    is_known = ~np.isnan(low)
    covered = (low <= case.truth + 1e-12) & (case.truth - 1e-12 <= high)
    return {
        "method": case.method,
        "least": case.least,
        "population": case.population,
        "n": case.n,
        "samples": int(is_known.sum()),
        "coverage": float(covered[is_known].mean()),
        "width": float(np.median((high - low)[is_known])),
    }


def text() -> str:
    """Return the coverage of all cases as CSV."""
    rows = pd.DataFrame([simulated(case) for case in cases()])
    return str(rows.to_csv(index=False, float_format="%.4g", lineterminator="\n"))


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
