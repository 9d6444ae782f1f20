"""What the benchmark prints."""

import math
from typing import Any

from circlet.view import aligned


def _spread(values: dict[str, float]) -> str:
    digits = max(0, 2 - math.floor(math.log10(values["median"])))
    low, high = (f"{values[key]:.{digits}f}" for key in ("min", "max"))
    return f"{values['median']:.{digits}f} ({low} … {high})"


def _machine(about: dict[str, Any]) -> list[str]:
    gpu = about["device"] != "cpu"
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items() if k != "circlet")
    where = "the GPU" if gpu else "one core"
    return [
        f"{about['device'] + ', ' if gpu else ''}{about['processor']}, {about['cores']} cores, "
        f"{about['instructions']}; {versions}",
        f"float32 on {where}: products {about['flops'] / 1e9:.0f} GFLOP/s (PyTorch's default "
        f"{about['torch_flops'] / 1e9:.0f}), copies {about['copied'] / 1e9:.1f} GB/s",
    ]


def _training(rows: list[dict[str, Any]], gpu: bool) -> list[str]:
    header = ["system", "runs", "plain loop, ms", "circlet, ms"]
    header += ["one core, ms", "times"] if gpu else []
    header += ["times plain", "floor, ms", "times floor", *([] if gpu else ["all cores"]), "MB"]
    table = []
    for row in rows:
        ms = row["ms"]
        own = [row["system"], row["runs"], _spread(ms["plain"]), _spread(ms["circlet"])]
        own += [_spread(ms["core"]), f"{row['times_core']:.0f}"] if gpu else []
        own += [f"{row['times_plain']:.1f}", f"{max(row['floor_ms'].values()):.3g}"]
        own.append(f"{row['times_floor']:.1f}")
        own += [] if gpu else [f"{row['all_cores_ms']:.3g}"]
        table.append((*own, f"{row['peak_mb']:.0f}"))
    return [
        "Training, milliseconds per run and step: median (smallest … largest)",
        aligned(header, table, "<" + ">" * (len(header) - 1)),
        "",
        "plain loop: one run on one core. circlet: a block of so many runs"
        + ("." if gpu else " on one core, and with all cores busy."),
        f"times plain: of {'the clock' if gpu else 'CPU time'}. floor: products of matrices at the "
        "rate above, or weights and moments through",
        "memory once. MB: the most that "
        + ("PyTorch took on the GPU." if gpu else "a process of this bench had on all cores."),
        "",
        "CPU-seconds of a whole run",
        aligned(
            ("system", "steps", *rows[0]["cpu_seconds"]),
            [
                (row["system"], row["steps"], *(f"{s:.3g}" for s in row["cpu_seconds"].values()))
                for row in rows
            ],
            "<>" + ">" * len(rows[0]["cpu_seconds"]),
        ),
    ]


def _shares(rows: list[dict[str, Any]]) -> list[str]:
    kinds = list(rows[0]["shares"])
    table = [
        (row["system"], *(f"{100 * row['shares'][kind]:.0f} %" for kind in kinds)) for row in rows
    ]
    return [
        "",
        "What the time of a block goes to (under the profiler, which slows Python down)",
        aligned(("system", *kinds), table, "<" + ">" * len(kinds)),
    ]


def _pipeline(rows: list[dict[str, Any]]) -> list[str]:
    table = [
        (
            row["what"],
            row["times"],
            *(f"{row['seconds'][key]:.2f}" for key in ("median", "min", "max")),
        )
        for row in rows
    ]
    return [
        "",
        "Pipeline, seconds per 1000 runs in ten blocks of constant_attention, one process",
        aligned(("", "how often", "in all", "smallest", "largest"), table, "<>>>>"),
    ]


def _study(rows: list[dict[str, Any]], gpu: bool) -> list[str]:
    table = [
        (row["system"], row["runs"], f"{row['run_steps'] / 1e6:.1f}", f"{row['hours']:.3g}")
        for row in rows
    ]
    where = "in blocks as large as those above" if gpu else "on all cores"
    return [
        "",
        f"The study's training at these rates, {where}",
        aligned(("system", "runs", "million steps", "hours"), table, "<>>>"),
    ]


def text(measured: dict[str, Any]) -> str:
    """What ``bench.run`` measured of machine, training, pipeline and study."""
    gpu = measured["machine"]["device"] != "cpu"
    lines = [*_machine(measured["machine"]), "", *_training(measured["training"], gpu)]
    if not gpu:
        lines += _shares(measured["training"])
    lines += _pipeline(measured["pipeline"])
    if measured["study"]:
        lines += _study(measured["study"], gpu)
    return "\n".join(lines)
