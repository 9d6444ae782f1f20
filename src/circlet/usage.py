"""Memory and time that blocks requested, and what they used, for `circlet status --usage`."""

import math
from dataclasses import dataclass
from statistics import median

from circlet.storage import parquet, progress
from circlet.study import cost
from circlet.study.blocks import Block
from circlet.study.plan import Study
from circlet.terminal import aligned, duration

HEADER = (
    "experiment", "system", "blocks", "done", "MB asked", "median", "most", "CPU expected", "used",
    "min asked", "longest",
)  # fmt: skip


@dataclass(frozen=True)
class Used:
    """What a finished block requested and used; memory in MB."""

    block: Block
    requested_mb: int
    peak_mb: float | None
    cpu_seconds: float
    minutes: float

    @classmethod
    def of(cls, block: Block) -> "Used":
        """Read it from the block's log of runs."""
        made = parquet.footer(block.log("runs"))
        cpu_seconds = sum(s or 0 for s in parquet.run_column(block, "seconds"))
        return cls(
            block,
            cost.memory_mb(block, made["device"] == "cuda"),
            made.get("peak_mb"),  # logs of earlier releases have none
            cpu_seconds,
            max(made["seconds"], cpu_seconds) / 60,  # the last try may have done only a part
        )


def usage(study: Study) -> str:
    """Return a table of what the blocks of each experiment requested and used, and advice."""
    used = [Used.of(block) for block, state in progress.states(study) if state == "done"]
    rows = []
    for name, experiment in study.config.experiments.items():
        blocks = [block for point in study.experiment(name) for block in point.blocks]
        mine = [u for u in used if u.block.point.experiment == name]
        peaks = [u.peak_mb for u in mine if u.peak_mb is not None]
        memory = max(u.requested_mb for u in mine) if mine else max(map(cost.memory_mb, blocks))
        times = [sum(cost.cpu_seconds(u.block) for u in mine), sum(u.cpu_seconds for u in mine)]
        rows.append((
            name, experiment.system, len(blocks), len(mine), memory,
            *([round(median(peaks)), round(max(peaks))] if peaks else ["–", "–"]),
            *(map(duration, times) if mine else ["–", "–"]),
            max(map(cost.minutes, blocks)),
            f"{max(u.minutes for u in mine):.1f}" if mine else "–",
        ))  # fmt: skip
    lines = [
        aligned(HEADER, rows, "<<>>>>>>>>>"),
        "MB: asked for a block (SLURM adds 500 for Snakemake), and used by done blocks. CPU: "
        "expected and used by all done blocks. min: asked for a block that is a job of its own, "
        "and the longest",
    ]
    for system in study.systems:
        lines += _advice(system, [u for u in used if u.block.point.system.name == system])
    return "\n".join(lines)


def _advice(system: str, used: list[Used]) -> list[str]:
    """Return what to request for a system, if its requests are far from what it used."""
    lines = []
    known = [u for u in used if u.peak_mb is not None]
    if known:
        most = max(u.peak_mb or 0 for u in known)
        requested = max(u.requested_mb for u in known)
        is_scarce = any((u.peak_mb or 0) > u.requested_mb for u in known)
        if is_scarce or requested > max(2 * most, most + 500):
            better = math.ceil((1.3 * most + 500) / 100) * 100
            lines.append(
                f"{system}: blocks used at most {most:.0f} MB of {requested}; to request "
                f"another amount: --set-resources {system}:mem_mb={better}"
            )
    if slow := [u for u in used if u.minutes > 0.8 * cost.minutes(u.block)]:
        longest = max(u.minutes for u in slow)
        lines.append(
            f"{system}: {len(slow)} blocks needed nearly their time limit or more; to request "
            f"another one: --set-resources {system}:runtime={math.ceil(2 * longest)}"
        )
    return lines
