"""What the report and the terminal say of a study's scorecard."""

import html
import math
import re
import shutil
from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import config, experiment, make_tables, planned, ran, run_blocks

from circlet import formatting
from circlet.analysis import claims
from circlet.errors import LogError
from circlet.pages import experiments, report, summary
from circlet.storage import parquet, provenance, schema
from circlet.study import planning, registry, targets
from circlet.sweeps.tables import scorecard

ROW = {
    "claim": "x", "paper": "musat", "reference": "paper", "source": "Table 1",
    "statement": "a < b & c", "unit": "of 100", "kind": "share", "tally": "test",
    "published": 11.0, "measured": 22.0, "measured_low": 20.0, "measured_high": 24.0,
    "measured_n": 50, "n_runs": 33, "n_planned": 44, "verdict": "deviates", "note": "",
    "difference": 11.0, "difference_low": 9.0, "difference_high": 13.0, "same_low": 7.0,
    "same_high": 15.0, "mistaken": 0.0, "unnoticed": 0.02, "table": "table1", "where": "",
    "column": "circles",
}  # fmt: skip
FROZEN = pd.read_csv(registry.PACKAGE / "collections/musat/frozen.csv").set_index("claim")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A study with all its tables. Do not change it: take ``reported``."""
    made = config(tmp_path_factory.mktemp("judged")) | {"reproduce": {"table1": "e"}}
    study = run_blocks(planning.plan(made))
    make_tables(study)
    draw_nothing(study)
    return study


def draw_nothing(study):
    """Write empty pictures in place of the figures of a study."""
    for path in [path for figure in targets.figures(study) for path in figure.outputs]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("<svg/>")


@pytest.fixture
def reported(judged, tmp_path):
    """A study with empty figures, a scorecard of one row, and known runs."""
    study = judged.staged(shutil.copytree(judged.results, tmp_path / "results"))
    plant(study, ROW)
    return study


def page_of(study):
    """Make the report of a study, and return its text."""
    report.make(targets.report(study))
    return (study.results / "report.html").read_text()


def test_a_report_without_tables_says_which_are_left_out(reported):
    left_out = ("effects", "explorer_runs", "outcome_summary", "runs", "scorecard")
    assert left_out == tuple(sorted(set(report.OPTIONAL_TABLES) - {"provenance"}))
    page = page_of(replace(reported, left_out=left_out))
    assert f"Could not be made: {', '.join(left_out)}." in page


def test_a_figure_is_in_the_section_of_its_collection_alone(tmp_path):
    """Also if the collection of a user has a title and a claim for it."""
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "collection.yaml").write_text("figures: {published_tables: Ours}\n")
    (ours / "claims.csv").write_text(
        "claim,source,statement,kind,published,margin,role,table,column,figure\n"
        "ours,x,Ours,exact,1,1,table1,table1,circles,published_tables\n"
    )
    others = {"reproduce": {"table1": "e"}, "collections": [str(ours)]}
    study = run_blocks(planned(tmp_path / "results", others, e=experiment()))
    make_tables(study)
    draw_nothing(study)
    page = page_of(study)
    assert page.count('<figure id="published_tables"') == 1
    figure = page[page.index('<figure id="published_tables"') :].partition("</figure>")[0]
    assert '<a href="#musat-verdicts">Verdicts</a>' in figure and " reproduced" not in figure


def test_the_report_shows_the_numbers_of_the_tables(reported):
    page = page_of(reported)
    row = page[page.index('<tr id="x">') :]
    cells = re.sub("<[^>]+>", "|", row[: row.index("\n")].replace("<td", "|<td"))
    assert [cell for cell in cells.split("|") if cell] == [
        "deviates", "a &lt; b &amp; c (Table 1)", "22 of 100 [20, 24] (11 of our 50)",
        "7 to 15", "50", "33 of 44", "2.0",
    ]  # fmt: skip
    section = page[page.index("What differs or deviates, and why") :]
    section = section[: section.index("</ul>")]
    assert "a &lt; b &amp; c.</span> Here: " in section
    assert "No reason is recorded." in section
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
    claim = claims.read(reported).query("reason != ''").iloc[0]
    plant(reported, ROW | {"claim": claim["claim"]})
    said = " ".join(summary.summary(reported).split())
    assert said.startswith("tests of deviates look at")
    assert "Mușat 1 " in said
    assert "1 of 1 test differs or deviates. If all claims were true" in said
    assert "deviates: Mușat, Table 1: a < b & c (here: 22 of 100 [20, 24] (11 of our 50))" in said
    assert f"Why: {claim['reason'].partition('. ')[0]}." in said
    assert str(reported.results / "report.html") in said
    assert "frozen" not in said


def test_what_a_study_has_not_run_is_told_by_a_frozen_study_but_not_counted(reported):
    claim = claims.read(reported)["claim"].iloc[0]
    there = FROZEN.loc[claim]
    empty = dict.fromkeys(("measured", "measured_low", "measured_high"), math.nan)
    not_run = {"verdict": "not_run", "note": "no run", "measured_n": 0, "n_runs": 0, "n_planned": 0}
    plant(reported, ROW | {"claim": claim} | empty | not_run)
    said = " ".join(summary.summary(reported).split())
    assert said.startswith("tests of not run look at")
    assert "Mușat 1 " in said
    judged = f"Frozen studies of circlet have judged 1 of them: 1 {there['verdict']}."
    assert f"Tests not run here: 1. {judged}" in said
    title, row = summary.scorecard(reported).splitlines()[3:5]
    assert title.strip() == f"-- not run here: verdicts of the frozen study {there['study']}"
    assert row.startswith(there["verdict"])
    assert formatting.number(there["measured"]) in row.split()
    assert "1 tests: 1 not run" in summary.scorecard(reported)


def test_what_more_runs_of_a_frozen_study_do_not_find_may_come_from_few_runs(reported, monkeypatch):
    unexplained = claims.read(reported).query("reason == ''")["claim"]
    there = FROZEN.loc[unexplained].query("verdict == 'reproduced'").iloc[0]

    def reason(**row) -> str:
        plant(reported, ROW | {"claim": there.name} | row)
        card = parquet.read_table(reported, "scorecard")
        return claims.explained(card, reported)["reason"].item()

    assert reason() == (
        f"Perhaps too few runs: with n = {there['measured_n']} in place of 50, the frozen study "
        f"{there['study']} finds {there['measured']:.3g} (reproduced)."
    )
    assert reason(measured_n=there["measured_n"]) == ""
    assert reason(tally="other") == ""
    assert reason(verdict="undecided") == ""
    read = claims.read
    monkeypatch.setattr(claims, "read", lambda study: read(study).assign(reason=""))
    disagrees = FROZEN.query("verdict == 'differs'").index[0]
    assert reason(claim=disagrees) == ""


def test_a_planted_deviation_is_on_the_first_screen_with_its_recorded_reason(reported):
    claim = claims.read(reported).query("reason != ''").iloc[0]
    plant(reported, ROW | {"claim": claim["claim"]})
    page = html.unescape(page_of(reported))
    first = page.index('<p class="story">')
    story = page[first : page.index("</ul>", first)]
    assert reported.collections[0].metadata.question in story
    assert f"[20, 24] (11 of our 50)</span> (deviates). {claim['reason']}" in story


def test_a_study_without_claims_begins_with_what_its_sweeps_show(tmp_path):
    study = ran(tmp_path, sweep={"weight_decay": [0, 1]})
    make_tables(study)
    draw_nothing(study)
    text = page_of(study)
    assert text.index('id="sweeps"') < text.index("<h2") + 50  # it is the first section
    assert "<li><b>e</b>, " in text
    assert "verdict" not in text[text.index("</style>") :]


def test_the_optimiser_is_named_as_it_is_whatever_its_weight_decay():
    (point,) = planning.plan(config(parameters={"weight_decay": 0})).points
    assert experiments.setting([point])["setting"].endswith("5 steps of AdamW")


def test_a_claim_and_its_figure_lead_to_each_other(reported):
    """The row's claim is unknown at first, then one that names the figure."""
    name = "imperfections_accuracy"
    claim = claims.read(reported).query("figure == @name")["claim"].iloc[0]
    for row, together in ((ROW | {"claim": claim}, True), (ROW, False)):
        plant(reported, row)
        page = page_of(reported)
        figure = page[page.index(f'<figure id="{name}"') :].partition("</figure>")[0]
        assert ('<a href="#musat-verdicts">Verdicts</a>: ' in figure) == together
        assert (f'<a href="#{name}">Table 1</a>' in page) == together
        assert 'id="musat-verdicts"' in page


def test_a_study_has_the_claims_of_collections_whose_roles_it_has():
    assert claims.read(planning.plan(config())).empty
    published = claims.read(planning.plan(config() | {"reproduce": {"table1": "e"}}))
    assert set(published["collection"]) == {"musat"}
    assert published["figure"].map(type).eq(str).all()


@pytest.mark.parametrize("older", ["scorecard", "table1", "structures", "a log"])
def test_a_scorecard_from_older_code_or_runs_is_not_shown(reported, older):
    is_log = older == "a log"
    path = next(reported.blocks).log("runs") if is_log else reported.table(older)
    made = parquet.footer(path)
    other = {"spec": made["spec"] | {"version": 0}} if is_log else {"key": "another"}
    parquet.write(pq.read_table(path), path, made | other)
    with pytest.raises(LogError, match="older than the config or the code"):
        summary.scorecard(reported)
