"""Published studies: the same data, and metadata that the libraries of their formats accept."""

import contextlib
import hashlib
import json
import os
import shutil
import sys

import mlcroissant
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import ROOT, config, config_of, make_tables, ran, run_blocks

import circlet
from circlet import publish
from circlet.cli import main
from circlet.publish import data
from circlet.storage import parquet
from circlet.study import planning

# mlcroissant calls what later versions of rdflib and of pandas will not have.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),
]


@pytest.fixture(scope="module")
def smoke(finished):
    """The results of the smoke study. Do not change them."""
    return finished.folder / "results/smoke"


@pytest.fixture(scope="module")
def published(smoke, tmp_path_factory):
    """The published smoke study, with logs. Do not change it."""
    to = tmp_path_factory.mktemp("published") / "smoke"
    with contextlib.redirect_stdout(None):
        main(["publish", str(smoke), "--to", str(to), "--logs"])
    return to


@pytest.fixture(scope="module")
def croissant(published):
    """The published smoke study, as Croissant's library sees it."""
    return mlcroissant.Dataset(published / "croissant.json")


@pytest.fixture
def study(tmp_path):
    """A small study with the tables that every study has."""
    small = ran(tmp_path / "small")
    make_tables(small)
    return small


def plain(value):
    """Return a value without numpy, bytes, NaN, and prefixes of names."""
    if isinstance(value, list | np.ndarray):
        values = [plain(v) for v in value]
        return values if values != [{"step": None, "text": None}] else None  # a missing list
    if isinstance(value, dict):
        return {name.rpartition("/")[2]: plain(v) for name, v in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    return None if value is None or value != value else value


def test_it_is_loaded_as_the_results_are(smoke, published):
    here, there = circlet.load(smoke, "arrow"), circlet.load(published, "arrow")
    assert there.tables == here.tables and there.logs == here.logs
    for name in here.tables:
        table = there.table(name)
        assert table.equals(here.table(name)), name
        assert table.schema.equals(here.table(name).schema, check_metadata=True)
    options = {"experiment": "weight_decay", "engine": "pandas"}
    pd.testing.assert_frame_equal(there.log("curves", **options), here.log("curves", **options))


def test_its_config_is_that_of_the_study(finished, published):
    theirs = planning.plan_file(published / "config.yaml").config
    with contextlib.chdir(finished.folder):
        ours = planning.plan_file("config/smoke.yaml").config
    for key in ("experiments", "reproduce", "derived_metrics", "milestones"):
        assert getattr(theirs, key) == getattr(ours, key), key


def test_the_card_explains_every_column(smoke, published):
    text = (published / "README.md").read_text()
    _, head, body = text.split("---\n", 2)
    named = {entry["config_name"]: entry["data_files"] for entry in yaml.safe_load(head)["configs"]}
    results = circlet.load(smoke, "arrow")
    with_rows = {name for name in results.tables if len(results.table(name))}
    assert with_rows < set(results.tables)  # the Hub cannot read a table without rows
    assert named == {name: f"tables/{name}.parquet" for name in with_rows}
    for name in results.tables:
        for field in results.table(name).schema:
            about = {k.decode(): v.decode() for k, v in field.metadata.items()}
            meaning = about["meaning"].replace("|", r"\|")
            row = f"| `{field.name}` | {field.type} | {about['unit']} | {meaning} |"
            assert row in body, (name, field.name)
    assert "snakemake --profile profiles/local --configfile config.yaml" in body
    assert "arXiv:2405.17420" in body
    for row in results.table("provenance").to_pylist():
        assert row["machine"] in body and row["commit"] in body


def test_every_file_has_its_checksum(published):
    lines = (published / "sha256sums.txt").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    others = {"sha256sums.txt", ".circlet.json"}
    files = {str(p.relative_to(published)) for p in published.rglob("*") if p.is_file()} - others
    assert sums.keys() == files
    for name, digest in sums.items():
        assert hashlib.sha256((published / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.parametrize("table", ["runs", "table1", "outcomes", "explorer_runs"])
def test_croissant_yields_the_rows_of_a_table(table, published, croissant):
    """Tables with missing integers, lists, and lists of structures are among them."""
    rows = circlet.load(published, "arrow").table(table).to_pylist()
    records = [*croissant.records(table)]
    assert [plain(record) for record in records] == [plain(row) for row in rows]


def test_croissant_has_no_errors_and_no_warnings(published, croissant):
    issues = croissant.metadata.ctx.issues
    assert not issues.errors and not issues.warnings
    results = circlet.load(published, "arrow")
    assert [records.id for records in croissant.metadata.record_sets] == results.tables
    kinds = {entity.id for entity in croissant.metadata.distribution if "/" not in entity.id}
    assert kinds == {f"{kind}.parquet" for kind in results.logs}


def test_the_same_study_gives_the_same_bytes(study, tmp_path):
    """Also in another folder, and later, because copies keep the times of files."""
    copy = shutil.copytree(study.results, tmp_path / "other/small")
    contents = []
    for folder in (study.results, copy, copy):
        to = tmp_path / f"to{len(contents)}"
        publish.write(data.read(folder), to)
        contents.append({p.relative_to(to): p.read_bytes() for p in to.rglob("*") if p.is_file()})
    assert contents[0] == contents[1] == contents[2]
    assert str(tmp_path) not in "".join(publish.texts(data.read(copy)).values())


def test_date_and_licence(study, tmp_path):
    for path in study.results.glob("tables/*"):
        os.utime(path, (1e9, 1e9))
    runs = study.table("runs")
    os.utime(runs, (1.1e9, 1.1e9))
    to = tmp_path / "to"
    main(["publish", str(study.results), "--to", str(to), "--licence", "CC-BY-4.0"])
    metadata = json.loads((to / "croissant.json").read_text())
    assert metadata["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert metadata["datePublished"] == "2004-11-09"
    assert "license: cc-by-4.0\n" in (to / "README.md").read_text()


def test_logs_are_optional_and_an_earlier_data_set_is_replaced(study, capsys):
    to = study.results / "published"
    main(["publish", str(study.results), "--logs"])
    assert "logs" in capsys.readouterr().out and [*to.glob("logs/*/*/*/*.parquet")]
    main(["publish", str(study.results)])
    said = capsys.readouterr().out
    assert "--logs copies them" in said and f"hf upload OWNER/small {to}" in said
    assert not [*to.rglob("logs/**/*.parquet")]
    assert circlet.load(study.results).tables == circlet.load(to).tables


def test_a_partial_study_says_what_is_missing(tmp_path, error_of):
    whole = planning.plan(config(tmp_path / "half", seeds={"count": 4}))
    first, _ = whole.blocks
    run_blocks(whole.partial([first]))
    (tmp_path / "half.json").write_text(whole.whole_json)
    main(["partial", "--study", str(tmp_path / "half.json")])
    assert "run snakemake" in error_of("publish", tmp_path / "half")
    main(["publish", str(tmp_path / "half/partial")])
    text = (tmp_path / "half/partial/published/README.md").read_text()
    assert "Not finished: 1 block of runs." in text and "# Half partial (circlet)" in text


def test_a_study_of_an_own_collection(mine, tmp_path, error_of):
    study = run_blocks(planning.plan(config_of(mine, results=tmp_path / "own")))
    make_tables(study)
    assert "name your own collections after --collections" in error_of("publish", study.results)
    main(["publish", str(study.results), "--collections", str(mine)])
    text = (study.results / "published/README.md").read_text()
    assert "| [`mine.distances`](#mine.distances) | 4 |" in text
    assert "how far from the origin the particles of each run end" in text
    dataset = mlcroissant.Dataset(study.results / "published/croissant.json")
    assert len([*dataset.records("mine.distances")]) == 4


def test_errors_say_what_to_do(study, tmp_path, error_of):
    results = study.results
    assert "there is no such folder" in error_of("publish", tmp_path / "nowhere")
    assert "has no tables; run snakemake" in error_of("publish", tmp_path)
    assert "SPDX identifier" in error_of("publish", results, "--licence", "my own")
    assert "give another folder" in error_of("publish", results, "--to", results)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/text.md").write_text("mine")
    assert "somebody else's" in error_of("publish", results, "--to", tmp_path / "thesis")
    assert [*(tmp_path / "thesis").iterdir()] == [tmp_path / "thesis/text.md"]
    path = study.table("effects")
    made, table = parquet.footer(path), parquet.read(path)
    made["study"]["experiments"]["e"]["steps"] = 6
    parquet.write(table, path, made)
    assert "another `experiments` than other tables; run snakemake" in error_of("publish", results)
    path.write_bytes(path.read_bytes()[:-40])
    assert "effects.parquet: is damaged" in error_of("publish", results)
    path.unlink()
    said = error_of("publish", results)
    assert "is not finished: the tables effects are missing; run snakemake" in said


def test_without_its_libraries_the_command_says_what_to_install(study, monkeypatch, error_of):
    monkeypatch.setitem(sys.modules, "mlcroissant", None)
    line = error_of("publish", study.results)
    assert "publish needs mlcroissant: pip install 'circlet[publish]'" in line
    assert not (study.results / "published").exists()


def test_a_frozen_study_can_be_published(tmp_path, monkeypatch):
    folder = ROOT / "docs/studies/phase"
    monkeypatch.chdir(tmp_path)
    main(["publish", str(folder)])
    to = tmp_path / f"results/{folder.name}/published"
    here, there = circlet.load(folder, "arrow"), circlet.load(to, "arrow")
    assert there.tables == here.tables
    assert all(there.table(name).equals(here.table(name)) for name in here.tables)
    issues = mlcroissant.Dataset(to / "croissant.json").metadata.ctx.issues
    assert not issues.errors and not issues.warnings
    text = (to / "README.md").read_text()
    assert "rounded to float32" in text
    assert len(text) < 60_000
