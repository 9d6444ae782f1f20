"""Fingerprints of code: hashes of a module and of all that it imports from circlet.

Comments, docstrings and layout do not count, nor do modules that only read and check what others
compute with (`CHECKS`): editing a message must not re-run anything.
"""

import functools
import json
from pathlib import Path

from circlet.study import registry
from circlet.study.declarations import declared, literals
from circlet.study.registry import path_of
from circlet.study.sources import hash_of, summary, text_of
from circlet.systems.spec import SystemSpec

TRAINERS = ("circlet.training.run", "circlet.training.native_run")
KERNELS = Path(__file__).parents[1] / "native/kernels"
CHECKS = frozenset(
    f"circlet.{name}"
    for name in (
        *("errors", "lazy_import", "config.collection", "config.experiment", "config.model"),
        *("config.reading", "config.schema", "study.declarations", "study.fingerprint"),
        *("study.limits", "study.sources", "study.user_cache"),
    )
)
OF_TRAINING = CHECKS | {"circlet.study.registry"}  # it also decides what tables are made from
AUTOGRAD = 1  # raised when circlet changes numbers of systems that declare no version


def forget() -> None:
    """Discard all cached modules, so that they are read again."""
    for function in (text_of, literals, declared, imports, closure, _of_module, digest, local_code):
        function.cache_clear()


registry.WHEN_REPLACED.append(forget)


def _text(path: Path) -> str:
    return path.read_text("utf-8", "surrogateescape") if path.exists() else ""


def _of_circlet(module: str) -> bool:
    return module.split(".")[0] == "circlet"


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Return modules of circlet and collections that a module imports, and its packages."""
    parts = module.split(".")
    modules = {".".join(parts[:n]) for n in range(1, len(parts))}  # Python runs these first
    for imported in summary(module).imports:
        name = imported.source(module)
        modules |= {name, *(f"{name}.{member}" for _, member in imported.names)}
    return frozenset(m for m in modules if _of_circlet(m) and path_of(m).exists())


def absent(module: str) -> list[str]:
    """Return the modules of circlet and of collections that a module imports but do not exist."""
    names = [imported.source(module) for imported in summary(module).imports]
    paths = {name: path_of(name) for name in names if _of_circlet(name)}
    return [n for n, path in paths.items() if path.name != "__init__.py" and not path.exists()]


@functools.cache
def closure(module: str, without: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return a module and all that it imports from circlet and collections, even indirectly.

    Modules in ``without``, and what only these import, are left out.
    """
    modules: set[str] = set()
    todo = {module}
    while todo:
        modules |= todo
        todo = {name for m in todo for name in imports(m)} - modules - without
    return frozenset(modules)


@functools.cache
def _of_module(module: str) -> str:
    """Return the fingerprint of one module, and of the files that it declares in ``DATA``."""
    names, folder = literals(module).get("DATA", ()), path_of(module).parent
    data = [file for name in names for file in sorted(folder.glob(name))]
    code = summary(module).code
    return hash_of([code, *map(_text, data)]) if data else code


def of_system(system: SystemSpec) -> str:
    """Return the fingerprint of the code that decides the numbers of a system's runs."""
    others = sorted(imports(system.module))
    has_kernel = "circlet.native" in closure(system.equations)
    kernels = tuple(sorted(KERNELS.iterdir())) if has_kernel else ()
    modules = (*TRAINERS, system.equations, *others)
    texts = (summary(system.module).computing,)
    return digest(*modules, data=kernels, texts=texts, without=OF_TRAINING)


def of_equations(system: SystemSpec) -> str:
    """Return the version of a system that declares none: a hash of all that decides its numbers.

    It covers the equations and their imports from the same collection, the embedding, the names of
    metrics, and the defaults of parameters and logs, which the identity of a run leaves out.
    """
    logs = {kind: [log.schedule, [*log.always]] for kind, log in system.logs.items()}
    declared = [system.defaults, system.embedding, sorted(system.metrics), logs, AUTOGRAD]
    return local_code(system.equations, json.dumps(declared, sort_keys=True))


@functools.cache
def local_code(module: str, declared: str = "") -> str:
    """Return the fingerprint of a module and of its imports from the same collection."""
    package = module.rsplit(".", 2)[0]
    modules = sorted(name for name in closure(module) if f"{name}.".startswith(f"{package}."))
    return hash_of([*(f"{name} {_of_module(name)}" for name in modules), declared])


@functools.cache
def digest(
    *modules: str,
    data: tuple[Path, ...] = (),
    texts: tuple[str, ...] = (),
    without: frozenset[str] = CHECKS,
) -> str:
    """Return the fingerprint of some modules with all that they import, of files, and of texts."""
    all_modules = frozenset().union(*(closure(module, without) for module in modules))
    return hash_of(
        [*(f"{name} {_of_module(name)}" for name in sorted(all_modules)), *map(_text, data), *texts]
    )
