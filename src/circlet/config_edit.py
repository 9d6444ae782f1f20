"""Edit a config file in place; all other characters stay unchanged."""

import re
import shutil
from pathlib import Path
from typing import Any

import yaml

from circlet.errors import ConfigError
from circlet.storage import files
from circlet.study import config_file
from circlet.study.plan import Study

Edit = tuple[int, int, str]
"""Characters from one place to another, and what takes their place."""


def set_seeds(path: Path, seeds: dict[str, dict[str, Any]]) -> None:
    """Give experiments other seeds: ``count`` and ``more`` by name.

    Raises ConfigError, and leaves the file as it is, if the config would be wrong then, or if
    anything but these seeds would change.
    """
    path = path.resolve()  # a link stays one
    old = config_file.read(path)["experiments"]
    text = path.read_bytes().decode()  # as bytes, so that line ends are kept
    root: Any = yaml.compose(text, yaml.SafeLoader)
    experiments = _value(root, "experiments")
    edits = [
        edit
        for name, wanted in seeds.items()
        for edit in _edits(text, _value(experiments, name), old[name]["seeds"], wanted)
    ]
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    with files.atomic(path) as temporary:
        temporary.write_bytes(text.encode())
        shutil.copymode(path, temporary)
        _check(path, temporary, seeds)


def _pair(mapping: yaml.MappingNode, name: str) -> tuple[yaml.Node, Any] | None:
    """A key of a mapping with its value."""
    return next((pair for pair in mapping.value if pair[0].value == name), None)


def _value(mapping: yaml.MappingNode, name: str) -> Any:
    pair = _pair(mapping, name)
    assert pair  # the config has been read
    return pair[1]


def _edits(
    text: str, experiment: yaml.MappingNode, old: dict[str, Any], wanted: dict[str, Any]
) -> list[Edit]:
    """What gives an experiment its seeds."""
    all_of_it = config_file.flow({k: v for k, v in old.items() if k != "more"} | wanted)
    whole = _pair(experiment, "seeds")
    if whole is None:  # they come from a mapping that is merged (<<)
        return [_after(text, experiment, f"seeds: {all_of_it}")]
    value = whole[1]
    if _is_alias(whole) or not isinstance(value, yaml.MappingNode) or not value.value:
        return [(*_span(text, whole), all_of_it)]
    edits = []
    for name in ("count", "more"):
        pair, new = _pair(value, name), config_file.flow(wanted.get(name))
        if pair and name in wanted:
            edits.append((*_span(text, pair), new))
        elif pair:
            edits.append((pair[0].start_mark.index, _span(text, pair)[1], "more: []"))
        elif name in wanted:
            edits.append(_after(text, value, f"{name}: {new}"))
    return edits


def _is_alias(pair: tuple[yaml.Node, yaml.Node]) -> bool:
    """Whether the value of a key stands further up."""
    return bool(pair[1].start_mark.index < pair[0].end_mark.index)


def _span(text: str, pair: tuple[yaml.Node, yaml.Node]) -> tuple[int, int]:
    """Where the value of a key begins and ends, without a name (&) that it may have."""
    key, value = pair
    if _is_alias(pair):
        alias = re.compile(r"(?:\s|#.*)*:(?:\s|#.*)*(\*[^\s,}\]]+)").match(text, key.end_mark.index)
        assert alias
        return alias.span(1)
    anchor = re.compile(r"(&\S+\s*)?").match(text, value.start_mark.index)
    assert anchor
    return anchor.end(), _end(value)


def _after(text: str, mapping: yaml.MappingNode, new: str) -> Edit:
    """A key after the last of a mapping."""
    end = _span(text, mapping.value[-1])[1]
    if mapping.flow_style:
        return (end, end, f", {new}")
    line_end = "\r\n" if "\r\n" in text else "\n"
    line = line_end + " " * mapping.value[0][0].start_mark.column + new
    rest = re.compile(r"[^\r\n]*").match(text, end)  # a comment
    assert rest
    return (rest.end(), rest.end(), line)


def _end(node: yaml.Node) -> int:
    """Where a value ends, without the comments and empty lines after it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _check(path: Path, written: Path, seeds: dict[str, dict[str, Any]]) -> None:
    """Whether what was written is a config, and differs from the old one in the seeds alone."""
    content, old = (config_file.read(file) for file in (written, path))
    for name, own in content["experiments"].items():
        before = old["experiments"][name]["seeds"] | {"more": []} | seeds.get(name, {})
        if own["seeds"] | {"more": own["seeds"].get("more", [])} != before:
            raise ConfigError(
                f"{path}: not changed: {name} shares the lines of its seeds with another "
                "experiment; give it lines of its own"
            )
    folders = old.get("collections")
    try:
        Study.of(content | ({"collections": folders} if folders else {}))
    except ConfigError as error:
        raise ConfigError(
            f"{path}: not changed, because the result would be an error: {error}"
        ) from None
