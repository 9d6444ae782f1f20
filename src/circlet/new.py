"""Write template files: a collection, a system, a table or a figure that works."""

import keyword
from pathlib import Path
from string import Template

from circlet.errors import ConfigError
from circlet.study import registry
from circlet.study.registry import Collection

TEMPLATES = Path(__file__).parent / "templates"
FILES = {  # of each kind: where they are in the collection, and their templates
    "collection": {"collection.yaml": "collection.yaml"},
    "system": {
        "systems/{}.py": "system.txt",
        "equations/{}.py": "equations.txt",
        "{}.yaml": "config.yaml",
    },
    "table": {"tables/{}.py": "table.txt"},
    "figure": {"figures/{}.py": "figure.txt"},
}


def make(kind: str, path: Path, name: str | None = None) -> list[Path]:
    """Make a collection, or a part of one that has a name, and return its files.

    A table or a figure is of the first system of the collection, or else of circlet. Raises
    ConfigError.
    """
    name = path.resolve().name if name is None else name
    _check_name(name)
    words = {"name": name, "title": name.replace("_", " ").capitalize()}
    if kind == "collection":
        _check_free(path, name)
    else:
        user_collection = registry.find([str(path)])[-1]
        words["qualified"] = user_collection.qualified(name)
        if kind != "system":
            collections = (user_collection, *registry.SHIPPED)
            words["system"] = next(s for c in collections for s in c.modules("systems"))
    texts = {}
    for place, template in FILES[kind].items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        texts[path / place.format(name)] = Template(text).substitute(words)
    return _write(texts)


def _check_name(name: str) -> None:
    if not registry.NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(
            f"{name!r}: must be lower-case letters, digits and underscores, and not a keyword of "
            "Python"
        )


def _check_free(path: Path, name: str) -> None:
    if name in {shipped.name for shipped in registry.SHIPPED}:
        raise ConfigError(f"{path}: circlet has a collection {name!r}; choose another name")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path}: already exists")


def _write(texts: dict[Path, str]) -> list[Path]:
    """Write files and return their paths; raises ConfigError if one exists."""
    for path in texts:
        if path.exists():
            raise ConfigError(f"{path}: already exists")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    Collection.modules.cache_clear()  # the collection has new modules
    return [*texts]
