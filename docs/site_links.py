"""Replacement of links that lead out of docs/, for the site: by the API, or by plain text."""

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
_OUT = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#]+)(#[^)]*)?\)")


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
