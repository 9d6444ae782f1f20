"""results/explorer.html: a live particle simulation, in one file that works without a network."""

import base64
import json
from pathlib import Path

import jinja2
from markupsafe import Markup

from circlet import io, source
from circlet.products import Product

FOLDER = "pages/explorer"
DATA = ("pages/explorer/page.html", "pages/explorer/particles.js", "pages/explorer/live.js")
SHOWN = ("p", "f_a", "g_a", "g_r", "step_size")  # parameters of particles that begin as in a study


def _text(name: str) -> str:
    return (source.PACKAGE / FOLDER / name).read_text(encoding="utf-8")


def _module(name: str) -> str:
    """A module as an address that needs no file beside the page."""
    return f"data:text/javascript;base64,{base64.b64encode(_text(name).encode()).decode()}"


def make(product: Product) -> None:
    """Write the explorer of a study."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True
    )
    schemas = source.declared("particles")["PARAMETERS"]
    page = environment.get_template("page.html").render(
        results=product.study.results,
        imports=Markup(json.dumps({"imports": {"./particles.js": _module("particles.js")}})),
        live=Markup(_text("live.js")),
        **{name: schemas[name]["default"] for name in SHOWN},
    )
    with io.atomic(product.outputs[0]) as temporary:
        temporary.write_text(page, encoding="utf-8")
