"""Read the file of a config: YAML without repeated keys."""

import functools
import importlib.util
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from circlet.config import schema
from circlet.config.model import Config
from circlet.errors import ConfigError


class StrictLoader(yaml.CSafeLoader):
    """YAML that refuses a key given twice, instead of silently keeping the last."""


def _unique_keys(loader: StrictLoader, node: yaml.MappingNode) -> Any:
    keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
    if twice := [key for key, count in keys.items() if count > 1]:
        line = node.start_mark.line + 1
        raise ConfigError(f"{schema.shown(twice[0])} is given twice in the block at line {line}")
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_keys)


def parsed(text: str) -> Any:
    """Return the content of a YAML text; raises ConfigError."""
    try:
        return yaml.load(text, Loader=StrictLoader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: 2024-13-45 is not a date
        message = str(error).replace('in "<unicode string>",', "at")
        raise ConfigError(f"not YAML: {message}") from error


def read(path: str | Path) -> dict[str, Any]:
    """Read one config file.

    Folders of collections, relative to the file, become full paths; the names of installed ones
    stay. Raises ConfigError if the file is missing, is not YAML, or repeats a key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"not YAML: {error}") from error
    config = parsed(text)
    if not isinstance(config, dict):
        raise ConfigError("a config must be a mapping of keys to values, see config/README.md")
    folders = config.get("collections")
    if isinstance(folders, list) and all(isinstance(folder, str) for folder in folders):
        config_folder = Path(path).resolve().parent
        config["collections"] = [place(folder, config_folder) for folder in folders]
    return config


def place(collection: str, config_folder: Path) -> str:
    """Return the full path of a collection's folder, or the name of an installed collection."""
    folder = config_folder / collection
    return collection if not folder.exists() and collection in installed() else str(folder)


@functools.cache
def installed() -> dict[str, Path]:
    """Return the folders of collections in installed packages, by name; nothing is imported.

    A package names them by entry points of the group ``circlet.collections``, whose values are
    packages.
    """
    folders = {}
    for point in metadata.entry_points(group="circlet.collections"):
        spec = importlib.util.find_spec(point.module)
        for folder in (spec and spec.submodule_search_locations) or ():
            folders[point.name] = Path(folder)
    return folders


def collections(path: str | Path) -> list[str]:
    """Return the folders of collections that a config file names; other keys are not checked."""
    try:
        folders: list[str] = read(path).get("collections", [])
        schema.check({"collections": folders}, {"properties": schema.of(Config)["properties"]})
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return folders
