"""Make a study from a config: with checks for a plan, without them for jobs of a checked plan."""

import base64
import bz2
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from circlet.config import reading, schema
from circlet.config.experiment import Experiment
from circlet.config.model import Config
from circlet.errors import ConfigError, check_exist
from circlet.study import checks, declared_systems, limits, registry, user_collections, validation
from circlet.study.plan import Study

# Linux allows 128 KiB for one argument, and a whole shell command is one.
MAX_ARGUMENT = 100_000


def plan(config: dict[str, Any]) -> Study:
    """Return the study of a config; raises ConfigError naming the offending key."""
    checked = schema.read(config, Config)
    limits.check_results(checked.results)
    study = _study(checked, is_checked=False)
    limits.check_totals(study.config)
    if duplicates := study.config.experiments.keys() & study.config.parents.keys():
        raise ConfigError(f"parents.{min(duplicates)}: is also an experiment")
    checks.check(study)
    argument(study.whole_json)  # must fit
    return study


def plan_file(path: str | Path) -> Study:
    """Return the study of one config file; errors name the file."""
    try:
        return plan(reading.read(path))
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def decode(text: str, collections: Sequence[str] = ()) -> Study:
    """Return the study of a config that a plan has checked; it is not checked again.

    ``text`` is JSON or packed.
    ``collections`` are the folders of the user's collections, if the text does not have them.
    """
    config = msgspec.json.decode(unpacked(text), type=Config)
    if collections:
        config = structs.replace(config, collections=list(collections))
    return _study(config, is_checked=True)


def argument(text: str) -> str:
    """Return a study's JSON as an argument of a command, packed if it is long."""
    return text if len(text.encode()) <= MAX_ARGUMENT else packed(text)


def packed(text: str) -> str:
    """Return a study's JSON compressed, in letters and digits that need no quotes."""
    short = base64.b64encode(bz2.compress(text.encode())).decode()
    if len(short) > MAX_ARGUMENT:
        raise ConfigError(
            f"is too long for a job: {len(short)} bytes when compressed, of {MAX_ARGUMENT}; "
            "list fewer steps, cases or seeds one by one"
        )
    return short


def unpacked(text: str) -> str:
    """Return the JSON of a study from either form."""
    if text.lstrip().startswith("{"):
        return text
    return bz2.decompress(base64.b64decode(text)).decode()


def _study(config: Config, is_checked: bool) -> Study:
    """Return the study of a config with the defaults of its systems; `Block.json` has none."""
    collections = registry.find(config.collections)
    systems = declared_systems.Systems(collections)
    if not is_checked:
        user_collections.check(systems)
        for where, experiment in config.located:
            check_exist(f"{where}.system", "system", sorted(systems), [experiment.system])
    checkpoints = config.checkpoints  # no result depends on it
    bare = structs.replace(config, collections=[], checkpoints=None)
    results = Path(config.results)
    return Study(
        _resolved(bare, systems, is_checked),
        collections,
        results,
        checkpoints=checkpoints,
        is_checked=is_checked,
    )


def _resolved(config: Config, systems: declared_systems.Systems, is_checked: bool) -> Config:
    """Return a config with the defaults of its systems; raises ConfigError naming the key."""
    groups: dict[str, dict[str, Experiment]] = {"experiments": {}, "parents": {}}
    for group, experiments in groups.items():
        for name, given in getattr(config, group).items():
            where, system = f"{group}.{name}", systems[given.system]
            experiments[name] = validation.resolved(where, given, system)
            if not is_checked:
                validation.check_experiment(where, experiments[name], systems)
    return structs.replace(config, **groups)
