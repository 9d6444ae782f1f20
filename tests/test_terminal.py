"""The plan, the status and the failures of a study, as the terminal shows them."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from conftest import config, config_of, experiment, flipped, make_tables, planned, ran, run_blocks
from projects import edit

from circlet import cli, terminal
from circlet.errors import ConfigError, LogError
from circlet.storage import parquet, progress
from circlet.study import fingerprint, planning
from circlet.training import job


def test_the_plan_says_which_runs_are_finished(tmp_path):
    study = ran(tmp_path)
    assert "2 of 2 runs are finished." in terminal.plan(study)
    more = planning.plan(config(tmp_path, seeds={"count": 4}))
    assert "2 of 4 runs are finished." in terminal.plan(more)
    assert "finished" not in terminal.plan(planning.plan(config(tmp_path / "new")))
    assert "Experiments that only" not in terminal.plan(study)
    assert "only the results have: e." in terminal.plan(planned(tmp_path, f=experiment()))


def test_states_of_blocks(tmp_path):
    blocks = list(planning.plan(config(tmp_path, seeds={"count": 4})).blocks)
    job.run_block(blocks[0], "cpu")
    assert [progress.state(b) for b in blocks] == ["done", "waiting"]
    outdated = next(planning.plan(config(tmp_path, steps=6)).blocks)
    assert progress.state(outdated) == "outdated"
    point, spec = blocks[0].point, blocks[0].point.system
    changed = {"embedding_std": replace(spec.parameters["embedding_std"], default=2.0)}
    system = replace(spec, parameters=spec.parameters | changed)  # of the same version
    after = replace(point, system=system, parameters=point.parameters | {"embedding_std": 2.0})
    assert after.spec == point.spec and parquet.differing(after.blocks[0]) == ["parameters"]
    blocks[0].log("curves").unlink()
    assert progress.state(blocks[0]) == "waiting"
    blocks[1].job_log.parent.mkdir(parents=True)
    for text, state in (("error: x", "failed"), ("interrupted", "started"), ("step", "started")):
        blocks[1].job_log.write_text(f"note\n{text}\n")
        assert progress.state(blocks[1]) == state
    lines = terminal.status(planning.plan(config(tmp_path, seeds={"count": 4}))).splitlines()
    assert lines[2].split() == ["e", "4", "0", "2", "0", "0", "0", "2"]


def test_status_says_what_has_diverged_and_why_what_is_made_again(tmp_path):
    study = ran(tmp_path, parameters={"learning_rate": 1e30})
    runs = sum(block.count for block in study.blocks)
    assert f"diverged: {runs} of {runs} done runs of e" in terminal.status(study)
    study = planning.plan(config(tmp_path, parameters={"learning_rate": 1e30}, steps=6))
    said = terminal.status(study)
    assert "diverged" not in said
    folder = next(study.blocks).log("runs").parents[2]
    why = (
        f"outdated: {runs} runs of e were made with other settings (steps); the next run replaces "
        "them (~0 s of CPU time)."
    )
    assert f"{why} If Snakemake finds nothing to do, delete {folder}" in said.splitlines()


def test_status_says_that_finished_runs_go_on(tmp_path):
    kept = {"keep_state": True, "seeds": {"count": 6}, "block": None}
    ran(tmp_path, **kept)
    said = terminal.status(planning.plan(config(tmp_path, **kept, steps=9)))
    assert "6 runs of e were made with other settings (steps); the next run continues them" in said


def test_how_runs_ended_may_be_damaged(tmp_path):
    """Status then reports the rest, and --verify names the file."""
    study = ran(tmp_path)
    log = next(study.blocks).log("runs")
    group = pq.ParquetFile(log).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    start = columns["status"].dictionary_page_offset or columns["status"].data_page_offset
    content = bytearray(log.read_bytes())
    content[start : start + 8] = bytes(8)
    log.write_bytes(content)
    with pytest.raises(LogError):
        parquet.statuses(next(study.blocks))
    assert "diverged" not in terminal.status(study)
    assert f"damaged: {log}" in terminal.status(study, verify=True)


@pytest.fixture
def half_done(tmp_path):
    study = planning.plan(config(tmp_path, seeds={"count": 4}) | {"reproduce": {}})
    first, second = study.blocks
    job.run_block(first, "cpu")
    second.job_log.parent.mkdir(parents=True, exist_ok=True)
    return study, second


def test_failures_are_named_with_their_reason_and_log(half_done):
    study, second = half_done
    second.job_log.write_text("e: 3 % done\nerror: no space\n")
    said = terminal.failures(study, "circlet partial")
    name = "/".join(second.key)
    assert f"1 failed:\n  {name}: no space (log: {second.job_log})\n" in said
    assert "2 of 4 runs are done" in said
    assert "Fix the cause and rerun the command" in said
    assert said.endswith("so far: circlet partial")


SAVED = "Interrupted, with their checkpoints saved: 1 blocks."


@pytest.mark.parametrize(
    ("text", "says", "not_said"),
    [
        ("", "exited without an error message: killed", "Interrupted"),
        ("e: 3 % done\n", "error message after “e: 3 % done”: killed", "Interrupted"),
        # The log is from an earlier job: the last job failed before it wrote any text.
        ("e/p17_d2_wd0/00002-00003: 2 runs of 5 steps, 0.1 s\n",
         "has finished before, and its logs are gone", "killed"),
        ("ended by SIGINT: saved x", SAVED, "failed"),
        ("terminated", SAVED, "failed"),
        ("interrupted", SAVED, "Fix"),
    ],
)  # fmt: skip
def test_how_a_block_without_an_error_ended(half_done, text, says, not_said):
    study, second = half_done
    second.job_log.write_text(text)
    said = terminal.failures(study, "")
    assert says in said and not_said not in said


def test_status_says_what_it_did_not_read_and_reads_it_if_told(half_done, capsys):
    study, second = half_done
    job.run_block(second, "cpu")
    make_tables(study, "structures", "runs")
    runs, structures = study.table("runs"), study.table("structures")
    log = next(study.blocks).log("embeddings")
    assert "Only the footers of logs and how runs ended were read" in terminal.status(study)
    command = ["status", "--verify", "--study", study.json]
    cli.main(command)
    said = capsys.readouterr().out
    assert "Every byte of the finished logs and of the tables was read." in said
    assert "damaged:" not in said
    for path in (log, runs):  # damage the data, far from the footer
        path.write_bytes(flipped(path.read_bytes(), 300))
    assert "damaged:" not in terminal.status(study)
    with pytest.raises(SystemExit) as end:
        cli.main(command)
    assert end.value.code == 1
    said = capsys.readouterr().out
    assert f"damaged: {log}: is damaged (" in said
    assert f"damaged: {runs}: is damaged (" in said
    assert said.count("damaged: ") == 2
    runs.write_bytes(structures.read_bytes())
    assert f"damaged: {runs}: was made from another config" in terminal.status(study, True)


def test_status_names_systems_that_were_edited_under_their_version(mine, tmp_path):
    """Snakemake would not run them again: only a new version makes it."""
    study = run_blocks(planning.plan(config_of(mine, results=tmp_path / "results")))
    assert "edited" not in terminal.status(study)
    for file, old, new in (("systems/drift.py", "0.5", "0.25"), ("equations/drift.py", "-", "+")):
        edit(mine / file, old, new)
        fingerprint.forget()
        said = f"mine.drift was edited after 4 of its runs were made; raise `version` in {mine}/sys"
        assert said in terminal.status(study)
        edit(mine / file, new, old)
    fingerprint.forget()
    assert "edited" not in terminal.status(study)


def test_status_names_systems_that_were_edited_after_their_golden_values(half_done, monkeypatch):
    study, _ = half_done
    monkeypatch.setattr(fingerprint, "of_system", lambda _: "other")
    said = "constant_attention was edited after its golden values were checked; raise `version` in "
    assert said in terminal.status(study)


def test_parents_that_are_not_there_are_said_before_anything_runs(tmp_path):
    small = {"system": "embedding_mlp", "parameters": {"p": 7, "d": 6, "hidden": 5}}
    starts = [{"keep": {"strongest": 1, "of": "base"}}]
    parents = {"parents": {"base": experiment(**small)}}
    study = planned(tmp_path, parents, after=experiment(**small, interventions=starts))
    with pytest.raises(ConfigError, match=r"parents.base: there is no \S+/signals.parquet;"):
        terminal.plan(study)
    job.run_block(study.points[0].parent.blocks[0], "cpu")
    assert "after" in terminal.plan(study)


def test_many_failures_are_counted(tmp_path):
    study = planning.plan(config(tmp_path, seeds={"count": 60}))
    for block in study.blocks:
        block.job_log.parent.mkdir(parents=True, exist_ok=True)
        block.job_log.write_text("error: x\n")
    lines = terminal.failures(study, "").splitlines()
    assert "30 failed:" in lines
    assert "  ... and 10 more" in lines
    assert len(lines) < 30
