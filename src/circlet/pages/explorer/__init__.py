"""results/explorer.html: trainings to scrub through, and live simulations, in one file.

The page works by double click, without a network: its modules are inlined by an import map, the
plotting library and the data are compressed texts in it. A point's data are unpacked when it is
chosen; their format is ``_chunk``.
"""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from circlet import pages
from circlet.storage import files, parquet
from circlet.study import registry
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.targets import Target

DATA = (
    "page.html",
    "style.css",
    "main.js",
    "address.js",
    "catalogue.js",
    "charts.js",
    "controls.js",
    "draw.js",
    "explore.js",
    "files.js",
    "geometry.js",
    "live.js",
    "live_network.js",
    "live_particles.js",
    "network.js",
    "panels.js",
    "particles.js",
    "pictures.js",
    "runs.js",
    "scene.js",
    "transformer.js",
)
MODULES = tuple(Path(file).stem for file in DATA if file.endswith(".js"))
PARTICLES = ("p", "f_a", "g_a", "g_r", "step_size", "std")  # that begin as in a study
NETWORK = ("p", "d", "hidden", "train_fraction", "learning_rate", "weight_decay")

OPTIONAL_TABLES = ("explorer_runs", "explorer_states", "ode_coefficients")
MOST = 32767  # of a 16-bit integer
NAN = -32768


def _text(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _module(name: str) -> str:
    """A module as an address that needs no file beside the page."""
    content = base64.b64encode(_text(f"{name}.js").encode()).decode()
    return f"data:text/javascript;base64,{content}"


def _packed(content: bytes | str) -> str:
    """Compressed, as text that no browser takes for HTML; the same bytes each time."""
    raw = content.encode() if isinstance(content, str) else content
    return base64.b64encode(gzip.compress(raw, mtime=0)).decode()


def _rounded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of values as 16-bit integers, and what one is in each; what is not finite has a code."""
    finite = np.isfinite(values)
    kept = np.where(finite, values, 0)
    scale = np.abs(kept).max(1, initial=0) / MOST
    scale = np.where(scale > 0, scale, 1).astype("<f4")
    whole = np.where(finite, np.round(kept / scale[:, None]), NAN)
    return np.clip(whole, NAN, MOST).astype("<i2"), scale


def _chunk(states: pd.DataFrame) -> bytes:
    """What is shown of the runs of a point.

    A 32-bit length and a JSON text of that length, padded to a multiple of 4; then the arrays that
    it lists, one after the other: 32-bit floats, or, if ``rounded``, a 32-bit float for each step,
    by which to multiply the 16-bit integers that follow.
    """
    arrays, blobs, at = [], [], 0
    for (run_id, name), rows in states.groupby(["run_id", "name"], sort=False):
        values = np.stack(rows["values"]).astype(np.float64)
        entry = {"run": run_id, "name": name, "steps": rows["step"].tolist(), "at": at}
        if name == "curves":  # losses span many powers of ten
            blob = values.astype("<f4").tobytes()
        else:
            whole, scale = _rounded(values)
            entry["rounded"] = True
            blob = scale.tobytes() + whole.tobytes()
        entry["size"] = values.shape[1]
        blob += bytes(-len(blob) % 4)
        at += len(blob)
        arrays.append(entry)
        blobs.append(blob)
    header = json.dumps({"arrays": arrays}).encode()
    header += b" " * (-len(header) % 4)
    return b"".join([len(header).to_bytes(4, "little"), header, *blobs])


def _number(value: Any) -> float | None:
    """A number with as many digits as a reader needs, or none."""
    return None if pd.isna(value) or not np.isfinite(value) else float(f"{value:.5g}")


def _run(row: dict[str, Any], measures: list[str], epoch: int) -> dict[str, Any]:
    """What the list says of a run; steps become epochs where it trains on batches."""
    found: dict[str, Any] = {name: row[name] for name in ("run_id", "seed", "outcome", "shown")}
    for name in measures:
        value = row[name]
        if isinstance(value, list | np.ndarray):
            found[name] = [int(k) for k in value]
        elif name.endswith("_step"):
            found[name.replace("_step", "_epoch")] = None if pd.isna(value) else value / epoch
        else:
            found[name] = _number(value)
    return {name: value for name, value in found.items() if value is not None}


def _point(point: Point, rows: pd.DataFrame) -> dict[str, Any]:
    """A point and its runs."""
    listed = rows[rows["shown"] != "nothing"]
    last = listed.columns.get_loc("outcome")  # after the keys and the seed
    measures = [name for name in listed.columns[last + 1 :] if name != "shown"]
    runs = [_run(row, measures, point.steps_per_epoch) for row in listed.to_dict("records")]
    return {
        "experiment": point.experiment,
        "system": point.system.name,
        "name": point.name,
        "parameters": point.parameters,
        "steps": point.steps,
        "steps_per_epoch": point.steps_per_epoch,
        "planned": point.count,
        "unlisted": len(rows) - len(listed),
        "outcomes": list(rows["outcome"].value_counts().items()),
        "runs": runs,
    }


def _coefficients(target: Target, shown: set[str]) -> dict[str, dict[str, list]]:
    """Matrices of the linear laws of some runs, by run and method.

    Rows are targets, columns sources, of which 0 is the constant.
    """
    path = target.study.table("ode_coefficients")
    if path not in target.inputs or "ode_coefficients" in target.study.left_out:
        return {}
    found: dict[str, dict[str, list]] = {}
    table = parquet.read_table(target.study, "ode_coefficients")
    table = table[table["run_id"].isin(shown)]
    for (run_id, method), rows in table.groupby(["run_id", "method"], sort=False):
        matrix = rows.pivot(index="target", columns="source", values="coefficient")
        values = [[_number(value) for value in row] for row in matrix.to_numpy()]
        found.setdefault(run_id, {})[method] = values
    return found


def _defaults(system: str, names: tuple[str, ...]) -> dict[str, Any]:
    defaults = registry.Systems(registry.SHIPPED)[system].defaults
    return {name: defaults[name] for name in names}


def _points(
    study: Study, runs: pd.DataFrame, states: pd.DataFrame
) -> tuple[list[dict[str, Any]], list[str]]:
    """All points with their runs, and what is shown of each, packed."""
    by_point = [
        dict(list(frame.groupby(frame["run_id"].str.rsplit("/", n=1).str[0], sort=False)))
        for frame in (runs, states)
    ]
    points, chunks = [], []
    for point in study.points:
        rows, arrays = (
            found.get(f"{point.experiment}/{point.name}", frame.iloc[:0])
            for found, frame in zip(by_point, (runs, states), strict=True)
        )
        points.append(_point(point, rows))
        chunks.append(_packed(_chunk(arrays)))
    return points, chunks


def _rule(points: list[dict[str, Any]], states: pd.DataFrame | None) -> str:
    """How much of the study is in the page, in words."""
    shown = [run["shown"] for point in points for run in point["runs"]]
    every = len(shown) + sum(point["unlisted"] for point in points)
    trainings = shown.count("training")
    ends = shown.count("end") + trainings
    frames = (
        0 if states is None or states.empty else states.groupby(["run_id", "name"]).size().max()
    )
    return (
        f"This page lists {len(shown)} of {every} runs; it has the end of {ends}, and of "
        f"{trainings} the training, in at most {frames} steps of each log, fewer "
        "of large networks. Each point has at least one if there is room; the rest is shared "
        "fairly among systems, and among their points. Of a point the first seed of each outcome "
        "is taken, then the second of each, and so on. States are rounded to 1/32767 of their "
        "largest value."
    )


def make(target: Target) -> None:
    """Write the explorer of a study."""
    study = target.study
    absent = [name for name in OPTIONAL_TABLES[:2] if name in study.left_out]
    points, chunks, states = [], [], None
    if not absent:
        runs, states = (parquet.read_table(study, name) for name in OPTIONAL_TABLES[:2])
        points, chunks = _points(study, runs, states)
    trained = {r["run_id"] for point in points for r in point["runs"] if r["shown"] == "training"}
    network, particles = (
        _defaults("constant_attention", NETWORK),
        _defaults("particles", PARTICLES),
    )
    catalogue = {
        "points": points,
        "coefficients": _coefficients(target, trained),
        "particles": particles,
        "network": network,
    }
    page = pages.template("explorer/page.html").render(
        results=study.results,
        absent=absent,
        partial=bool(study.missing or study.left_out),
        rule=_rule(points, states),
        network=network,
        particles=particles,
        weights=int(registry.Systems(registry.SHIPPED)["constant_attention"].weights(**network)),
        style=Markup(_text("style.css")),
        imports=Markup(
            json.dumps({"imports": {f"circlet/{m}": _module(m) for m in MODULES if m != "main"}})
        ),
        main=Markup(_text("main.js")),
        catalogue=_packed(json.dumps(catalogue)),
        plotly=_packed(get_plotlyjs()),
        chunks=chunks,
    )
    with files.atomic(target.outputs[0]) as temporary:
        temporary.write_text(page, encoding="utf-8")
