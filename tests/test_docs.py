"""Frozen studies and the tutorial. `make audit` checks the numbers of pages and tables."""

import json
import re

import pytest
from conftest import ROOT
from matplotlib import pyplot as plt

from circlet import frozen
from circlet.study import planning

STUDIES = sorted(path.parent.name for path in ROOT.glob("docs/studies/*/config.yaml"))


def test_frozen_studies_are_small():
    sizes = [path.stat().st_size for path in (ROOT / "docs/studies").rglob("*") if path.is_file()]
    assert sum(sizes) < 6_500_000
    assert max(sizes) <= frozen.MAX_BYTES


@pytest.mark.parametrize("study", STUDIES)
def test_frozen_studies_are_of_the_configs_that_are_shipped(study):
    """If a study is run in parts, some experiments may not be frozen yet."""
    ours, shipped = (
        planning.plan_file(ROOT / path).config
        for path in (f"docs/studies/{study}/config.yaml", f"config/{study}.yaml")
    )
    for part in ("experiments", "reproduce"):
        assert getattr(ours, part).items() <= getattr(shipped, part).items()


def test_the_tutorial_runs(monkeypatch):
    monkeypatch.chdir(ROOT / "docs")
    cells = json.loads((ROOT / "docs/tutorial.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names = {}
    exec("\n".join(code), names)
    shares = names["shares"]
    assert shares.shape == (5, 5) and (shares.idxmax() == 2).all()  # as the text says
    assert names["change"].notna().sum() == 100 and names["change"].mean() < -0.25
    plt.close("all")


def test_numbers_of_studies_are_not_typed():
    """No text that a person wrote has a number with an interval, such as 4.7 [4.3, 5.1]."""
    written = [*(ROOT / "docs/templates").rglob("*.md")]
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        if not path.read_text(encoding="utf-8").startswith("<!-- Written by"):
            written.append(path)
    assert len(written) > 10
    for path in written:
        typed = re.findall(
            r"\d[^|\n\[(]{0,20}\[[−-]?[\d.]+(?:, ?| … )[−-]?[\d.]+\]",
            re.sub(r"`[^`]*`|^    .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE),
        )
        assert not typed, f"{path}: {typed}"


def test_links_lead_somewhere():
    """Anchors are ASCII: GitHub keeps other letters in an anchor, and the site drops them."""
    pages = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    pages += [ROOT / "config/README.md", *(ROOT / "docs").glob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    anchors = {
        page: {
            re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-")
            for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            + re.findall(r'id="(.+?)"', text)
        }
        for page, text in texts.items()
    }
    links = [
        (page, (page.parent / target).resolve() if target else page, anchor)
        for page, text in texts.items()
        for target, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", text)
    ]
    assert len(links) > 10
    for page, target, anchor in links:
        is_there = anchor.isascii() and anchor in anchors[target] if anchor else target.exists()
        assert is_there, f"{page}: {target}#{anchor}"
