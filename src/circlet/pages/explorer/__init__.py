"""results/explorer.html: trainings to scrub through, and live simulations, in one file.

The page works by double click, without a network: its modules are inlined by an import map, the
plotting library and the data are compressed texts in it. Its code runs as soon as it has arrived,
before the rest of the file: what is read from an element is waited for (``arrived``). So the order
counts: the run that the page opens with, the plotting library, the stops of the tour, a run of each
point, then the rest. A run's data are unpacked when it is chosen; `packing` has their format.

A collection adds what is its own in a folder ``explorer``, every part of which may be left out:

``main.js``, other modules
    addressed as ``circlet/COLLECTION/MODULE``, by all. The main one may export ``panels`` by name,
    each a ``PanelMaker`` of ``types.d.ts``, and ``live(data)``, which sets up what is in
    ``page.html``;
``style.css``
    styles of these;
``page.html``
    a template for sections that need no run, with ids ``live-NAME``, and ``data`` for its values.
    It is in the page unless the collection has other systems than the study;
``data.py``
    in this case, what its panels and its ``live`` get: ``data(tables, trained)`` makes it, to be
    written as JSON, from those of its ``TABLES`` that the study has and the names of the runs whose
    training is shown. It may define ``tour(tables, played)``, too: stops of the tour, each a `Stop`
    as a dictionary. ``played`` are the rows of ``explorer_runs`` whose training is shown, with
    ``frames``, how many pictures it has, and its ``last_step``. Runs are found by rule, and a stop
    that the study does not have is left out.

What its systems learn, in two sentences, and its words are in its ``collection.yaml``
(``introductions``, ``terms``).
"""

import base64
import json
import math
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd
from markupsafe import Markup

from circlet import pages
from circlet.analysis import log_frames
from circlet.lazy_import import load
from circlet.pages.explorer import packing
from circlet.storage import files, parquet
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.registry import Collection
from circlet.study.swept import swept, value
from circlet.study.targets import Target

DATA = (
    "macros.html",
    "page.html",
    "style.css",
    "main.js",
    "address.js",
    "answers.js",
    "board.js",
    "catalogue.js",
    "charts.js",
    "choosing.js",
    "colours.js",
    "controls.js",
    "curves.js",
    "draw.js",
    "dropping.js",
    "explore.js",
    "files.js",
    "geometry.js",
    "grid.js",
    "linking.js",
    "live.js",
    "moving.js",
    "numbers.js",
    "opening.js",
    "own.js",
    "panels.js",
    "pictures.js",
    "plane.js",
    "reading.js",
    "runs.js",
    "scene.js",
    "tour.js",
    "words.js",
    "vendored/parquet.js",
    "vendored/plotly.js",
)
OPTIONAL_TABLES = ("explorer_runs", "explorer_states", "outcome_summary")
FROM_COLLECTIONS = (
    "collection.yaml",
    "explorer/data.py",
    "explorer/*.js",
    "explorer/*.html",
    "explorer/*.css",
)


class Stop(TypedDict):
    """A stop of the tour: a run at a step, and what is to be seen there."""

    title: str  # a word or two
    run: str  # run_id
    step: int
    text: str  # two sentences


LIBRARIES = ("plotly", "parquet")


def _own(name: str) -> str:
    """The text of a file beside this one."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _modules(study: Study) -> dict[str, str]:
    """The import map: all modules as addresses that need no file beside the page, by name."""
    own = Path(__file__).parent
    shared = [name for name in DATA if name.endswith(".js") and "/" not in name]
    shared.remove("main.js")
    paths = {f"circlet/{name.removesuffix('.js')}": own / name for name in shared}
    for c in study.collections:
        folder = (c.folder / "explorer").glob("*.js")
        paths |= {f"circlet/{c.name}/{path.stem}": path for path in sorted(folder)}
    contents = {name: base64.b64encode(path.read_bytes()).decode() for name, path in paths.items()}
    return {name: f"data:text/javascript;base64,{text}" for name, text in contents.items()}


def _styles(study: Study) -> str:
    """The style sheet, and those of all collections."""
    own = Path(__file__).parent / "style.css"
    paths = [own, *(c.folder / "explorer/style.css" for c in study.collections)]
    return "".join(path.read_text(encoding="utf-8") for path in paths if path.exists())


def _number(value: Any) -> float | None:
    """A number with as many digits as a reader needs, or none."""
    return None if pd.isna(value) or not np.isfinite(value) else float(f"{value:.5g}")


def _finite(data: Any) -> Any:
    """Data that become JSON, in which what is not finite is null."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def _epoch(name: str, point: Point) -> str:
    """Name of a column of runs in the page: steps become epochs of a system that has batches."""
    counts = point.system.steps_per_epoch is not None and name.endswith("_step")
    return f"{name.removesuffix('_step')}_epoch" if counts else name


def _run(row: dict[str, Any], measures: list[str], point: Point) -> dict[str, Any]:
    """What the list says of a run."""
    known = ("run_id", "seed", "outcome", "shown", "frames")
    found: dict[str, Any] = {name: row[name] for name in known}
    found["moments"] = None if row["moments"] is None else list(row["moments"])
    for name in measures:
        value = row[name]
        if isinstance(value, list | np.ndarray):
            found[name] = [int(k) for k in value]
        elif (renamed := _epoch(name, point)) != name:
            found[renamed] = None if pd.isna(value) else value / point.steps_per_epoch
        else:
            found[name] = _number(value)
    return {name: value for name, value in found.items() if value is not None}


def _measures(runs: pd.DataFrame) -> list[str]:
    """Columns that say something of a run beside its outcome."""
    first = runs.columns.get_loc("outcome") + 1  # after the keys and the seed
    others = ("shown", "moments", "frames", "last_step")
    return [name for name in runs.columns[first:] if name not in others]


def _point(point: Point, rows: pd.DataFrame, ends: pd.DataFrame, at: list[int]) -> dict[str, Any]:
    """A point, its place among the values that are swept, its estimates and its runs."""
    listed = rows[rows["shown"] != "nothing"]
    runs = [_run(row, _measures(listed), point) for row in listed.to_dict("records")]
    return {
        "experiment": point.experiment,
        "system": point.system.name,
        "name": point.name,
        "parameters": point.parameters,
        "steps": point.steps,
        "steps_per_epoch": point.steps_per_epoch,
        "planned": point.count,
        "unlisted": len(rows) - len(listed),
        "at": at,
        "seeds": point.fixed_seeds,
        "estimates": {
            row["outcome"]: [*(_number(row[k]) for k in ("estimate", "low", "high")), row["n_runs"]]
            for row in ends.to_dict("records")
        },
        "outcomes": list(rows["outcome"].value_counts().items()),
        "runs": runs,
    }


def _headings(point: Point, measures: list[str]) -> dict[str, str]:
    """Columns of the list of runs and their headings: metrics, and what its collection adds."""
    system = point.system
    if system.run_columns:
        return dict(system.run_columns)
    labels = {one.name: one.label for one in system.outcomes if one.table == "runs"}
    found = {}
    for name, metric in system.metrics.items():
        unit = f" ({metric.unit})" if metric.unit not in ("", "0..1") else ""
        found[name] = labels.get(name, name.replace("_", " ")) + unit
    return found | {name: name.replace("_", " ") for name in measures}


def _introduction(collection: Collection, system: str) -> str:
    """What a system learns, as its collection says it to a reader who knows nothing of it."""
    given = collection.metadata.introductions
    return {collection.qualified(name): text for name, text in given.items()}.get(system, "")


def _system(point: Point, collection: Collection, measures: list[str]) -> dict[str, Any]:
    """What the page knows of a point's system: what it says, else what its logs allow."""
    system = point.system
    logged = {"embedding": "embeddings", "signals": "signals", "losses": "curves"}
    return {
        "short": collection.metadata.short,
        "outcomes": collection.metadata.outcomes,
        "introduction": _introduction(collection, system.name),
        "terms": collection.metadata.terms,
        "outcome": "outcome" if (collection.folder / "run_list.py").exists() else "status",
        "columns": _headings(point, [_epoch(name, point) for name in measures]),
        "metrics": [
            {"name": name, "meaning": metric.meaning, "unit": metric.unit}
            for name, metric in system.metrics.items()
        ],
        "panels": system.panels or [name for name, log in logged.items() if log in system.logs],
        "signals": "signals" in system.logs,
        "coloured": system.coloured_signals,
        "opens_with": system.opens_with,
    }


def _systems(study: Study, measures: list[str]) -> dict[str, dict[str, Any]]:
    """Those of the study, by name, in the order of their collections."""
    every = [(name, c) for c in study.collections for name in c.modules("systems")]
    points = {point.system.name: point for point in study.points}
    return {name: _system(points[name], c, measures) for name, c in every if name in points}


def _with_frames(runs: pd.DataFrame, states: pd.DataFrame) -> pd.DataFrame:
    """Runs with ``frames``, the number of steps of their embedding, or of what they have instead,
    and ``last_step``.
    """
    steps = states.groupby(["run_id", "name"])["step"].nunique().unstack()
    frames = steps.max(axis=1)
    if "embedding" in steps:
        frames = steps["embedding"].fillna(frames)
    last = states.groupby("run_id")["step"].max()
    named = {"frames": frames, "last_step": last}
    return runs.assign(
        **{name: runs["run_id"].map(of).fillna(0).astype(int) for name, of in named.items()}
    )


def _data(target: Target, played: pd.DataFrame) -> tuple[dict[str, Any], list[Stop]]:
    """What the collections with a system of the study give to their part of the page, by name; and
    the stops of the tour, in the order of the collections.
    """
    study = target.study
    found: dict[str, Any] = {}
    tour: list[Stop] = []
    for collection in study.used_collections:
        found[collection.name] = {}
        if not (collection.folder / "explorer/data.py").exists():
            continue
        own = load(f"{collection.package}.explorer.data")
        tables = {
            name: parquet.read_table(study, name)
            for name in own.TABLES
            if study.table(name) in target.inputs and name not in study.left_out
        }
        found[collection.name] = _finite(own.data(tables, set(played["run_id"])))
        # A partial study may have no run of its systems, and then lacks what its runs list.
        systems = collection.modules("systems")
        mine = played[played["system"].isin(systems)] if systems else played
        tour += own.tour(tables, mine) if len(mine) and hasattr(own, "tour") else []
    return found, tour


def _live(collections: list[Collection], data: dict[str, Any]) -> list[Markup]:
    """Sections of collections that need no run."""
    folders = {c.name: c.folder / "explorer" for c in collections}
    return [
        Markup(pages.template("page.html", folder).render(data=data[name]))
        for name, folder in folders.items()
        if (folder / "page.html").exists()
    ]


def _points(study: Study, runs: pd.DataFrame, ends: pd.DataFrame) -> list[dict[str, Any]]:
    """All points with their runs."""
    parameters = {name: swept(study.experiment(name)) for name in study.config.experiments}
    of_point = dict(list(ends.groupby(["experiment", "point"])))
    points = []
    for point, _, rows in log_frames.by_point(runs, study):
        own = parameters[point.experiment]
        at = [parameter.values.index(value(point, parameter.name)) for parameter in own]
        points.append(_point(point, rows, of_point.get(point.key, ends.iloc[:0]), at))
    return points


def _experiments(study: Study) -> dict[str, dict[str, Any]]:
    """What each experiment sweeps, with the values as text, and its outcomes."""
    found = {}
    for name, settings in study.config.experiments.items():
        found[name] = {
            "swept": [
                {"name": p.name, "values": p.texts, "words": p.is_words}
                for p in swept(study.experiment(name))
            ],
            "outcomes": {
                one.name: {"label": one.label, "most": _number(one.bounds[1])}
                for one in study.outcomes(settings.system)
            },
        }
    return found


def _rule(points: list[dict[str, Any]], states: pd.DataFrame | None) -> str:
    """How much of the study is in the page, in words."""
    shown = [run["shown"] for point in points for run in point["runs"]]
    every = len(shown) + sum(point["unlisted"] for point in points)
    trainings = shown.count("training")
    ends = shown.count("end") + trainings
    most = 0 if states is None or states.empty else states.groupby(["run_id", "name"]).size().max()
    return (
        f"This page lists {len(shown)} of {every} runs; it has the end of {ends}, and of "
        f"{trainings} the training, in at most {most} steps of each log, fewer "
        "of large networks, and those nearest to what happens in it. Each point has at least "
        "one if there is room; the rest is shared fairly among systems, and among their points. "
        "The runs that figures show and the best of each point come first; then of a point the "
        "first seed of each outcome, the second of each, and so on. States are rounded to 1/32767 "
        "of their largest value."
    )


def make(target: Target) -> None:
    """Write the explorer of a study."""
    study = target.study
    absent = [name for name in OPTIONAL_TABLES if name in study.left_out]
    points: list[dict[str, Any]] = []
    chunks: list[packing.Chunk] = []
    states, systems = None, {}
    played = pd.DataFrame({"run_id": [], "system": []})
    if not absent:
        runs, states, ends = (parquet.read_table(study, name) for name in OPTIONAL_TABLES)
        runs = _with_frames(runs, states)
        played = runs[runs["shown"] == "training"]
        points = _points(study, runs, ends)
        numbers = runs[_measures(runs)].select_dtypes("number")
        metrics = {name for system in study.systems for name in study.known[system].metrics}
        systems = _systems(study, [name for name in numbers if name not in metrics])
    data, tour = _data(target, played)
    if states is not None:
        chunks = packing.chunks(points, states, tour)
    modules = _modules(study)
    used = [c for c in study.collections if c.name in data]
    catalogue = {
        "points": points,
        "systems": systems,
        "experiments": _experiments(study),
        "tour": tour,
        "collections": [
            {"name": c.name, "prefix": c.qualified(""), "data": data.get(c.name)}
            for c in study.collections
            if f"circlet/{c.name}/main" in modules
        ],
    }
    page = pages.template("explorer/page.html").render(
        results=study.results,
        absent=absent,
        partial=bool(study.missing or study.left_out),
        rule=_rule(points, states),
        no_parent=any(run["outcome"] == "no parent" for p in points for run in p["runs"]),
        live=_live(used, data),
        styles=Markup(_styles(study)),
        imports=Markup(json.dumps({"imports": modules})),
        main=Markup(_own("main.js")),
        catalogue=packing.text(json.dumps(catalogue)),
        libraries={name: packing.text(_own(f"vendored/{name}.js")) for name in LIBRARIES},
        opening=[chunk for chunk in chunks if chunk.turn == packing.OPENING],
        others=[chunk for chunk in chunks if chunk.turn != packing.OPENING],
    )
    with files.atomic(target.outputs[0]) as temporary:
        temporary.write_text(page, encoding="utf-8")
