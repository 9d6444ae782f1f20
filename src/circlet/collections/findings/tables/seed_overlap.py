"""Table ``seed_overlap``: similarity of the survivors of runs that share some of their seeds.

The Jaccard index of the survivors of two runs that share the embedding, the network, the train set,
or some of these, against that of two runs that share nothing.
"""

import itertools

import numpy as np
import pandas as pd

from circlet.analysis import log_frames, stats
from circlet.collections.findings import survivor_sets
from circlet.storage.schema import COUNTS, EXPERIMENT, Rows, column, estimate
from circlet.study.plan import Study

ROLES = ("crossed_seeds",)
TABLES = ("survival",)
COLUMNS = [
    EXPERIMENT,
    column("shared", "string", "what both have the same of: nothing, embedding, network+data, ..."),
    *estimate(
        "jaccard",
        "mean Jaccard index of the survivors of two runs; n: seeds of the kind with the fewest",
        "0..1",
    ),
    *estimate("gain", "the same minus that of runs that share nothing", "0..1"),
    *COUNTS,
]
_PARTS = ("embedding", "network", "data")


def overlaps(sets: np.ndarray, seeds: np.ndarray) -> dict[str, float]:
    """Mean Jaccard index of pairs of runs, by the names of the seeds that the pair shares.

    ``sets`` are (runs, n), bool; ``seeds`` (runs, parts).
    """
    a, b = np.triu_indices(len(sets), 1)
    index = survivor_sets.jaccard(sets[a], sets[b])
    same = seeds[a] == seeds[b]
    means = {}
    for shared in itertools.product((False, True), repeat=seeds.shape[1]):
        selected = (same == shared).all(1)
        if selected.any():
            name = "+".join(itertools.compress(_PARTS, shared)) or "nothing"
            means[name] = float(index[selected].mean())
    return means


def table(study: Study) -> Rows:
    """A row per combination of what two runs share.

    Intervals are from a jackknife that leaves out each seed in turn, with the variances of the
    kinds added. n counts independent seeds: those of the kind with the fewest.
    """
    [(keys, survival)] = log_frames.groups(study, "survival", ["experiment"])
    sets = survivor_sets.wide(survival, "survived")
    by_run = survival.drop_duplicates("run_id").set_index("run_id").loc[sets.index]
    seeds = by_run[[f"{part}_seed" for part in _PARTS]].to_numpy()
    values = sets.to_numpy(bool)
    whole = overlaps(values, seeds)
    names = list({"nothing": np.nan} | whole)
    without = []
    for kind in seeds.T:
        others = [kind != level for level in np.unique(kind)]
        rows = [overlaps(values[other], seeds[other]) for other in others]
        without.append(pd.DataFrame(rows, columns=names))
    fewest = min(map(len, without))
    for shared, mean in whole.items():
        row = keys | {"shared": shared}
        for name, base in (("jaccard", False), ("gain", True)):
            parts = [(f[shared] - base * f["nothing"]).dropna().to_numpy() for f in without]
            # With two seeds of a kind, nothing can be left out: then there is no interval.
            spread = np.nan
            if all(len(part) > 2 for part in parts):
                spread = float(np.sqrt(sum(stats.jackknife_error(part) ** 2 for part in parts)))
            value = mean - base * whole.get("nothing", np.nan)
            row |= stats.student(value, spread, fewest - 1, fewest).columns(name)
        yield row
