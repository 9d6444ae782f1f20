"""results/explorer.html: trainings to scrub through, and live simulations, in one file.

The page works by double click, without a network: its modules are inlined by an import map, the
plotting library and the data are compressed texts in it. Its code runs as soon as it has arrived,
before the rest of the file, and waits for the elements that it reads (``arrived``). So the order of
the file matters: the run that the page opens with, the plotting library, the stops of the tour, a
run of each point, then the rest. A run's data are unpacked when it is chosen (see `packing`).

A collection adds parts of the page in a folder ``explorer``; all of them are optional:

``main.js``, other modules
    imported as ``circlet/COLLECTION/MODULE``. The main one may export ``panels`` by name,
    each a ``PanelMaker`` of ``types.d.ts``, and ``live(data)``, which sets up the
    sections of ``page.html``;
``style.css``
    styles of the collection's panels and sections;
``page.html``
    a template for sections that need no run, with ids ``live-NAME``, and ``data`` for its values.
    It is in the page if the study has a system of the collection, or if the collection has none;
``data.py``
    under the same condition, data for the panels and ``live``: ``data(tables, trained)`` returns
    them, to be written as JSON; ``tables`` are those of its ``TABLES`` that the study has,
    ``trained`` the names of the runs whose training is shown. An optional ``tour(tables, played)``
    returns stops of the tour, each a `Stop` as a dictionary. ``played`` are the rows of
    ``explorer_runs`` whose training is shown, with ``frames`` (the number of pictures) and
    ``last_step``. Runs are chosen by rules; a stop that the study does not have is left out.

Its ``collection.yaml`` has two sentences on what each system learns (``introductions``), and
explanations of terms (``terms``).
"""

import base64
import json
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import msgspec
import numpy as np
import pandas as pd
from markupsafe import Markup

from circlet import pages
from circlet.lazy_import import load
from circlet.pages.explorer import listing, packing
from circlet.storage import files
from circlet.study.plan import Study
from circlet.study.targets import Target

DATA = ("*.html", "*.css", "*.js", "vendored/*.js")
OPTIONAL_TABLES = ("explorer_runs", "explorer_states", "outcome_summary")
COLLECTION_FILES = ("collection.yaml", "explorer/*.js", "explorer/*.html", "explorer/*.css")
COLLECTION_MODULES = ("explorer/data.py",)


class Stop(TypedDict):
    """Stop of the tour: a run at a step, and a text on what is to be seen."""

    title: str  # a word or two
    run: str  # run_id
    step: int
    text: str  # some sentences
    panels: NotRequired[list[str]]  # what it is about; by default the first panel of the system
    until: NotRequired[int]  # the step to which it is played; by default the last


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _modules(study: Study) -> dict[str, str]:
    """Return the import map: data addresses of all modules, by name."""
    explorer_folder = Path(__file__).parent
    paths = {f"circlet/{path.stem}": path for path in sorted(explorer_folder.glob("*.js"))}
    del paths["circlet/main"]
    for c in study.collections:
        folder = (c.folder / "explorer").glob("*.js")
        paths |= {f"circlet/{c.name}/{path.stem}": path for path in sorted(folder)}
    contents = {name: base64.b64encode(path.read_bytes()).decode() for name, path in paths.items()}
    return {name: f"data:text/javascript;base64,{text}" for name, text in contents.items()}


def _data(target: Target, played: pd.DataFrame) -> tuple[dict[str, Any], list[Stop]]:
    study = target.study
    data: dict[str, Any] = {}
    tour: list[Stop] = []
    for collection in study.used_collections:
        data[collection.name] = {}
        if not (collection.folder / "explorer/data.py").exists():
            continue
        module = load(f"{collection.package}.explorer.data")
        tables = pages.tables(target, module.TABLES)
        data[collection.name] = module.data(tables, set(played["run_id"]))
        # Without runs of its systems, a partial study lacks columns of the run list.
        systems = collection.modules("systems")
        mine = played[played["system"].isin(systems)] if systems else played
        tour += module.tour(tables, mine) if len(mine) and hasattr(module, "tour") else []
    return data, tour


def make(target: Target) -> None:
    """Write the explorer of a study."""
    study = target.study
    absent = [name for name in OPTIONAL_TABLES if name in study.left_out]
    points, systems = list[dict[str, Any]](), dict[str, dict[str, Any]]()
    played = pd.DataFrame(columns=["run_id", "system"])
    states = pd.DataFrame(columns=["run_id", "step", "name", "shape", "values"])
    if not absent:
        runs, states, ends = pages.tables(target, OPTIONAL_TABLES).values()
        runs = listing.with_frames(runs, states)
        played = runs[runs["shown"] == "training"]
        points = listing.points(study, runs, ends)
        systems = listing.systems(study, runs)
    data, tour = _data(target, played)
    chunks = packing.chunks(points, states, tour)
    folders = {c.name: c.folder / "explorer" for c in study.collections}
    paths = (folder / "style.css" for folder in folders.values())
    styles = [path.read_text(encoding="utf-8") for path in paths if path.exists()]
    catalogue = {
        "points": points,
        "systems": systems,
        "experiments": listing.experiments(study),
        "tour": tour,
        "collections": [
            {"name": c.name, "prefix": c.qualified(""), "data": data.get(c.name)}
            for c in study.collections
            if (folders[c.name] / "main.js").exists()
        ],
    }
    page = pages.template("explorer/page.html").render(
        results=Path(study.config.results),
        absent=absent,
        partial=bool(study.missing or study.left_out),
        rule=listing.rule(points, states),
        no_parent=any(run["outcome"] == "no parent" for p in points for run in p["runs"]),
        live=[
            Markup(pages.template("page.html", folders[name]).render(data=of_collection))
            for name, of_collection in data.items()
            if (folders[name] / "page.html").exists()
        ],
        styles=Markup("".join([_read("style.css"), *styles])),
        imports=Markup(json.dumps({"imports": _modules(study)})),
        main=Markup(_read("main.js")),
        # Numbers that are not finite become null.
        catalogue=packing.text(msgspec.json.encode(catalogue, enc_hook=np.generic.item)),
        plotly=packing.text(_read("vendored/plotly.js")),
        opening=[chunk for chunk in chunks if chunk.rank == packing.OPENING],
        others=[chunk for chunk in chunks if chunk.rank != packing.OPENING],
    )
    files.write_text(target.outputs[0], page)
