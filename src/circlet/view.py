"""What the terminal shows: the plan, the status and the scorecard, as text."""

import math
from collections.abc import Iterable

from circlet import io, products, progress
from circlet.errors import LogError
from circlet.plan import Study

MOST_NAMES = 12  # points of an experiment that are listed one by one
JOB_SECONDS = 1.0  # start of a process with torch


def _rows(header: Iterable[str], rows: list[tuple], align: str) -> str:
    """Aligned columns; ``align`` has < or > for each."""
    cells = [tuple(header), *[tuple(map(str, row)) for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(align))]
    lines = [
        "  ".join(f"{cell:{a}{w}}" for cell, a, w in zip(row, align, widths, strict=True)).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86400:.0f} days"


def plan(study: Study) -> str:
    """Experiments with their points, runs, blocks and expected CPU time; then what is made."""
    rows = []
    for name, settings in study.config["experiments"].items():
        points = study.experiment(name)
        # All blocks of a point cost the same.
        firsts = [point.blocks[0] for point in points]
        blocks = [point.count // first.count for point, first in zip(points, firsts, strict=True)]
        seconds = sum(
            n * (first.cpu_seconds + JOB_SECONDS) for n, first in zip(blocks, firsts, strict=True)
        )
        runs = sum(point.count for point in points)
        memory = max(first.memory_mb() for first in firsts)
        minutes = max(first.minutes for first in firsts)
        rows.append(
            (name, settings["system"], len(points), runs, sum(blocks), seconds, memory, minutes)
        )
    sums = (sum(row[i] for row in rows) for i in range(2, 6))
    total = ("total", "", *sums, *(max(row[i] for row in rows) for i in (6, 7)))
    header = ("experiment", "system", "points", "runs", "blocks", "CPU time", "MB", "min")
    lines = [
        _rows(
            header,
            [(*row[:5], "~" + _duration(row[5]), *row[6:]) for row in [*rows, total]],
            "<<>>>>>>",
        ),
        "",
        "CPU time: expected, on one core. MB, min: memory and time limit (minutes) that a job of "
        "the largest block asks for, on a CPU; on SLURM 500 MB more, for Snakemake.",
        "",
    ]
    for name in study.config["experiments"]:
        names = [point.name for point in study.experiment(name)]
        shown = names if len(names) <= MOST_NAMES else [*names[:2], "...", names[-1]]
        lines.append(f"{name}: {' '.join(shown)}")
    lines += [
        "",
        f"tables:  {' '.join(p.name for p in products.tables(study))}",
        f"figures: {' '.join(p.name for p in products.figures(study))}",
        f"results: {study.results}",
    ]
    return "\n".join(lines)


def status(study: Study) -> str:
    """Runs by state for each experiment, and what to look at.

    Started runs are running, or were interrupted. Outdated ones were made with other settings or
    by another version of their system.
    """
    rows, notes = [], {}
    for name in study.config["experiments"]:
        runs = dict.fromkeys(progress.STATES, 0)
        for block in (b for point in study.experiment(name) for b in point.blocks):
            state = progress.state(block)
            runs[state] += block.count
            folder = block.log("runs").parent
            if state == "failed":
                notes[f"failed: see {block.job_log}"] = None
            if state == "damaged":
                notes[f"damaged: delete {folder} and run again"] = None
            if state == "outdated":
                notes[
                    f"outdated: {folder.parent}; the next run replaces it. If Snakemake finds "
                    "nothing to do, delete it"
                ] = None
        rows.append((name, sum(runs.values()), *runs.values()))
    rows.append(
        ("total", *(sum(row[i] for row in rows) for i in range(1, len(progress.STATES) + 2)))
    )
    return "\n".join([_rows(("runs of", "planned", *progress.STATES), rows, "<>>>>>>>"), *notes])


def failures(study: Study, configfile: str, most: int = 20) -> str:
    """What has failed, when a run of the study has ended before its time, and what to do."""
    found = progress.states(study)
    failed = list(progress.failures(study, found))
    started = (block for block, state in found if state == "started")
    interrupted = sum(map(progress.was_interrupted, started))
    done = sum(block.count for block, state in found if state == "done")
    planned = sum(block.count for block, _ in found)
    lines = ["", f"{done} of {planned} runs are done."]
    if failed:
        lines += [f"{len(failed)} failed:", *(f"  {line}" for line in failed[:most])]
    if len(failed) > most:
        lines.append(f"  ... and {len(failed) - most} more")
    if interrupted:
        lines.append(f"{interrupted} blocks were interrupted, with their checkpoints saved.")
    then = "Mend the cause, then give" if failed else "Give"
    return "\n".join(
        [
            *lines,
            f"{then} the same command again: it goes on from here.",
            "Tables and report of what is done: python -m circlet partial --configfile "
            f"{configfile}",
        ]
    )


def number(value: float | None) -> str:
    """A number with three significant digits, four from 100 on; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.4g}"


def _is_current(table: products.Product) -> bool:
    made = io.footer(table.outputs[0])
    return {key: made.get(key) for key in table.footer} == table.footer


def _shares(rows: list[dict]) -> list[str]:
    """What the time of a block goes to."""
    kinds = list(rows[0]["shares"])
    table = [
        (row["system"], *(f"{100 * row['shares'][kind]:.0f} %" for kind in kinds)) for row in rows
    ]
    return ["", "What the time goes to", _rows(("system", *kinds), table, "<" + ">" * len(kinds))]


def bench(measured: dict) -> str:
    """What a benchmark measured of machine, training, pipeline and study."""
    machine = measured["machine"]
    on_gpu = machine["device"] != "cpu"
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items() if k != "circlet")
    lines = [
        f"{machine['device'] if on_gpu else machine['processor']}, {machine['cores']} cores, "
        f"{machine['instructions']}; {versions}",
        f"products {machine['flops'] / 1e9:.0f} GFLOP/s (torch's own "
        f"{machine['torch_flops'] / 1e9:.0f}), copies {machine['copied'] / 1e9:.1f} GB/s, float32, "
        + ("on the GPU" if on_gpu else "one core"),
        "",
        "Training, milliseconds per run and step (median, smallest, largest)"
        + ("" if on_gpu else " on one core, and with all cores busy"),
    ]

    def spread(values: dict) -> str:
        digits = max(0, 2 - math.floor(math.log10(values["median"])))
        low, high = (f"{values[key]:.{digits}f}" for key in ("min", "max"))
        return f"{values['median']:.{digits}f} ({low} … {high})"

    header = ["system", "runs", "plain loop", "circlet", "times", "floor", "of floor"]
    header += ["one core", "times"] if on_gpu else ["all cores"]
    header += ["MB", "s a run"]
    rows = []
    for row in measured["training"]:
        ms = row["ms"]
        own = [row["system"], row["runs"], spread(ms["plain"]), spread(ms["circlet"])]
        own += [f"{row['times_plain']:.1f}", f"{row['floor_ms']:.3g}", f"{row['times_floor']:.1f}"]
        if on_gpu:
            own += [spread(ms["cpu"]), f"{row['times_cpu']:.0f}"]
        else:
            own.append(f"{row['all_cores_ms']:.3g}")
        rows.append((*own, f"{row['peak_mb']:.0f}", f"{row['seconds_a_run']:.3g}"))
    lines += [
        _rows(header, rows, "<" + ">" * (len(header) - 1)),
        "",
        "plain loop: one run, nn.Module, autograd, torch.optim, on one CPU core. times: how many "
        "times as fast",
        "circlet is, in computing time. floor: products of matrices at the rate above, or weights "
        "and moments",
        "through memory once. MB: the most that a job held. s a run: computing time of a run of "
        + ", ".join(f"{row['steps']}" for row in measured["training"])
        + " steps.",
        *([] if on_gpu else _shares(measured["training"])),
        "",
        "Pipeline, seconds per 1000 runs in ten blocks",
        _rows(
            ("", "how often", "s in all"),
            [(row["what"], row["times"], f"{row['seconds']:.2f}") for row in measured["pipeline"]],
            "<>>",
        ),
    ]
    if measured["study"]:
        lines += [
            "",
            "The study's training at these rates" + ("" if on_gpu else ", on all cores"),
            _rows(
                ("system", "runs", "million steps", "hours"),
                [
                    (r["system"], r["runs"], f"{r['run_steps'] / 1e6:.1f}", f"{r['hours']:.3g}")
                    for r in measured["study"]
                ],
                "<>>>",
            ),
        ]
    return "\n".join(lines)


def scorecard(study: Study) -> str:
    """The scorecard, a line per claim, and the count of verdicts."""
    product = next((p for p in products.tables(study) if p.name == "scorecard"), None)
    if product is None:
        return (
            "no scorecard: the config's `reproduce` names nothing\n"
            f"tables:    {study.results / 'tables'}\nreport:    {study.results / 'report.html'}"
        )
    frame = io.read_table(study, "scorecard")
    current = all(_is_current(table) for table in products.behind(product, study))
    if not current or not all(map(io.is_current, product.study.blocks)):
        raise LogError(
            f"{product.outputs[0]}: is older than the config or the code: run snakemake; if it "
            f"finds nothing to do, delete {study.results / 'tables'}, and what `python -m circlet "
            "status` lists"
        )
    # Claims about experiments that the study does not name are counted below, not listed.
    asked = ~frame["note"].str.contains("`reproduce` names no experiment")
    rows = [
        (
            row.verdict,
            f"{row.source}: {row.statement}",
            number(row.published),
            number(row.measured),
            f"{number(row.low)} … {number(row.high)}",
            f"{row.n_runs}/{row.n_planned}",
        )
        for row in frame[asked].itertuples()
    ]
    header = ("verdict", "claim", "paper", "here", "95 % interval", "runs")
    counts = frame["verdict"].value_counts()
    summary = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    noted = frame[frame["note"] != ""]
    reasons = noted.groupby([noted["verdict"] == "not_run", "note"]).size()
    return "\n".join(
        [
            _rows(header, rows, "<<>>>>"),
            "",
            "The interval is that of our value; the verdict counts the noise of the paper's, too.",
            *(
                f"{'not_run' if missing else 'judged on'} ({n}): {reason}"
                for (missing, reason), n in reasons.items()
            ),
            f"scorecard: {len(frame)} claims: {summary}",
            f"report:    {study.results / 'report.html'}",
        ]
    )
