"""Pages: each is one HTML file, made from tables and figures, that opens in a browser."""

from pathlib import Path

import jinja2
from markupsafe import Markup

DATA = ("theme.css",)


def template(name: str, folder: Path | None = None) -> jinja2.Template:
    """Load a template of a folder, or of this one, as HTML; its variable ``theme`` is the style."""
    pages_folder = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder or pages_folder, pages_folder]),
        autoescape=True,
        trim_blocks=True,
    )
    environment.globals["theme"] = Markup((pages_folder / "theme.css").read_text(encoding="utf-8"))
    return environment.get_template(name)
