"""Sums and ratios among survivors: correct counts, found if planted, and absent otherwise."""

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import experiment, planned, table_of

from circlet.collections.findings import survivor_sets
from circlet.collections.findings.tables import relations, seed_overlap
from circlet.storage import parquet

P = 23
N = 11


def draws(runs=200, size=4, seed=0):
    """Random sets (runs, N)."""
    stream = np.random.default_rng(seed)
    sets = np.zeros((runs, N), bool)
    sets[:, :size] = True
    return stream.permuted(sets, axis=1)


def test_relations_are_those_of_numbers():
    relations = survivor_sets.relations(P)
    for a, b, c in relations["sum"] + 1:
        assert 0 in {(a + b + c) % P, (a + b - c) % P, (a - b + c) % P, (a - b - c) % P}
    doubles = (relations["double"] + 1).tolist()
    assert [4, 8] in doubles and [8, 7] in doubles
    # Every unordered pair has one ratio, unless it is a double.
    pairs = [frozenset(pair) for name, rows in relations.items() if name != "sum" for pair in rows]
    assert sorted(map(sorted, pairs)) == [list(p) for p in itertools.combinations(range(N), 2)]
    assert set(survivor_sets.relations(24)) == {"sum", "double"}


def test_expected_counts_are_the_mean_over_all_sets():
    sets = np.array([[i in chosen for i in range(N)]
                     for chosen in itertools.combinations(range(N), 4)])  # fmt: skip
    relations = survivor_sets.relations(P)
    assert {"sum", "double"} <= relations.keys()
    for tuples in relations.values():
        mean = survivor_sets.count(sets, tuples).mean()
        assert survivor_sets.expected(sets[:1], tuples)[0] == pytest.approx(mean)


def test_sets_by_rank_keep_ranks():
    stream = np.random.default_rng(0)
    signals = stream.normal(size=(50, N))
    sizes = stream.integers(2, 5, 50)
    rank = (-signals).argsort(1).argsort(1)
    sets = rank < sizes[:, None]
    ranked = survivor_sets.ranked_sets(sets, signals, stream)
    np.testing.assert_array_equal(ranked, sets)  # the strongest survive: no other set can be drawn


def survival(sets):
    """Rows of the table `survival` of runs of one point."""
    runs, n = sets.shape
    signals = np.random.default_rng(1).normal(size=sets.shape)
    return pd.DataFrame(
        {"run_id": np.repeat([f"survey/p23_d128_wd0.5/{i:05d}" for i in range(runs)], n),
         "frequency": np.tile(np.arange(1, n + 1), runs), "survived": sets.ravel(),
         "initial_signal": signals.ravel()}
    )  # fmt: skip


def study_of(name, **changes):
    settings = experiment("embedding_mlp", **changes)
    return planned("r", {"reproduce": {name: name}}, **{name: settings})


def related(monkeypatch, sets):
    study = study_of("survey", parameters={"p": P})
    monkeypatch.setattr(parquet, "read_table", lambda *_: survival(sets))
    table = table_of(relations, study)
    return table[table["size"].isna()].set_index("relation")


def test_planted_exclusions_are_found(monkeypatch):
    sets = draws(runs=1500)
    clash = survivor_sets.count(sets, survivor_sets.relations(P)["double"]) > 0
    table = related(monkeypatch, sets[~clash])
    assert table.loc["double", "observed"] == 0 == table.loc["double", "excess_low"]
    none_seen = -np.log(0.025) / table.loc["double", "expected"]  # upper end of Poisson's interval
    assert table.loc["double", "excess_high"] == pytest.approx(none_seen)
    assert table.loc["double", "p_adjusted"] < 0.05 and table.loc["double", "p_rank"] < 0.05
    ordinary = table.drop(["double"])
    assert (ordinary["excess_low"] > 0.5).all()


def test_random_sets_have_no_relations(monkeypatch):
    hits = []
    for seed in range(3):
        table = related(monkeypatch, draws(runs=150, seed=seed))
        hits.append((table["p_adjusted"] < 0.05).any())
        assert table.loc["sum", "excess"] == pytest.approx(1, abs=0.35)
    assert sum(hits) <= 1


def test_the_seed_that_decides_is_found(monkeypatch):
    """Survivors depend only on the embedding."""
    seeds = np.array(list(itertools.product(range(6), range(5), range(5))))
    by_embedding = draws(runs=6)
    sets = by_embedding[seeds[:, 0]]
    rows = survival(sets).assign(experiment="crossed_seeds")
    for i, part in enumerate(("embedding", "network", "data")):
        rows[f"{part}_seed"] = np.repeat(seeds[:, i], N)
    parts = {part: [0, 1] for part in ("embedding", "network", "data")}
    study = study_of("crossed_seeds", seeds={"count": 2, **parts})
    monkeypatch.setattr(parquet, "read_table", lambda *_: rows)
    table = table_of(seed_overlap, study)
    gain = {row.shared: row for row in table.itertuples()}
    assert gain["embedding"].jaccard == 1
    assert gain["embedding"].gain_low > 0
    assert gain["network"].gain == pytest.approx(0) == gain["network+data"].gain
    # Six embeddings, five networks and five train sets: n is five, not a number of pairs.
    assert {row.gain_n for row in gain.values()} == {5}
