"""What the benchmark prints."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from circlet.bench.pipeline import SYSTEM
from circlet.terminal import aligned, duration


def _figure(value: float) -> str:
    """A number with three significant digits."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def _spread(values: dict[str, float], scale: float = 1) -> str:
    digits = max(0, 2 - math.floor(math.log10(scale * values["median"])))
    median, low, high = (f"{scale * values[key]:.{digits}f}" for key in ("median", "min", "max"))
    return f"{median} ({low} … {high})"


def _machine(about: dict[str, Any]) -> list[str]:
    gpu = about["device"] != "cpu"
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items() if v and k != "circlet")
    where = "the GPU" if gpu else "one core"
    kernels = f"Native kernels: {about['kernels']}." if about["kernels"] else about["no_kernels"]
    return [
        f"{about['device'] + ', ' if gpu else ''}{about['processor']}, {about['cores']} cores, "
        f"{about['instructions']}; Python {about['python']}, {versions}",
        f"float32 on {where}: products {about['flops'] / 1e9:.0f} GFLOP/s (PyTorch's default "
        f"{about['torch_flops'] / 1e9:.0f}), copies {about['copied'] / 1e9:.1f} GB/s",
        kernels,
    ]


def beaten_floors(rows: list[dict[str, Any]]) -> list[str]:
    """A line that names the systems whose training was faster than its floor, if there are any."""
    found = [row for row in rows if row["times_floor"] < 1]
    if not found:
        return []
    names = ", ".join(f"{row['system']} ({row['times_floor']:.2f})" for row in found)
    return [
        f"Warning: faster than the floor (times floor below 1): {names}. The rates of products and "
        "copies were measured too low, or a cache holds the weights. Do not use this floor; close "
        "what else runs on the machine and run bench again."
    ]


WAYS = {
    "plain": "plain loop",
    "module": "module",
    "pytorch": "PyTorch",
    "core": "one core",
    "jax_written": "JAX as written",
    "jax_formulated": "JAX formulated",
    "kernel": "kernel",
    "products": "floor",
}


def _ways(rows: list[dict[str, Any]], key: str) -> list[str]:
    """The ways that some row has, in order."""
    return [way for way in WAYS if any(way in row[key] for row in rows)]


def _by_way(rows: list[dict[str, Any]], key: str, show: Callable[[Any], str]) -> list[list[str]]:
    """Of each row a system's name and what it has for every way, or a dash."""
    ways = _ways(rows, key)
    return [
        [row["system"], *(show(row[key][way]) if way in row[key] else "–" for way in ways)]
        for row in rows
    ]


def _training(rows: list[dict[str, Any]], gpu: bool) -> list[str]:
    time = "ms" if gpu else "cpu_ms"
    header = ["system", "runs", *(WAYS[way] for way in _ways(rows, time))]
    header += ["times core"] if gpu else ["all cores", "times one"]
    header += ["floor", "times floor", "MB"]
    table = []
    times = _by_way(rows, time, lambda ms: _spread(ms, 1000))
    for row, (system, *own) in zip(rows, times, strict=True):
        own = [system, f"{row['together']} of {row['runs']}", *own]
        if gpu:
            own.append(f"{row['times_core']:.0f}")
        else:
            one, every = row["cpu_ms"][row["circlet"]], row["all_cores_cpu_ms"]
            own += [_spread(every, 1000), f"{one['median'] / every['median']:.2f}"]
        own += [_figure(1000 * max(row["floor_ms"].values())), f"{row['times_floor']:.1f}"]
        table.append([*own, f"{row['peak_mb']:.0f}"])
    lines = [
        f"Training, microseconds of {'the clock' if gpu else 'CPU time'} per run and step: "
        "median (smallest … largest)",
        _table(header, table),
        "plain loop: one run on one core, without logs. The others keep logs.",
        "module: the network of the plain loop, trained by circlet as any nn.Module is, without a "
        "gradient of its own.",
        "PyTorch: several runs of a block at once, as in the column runs. "
        "kernel: one run after another, in C++.",
        "times core: of the clock, against one core."
        if gpu
        else "all cores: a job on each, microseconds of them together; "
        "times one: their throughput against that of one job.",
        "floor: products of matrices at the higher rate above (or weights and moments through "
        "memory once); what is not a product is not in it.",
        f"MB: the most that {'PyTorch took on the GPU' if gpu else 'one process had'}.",
        *beaten_floors(rows),
    ]
    if not gpu and (had := min(row["had"] for row in rows)) < 0.95:
        lines.append(
            f"Others use this machine, too: all cores had {100 * had:.0f} % of their time."
        )
    seconds = _by_way(rows, "cpu_seconds", _figure)
    faster = _by_way(rows, "times_plain", lambda times: f"{times:.1f}")
    return [
        *lines,
        "",
        f"Times as fast as the plain loop, of {'the clock' if gpu else 'CPU time'}",
        _table(("system", *(WAYS[way] for way in _ways(rows, "times_plain"))), faster),
        "",
        "CPU-seconds of a whole run",
        _table(
            ("system", "steps", *(WAYS[way] for way in _ways(rows, "cpu_seconds"))),
            [[own[0], row["steps"], *own[1:]] for row, own in zip(rows, seconds, strict=True)],
        ),
    ]


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """CPU time of others over that of a job: the faster JAX, PyTorch, products alone."""
    least = {way: ms["min"] for way, ms in row["cpu_ms"].items()}
    jax = [value for way, value in least.items() if way.startswith("jax")]
    others = {"JAX": min(jax)} if jax else {}
    others |= {"PyTorch": least["pytorch"], "floor": least["products"]}
    return {name: value / least.get("kernel", least["pytorch"]) for name, value in others.items()}


def _peers(rows: list[dict[str, Any]]) -> list[str]:
    times = _by_way(rows, "cpu_ms", lambda ms: _figure(1000 * ms["min"]))
    table = []
    for row, own in zip(rows, times, strict=True):
        found = ratios(row)
        groups = " and ".join(str(runs) for runs in row["groups"].values()) or "–"
        jax = f"{found['JAX']:.2f}" if "JAX" in found else "–"
        table.append([*own, groups, jax, f"{found['PyTorch']:.2f}", f"{1 / found['floor']:.2f}"])
    apart = max((value for row in rows for value in row["differences"].values()), default=0.0)
    header = ["system", *(WAYS[way] for way in _ways(rows, "cpu_ms")), "JAX runs"]
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
    """Rows that begin with a name, aligned."""
    return aligned(header, [tuple(row) for row in rows], "<" + ">" * (len(header) - 1))


def _shares(rows: list[dict[str, Any]]) -> list[str]:
    kinds = list(rows[0]["shares"])
    table = [
        [row["system"], *(f"{100 * row['shares'][kind]:.0f} %" for kind in kinds)] for row in rows
    ]
    header = ("system", *(kind.replace("python", "Python") for kind in kinds))
    return [
        "",
        "What the time of a block in PyTorch goes to (under the profiler, which slows Python down)",
        _table(header, table),
    ]


def _pipeline(rows: list[dict[str, Any]]) -> list[str]:
    table = []
    for row in rows:
        seconds = row["seconds"]
        once = seconds["min"] == seconds["max"]
        low, high = ("", "") if once else (f"{seconds[key]:.3f}" for key in ("min", "max"))
        table.append((row["what"], row["times"], f"{seconds['median']:.3f}", low, high))
    return [
        "",
        f"Pipeline, seconds per 1000 runs of {SYSTEM} in ten blocks, on one core",
        aligned(("part", "how often", "in all", "smallest", "largest"), table, "<>>>>"),
    ]


def _study(rows: list[dict[str, Any]], gpu: bool) -> list[str]:
    table = [
        (row["system"], row["runs"], f"{row['run_steps'] / 1e6:.1f}", duration(3600 * row["hours"]))
        for row in rows
    ]
    where = "in blocks as large as those above" if gpu else "on all cores"
    return [
        "",
        f"The study's training at these rates, {where}; other points by what the plan expects",
        aligned(("system", "runs", "million steps", "time"), table, "<>>>"),
    ]


def text(measured: dict[str, Any]) -> str:
    """The results of ``bench.run`` or ``bench.compare`` as text."""
    gpu, lines = measured["machine"]["device"] != "cpu", _machine(measured["machine"])
    if "peers" in measured:
        return "\n".join([*lines, "", *_peers(measured["peers"])])
    lines += ["", *_training(measured["training"], gpu)]
    if not gpu:
        lines += _shares(measured["training"])
    if measured["pipeline"]:
        lines += _pipeline(measured["pipeline"])
    if measured["study"]:
        lines += _study(measured["study"], gpu)
    return "\n".join(lines)
