"""Tables, figures and report of an unfinished study."""

import json
import random
import re
from dataclasses import replace

import pandas as pd
import pytest
import yaml
from conftest import config, experiment, flipped, make_all, make_tables, planned, run_blocks
from test_workflow import STUDY

from circlet import build, cli
from circlet.errors import LogError
from circlet.storage import files, locks, parquet, progress
from circlet.study import planning, targets
from circlet.training import job


def partial(study):
    return study.partial(block for block, state in progress.states(study) if state == "done")


@pytest.fixture
def half_done(tmp_path):
    """Two points of two blocks each; of the second point only one block is done."""
    swept = config(tmp_path, sweep={"weight_decay": [0, 1]}, seeds={"count": 4})
    study = planning.plan(swept | {"reproduce": {"table1": "e"}, "figures": []})
    for block in list(study.blocks)[:3]:
        job.run_block(block, "cpu")
    return study


def test_it_has_the_runs_that_are_done_and_the_numbers_of_the_plan(half_done):
    study = partial(half_done)
    make_all(study)
    table = pd.read_parquet(study.table("outcome_summary"))
    table = table[table["outcome"] == "is_circle"].set_index("point")
    assert table["n_runs"].to_dict() == {"p17_d2_wd0": 4, "p17_d2_wd1": 2}
    assert set(table["n_planned"]) == {4}
    assert study.table("runs") == half_done.results / "partial/tables/runs.parquet"
    assert not half_done.table("runs").exists()
    assert parquet.footer(study.table("runs"))["missing_blocks"] == 1
    page = (half_done.results / "partial/report.html").read_text()
    assert "Partial: 6 of 8 runs are done." in page
    assert "No run has finished" not in page
    counts = re.findall(r'"(?:finished|planned|diverged)">(\d+)', page)
    assert counts == ["6", "8", "0"]
    whole = partial(run_blocks(half_done))
    assert not any("missing_blocks" in table.footer for table in targets.tables(whole))


@pytest.mark.slow
def test_experiments_that_have_not_begun_are_left_out(half_done):
    whole = json.loads(half_done.json) | {"reproduce": {"table1": "e", "table2": "later"}}
    earlier = whole["experiments"]["e"]
    later = earlier | {"system": "particles", "sweep": {}, "log": {}}
    whole = planning.plan(whole | {"experiments": {"e": earlier, "later": later}})
    study = partial(whole)
    assert list(study.config.experiments) == ["e"]
    assert study.reproduce == {"table1": "e"}
    make_all(study)
    page = (whole.results / "partial/report.html").read_text()
    assert "Partial: 6 of 12 runs are done." in page
    assert "No run has finished in later." in page


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_any_part_of_the_smoke_study_has_its_tables(finished, tmp_path, monkeypatch, seed):
    """Whichever blocks are done, no table fails because others are missing."""
    monkeypatch.chdir(finished.folder)
    chance = random.Random(seed)
    share = chance.choice([0.1, 0.3, 0.6, 0.9])
    done = [block for block in STUDY.blocks if chance.random() < share] or [next(STUDY.blocks)]
    study = replace(STUDY.partial(done), folder=tmp_path)
    for target in [t for t in targets.ordered(study) if t.kind == "tables"]:
        build.make(target)
        frame = pd.read_parquet(target.outputs[0])
        if "n_planned" in frame and target.name not in ("musat_claims", "ding_claims"):
            assert (frame["n_runs"] <= frame["n_planned"]).all()
    runs = pd.read_parquet(study.table("runs"))
    assert len(runs) == sum(block.count for block in done)


def test_a_weight_decay_without_a_finished_block_is_not_forecast(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = experiment("embedding_mlp", sweep={"weight_decay": [0.1, 0.5]}, seeds={"count": 4})
    small = settings | {"parameters": {"p": 7, "d": 6, "hidden": 8}, "block": 4}
    study = planned("here", {"reproduce": {"decay_circles": "e"}}, e=small)
    first, *_ = study.blocks
    partial = run_blocks(study.partial([first]))
    assert set(make_tables(partial, "forecast")["weight_decay"]) <= {0.1}


@pytest.mark.slow
def test_what_cannot_be_made_is_named_and_nothing_old_is_left(half_done, capsys):
    """If a log is damaged after an earlier call, tables of that call do not remain."""
    path = half_done.results / "a study.json"
    path.write_text(half_done.json)
    command = ["partial", "--study", str(path)]
    last = list(half_done.blocks)[3]
    last.job_log.parent.mkdir(parents=True)
    last.job_log.write_text("error: x\n")
    cli.main(command)
    said = "failed:  1 blocks; the command status names their logs\n"
    assert said in capsys.readouterr().out
    job.run_block(last, "cpu")
    path = last.log("embeddings")
    path.write_bytes(flipped(path.read_bytes(), 50))  # not found by reading the footer
    cli.main(command)
    folder = half_done.results / "partial"
    assert len(pd.read_parquet(folder / "tables/runs.parquet")) == 8
    assert not (folder / "tables/structures.parquet").exists()
    page = (folder / "report.html").read_text()
    assert "Could not be made: " in page
    assert "structures" in page.split("Could not be made: ")[1].split("</p>")[0]


def test_its_folder_is_cleared_of_what_it_made_and_of_nothing_else(tmp_path):
    folder = tmp_path / "partial"
    old, new, lost = (folder / name for name in ("tables/old", "tables/new", "tables/lost"))

    def made(*paths, planned=()):
        with files.marked_folder(folder, [*paths, *planned]) as kept:
            for path in paths:
                path.parent.mkdir(exist_ok=True)
                path.write_text("x")
                kept.append(path)

    made(old)
    mine = [folder / "tables/mine.parquet", folder / "notes.txt"]
    for path in mine:
        path.write_text("x")
    with pytest.raises(RuntimeError), files.marked_folder(folder, [new, lost]) as kept:
        kept.append(new)
        lost.write_text("x")
        raise RuntimeError  # as if a disk were full: the old file must stay
    assert old.exists()
    made(new)
    assert not old.exists()
    assert not lost.exists()
    assert all(path.exists() for path in (new, *mine))


def test_a_mark_that_names_files_elsewhere_deletes_nothing(tmp_path):
    """A marker file is untrusted data, too."""
    folder, precious = tmp_path / "partial", tmp_path / "logs/precious"
    for path in (folder / "tables", precious.parent):
        path.mkdir(parents=True)
    precious.write_text("x")
    (folder / "link").symlink_to(precious.parent)
    mark = folder / ".circlet.json"
    named = ["../logs/precious", str(precious), "tables", "..", "link/precious", ""]
    mark.write_text(json.dumps({"files": named}))
    with files.marked_folder(folder, []):
        pass
    assert precious.exists()
    assert (folder / "tables").exists()
    for text in ("[1]", '{"files": 3}', '{"files": [[3]]}', "{}", "x"):
        mark.write_text(text)
        with pytest.raises(LogError, match="is damaged; move"), files.marked_folder(folder, []):
            pass


@pytest.mark.slow
def test_without_the_table_of_runs_the_last_partial_result_stays(half_done, error_of):
    cli.main(["partial", "--study", half_done.json])
    folder = half_done.results / "partial"
    before = {path: path.read_bytes() for path in folder.glob("*.html")}
    assert len(before) == 2
    first = next(half_done.blocks).log("runs")
    first.write_bytes(flipped(first.read_bytes(), 50))
    assert f"error: {first}: is damaged" in error_of("partial", "--study", half_done.json)
    assert {path: path.read_bytes() for path in folder.glob("*.html")} == before


def test_while_a_sweep_runs(half_done, tmp_path, monkeypatch, capsys):
    """The command runs in another shell: it reads finished logs only, and changes nothing else."""
    monkeypatch.chdir(tmp_path.parent)
    name = tmp_path.name
    drawn = {"results": name, "reproduce": {"weight_magnitudes": "e"}, "figures": [{"curves": "e"}]}
    config_file = tmp_path / "study.yaml"
    config_file.write_text(yaml.safe_dump(json.loads(half_done.json) | drawn))
    before = set(tmp_path.rglob("*"))
    *_, last = half_done.blocks
    with locks.lock(tmp_path), locks.block_lock(last, ()):
        cli.main(["partial", "--configfile", str(config_file)])
    said = capsys.readouterr().out
    assert "partial: 6 of 8 runs" in said
    assert f"report:  {name}/partial/report.html" in said
    assert (tmp_path / "partial/report.html").exists()
    made = {path.name for path in tmp_path.glob("partial/figures/*.svg")}
    assert {"weight_magnitudes.svg", "e_curves.svg"} <= made
    new = {path for path in set(tmp_path.rglob("*")) - before if "partial" not in path.parts}
    assert not [path for path in new if path.suffix in (".parquet", ".log")]


def test_nothing_done_is_one_line(tmp_path, error_of):
    said = error_of("partial", "--study", json.dumps(config(tmp_path)))
    assert said == f"error: {tmp_path}: no run has finished yet\n"
