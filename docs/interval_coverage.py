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

import numpy as np
import pandas as pd

from circlet.analysis import association, contrasts, stats
from circlet.analysis.stats import Estimate

FILE = Path(__file__).parent / "studies/coverage.csv"
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


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


class Population(NamedTuple):
    """A distribution with its mean and median."""

    draw: Draw
    mean: float
    median: float = math.nan


def _failing(share: float) -> Population:
    """Return accuracies just below 1, except for a share of runs near chance, 1/59."""

    def draw(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        high = 1 - 0.005 * stream.random(shape)
        return np.where(
            stream.random(shape) < share, stream.binomial(3422, 1 / 59, shape) / 3422, high
        )

    return Population(draw, share / 59 + (1 - share) * 0.9975)


_LOG_NORMAL = Population(lambda r, shape: r.lognormal(0, 1, shape), math.exp(0.5), 1.0)
_EXPONENTIAL = Population(lambda r, shape: r.exponential(1, shape), 1.0, math.log(2))
_NORMAL = Population(lambda r, shape: r.normal(0, 1, shape), 0.0, 0.0)
_UNBOUNDED = {"normal": _NORMAL, "exponential": _EXPONENTIAL, "log-normal": _LOG_NORMAL}
_TWO_KINDS = {
    f"accuracies, {s:.0%} at chance".replace("%", " %"): _failing(s) for s in (0.05, 0.1, 0.2)
}
_BOUNDED = {
    "shares, beta(5, 1/2)": Population(lambda r, shape: r.beta(5, 0.5, shape), 10 / 11),
    "shares, beta(1/5, 2)": Population(lambda r, shape: r.beta(0.2, 2, shape), 1 / 11),
    "shares, uniform": Population(lambda r, shape: r.random(shape), 0.5),
}
_COUNTS = {
    "counts, Poisson with mean 1": Population(lambda r, shape: r.poisson(1, shape), 1.0),
    "counts, geometric with mean 5": Population(
        lambda r, shape: r.negative_binomial(1, 1 / 6, shape), 5.0
    ),
    "counts, rounded normal": Population(lambda r, shape: np.round(r.normal(4.5, 0.9, shape)), 4.5),
}


def _means() -> Iterator[Case]:
    """Yield cases of means, medians and deviations of independent values."""
    for n in (5, 6, 10, 20, 40, 100):
        for name, population in _UNBOUNDED.items():
            # `means` is `mean` of many rows at once.
            yield Case("mean", 0.88, name, n, population.mean, _rows(population, n), stats.means, 0)
        for method, least, populations in (
            ("bounded mean", 0.84, _BOUNDED),
            ("bounded mean, a rare kind of run", 0.0, _TWO_KINDS),
        ):
            for name, population in populations.items():
                yield Case(
                    method,
                    least,
                    name,
                    n,
                    population.mean,
                    _rows(population, n),
                    lambda rows: stats.means(rows, 0, 1),
                    0,
                )
    for n in (5, 10, 40):
        for name, population in _COUNTS.items():
            yield Case(
                "mean of counts",
                0.9,
                name,
                n,
                population.mean,
                _row(population, n),
                stats.mean_count,
            )
    for n in (5, 12, 40):
        for name, population, truth in (
            ("log-normal", _LOG_NORMAL, 1.0),
            ("exponential", _EXPONENTIAL, math.exp(-np.euler_gamma)),
        ):
            yield Case(
                "geometric mean", 0.9, name, n, truth, _row(population, n), stats.geometric_mean
            )
    for n in (6, 40):
        population = _LOG_NORMAL
        yield Case(
            "median", 0.93, "log-normal", n, population.median, _row(population, n), stats.median
        )
    for n in (20, 100):
        for name, population, truth in (
            ("normal", _NORMAL, 1.0),
            ("exponential", _EXPONENTIAL, 1.0),
            ("accuracies, 20 % at chance", _failing(0.2), _failing_deviation(0.2)),
        ):
            yield Case("deviation", 0.84, name, n, truth, _row(population, n), stats.deviation)
    for n in (6, 10):
        yield Case(
            "median time",
            0.9,
            "exponential, logged every 50 steps",
            n,
            100 * math.log(2),
            lambda r, n=n: _logged(r, n),
            lambda times: stats.median_time(*times),
            300,
        )


def _failing_deviation(share: float) -> float:
    """Return the standard deviation of `_failing`."""
    within = share * (58 / 59**2) / 3422 + (1 - share) * 0.005**2 / 12
    return math.sqrt(within + share * (1 - share) * (0.9975 - 1 / 59) ** 2)


def _rows(population: Population, n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda stream: population.draw(stream, (20_000, n)).astype(float)


def _row(population: Population, n: int) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda stream: population.draw(stream, (n,))


def _logged(stream: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw times; return the logged steps before and after each. Runs end at step 150."""
    by = np.ceil(stream.exponential(100, n) / 50) * 50
    return np.minimum(by - 50, 150), np.where(by > 150, math.nan, by)


@cache
def _share(k: int, n: int, method: Any) -> Estimate:
    return stats.share(k, n, method)


@cache
def _share_difference(k1: int, n1: int, k2: int, n2: int) -> Estimate:
    return contrasts.share_difference(k1, n1, k2, n2)


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
        for name, population in _UNBOUNDED.items():
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
            lambda xy: contrasts.ratio_of_means(*xy),
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


def _units(stream: np.random.Generator, n: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal values with variance 1 and correlation 1/2 within units; also the units."""
    unit = np.repeat(np.arange(n), rows)
    return math.sqrt(0.5) * (stream.normal(size=n)[unit] + stream.normal(size=n * rows)), unit


def _correlated(stream: np.random.Generator, n: int, rows: int) -> tuple[np.ndarray, ...]:
    """Draw pairs with r = 0.6 that are dependent within units."""
    (x, unit), (noise, _) = (_units(stream, n, rows) for _ in range(2))
    return x, 0.6 * x + 0.8 * noise, unit


def _swept(stream: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Draw runs of n seeds at three x in two strata; level and slope differ between seeds."""
    x, stratum = np.tile([0.0, 1, 2], 2 * n), np.repeat([0, 1], 3 * n)
    unit = np.tile(np.repeat(np.arange(n), 3), 2)
    level, slope = stream.normal(0, 2, n)[unit], stream.normal(0, 0.3, n)[unit]
    return x, level + slope * x + 5 * stratum + stream.normal(size=6 * n), stratum, unit


def _embeddings(stream: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw ten runs (0 or 1) of each of n embeddings, whose rates differ; also the embeddings."""
    unit = np.repeat(np.arange(n), 10)
    return (stream.random(10 * n) < stream.beta(2, 0.5, n)[unit]).astype(float), unit


def _crossed(stream: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, ...]:
    rows, columns = np.divmod(np.arange(n * m), m)
    level = stream.normal(size=n)[rows] + stream.normal(size=m)[columns]
    return level + 0.3 * stream.normal(size=n * m), rows, columns


def _spikes(stream: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw for each run the number of spikes of a kind and of all (geometric, mean 6)."""
    whole = stream.geometric(1 / 6, n)
    return stream.binomial(whole, stream.beta(3, 2, n)).astype(float), whole.astype(float)


def _dependent() -> Iterator[Case]:
    """Yield cases of correlations, slopes and means of dependent values."""
    for n in (6, 10, 40):
        yield Case(
            "correlation over units",
            0.88,
            "normal, five of each unit, r = 0.6",
            n,
            0.6,
            lambda r, n=n: _correlated(r, n, 5),
            lambda xy: association.correlation_over_units(*xy),
            400,
        )
        yield Case(
            "mean over units",
            0.9,
            "ten runs of each embedding",
            n,
            0.8,
            lambda r, n=n: _embeddings(r, n),
            lambda v: stats.over_units(*v, 0, 1),
            1000,
        )
        yield Case(
            "ratio of sums",
            0.86,
            "spikes of a kind, geometric with mean 6",
            n,
            0.6,
            lambda r, n=n: _spikes(r, n),
            lambda v: stats.ratio(*v),
        )
    for n in (10, 82):
        yield Case(
            "correlation",
            0.91,
            "normal, r = 0.6",
            n,
            0.6,
            lambda r, n=n: _correlated(r, n, 1),
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
                lambda r, n=n: _swept(r, n),
                lambda v, estimate=estimate: estimate(*v),
                400,
            )
        yield Case(
            "crossed mean",
            0.9,
            "normal, rows and columns",
            n,
            0.0,
            lambda r, n=n: _crossed(r, n, n),
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
