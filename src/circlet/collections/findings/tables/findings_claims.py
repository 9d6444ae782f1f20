"""Table ``findings_claims``: our values for the claims of docs/findings.md.

It has only values that are not a column of another table. ``claims.csv`` has the thresholds.
Intervals are at 95 %.
"""

from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd

from circlet.analysis import contrasts, stats
from circlet.analysis.stats import Estimate
from circlet.storage import parquet
from circlet.storage.schema import EFFECTS, Rows
from circlet.study.plan import Study
from circlet.study.points import Point

OPTIONAL_ROLES = ("shared_law", "network_forces", "precision", "survey")
OPTIONAL_TABLES = (
    "shared_laws",
    "shared_law_rollouts",
    "force_summary",
    "force_coefficients",
    "precision",
    "relations",
)
COLUMNS = EFFECTS


def _chosen(frame: pd.DataFrame, where: Mapping[str, object]) -> pd.DataFrame:
    for name, value in where.items():
        frame = frame[frame[name] == value]
    return frame


def _of(frame: pd.DataFrame, name: str, **where: object) -> Estimate:
    """Return an estimate of the only row with given values; empty if there is no such row."""
    rows = _chosen(frame, where)
    return Estimate() if rows.empty else Estimate.of_row(rows.iloc[0], name)


def gap(frame: pd.DataFrame, name: str, by: str, more: str, less: str) -> Estimate:
    """Subtract an estimate in the row ``less`` from that in the row ``more``; n is the smaller."""
    a, b = (_of(frame, name, **{by: kind}) for kind in (more, less))
    return contrasts.difference(a, b)._replace(n=min(a.n, b.n))


def beyond_persistence(laws: pd.DataFrame) -> Estimate:
    """Return the share of the residual of the law `persistence` that the law `memory` explains.

    From the window with the smallest lower bound.
    """
    of_memory = laws[laws["law"] == "memory"]
    return Estimate.of_row(
        of_memory.loc[of_memory["beyond_persistence_low"].idxmin()], "beyond_persistence"
    )


def strength_of_circles(coefficients: pd.DataFrame) -> Estimate:
    """Divide f_a of networks that end as circles by that of grids (see ``network_forces``)."""
    return contrasts.quotient(
        *(_of(coefficients, "f_a", structure=kind) for kind in ("circle", "grid"))
    )


def _by_seed(runs: pd.DataFrame, arithmetic: str) -> pd.DataFrame | None:
    """Runs of an arithmetic by seed, with the share of float64's circles that they keep."""
    chosen = runs[(runs["arithmetic"] == arithmetic) & runs["lost"].notna()].set_index("seed")
    kept = chosen["n_circles"] - chosen["gained"]
    return chosen.assign(kept=kept / (kept + chosen["lost"])) if len(chosen) else None


def kept(runs: pd.DataFrame, arithmetic: str) -> Estimate | None:
    """Share of the circles of float64 that another arithmetic keeps, mean over starts."""
    chosen = _by_seed(runs, arithmetic)
    return None if chosen is None else stats.bounded_mean(chosen["kept"], 0, 1)


def kept_more(runs: pd.DataFrame, arithmetic: str) -> Estimate | None:
    """Return `kept` minus the share that float32 with the usual gradient keeps, over starts."""
    usual, chosen = (_by_seed(runs, name) for name in ("float32 cancelling", arithmetic))
    if chosen is None or usual is None:
        return None
    return contrasts.paired_difference(usual["kept"], chosen["kept"], reach=1)[0]


def losing(runs: pd.DataFrame, arithmetic: str) -> Estimate | None:
    """Share of starts that lose a circle of float64."""
    chosen = _by_seed(runs, arithmetic)
    return (
        None if chosen is None else stats.share(*stats.counted(chosen["lost"] > 0), method="exact")
    )


def spikes(runs: pd.DataFrame, arithmetic: str) -> Estimate | None:
    """Largest late train loss divided by that of float64, geometric mean over starts."""
    twin, chosen = (_by_seed(runs, name) for name in ("float64 exact", arithmetic))
    if chosen is None or twin is None:
        return None
    return stats.geometric_mean(chosen["late_spike"] / twin["late_spike"])


def sums(relations: pd.DataFrame) -> Estimate:
    """How often one survivor is the sum of two others, relative to random sets of their sizes."""
    return _of(relations[relations["size"].isna()], "excess")


_NETWORK = {"d": 2, "weight_decay": 1, "pairs": "train"}
_Effect = Callable[[pd.DataFrame], Estimate | None]
# Identifier, role, table, values that select its rows of that role, effect (None: no such runs).
_CLAIMS: list[tuple[str, str, str, Mapping[str, object], _Effect]] = [
    ("memory_adds_to_persistence", "shared_law", "shared_laws", {}, beyond_persistence),
    *((name, "shared_law", "shared_law_rollouts", {"step": step},
       partial(_of, name=column, law=law))
      for name, step, law, column in (
        ("ratios_add_little", 50, "equivariant", "beyond_three"),
        ("free_law_is_worse", 50, "unconstrained", "beyond_three"),
        ("moments_diverge", 50, "mean_field", "beyond_three"),
        ("memory_diverges", 50, "memory", "beyond_three"),
        ("order_tells_as_much", 50, "three_numbers", "beyond_order"),
        ("order_tells_as_much_early", 10, "three_numbers", "beyond_order"),
        ("last_change_tells_more", 10, "persistence", "beyond_order"),
      )),
    ("circles_feel_more_alignment", "network_forces", "force_summary",
     _NETWORK | {"step": 50, "measure": "cosine_alignment"},
     lambda t: gap(t, "value", "structure", "circle", "grid")),
    ("circles_have_stronger_alignment", "network_forces", "force_coefficients",
     _NETWORK | {"after": 10}, strength_of_circles),
    ("exact_float32_keeps_circles", "precision", "precision", {},
     lambda t: kept(t, "float32 exact")),
    ("subtraction_loses_circles", "precision", "precision", {},
     lambda t: kept_more(t, "float32 exact")),
    ("subtraction_hurts_most_runs", "precision", "precision", {},
     lambda t: losing(t, "float32 cancelling")),
    ("subtraction_makes_spikes", "precision", "precision", {},
     lambda t: spikes(t, "float32 cancelling")),
    ("tf32_spares_circles", "precision", "precision", {},
     lambda t: kept_more(t, "float32 exact, tf32 products")),
    ("bfloat16_spares_circles", "precision", "precision", {},
     lambda t: kept_more(t, "float32 exact, bfloat16 products")),
    ("sums_are_rare", "survey", "relations", {"p": 59, "d": 128, "weight_decay": 0.5}, sums),
]  # fmt: skip


def _counts(rows: pd.DataFrame, points: list[Point]) -> dict[str, int]:
    """Count finished and planned runs; for laws, those scored: the second half of each point."""
    if "n_runs" in rows:
        finished, planned = rows["n_runs"].max(), rows["n_planned"].max()
    elif "run_id" in rows:
        finished, planned = rows["run_id"].nunique(), sum(point.count for point in points)
    else:
        finished = rows.groupby("point")["jaccard_n"].max().sum()
        planned = sum(point.count - point.count // 2 for point in points)
    return {"n_runs": int(finished), "n_planned": int(planned)}


def table(study: Study) -> Rows:
    """Yield a row per claim that the study's runs can answer."""
    for claim, role, name, where, effect in _CLAIMS:
        if role not in study.reproduce:
            continue
        rows = _chosen(parquet.read_table(study, name, role), where)
        value = effect(rows) if len(rows) else None
        if value is not None:
            counts = _counts(rows, study.experiment(study.reproduce[role]))
            yield {"claim": claim, **value.columns("effect"), **counts}
