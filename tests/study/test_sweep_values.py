"""Grids and random points of a config become lists; more seeds at some points; blocks by cost."""

import math

import numpy as np
import pytest
from conftest import config, refused

from circlet.config import sweep_values
from circlet.study import planning


def points(**changes):
    return planning.plan(config(**changes)).points


def values(name, **changes):
    return [point.parameters[name] for point in points(**changes)]


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("weight_decay", {"logspace": [0.01, 1, 3]}, [0.01, 0.1, 1.0]),
        ("weight_decay", {"logspace": [0.01, 1, 4]}, [0.01, 0.04642, 0.2154, 1.0]),
        ("weight_decay", {"linspace": [0, 1, 5]}, [0, 0.25, 0.5, 0.75, 1]),
        ("weight_decay", {"range": [0, 3]}, [0, 1, 2]),
        ("p", {"linspace": [5, 7, 9]}, [5, 6, 7]),  # whole numbers, each once
        ("hidden", {"logspace": [16, 4096, 9]}, [2**k for k in range(4, 13)]),
        ("weight_decay", {"linspace": [0.12345, 0.54321, 3]}, [0.12345, 0.3333, 0.54321]),
        ("p", {"range": [5, 14, 4]}, [5, 9, 13]),
        ("weight_decay", {"linspace": [0.99981, 0.99989, 3]}, [0.99981, 0.99985, 0.99989]),
    ],
)
def test_grids_become_lists_whose_ends_are_as_given(name, given, expected):
    assert values(name, sweep={name: given}) == expected


def test_computed_values_stay_between_their_ends():
    """Even if four digits do not distinguish them, and if one should be zero."""
    given = {"weight_decay": {"uniform": [0.99981, 0.99989]}}
    drawn = values("weight_decay", sweep=given, sample=50)
    assert min(drawn) >= 0.99981 and max(drawn) <= 0.99989 and len(set(drawn)) > 40
    grid = sweep_values._grid("", "linspace", [-0.1, 0.2, 4], False)
    assert grid == [-0.1, 0.0, 0.1, 0.2] and math.copysign(1, grid[1]) == 1


def test_whole_numbers_are_drawn_alike_on_both_sides_of_zero():
    drawn = sweep_values._stream("uniform", [-3, 3], 0, "x", 7000, {"type": "integer"})
    assert set(drawn) == set(range(-3, 4))
    assert min(np.bincount(np.array(drawn) + 3)) > 900


RANGES = {"weight_decay": {"uniform": [0, 1]}, "p": {"uniform": [5, 9]}}


def test_points_are_drawn_once_and_stay():
    few, many = (points(sweep=RANGES, sample=n) for n in (20, 60))
    assert [p.name for p in many[:20]] == [p.name for p in few]
    assert len({p.name for p in many}) == 60
    assert {p.parameters["p"] for p in many} == {5, 6, 7, 8, 9}
    decays = np.array([p.parameters["weight_decay"] for p in many])
    assert 0.35 < decays.mean() < 0.65 and decays.min() >= 0 and decays.max() <= 1
    # A further parameter changes none of the values.
    more = points(sweep=RANGES | {"learning_rate": {"loguniform": [0.001, 0.1]}}, sample=20)
    assert [p.parameters["weight_decay"] for p in more] == list(decays[:20])
    rates = [p.parameters["learning_rate"] for p in more]
    assert 0.001 <= min(rates) < 0.01 < max(rates) <= 0.1
    other = points(sweep=RANGES, sample={"count": 20, "seed": 1})
    assert {p.name for p in other}.isdisjoint(p.name for p in few)
    with_a_grid = points(sweep=RANGES | {"initialisation": ["torch", "glorot"]}, sample=5)
    assert len(with_a_grid) == 10


def more_at(count, **where):
    more = [{"where": where, "count": count}]
    return {"sweep": {"weight_decay": [0, 1]}, "seeds": {"count": 2, "more": more}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sweep": {"p": {"logspace": [0, 1, 3]}}}, "logspace: both ends must be larger than 0"),
        ({"sweep": {"p": {"linspace": [5, 7]}}}, "the first and the last value, and how many"),
        ({"sweep": {"p": {"range": [7, 5]}}}, "range: [7, 5]: has no values"),
        ({"sweep": {"p": {"range": [5, 9, 0]}}}, "must be whole numbers: first, end and step"),
        ({"sweep": {"p": {"range": [0, 1e9]}}}, "at most 10000 are allowed"),
        ({"sweep": {"p": {"logspaced": [1, 2, 3]}}}, "did you mean 'logspace'?"),
        ({"sweep": {"p": {"uniform": [5, 9]}}}, "number of points, as in `sample: 100`"),
        ({"sweep": {"p": {"uniform": [9, 5]}}, "sample": 2}, "must be smaller than the second"),
        ({"sweep": {"p": [5]}, "sample": 2}, "nothing is drawn at random"),
        ({"sweep": {"p": {"uniform": [5, 6]}}, "sample": 9}, "fewer than 9 different points"),
        ({"sweep": {"p": {"linspace": [5, 7, math.inf]}}}, "inf must be finite"),
        ({"sweep": {"p": {"uniform": [5, 1e301]}}, "sample": 2}, "must be below 1e+300"),
        ({"sweep": {"p": {"choice": [[5]]}}, "sample": 1}, "choice.0"),
        ({"sweep": {"p": {"uniform": [5.5, 9]}}, "sample": 1}, "both must be whole numbers"),
        ({"sweep": {"weight_decay": {"linspace": [1000, 1001, 9999]}}}, "are equal when rounded"),
        (more_at(4, weight_decay=3), "e.seeds.more.0.where.weight_decay: no point has 3.0"),
        (more_at(4, weight_decai=1), "e.seeds.more.0.where: unknown key 'weight_decai'"),
        (more_at(3, weight_decay=1), "e.seeds.more.0.count: 3 is not a multiple of the block of 2"),
        (more_at(0, weight_decay=1), "e.seeds.more.0.count: 0 is less than the minimum of 1"),
    ],
)
def test_what_is_no_sweep_is_one_line(changes, said):
    error = refused(lambda: points(**changes))
    assert said in error and error.startswith("experiments.e")


def test_some_points_have_more_seeds():
    more = [{"where": {"weight_decay": 1}, "count": 6}, {"where": {"p": 5}, "count": 4}]
    longer = points(sweep={"weight_decay": [0, 1], "p": [5, 7]}, seeds={"count": 2, "more": more})
    counts = {(p.parameters["weight_decay"], p.parameters["p"]): p.count for p in longer}
    assert counts == {(0, 5): 4, (0, 7): 2, (1, 5): 6, (1, 7): 6}
    fewer = points(sweep={"weight_decay": [0, 1], "p": [5, 7]}, seeds={"count": 2})
    assert {b.json for p in fewer for b in p.blocks} < {b.json for p in longer for b in p.blocks}


def blocks(count, first=0, **changes):
    (point,) = points(block=None, seeds={"count": count, "first": first}, **changes)
    return [block.name for block in point.blocks]


def test_blocks_are_chosen_by_cost_and_more_seeds_change_none_that_is_full():
    assert blocks(20) == ["00000-00019"]
    assert blocks(100) == ["00000-00019", "00020-00049", "00050-00099"]
    assert blocks(120)[:-1] == blocks(100) and blocks(120)[-1] == "00100-00119"
    assert blocks(7) == ["00000-00006"]
    assert blocks(30, first=40) == ["00040-00049", "00050-00069"]
    # A run that takes minutes has a job for itself; neither steps nor logs decide this.
    wide = {"system": "embedding_mlp", "parameters": {"p": 400, "hidden": 2000}}
    assert blocks(3, **wide) == [f"{i:05d}-{i:05d}" for i in range(3)]
    assert blocks(100, steps=10**6) == blocks(100)
