"""A linter for prose: the habits that made pages, messages and docstrings hard to read."""

import ast
import io
import re
import subprocess
import tokenize

import pytest
from conftest import ROOT

HABITS = {  # what to write in their place
    r"(?:^|[.!?:;] )Of (?!\d)": "the subject first: 'of X' follows its noun",
    r"\b(?:is|are|was|were|be) told\b|\btold (?:from|apart)|\btells? (?:apart|from)\b": (
        "show, predict, distinguish or name"
    ),
    r"(?<!times )\bas (?:few|alike|many|far|little) (?:and \w+ )?as\b": (
        "at most, up to, the same number of, estimated from"
    ),
    r"^(?:Those|That|The same as)\b": "a noun, or an imperative verb with its object",
    r"\b(?:fitted|those|that) there\b(?! (?:is|are))|\b[Ee]lsewhere\b": "the place",
    r"\ball but\b|\bnothing but\b": "except, only",
    r"\bfeels?\b": "a literal verb",
    r"\b(?:that|those) of (?:that|those|which)\b": "repeat the noun",
}
LONGEST = 60  # words of a sentence on a page
SKIPPED = ("docs/studies/", "docs/templates/")  # pages that are made from templates are read


def texts():
    """Path and text of every paragraph, docstring, string, comment and claim of the repository."""
    command = ["git", "ls-files", "*.md", "*.py", "*.csv", "*.yaml", "*.html"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        path = ROOT / name
        if not path.is_file() or path.name == "CHANGELOG.md" or name.startswith(SKIPPED):
            continue
        text = path.read_text(encoding="utf-8")
        pieces = in_python(text) if path.suffix == ".py" else paragraphs(text)
        for piece in pieces:
            yield name, " ".join(piece.split())


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


TEXTS = sorted({(name, text) for name, text in texts() if name != "tests/test_prose.py"})


@pytest.mark.parametrize("habit", HABITS)
def test_no_text_has_the_habit(habit):
    found = [f"{name}: {text[:200]}" for name, text in TEXTS if re.search(habit, text)]
    assert not found, "\n".join([f"write {HABITS[habit]}:", *found])


def test_sentences_of_pages_are_short():
    pages = [(name, text) for name, text in TEXTS if name.endswith(".md") and "|" not in text]
    assert len(pages) > 300
    sentences = [
        (name, sentence) for name, text in pages for sentence in re.split(r"(?<=[.!?:;]) ", text)
    ]
    long = [f"{name}: {s[:200]}" for name, s in sentences if len(s.split()) > LONGEST]
    assert not long, "\n".join([f"more than {LONGEST} words:", *long])


def test_the_habits_are_found():
    bad = ("It works. Of the runs those that end", "which is told of", "as few and alike as")
    assert all(any(re.search(habit, text) for habit in HABITS) for text in bad)
