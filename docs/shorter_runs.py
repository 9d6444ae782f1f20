"""Claims of Ding et al. that shorter runs decide as the paper's 30 000 steps do.

The runs of the experiments ``trajectory`` and ``ablations`` of the frozen study full_length are
logged throughout. A claim's value is computed from them as if they had ended earlier, and from
their end. Shorter runs decide the same if the 95 % interval of the difference lies within the
claim's margin, at that step and at all later ones of `STEPS`. The column ``shorter`` of
``claims.csv`` has the first such step; docs/render.py checks it. Both values are from the same
runs, so the interval is the jackknife's over runs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from circlet.analysis import spectrum, stats, verdicts
from circlet.analysis.stats import Estimate
from circlet.collections.ding import survivors
from circlet.collections.ding.shared_seeds import SEEDS
from circlet.collections.ding.tables import ding_claims, survival_classifiers

STEPS = (1000, 2000, 3000, 10_000)
LAST = 30_000
SURVIVAL = ("initial_signals", "initial_gradients")  # roles of claims that any runs can answer
ROLES = (*SURVIVAL, "trajectory", "ablations")
FEATURES = ["initial_signal", "initial_gradient"]

Tables = Callable[[str], pd.DataFrame]


def survival(tables: Tables, step: int) -> pd.DataFrame:
    """Return the table ``survival`` as if runs had ended at the last logged step up to ``step``.

    Rule A counts both k and p - k; frequency 0, which is not logged, counts as 0.
    """
    logged = tables("trajectories")
    logged = logged[logged["step"] == logged.loc[logged["step"] <= step, "step"].max()]
    total = 2 * logged.groupby("run_id")["signal"].transform("sum")
    threshold = spectrum.survival_threshold(total, logged["p"])
    logged = logged.assign(
        survived=logged["signal"] > threshold, survived_absolute=logged["signal"] > 10
    )
    keys = ["run_id", "frequency"]
    rules = ["survived", "survived_absolute"]
    start = tables("survival").drop(columns=[*rules, "final_signal"])
    return start.merge(logged[[*keys, *rules]], on=keys)


def frame(tables: Tables, name: str, role: str, step: int) -> pd.DataFrame:
    """Return the rows that a claim is computed from, as if the runs had ended at ``step``."""
    if role not in SURVIVAL:
        rows = tables(name)
        return rows[(rows["experiment"] == role) & (rows["step"] <= step)]
    rows = survival(tables, step)
    rule = survivors.rule(step)[1] if role == "initial_gradients" else "survived"
    alive = rows[rule].astype(float)
    rows = rows.assign(alive=alive.astype(bool), rate=alive, rate_n=1)
    if name == "circle_counts":
        keys = ["run_id", *SEEDS]
        return rows.groupby(keys)["alive"].sum().rename("n_circles").reset_index()
    return rows


def svm(rows: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Accuracy of the linear SVM on signal and gradient, and its gain over the majority."""
    complete = rows.dropna(subset=["initial_gradient", "circularity"])
    x, alive = complete[FEATURES].to_numpy(float), complete["alive"].to_numpy(bool)
    estimates = survival_classifiers.held_out_accuracy(x, alive, complete)
    return estimates[0], estimates[2]


EFFECTS = {
    **{f"ding_{name}": (role, table, effect) for name, role, table, effect in ding_claims._CLAIMS},
    "ding_svm_accuracy": ("initial_gradients", "survival", lambda rows: svm(rows)[0]),
    "ding_svm_gain": ("initial_gradients", "survival", lambda rows: svm(rows)[1]),
}


def compared(tables: Tables, claims: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the claims about 30 000 steps that the logged runs can answer, with their values.

    ``claims`` are rows of `circlet.analysis.claims.read`, ``tables`` gives a table of the study by
    name. Each result has ``values`` at `STEPS` and at the end, ``gaps`` between them on the scale
    of the claim, and ``same``, the expected content of ``shorter``: empty if no step agrees.
    """
    results = []
    for claim in claims.to_dict("records"):
        role, name, effect = EFFECTS[claim["claim"]]
        if f"steps={LAST}" not in claim["conditions"] or role not in ROLES:
            continue
        frames = {step: frame(tables, name, role, step) for step in (*STEPS, LAST)}
        runs = sorted(set(frames[LAST]["run_id"]))
        to = verdicts.SCALES[claim["kind"]].to

        def value(step: int, chosen: list[str], frames=frames, effect=effect) -> float:
            rows = frames[step]
            return effect(rows[rows["run_id"].isin(chosen)]).value

        def gap(step: int, chosen: list[str], value=value, to=to) -> float:
            return to(value(step, chosen)) - to(value(LAST, chosen))

        values = {step: value(step, runs) for step in frames}
        if any(np.isnan(at_step) for at_step in values.values()):
            continue  # the claim needs several runs per embedding
        gaps = {
            step: stats.jackknife(
                gap(step, runs), np.array([gap(step, [r for r in runs if r != q]) for q in runs])
            )
            for step in STEPS
        }
        margin = verdicts.margin(claim)
        differs = [
            s for s, at_step in gaps.items() if not -margin <= at_step.low <= at_step.high <= margin
        ]
        later = [step for step in STEPS if step > max(differs, default=0)]
        results.append(
            {**claim, "values": values, "gaps": gaps, "same": f"steps>={later[0]}" if later else ""}
        )
    return results
