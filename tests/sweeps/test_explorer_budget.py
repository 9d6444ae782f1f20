"""Selection of an explorer's data: fairly shared, within its limits, and as logged."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import ROOT, experiment, planned, ran

from circlet.collections.ding.equations import embedding_mlp
from circlet.config import reading
from circlet.lazy_import import load
from circlet.pages import explorer
from circlet.pages.explorer import packing
from circlet.storage import parquet
from circlet.study import planning
from circlet.sweeps import explorer_budget
from circlet.sweeps.tables import explorer_runs, explorer_states

STUDY = planning.plan_file(ROOT / "config/smoke.yaml")
NETWORK = experiment(seeds={"count": 6}, block=6, steps=40, sweep={"weight_decay": [0, 1]})
CIRCLES = experiment("embedding_mlp", seeds={"count": 4}, block=4, steps=40)


def rows(outcomes):
    """Return runs with these outcomes, by point."""
    return pd.DataFrame(
        [
            {"point": place, "seed": seed, "outcome": outcome}
            for place, of_point in enumerate(outcomes)
            for seed, outcome in enumerate(of_point)
        ]
    )


def test_the_end_of_a_run_is_its_last_step(tmp_path):
    block = next(ran(tmp_path, **CIRCLES).blocks)
    states = list(explorer_states._rows(block, dict.fromkeys(block.seeds, "end"), {}))
    assert {row["step"] for row in states} == {block.point.steps}
    assert {row["run_id"] for row in states} == {block.point.run_id(seed) for seed in block.seeds}
    names = {row["name"] for row in states}
    assert "embedding" in names and "curves" not in names


def affordable(costs, counts, budget):
    """Return how many runs fit into a budget, for two points of one system and one of another."""
    runs = pd.DataFrame({"point": np.repeat([0, 1, 2], counts), "other": True})
    runs["place"] = runs["point"].map({0: 0, 1: 1, 2: 0})
    fit = explorer_budget._affordable(runs, costs, budget)["point"]
    return fit.value_counts().reindex([0, 1, 2], fill_value=0).tolist()


def test_every_point_first_then_who_has_least():
    costs, counts = [1, 1, 10], [6, 6, 4]
    assert affordable(costs, counts, 11) == [1, 0, 1]  # systems take turns
    assert affordable(costs, counts, 12) == [1, 1, 1]
    assert affordable(costs, counts, 17) == [4, 3, 1]  # no room for another 10
    assert affordable(costs, counts, 24) == [6, 6, 1]
    assert affordable(costs, counts, 32) == [6, 6, 2]
    assert affordable(costs, counts, 1000) == counts
    assert affordable([9, 0, 2], [6, 6, 4], 5) == [0, 0, 2]  # a zero: there is nothing to show


def test_of_a_point_the_first_seed_of_each_outcome_comes_first(monkeypatch):
    (point,) = planned(a=NETWORK | {"sweep": {}}).points
    runs = rows([["grid", "grid", "grid", "circle", "grid", "circle"]])
    runs = runs.sample(frac=1, random_state=0)  # rows may come in any order
    room = explorer_budget._training(point)
    monkeypatch.setattr(explorer_budget, "TRAININGS", 3 * room)
    monkeypatch.setattr(explorer_budget, "LISTED", 5)
    monkeypatch.setattr(explorer_budget, "ENDS", 0)
    shown = explorer_budget.choose(runs.assign(named=False), [point])
    shown = pd.Series(shown, index=runs["seed"]).sort_index()
    # Order: seeds 0 (grid), 3 (circle), 1, 5, 2, 4.
    assert shown.tolist() == ["training", "training", "outcome", "training", "nothing", "outcome"]


def test_named_runs_of_all_points_come_before_others_of_any(monkeypatch):
    ps = planned(a=NETWORK).points
    runs = rows([["grid"] * 6] * 2)
    runs["named"] = (runs["point"] == 0) & (runs["seed"] > 2)
    room = explorer_budget._training(ps[0])
    monkeypatch.setattr(explorer_budget, "TRAININGS", 4 * room)
    runs["shown"] = explorer_budget.choose(runs, ps)
    played = runs[runs["shown"] == "training"]
    assert played[["point", "seed"]].to_numpy().tolist() == [[0, 3], [0, 4], [0, 5], [1, 0]]


def test_the_best_run_of_a_point_has_the_highest_accuracy_and_of_those_the_lowest_loss():
    runs = pd.DataFrame(
        {
            "point": [0, 0, 0, 0, 1, 1],
            "seed": [0, 1, 2, 3, 1, 0],
            "test_accuracy": [0.5, 0.9, 0.9, None, None, None],
            "test_loss": [0.1, 0.3, 0.2, 0.0, None, None],
        }
    )
    assert explorer_runs._best(runs).tolist() == [False, False, True, False, False, True]
    assert explorer_runs._best(runs[["point", "seed"]]).tolist() == [1, 0, 0, 0, 0, 1]


def test_runs_that_figures_show_can_be_played_where_others_cannot(finished, monkeypatch):
    pictures = list((finished.folder / "results/smoke/figures").glob("*.svg"))
    links = [re.findall(r"explorer\.html#run=([^&\"]+)", path.read_text()) for path in pictures]
    drawn = set(itertools.chain(*links))
    assert len(drawn) > 50
    results = str(finished.folder / "results/smoke")
    study = planning.plan(reading.read(ROOT / "config/smoke.yaml") | {"results": results})
    monkeypatch.setattr(explorer_budget, "TRAININGS", 600_000)  # the study has 736,000
    shown = explorer_runs.table(study).set_index("run_id")["shown"]
    assert set(shown) == {"training", "end"}
    assert {shown[run] for run in drawn} == {"training"}


def test_a_training_has_at_most_so_many_steps_and_bytes():
    often = {"embeddings": {"every": 1}, "parameters": {"every": 1}}
    (small,) = planned(a=experiment(steps=1000, log=often)).points
    (large,) = planned(a=experiment("embedding_mlp", steps=1000, log=often)).points
    for point in (small, large):
        for kind, size in explorer_budget.arrays(point).items():
            steps = explorer_budget.frames(point, kind)
            assert steps[0] == 0 and steps[-1] == 1000
            assert len(steps) <= explorer_budget.FRAMES
            assert len(steps) * size * explorer_budget.VALUE <= explorer_budget.RUN
    assert len(explorer_budget.frames(small, "parameters")) == explorer_budget.FRAMES
    # The page has a large network's answers and their probabilities, not its 49 311 weights.
    assert explorer_budget.arrays(large)["parameters"] == 2 * (59 * 59 + explorer_budget.SCALE)


def test_states_leave_room_for_the_rest_of_the_page():
    """The page with the library and the worst case of all states is below 18 MB."""
    noise = np.random.default_rng(0).bytes(explorer_budget.ENDS + explorer_budget.TRAININGS)
    library = packing.text(explorer._read("vendored/plotly.js"))
    code = "".join(explorer._modules(STUDY).values())
    assert len(packing.text(noise) + library + code) < 18e6


@pytest.mark.parametrize("how", ["training", "end"])
@pytest.mark.parametrize("settings", [NETWORK | {"sweep": {}}, CIRCLES], ids=["whole", "not whole"])
def test_the_budget_counts_the_bytes_of_the_page(tmp_path, settings, how):
    block = next(ran(tmp_path, **settings).blocks)
    rows = explorer_states._rows(block, dict.fromkeys(block.seeds, how), {})
    states = pd.DataFrame(rows)
    chunk = packing._chunk(states.itertuples(index=False))
    used = len(chunk) - 4 - int.from_bytes(chunk[:4], "little")
    size = {"training": explorer_budget._training, "end": explorer_budget._end}[how]
    padding = 3 * states.groupby(["run_id", "name"]).ngroups  # at most
    assert used - padding <= block.count * size(block.point) < 1.1 * used


def test_logs_that_are_not_written_are_not_shown():
    (point,) = planned(a=experiment(log={"curves": None, "parameters": None})).points
    assert set(explorer_budget.arrays(point)) == {"embeddings", "signals"}


def answers(block, step):
    """Probability and class of the answers of the last run of a block to all ordered pairs."""
    logged = parquet.read_weights(block, [step])
    weights = {name: torch.as_tensor(values[0, -1]) for name, values in logged.items()}
    parameters = block.point.parameters
    left, right = weights["embedding"][embedding_mlp.pairs(parameters["p"]).T]
    _, logits = embedding_mlp.forward(weights, parameters, left, right)
    return logits.softmax(-1).max(-1)


def test_states_are_those_of_the_logs(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    states = pd.read_parquet("results/smoke/tables/explorer_states.parquet")
    assert not states.duplicated(["run_id", "name", "step"]).any()
    seen = set()

    def last(log):
        return log[log["seed"] == log["seed"].max()]

    for block in STUDY.blocks:
        run_id = block.point.run_id(block.seeds[-1])
        shown = states[states["run_id"] == run_id]
        for name, rows in shown.groupby("name"):
            row = rows.iloc[len(rows) // 2]
            step = row["step"]
            if name == "signals":
                log = last(parquet.read_log(block, "signals", [step]))
                expected = log.sort_values("frequency")["signal"]
            elif name == "curves":
                log = last(parquet.read_log(block, "curves", [step]))
                expected = log[list(block.point.system.metrics)].iloc[0]
            elif name == "embedding" and "embeddings" in block.point.logs:
                log = last(parquet.read_log(block, "embeddings", [step]))
                expected = np.concatenate(log.sort_values("token")["vector"].tolist())
            elif name == "trained":
                equations = load(block.point.system.equations)
                seeds = block.point.seeds(block.seeds[-1])
                expected = equations.train_mask(block.point.parameters, seeds)
            elif name in ("answers", "probability"):
                expected = row["values"]
                np.testing.assert_allclose(expected, answers(block, step)[name == "answers"], 1e-5)
            else:
                weights = parquet.read_weights(block, [step])[name][0, -1]
                assert list(row["shape"]) == list(weights.shape)
                expected = weights.ravel()
            np.testing.assert_array_equal(row["values"], expected)
            seen.add((block.point.system.name, name))
    assert {system for system, _ in seen} == set(STUDY.systems)
    assert ("sparse_transformer", "query") in seen
    without = {name for system, name in seen if not STUDY.specs[system].explorer_weights}
    assert without == {"embedding", "signals", "curves", "answers", "probability", "trained"}
    assert ("constant_attention", "trained") in seen


def test_blocks_without_anything_to_show_are_not_read(tmp_path):
    """This block has no logs, so reading it would be an error."""
    block = next(planned(tmp_path, a=NETWORK).blocks)
    assert not list(explorer_states._rows(block, dict.fromkeys(block.seeds, "outcome"), {}))


def test_states_nearest_to_moments_are_there(tmp_path):
    """States nearest to moments are added to the usual steps, only for the run with moments."""
    block = next(ran(tmp_path, log={"embeddings": {"every": 3}}, steps=900).blocks)
    shown = dict.fromkeys(block.seeds, "training")
    rows = pd.DataFrame(explorer_states._rows(block, shown, {block.first: [310]}))
    rows = rows[rows["name"] == "embedding"]
    usual = set(explorer_budget.frames(block.point, "embeddings"))
    assert 309 not in usual
    steps = rows.groupby("run_id")["step"].agg(set)
    first, second = (block.point.run_id(seed) for seed in block.seeds)
    assert steps[first] == usual | {309}
    assert steps[second] == usual
