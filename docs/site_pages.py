"""Pages of the site that are not in docs/: the README, reports of the frozen studies, the tour.

The reports are made from the tables in docs/studies. The explorer needs logs, so the site
has that of config/tour.yaml, which `make site` runs. Links that lead out of docs/ become links to
the API, or plain text.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from circlet import frozen
from circlet.study.planning import plan_file

DOCS = Path(__file__).parent
TOUR = DOCS.parent / "results/tour"
_OUT = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#]+)(#[^)]*)?\)")
_made = tempfile.TemporaryDirectory()


def _report(study: Path) -> Path:
    """Make the report of a frozen study in another process, unless it exists; return its path."""
    folder = Path(_made.name) / study.parent.name
    if not folder.exists():
        subprocess.run([sys.executable, __file__, study, folder], check=True)
    return folder / "report.html"


def on_files(files: Any, config: Any, **_: Any) -> None:
    """Add the pages that mkdocs.yml and Markdown may link to; mkdocs calls this."""
    by_address = {f"tour/{path.relative_to(TOUR)}": path for path in TOUR.rglob("*.html")}
    by_address |= {f"tour/{path.relative_to(TOUR)}": path for path in TOUR.glob("figures/*.svg")}
    studies = sorted(DOCS.glob("studies/*/config.yaml"))
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as side_by_side:
        made = side_by_side.map(_report, studies)
        by_address |= {f"reports/{page.parent.name}.html": page for page in made}
    for address, path in by_address.items():
        files.append(File.generated(config, address, abs_src_path=str(path)))
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    start = re.sub(r"\]\((docs/)?", lambda link: "](" if link[1] else "](../", readme)
    files.append(File.generated(config, "index.md", content=start))


def _modules() -> dict[str, str]:
    """Return the API page of each module that has one."""
    return {
        module: f"api/{page.name}"
        for page in sorted((DOCS / "api").glob("*.md"))
        for module in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    }


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with its outward links replaced; mkdocs calls this for each page."""
    if page.file.src_uri.startswith("api/"):
        return markdown
    modules = _modules()

    def replaced(link: re.Match[str]) -> str:
        text, target, _ = link.groups()
        module = target.removeprefix("../src/").removesuffix(".py").replace("/", ".")
        if module in modules:
            return f"[{text}]({modules[module]}#{module})"
        return text if "`" in text else f"`{text}`" if "." in text else text

    return _OUT.sub(replaced, markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Return a notebook's page with links to pages of the site; mkdocs-jupyter keeps the `.md`."""
    if not page.file.src_uri.endswith(".ipynb"):
        return html
    return re.sub(r'href="([\w/]+)\.md(#[^"]*)?"', r'href="\1.html\2"', html)


if __name__ == "__main__":
    frozen.report(plan_file(sys.argv[1]), Path(sys.argv[2]))
