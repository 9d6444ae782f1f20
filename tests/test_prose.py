"""A linter for prose: the habits that made pages, messages and docstrings hard to read."""

import ast
import csv
import functools
import io
import json
import re
import tokenize

import pytest
from conftest import ROOT
from projects import project_files

HABITS = {  # an example, and what to write in its place
    r"(?:^|[.!?:;] )Of (?!\d)": ("It ends. Of the runs some", "the subject first"),
    r"\b(?:is|are|was|were|be) told\b|\btold (?:from|apart)|\btells? (?:apart|from)\b": (
        "which is told of runs", "show, predict, distinguish or name",
    ),
    r"(?<!times )\bas (?:few|alike|many|far|little) (?:and \w+ )?as\b": (
        "as few and alike as it can", "at most, up to, the same number of, estimated from",
    ),
    r"^(?:Those|That|The same as)\b": ("Those of some", "a noun, or a verb with its object"),
    r"\b(?:fitted|those|that) there\b(?! (?:is|are))|\b[Ee]lsewhere\b": (
        "laws fitted there", "the place",
    ),
    r"\ball but\b|\bnothing but\b": ("all but one", "except, only"),
    r"\bfeels?\b": ("networks feel it", "a literal verb"),
    r"\b(?:that|those) of (?:that|those|which)\b": ("that of those below", "repeat the noun"),
}  # fmt: skip
LONGEST = 60  # words of a sentence on a page
KINDS = (".md", ".py", ".csv", ".yaml", ".html", ".js", ".ipynb")
SKIPPED = ("docs/studies/", "docs/templates/", "tests/test_prose.py", "CHANGELOG.md")


@functools.cache
def texts():
    """Return the path and text of every paragraph, docstring, string, comment and claim."""
    listed = set()
    for name in project_files():
        if not name.endswith(KINDS) or name.startswith(SKIPPED) or "/vendored/" in name:
            continue
        text = (ROOT / name).read_text(encoding="utf-8")
        listed |= {(name, " ".join(piece.split())) for piece in pieces(name, text)}
    return sorted(listed)


def pieces(name, text):
    """Split a file into texts by its kind."""
    if name.endswith(".py"):
        yield from in_python(text)
    elif name.endswith(".csv"):
        for row in csv.reader(io.StringIO(text)):
            yield from row
    elif name.endswith(".ipynb"):
        for cell in json.loads(text)["cells"]:
            yield from paragraphs("".join(cell["source"]))
    else:
        yield from paragraphs(text)


def in_python(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def paragraphs(text):
    text = re.sub(r"```.*?```|^    .*?$", "", text, flags=re.DOTALL | re.MULTILINE)
    for piece in re.split(r"\n\s*\n|\n(?=\s*[-|#])", text):
        yield re.sub(r"^[\s#>|*-]+", "", piece)


@pytest.mark.parametrize("habit", HABITS, ids=[example for example, _ in HABITS.values()])
def test_no_text_has_the_habit(habit):
    example, instead = HABITS[habit]
    assert re.search(habit, example)
    bad = [
        f"{name}: … {text[max(match.start() - 60, 0) : match.end() + 60]} …"
        for name, text in texts()
        if (match := re.search(habit, text))
    ]
    assert not bad, "\n".join([f"write {instead}:", *bad])


def test_sentences_of_pages_are_short():
    pages = [(name, text) for name, text in texts() if name.endswith(".md") and "|" not in text]
    assert len(pages) > 300
    sentences = [
        (name, sentence) for name, text in pages for sentence in re.split(r"(?<=[.!?:;]) ", text)
    ]
    long = [f"{name}: {s[:200]}" for name, s in sentences if len(s.split()) > LONGEST]
    assert not long, "\n".join([f"more than {LONGEST} words:", *long])
