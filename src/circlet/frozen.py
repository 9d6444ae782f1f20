"""Frozen studies: the small tables of a study in a folder, without its logs, for a repository.

The folder has a config, whose ``results`` is the folder itself. Tables that
read no logs can be recomputed from the others, and must come out the same. This audit needs no
training, so anyone can check the numbers of a study, or judge them by other rules.
"""

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import yaml
from msgspec import structs

from circlet import compare, formatting
from circlet.analysis import log_frames, make
from circlet.errors import LogError, check_exist
from circlet.lazy_import import load
from circlet.storage import files, parquet, provenance, schema
from circlet.study import planning, targets
from circlet.study.declarations import literals
from circlet.study.plan import Study
from circlet.study.targets import Target

MAX_BYTES = 1_500_000  # of a table; larger ones are left out
CONFIG = "config.yaml"
ROUNDING = 1e-9  # relative differences that processors cause
_SUMMARIES = ("provenance", "outcome_summary", "effects")


def freeze(
    study: Study, folder: Path, further: Iterable[str] = (), earlier: Study | None = None
) -> list[str]:
    """Write a study's small tables and its config to a folder, replacing a frozen study in it.

    The tables are the scorecard and those that it depends on, summaries, and the ``further`` ones.
    Numbers are rounded to float32; tables that follow from others are recomputed from rounded ones.
    A study that is run in parts is frozen part by part: experiments of ``earlier``, the frozen
    study in the folder, are kept if this study lacks them. Returns a line for each table that is
    too large. Raises ConfigError if a table does not exist, LogError if a table is not as planned,
    a kept experiment has other settings in the config now, or the folder contains other files.
    """
    whole = _joined(study, earlier, folder)
    by_name = {target.name: target for target in targets.tables(whole)}
    check_exist("--tables", "table", by_name, further)
    needed = targets.with_dependencies(by_name["scorecard"]) if "scorecard" in by_name else []
    names = {*(target.name for target in needed), *_SUMMARIES, *further}
    if earlier is not None:
        names |= {path.stem for path in earlier.results.glob("tables/*.parquet")}
    chosen = [t for t in targets.ordered(whole) if t.kind == "tables" and t.name in names]
    kept = {t.name: rows for t in chosen if (rows := _rows(t, study, earlier)) is not None}
    paths = {target.name: folder / f"tables/{target.name}.parquet" for target in chosen}
    made, too_large = [folder / CONFIG], []
    with files.marked_folder(folder, [folder / CONFIG, *paths.values()]) as listed:
        text = yaml.safe_dump(json.loads(whole.json), sort_keys=False, width=100)
        files.write_text(folder / CONFIG, text)
        for target in chosen:
            path = paths[target.name]
            if _follows(target, {file.stem for file in made}):
                footer = provenance.made_by() | target.footer
                table = make.computed(load(target.module), target.study, target.name)
            elif target.name in kept:
                table, footer = kept[target.name]
                table = _rounded(_renamed(table, study, whole), whole)
            else:
                continue
            footer.pop("study", None)  # config.yaml has it
            _write(table, path, footer)
            if (size := path.stat().st_size) > MAX_BYTES:
                path.unlink()
                too_large.append(f"{target.name}: left out, {formatting.size(size)}")
            else:
                made.append(path)
        listed += made
    return too_large


def report(study: Study, folder: Path) -> Path:
    """Write the report of a frozen study into an empty folder, with tables and figures beside it.

    The report shows the figures that can be drawn from the stored tables, or from tables
    recomputed from these. Returns the path of the report.
    """
    shutil.copytree(study.results / "tables", folder / "tables")
    copy = study.staged(folder)
    present = {path.stem for path in folder.glob("tables/*.parquet")}
    for target in targets.ordered(copy):
        if target.name not in present and _follows(target, present):
            table = make.computed(load(target.module), target.study, target.name)
            _write(table, copy.table(target.name), target.footer)
            present.add(target.name)
    drawn = targets.figures(copy)
    left_out = [figure for figure in drawn if not all(path.exists() for path in figure.inputs)]
    left_out += [table for table in targets.tables(copy) if table.name not in present]
    for figure in drawn:
        if figure not in left_out:
            load(targets.MAKERS["figures"]).make(figure)
    page = targets.report(replace(copy, left_out=tuple(target.name for target in left_out)), drawn)
    load(page.module).make(page, frozen=True)
    return page.outputs[0]


def _joined(study: Study, earlier: Study | None, folder: Path) -> Study:
    """Return the study in ``folder``, with the experiments and roles that only ``earlier`` has."""
    config = structs.replace(study.config, results=str(folder))
    if earlier is not None:
        planned = (study.whole or study).config.experiments
        for name, settings in earlier.config.experiments.items():
            is_kept = name not in study.config.experiments
            if is_kept and planned.get(name, settings) != settings:
                raise LogError(f"{folder}: experiment {name} was frozen with other settings")
        config = structs.replace(
            config,
            experiments=earlier.config.experiments | config.experiments,
            reproduce=earlier.config.reproduce | config.reproduce,
        )
    return planning.plan(json.loads(msgspec.json.encode(config)))


def _rows(target: Target, study: Study, earlier: Study | None) -> tuple[pa.Table, dict] | None:
    """Return a table with rows of experiments that only ``earlier`` has, and its footer."""
    versions = []
    if earlier is not None:
        path = earlier.table(target.name)
        if path.exists():
            versions.append((parquet.read(path), parquet.footer(path)))
        elif target.name in (table.name for table in targets.tables(earlier)):
            return None  # was too large in the earlier study
    for planned in targets.tables(study):
        if planned.name == target.name:
            footer = parquet.footer(planned.outputs[0])
            if footer.get("key") != planned.key:
                remedy = "circlet partial" if study.whole else "snakemake"
                raise LogError(f"{planned.outputs[0]}: is not as planned; run {remedy}")
            versions.append((parquet.read(planned.outputs[0]), footer))
    if len(versions) < 2:
        return versions[0] if versions else None
    (old, _), (new, footer) = versions
    if "experiment" not in old.column_names:
        return new, footer
    again = pc.is_in(old["experiment"], pa.array(list(study.config.experiments)))
    kept = old.filter(pc.invert(again))
    fields = make.columns(load(target.module), target.study)
    frame = log_frames.concatenate([table.to_pandas() for table in (kept, new)])
    ordered = frame.reindex(columns=[field.name for field in fields])
    return schema.conform(ordered, fields, f"table {target.name}"), footer


def _follows(target: Target, present: set[str]) -> bool:
    """Return whether a table reads no logs, and all tables that it reads are present."""
    reads_logs = literals(target.module).get("LOGS", ())
    return (
        target.kind == "tables" and not reads_logs and all(t.name in present for t in target.tables)
    )


def _write(table: pa.Table, path: Path, footer: dict) -> None:
    """Write a table as compactly as possible, with the bytes of numbers split by position."""
    is_number = (pa.types.is_floating, pa.types.is_integer)
    numbers = [f.name for f in table.schema if any(check(f.type) for check in is_number)]
    smallest = {"compression_level": 19, "use_dictionary": False, "write_statistics": False}
    parquet.write(table, path, footer, use_byte_stream_split=numbers, **smallest)


def _renamed(table: pa.Table, study: Study, whole: Study) -> pa.Table:
    """Return the table with the names of points that the config gives.

    A study with logs may name a point as its existing folder (`Study._with_existing_names`).
    """
    names = {
        (name, old.name): new.name
        for name in study.config.experiments
        for old, new in zip(study.experiment(name), whole.experiment(name), strict=True)
        if old.name != new.name
    }
    for i, field in enumerate(table.schema if names else ()):
        if field.type == pa.string():
            values = table[i].to_pylist()
            if field.name == "point":
                pairs = zip(table["experiment"].to_pylist(), values, strict=True)
                values = [names.get(pair, pair[1]) for pair in pairs]
            else:
                values = [_run_renamed(value, names) for value in values]
            table = table.set_column(i, field, pa.array(values, pa.string()))
    return table


def _run_renamed(text: str | None, names: dict[tuple[str, str], str]) -> str | None:
    """Return a run's identity with the new name of its point; any other text unchanged."""
    parts = (text or "").split("/")
    if len(parts) == 3:
        parts[1] = names.get((parts[0], parts[1]), parts[1])
    return "/".join(parts) if len(parts) == 3 else text


def _rounded(table: pa.Table, study: Study) -> pa.Table:
    """Return the table rounded to float32, which halves the size of columns that compress badly.

    Parameters are not rounded, because rows are looked up by them (a weight decay of 0.3).
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_float64(field.type) and field.name not in study.parameters:
            short = table[i].cast(pa.float32(), safe=False).cast(pa.float64())
            table = table.set_column(i, field, short)
    return table


def made_again(study: Study) -> Iterator[Target]:
    """Return the tables of a frozen study that follow from its other tables, in order."""
    present = {target.name for target in targets.tables(study) if target.outputs[0].exists()}
    return (t for t in targets.ordered(study) if t.name in present and _follows(t, present))


def audit(study: Study) -> tuple[list[str], list[str]]:
    """Recompute the tables of a frozen study that follow from others; return names, differences."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "study"
        shutil.copytree(study.results, copy)
        gaps = {}
        # Each table is made from those that were made before it.
        for target in made_again(study.staged(copy)):
            path, remade = study.table(target.name), target.outputs[0]
            table = make.computed(load(target.module), target.study, target.name)
            _write(table, remade, parquet.footer(path))
            gaps[target.name] = compare.tables(path, remade, ROUNDING)
    if not gaps:
        raise LogError(f"{study.results}: has no tables that follow from others")
    return [*gaps], [f"{study.table(name)}: {text}" for name, text in gaps.items() if text]
