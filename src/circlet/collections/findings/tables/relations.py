"""Table ``relations``: how often survivors are sums, doubles or multiples of other survivors.

Counts of sums, doubles and other ratios among the survivors of all runs of a point, against sets of
the same sizes drawn by chance from all frequencies (`random`), and against sets that keep how often
each rank of initial signal survives (`rank`).
"""

import numpy as np

from circlet.analysis import log_frames, stats
from circlet.collections.findings import survivor_sets
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, POINT, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("survey",)
TABLES = ("survival",)
COLUMNS = [
    POINT,
    column("relation", "string", "sum, double, or ratio r: one is r times the other mod p"),
    column("size", "int32", "survivors of a run; null: runs of all sizes"),
    column("observed", "int32", "how often it occurs in all runs"),
    column("expected", "float64", "mean of the same in random sets of these sizes"),
    *estimate("excess", "observed / expected; n: runs"),
    column("expected_by_rank", "float64", "mean of the same in sets by rank"),
    column("p_random", "float64", "share of random sets at least as far off, two-sided"),
    column("p_rank", "float64", "share of sets by rank at least as far off, two-sided"),
    column("p_adjusted", "float64", "p_random after Holm, over the relations of its rows"),
    *COUNTS,
]
_DRAWS = 999
_MIN_RUNS = 20  # runs of one size, at least


def two_sided(observed: float, drawn: np.ndarray) -> float:
    """Return the share of draws as far from their mean as ``observed``, which counts as a draw."""
    center = drawn.mean()
    return float((1 + (np.abs(drawn - center) >= abs(observed - center)).sum()) / (1 + len(drawn)))


def _excess(observed: np.ndarray, expected: np.ndarray) -> stats.Estimate:
    """Observed / expected over runs; if nothing was observed, with the exact Poisson interval."""
    if observed.any() or not expected.any():
        return stats.ratio(observed, expected)
    return stats.mean_count(observed).times(1 / expected.mean())


def table(study: Study) -> Rows:
    """A row per point, relation and size of the set."""
    from statsmodels.stats.multitest import multipletests

    survival = parquet.read_table(study, "survival", "survey")
    stream = np.random.default_rng(0)
    for point, keys, rows in log_frames.by_point(survival, study):
        if rows.empty:
            continue
        sets = survivor_sets.wide(rows, "survived").to_numpy(bool)
        signals = survivor_sets.wide(rows, "initial_signal").to_numpy(float)
        relations = survivor_sets.relations(point.parameters["p"])
        # All runs are drawn at once, so that sizes share the draws.
        drawn = (
            [stream.permuted(sets, axis=1) for _ in range(_DRAWS)],
            [survivor_sets.ranked_sets(sets, signals, stream) for _ in range(_DRAWS)],
        )
        sizes = sets.sum(1)
        common_sizes = [s for s in np.unique(sizes) if (sizes == s).sum() >= _MIN_RUNS and s > 1]
        for size in [None, *common_sizes]:
            selected = np.full(len(sets), True) if size is None else sizes == size
            relation_rows = []
            for name, tuples in relations.items():
                observed = survivor_sets.count(sets[selected], tuples)
                expected = survivor_sets.expected(sets[selected], tuples)
                at_random, by_rank = (
                    np.array([survivor_sets.count(draw[selected], tuples).sum() for draw in draws])
                    for draws in drawn
                )
                relation_rows.append({
                    **keys,
                    "relation": name,
                    "size": size,
                    "observed": int(observed.sum()),
                    "expected": float(expected.sum()),
                    **_excess(observed, expected).columns("excess"),
                    "expected_by_rank": float(by_rank.mean()),
                    "p_random": two_sided(observed.sum(), at_random),
                    "p_rank": two_sided(observed.sum(), by_rank),
                    "n_runs": int(selected.sum()),
                    "n_planned": point.count,
                })  # fmt: skip
            adjusted = multipletests([row["p_random"] for row in relation_rows], method="holm")[1]
            for row, p in zip(relation_rows, adjusted, strict=True):
                yield row | {"p_adjusted": float(p)}
