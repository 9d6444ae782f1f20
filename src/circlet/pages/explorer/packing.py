"""Packing of the states of runs for the explorer, in the order in which a reader needs them."""

import base64
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

OPENING, ON_TOUR = -2, -1  # turns before those of other runs

INT16_MAX = 32767  # of a 16-bit integer
NAN = -32768


class Chunk(NamedTuple):
    """Packed data of a run, or of all runs of a point of which the page has only the end."""

    name: str  # name of its HTML element
    rank: int  # a lower one comes earlier in the file
    content: str


def text(content: bytes | str) -> str:
    """Compress content as text that no browser takes for HTML; the same bytes each time."""
    raw = content.encode() if isinstance(content, str) else content
    return base64.b64encode(gzip.compress(raw, mtime=0)).decode()


def _rounded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as 16-bit integers, `NAN` for values not finite, and the scale of each row."""
    finite = np.isfinite(values)
    kept = np.where(finite, values, 0)
    scale = np.abs(kept).max(1, initial=0) / INT16_MAX
    scale = np.where(scale > 0, scale, 1).astype("<f4")
    whole = np.where(finite, np.round(kept / scale[:, None]), NAN)
    return np.clip(whole, NAN, INT16_MAX).astype("<i2"), scale


def _chunk(states: Iterable[tuple]) -> bytes:
    """Pack the states of some runs: rows of table ``explorer_states``.

    The result is a 32-bit length, a JSON text of that length (padded to a multiple of 4), and the
    arrays that it lists: 32-bit floats, or, if ``rounded``, a 32-bit float for each step, by which
    to multiply the 16-bit integers that follow.
    """
    by_array = defaultdict(list)
    for run_id, step, name, shape, values in states:
        by_array[run_id, name].append((step, shape, values))
    arrays, blobs, at = [], [], 0
    for (run_id, name), rows in by_array.items():
        steps, shapes, values_by_step = zip(*rows, strict=True)
        values = np.stack(values_by_step).astype(np.float64)
        shape = [int(length) for length in shapes[0]]
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
    of_run = defaultdict(list)
    for row in states[["run_id", "step", "name", "shape", "values"]].itertuples(index=False):
        of_run[row.run_id].append(row)
    ranks = {stop["run"]: ON_TOUR for stop in tour} | {stop["run"]: OPENING for stop in tour[:1]}
    packed = []
    for place, point in enumerate(points):
        shown = {
            how: [r for r in point["runs"] if r["shown"] == how] for how in ("training", "end")
        }
        for rank, run in enumerate(shown["training"]):
            rank = ranks.get(run["run_id"], rank)
            content = text(_chunk(of_run[run["run_id"]]))
            packed.append(Chunk(f"chunk-{place}-{run['seed']}", rank, content))
        if shown["end"]:
            end_states = (row for run in shown["end"] for row in of_run[run["run_id"]])
            packed.append(Chunk(f"chunk-{place}", 1, text(_chunk(end_states))))
    return sorted(packed, key=lambda chunk: chunk.rank)
