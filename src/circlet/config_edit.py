"""Edit a config file in place: what is not edited, comments and order too, stays as it is."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from circlet.errors import ConfigError
from circlet.storage import files
from circlet.study import config_file
from circlet.study.plan import Study


def set_seeds(path: Path, seeds: dict[str, dict[str, Any]]) -> None:
    """Give experiments other seeds: ``count`` and ``more`` by name.

    Raises ConfigError, and leaves the file as it is, if the config would be wrong then.
    """
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    config = yaml.load(path.read_text(encoding="utf-8"))
    for name, wanted in seeds.items():
        own = config["experiments"][name]["seeds"]
        own["count"] = wanted["count"]
        own.pop("more", None)
        if "more" in wanted:
            own["more"] = [_flow(entry) for entry in wanted["more"]]
            own.fa.set_block_style()
    with files.atomic(path) as temporary:
        with temporary.open("w", encoding="utf-8") as file:
            yaml.dump(config, file)
        _check(path, temporary)


def _check(path: Path, written: Path) -> None:
    """Whether what was written is a config, as if it were already in its place."""
    content = config_file.read(written)
    folders = config_file.read(path).get("collections")
    try:
        Study.of(content | ({"collections": folders} if folders else {}))
    except ConfigError as error:
        raise ConfigError(f"{path}: left as it is, as it would be wrong: {error}") from None


def _flow(entry: dict[str, Any]) -> CommentedMap:
    """A mapping on one line, and those in it."""
    found = CommentedMap({k: _flow(v) if isinstance(v, dict) else v for k, v in entry.items()})
    found.fa.set_flow_style()
    return found
