"""Pages that studies make, for the site: reports of the frozen studies, and the tour's pages.

The reports are made from the tables in docs/studies. The explorer needs logs: it is that of
config/tour.yaml, which `make site` runs.
"""

import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from circlet import frozen
from circlet.study.plan import Study

DOCS = Path(__file__).parent
TOUR = DOCS.parent / "results/tour"
_made = tempfile.TemporaryDirectory()


def on_files(files: Any, config: Any, **_: Any) -> None:
    """Called by mkdocs: add the pages to those that mkdocs.yml and Markdown may lead to."""
    found = {f"tour/{path.relative_to(TOUR)}": path for path in TOUR.rglob("*.html")}
    found |= {f"tour/{path.relative_to(TOUR)}": path for path in TOUR.glob("figures/*.svg")}
    for study in sorted(DOCS.glob("studies/*/config.yaml")):
        name = study.parent.name
        folder = Path(_made.name) / name
        if not folder.exists():
            frozen.report(Study.read(study), folder)
        found[f"reports/{name}.html"] = folder / "report.html"
    for address, path in found.items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
