"""Tables and the figure of docs/speed.md, from the recorded benchmark."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from circlet import bench as benchmark
from circlet.formatting import duration
from circlet.plotting import style
from circlet.study.plots import listed

DOCS = Path(__file__).parent
INSTRUCTIONS = {"avx512": "AVX-512", "avx2": "AVX2"}


@cache
def bench() -> dict[str, Any]:
    """Return results of an earlier ``circlet bench --json``; ``study`` is from ``circlet plan``."""
    return json.loads((DOCS / "studies/bench.json").read_text(encoding="utf-8"))


def gains(way: str = "kernel") -> tuple[str, str]:
    """Return the least and largest speed-up of a way to train over the plain loop, by system."""
    factors = [row["times_plain"][way] for row in bench()["training"] if way in row["times_plain"]]
    least, most = (f"{x:.1f}" if x < 1 else f"{x:.0f}" for x in (min(factors), max(factors)))
    return least, most


@cache
def peers(name: str = "peers") -> pd.DataFrame:
    """Return CPU times over those of the kernels, from ``circlet bench --peers``.

    A row per process, system and other way to train; ``kernels`` names the instruction set.
    """
    measured = json.loads((DOCS / f"studies/{name}.json").read_text(encoding="utf-8"))
    return pd.DataFrame(
        {
            "processor": process["machine"]["processor"],
            "kernels": process["machine"]["kernels"],
            "system": row["system"],
            "other": other,
            "ratio": ratio,
        }
        for process in measured
        for row in process["peers"]
        for other, ratio in benchmark.ratios(row).items()
    )


def ratio_table() -> str:
    """Return CPU time of JAX and PyTorch over that of the kernels, as a Markdown table.

    Cells have the median of the processes, and the smallest and largest. The last column is the
    usual loop in PyTorch, from ``circlet bench``.
    """
    columns = [(other, kernels) for other in ("JAX", "PyTorch") for kernels in ("avx512", "avx2")]
    titles = [f"{other}, {INSTRUCTIONS[kernels]}" for other, kernels in columns]
    lines = [
        f"| system | {' | '.join(titles)} | usual loop, AVX-512 |",
        "|---" * (len(columns) + 2) + "|",
    ]
    loop = {row["system"]: row["times_plain"]["kernel"] for row in bench()["training"]}
    for system, rows in peers().groupby("system"):
        cells = [f"`{system}`"]
        by_column = dict(list(rows.groupby(["other", "kernels"])["ratio"]))
        for column in columns:
            ratios = by_column.get(column, pd.Series())
            spread = f"({ratios.min():.2f}–{ratios.max():.2f})"
            cells.append(f"{ratios.median():.2f} {spread}" if len(ratios) else "not measured")
        lines.append(f"| {' | '.join(cells)} | {loop[str(system)]:.0f} |")
    return "\n".join(lines)


def study_table() -> str:
    """Return the training time of config/paper.yaml on the measured machine, as Markdown."""
    lines = ["| system | runs | million steps | time |", "|---" * 4 + "|"]
    for row in bench()["study"]:
        time = duration(3600 * row["hours"])
        millions = f"{row['run_steps'] / 1e6:.1f}"
        lines.append(f"| `{row['system']}` | {row['runs']} | {millions} | {time} |")
    return "\n".join(lines)


def peer_machine() -> str:
    """Return the machine of the comparisons, in a sentence."""
    machine = json.loads((DOCS / "studies/peers.json").read_text(encoding="utf-8"))[0]["machine"]
    versions = machine["versions"]
    return (
        f"We measured on one core ({machine['processor']}), with torch "
        f"{versions['torch']}, JAX {versions['jax']} and g++ 12."
    )


def other_processors() -> str:
    """Return CPU time of JAX over that of the kernels on other processors, as a Markdown table."""
    rows = peers("peers_elsewhere").query("other == 'JAX'")
    medians = rows.pivot_table("ratio", ["processor", "kernels"], "system", aggfunc="median")
    titles = ["processor", "instructions", *(f"`{system}`" for system in medians)]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for (processor, kernels), ratios in medians.iterrows():
        cells = [processor, INSTRUCTIONS[kernels], *(f"{x:.2f}" for x in ratios)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def n_processes() -> int:
    """Return how many processes measured with each instruction set."""
    rows = peers().query("system == 'particles' and other == 'PyTorch'")
    return int(rows["kernels"].value_counts().min())


def peer_range(other: str) -> str:
    """Return the smallest and largest median ratio over systems and instruction sets."""
    rows = peers().query("other == @other")
    medians = rows.groupby(["system", "kernels"])["ratio"].median()
    return f"{medians.min():.1f} to {medians.max():.1f}"


def slower_than(factor: float) -> str:
    """List the systems whose kernel is less than this many times as fast as JAX."""
    medians = peers().query("other == 'JAX'").groupby(["system", "kernels"])["ratio"].median()
    systems = medians[medians < factor].index.unique("system")
    return listed([f"`{system}`" for system in systems])


def peer_figure() -> Figure:
    """Draw the medians and ranges of the ratios, for both instruction sets."""
    rows = peers().query("other != 'products'")
    figure, axes = plt.subplots(figsize=(6, 2.6))
    places = {name: -i for i, name in enumerate(sorted(rows["system"].unique()))}
    colours = {"JAX": style.ORANGE, "PyTorch": style.BLUE}
    for (system, other, kernels), ratios in rows.groupby(["system", "other", "kernels"])["ratio"]:
        is_wide = kernels == "avx512"
        at = places[system] + (0.24 if other == "PyTorch" else 0) - (0 if is_wide else 0.12)
        fill = colours[other] if is_wide else "white"
        axes.plot([ratios.min(), ratios.max()], [at, at], color=colours[other], linewidth=1)
        label = f"{other}, {INSTRUCTIONS[kernels]}" if system == "constant_attention" else None
        axes.plot(
            ratios.median(), at, "o", color=colours[other], mfc=fill, markersize=5, label=label
        )
    axes.axvline(1, color=style.GREY, linewidth=0.8)
    axes.set(xscale="log", xlabel="CPU time of a run and step over the kernel's")
    axes.set_yticks(list(places.values()), places.keys())
    axes.xaxis.set_major_formatter("{x:g}")
    axes.legend(fontsize=7)
    return figure
