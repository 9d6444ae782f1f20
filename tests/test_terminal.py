import html
import math
import re
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import (
    ROOT,
    config,
    config_of,
    edit,
    experiment,
    flipped,
    make_tables,
    ran,
    run_blocks,
)

from circlet import cli, terminal
from circlet.analysis import claims
from circlet.errors import ConfigError, LogError
from circlet.pages import experiments, report, summary
from circlet.storage import parquet, progress, provenance, schema
from circlet.study import fingerprint, measured, planning, registry, targets
from circlet.sweeps.tables import scorecard
from circlet.training import job

ROW = {
    "claim": "x", "paper": "musat", "reference": "paper", "source": "Table 1",
    "statement": "a < b & c", "unit": "of 100", "kind": "share", "tally": "test",
    "published": 11.0, "measured": 22.0, "measured_low": 20.0, "measured_high": 24.0,
    "measured_n": 50, "n_runs": 33, "n_planned": 44, "verdict": "deviates", "note": "",
    "difference": 11.0, "difference_low": 9.0, "difference_high": 13.0, "same_low": 7.0,
    "same_high": 15.0, "mistaken": 0.0, "unnoticed": 0.02, "table": "table1", "where": "",
    "column": "circles",
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A study with all its tables, and a copy of its results."""
    folder = tmp_path_factory.mktemp("judged")
    made = config(folder / "results") | {"reproduce": {"table1": "e"}}
    study = run_blocks(planning.plan(made))
    make_tables(study)
    return study, shutil.copytree(study.results, folder / "copy")


@pytest.fixture
def reported(judged):
    """A study with no figures to draw, a scorecard of one row, and known runs."""
    study, copy = judged
    shutil.rmtree(study.results)
    shutil.copytree(copy, study.results)
    plant(study, ROW)
    return study


def test_the_report_shows_the_numbers_of_the_tables(reported, monkeypatch):
    monkeypatch.setattr(targets, "figures", lambda _: [])
    report.make(targets.report(reported))
    page = (reported.results / "report.html").read_text()
    row = page[page.index('<tr id="x">') :]
    cells = re.sub("<[^>]+>", "|", row[: row.index("\n")].replace("<td", "|<td"))
    assert [cell for cell in cells.split("|") if cell] == [
        "deviates", "a &lt; b &amp; c (Table 1)", "22 of 100 [20, 24] (ours: 11 of 50)",
        "7 to 15", "50", "33 of 44", "2.0",
    ]  # fmt: skip
    told = page[page.index("What differs or deviates, and why") :]
    told = told[: told.index("</ul>")]
    assert "a &lt; b &amp; c.</span> Here: " in told
    assert "No reason is recorded." in told
    assert '<span class="deviates"><b>1</b>' in page
    assert re.search(
        '<td><b>e</b><td>constant_attention<br>.*"finished">2<td .*"planned">2<td .*"diverged">0',
        page,
    )
    assert "2 runs in this study." in page
    assert "What agrees: 0 of 1 test that was run" in page
    assert "embedding_mlp" not in page  # nor the other papers
    assert "Partial" not in page
    made = parquet.footer(next(reported.blocks).log("runs"))
    assert f'"commit">{made["commit"]}<td data-label="machine">{made["machine"]}' in page


def plant(study, row):
    """Replace the study's scorecard by one row."""
    (target,) = [t for t in targets.tables(study) if t.name == "scorecard"]
    card = schema.conform(pd.DataFrame([row]), scorecard.COLUMNS, "scorecard")
    parquet.write(card, study.table("scorecard"), provenance.made_by() | target.footer)


def test_the_scorecard_in_the_terminal(reported):
    plant(reported, ROW | {"claim": claims.read(reported)["claim"].iloc[0]})
    title, _, _, tests, line = summary.scorecard(reported).splitlines()[:5]
    assert (title, tests.split()) == ("Mușat:", ["--", "tests"])
    assert " ".join(line.split()) == "deviates Table 1: a < b & c 22 [20, 24] 7 to 15 50 33/44"


def test_the_summary_has_a_line_per_paper_and_says_what_deviates_and_why(reported):
    known = claims.read(reported).query("reason != ''").iloc[0]
    plant(reported, ROW | {"claim": known["claim"]})
    said = " ".join(summary.summary(reported).split())
    assert said.startswith("tests of deviates look at")
    assert "Mușat 1 " in said
    assert "1 of 1 test differs or deviates. If all claims were true" in said
    assert "deviates: Mușat, Table 1: a < b & c (here: 22 of 100 [20, 24] (ours: 11 of 50))" in said
    assert f"Why: {known['reason'].partition('. ')[0]}." in said
    assert str(reported.results / "report.html") in said
    assert "frozen" not in said


def test_what_a_study_has_not_run_is_told_by_a_frozen_study_but_not_counted(reported):
    known = claims.read(reported)["claim"].iloc[0]
    verdicts = pd.read_csv(registry.PACKAGE / "collections/musat/frozen.csv").set_index("claim")
    there = verdicts.loc[known]
    empty = dict.fromkeys(("measured", "measured_low", "measured_high"), math.nan)
    not_run = {"verdict": "not_run", "note": "no run", "measured_n": 0, "n_runs": 0, "n_planned": 0}
    plant(reported, ROW | {"claim": known} | empty | not_run)
    said = " ".join(summary.summary(reported).split())
    assert said.startswith("tests of not run look at")
    assert "Mușat 1 " in said
    judged = (
        "Tests not run here: 1. Frozen studies of circlet have judged 1 of them: "
        f"1 {there['verdict']}."
    )
    assert judged in said
    title, row = summary.scorecard(reported).splitlines()[3:5]
    assert title.strip() == f"-- not run here; in the frozen study {there['study']}"
    assert row.startswith(there["verdict"])
    assert terminal.number(there["measured"]) in row.split()
    assert "1 tests: 1 not run" in summary.scorecard(reported)


def test_a_planted_deviation_is_on_the_first_screen_with_its_recorded_reason(reported, monkeypatch):
    monkeypatch.setattr(targets, "figures", lambda _: [])
    known = claims.read(reported)
    known = known[known["reason"] != ""].iloc[0]
    plant(reported, ROW | {"claim": known["claim"]})
    report.make(targets.report(reported))
    page = html.unescape((reported.results / "report.html").read_text())
    first = page.index('<p class="story">')
    story = page[first : page.index("</ul>", first)]
    assert reported.collections[0].metadata.question in story
    assert f"[20, 24] (ours: 11 of 50)</span> (deviates). {known['reason']}" in story


def test_a_study_without_claims_begins_with_what_its_sweeps_show(tmp_path, monkeypatch):
    study = ran(tmp_path, sweep={"weight_decay": [0, 1]})
    monkeypatch.setattr(targets, "figures", lambda _: [])
    page = targets.report(study)
    make_tables(study)
    report.make(page)
    text = page.outputs[0].read_text()
    assert text.index('id="sweeps"') < text.index("<h2") + 50  # it is the first section
    assert "<li><b>e</b>, " in text
    assert "verdict" not in text[text.index("</style>") :]


def test_the_optimiser_is_named_as_it_is_whatever_its_weight_decay():
    (point,) = planning.plan(config(parameters={"weight_decay": 0})).points
    assert experiments.setting([point])["setting"].endswith("5 steps of AdamW")


def test_a_claim_and_its_figure_lead_to_each_other(reported, monkeypatch):
    """The row's claim is unknown at first, then one that names the figure."""
    (drawn,) = [p for p in targets.figures(reported) if p.name == "imperfections_accuracy"]
    for path in drawn.outputs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("<svg/>")
    monkeypatch.setattr(targets, "figures", lambda _: [drawn])
    published = claims.read(reported)
    known = published[published["figure"] == drawn.name]["claim"].iloc[0]
    for row, together in ((ROW | {"claim": known}, True), (ROW, False)):
        plant(reported, row)
        report.make(targets.report(reported))
        page = (reported.results / "report.html").read_text()
        figure = page[page.index(f'<figure id="{drawn.name}"') : page.index("</figure>")]
        assert ('<a href="#musat-verdicts">Verdicts</a>: ' in figure) == together
        assert (f'<a href="#{drawn.name}">Table 1</a>' in page) == together
        assert 'id="musat-verdicts"' in page


def test_every_claim_names_a_figure_that_exists_or_none():
    for collection in registry.SHIPPED:
        own = collection.modules("figures")
        assert set(collection.metadata.figures) <= own.keys()
        path = collection.folder / "claims.csv"
        if path.exists():
            named = pd.read_csv(path)["figure"].dropna()
            assert set(named) <= own.keys(), path
            assert len(named) > 0


def test_a_study_has_the_claims_of_collections_whose_roles_it_has():
    assert claims.read(planning.plan(config())).empty
    published = claims.read(planning.plan(config() | {"reproduce": {"table1": "e"}}))
    assert set(published["collection"]) == {"musat"}
    assert published["figure"].map(type).eq(str).all()


@pytest.mark.parametrize("table", ["scorecard", "table1", "structures"])
def test_a_scorecard_from_older_code_is_not_shown(reported, table):
    path = reported.table(table)
    parquet.write(pq.read_table(path), path, parquet.footer(path) | {"key": "another"})
    with pytest.raises(LogError, match="older than the config or the code"):
        summary.scorecard(reported)


def test_a_scorecard_from_older_runs_is_not_shown(reported):
    path = next(reported.blocks).log("runs")
    made = parquet.footer(path)
    parquet.write(pq.read_table(path), path, made | {"spec": made["spec"] | {"version": 0}})
    with pytest.raises(LogError, match="older than the config or the code"):
        summary.scorecard(reported)


def test_the_plan_tells_minutes_from_days(monkeypatch):
    """Minutes and days are at 60 billion operations a second, as kernels have on a core of 2023."""
    monkeypatch.setattr(
        measured, "of_kernel",
        lambda p: measured.Timed(p.system.flops_per_step(**p.parameters) / 60e9, {}),
    )  # fmt: skip
    study = planning.plan_file(ROOT / "config/standard.yaml")
    total = terminal.plan(study).split("total")[1].splitlines()[0]
    assert f" {sum(block.count for block in study.blocks)} " in total
    assert 10 < int(total.rsplit("~", 1)[1].split(" min")[0]) < 25
    long = planning.plan(config(system="embedding_mlp", steps=10**6, seeds={"count": 20}))
    assert re.search(r"total .* ~\d+ (h|days) ", terminal.plan(long))


def test_numbers_have_three_digits():
    assert [terminal.number(v) for v in (0.12345, 1.2345, 99.96, 102.24, math.nan, None)] == [
        "0.123", "1.23", "100", "102.2", "–", "–",
    ]  # fmt: skip


def test_durations():
    assert [terminal.duration(s) for s in (100, 600, 7200, 200000)] == [
        "100 s",
        "10 min",
        "2 h",
        "2 days",
    ]


def test_states_of_blocks(tmp_path):
    blocks = list(planning.plan(config(tmp_path, seeds={"count": 4})).blocks)
    job.run_block(blocks[0], "cpu")
    assert [progress.state(b) for b in blocks] == ["done", "waiting"]
    outdated = next(planning.plan(config(tmp_path, steps=6)).blocks)
    assert progress.state(outdated) == "outdated"
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
    short = config(tmp_path, keep_state=True, seeds={"count": 6}, block=None)
    run_blocks(planning.plan(short))
    longer = planning.plan(
        config(tmp_path, keep_state=True, seeds={"count": 6}, block=None, steps=9)
    )
    assert "6 runs of e were made with other settings (steps); the next run continues them" in (
        terminal.status(longer)
    )


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


def test_what_was_killed_has_no_error_of_its_own(half_done):
    study, second = half_done
    for text, after in (("", ""), ("e: 3 % done\n", " after “e: 3 % done”")):
        second.job_log.write_text(text)
        assert f"exited without an error message{after}: killed" in terminal.failures(study, "")


def test_a_block_that_had_finished_is_not_called_killed(half_done):
    """The log is from an earlier job: the last job failed before it wrote any text."""
    study, second = half_done
    second.job_log.write_text("e/p17_d2_wd0/00002-00003: 2 runs of 5 steps, 0.1 s\n")
    said = terminal.failures(study, "")
    assert "has finished before, and its logs are gone" in said
    assert "killed" not in said


def test_status_says_what_it_did_not_read_and_reads_it_if_told(half_done):
    study, second = half_done
    job.run_block(second, "cpu")
    make_tables(study, "structures", "runs")
    runs, structures = study.table("runs"), study.table("structures")
    log = next(study.blocks).log("embeddings")
    assert "Only the footers of logs and how runs ended were read" in terminal.status(study)
    assert "Every byte of the finished logs and of the tables was read." in terminal.status(
        study, True
    )
    assert "damaged:" not in terminal.status(study, True)
    for path in (log, runs):  # damage the data, far from the footer
        path.write_bytes(flipped(path.read_bytes(), 300))
    assert "damaged:" not in terminal.status(study)
    said = terminal.status(study, True)
    assert f"damaged: {log}: is damaged (" in said
    assert f"damaged: {runs}: is damaged (" in said
    assert said.count("damaged: ") == 2
    runs.write_bytes(structures.read_bytes())
    assert f"damaged: {runs}: was made from another config" in terminal.status(study, True)


def test_status_names_systems_that_were_edited_under_their_version(mine, tmp_path):
    """Snakemake would not run them again: only a new version makes it."""
    study = planning.plan(config_of(mine, results=tmp_path / "results"))
    run_blocks(study)
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


def test_the_exit_status_of_verifying_tells_of_damage(half_done, capsys):
    study, _ = half_done
    command = ["status", "--verify", "--study", study.json]
    cli.main(command)
    log = next(study.blocks).log("embeddings")
    log.write_bytes(flipped(log.read_bytes(), 300))
    with pytest.raises(SystemExit) as end:
        cli.main(command)
    assert end.value.code == 1
    assert "damaged: " in capsys.readouterr().out


def test_what_was_interrupted_has_not_failed(half_done):
    study, second = half_done
    for text in ("ended by SIGINT: saved x", "terminated", "interrupted"):
        second.job_log.write_text(text)
        said = terminal.failures(study, "")
        assert "Interrupted, with their checkpoints saved: 1 blocks." in said
        assert "failed" not in said
        assert "Fix" not in said


def test_tables_that_failed_are_named(half_done):
    study, second = half_done
    job.run_block(second, "cpu")
    table = next(p for p in targets.tables(study) if p.name == "runs")
    table.job_log.parent.mkdir(parents=True)
    table.job_log.write_text("error: x.parquet: is damaged\n")
    assert f"runs: x.parquet: is damaged (log: {table.job_log})" in terminal.failures(study, "")


def test_parents_that_are_not_there_are_said_before_anything_runs(tmp_path):
    small = {"system": "embedding_mlp", "parameters": {"p": 7, "d": 6, "hidden": 5}}
    starts = [{"keep": {"strongest": 1, "of": "base"}}]
    study = planning.plan({
        "results": str(tmp_path), "parents": {"base": experiment(**small)},
        "experiments": {"after": experiment(**small, interventions=starts)},
    })  # fmt: skip
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
