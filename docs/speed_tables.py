"""Tables and the figure of docs/speed.md, from the recorded benchmark."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from circlet import bench as benchmark
from circlet.pages.story import number
from circlet.plotting import style

DOCS = Path(__file__).parent


@cache
def bench() -> dict[str, Any]:
    """What ``circlet bench --json`` measured."""
    return json.loads((DOCS / "studies/bench.json").read_text(encoding="utf-8"))


def gains(way: str = "kernel") -> tuple[str, str]:
    """Least and most that a way to train gains over the plain loop, over the systems."""
    factors = [row["times_plain"][way] for row in bench()["training"] if way in row["times_plain"]]
    least, most = (f"{x:.1f}" if x < 1 else f"{x:.0f}" for x in (min(factors), max(factors)))
    return least, most


def bench_text() -> str:
    """The same as ``circlet bench`` prints it."""
    return benchmark.text(bench())


@cache
def peers() -> pd.DataFrame:
    """Ratios of CPU time that ``circlet bench --peers`` measured: of others over the kernels'.

    A row per process, system and other: ``kernels`` names the instructions.
    """
    measured = json.loads((DOCS / "studies/peers.json").read_text(encoding="utf-8"))
    return pd.DataFrame(
        {
            "kernels": process["machine"]["kernels"],
            "system": row["system"],
            "other": other,
            "ratio": ratio,
            "microseconds": 1000 * row["cpu_ms"]["kernel"]["min"],
        }
        for process in measured
        for row in process["peers"]
        for other, ratio in benchmark.ratios(row).items()
    )


def peer_table(kernels: str) -> str:
    """Medians, smallest and largest of the processes with some instructions, in Markdown."""
    rows = peers().query("kernels == @kernels")
    lines = [
        "| system | kernel, µs | JAX ÷ kernel | PyTorch ÷ kernel | kernel ÷ products alone |",
        "|---" * 5 + "|",
    ]
    for system, own in rows.groupby("system"):
        cells = [f"`{system}`", number(own["microseconds"].median())]
        for other in ("JAX", "PyTorch", "floor"):
            found = own.loc[own["other"] == other, "ratio"]
            found = 1 / found if other == "floor" else found
            ends = f"{found.min():.2f} … {found.max():.2f}"
            cells.append(f"{found.median():.2f} ({ends})" if len(found) else "–")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def peer_machine() -> str:
    """The machine of the measurements, in a sentence."""
    about = json.loads((DOCS / "studies/peers.json").read_text(encoding="utf-8"))[0]["machine"]
    versions = about["versions"]
    return (
        f"Measured on one core of {about['cores']} ({about['processor']}, 1 MB L2 a core), torch "
        f"{versions['torch']}, JAX {versions['jax']}, g++ 12, beside other work."
    )


def peer_processes() -> int:
    """How many processes measured with each kind of instructions."""
    rows = peers().query("system == 'particles' and other == 'floor'")
    return int(rows["kernels"].value_counts().min())


def peer_ratio(kernels: str, system: str, other: str) -> str:
    """The median ratio of a system."""
    rows = peers().query("kernels == @kernels and system == @system and other == @other")
    return f"{rows['ratio'].median():.1f}"


def peer_figure() -> Figure:
    """Medians and ranges of the ratios, of both kinds of instructions."""
    rows = peers().query("other != 'floor'")
    figure, axes = plt.subplots(figsize=(6, 2.6))
    places = {name: -i for i, name in enumerate(sorted(rows["system"].unique()))}
    colours = {"JAX": style.ORANGE, "PyTorch": style.BLUE}
    for (system, other, kernels), own in rows.groupby(["system", "other", "kernels"])["ratio"]:
        is_wide = kernels == "avx512"
        at = places[system] + (0.24 if other == "PyTorch" else 0) - (0 if is_wide else 0.12)
        fill = colours[other] if is_wide else "white"
        axes.plot([own.min(), own.max()], [at, at], color=colours[other], linewidth=1)
        label = f"{other}, {kernels.upper()}" if system == "constant_attention" else None
        axes.plot(own.median(), at, "o", color=colours[other], mfc=fill, markersize=5, label=label)
    axes.axvline(1, color=style.GREY, linewidth=0.8)
    axes.set(xscale="log", xlabel="CPU time of a run and step over the kernel's")
    axes.set_yticks(list(places.values()), places.keys())
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(fontsize=7)
    return figure
