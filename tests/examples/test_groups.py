"""The example of a user's collection: groups, their representations, and a study of networks."""

import itertools
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import yaml
from conftest import ROOT, experiment, make_all, planned, refused, run_blocks

import circlet
from circlet import check, cli
from circlet.analysis import spectrum
from circlet.storage import parquet
from circlet.study import planning, registry, targets

FOLDER = ROOT / "examples/groups"
registry.find([str(FOLDER)])

from circlet.collections.groups import (  # noqa: E402
    finite_groups,
    representations,
    subgroups,
    survivors,
)

NAMES = ("C1", "C7", "C12", "D1", "D2", "D5", "D8", "Q8", "Q12", "S3", "S4", "A4", "A5", "S5",
         "C2xS3", "C2xC2xC3", "S3xQ8")  # fmt: skip


def study(results, **changes):
    return planned(results, {"collections": [str(FOLDER)]}, e=experiment("groups.mlp", **changes))


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_those_of_groups(name):
    table = finite_groups.multiplication(name)
    n = finite_groups.order(name)
    elements = np.arange(n)
    assert table.shape == (n, n)
    assert (table[0] == elements).all() and (table[:, 0] == elements).all()  # 0 is the identity
    assert (np.sort(table, axis=0) == elements[:, None]).all()  # so there are inverses
    assert (np.sort(table, axis=1) == elements).all()
    assert (table[table] == table[:, table]).all()  # (a b) c at a, b, c, and a (b c)


def test_elements_are_numbered_as_documented():
    assert finite_groups.multiplication("C5")[3, 4] == 2
    dihedral = finite_groups.multiplication("D4")
    r, s = 1, 4
    assert dihedral[r, s] == 5  # r s
    assert dihedral[s, r] == 4 + 3  # s r = r^-1 s
    assert dihedral[s, s] == 0
    quaternion = finite_groups.multiplication("Q8")
    assert quaternion[4, 4] == 2  # s s = r^2, that is -1
    assert (np.diagonal(quaternion) == 0).sum() == 2  # 1 and -1
    permutations = list(itertools.permutations(range(4)))
    a, b = permutations.index((1, 2, 3, 0)), permutations.index((0, 1, 3, 2))
    assert permutations[finite_groups.multiplication("S4")[a, b]] == (1, 2, 0, 3)  # b first
    product = finite_groups.multiplication("C2xC3")
    assert product[1 * 3 + 2, 1 * 3 + 2] == 0 * 3 + 1  # (1, 2) + (1, 2) = (0, 1)


@pytest.mark.parametrize("name", NAMES)
def test_characters_are_orthonormal_and_parts_sum_to_the_whole(name):
    group = representations.of(name)
    n = len(group.table)
    both = np.concatenate([group.characters, group.characters[group.is_pair].conj()])
    products = both @ both.conj().T / n
    assert np.abs(products - np.eye(len(both))).max() < 1e-9
    assert len(both) == len(set(representations.classes(group.table)))
    assert (np.abs(both[:, 0]) ** 2).sum().round() == n
    embedding = np.random.default_rng(0).normal(size=(n, 3))
    squares = (1 + group.is_pair) * group.signals(embedding) ** 2
    assert squares.sum() == pytest.approx(n * (embedding**2).sum())


@pytest.mark.parametrize("name", NAMES)
def test_signals_are_norms_of_projections(name):
    """Only characters of irreducible representations give such projections."""
    group = representations.of(name)
    embedding = np.random.default_rng(0).normal(size=(len(group.table), 3))
    signals = group.signals(embedding)
    assert len(signals) == len(group.names)
    quotients = group.table[:, (group.table == 0).argmax(1)]  # x y^-1
    scaled = group.dimensions[:, None] / len(embedding) * group.characters.conj()
    for i, signal in enumerate(signals):
        projector = scaled[i][quotients]
        assert np.abs(projector @ projector - projector).max() < 1e-9
        assert np.abs(projector - projector.conj().T).max() < 1e-9
        assert np.trace(projector).real == pytest.approx(group.dimensions[i] ** 2)
        expected = np.sqrt(len(embedding)) * np.linalg.norm(projector @ embedding)
        assert signal == pytest.approx(expected)


@pytest.mark.parametrize("p", (7, 12, 23))
def test_signals_of_a_cyclic_group_are_those_of_circlet(p):
    embedding = np.random.default_rng(0).normal(size=(p, 5))
    signals, expected = representations.of(f"C{p}").signals(embedding), spectrum.signals(embedding)
    assert signals[1 : (p + 1) // 2] == pytest.approx(expected[1 : (p + 1) // 2])


def test_s4_tells_its_faithful_representations_apart_by_transpositions():
    group = representations.of("S4")
    transposition = list(itertools.permutations(range(4))).index((0, 1, 3, 2))
    assert group.names == ["1a", "1b", "2a", "3a", "3b"]
    assert group.characters[:, transposition].real.round(9).tolist() == [1, -1, 0, 1, -1]
    assert group.kernels.tolist() == [24, 12, 4, 1, 1]


def test_names_are_the_dimension_and_a_letter():
    assert representations.of("A5").names == ["1a", "3a", "3b", "4a", "5a"]
    assert representations.of("C2xA4").names == ["1a", "1b", "1c", "1d", "3a", "3b"]
    long = representations.of("C60").names
    assert long[1] == "1b" and long[25:28] == ["1z", "1aa", "1ab"]


def test_subgroups_and_the_fewest_cosets():
    counts = {"S4": 30, "Q8": 6, "A4": 10, "C12": 6}
    for name, count in counts.items():
        assert len(subgroups.subgroups(finite_groups.multiplication(name))) == count
    # S4 on 2, 3, 4 and 6 things: modulo A4, D4, S3 and C4.
    assert subgroups.fewest_cosets(representations.of("S4")) == [1, 2, 3, 4, 6]
    # Every subgroup of Q8 but the trivial one has -1, which its faithful representation negates.
    assert subgroups.fewest_cosets(representations.of("Q8"))[-1] == 8


def test_survivors_are_relative_to_the_strongest_by_dimension():
    group = representations.of("S4")
    signals = np.array([100, 0.3, 2, 1.2, 0.5])
    relative = survivors.relative(signals, group)
    assert relative == pytest.approx([100, 0.3, 1, 0.4, 0.5 / 3])
    assert survivors.survives(relative).tolist() == [True, False, True, True, False]
    assert not survivors.relative(np.zeros(5), group).any()


BAD = {
    **dict.fromkeys(("Z5", "C2x", "Q6"), "needs a group"),
    **dict.fromkeys(("C1", "S999"), "2 to 720 elements"),
}


@pytest.mark.parametrize(("name", "text"), BAD.items())
def test_a_bad_name_of_a_group_is_one_line_of_the_plan(name, text, tmp_path):
    error = refused(lambda: study(tmp_path, parameters={"group": name}))
    assert text in error and "experiments.e" in error


@pytest.mark.parametrize("file", ("groups.yaml", "s5.yaml"))
def test_its_configs_make_its_tables_and_figures(file):
    config = yaml.safe_load((FOLDER / file).read_text())
    whole = planning.plan(config | {"collections": [str(FOLDER)]})
    tables, figures = targets.names(whole)
    declared = {"groups.signals", "groups.outcomes", "groups.survival"}
    assert declared <= set(tables)
    assert figures[-3:] == ["groups.cosets", "groups.survival", "groups.training"]
    assert all("outcome" not in name and "." not in name for name in figures[:-3])
    assert len(figures) > 4  # pictures of its experiments, without a line of code
    assert all(point.count >= 10 for point in whole.points)


def test_circlet_check_finds_no_fault():
    findings = list(check.collection(FOLDER))
    assert [finding for finding in findings if finding.result != "ok"] == []
    assert len(findings) > 15


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small study with all that it makes."""
    made = study(
        tmp_path_factory.mktemp("groups") / "results",
        sweep={"group": ["S3", "C5"]},
        parameters={"d": 8, "hidden": 16},
        steps=60,
        log={"embeddings": {"every": 20}},
        compare={"group": ["S3", "C5"]},
    )
    make_all(run_blocks(made))
    return made


def test_its_tables_are_those_of_the_logs(small):
    made, block = small, next(small.blocks)
    signals = parquet.read_table(made, "groups.signals")
    assert block.point.parameters["group"] == "S3"
    logged = parquet.read_log(block, "embeddings")
    last = logged[(logged["seed"] == 1) & (logged["step"] == 60)].sort_values("token")
    expected = representations.of("S3").signals(np.stack(last["vector"]))
    run = signals[(signals["run_id"] == block.point.run_id(1)) & (signals["step"] == 60)]
    left = run[run["part"] == "left"].set_index("representation")["signal"]
    assert left[["1a", "1b", "2a"]].to_numpy() == pytest.approx(expected)
    steps = signals.groupby("part")["step"].unique().map(sorted)
    assert steps["left"] == [0, 20, 40, 60] and steps["right"] == steps["output"] == [0, 60]

    survival = parquet.read_table(made, "groups.survival")
    rows = survival[(survival["group"] == "S3") & (survival["part"] == "left")]
    assert rows["representation"].tolist() == ["1a", "1b", "2a"]
    assert rows["cosets"].tolist() == [1, 2, 3] and rows["kernel"].tolist() == [6, 3, 1]
    final = signals[(signals["step"] == 60) & (signals["part"] == "left")]
    alive = final[(final["group"] == "S3") & (final["representation"] == "2a")]["relative"] > 1 / 3
    assert rows["survived"].iloc[2] == alive.mean() and rows["survived_n"].iloc[2] == 2

    outcomes = parquet.read_table(made, "groups.outcomes")
    assert len(outcomes) == 4
    of_s3 = outcomes[outcomes["group"] == "S3"]
    assert (of_s3["kernel"] == np.where(of_s3["survivors"].str.contains("2a"), 1, 3)).all()
    assert (outcomes["n_survivors"] == outcomes["survivors"].str.split().str.len()).all()


def test_what_any_sweep_has_works_for_it(small, capsys):
    """Outcomes, effects, power, comparison and loading know a system that circlet does not have."""
    names = {outcome.name for outcome in small.outcomes("groups.mlp")}
    runs = parquet.read_table(small, "groups.outcomes").set_index("run_id")
    outcomes = parquet.read_table(small, "outcomes")
    assert set(outcomes["outcome"]) <= names
    counts = outcomes[outcomes["outcome"] == "n_survivors"].set_index("run_id")["value"]
    assert counts.to_dict() == runs["n_survivors"].to_dict()
    effects = parquet.read_table(small, "effects")
    assert set(effects["parameter"]) == {"group"} and set(effects["per"]) == {"S3 to C5"}
    compared = parquet.read_table(small, "comparisons").set_index("outcome")
    means = counts.groupby(runs["group"]).mean()
    assert compared.loc["n_survivors", "estimate"] == pytest.approx(means["C5"] - means["S3"])

    loaded = circlet.load(small.results)
    curves = loaded.log("curves", group="S3", steps=[60])
    assert set(curves["run_id"]) == set(runs.index[runs["group"] == "S3"])
    assert set(loaded.log("embeddings")["group"]) == {"S3", "C5"}

    given = ["--study", small.json, "--collections", str(FOLDER)]
    cli.main(["power", *given, "--half-width", "n_survivors=0.1"])
    said = capsys.readouterr().out
    assert "n_survivors" in said and "runs needed" in said
    cli.main(["compare", str(small.results), str(small.results)])
    assert "the same survive in all parts" in capsys.readouterr().out


@pytest.mark.slow
def test_the_collection_as_an_installed_package(tmp_path):
    """Jobs find it by its name, wherever it is installed."""
    ignored = shutil.ignore_patterns("__pycache__")
    source = shutil.copytree(FOLDER, tmp_path / "source", ignore=ignored)
    there = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", there, source], check=True)
    settings = {"system": "groups.mlp", "steps": 5, "seeds": {"count": 2}}
    config = {"results": "results", "collections": ["groups"], "experiments": {"e": settings}}
    (tmp_path / "mine.yaml").write_text(json.dumps(config))
    snakemake = [sys.executable, "-m", "snakemake", "-s", ROOT / "Snakefile", "--cores", "1"]
    done = subprocess.run(
        [*snakemake, "table_groups.survival", "--configfile", "mine.yaml"], cwd=tmp_path, text=True,
        env=os.environ | {"PYTHONPATH": f"{there}:{ROOT / 'src'}"}, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "results/tables/groups.survival.parquet").exists()
