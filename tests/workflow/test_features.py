"""Features of Snakemake: its cache, its report, and commands that are too long."""

import json

import pandas as pd
import pytest
from conftest import ROOT, config, experiment
from test_elsewhere import Folder
from test_workflow import FIGURES, STUDY

from circlet.storage import parquet
from circlet.study import planning


@pytest.mark.slow
def test_a_block_of_two_studies_is_trained_once(tmp_path, monkeypatch):
    store = tmp_path / "store"
    store.mkdir()
    kept = []
    for name, count in (("first", 4), ("second", 6)):
        study = config(system="particles", seeds={"count": count})
        folder = Folder(tmp_path / name, config=study)
        command = ("logs", "-s", ROOT / "Snakefile", "--cache", "particles")
        options = ("--configfile", "config.yaml")
        folder.snakemake(*command, *options, SNAKEMAKE_OUTPUT_CACHE=str(store))
        monkeypatch.chdir(folder.path)
        blocks = list(planning.plan(study).blocks)
        assert not any(map(parquet.differing, blocks))
        assert {path.resolve().parent for block in blocks for path in block.logs} == {store}
        kept.append({path.name: path.stat().st_mtime_ns for path in store.iterdir()})
    first, second = kept
    assert first.items() < second.items()  # nothing in the store was replaced
    assert 2 * len(second) == 3 * len(first)  # one block more


@pytest.mark.slow
def test_snakemakes_own_report_has_the_figures(project):
    project.snakemake("--report", "report.html")
    page = (project.folder / "report.html").read_text()
    assert "Above, each number of a grid, an imperfect grid and a circle at its embedding" in page
    assert page.count("data:image/svg+xml") >= len(FIGURES)
    assert "verdicts, figures, and what made them" in page  # our own report, with its provenance
    assert f"has {len(STUDY.config.experiments)} experiments" in page  # its first page
    for category in ("Ding et al.", "Odonnat et al.", "Findings", "Sweeps", "Scorecard"):
        assert f'"{category}": {{' in page


@pytest.mark.slow
def test_a_study_that_is_too_long_for_a_command_is_compressed(empty_project):
    """Linux allows 128 KiB in one argument."""
    often = {"at": [*range(10_000)]}
    settings = experiment(
        "particles",
        parameters={"p": 3},
        steps=10_000,
        block=1,
        seeds={"count": 1},
        log={"signals": often, "embeddings": often},
    )
    study = {"results": "results/long", "experiments": {"e": settings, "f": settings}}
    (empty_project.folder / "config/long.yaml").write_text(json.dumps(study))
    assert len(planning.plan(study).json) > planning.MAX_ARGUMENT
    empty_project.snakemake("table_runs", config="config/long.yaml")
    assert len(pd.read_parquet(empty_project.folder / "results/long/tables/runs.parquet")) == 2
    assert "table_runs" not in empty_project.would_run("config/long.yaml")
