"""Populations of known means, and samples of dependent values, for `interval_coverage`."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


class Population(NamedTuple):
    """A distribution with its mean."""

    draw: Draw
    mean: float


def failing(share: float) -> Population:
    """Return accuracies just below 1, except for a share of runs near chance, 1/59."""

    def draw(stream: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        high = 1 - 0.005 * stream.random(shape)
        return np.where(
            stream.random(shape) < share, stream.binomial(3422, 1 / 59, shape) / 3422, high
        )

    return Population(draw, share / 59 + (1 - share) * 0.9975)


def failing_deviation(share: float) -> float:
    """Return the standard deviation of `failing`."""
    within = share * (58 / 59**2) / 3422 + (1 - share) * 0.005**2 / 12
    return math.sqrt(within + share * (1 - share) * (0.9975 - 1 / 59) ** 2)


LOG_NORMAL = Population(lambda r, shape: r.lognormal(0, 1, shape), math.exp(0.5))
EXPONENTIAL = Population(lambda r, shape: r.exponential(1, shape), 1.0)
NORMAL = Population(lambda r, shape: r.normal(0, 1, shape), 0.0)
UNBOUNDED = {"normal": NORMAL, "exponential": EXPONENTIAL, "log-normal": LOG_NORMAL}
TWO_KINDS = {
    f"accuracies, {s:.0%} at chance".replace("%", " %"): failing(s) for s in (0.05, 0.1, 0.2)
}
BOUNDED = {
    "shares, beta(5, 1/2)": Population(lambda r, shape: r.beta(5, 0.5, shape), 10 / 11),
    "shares, beta(1/5, 2)": Population(lambda r, shape: r.beta(0.2, 2, shape), 1 / 11),
    "shares, uniform": Population(lambda r, shape: r.random(shape), 0.5),
}
COUNTS = {
    "counts, Poisson with mean 1": Population(lambda r, shape: r.poisson(1, shape), 1.0),
    "counts, geometric with mean 5": Population(
        lambda r, shape: r.negative_binomial(1, 1 / 6, shape), 5.0
    ),
    "counts, rounded normal": Population(lambda r, shape: np.round(r.normal(4.5, 0.9, shape)), 4.5),
}


def samples(population: Population) -> Callable[[np.random.Generator, int], tuple[np.ndarray]]:
    """Return what draws 20 000 samples of n values."""
    return lambda stream, n: (population.draw(stream, (20_000, n)).astype(float),)


def sample(population: Population) -> Callable[[np.random.Generator, int], tuple[np.ndarray]]:
    """Return what draws a sample of n values."""
    return lambda stream, n: (population.draw(stream, (n,)),)


def logged(stream: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw times; return the logged steps before and after each. Runs end at step 150."""
    by = np.ceil(stream.exponential(100, n) / 50) * 50
    return np.minimum(by - 50, 150), np.where(by > 150, math.nan, by)


def units(stream: np.random.Generator, n: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal values with variance 1 and correlation 1/2 within units; also the units."""
    unit = np.repeat(np.arange(n), rows)
    return math.sqrt(0.5) * (stream.normal(size=n)[unit] + stream.normal(size=n * rows)), unit


def correlated(stream: np.random.Generator, n: int, rows: int) -> tuple[np.ndarray, ...]:
    """Draw pairs with r = 0.6 that are dependent within units."""
    (x, unit), (noise, _) = (units(stream, n, rows) for _ in range(2))
    return x, 0.6 * x + 0.8 * noise, unit


def swept(stream: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Draw runs of n seeds at three x in two strata; level and slope differ between seeds."""
    x, stratum = np.tile([0.0, 1, 2], 2 * n), np.repeat([0, 1], 3 * n)
    unit = np.tile(np.repeat(np.arange(n), 3), 2)
    level, slope = stream.normal(0, 2, n)[unit], stream.normal(0, 0.3, n)[unit]
    return x, level + slope * x + 5 * stratum + stream.normal(size=6 * n), stratum, unit


def embeddings(stream: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw ten runs (0 or 1) of each of n embeddings, whose rates differ; also the embeddings."""
    unit = np.repeat(np.arange(n), 10)
    return (stream.random(10 * n) < stream.beta(2, 0.5, n)[unit]).astype(float), unit


def crossed(stream: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, ...]:
    """Draw n rows and m columns of values that share a level per row and one per column."""
    rows, columns = np.divmod(np.arange(n * m), m)
    level = stream.normal(size=n)[rows] + stream.normal(size=m)[columns]
    return level + 0.3 * stream.normal(size=n * m), rows, columns


def spikes(stream: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw for each run the number of spikes of a kind and of all (geometric, mean 6)."""
    whole = stream.geometric(1 / 6, n)
    return stream.binomial(whole, stream.beta(3, 2, n)).astype(float), whole.astype(float)
