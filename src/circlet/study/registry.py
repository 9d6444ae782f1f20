"""Collections: folders about one subject, with its systems, tables, figures and claims.

circlet ships some; a config names the user's, which may be anywhere on disk. All have the same
layout, of which any part may be left out; docs/architecture.md has its table.

A shipped collection uses the names of its files. Names in a user's collection ``mine`` begin with
``mine.``, so that they never clash with those of other collections. In Python all are modules below
``circlet.collections``: ``from circlet.collections.mine import clusters``.
"""

import contextlib
import functools
import importlib
import importlib.util
import keyword
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import msgspec
from msgspec import structs

from circlet.config import reading, schema
from circlet.config.collection import CollectionFile, Role
from circlet.errors import ConfigError

PACKAGE = Path(__file__).parents[1]
NAME = re.compile(r"[a-z][a-z0-9_]*")
PARTS = ("systems", "tables", "figures", "plots", "interventions", "commands")
FILES = ("claims.csv", "collection.yaml")


@dataclass(frozen=True)
class Collection:
    """A folder about one subject, shipped or a user's."""

    name: str
    folder: Path
    package: str  # Python package of its modules
    shipped: bool = False
    is_installed: bool = False  # with pip, in a package that has an entry point

    @property
    def place(self) -> str:
        """What a config writes: its folder, or its name if it is installed."""
        return self.name if self.is_installed else str(self.folder)

    def qualified(self, name: str) -> str:
        """Return the full name of one of its parts, as used in configs and results."""
        return name if self.shipped else f"{self.name}.{name}"

    def resolved(self, kind: str, name: str) -> str:
        """Return the full name for a name in its files: its own part, or else as is."""
        full = self.qualified(name)
        return full if full in (self.roles if kind == "roles" else self.modules(kind)) else name

    def supports(self, systems: Iterable[str]) -> bool:
        """Return whether it has one of these systems, or no systems at all."""
        system_names = self.modules("systems").keys()
        return not system_names or not system_names.isdisjoint(systems)

    @functools.cache  # noqa: B019 - a process has few
    def modules(self, kind: str) -> dict[str, str]:
        """Return the modules in its folder ``kind``, by full name."""
        files = sorted((self.folder / kind).glob("*.py"))
        names = [file.stem for file in files if file.stem != "__init__"]
        for name in names:
            if not NAME.fullmatch(name):
                raise ConfigError(
                    f"{self.folder / kind / name}.py: must be named with lower-case letters, "
                    "digits and underscores"
                )
        return {self.qualified(name): f"{self.package}.{kind}.{name}" for name in names}

    @functools.cached_property
    def metadata(self) -> CollectionFile:
        """Content of its ``collection.yaml``; raises ConfigError if it is not valid."""
        path = self.folder / "collection.yaml"
        if not path.exists():
            return CollectionFile()
        try:
            content = reading.parsed(path.read_text(encoding="utf-8"))
            if self.shipped:  # the tests check it
                return msgspec.convert(content, CollectionFile)
            return schema.read(content, CollectionFile)
        except (OSError, ValueError, ConfigError) as error:
            raise ConfigError(f"{path}: {error}") from None

    @property
    def figures(self) -> dict[str, str]:
        """Titles, or "", of the figures that it lists, by full name in the order of the report."""
        listed = self.metadata.figures
        titles = listed if isinstance(listed, dict) else dict.fromkeys(listed, "")
        return {self.resolved("figures", name): title for name, title in titles.items()}

    @property
    def headlines(self) -> list[str]:
        """Full names of its main claims."""
        return [self.qualified(name) for name in self.metadata.headlines]

    @functools.cached_property
    def roles(self) -> dict[str, Role]:
        """Its roles, with their requirements for experiments, by full name."""
        return {
            self.qualified(name): self._role(role) for name, role in self.metadata.roles.items()
        }

    def _role(self, role: Role) -> Role:
        """Return a role with the full name of its system."""
        system = self.resolved("systems", role.needs.system)
        return structs.replace(role, needs=structs.replace(role.needs, system=system))


def _shipped() -> tuple[Collection, ...]:
    """Return the folders in ``circlet/collections``, sorted by their ``ORDER``, and the sweeps."""
    folders = [file.parent for file in (PACKAGE / "collections").glob("*/__init__.py")]
    packages = {f"circlet.collections.{folder.name}": folder for folder in folders}
    ordered = sorted(packages, key=lambda package: importlib.import_module(package).ORDER)
    packages["circlet.sweeps"] = PACKAGE / "sweeps"
    return tuple(
        Collection(packages[name].name, packages[name], name, shipped=True)
        for name in (*ordered, "circlet.sweeps")
    )


SHIPPED = _shipped()
_imported: dict[str, Collection] = {}  # users' collections by name, as imported by this process
WHEN_REPLACED: list[Callable[[], None]] = []  # functions that discard what was read of a collection


def find(folders: Iterable[str]) -> tuple[Collection, ...]:
    """Return the shipped collections, and those in some folders or of some installed packages.

    Raises ConfigError.
    """
    by_name: dict[str, Collection] = {}
    for text in folders:
        is_installed = bool(NAME.fullmatch(str(text))) and text in reading.installed()
        # A link counts by its own name.
        path = reading.installed()[text] if is_installed else Path(text)
        folder = Path(os.path.normpath(path.absolute()))
        name = text if is_installed else folder.name
        if not folder.is_dir():
            raise ConfigError(f"collections: {text}: there is no such folder")
        if not NAME.fullmatch(name) or keyword.iskeyword(name):
            raise ConfigError(
                f"collections: {text}: its folder must be named with lower-case letters, digits "
                "and underscores, and not with a keyword of Python, because it becomes a module"
            )
        if name in {c.name for c in SHIPPED}:
            raise ConfigError(f"collections: {text}: circlet has a collection {name!r}; rename it")
        if name in by_name:
            raise ConfigError(
                f"collections: {text}: {by_name[name].folder} is named {name!r}, too; "
                "remove or rename one"
            )
        package = f"circlet.collections.{name}"
        by_name[name] = _use(Collection(name, folder, package, is_installed=is_installed))
        _check_parts(by_name[name])
    return (*SHIPPED, *by_name.values())


def modules(collections: Iterable[Collection], kind: str) -> dict[str, str]:
    """Return the modules in the folder ``kind`` of some collections, by full name."""
    return {n: m for collection in collections for n, m in collection.modules(kind).items()}


def user_modules(kind: str) -> dict[str, str]:
    """Return the modules in the folder ``kind`` of all users' collections in this process."""
    return modules(_imported.values(), kind)


def user_places(modules: Iterable[str]) -> list[str]:
    """Return the places of the users' collections to which some modules belong."""
    packages = {".".join(module.split(".")[:3]) for module in modules}
    return [collection.place for collection in _imported.values() if collection.package in packages]


def _check_parts(collection: Collection) -> None:
    """Check that each system has its two files, and that the collection is not empty."""
    systems, equations = (collection.modules(kind) for kind in ("systems", "equations"))
    folder = collection.folder
    for name in systems.keys() ^ equations.keys():
        stem = name.rpartition(".")[2]
        present, lacks = ("systems", "equations") if name in systems else ("equations", "systems")
        raise ConfigError(f"{folder}: {present}/{stem}.py is there, but {lacks}/{stem}.py is not")
    made = [collection.modules(kind) for kind in PARTS]
    if not any(made) and not any((folder / file).exists() for file in FILES):
        raise ConfigError(
            f"collections: {folder}: is not a collection: it has no "
            f"{', '.join(f'{part}/*.py' for part in PARTS)}, {' or '.join(FILES)}"
        )


def _use(collection: Collection) -> Collection:
    """Make a user's collection importable below ``circlet.collections``."""
    previous = _imported.get(collection.name)
    if previous and previous.folder == collection.folder:
        return previous
    if previous:  # another folder of the same name was used before
        _forget(collection.package)
        for forget in WHEN_REPLACED:
            forget()
    _imported[collection.name] = collection
    _import(collection)
    return collection


def _forget(package: str) -> dict[str, ModuleType]:
    """Remove the modules of a package from those that are imported; returns them by name."""
    names = [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]
    return {name: sys.modules.pop(name) for name in names}


@contextlib.contextmanager
def imported_anew(module: str) -> Iterator[None]:
    """Context: replace the modules of a user's collection by freshly imported ones.

    Fresh modules hold nothing that functions have stored since the first import.
    """
    packages = {collection.package: collection for collection in _imported.values()}
    package = ".".join(module.split(".")[:3])
    if package not in packages:
        yield
        return
    kept = _forget(package)
    try:
        _import(packages[package])
        yield
    finally:
        _forget(package)
        sys.modules.update(kept)


def _import(collection: Collection) -> None:
    init = collection.folder / "__init__.py"  # which may be missing
    spec = importlib.util.spec_from_file_location(
        collection.package, init, submodule_search_locations=[str(collection.folder)]
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[collection.package] = module
    if init.exists():
        with explained(init):
            spec.loader.exec_module(module)


@contextlib.contextmanager
def explained(file: Path, what: str = "cannot be imported") -> Iterator[None]:
    """Context: turn any error in a user's module into a ConfigError that names its file."""
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise ConfigError(f"{file}: {what}: {text}") from error


def place_in_user_code(error: BaseException) -> str:
    """Return file and line of an error in a user's collection; empty if it is not in one."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if any(Path(frame.filename).is_relative_to(c.folder) for c in _imported.values()):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def path_of(module: str) -> Path:
    """Return the file of a module of circlet or of a collection; of a package, its __init__.py."""
    parts = module.split(".")[1:]
    folder = PACKAGE
    if parts[:1] == ["collections"] and parts[1:2] and parts[1] in _imported:
        folder, parts = _imported[parts[1]].folder, parts[2:]
    path = folder.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
