"""Table ``initialisations``: distance of our table 1 from the paper's, per initialisation.

The paper does not say how it initialises. Its table 1 has 18 informative cells (the accuracy of a
single circle is not informative). Cells of one weight decay come from the same runs, so all are
judged together. From our runs with an initialisation many tables are drawn, each with as many runs
as the paper. All cells but the number of circles use as many circles, and as many other networks,
as the paper has, because the mean accuracy of two circles is noisier than that of twelve. Counts
are compared on the angle scale with Anscombe's correction, correlations on Fisher's z. The distance
of a table from the mean of the drawn tables is Mahalanobis'; p is the share of drawn tables that
are as far away as the paper's. Our runs are a sample, too: each table is drawn from a bootstrap
sample of them, so the covariance includes our sampling error. Holm's correction is for the number
of initialisations; an initialisation is excluded if its corrected p is below 0.05. This excludes
somewhat too readily: see the bound in the test of this table.
"""

import math

import numpy as np
import pandas as pd

from circlet.analysis import claims, log_frames, stats, verdicts
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, Rows, column
from circlet.study.plan import Study

ROLES = ("initialisations",)
TABLES = ("structures",)
USES = ("claims",)
COLUMNS = [
    column("initialisation", "string", "of the linear layers"),
    column("embedding_std", "float64", "standard deviation of the initial embedding"),
    column("weight_decay", "float64", "row of table 1; null: the whole table"),
    column("cell", "string", "column of table 1; `all`: the whole table"),
    column("published", "float64", "value in the paper"),
    column("measured", "float64", "mean of the drawn tables, as many runs as the paper has"),
    column("z", "float64", "published - measured in standard deviations of a drawn table"),
    column("distance", "float64", "of the whole table: Mahalanobis, squared"),
    column("n_cells", "int32", "cells that it is over"),
    column("p", "float64", "share of drawn tables that are as far away"),
    column("p_holm", "float64", "the same, corrected for the number of initialisations"),
    *COUNTS,
]

_CELLS = ("circles", "circle_accuracy", "non_circle_accuracy", "imperfections", "correlation")
_RUNS = 100  # runs of the paper, at each weight decay
_DRAWS = 4000
_FEWEST = 2  # circles whose mean accuracy is compared


def cells(
    n_circles: np.ndarray, of_circles: np.ndarray, accuracy: np.ndarray, imperfections: np.ndarray
) -> np.ndarray:
    """Return the cells of samples on their scales, (..., 5); NaN where a cell is undefined.

    ``of_circles`` are accuracies of the circles, (..., circles), the other two arrays are of the
    other networks, (..., others). Accuracies are in per cent.
    """
    few = of_circles.shape[-1] < _FEWEST
    circle_accuracy = np.full(of_circles.shape[:-1], math.nan) if few else of_circles.mean(-1)
    x = imperfections - imperfections.mean(-1, keepdims=True)
    y = accuracy - accuracy.mean(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
    z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    angle = stats.angle(n_circles, _RUNS)
    return np.stack([angle, circle_accuracy, accuracy.mean(-1), imperfections.mean(-1), z], -1)


def drawn(
    structures: pd.DataFrame, count: int, stream: np.random.Generator, draws: int
) -> np.ndarray:
    """Draw tables of the paper's size, (draws, cells), from bootstrap samples at a weight decay.

    ``count`` is how many of the paper's runs are circles.
    """
    circle = structures["is_circle"].to_numpy(bool)
    accuracy = 100 * structures["test_accuracy"].to_numpy(float)
    imperfections = structures["imperfections"].to_numpy(float)
    share = stream.binomial(len(circle), circle.mean(), draws) / len(circle)

    def chosen(among: np.ndarray, size: int) -> np.ndarray:
        n = len(among)
        if n < _FEWEST:
            return np.empty((draws, 0), int)
        sample = stream.integers(n, size=(draws, n))
        return among[np.take_along_axis(sample, stream.integers(n, size=(draws, size)), 1)]

    circles = chosen(np.flatnonzero(circle), count)
    others = chosen(np.flatnonzero(~circle), _RUNS - count)
    return cells(
        stream.binomial(_RUNS, share), accuracy[circles], accuracy[others], imperfections[others]
    )


def judged(tables: np.ndarray, published: np.ndarray) -> tuple[np.ndarray, float, int, float]:
    """Return each cell's deviation z, the published table's distance, its number of cells, and p.

    ``tables`` are the drawn ones, (draws, cells), ``published`` the paper's, (cells,). Cells that
    are missing in the paper or in the drawn tables are left out.
    """
    present = ~np.isnan(published) & np.isfinite(tables).all(0)
    mean, present_tables = tables.mean(0), tables[:, present]
    spread = tables.std(0, ddof=1)
    # If all counts are zero they have no spread; the spread of a sample's angle replaces it.
    counts = np.arange(len(mean)) % len(_CELLS) == 0
    spread[counts] = np.maximum(spread[counts], 1 / math.sqrt(_RUNS + 0.5))
    covariance = np.cov(present_tables, rowvar=False)
    np.fill_diagonal(covariance, spread[present] ** 2)
    inverse = np.linalg.pinv(covariance, hermitian=True)

    def distance(x: np.ndarray) -> np.ndarray:
        off = x - mean[present]
        return np.einsum("...i,ij,...j->...", off, inverse, off)

    far = float(distance(published[present]))
    p = (1 + int((distance(present_tables) >= far).sum())) / (1 + len(present_tables))
    return (published - mean) / spread, far, int(present.sum()), p


def published_cells(study: Study) -> dict[tuple[float, str], float]:
    """Table 1 of the paper by weight decay and cell, without the accuracy of a single circle."""
    rows = claims.read(study)
    by_cell = {}
    for row in rows[(rows["source"] == "Table 1") & rows["column"].isin(_CELLS)].itertuples():
        if row.published_n >= _FEWEST and not row.claim.endswith("wd0_circle_accuracy"):
            by_cell[float(row.keys["weight_decay"]), row.column] = float(row.published)
    return by_cell


def _scale(cell: str) -> verdicts.Scale:
    kind = {"circles": "share", "correlation": "correlation"}.get(cell, "mean")
    return verdicts.scale({"kind": kind, "published_n": _RUNS})


def table(study: Study) -> Rows:
    """A row per initialisation and cell, and one for the whole table."""
    from statsmodels.stats.multitest import multipletests

    structures = parquet.read_table(study, "structures", "initialisations")
    paper = published_cells(study)
    decays = sorted({decay for decay, _ in paper})
    names = [(decay, cell) for decay in decays for cell in _CELLS]
    expected = np.array(
        [_scale(cell).to(paper.get((decay, cell), math.nan)) for decay, cell in names]
    )
    judgements = []
    groups = log_frames.groups(study, structures, ["initialisation", "embedding_std"])
    for keys, runs in groups:
        by_decay = [runs[runs["weight_decay"] == decay] for decay in decays]
        if min(map(len, by_decay)) < _RUNS:
            continue
        stream = np.random.default_rng(0)
        counts_of = [int(paper[decay, "circles"]) for decay in decays]
        tables = np.concatenate(
            [drawn(rows, k, stream, _DRAWS) for rows, k in zip(by_decay, counts_of, strict=True)], 1
        )
        judgements.append((keys, tables, *judged(tables, expected)))
    p_values = [p for *_, p in judgements]
    corrected = multipletests(p_values, method="holm")[1].tolist() if p_values else []
    for (keys, tables, z, distance, n_cells, p), p_holm in zip(judgements, corrected, strict=True):
        yield keys | {
            "cell": "all", "distance": distance, "n_cells": n_cells, "p": p, "p_holm": p_holm,
        }  # fmt: skip
        for i, (decay, cell) in enumerate(names):
            if (decay, cell) in paper:
                mean = float(np.nanmean(tables[:, i])) if np.isfinite(tables[:, i]).any() else None
                yield keys | {
                    "weight_decay": decay,
                    "cell": cell,
                    "published": paper[decay, cell],
                    "measured": None if mean is None else _scale(cell).back(mean),
                    "z": z[i],
                }
