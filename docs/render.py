"""Write what has numbers of the frozen studies: pages of docs/, their pictures, and verdicts.

    python docs/render.py           # write them
    python docs/render.py --check   # exit status 1 if one is not what it would be

A template in docs/templates/ is Markdown with Jinja2; README.md and config/README.md have one each.
No number that a study gives is typed: `value("full_length", "ding_circle_number")` is
4.7 [4.3, 5.1]. The ``frozen.csv`` of each collection has the verdicts of the frozen studies on its
claims, for studies that cannot judge them (`circlet.analysis.claims.explained`).
"""

import ast
import json
import math
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import reference
from matplotlib.figure import Figure
from scipy.stats import fisher_exact

from circlet import bench as benchmark
from circlet import terminal
from circlet.analysis import claims, stats
from circlet.analysis.verdicts import NOT_RUN, VERDICTS
from circlet.collections.ding import moduli, shorter_runs
from circlet.config import schema
from circlet.lazy_import import load
from circlet.pages.story import number
from circlet.plotting import style
from circlet.storage import parquet
from circlet.study import claims_file, points, registry, targets
from circlet.study.planning import plan_file
from circlet.systems.spec import Parameter, SystemSpec

DOCS = Path(__file__).parent
ROOT = DOCS.parent
NOTE = "<!-- Written by docs/render.py from docs/templates/{}: edit that, then `make docs`. -->\n"


@cache
def table(study: str, name: str) -> pd.DataFrame:
    """A table of a frozen study."""
    return parquet.read(DOCS / f"studies/{study}/tables/{name}.parquet").to_pandas()


def claim(study: str, name: str) -> Any:
    """The row of a claim in the scorecard of a study."""
    rows = table(study, "scorecard").set_index("claim")
    return rows.loc[name]


def interval(low: float, high: float) -> str:
    """A 95 % interval."""
    return f"[{number(low)}, {number(high)}]"


def value(study: str, name: str) -> str:
    """Our value of a claim, with its interval."""
    row = claim(study, name)
    ends = interval(row["measured_low"], row["measured_high"])
    return f"{number(row['measured'])} {ends}"


def tally(study: str, collection: str) -> str:
    """How often each verdict occurs among the tests of a collection, as a Markdown table."""
    card = table(study, "scorecard")
    found = claims.tallies(card[card["paper"] == collection])
    head = " | ".join(name.replace("_", " ") for name in found.columns)
    lines = [f"| claims | {head} |", "|---" * (1 + len(found.columns)) + "|"]
    for kind, row in found.iterrows():
        lines.append(f"| {claims_file.TALLIES[str(kind)]} | {' | '.join(str(n) for n in row)} |")
    return "\n".join(lines)


def by_chance(study: str, collection: str) -> str:
    """How many tests would deviate by chance at most, were all true."""
    card = table(study, "scorecard")
    own = card[(card["paper"] == collection) & (card["tally"] == claims_file.TEST)]
    return f"{claims.by_chance(own):.1f}"


def answer(study: str, collection: str) -> str:
    """How many tests of a collection have each verdict, in a sentence."""
    card = table(study, "scorecard")
    return claims.answer(card[card["paper"] == collection])


def shipped(collection: str) -> registry.Collection:
    """A collection of circlet."""
    return next(c for c in registry.SHIPPED if c.name == collection)


def about(collection: str, what: str) -> Any:
    """What the collection.yaml of a collection says."""
    return getattr(shipped(collection).metadata, what)


def reasons(study: str, collection: str) -> str:
    """Why claims of a collection deviate, as recorded in its claims.csv: a Markdown list."""
    card = table(study, "scorecard")
    recorded = {c["claim"]: c["reason"] for c in claims_file.claims(shipped(collection))}
    own = card[card["paper"] == collection]
    own = own.assign(reason=own["claim"].map(recorded).fillna(""))
    return "\n".join(
        f"- {'; '.join(f'*{text}*' for text in found['statement'])}: {reason}"
        for reason, found in claims.deviations(own)
        if reason
    )


def tail(study: str, name: str) -> float:
    """Fisher's exact test of a published share of runs against ours; its p."""
    row = claim(study, name)
    runs = int(row["unit"].removeprefix("of "))
    theirs = (round(row["published"]), runs)
    ours = (round(row["measured"] / runs * row["measured_n"]), int(row["measured_n"]))
    counts = [[k, n - k] for k, n in (theirs, ours)]
    return float(fisher_exact(counts).pvalue)


def strangest(study: str, name: str, collection: str) -> float:
    """The same p, of the smallest of as many as the collection has tests."""
    card = table(study, "scorecard")
    n = int(((card["paper"] == collection) & (card["tally"] == claims_file.TEST)).sum())
    return float(1 - (1 - tail(study, name)) ** n)


def verdicts(
    study: str, collection: str, *chosen: str, tests: bool = False, source: str = ""
) -> str:
    """The claims of a collection with some verdicts, or of one source, as a Markdown table."""
    card = table(study, "scorecard")
    own = card[(card["paper"] == collection) & card["verdict"].isin(chosen or VERDICTS)]
    if source:
        own = own[own["source"] == source]
    if tests:
        own = own[own["tally"] == claims_file.TEST]
    lines = ["| verdict | where | claim | here | agrees within | n |", "|---" * 6 + "|"]
    for row in own.itertuples():
        ends = interval(row.measured_low, row.measured_high)
        here = f"{number(row.measured)} {ends}" if row.measured_n else ""
        same = terminal.span(row.same_low, row.same_high).replace("-", "−")
        further = row.reference not in ("paper", "circlet", row.source.lower())
        where = f"{row.source} ({row.reference})" if further else row.source
        statement = row.statement.replace("|", "\\|")
        unit = f" {row.unit}" if row.unit and row.measured_n else ""
        lines.append(
            f"| {row.verdict.replace('_', ' ')} | {where} | {statement} | {here}{unit} | {same} "
            f"| {row.measured_n} |"
        )
    return "\n".join(lines)


def shorter(study: str, collection: str) -> str:
    """Which claims shorter runs decide as the study's do, as a Markdown table.

    Exits if ``claims.csv`` does not have the same in its column ``shorter``.
    """
    known = claims.read(plan_file(DOCS / f"studies/{study}/config.yaml"))
    known = known[known["collection"] == collection]
    found = shorter_runs.compared(lambda name: table(study, name), known)
    shown = {row["claim"]: row["same"] for row in found}
    for name, given in known.set_index("claim")["shorter"].items():
        if given != shown.get(str(name), ""):
            raise SystemExit(f"claims.csv: {name}: shorter must be {shown.get(str(name), '')!r}")
    steps = (*shorter_runs.STEPS, shorter_runs.LAST)
    lines = [f"| claim | {' | '.join(f'step {step}' for step in steps)} | same from |"]
    lines.append("|---" * (len(steps) + 2) + "|")
    for row in found:
        back = math.exp if row["kind"] in ("ratio", "words_ratio") else float
        cells = [
            f"{number(row['values'][step])}; {interval(back(gap.low), back(gap.high))}"
            for step, gap in row["gaps"].items()
        ]
        last = number(row["values"][shorter_runs.LAST])
        factor = "a factor of " if back is math.exp else "±"
        what = f"{row['statement']} (margin: {factor}{number(row['margin'])})"
        first = row["same"].removeprefix("steps>=") or "none"
        lines.append(f"| {' | '.join([what, *cells, last, first])} |")
    return "\n".join(lines)


def frozen_verdicts(collection: str) -> str:
    """The verdicts of the frozen studies on the claims of a collection, as CSV.

    Exits if two studies have judged the same claim.
    """
    cards = [
        table(path.parents[1].name, "scorecard").assign(study=path.parents[1].name)
        for path in sorted(DOCS.glob("studies/*/tables/scorecard.parquet"))
    ]
    every = pd.concat(cards, ignore_index=True)
    own = every[(every["paper"] == collection) & (every["verdict"] != NOT_RUN)]
    if own["claim"].duplicated().any():
        raise SystemExit(f"{collection}: two frozen studies have judged the same claim")
    return own.to_csv(columns=claims.FROZEN, index=False, float_format="%.6g", lineterminator="\n")


def made(study: str) -> str:
    """What made a study, in a sentence."""
    rows = table(study, "provenance")
    hours = rows["hours"].sum()
    commits = ", ".join(sorted({str(c)[:7] for c in rows["commit"]}))
    machines = "; ".join(sorted(set(rows["machine"])))
    return (
        f"{rows['runs'].sum()} runs, {hours:.1f} hours on one core ({machines}), commit {commits}"
    )


def summary(study: str, experiment: str, outcome: str, scale: float = 1, **where: Any) -> str:
    """Estimate of an outcome at the point of an experiment with these values, and its interval."""
    at = {"experiment": experiment, "outcome": outcome, **where}
    found = row(study, "outcome_summary", **at)
    center, low, high = (scale * found[name] for name in ("estimate", "low", "high"))
    return f"{number(center)} {interval(low, high)}"


def extremes(study: str, experiment: str, outcome: str, **where: Any) -> pd.Series:
    """Estimates of an outcome at the points of an experiment with these values, smallest first."""
    rows = table(study, "outcome_summary")
    for column, wanted in {"experiment": experiment, "outcome": outcome, **where}.items():
        rows = rows[rows[column].isin(wanted if isinstance(wanted, list) else [wanted])]
    return rows["estimate"].sort_values()


def effect(study: str, experiment: str, outcome: str, parameter: str, column: str) -> str:
    """What a parameter does to an outcome of an experiment: ``rho``, or the ``change`` per unit."""
    at = {"experiment": experiment, "outcome": outcome, "parameter": parameter}
    return cell(study, "effects", column, **at)


def row(study: str, name: str, **where: Any) -> Any:
    """The only row of a table with these values; None: with no value."""
    rows = table(study, name)
    for column, wanted in where.items():
        rows = rows[rows[column].isna() if wanted is None else rows[column] == wanted]
    if len(rows) != 1:
        raise SystemExit(f"docs/render.py: {len(rows)} rows of {name} of {study} have {where}")
    return rows.iloc[0]


def cell(study: str, name: str, column: str, **where: Any) -> str:
    """An estimate in the only row of a table with these values, with its interval."""
    found = row(study, name, **where)
    return f"{number(found[column])} {interval(found[f'{column}_low'], found[f'{column}_high'])}"


def at_step(study: str, name: str, experiment: str, column: str, step: int) -> str:
    """Mean over the runs of an experiment at a step, with its interval."""
    rows = table(study, name)
    own = (rows["experiment"] == experiment) & (rows["step"] == step)
    found = stats.mean(rows.loc[own, column])
    return f"{number(found.value)} {interval(found.low, found.high)}"


def over_runs(study: str, name: str, column: str) -> str:
    """Geometric mean over runs of that over their rows of a table, with its interval."""
    rows = table(study, name)
    logs = np.log(rows[column].where(rows[column] > 0)).groupby(rows["run_id"]).mean()
    found = stats.geometric_mean(np.exp(logs))
    return f"{number(found.value)} {interval(found.low, found.high)}"


def rises(study: str) -> str:
    """How many of the spikes have a larger sharpness than ten logged steps earlier."""
    known = table(study, "spikes").dropna(subset=["sharpness", "sharpness_earlier"])
    return f"{(known['sharpness'] > known['sharpness_earlier']).sum()} of {len(known)}"


def lasso_r2(study: str) -> pd.DataFrame:
    """Mean R² of linear fits by dimension, a column per method."""
    fits = table(study, "ode_fits").query("experiment == 'ode_dimensions' and status == 'fitted'")
    return fits.pivot_table(index="d", columns="method", values="r2")


def usual(study: str, column: str) -> str:
    """Mean R² of the Lasso at the paper's alpha over runs, by a column of ``ode_path``."""
    path = table(study, "ode_path")
    return number(path.loc[np.isclose(path["alpha"], 0.01), column].mean())


def moduli_scatter() -> dict[str, Any]:
    """Scatter of mean numbers of circles about a line in p, by kind of modulus, and their noise."""
    counts = table("full_length", "circle_counts").query("experiment == 'moduli'")
    scatter = moduli.about_line(counts)
    texts: dict[str, Any] = {}
    for name, rows in (
        ("prime", scatter[scatter["prime"]]),
        ("composite", scatter[~scatter["prime"]]),
    ):
        texts[f"{name}s"] = len(rows)
        texts[name] = math.sqrt((rows["residual"] ** 2).mean())
        texts[f"{name}_noise"] = math.sqrt(rows["noise"].mean())
    return texts


def arithmetic(study: str, name: str) -> dict[str, Any]:
    """What became of the circles of float64 in an arithmetic: runs, and circles in all."""
    rows = table(study, "precision")
    own = rows[(rows["arithmetic"] == name) & rows["lost"].notna()]
    losses = table(study, "losses")
    late = losses[losses["run_id"].isin(own["run_id"]) & (losses["step"] >= 15000)]
    highest = late.loc[late.groupby("run_id")["train_loss"].idxmax()]
    return {
        "n": len(own),
        "highest": f"{highest['train_loss'].min():.2g} to {highest['train_loss'].max():.2g}",
        "steps": f"{highest['step'].min()} to {highest['step'].max()}",
        "seconds": own["seconds"].median(),
        "spikes": f"{own['late_spike'].min():.2g} to {own['late_spike'].max():.2g}",
        "losing": int((own["lost"] > 0).sum()),
        "twin": int((own["n_circles"] - own["gained"] + own["lost"]).sum()),
        "kept": int((own["n_circles"] - own["gained"]).sum()),
        "gained": int(own["gained"].sum()),
    }


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


@cache
def planted() -> pd.DataFrame:
    """Wrong results that were planted in frozen studies, and what became of them."""
    return pd.read_csv(DOCS / "studies/planted_errors.csv")


def systems() -> dict[str, SystemSpec]:
    """The systems of circlet, in the order of its collections."""
    return {n: s for c in registry.SHIPPED for n, s in registry.Systems([c]).items()}


def allowed(parameter: Parameter) -> str:
    """The values that a parameter may have."""
    limits = parameter.limits
    if parameter.type == "boolean":
        return "`true`, `false`"
    if "enum" in limits:
        return ", ".join(f"`{word}`" for word in limits["enum"])
    words = {
        "minimum": "at least", "exclusiveMinimum": "above",
        "maximum": "at most", "exclusiveMaximum": "below",
    }  # fmt: skip
    said = [f"{word} {limits[key]}" for key, word in words.items() if key in limits]
    return ", ".join(said) or "any number"


def parameters(system: SystemSpec) -> str:
    """The parameters of a system as a Markdown table, and what must hold of them."""
    lines = ["| parameter | default | allowed | meaning |", "|---" * 4 + "|"]
    for name, one in system.parameters.items():
        text = one.description.replace("+-", "±")
        for word in one.limits.get("enum", ()):
            text = re.sub(rf"\b{word}:", f"`{word}`:", text)
        lines.append(f"| `{name}` | `{points.canonical(one.default)}` | {allowed(one)} | {text} |")
    schedules = {kind: log.schedule for kind, log in system.logs.items()}
    written = (f"`{kind}`: `{schema.flow(schedule)}`" for kind, schedule in schedules.items())
    lines += ["", f"Logs by default: {', '.join(written)}."]
    if rules := ", ".join(f"`{rule.text}`" for rule in system.requires):
        lines += ["", f"Required: {rules}."]
    return "\n".join(lines)


def packages() -> list[str]:
    """The package itself, and all in it but those of collections."""
    folder = ROOT / "src/circlet"
    found = (path.parent.relative_to(folder).as_posix() for path in folder.rglob("__init__.py"))
    return sorted("" if name == "." else name for name in found if "collections/" not in name)


def modules(package: str) -> str:
    """The modules of a package as a Markdown table, each with the start of its docstring."""
    folder = ROOT / "src/circlet" / package
    lines = ["| module | contents |", "|---|---|"]
    for file in sorted(folder.glob("*.py")):
        text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        said = " ".join(text.split("\n\n")[0].split()).replace("``", "`")
        if said and file.name != "__main__.py":
            lines.append(f"| [{file.name}](../{file.relative_to(ROOT)}) | {said} |")
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Content of every page that has a template, and of the verdicts of each collection."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS / "templates"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.globals.update(
        table=table, claim=claim, number=number, interval=interval, value=value, tally=tally,
        by_chance=by_chance, verdicts=verdicts, made=made, answer=answer, tail=tail,
        strangest=strangest, arithmetic=arithmetic, summary=summary,
        planted=planted, row=row, cell=cell, about=about, reasons=reasons, at_step=at_step,
        over_runs=over_runs, extremes=extremes, effect=effect, lasso_r2=lasso_r2, usual=usual,
        rises=rises, systems=systems, parameters=parameters, bench_text=bench_text,
        gains=gains, moduli_scatter=moduli_scatter, peer_table=peer_table, peer_ratio=peer_ratio,
        modules=modules, packages=packages, peer_machine=peer_machine,
        peer_processes=peer_processes, shorter=shorter, keys=reference.keys,
        limit=reference.limit,
    )  # fmt: skip
    with_claims = (c for c in registry.SHIPPED if (c.folder / "claims.csv").exists())
    found = {c.folder / "frozen.csv": frozen_verdicts(c.name) for c in with_claims}
    found[ROOT / "workflow/schemas/config.schema.yaml"] = reference.json_schema()
    for path in sorted((DOCS / "templates").rglob("*.md")):
        name = path.relative_to(DOCS / "templates").as_posix()
        target = (ROOT if path.name == "README.md" else DOCS) / name
        found[target] = NOTE.format(name) + environment.get_template(name).render()
    return found


# Figures of frozen studies that pages show. They are drawn with the pages, but not checked: fonts
# differ between machines.
PICTURES = {
    "published_tables": "grids_and_circles",
    "initialisations": "grids_and_circles",
    "precision": "full_length",
    "forecast": "full_length",
    "shared_laws": "findings",
    "network_forces": "findings",
    "relations": "findings",
    "seed_overlap": "findings",
    "circle_growth": "findings",
    "progress_measures": "findings",
    "circles_heat": "phase",
    "circle_or_grid_heat": "phase",
}


def draw() -> None:
    """Draw the pictures of the pages."""
    for name, study in PICTURES.items():
        whole = plan_file(DOCS / f"studies/{study}/config.yaml")
        target = next(t for t in targets.figures(whole) if t.name == name)
        with mpl.rc_context(style.RC):
            load(target.module).draw(target.study).savefig(DOCS / f"{name}.png")
    with mpl.rc_context(style.RC):
        peer_figure().savefig(DOCS / "peers.png")


def main() -> None:
    """Write the pages and pictures, or check the pages."""
    check = "--check" in sys.argv
    for path, text in pages().items():
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            sys.exit(
                f"{path.relative_to(ROOT)}: is not what the frozen studies give; run `make docs`"
            )
        if not check:
            path.write_text(text, encoding="utf-8")
    if not check:
        draw()


if __name__ == "__main__":
    main()
