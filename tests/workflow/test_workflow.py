"""The workflow end to end: what Snakemake itself re-runs after each kind of edit."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, SYSTEMS, config, experiment
from matplotlib.testing.compare import compare_images

from circlet.storage import parquet
from circlet.study import planning, targets

# Jobs that follow from new logs of both systems in the smoke study, and from those of one.
STUDY = planning.plan_file(ROOT / "config/smoke.yaml")
TABLES = {f"table_{p.name}": 1 for p in targets.tables(STUDY)}
FIGURES = {f"figure_{p.name}": 1 for p in targets.figures(STUDY)}
PAGES = {"report": 1, "explorer": 1}
TIMES = {"seconds", "hours", "interruptions"}  # columns on the course of a run, not its results


def edited(project, change):
    """Apply a change to the config of the smoke study, as an editor would."""
    study = yaml.safe_load((project.folder / "config/smoke.yaml").read_text())
    change(study)
    project.write("config/smoke.yaml", study)


def test_what_is_new_runs_and_nothing_else(project):
    """Values of a sweep and seeds add blocks, and runs follow those that they start from.

    A system with a new version runs again.
    """

    def change(study):
        experiments = study["experiments"]
        experiments["weight_decay"]["sweep"].update(weight_decay=[0.6, 1, 0.3])
        experiments["weight_decay"]["seeds"].update(count=10)
        experiments["decay_scan"].update(parameters={"learning_rate": 0.02})
        experiments["alignment"]["seeds"].update(count=40)
        experiments["trajectory"].update(steps=81)
        experiments["extra"] = experiment("particles", block=4, seeds={"count": 4})

    edited(project, change)
    system = "src/circlet/collections/odonnat/systems/sparse_transformer.py"
    project.edit(system, "version=2", "version=3")
    jobs = project.would_run()
    assert jobs["constant_attention"] == 3  # one of the new weight decay, two of the other rate
    assert jobs["embedding_mlp"] == 2  # the trajectory, and the starts from its strongest circle
    assert jobs["particles"] == 3  # the new experiment, and one block at each of two forces
    assert "table_structures" in jobs
    remade = sum(1 for block in STUDY.blocks if block.point.system.name == "sparse_transformer")
    assert jobs["sparse_transformer"] == remade
    made = {rule for rule in jobs if rule not in SYSTEMS and "extra" not in rule}
    assert made <= set(TABLES | FIGURES | PAGES)


def test_edits_re_run_what_they_change_and_nothing_else(project):
    """Number spelling, comments, and training code without a new version re-run nothing.

    The golden values decide whether numbers changed; then the version is raised.
    """
    project.edit("config/smoke.yaml", "weight_decay: [0.6, 1]", "weight_decay: [0.60, 1.0]")
    musat = "src/circlet/collections/musat"
    for file in (
        "src/circlet/training/run.py",
        f"{musat}/equations/constant_attention.py",
        f"{musat}/tables/structures.py",
        "src/circlet/plotting/panels.py",
        "workflow/rules/simulate.smk",
    ):
        path = project.folder / file
        path.write_text(path.read_text() + "\n# A remark.\n")
    project.edit("src/circlet/training/recorder.py", "np.int32", "np.int64")
    project.edit(f"{musat}/tables/table2.py", '"grids")', '"grids", 1)')
    project.edit(f"{musat}/figures/weight_magnitudes.py", "figsize=(5.6, 3.6)", "figsize=(6, 4)")
    project.edit(f"{musat}/claims.csv", "77.4", "77.3")
    path = f"{musat}/figures/grid_and_circle.py"
    assert "embedding vector" in (project.folder / path).read_text().split('"""')[1]
    project.edit(path, "embedding vector", "vector")  # the figure has no words of it
    assert project.would_run() == {
        "table_table2": 1, "figure_weight_magnitudes": 1, "table_scorecard": 1,
        "figure_published_tables": 1, "table_initialisations": 1, "figure_initialisations": 1,
        "report": 1,
    }  # fmt: skip


def test_a_fresh_clone_with_the_results_alone(finished, empty_project):
    """Without Snakemake's records, time stamps decide; `cp -a` and `rsync -a` keep them."""
    shutil.copytree(
        finished.folder / "results", empty_project.folder / "results", dirs_exist_ok=True
    )
    assert empty_project.would_run() == {}


# All figures are made by one kind of job: one of each collection suffices, and one of the config.
SOME = {t.module.rsplit(".", 2)[0]: t for t in targets.figures(STUDY)}.values()


@pytest.mark.slow
def test_figures_and_pages_by_snakemake(finished, project):
    """These follow from tables; for blocks and tables see test_chaos.py."""
    pages = [t for t in targets.ordered(STUDY) if t.kind == "pages"]
    made = [path for t in (*SOME, *pages) for path in t.outputs]
    for path in made:
        (project.folder / path).unlink()
    project.snakemake()
    assert not project.half_written()
    assert project.would_run() == {}
    for path in made:
        if path.suffix == ".png":
            # The layout is solved to rounding: a text may move by a hundredth of a pixel,
            # which changed 373 pixels by at most 3 of 255, and so the whole by 0.05.
            theirs, ours = (str(one.folder / path) for one in (finished, project))
            assert compare_images(theirs, ours, tol=0.1) is None
        assert (project.folder / path).stat().st_size > 1000, path


def test_targets(empty_project):
    study = config("results/mine") | {"figures": [{"distributions": "e"}]}
    study["experiments"]["forces"] = experiment("particles")
    empty_project.write("config/mine.yaml", study)
    for target, rule, absent in (
        ("tables", "table_structures", "figure_e_distributions"),
        ("figures", "figure_e_distributions", "report"),
        ("logs_forces", "particles", "constant_attention"),
        ("logs_e", "constant_attention", "particles"),
    ):
        done = empty_project.snakemake("--dry-run", target, config="config/mine.yaml").stdout
        assert rule in done
        assert absent not in done


def test_what_is_missing_is_made_as_planned_also_by_hand(project):
    """A lost log is made again, and what starts from its runs; printed commands run by hand.

    Code that is edited before a job starts and put back later must not be in a table.
    """
    lost = next(b for b in STUDY.blocks if b.point.experiment == "trajectory")
    (project.folder / lost.log("embeddings")).unlink()
    (project.folder / STUDY.table("table2")).unlink()
    done = project.snakemake("--dry-run", "--printshellcmds", "--quiet", "host")
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    jobs = project.announced(lines)
    assert jobs["embedding_mlp"] == 2  # and the starts from its strongest circle
    assert "table_runs" in jobs and "constant_attention" not in jobs

    def printed(*parts):
        line = next(line for line in lines if all(part in line for part in parts))
        return line.split("Shell command: ")[-1].strip()

    folder = project.folder / lost.log("runs").parent
    shutil.rmtree(folder)
    environment = os.environ | {
        "PYTHONPATH": str(project.folder / "src"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    subprocess.run(
        printed("circlet run", str(lost.log("embeddings"))), shell=True, check=True,
        cwd=project.folder, env=environment, capture_output=True,
    )  # fmt: skip
    assert (folder / "embeddings.parquet").exists()

    command = shlex.split(printed("circlet table table2"))[3:]  # PYTHONHASHSEED=0 python -m
    module = project.folder / "src/circlet/collections/musat/tables/table2.py"
    before = module.read_text()
    module.write_text(before.replace('"grids")', '"grids", 1)'))
    done = project.run(*command, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        "error: table2: the config or the code has changed since Snakemake planned it; run "
        "snakemake again\n"
    )
    module.write_text(before)
    summary = project.folder / STUDY.table("structures")
    whole = summary.read_bytes()
    shutil.copy(project.folder / STUDY.table("exemplars"), summary)
    done = project.run(*command, check=False)
    assert f"{STUDY.table('structures')}: was made from another config" in done.stderr
    summary.write_bytes(whole)
    project.run(*command)
    assert (project.folder / STUDY.table("table2")).exists()


def test_a_job_of_a_cluster_makes_what_was_planned_whatever_was_edited_since(
    empty_project, monkeypatch
):
    """On the cluster Snakemake reads the config and the code again when the job starts."""
    study = planning.plan(config("results/mine", steps=5))
    empty_project.write("config/mine.yaml", config("results/other", steps=9))
    monkeypatch.setenv("CIRCLET_STUDY", study.json)
    monkeypatch.setenv("CIRCLET_FOLDER", "results/mine")
    for name, value in (("GPUS", "0"), ("GPU_SHARES", "1"), ("GROUP", "1")):
        monkeypatch.setenv(f"CIRCLET_{name}", value)
    monkeypatch.setenv("CIRCLET_COSTS", str(empty_project.folder / "costs"))
    monkeypatch.setenv("CIRCLET_KEYS", "tables/runs=planned")
    command = ("table_runs", "--mode", "remote", "--cores", "1")
    done = empty_project.snakemake(*command, config="config/mine.yaml", check=False)
    said = "the config or the code has changed since Snakemake planned it"
    assert said in done.stdout + done.stderr
    monkeypatch.chdir(empty_project.folder)
    assert not parquet.differing(next(study.blocks))


def test_a_config_that_executes_code_is_refused(empty_project):
    """Snakemake would execute it if it was named: before it reads the Snakefile."""
    trap = '__use_yte__: true\ntrap: \'?open("executed", "w").write("x")\'\n'
    (empty_project.folder / "config/config.yaml").write_text(trap)
    done = empty_project.run("snakemake", "--dry-run", check=False)
    assert done.returncode == 1
    assert "config/config.yaml: __use_yte__: must not be there" in done.stderr
    assert not (empty_project.folder / "executed").exists()
