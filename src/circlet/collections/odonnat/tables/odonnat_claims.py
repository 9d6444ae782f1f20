"""Table ``odonnat_claims``: our values for the claims of Odonnat et al.'s paper and code.

The paper's text has no table of success rates, and shows heads, phases and spikes only in pictures;
our definitions are those of ``heads`` and ``spikes``. ``claims.csv`` has the values that the
released code gives, and the thresholds of claims in words. Shares of runs are counts among n.
Intervals are at 95 %, over runs: from order statistics for medians, Wilson's for counts.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from circlet.analysis import contrasts, stats
from circlet.analysis.stats import Estimate
from circlet.collections.odonnat import clusters, layer_projections, spike_effects, success
from circlet.collections.odonnat.equations import sparse_transformer as system
from circlet.collections.odonnat.systems.sparse_transformer import SYSTEM
from circlet.collections.odonnat.tables import heads as head_measures
from circlet.errors import LogError
from circlet.storage import parquet
from circlet.storage.schema import EFFECTS, Rows
from circlet.study.plan import Study
from circlet.study.seeds import Seeds

OPTIONAL_ROLES = (
    "heads",
    "fresh_heads",
    "spike_heads",
    "two_tokens",
    "batch_sizes",
    "learning_rates",
    "widths",
    "seed_effects",
    "scratch",
    "transfer",
    "curriculum",
    "curriculum_scratch",
)
TABLES = ("heads", "spikes")
OPTIONAL_TABLES = ("gradient_norms", "transfers", "interpolations", "seed_effects")
COLUMNS = EFFECTS

_AROUND = 10  # epochs around a drop of the loss, and around the plateau before it


def successes(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with a last test accuracy above 0.98."""
    return runs[runs["success"].astype(bool)]


def failures(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with a last test accuracy of at most 0.98."""
    return runs[~runs["success"].astype(bool)]


def count(holds: pd.Series) -> Estimate:
    """Count the runs for which a condition holds."""
    return stats.count(*stats.counted(holds))


def epochs(runs: pd.DataFrame, column: str) -> pd.Series:
    """Return a column of steps in epochs; NaN where the event never happened."""
    return runs[column].astype("Float64").astype(float) / runs["steps_per_epoch"]


def gap(runs: pd.DataFrame) -> pd.Series:
    """Epochs from the head to the fit, of the successes."""
    solved = successes(runs)
    return epochs(solved, "fit_step") - epochs(solved, "structure_step")


def fit_by_head(tables: dict[str, pd.DataFrame]) -> Estimate:
    """Epoch of the fit divided by that of the head, geometric mean over successes."""
    solved = successes(tables["heads"])
    return stats.geometric_mean(
        epochs(solved, "fit_step").clip(lower=1) / epochs(solved, "structure_step").clip(lower=1)
    )


def at(runs: pd.DataFrame, column: str, value: float) -> pd.DataFrame:
    """The runs at a value of a parameter."""
    return runs[np.isclose(runs[column].astype(float), value)]


def gradients_at_drops(tables: dict[str, pd.DataFrame]) -> Estimate:
    """Gradient norm at the first drop of the loss divided by that on the plateau before it.

    Both are the largest norm within 20 epochs: those around the drop, and those that end 30 epochs
    before it. The norm is that of all parts together; runs that drop before epoch 50 have no
    plateau.
    """
    solved = successes(tables["heads"])
    drops = dict(zip(solved["run_id"], epochs(solved, "drop_step"), strict=True))
    all_norms = tables["gradient_norms"]
    ratios = []
    for run_id, norms in all_norms[all_norms["run_id"].isin(drops)].groupby("run_id"):
        total = norms.assign(square=norms["norm"].astype(float) ** 2).groupby("step")["square"]
        size = np.sqrt(total.sum())
        per_epoch = solved["steps_per_epoch"].iloc[0]
        from_drop = size.index / per_epoch - drops[run_id]
        at_drop = size[np.abs(from_drop) <= _AROUND]
        before = size[(from_drop >= -5 * _AROUND) & (from_drop <= -3 * _AROUND)]
        if drops[run_id] >= 5 * _AROUND and len(at_drop) and len(before):
            ratios.append(at_drop.max() / before.max())
    return stats.geometric_mean(ratios)


def explained(tables: dict[str, pd.DataFrame], factor: str) -> Estimate:
    """Share of the variance of the outcome that a factor explains."""
    row = tables["seed_effects"].query("factor == @factor").iloc[0]
    return Estimate.of_row(row, "share")


def transferred(tables: dict[str, pd.DataFrame], solved: bool) -> pd.Series:
    """Test accuracy of the runs that started from a parent that had solved its task, or had not."""
    runs = tables["transfers"]
    return runs.loc[runs["parent_success"].astype(bool) == solved, "test_accuracy"]


def advantage(helped: pd.Series, alone: pd.Series) -> Estimate:
    """Return the share of successes with a curriculum minus that without, in percentage points."""
    one, other = helped > success.SOLVED, alone > success.SOLVED
    difference = contrasts.share_difference(*stats.counted(one), *stats.counted(other)).times(100)
    return difference._replace(n=min(len(one), len(other)))


def _exact(value: float) -> Estimate:
    return Estimate(value, value, value, 1)


def n_parameters(vocabulary: int) -> Estimate:
    """Number of parameters of the default network, counted from the arrays at step 0."""
    defaults = SYSTEM.defaults
    start = system.initial(defaults | {"vocabulary": vocabulary}, Seeds(0, 0, 0, 0))
    return _exact(sum(array.size for array in start.values()))


def idealised(measure: str) -> Estimate:
    """Return the hand-made head's largest error of a cluster, or its attention to distractors."""
    p, length, k = (layer_projections.IDEAL[name] for name in ("p", "length", "k"))
    weights = {name: torch.as_tensor(a)[None] for name, a in layer_projections.idealised().items()}
    of = clusters.probes(p, length, k)
    chosen = system.encode(of.tokens[None], p, k, torch.float64, torch.device("cpu"))
    if measure == "attention":
        attention = head_measures.distractor_attention(weights, of._replace(chosen=chosen), p, k)
        return _exact(attention.item())
    xi = system.embed(weights, chosen, p)[0].numpy()
    expected = np.stack([(2 * of.classes["sum"] - k) / k, np.ones(len(of.tokens))])
    return _exact(float(np.abs(xi - expected).max()))


def initial_states() -> pd.DataFrame:
    """Medians at step 0 over 100,000 starts of circlet and of the released code, by simulation."""
    path = Path(__file__).parents[1] / "initial_states.csv"  # a slow test makes it anew
    return pd.read_csv(path).set_index(["claim", "code"])


def at_start(claim: str) -> Estimate:
    """Return our median of a quantity that depends on the initial distribution alone."""
    return Estimate.of_row(initial_states().loc[(claim, "circlet")], "median")


Tables = dict[str, pd.DataFrame]
"""Tables that a claim may need, with the rows of its role."""

# Identifier, role, and effect as a function of `Tables`.
_CLAIMS: list[tuple[str, str, Callable[[Tables], Estimate]]] = [
    ("parameters_3", "heads", lambda t: n_parameters(3)),
    ("parameters_2", "heads", lambda t: n_parameters(2)),
    ("ideal_clusters", "heads", lambda t: idealised("clusters")),
    ("ideal_attention", "heads", lambda t: idealised("attention")),
    ("successes", "heads", lambda t: count(t["heads"]["success"])),
    ("best_successes", "heads",
     lambda t: count(t["heads"]["best_test_accuracy"] > success.SOLVED)),
    ("stuck", "heads", lambda t: count(t["heads"]["test_accuracy"] < success.STUCK)),
    ("accuracy_mean", "heads", lambda t: stats.bounded_mean(t["heads"]["test_accuracy"], 0, 1)),
    ("accuracy_deviation", "heads", lambda t: stats.deviation(t["heads"]["test_accuracy"])),
    *((f"fits_{e}", "heads", lambda t, e=e: count(epochs(t["heads"], "fit_step") <= e))
      for e in (100, 200, 300, 500, 700)),
    ("fit_epoch", "heads", lambda t: stats.median(epochs(t["heads"], "fit_step"))),
    ("heads_of_successes", "heads",
     lambda t: count(successes(t["heads"])["head_present"].dropna())),
    *((f"kind_{k}", "heads", lambda t, k=k: count(successes(t["heads"])["kind"].dropna() == k))
      for k in ("uniform", "signed", "distractor")),
    ("heads_of_failures", "heads",
     lambda t: count(failures(t["heads"])["head_present"].dropna())),
    ("suffix_successes", "heads", lambda t: stats.median(successes(t["heads"])["rho_suffix"])),
    ("suffix_failures", "heads", lambda t: stats.median(failures(t["heads"])["rho_suffix"])),
    ("suffix_initial", "heads", lambda t: at_start("suffix_initial")),
    ("histogram_successes", "heads",
     lambda t: count(successes(t["heads"])["rho_histogram"] < clusters.HEAD)),
    ("attention_successes", "heads",
     lambda t: stats.median(successes(t["heads"])["distractor_attention"])),
    ("attention_failures", "heads",
     lambda t: stats.median(failures(t["heads"])["distractor_attention"])),
    ("attention_initial", "heads", lambda t: at_start("attention_initial")),
    ("phase_order", "heads", lambda t: count(gap(t["heads"]) >= 0)),
    ("phase_gap", "heads", lambda t: stats.median(gap(t["heads"]))),
    ("two_phases", "heads", fit_by_head),
    ("gradients_at_drops", "heads", gradients_at_drops),
    ("spikes_per_run", "heads",
     lambda t: spike_effects.per_run(t["spikes"], successes(t["heads"])["run_id"])),
    ("spikes_by_representation", "heads",
     lambda t: spike_effects.by_representation(t["spikes"])),
    ("spikes_near_boundary", "spike_heads",
     lambda t: spike_effects.over_runs(t["spikes"], "boundary_distance")),
    ("spikes_of_feed_forward", "heads", lambda t: spike_effects.over_runs(t["spikes"], "mlp_gain")),
    ("spikes_of_normalisation", "heads",
     lambda t: spike_effects.over_runs(t["spikes"], "norm_gain")),
    ("steepness_in_spikes", "heads", lambda t: spike_effects.rise(t["spikes"], "mlp_gain")),
    ("norms_in_spikes", "heads", lambda t: spike_effects.rise(t["spikes"], "norm_gain")),
    ("sharpness_hardly_rises", "heads", lambda t: spike_effects.sharpening(t["spikes"])),
    ("two_tokens_successes", "two_tokens", lambda t: count(t["heads"]["success"])),
    *((f"learning_rate_{rate}", "learning_rates",
       lambda t, rate=rate: count(at(t["heads"], "learning_rate", rate)["success"]))
      for rate in (0.0003, 0.001, 0.01, 0.03)),
    ("batch_256", "batch_sizes", lambda t: count(at(t["heads"], "batch_size", 256)["success"])),
    ("width_128", "widths", lambda t: count(at(t["heads"], "hidden", 128)["success"])),
    ("initialisation_matters", "seed_effects", lambda t: explained(t, "initialisation")),
    ("scratch_successes", "scratch", lambda t: count(t["heads"]["success"])),
    ("transfer_of_solved", "transfer", lambda t: count(transferred(t, True) > success.SOLVED)),
    ("transfer_of_unsolved", "transfer", lambda t: count(transferred(t, False) > success.STUCK)),
    ("transfer_helps", "transfer",
     lambda t: advantage(transferred(t, True), t["scratch"]["test_accuracy"])),
    ("curriculum_successes", "curriculum", lambda t: count(t["heads"]["success"])),
    ("curriculum_accuracy", "curriculum",
     lambda t: stats.median(t["heads"]["test_accuracy"]).within(0, 1)),
    ("curriculum_helps", "curriculum",
     lambda t: advantage(t["heads"]["test_accuracy"], t["curriculum_scratch"]["test_accuracy"])),
    # Largest train loss on the straight line from scratch to curriculum; at its ends it is 0.
    ("curriculum_barrier", "curriculum",
     lambda t: stats.geometric_mean(t["interpolations"].groupby("run_id")["train_loss"].max())),
    ("wide_scratch_successes", "curriculum_scratch", lambda t: count(t["heads"]["success"])),
    ("wide_scratch_accuracy", "curriculum_scratch",
     lambda t: stats.median(t["heads"]["test_accuracy"]).within(0, 1)),
]  # fmt: skip

# Further roles and tables that a claim needs beside `heads` and `spikes` of its role.
_NEEDS = {
    "gradients_at_drops": ("gradient_norms",),
    "initialisation_matters": ("seed_effects",),
    "transfer_of_solved": ("transfers",),
    "transfer_of_unsolved": ("transfers",),
    "transfer_helps": ("scratch", "transfers"),
    "curriculum_helps": ("curriculum_scratch",),
    "curriculum_barrier": ("curriculum_scratch", "interpolations"),
}

# Claims of the role `heads` that need logs of every epoch; its others are about the ends of runs.
_WHOLE_RUNS = (
    "best_successes", "fits_100", "fits_200", "fits_300", "fits_500", "fits_700", "fit_epoch",
    "phase_order", "phase_gap", "two_phases", "spikes_per_run", "spikes_by_representation",
    "spikes_of_feed_forward", "spikes_of_normalisation", "steepness_in_spikes", "norms_in_spikes",
    "sharpness_hardly_rises",
)  # fmt: skip


def _roles(study: Study, claim: str, role: str) -> list[str]:
    """Return the roles whose runs answer a claim: runs of `fresh_heads` count as those of `heads`.

    Its gradient norms are not logged, and perhaps not every epoch.
    """
    more = study.reproduce.get("fresh_heads")
    if role != "heads" or not more or claim == "gradients_at_drops":
        return [role]
    is_whole = all(
        point.logs_every_epoch(kind)
        for point in study.experiment(more)
        for kind in ("curves", "parameters")
    )
    return [role, "fresh_heads"] if is_whole or claim not in _WHOLE_RUNS else [role]


def _tables(study: Study, claim: str, roles: list[str]) -> Tables | None:
    """Return the tables that a claim needs; None if the study lacks one."""
    needs = _NEEDS.get(claim, ())
    further = [need for need in needs if need not in OPTIONAL_TABLES]
    if not study.reproduce.keys() >= {*further}:  # tables that need the role are missing, too
        return None
    tables = {role: parquet.read_table(study, "heads", role) for role in further}
    for name in {"heads", "spikes", *needs} - tables.keys():
        tables[name] = pd.concat([parquet.read_table(study, name, role) for role in roles])
    if tables["spikes"].duplicated(["run_id", "step"]).any():
        raise LogError("table spikes: lists a spike twice")
    return tables


def table(study: Study) -> Rows:
    """Yield a row per claim whose role the study has."""
    for claim, role, effect in _CLAIMS:
        if role not in study.reproduce:
            continue
        roles = _roles(study, claim, role)
        tables = _tables(study, claim, roles)
        n_runs = len(tables["heads"]) if tables else 0
        measured = effect(tables) if tables and n_runs else Estimate()
        n_planned = sum(
            point.count
            for each_role in roles
            for point in study.experiment(study.reproduce[each_role])
        )
        counts = {"n_runs": n_runs, "n_planned": n_planned}
        yield {"claim": claim, **measured.columns("effect"), **counts}
