"""Packing of the states of runs for the explorer, in the order in which a reader needs them."""

import base64
import gzip
import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

OPENING, ON_TOUR = -2, -1  # turns before those of other runs

MOST = 32767  # of a 16-bit integer
NAN = -32768


class Chunk(NamedTuple):
    """Packed data of a run, or of all runs of a point of which the page has only the end."""

    name: str  # name of its HTML element
    turn: int  # a lower one comes earlier in the file
    content: str


def text(content: bytes | str) -> str:
    """Compress content as text that no browser takes for HTML; the same bytes each time."""
    raw = content.encode() if isinstance(content, str) else content
    return base64.b64encode(gzip.compress(raw, mtime=0)).decode()


def _rounded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as 16-bit integers, `NAN` for values not finite, and the scale of each row."""
    finite = np.isfinite(values)
    kept = np.where(finite, values, 0)
    scale = np.abs(kept).max(1, initial=0) / MOST
    scale = np.where(scale > 0, scale, 1).astype("<f4")
    whole = np.where(finite, np.round(kept / scale[:, None]), NAN)
    return np.clip(whole, NAN, MOST).astype("<i2"), scale


def _chunk(states: pd.DataFrame) -> bytes:
    """Pack the states of some runs.

    The result is a 32-bit length, a JSON text of that length (padded to a multiple of 4), and the
    arrays that it lists: 32-bit floats, or, if ``rounded``, a 32-bit float for each step, by which
    to multiply the 16-bit integers that follow.
    """
    arrays, blobs, at = [], [], 0
    for (run_id, name), rows in states.groupby(["run_id", "name"], sort=False):
        values = np.stack(rows["values"]).astype(np.float64)
        shape = [int(length) for length in rows["shape"].iloc[0]]
        steps = rows["step"].tolist()
        entry = {"run": run_id, "name": name, "shape": shape, "steps": steps, "at": at}
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


def chunks(points: list[dict[str, Any]], states: pd.DataFrame, tour: list[Any]) -> list[Chunk]:
    """Return the packed states of all runs, in the order of the file."""
    states = states[["run_id", "name", "step", "shape", "values"]]
    of_run = dict(list(states.groupby("run_id", sort=False)))
    turns = {stop["run"]: ON_TOUR for stop in tour} | {stop["run"]: OPENING for stop in tour[:1]}
    packed = []
    for place, point in enumerate(points):
        shown = {
            how: [r for r in point["runs"] if r["shown"] == how] for how in ("training", "end")
        }
        for turn, run in enumerate(shown["training"]):
            run_states = of_run.get(run["run_id"], states.iloc[:0])
            turn = turns.get(run["run_id"], turn)
            packed.append(Chunk(f"chunk-{place}-{run['seed']}", turn, text(_chunk(run_states))))
        if shown["end"]:
            run_states = [of_run[r["run_id"]] for r in shown["end"] if r["run_id"] in of_run]
            end_states = pd.concat([states.iloc[:0], *run_states])
            packed.append(Chunk(f"chunk-{place}", 1, text(_chunk(end_states))))
    return sorted(packed, key=lambda chunk: chunk.turn)
