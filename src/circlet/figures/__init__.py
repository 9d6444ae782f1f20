"""Figures: tables in, pictures out. One module per figure, of the figure's name.

A figure's module declares its tables (see ``circlet.products``) and defines ``draw(study)``, which
returns a matplotlib figure. It computes nothing that a table could hold.
"""

import importlib

import matplotlib as mpl

from circlet import io
from circlet.figures import style
from circlet.products import Product


def make(product: Product) -> None:
    """Draw a figure and write it as SVG and PNG; the same tables give the same bytes."""
    with mpl.rc_context(style.RC):
        figure = importlib.import_module(product.module).draw(product.study)
        for path in product.outputs:
            # An SVG would hold the time at which it was made.
            metadata = {"Date": None} if path.suffix == ".svg" else {}
            with io.atomic(path) as temporary:
                figure.savefig(temporary, metadata=metadata)
