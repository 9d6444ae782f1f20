"""Fingerprints of code: hashes of a module and of all that it imports from circlet.

Comments, docstrings and layout do not count: editing them must not re-run anything.
"""

import ast
import copy
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from circlet.study import registry
from circlet.study.declarations import declared, literals, named, text_of, tree_of
from circlet.study.registry import path_of
from circlet.systems.spec import SystemSpec

TRAINERS = ("circlet.training.run", "circlet.training.native_run")
KERNELS = Path(__file__).parents[1] / "native/kernels"
# Declarations for tables and pages only, which change no number of a run.
SHOWN = (
    *("outcomes", "run_columns", "panels"),
    *("explorer_weights", "coloured_signals", "opens_with"),
)
AUTOGRAD = 1  # raised when circlet changes numbers of systems that declare no version


def forget() -> None:
    """Discard all cached modules, so that they are read again."""
    for function in (
        text_of,
        literals,
        declared,
        imports,
        closure,
        _own,
        _declared,
        digest,
        own_code,
    ):
        function.cache_clear()


registry.WHEN_REPLACED.append(forget)


def _text(path: Path) -> str:
    return path.read_text("utf-8", "surrogateescape") if path.exists() else ""


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the import statements anywhere in some code."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                waiting += node.orelse  # imports for type checkers are never executed
            else:
                waiting += ast.iter_child_nodes(node)


def _imported(module: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each module that a module imports, with the names imported from it."""
    for node in _statements(tree_of(module).body):
        yield from named(module, node)


def _of_circlet(module: str) -> bool:
    return module.split(".")[0] == "circlet"


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Return modules of circlet and collections that a module imports, and its packages."""
    parts = module.split(".")
    modules = {".".join(parts[:n]) for n in range(1, len(parts))}  # Python runs these first
    for name, taken in _imported(module):
        modules |= {name, *(f"{name}.{member}" for member in taken)}
    return frozenset(m for m in modules if _of_circlet(m) and path_of(m).exists())


def way_to(library: str, module: str) -> list[str]:
    """Return the chain of modules by which a module imports a library at its start, or []."""
    ways = {module: [module]}
    todo = [module]
    for importer in todo:  # grows during the loop
        for name, taken in (
            imported for node in tree_of(importer).body for imported in named(importer, node)
        ):
            if name.split(".")[0] == library:
                return ways[importer]
            for other in (name, *(f"{name}.{what}" for what in taken)):
                if _of_circlet(other) and path_of(other).exists() and other not in ways:
                    ways[other] = [*ways[importer], other]
                    todo.append(other)
    return []


def absent(module: str) -> list[str]:
    """Return the modules of circlet and of collections that a module imports but do not exist."""
    paths = {name: path_of(name) for name, _ in _imported(module) if _of_circlet(name)}
    return [n for n, path in paths.items() if path.name != "__init__.py" and not path.exists()]


@functools.cache
def closure(module: str) -> frozenset[str]:
    """Return a module and all that it imports from circlet and collections, even indirectly."""
    modules: set[str] = set()
    todo = {module}
    while todo:
        modules |= todo
        todo = {name for m in todo for name in imports(m)} - modules
    return frozenset(modules)


@functools.cache
def _own(module: str) -> str:
    """Return the fingerprint of one module, and of the files that it declares in ``DATA``."""
    path, texts = path_of(module), list[str]()
    body = [node for node in tree_of(module).body if not _is_version(node)]
    _collect(ast.Module(body, []), texts)
    names = literals(module).get("DATA", ())
    data = [file for name in names for file in sorted(path.parent.glob(name))]
    return _hash([*texts, *map(_text, data)])


def _collect(node: ast.AST, texts: list[str]) -> None:
    """Collect the text of code without docstrings and descriptions of keys of a config.

    This is three times as fast as ``ast.unparse``.
    """
    texts.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            if (
                name == "body"
                and isinstance(node, _DOCUMENTED)
                and ast.get_docstring(node, clean=False) is not None
            ):
                value = value[1:]
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Meta":
                value = [child for child in value if getattr(child, "arg", "") != "description"]
            if value:  # a later Python may know of further fields, which are empty
                texts.append(f"{name} [")
                for child in value:
                    if isinstance(child, ast.AST):
                        _collect(child, texts)
                    else:
                        texts.append(repr(child))
                texts.append("]")
        elif isinstance(value, ast.AST):
            _collect(value, texts)
        elif value is not None:
            texts.append(f"{name} {value!r}")


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _is_version(node: ast.stmt) -> bool:
    """Return whether a statement sets circlet's version: a new release alone is no edit."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"


def of_system(system: SystemSpec) -> str:
    """Return the fingerprint of the code that decides the numbers of a system's runs."""
    others = sorted(imports(system.module))
    has_kernel = "circlet.native" in closure(system.equations)
    kernels = tuple(sorted(KERNELS.iterdir())) if has_kernel else ()
    return digest(
        *TRAINERS, system.equations, *others, data=kernels, texts=(_declared(system.module),)
    )


@functools.cache
def _declared(module: str) -> str:
    """Return a hash of a system's declaration, without what only tables and pages show."""
    tree, texts = copy.deepcopy(tree_of(module)), list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in SHOWN]
    _collect(tree, texts)
    return _hash(texts)


def of_equations(system: SystemSpec) -> str:
    """Return the version of a system that declares none: a hash of all that decides its numbers.

    It covers the equations and their imports from the same collection, the embedding, the names of
    metrics, and the defaults of parameters and logs, which the identity of a run leaves out.
    """
    logs = {kind: [log.schedule, [*log.always]] for kind, log in system.logs.items()}
    declared = [system.defaults, system.embedding, sorted(system.metrics), logs, AUTOGRAD]
    return own_code(system.equations, json.dumps(declared, sort_keys=True))


@functools.cache
def own_code(module: str, declared: str = "") -> str:
    """Return the fingerprint of a module and of its imports from the same collection."""
    package = module.rsplit(".", 2)[0]
    modules = sorted(name for name in closure(module) if f"{name}.".startswith(f"{package}."))
    return _hash([*(f"{name} {_own(name)}" for name in modules), declared])


def _hash(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


@functools.cache
def digest(*modules: str, data: tuple[Path, ...] = (), texts: tuple[str, ...] = ()) -> str:
    """Return the fingerprint of some modules with all that they import, of files, and of texts."""
    all_modules = frozenset().union(*map(closure, modules))
    return _hash(
        [*(f"{name} {_own(name)}" for name in sorted(all_modules)), *map(_text, data), *texts]
    )
