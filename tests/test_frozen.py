"""Frozen studies: tables follow from each other without logs, or the audit says which do not."""

import contextlib
import re
import shutil

import pandas as pd
import pytest
import yaml
from conftest import experiment, make_tables, ran, rewrite
from projects import edit

from circlet import compare, frozen
from circlet.cli import main
from circlet.errors import ConfigError, LogError
from circlet.storage import parquet
from circlet.study import planning

CONFIG = "config/smoke.yaml"


@pytest.fixture(scope="module")
def smoke(finished, tmp_path_factory):
    """The frozen smoke study. Do not change it: take the ``folder``."""
    folder = tmp_path_factory.mktemp("frozen") / "smoke"
    with contextlib.chdir(finished.folder):
        main(["freeze", str(folder), "--configfile", CONFIG])
    return folder


@pytest.fixture
def folder(smoke, finished, monkeypatch, tmp_path):
    """A copy of the frozen smoke study."""
    monkeypatch.chdir(finished.folder)
    folder = shutil.copytree(smoke, tmp_path / "frozen")
    edit(folder / "config.yaml", str(smoke), str(folder))
    return folder


def test_a_frozen_study_is_small_and_follows_from_itself(folder, capsys):
    tables = {path.stem for path in folder.glob("tables/*.parquet")}
    assert {"scorecard", "structures", "survival", "heads", "outcome_summary"} <= tables
    assert not any(name.startswith("explorer_") for name in tables)
    assert sum(path.stat().st_size for path in folder.rglob("*")) < 2_000_000
    for name in tables:  # tables recomputed from rounded numbers equal the frozen ones
        whole = planning.plan_file(CONFIG).table(name)
        assert not compare.tables(whole, folder / f"tables/{name}.parquet", 1e-5), name
    capsys.readouterr()
    main(["audit", "--configfile", str(folder / "config.yaml")])
    said = capsys.readouterr().out
    assert "the same: " in said
    for name in ("scorecard", "table1", "musat_claims", "ding_claims", "odonnat_claims"):
        assert name in said


@pytest.mark.slow
def test_it_has_a_report_without_links_to_what_is_not_there(folder, tmp_path):
    page = frozen.report(planning.plan_file(folder / "config.yaml"), tmp_path / "page")
    text = page.read_text(encoding="utf-8")
    assert text.count("<figure") > 10
    assert "Weights and biases against weight decay" in text  # from a recomputed table
    assert "Grids, a circle and their classifiers" not in text  # this figure needs logs
    assert "Not drawn: " in text  # figures with too few runs
    links = re.findall(r'(?:href|data-beside)="([^"]*)"', text)
    assert all(link.startswith(("#", "https://arxiv.org", "figures/")) for link in links)
    assert str(tmp_path) not in text


def test_an_edited_number_is_found_and_a_damaged_table_named(folder, capsys):
    path = folder / "tables/structures.parquet"
    rewrite(path, lambda frame: frame.assign(is_circle=~frame["is_circle"].astype(bool)))
    with pytest.raises(SystemExit):
        main(["audit", "--configfile", str(folder / "config.yaml")])
    assert "table1.parquet: " in capsys.readouterr().out
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(LogError, match=r"structures\.parquet: "):
        frozen.audit(planning.plan_file(folder / "config.yaml"))


def test_it_is_replaced_without_large_tables(folder, tmp_path, monkeypatch, capsys):
    """Other folders are left alone."""
    (folder / "tables/scorecard.parquet").unlink()
    monkeypatch.setattr(frozen, "MAX_BYTES", 35_000)
    main(["freeze", str(folder), "--configfile", CONFIG])
    assert (folder / "tables/scorecard.parquet").exists()
    assert "left out, " in capsys.readouterr().out
    assert max(path.stat().st_size for path in folder.glob("tables/*")) <= 35_000
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "text.md").write_text("mine")
    with pytest.raises(LogError, match="already exists and has no"):
        frozen.freeze(planning.plan_file(CONFIG), other)
    with pytest.raises(ConfigError, match="table"):
        frozen.freeze(planning.plan_file(CONFIG), tmp_path / "third", ["structure"])
    assert (other / "text.md").read_text() == "mine"


@pytest.mark.slow
def test_a_study_in_parts_is_frozen_part_by_part(tmp_path, monkeypatch, error_of):
    """Two sittings, of which each has only its own logs, give what one sitting gives."""
    monkeypatch.chdir(tmp_path)
    experiments = {
        "trajectory": experiment("embedding_mlp", parameters={"p": 7, "d": 4, "hidden": 5}),
        "scan": experiment(sweep={"weight_decay": [0, 1]}),
        "scaled": experiment(
            "embedding_mlp",
            parameters={"p": 7, "d": 4, "hidden": 5},
            interventions=[{"scale": {"frequency": 2, "factor": [0.5, 2]}}],
        ),
    }
    roles = {"initial_signals": "trajectory", "table1": "scan", "perturbation": "scaled"}
    config = {"results": "results", "experiments": experiments, "reproduce": roles}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(config))
    whole = planning.plan_file("study.yaml")
    main(["run", "--configfile", "study.yaml"])

    make_tables(whole)
    main(["freeze", "whole", "--configfile", "study.yaml"])
    first = whole.partial(b for b in whole.blocks if b.point.experiment == "trajectory")
    make_tables(first)
    frozen.freeze(first, tmp_path / "parts")
    shutil.rmtree(whole.results / "logs/trajectory")
    join = ("freeze", "parts", "--join", "--configfile", "study.yaml")
    assert "is not as planned; run circlet partial" in error_of(*join)
    make_tables(whole.partial(b for b in whole.blocks if b.point.experiment != "trajectory"))
    main([*join])
    assert planning.plan_file("parts/config.yaml").config.experiments == whole.config.experiments
    names = {path.stem for path in (tmp_path / "whole/tables").iterdir()}
    assert {path.stem for path in (tmp_path / "parts/tables").iterdir()} == names
    for name in names:
        here, there = (
            parquet.read(tmp_path / f"{f}/tables/{name}.parquet") for f in ("whole", "parts")
        )
        keys = [k for k in ("experiment", "run_id", "point", "claim") if k in here.column_names]
        frames = (table.to_pandas() for table in (here, there))
        ordered = [f.sort_values(keys, kind="stable", ignore_index=True) for f in frames]
        pd.testing.assert_frame_equal(*ordered)
    main(["audit", "--configfile", "parts/config.yaml"])
    (tmp_path / "parts/tables/survival.parquet").unlink()  # as if it were too large
    main(["freeze", "parts", "--join", "--configfile", "study.yaml"])
    assert not (tmp_path / "parts/tables/survival.parquet").exists()
    settings = config | {"experiments": experiments | {"trajectory": experiment("embedding_mlp")}}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(settings))
    assert "experiment trajectory was frozen with other settings" in error_of(*join)


def test_points_of_a_frozen_study_have_the_names_of_its_config(tmp_path, monkeypatch):
    """This includes points whose folder has the name from before another parameter was swept."""
    monkeypatch.chdir(tmp_path)

    def made(**changes):
        experiments = {"scan": experiment(**changes)}
        config = {"results": "results", "experiments": experiments}
        (tmp_path / "study.yaml").write_text(yaml.safe_dump(config))
        main(["run", "--configfile", "study.yaml"])
        return planning.plan_file("study.yaml")

    decays = {"weight_decay": [0, 1]}
    made(sweep=decays)
    study = made(sweep=decays | {"hidden": [32, 8]})
    assert "p17_d2_wd0" in {point.name for point in study.points}
    make_tables(study)
    main(["freeze", "frozen", "--configfile", "study.yaml", "--tables", "outcomes"])
    names = {f"p17_d2_hidden-{n}_wd{decay}" for n in (8, 32) for decay in (0, 1)}
    assert set(pd.read_parquet("frozen/tables/outcome_summary.parquet")["point"]) == names
    runs = pd.read_parquet("frozen/tables/outcomes.parquet")["run_id"]
    assert set(runs.str.split("/").str[1]) == names
    main(["audit", "--configfile", "frozen/config.yaml"])


def test_what_is_not_as_planned_is_not_frozen(tmp_path):
    study = ran(tmp_path / "results")
    make_tables(study)
    path = study.table("effects")
    parquet.write(parquet.read(path), path, parquet.footer(path) | {"key": "another"})
    with pytest.raises(LogError, match=r"effects\.parquet: is not as planned"):
        frozen.freeze(study, tmp_path / "new")
    assert not (tmp_path / "new").exists()
