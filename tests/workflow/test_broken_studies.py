"""Every table and figure of Ding et al. is made, however its runs ended."""

import numpy as np
import pytest
import yaml
from conftest import ROOT, config, experiment, make_all, make_tables, planned, run_blocks

from circlet.storage import parquet
from circlet.study import planning


def smoke(folder, **parameters):
    """Write the part of the smoke study that trains embedding_mlp, with some parameters changed."""
    whole = yaml.safe_load((ROOT / "config/smoke.yaml").read_text())
    experiments = {
        name: settings | {"parameters": settings["parameters"] | parameters}
        for name, settings in whole["experiments"].items()
        if settings["system"] == "embedding_mlp"
    }
    roles = {role: name for role, name in whole["reproduce"].items() if name in experiments}
    plots = [{"points": "primes"}, {"trajectories": "primes"}, {"curves": "primes"}]
    changed = {"experiments": experiments, "reproduce": roles, "figures": plots}
    return planning.plan({"results": str(folder)} | changed)


ROLES = ("table1", "weight_magnitudes", "projection_gallery", "network_forces")


# Parameters with which all runs diverge, and a table that is then empty.
@pytest.mark.parametrize(("system", "parameters", "roles", "empty"), [
    ("constant_attention", {"learning_rate": 1e30}, ROLES, "weight_magnitudes"),
    ("particles", {"step_size": 1e300}, ["table2"], "structures"),
    ("embedding_mlp", {"learning_rate": 1e30}, None, "survival"),
])  # fmt: skip
def test_a_study_whose_runs_all_diverge_has_all_tables_figures_and_a_report(
    tmp_path, system, parameters, roles, empty
):
    """Diverged runs have rows and are counted; no claim is judged."""
    if roles:
        settings = config(tmp_path, system=system, parameters=parameters, steps=20)
        study = planning.plan(settings | {"reproduce": dict.fromkeys(roles, "e")})
    else:
        study = smoke(tmp_path, **parameters)
    make_all(run_blocks(study))
    runs = parquet.read_table(study, "runs")
    without_parent = runs["experiment"] == "ablated_starts"
    assert set(runs.loc[~without_parent, "status"]) == {"diverged"}
    assert set(runs.loc[without_parent, "status"]) == ({"no_parent"} if "mlp" in system else set())
    assert parquet.read_table(study, empty).empty
    summary = parquet.read_table(study, "outcome_summary")
    assert (summary["n_runs"] == 0).all()
    assert summary[["estimate", "low", "high"]].isna().all(axis=None)
    one = summary[summary["outcome"] == study.specs[system].outcomes[0].name]
    assert one["n_planned"].sum() == sum(block.count for block in study.blocks)
    card = parquet.read_table(study, "scorecard")
    assert set(card["verdict"]) == {"not_run"} and (card["note"] != "").all()
    assert "diverged" in (tmp_path / "report.html").read_text()


def test_fits_of_too_few_steps_say_so(tmp_path):
    """Ten steps suffice for the unknowns of 2 frequencies, but not for those of 11."""
    statuses = {}
    for p in (5, 23):
        settings = experiment("embedding_mlp", parameters={"p": p, "d": 4, "hidden": 4}, steps=10,
                              log={"signals": {"every": 1}})  # fmt: skip
        roles = {"reproduce": {"ode_dimensions": "e"}}
        study = run_blocks(planned(tmp_path / str(p), roles, e=settings))
        fits = make_tables(study, "ode_fits")
        assert set(fits["n_steps"]) == {10}
        statuses[p] = set(fits["status"])
    assert statuses == {5: {"fitted"}, 23: {"too_few_steps"}}


def test_tables_hold_what_the_logs_say(tmp_path):
    """Final signals of ``survival`` are those of the log, and rates are counts of its rows."""
    study = smoke(tmp_path).subset(["initial_signals"], ["initial_signals"])
    make_tables(run_blocks(study), "circle_counts", "outcome_summary", "survival_rates")
    survival = parquet.read_table(study, "survival")
    for block in study.blocks:
        log = parquet.read_log(block, "signals")
        for step, column in ((0, "initial_signal"), (block.point.steps, "final_signal")):
            at = log[log["step"] == step].sort_values(["seed", "frequency"])["signal"]
            embedding = block.point.fixed_seeds["embedding"]
            mine = survival[survival["embedding_seed"] == embedding]
            mine = mine.sort_values(["seed", "frequency"])[column]
            np.testing.assert_allclose(mine, at, rtol=1e-4)
    rates = parquet.read_table(study, "survival_rates").set_index(["embedding_seed", "frequency"])
    for key, rows in survival.groupby(["embedding_seed", "frequency"]):
        assert rates.loc[key, "rate"] == rows["survived"].mean()
        assert rates.loc[key, "n_runs"] == 3
    counts = parquet.read_table(study, "circle_counts")
    assert counts["n_circles"].sum() == survival["survived"].sum()
    summary = parquet.read_table(study, "outcome_summary").set_index(["point", "outcome"])
    for point in study.points:
        runs = counts[counts["run_id"].str.contains(f"/{point.name}/", regex=False)]
        mean = runs["n_circles"].mean()
        assert summary.loc[(point.name, "n_circles"), "estimate"] == pytest.approx(mean)
