"""Figures: tables in, pictures out. One module per figure, of the figure's name.

A figure's module declares its tables (see ``circlet.products``) and defines ``draw(study)``, which
returns a matplotlib figure. It computes nothing that a table could hold.
"""

import importlib

import matplotlib as mpl

from circlet import io
from circlet.figures import style
from circlet.plan import Study


def make(name: str, study: Study) -> None:
    """Draw a figure of the study and write it as SVG and PNG; the same tables, the same bytes."""
    with mpl.rc_context(style.RC):
        figure = importlib.import_module(f"circlet.figures.{name}").draw(study)
        for end, metadata in (("svg", {"Date": None}), ("png", {})):
            path = study.results / "figures" / f"{name}.{end}"
            with io.atomic(path) as temporary:
                figure.savefig(temporary, metadata=metadata)
