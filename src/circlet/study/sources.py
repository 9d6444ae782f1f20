"""Summaries of modules' sources, which planning reads without importing the modules.

Importing all modules would take seconds of pandas and matplotlib in every command and every job.
Even parsing them takes most of the time in which a job starts, so the user's cache keeps summaries,
by the text of the source.
"""

import ast
import contextlib
import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from circlet.errors import ConfigError
from circlet.study import user_cache
from circlet.study.registry import path_of

# Keywords of systems' declarations that are for tables and pages only, and change no number.
SHOWN = (
    *("outcomes", "run_columns", "panels"),
    *("explorer_weights", "coloured_signals", "opens_with"),
)
MAX_KEPT = 2000  # summaries in the cache


class Import(msgspec.Struct, frozen=True, array_like=True):
    """An import statement, or one module of it."""

    module: str  # as it is written
    level: int  # number of leading dots
    names: list[tuple[str, str]]  # imported from the module, after the names that they get
    at_start: bool  # whether it stands outside of functions and classes, without a condition

    def source(self, module: str) -> str:
        """Return the full name of what a module imports, or imports from."""
        if not self.level:
            return self.module
        package = module if path_of(module).name == "__init__.py" else module.rpartition(".")[0]
        above = package.split(".")[: len(package.split(".")) - self.level + 1]
        return ".".join([*above, self.module]).strip(".")


class Summary(msgspec.Struct, frozen=True, array_like=True):
    """What planning has to know of the source of a module."""

    docstring: str | None
    assigned: list[str]  # names in the targets of assignments outside of functions and classes
    constants: dict[str, str]  # code of those with upper-case names that are plain literals
    functions: list[str]
    imports: list[Import]  # not those for type checkers alone
    code: str  # hash of the code; comments, docstrings and layout do not count
    computing: str  # the same without keywords in `SHOWN`


_new: dict[str, Any] = {}  # summaries that the cache lacks


@functools.cache
def text_of(module: str) -> str:
    """Return the source of a module, empty for a package without code; raises ConfigError."""
    path = path_of(module)
    if path.name == "__init__.py" and not path.exists():
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


def summary(module: str) -> Summary:
    """Return the summary of a module's source; raises ConfigError if it is not valid Python."""
    try:
        return _summary(text_of(module))
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise ConfigError(f"{path_of(module)}{line}: {error.msg}") from None


@functools.cache
def _summary(text: str) -> Summary:
    key = hash_of([text])
    with contextlib.suppress(KeyError, msgspec.ValidationError):
        return msgspec.convert(user_cache.kept(_file())[key], Summary)
    made = _made(ast.parse(text))
    _new[key] = msgspec.to_builtins(made)
    return made


@functools.cache
def _file() -> Path:
    this = Path(__file__).read_text(encoding="utf-8")
    return user_cache.folder() / "sources" / f"{hash_of([this, sys.version])}.json"


def keep() -> None:
    """Keep the summaries that this process has made, for other processes."""
    if _new:
        if len(user_cache.kept(_file())) > MAX_KEPT:  # most are of sources before an edit
            user_cache.forget(_file())
        user_cache.keep(_file(), _new)
        _new.clear()


def hash_of(parts: list[str]) -> str:
    """Return a hash of some texts."""
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _made(tree: ast.Module) -> Summary:
    targets = list(_assignments(tree))
    nodes = [node for target, _ in targets for node in ast.walk(target)]
    code, computing = list[str](), list[str]()
    body = ast.Module([node for node in tree.body if not _is_version(node)], [])
    _collect(body, code)
    _collect(body, computing, SHOWN)
    return Summary(
        docstring=ast.get_docstring(tree),
        assigned=[node.id for node in nodes if isinstance(node, ast.Name)],
        constants=_constants(targets),
        functions=[node.name for node in tree.body if isinstance(node, ast.FunctionDef)],
        imports=list(_imports(tree)),
        code=hash_of(code),
        computing=hash_of(computing),
    )


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.AST]]:
    """Yield target and value of each assignment outside of functions and classes."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign) and node.value:
            yield node.target, node.value
        elif isinstance(node, ast.AugAssign):
            yield node.target, node


def _constants(targets: list[tuple[ast.expr, ast.AST]]) -> dict[str, str]:
    constants: dict[str, str] = {}
    for target, value in targets:
        if isinstance(target, ast.Name) and target.id.isupper():
            try:
                ast.literal_eval(value)
                constants[target.id] = ast.unparse(value)
            except (ValueError, TypeError):  # computed, or not hashable
                constants.pop(target.id, None)
    return constants


def _imports(tree: ast.Module) -> Iterator[Import]:
    """Yield the imports anywhere in some code."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, 0, [], node in tree.body)
        elif isinstance(node, ast.ImportFrom):
            names = [(alias.asname or alias.name, alias.name) for alias in node.names]
            yield Import(node.module or "", node.level, names, node in tree.body)
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                waiting += node.orelse  # imports for type checkers are never executed
            else:
                waiting += ast.iter_child_nodes(node)


def _is_version(node: ast.stmt) -> bool:
    """Return whether a statement sets circlet's version: a new release alone is no edit."""
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"


def _collect(node: ast.AST, texts: list[str], without: tuple[str, ...] = ()) -> None:
    """Collect the text of code without docstrings of modules, classes, functions and attributes.

    Keywords of calls that are in ``without`` are left out, too. This is three times as fast as
    ``ast.unparse``.
    """
    texts.append(type(node).__name__)
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            value = [child for child in value if not _is_docstring(child)]
            if isinstance(node, ast.Call):
                value = [child for child in value if getattr(child, "arg", "") not in without]
            if value:  # a later Python may know of further fields, which are empty
                texts.append(f"{name} [")
                for child in value:
                    if isinstance(child, ast.AST):
                        _collect(child, texts, without)
                    else:
                        texts.append(repr(child))
                texts.append("]")
        elif isinstance(value, ast.AST):
            _collect(value, texts, without)
        elif value is not None:
            texts.append(f"{name} {value!r}")


def _is_docstring(node: Any) -> bool:
    constant = node.value if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)
