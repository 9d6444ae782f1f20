"""What the benchmark prints."""

import math
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
    return [
        f"{about['device'] + ', ' if gpu else ''}{about['processor']}, {about['cores']} cores, "
        f"{about['instructions']}; Python {about['python']}, {versions}",
        f"float32 on {where}: products {about['flops'] / 1e9:.0f} GFLOP/s (PyTorch's default "
        f"{about['torch_flops'] / 1e9:.0f}), copies {about['copied'] / 1e9:.1f} GB/s",
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


def _training(rows: list[dict[str, Any]], gpu: bool) -> list[str]:
    header = ["system", "runs", "plain loop", "module", "times plain", "circlet", "times plain"]
    header += ["one core", "times core"] if gpu else ["all cores"]
    header += ["floor", "times floor", "MB"]
    table = []
    for row in rows:
        ms = row["ms"]
        runs = f"{row['together']} of {row['runs']}"
        own = [row["system"], runs, _spread(ms["plain"], 1000)]
        if row["module_times_plain"]:
            own += [_spread(ms["module"], 1000), f"{row['module_times_plain']:.1f}"]
        else:
            own += ["–", "–"]
        own += [_spread(ms["circlet"], 1000), f"{row['times_plain']:.1f}"]
        if gpu:
            own += [_spread(ms["core"], 1000), f"{row['times_core']:.0f}"]
        else:
            own.append(_spread(row["all_cores_ms"], 1000))
        own += [_figure(1000 * max(row["floor_ms"].values())), f"{row['times_floor']:.1f}"]
        table.append((*own, f"{row['peak_mb']:.0f}"))
    runs = (
        "times core: of the clock, against a block on one core."
        if gpu
        else ("all cores: a process on each, microseconds of them together.")
    )
    lines = [
        "Training, microseconds per run and step: median (smallest … largest)",
        aligned(header, table, "<" + ">" * (len(header) - 1)),
        "plain loop: one run on one core, without logs. circlet: several runs of a block at once"
        + (", with logs." if gpu else " on one core, with logs."),
        "module: the network of the plain loop, trained by circlet as any nn.Module is, without a "
        "gradient of its own.",
        f"times plain: of {'the clock' if gpu else 'CPU time'}. {runs}",
        "floor: products of matrices at the higher rate above (or weights and moments through "
        "memory once); what is not a product is not in it.",
        f"MB: the most that {'PyTorch took on the GPU' if gpu else 'one process had'}.",
        *beaten_floors(rows),
    ]
    if not gpu and (had := min(row["had"] for row in rows)) < 0.95:
        lines.append(
            f"Others use this machine, too: all cores had {100 * had:.0f} % of their time."
        )
    ways = list(dict.fromkeys(way for row in rows for way in row["cpu_seconds"]))
    seconds = [
        (
            row["system"],
            row["steps"],
            *(_figure(own[way]) if way in own else "–" for way in ways),
        )
        for row in rows
        for own in (row["cpu_seconds"],)
    ]
    names = {"plain": "plain loop", "core": "one core"}
    columns = ("system", "steps", *(names.get(way, way) for way in ways))
    return [
        *lines,
        "",
        "CPU-seconds of a whole run",
        aligned(columns, seconds, "<>" + ">" * len(ways)),
    ]


def _shares(rows: list[dict[str, Any]]) -> list[str]:
    kinds = list(rows[0]["shares"])
    table = [
        (row["system"], *(f"{100 * row['shares'][kind]:.0f} %" for kind in kinds)) for row in rows
    ]
    header = ("system", *(kind.replace("python", "Python") for kind in kinds))
    return [
        "",
        "What the time of a block goes to (under the profiler, which slows Python down)",
        aligned(header, table, "<" + ">" * len(kinds)),
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
    """The results of ``bench.run`` about machine, training, pipeline and study, as text."""
    gpu = measured["machine"]["device"] != "cpu"
    lines = [*_machine(measured["machine"]), "", *_training(measured["training"], gpu)]
    if not gpu:
        lines += _shares(measured["training"])
    if measured["pipeline"]:
        lines += _pipeline(measured["pipeline"])
    if measured["study"]:
        lines += _study(measured["study"], gpu)
    return "\n".join(lines)
