"""Features of Snakemake: its cache between workflows, and its report at the end of a run."""

import os
import subprocess
import sys

import pytest
import yaml
from conftest import ROOT, config

from circlet.storage import parquet
from circlet.study import planning

COMMAND = [sys.executable, "-m", "snakemake", "logs", "--snakefile", ROOT / "Snakefile",
           "--cores", "2", "--cache", "particles", "--configfile", "config.yaml"]  # fmt: skip


@pytest.mark.slow
def test_a_block_of_two_studies_is_trained_once(tmp_path, monkeypatch):
    store = tmp_path / "store"
    store.mkdir()
    environment = os.environ | {
        "SNAKEMAKE_OUTPUT_CACHE": str(store), "PYTHONPATH": str(ROOT / "src")
    }  # fmt: skip
    kept = []
    for name, count in (("first", 4), ("second", 6)):
        folder = tmp_path / name
        folder.mkdir()
        study = config(system="particles", seeds={"count": count})
        (folder / "config.yaml").write_text(yaml.safe_dump(study))
        subprocess.run(COMMAND, cwd=folder, env=environment, check=True)
        monkeypatch.chdir(folder)
        blocks = list(planning.plan(study).blocks)
        assert all(map(parquet.is_current, blocks))
        assert {path.resolve().parent for block in blocks for path in block.logs} == {store}
        kept.append({path.name: path.stat().st_mtime_ns for path in store.iterdir()})
    first, second = kept
    assert first.items() < second.items()  # nothing in the store was replaced
    assert 2 * len(second) == 3 * len(first)  # one block more


@pytest.mark.slow
def test_snakemakes_own_report_is_made_at_the_end_of_a_run(empty_project):
    study = config(system="particles", seeds={"count": 4}) | {"figures": [{"distributions": "e"}]}
    (empty_project.folder / "mine.yaml").write_text(yaml.safe_dump(study))
    options = ("--report-after-run", "--report", "report.html")
    empty_project.snakemake("figures", *options, config="mine.yaml")
    page = (empty_project.folder / "report.html").read_text()
    assert "has 1 experiment." in page
    assert '"Sweeps": {' in page
