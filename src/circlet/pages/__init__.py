"""Pages: each is one HTML file, made from tables and figures, that opens in a browser."""

from collections.abc import Iterable
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from circlet.storage import parquet
from circlet.study.targets import Target

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


def tables(target: Target, names: Iterable[str]) -> dict[str, pd.DataFrame]:
    """Return those of some tables that a page's study has, by name."""
    made = {table.name for table in target.tables}.difference(target.study.left_out)
    return {name: parquet.read_table(target.study, name) for name in names if name in made}
