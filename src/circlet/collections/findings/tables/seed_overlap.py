"""Table ``seed_overlap``: similarity of the survivors of runs that share some of their seeds.

The Jaccard index of the survivors of two runs that share the embedding, the network, the train set,
or some of these, against that of two runs that share nothing.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from circlet.analysis import stats
from circlet.collections.findings import survivor_sets
from circlet.storage import parquet
from circlet.storage.schema import COUNTS, EXPERIMENT, column, estimate
from circlet.study.plan import Study

ROLES = ("crossed_seeds",)
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column(
        "shared", pa.string(), "what both have the same of: nothing, embedding, network+data, ..."
    ),
    *estimate(
        "jaccard",
        "mean Jaccard index of the survivors of two runs; n: seeds of the kind with the fewest",
        "0..1",
    ),
    *estimate("gain", "the same minus that of runs that share nothing", "0..1"),
    *COUNTS,
]
_PARTS = ("embedding", "network", "data")


def overlaps(sets: np.ndarray, seeds: np.ndarray) -> dict[tuple[int, ...], float]:
    """Mean Jaccard index of pairs of runs, by which seeds the pair shares.

    ``sets`` are (runs, n), bool; ``seeds`` (runs, parts).
    """
    a, b = np.triu_indices(len(sets), 1)
    index = survivor_sets.jaccard(sets[a], sets[b])
    same = seeds[a] == seeds[b]
    means = {}
    for shared in itertools.product((False, True), repeat=seeds.shape[1]):
        selected = (same == shared).all(1)
        if selected.any():
            means[tuple(i for i, is_same in enumerate(shared) if is_same)] = float(
                index[selected].mean()
            )
    return means


def error(parts: list[np.ndarray]) -> float:
    """Return the jackknife's standard error; ``parts`` has values without each level, by factor."""
    return float(np.sqrt(sum(stats.jackknife_error(part) ** 2 for part in parts)))


def table(study: Study) -> Iterator[dict]:
    """A row per combination of what two runs share.

    Intervals are from a jackknife that leaves out each seed in turn, with the variances of the
    kinds added. n counts independent seeds: those of the kind with the fewest.
    """
    survival = parquet.read_table(study, "survival", "crossed_seeds")
    sets = survivor_sets.wide(survival, "survived")
    by_run = survival.drop_duplicates("run_id").set_index("run_id").loc[sets.index]
    seeds = by_run[[f"{part}_seed" for part in _PARTS]].to_numpy()
    values = sets.to_numpy(bool)
    whole = overlaps(values, seeds)
    without = [
        [overlaps(values[seeds[:, i] != level], seeds[seeds[:, i] != level])
         for level in np.unique(seeds[:, i])] for i in range(len(_PARTS))
    ]  # fmt: skip
    fewest = min(map(len, without))
    for shared, mean in whole.items():
        row: dict = {
            "experiment": study.reproduce["crossed_seeds"],
            "shared": "+".join(_PARTS[i] for i in shared) or "nothing",
            "n_runs": len(values),
            "n_planned": sum(p.count for p in study.experiment(study.reproduce["crossed_seeds"])),
        }
        for name, base in (("jaccard", False), ("gain", True)):
            parts = [
                np.array(
                    [
                        overlap[shared] - base * overlap[()]
                        for overlap in factor
                        if {shared, ()} <= set(overlap)
                    ]
                )
                for factor in without
            ]
            # With two seeds of a kind, nothing can be left out: then there is no interval.
            has_interval = all(len(part) > 2 for part in parts)
            spread = error(parts) if has_interval else np.nan
            value = mean - base * whole.get((), np.nan)
            row |= stats.student(value, spread, fewest - 1, fewest).columns(name)
        yield row
