"""Write template files: a collection, a system, a table or a figure that works."""

import keyword
import shlex
from pathlib import Path
from string import Template

from circlet.errors import ConfigError
from circlet.study import registry
from circlet.study.registry import Collection

TEMPLATES = Path(__file__).parent / "templates"


def collection(path: Path) -> list[Path]:
    """Make a collection and return its files. Raises ConfigError, as all functions below."""
    name = path.resolve().name
    _check_name(name)
    if name in {shipped.name for shipped in registry.SHIPPED}:
        raise ConfigError(f"{path}: circlet has a collection {name!r}; choose another name")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path}: already exists")
    title = name.replace("_", " ").capitalize()
    text = _filled("collection.yaml", collection=name, title=title)
    return _write({path / "collection.yaml": text})


def system(path: Path, name: str) -> list[Path]:
    """Make a system of a collection, and a config that runs it."""
    user_collection = _collection(path)
    _check_name(name)
    qualified = user_collection.qualified(name)
    return _write(
        {
            path / "systems" / f"{name}.py": _filled("system.txt"),
            path / "equations" / f"{name}.py": _filled("equations.txt"),
            path / f"{name}.yaml": _filled("config.yaml", name=name, system=qualified),
        }
    )


def table(path: Path, name: str) -> list[Path]:
    """Make a table of the first system of a collection."""
    user_collection = _collection(path)
    _check_name(name)
    system_name = _first_system(user_collection)
    text = _filled("table.txt", table=user_collection.qualified(name), system=system_name)
    return _write({path / "tables" / f"{name}.py": text})


def figure(path: Path, name: str) -> list[Path]:
    """Make a figure of all runs of the first system of a collection."""
    user_collection = _collection(path)
    _check_name(name)
    text = _filled("figure.txt", system=_first_system(user_collection))
    return _write({path / "figures" / f"{name}.py": text})


def _check_name(name: str) -> None:
    if not registry.NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(
            f"{name!r}: must be lower-case letters, digits and underscores, and not a keyword of "
            "Python"
        )


def _collection(path: Path) -> Collection:
    return registry.find([str(path)])[-1]


def _first_system(user_collection: Collection) -> str:
    names = [*user_collection.modules("systems")]
    if not names:
        raise ConfigError(
            f"{user_collection.folder}: has no system yet; make one with: "
            f"circlet new system {shlex.quote(str(user_collection.folder))} NAME"
        )
    return names[0]


def _filled(template: str, **words: str) -> str:
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(words)


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
