"""Frozen studies: the small tables of a study in a folder, without its logs, for a repository.

The folder has a config, whose ``results`` is the folder itself. From the tables that were made from
logs all others can be made again, and must be the same: an audit, without training. So numbers that
are said to come from a study can be checked by everybody, and be judged by other rules.
"""

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import yaml

from circlet import compare
from circlet.analysis import make
from circlet.errors import ConfigError, LogError, unknown
from circlet.lazy_import import load
from circlet.storage import files, parquet
from circlet.study import targets
from circlet.study.declarations import literals
from circlet.study.plan import Study
from circlet.study.targets import Target

MOST_BYTES = 1_500_000  # of a table; larger ones are left out
CONFIG = "config.yaml"
ROUNDING = 1e-9  # relative, between processors
_SUMMARIES = ("provenance", "outcome_summary", "effects")


def freeze(study: Study, folder: Path, further: Iterable[str] = ()) -> list[str]:
    """Put small tables of a study, and its config, into a folder; an earlier one is replaced.

    They are the scorecard and all that it is made from, summaries, and ``further`` ones. Numbers
    are rounded to float32, and what follows from others is made again, so that it still does.
    Returns a line for each that is too large. Raises ConfigError if there is no such table,
    LogError if one is not as planned, or if something else is in the folder.
    """
    every = {target.name: target for target in targets.tables(study)}
    for name in further:
        if name not in every:
            raise ConfigError(unknown("table", name, every))
    behind = targets.behind(every["scorecard"]) if "scorecard" in every else []
    names = {*(target.name for target in behind), *_SUMMARIES, *further}
    chosen = [target for name, target in every.items() if name in names]
    footers = {target.name: parquet.footer(target.outputs[0]) for target in chosen}
    for target in chosen:
        if footers[target.name].get("key") != target.key:
            raise LogError(f"{target.outputs[0]}: is not as planned; run snakemake")
    said = []
    paths = {target.name: folder / f"tables/{target.name}.parquet" for target in chosen}
    with files.own_folder(folder, [folder / CONFIG, *paths.values()]) as made:
        config = json.loads(study.json) | {"results": str(folder)}
        text = yaml.safe_dump(config, sort_keys=False, width=100)
        with files.atomic(folder / CONFIG) as temporary:
            temporary.write_text(text, encoding="utf-8")
        made.append(folder / CONFIG)
        for target in chosen:
            footer, path = footers[target.name], paths[target.name]
            del footer["study"]  # it is in the config
            _write(_rounded(parquet.read(target.outputs[0]), study), path, footer)
            if (size := path.stat().st_size) > MOST_BYTES:
                path.unlink()
                said.append(f"{target.name}: left out, {size / 1e6:.1f} MB")
            else:
                made.append(path)
        remake(Study.of(study.config | {"results": str(folder)}))  # from what is rounded
    return said


def _write(table: pa.Table, path: Path, footer: dict) -> None:
    """Write a table as small as it gets: bytes of numbers that are alike stand side by side."""
    numbers = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    others = [name for name in table.column_names if name not in numbers]
    ways = {"use_byte_stream_split": numbers, "use_dictionary": others}
    parquet.write(table, path, footer, compression_level=19, **ways)


def _rounded(table: pa.Table, study: Study) -> pa.Table:
    """The same to the precision of float32, which halves what cannot be compressed.

    Parameters are kept: a weight decay of 0.3 is found by its value.
    """
    for i, field in enumerate(table.schema):
        if pa.types.is_float64(field.type) and field.name not in study.parameters:
            short = table[i].cast(pa.float32(), safe=False).cast(pa.float64())
            table = table.set_column(i, field, short)
    return table


def made_again(study: Study) -> Iterator[Target]:
    """Tables of a frozen study that follow from others of it, each after those it is made from."""
    has = {target.name for target in targets.tables(study) if target.outputs[0].exists()}
    for target in targets.ordered(study):
        is_derived = target.kind == "tables" and not literals(target.module).get("LOGS", ())
        if is_derived and target.name in has and all(t.name in has for t in target.tables):
            yield target


def remake(study: Study) -> list[str]:
    """Make all tables of a frozen study again that follow from others, in place; their names.

    They are made by the code as it is now, in order, so that what follows from an edited table is
    edited, too.
    """
    done = []
    for target in made_again(study):
        made = parquet.footer(study.table(target.name))
        table = make.computed(load(target.module), target.study, target.name)
        _write(table, study.table(target.name), made)
        done.append(target.name)
    if not done:
        raise LogError(f"{study.results}: has no tables that follow from others")
    return done


def audit(study: Study) -> tuple[list[str], list[str]]:
    """Make all tables of a frozen study again that follow from others: which, and what differs."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "study"
        shutil.copytree(study.results, copy)
        done = remake(Study.of(study.config | {"results": str(copy)}))
        gaps = {
            name: compare.tables(study.table(name), copy / f"tables/{name}.parquet", ROUNDING)
            for name in done
        }
    return done, [f"{study.table(name)}: {said}" for name, said in gaps.items() if said]
