"""Text of the results of the benchmark."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from circlet.terminal import aligned


def _figure(value: float) -> str:
    """Return a number with three significant digits."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def _spread(values: dict[str, float], scale: float = 1) -> str:
    digits = max(0, 2 - math.floor(math.log10(scale * values["median"])))
    median, low, high = (f"{scale * values[key]:.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} … {high})"


def _machine(about: dict[str, Any]) -> list[str]:
    gpu = about["device"] != "cpu"
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items() if v and k != "circlet")
    kernels = f"Native kernels: {about['kernels']}." if about["kernels"] else about["no_kernels"]
    return [
        f"{about['device'] + ', ' if gpu else ''}{about['processor']}, {about['cores']} cores, "
        f"{about['instructions']}; Python {about['python']}, {versions}",
        kernels,
    ]


WAYS = {
    "pytorch": "PyTorch",
    "core": "one core",
    "jax_written": "JAX as written",
    "jax_formulated": "JAX formulated",
    "kernel": "kernel",
    "products": "floor",
}


def _ways(rows: list[dict[str, Any]]) -> list[str]:
    return [way for way in WAYS if any(way in row["ms"] for row in rows)]


def _by_way(rows: list[dict[str, Any]], show: Callable[[Any], str]) -> list[list[str]]:
    ways = _ways(rows)
    return [
        [row["system"], *(show(row["ms"][way]) if way in row["ms"] else "–" for way in ways)]
        for row in rows
    ]


def _training(rows: list[dict[str, Any]], gpu: bool) -> list[str]:
    header = ["system", "runs", *(WAYS[way] for way in _ways(rows))]
    header += ["times core", "MB"] if gpu else []
    table = []
    times = _by_way(rows, lambda ms: _spread(ms, 1000))
    for row, (system, *cells) in zip(rows, times, strict=True):
        cells = [system, f"{row['together']} of {row['runs']}", *cells]
        if gpu:
            cells += [f"{row['times_core']:.0f}", f"{row['peak_mb']:.0f}"]
        table.append(cells)
    lines = [
        f"Training, microseconds of {'the clock' if gpu else 'CPU time'} per run and step: "
        "median (smallest … largest)",
        _table(header, table),
        "PyTorch: several runs of a block at once, as in the column runs. "
        "kernel: one run after another, in C++.",
    ]
    if gpu:
        lines.append("times core: of the clock, against one core. MB: the most that PyTorch took.")
    return lines


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """Return CPU times over that of a job: the faster JAX, PyTorch, products alone."""
    least = {way: ms["min"] for way, ms in row["ms"].items()}
    jax = [value for way, value in least.items() if way.startswith("jax")]
    others = {"JAX": min(jax)} if jax else {}
    others |= {"PyTorch": least["pytorch"], "floor": least["products"]}
    return {name: value / least.get("kernel", least["pytorch"]) for name, value in others.items()}


def _peers(rows: list[dict[str, Any]]) -> list[str]:
    times = _by_way(rows, lambda ms: _figure(1000 * ms["min"]))
    table = []
    for row, cells in zip(rows, times, strict=True):
        by_other = ratios(row)
        groups = " and ".join(str(runs) for runs in row["groups"].values()) or "–"
        jax = f"{by_other['JAX']:.2f}" if "JAX" in by_other else "–"
        table.append(
            [*cells, groups, jax, f"{by_other['PyTorch']:.2f}", f"{1 / by_other['floor']:.2f}"]
        )
    apart = max((value for row in rows for value in row["differences"].values()), default=0.0)
    header = ["system", *(WAYS[way] for way in _ways(rows)), "JAX runs"]
    return [
        "Training on one core without logs: least microseconds of CPU time per run and step",
        _table([*header, "times JAX", "times PyTorch", "times floor"], table),
        "JAX as written: jit(vmap(scan)) of a loss and jax.grad, as a user would write it. "
        "JAX formulated: with circlet's formulas",
        "and residual. Both with the number of runs together that is fastest (JAX runs). "
        f"Losses after 64 steps are circlet's to {apart:.0e}.",
        "times JAX, times PyTorch: the faster JAX, and PyTorch, over what a job takes. "
        "floor: products of large matrices in float32.",
    ]


def _table(header: Sequence[str], rows: list[list[Any]]) -> str:
    return aligned(header, [tuple(row) for row in rows], "<" + ">" * (len(header) - 1))


def text(measured: dict[str, Any]) -> str:
    """Return the results of ``bench.run`` or ``bench.compare`` as text."""
    gpu, lines = measured["machine"]["device"] != "cpu", _machine(measured["machine"])
    if "peers" in measured:
        return "\n".join([*lines, "", *_peers(measured["peers"])])
    return "\n".join([*lines, "", *_training(measured["training"], gpu)])
