"""What a module of the package declares and what its code amounts to, read without importing it.

The plan needs the version and the parameters of every system, and the workflow a fingerprint of
every analysis and figure. Importing them would cost seconds of torch and matplotlib in every
command and in every job, so both are read from the source.
"""

import ast
import functools
import hashlib
from pathlib import Path
from types import CodeType
from typing import Any

PACKAGE = Path(__file__).parent

# Modules whose code decides numbers and pictures. The rest of the ground floor moves files and
# names about; counting it would make one more table re-run all that are done.
_COUNTED = (
    "systems",
    "training",
    "analysis",
    "figures",
    "pages",
    "fourier",
    "interventions",
    "loss",
    "matmul",
    "seeds",
    "view",
)


def _path(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@functools.cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_text(_path(module)))


_read: set[Path] = set()  # files that decided a fingerprint


def edited() -> bool:
    """Whether a file changed after a fingerprint was taken; then fingerprints are taken anew."""
    if all(path.read_text(encoding="utf-8") == _text(path) for path in _read):
        return False
    forget()
    return True


def forget() -> None:
    """Read all modules anew from here on."""
    for function in (_text, _tree, _bare, literals, imports, digest):
        function.cache_clear()
    _read.clear()


def modules(package: str) -> list[str]:
    """Names of the modules in a subpackage, sorted: ``modules("systems")``."""
    return sorted(p.stem for p in (PACKAGE / package).glob("*.py") if p.stem != "__init__")


@functools.cache
def literals(module: str) -> dict[str, Any]:
    """Upper-case constants of a module that are plain literals, by name."""
    found = {}
    for node in _tree(module).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper():
                try:
                    found[name] = ast.literal_eval(node.value)
                except ValueError:  # computed, not a literal: not a declaration
                    continue
    return found


SYSTEMS = tuple(modules("systems"))


def declared(system: str) -> dict[str, Any]:
    """What a system's file declares: VERSION, PARAMETERS, SCHEDULES and what it costs."""
    return literals(f"circlet.systems.{system}")


def evaluate(system: str, formula: str, parameters: dict[str, Any]) -> float:
    """One of the formulas that a system declares, at some parameters."""
    return calculate(str(declared(system)[formula]), parameters)


def calculate(text: str, parameters: dict[str, Any]) -> float:
    """A formula at some parameters: text, so that the plan needs no torch, and never a user's."""
    return eval(_compiled(text), {"__builtins__": {}, "max": max}, parameters)


@functools.cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<formula>", "eval")


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Modules of this package that a module imports anywhere in its text."""
    found = set()
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(m for m in found if m.split(".")[0] == "circlet" and _path(m).exists())


@functools.cache
def _bare(module: str) -> str:
    """Source of a module without comments, docstrings and layout."""
    tree = ast.parse(_text(_path(module)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


@functools.cache
def digest(*modules: str) -> str:
    """Fingerprint of the code of some modules and of all that they import from this package.

    Comments, docstrings and layout do not count: editing them must not re-run anything. Files
    that a module declares in ``DATA``, as paths in the package, do.
    """
    seen, todo = set(), set(modules)
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= {m for m in imports(name) if m.split(".")[1:2] and m.split(".")[1] in _COUNTED}
        todo -= seen
    parts = [f"{name} {_bare(name)}" for name in sorted(seen)]
    data = {PACKAGE / file for name in seen for file in literals(name).get("DATA", ())}
    parts += [_text(path) for path in sorted(data)]
    _read.update(data, map(_path, seen))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
