"""The workflow as a module of another workflow."""

import os
import re

import pandas as pd
import pytest
from conftest import ROOT, config_of, experiment
from projects import module
from test_elsewhere import HEAD, STUDY, Folder, copy_collection

from circlet.storage import locks, parquet
from circlet.study import planning, targets

TEXT = (ROOT / "docs/running.md").read_text().partition("\n## In other projects\n")[2]
[CONFIG] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
[SNAKEFILE] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.slow
def test_two_modules_with_rules_of_ones_own(tmp_path):
    """The text is from the docs. A rule with `run:` starts another Snakemake, which plans both."""
    snakefile = SNAKEFILE.replace("path/to/circlet", str(ROOT))
    folder = Folder(tmp_path / "host", snakefile, CONFIG)
    folder.snakemake()
    losses = pd.read_csv(folder.path / "losses.csv")
    assert len(losses) == 10
    assert losses["slow"].mean() != losses["fast"].mean()
    for name in ("slow", "fast"):
        logs = {path.parts[-5] for path in folder.path.glob(f"{name}/**/seeds_*/runs.parquet")}
        assert logs == {"logs"}
    assert {path.name for path in folder.path.iterdir()} == {
        "Snakefile", "config.yaml", "losses.csv", "slow", "fast", ".snakemake"
    }  # fmt: skip
    status = folder.run("circlet", "status", "--study", "slow/results/study.json")
    assert re.search(r"^total +10 +10 ", status, re.MULTILINE)

    assert "Nothing to be done" in folder.snakemake("slow_table_runs", "all")
    listed = folder.snakemake("fast_all", "--dry-run", "--quiet", "rules")
    assert "fast_report" in listed
    assert "slow_" not in listed
    text = (folder.path / "config.yaml").read_text()
    (folder.path / "config.yaml").write_text(text.replace("0.02", "0.03"))
    jobs = folder.snakemake("--dry-run", "--quiet", "rules")
    assert re.search(r"^fast_constant_attention +1$", jobs, re.MULTILINE)
    assert "slow_" not in jobs


@pytest.mark.slow
def test_the_results_of_a_module_are_locked_and_its_failures_are_explained(tmp_path):
    events = "from circlet import pipeline\nonstart:\n    pipeline.start()\n"
    events += "onerror:\n    pipeline.explain()\n"
    text = events + HEAD + module("one") + module("two")
    folder = Folder(tmp_path / "host", text, {"one": config_of("mine"), "two": STUDY})
    copy_collection(folder.path / "mine", is_broken=True)
    with locks.lock(folder.path / "two/results"):
        said = folder.snakemake("one_table_runs", check=False)
    assert f"another Snakemake works on two/results (process {os.getpid()} on" in said
    assert "Traceback" not in said
    assert not (folder.path / "one/results/logs").exists()
    said = folder.snakemake("one_table_runs", "--keep-going", check=False)
    assert "\nmodule one:\n0 of 4 runs are done.\n2 failed:\n  e/p5_d2_r0.1/00000-00001: " in said
    assert "python -m circlet partial --study one/results/study.json" in said
    assert "partial --study two/results/study.json" in said


@pytest.mark.parametrize(("study", "line"), [
    ({"collections": ["nowhere"]}, "collections: {here}/nowhere: there is no such folder"),
    (None, "has no config: write `config: config` into the module statement"),
])  # fmt: skip
def test_an_error_in_the_config_of_a_module_is_one_line(tmp_path, study, line):
    content = {"one": STUDY | study if isinstance(study, dict) else study}
    folder = Folder(tmp_path / "host", HEAD + module("one"), content)
    expected = f"error: module one: {line.format(here=folder.path)}"
    assert folder.line("--dry-run").startswith(expected)


@pytest.mark.slow
def test_modules_with_one_folder_of_results_or_one_name_of_collections_are_refused(tmp_path):
    """Collections of one name would be the same Python package."""
    text = HEAD + module("one", prefix="") + module("two", prefix="")
    other = STUDY | {"experiments": {"f": experiment("particles")}}
    folder = Folder(tmp_path / "host", text, {"one": STUDY, "two": other})
    assert folder.line("--dry-run").startswith(
        "error: module two: results: module one writes to results, too; give each module its own "
    )
    Folder(folder.path, config={"one": STUDY, "two": other | {"results": "more"}})
    assert "two_particles" in folder.snakemake("--dry-run", "two_logs")
    one, two = (folder.path / place / "mine" for place in ("a", "b"))
    copy_collection(one)
    copy_collection(two)
    studies = {"one": config_of(one), "two": config_of(two) | {"results": "more"}}
    Folder(folder.path, config=studies)
    assert folder.line("--dry-run") == (
        f"error: module two: collections: {two} and {one} of another module have one name; rename "
        "one"
    )


@pytest.mark.slow
def test_a_module_with_a_collection_and_its_captions(tmp_path):
    """Captions are in Snakemake's report; also those of a changed rule, and of a nested module."""
    folder = Folder(tmp_path / "host", config={"study": config_of("mine")})
    copy_collection(folder.path / "mine")
    inner = module("one", config="config", prefix="inner")
    inner += "use rule table_runs from one as one_table_runs with:\n    threads: 2\n"
    (folder.path / "inner.smk").write_text(inner)
    outer = module("all", 'config["study"]', "outer", "inner.smk")
    (folder.path / "Snakefile").write_text(HEAD + outer)
    figure = "outer/inner/results/figures/mine.distances.svg"
    folder.snakemake("all_one_table_runs", figure)
    assert len(pd.read_parquet(folder.path / "outer/inner/results/tables/runs.parquet")) == 4
    folder.snakemake("--report", "report.html", figure)
    page = (folder.path / "report.html").read_text()
    assert "Distance from the origin at the end, by rate" in page


def test_a_job_of_a_module_on_a_cluster_makes_what_was_planned(tmp_path, monkeypatch):
    """On the cluster Snakemake reads the config again; each module has its own plan."""
    folder = Folder(
        tmp_path / "host", HEAD + module("one") + module("two"), {"one": STUDY, "two": STUDY}
    )
    planned = {}
    for name in ("one", "two"):
        study = planning.plan(STUDY | {"results": f"{name}/results"})
        keys = " ".join(f"{t.kind}/{t.name}={t.key}" for t in targets.ordered(study))
        planned |= {f"CIRCLET_STUDY_{name}": study.json, f"CIRCLET_KEYS_{name}": keys,
                    f"CIRCLET_FOLDER_{name}": "results"}  # fmt: skip
    edited = STUDY | {"experiments": {"e": experiment("particles", steps=9)}, "results": "other"}
    Folder(folder.path, config={"one": edited, "two": edited})
    [block] = planning.plan(STUDY | {"results": "two/results"}).blocks
    planned |= {"CIRCLET_GPUS": "0", "CIRCLET_GPU_SHARES": "1", "CIRCLET_GROUP": "1"}
    folder.snakemake(block.log("runs"), "--mode", "remote", CIRCLET_COSTS="costs", **planned)
    monkeypatch.chdir(folder.path)
    assert not parquet.differing(block)
