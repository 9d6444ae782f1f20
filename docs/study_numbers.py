"""Numbers and tables of the frozen studies, for pages."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import fisher_exact

from circlet import terminal
from circlet.analysis import claims, stats
from circlet.analysis.verdicts import NOT_RUN, OPEN, UNDECIDABLE, UNDECIDED, VERDICTS
from circlet.collections.ding import shorter_runs
from circlet.collections.odonnat.tables import odonnat_claims
from circlet.pages import story
from circlet.pages.story import number
from circlet.storage import parquet
from circlet.study import claims_file, registry
from circlet.study.planning import plan_file

DOCS = Path(__file__).parent


@cache
def table(study: str, name: str) -> pd.DataFrame:
    """Return a table of a frozen study."""
    return parquet.read(DOCS / f"studies/{study}/tables/{name}.parquet").to_pandas()


def claim(study: str, name: str) -> Any:
    """Return the row of a claim in the scorecard of a study."""
    rows = table(study, "scorecard").set_index("claim")
    return rows.loc[name]


def interval(low: float, high: float) -> str:
    """Return a 95 % interval as text."""
    return f"[{number(low)}, {number(high)}]"


def _span(low: float, high: float) -> str:
    """Return the range of values that agree with a claim, as text."""
    return terminal.span(low, high).replace("-", "−")


def value(study: str, name: str) -> str:
    """Return our value of a claim, with its interval."""
    row = claim(study, name)
    ends = interval(row["measured_low"], row["measured_high"])
    return f"{number(row['measured'])} {ends}"


def counted(study: str, collection: str) -> str:
    """Return how many tests of a collection have each verdict: ``3 reproduced, 1 deviates``."""
    return claims.counted(_tests({collection: study})["verdict"])


def verdict_counts(study: str, *names: str) -> str:
    """Return how many of some claims have each verdict, with a link to the scorecard."""
    counts = claims.counted(table(study, "scorecard").set_index("claim").loc[[*names], "verdict"])
    return f"Claims ([scorecard](scorecard.md#findings-beyond-the-papers)): {counts}."


def _tests(papers: dict[str, str], more: tuple[str, ...] = ()) -> pd.DataFrame:
    """Return the tests of some papers, and ``more`` claims; ``papers`` maps a paper to a study."""
    cards = [table(study, "scorecard").query("paper == @paper") for paper, study in papers.items()]
    card = pd.concat(cards)
    return card[(card["tally"] == claims_file.TEST) | card["claim"].isin(more)]


def by_chance(*more: str, **papers: str) -> str:
    """Return how many tests of some papers, and ``more`` claims, disagree, and would by chance."""
    return str(claims.by_chance(_tests(papers, more)))


def kinds(**papers: str) -> str:
    """Return how many tests of some papers have a value and how many are in words."""
    in_words = _tests(papers)["kind"].str.startswith("words")
    n, words = len(in_words), in_words.sum()
    return f"Of {n} tests, {n - words} have a value and {words} are in words."


def answer(study: str, collection: str) -> str:
    """Return how many tests of a collection have each verdict, in a sentence."""
    card = table(study, "scorecard")
    return claims.answer(card[card["paper"] == collection])


def shipped(collection: str) -> registry.Collection:
    """Return a collection of circlet by its name."""
    return next(c for c in registry.SHIPPED if c.name == collection)


def about(collection: str, what: str) -> Any:
    """Return a field of a collection's collection.yaml."""
    return getattr(shipped(collection).metadata, what)


def claims_table(study: str, names: list[str], *chosen: str) -> str:
    """Return claims, our values and verdicts as a Markdown table; ``chosen``: verdicts to list.

    Empty if no claim has one of these verdicts.
    """
    rows = [claim(study, name) for name in names]
    lines = [
        f"| {row['statement'].replace('|', chr(92) + '|')} | {story.measured(row)} "
        f"| {row['verdict'].replace('_', ' ')} |"
        for row in rows
        if row["verdict"] in (chosen or VERDICTS)
    ]
    return "\n".join(["| claim | our value | verdict |", "|---|---|---|", *lines]) if lines else ""


def differences(study: str, collection: str) -> str:
    """Return a collection's claims that deviate or differ as a Markdown list, with reasons.

    A claim that repeats a test is left out if the test has the same recorded reason.
    """
    card = table(study, "scorecard")
    recorded = {c["claim"]: c["reason"] for c in claims_file.claims(shipped(collection))}
    selected = card[card["paper"] == collection]
    selected = selected.assign(reason=selected["claim"].map(recorded).fillna(""))
    lines = []
    for reason, rows in claims.deviations(selected):
        tests = rows[rows["tally"] == claims_file.TEST]
        shown = (rows if tests.empty else tests).to_dict("records")
        parts = [
            f"**{row['verdict']}**{_uncounted(row)}: *{row['statement']}*. "
            f"Our value: {story.measured(row)}. Values that agree: "
            f"{_span(row['same_low'], row['same_high'])}."
            for row in shown
        ]
        lines.append(f"- {' '.join(parts)} {reason}".rstrip())
    return "\n".join(lines) or "No claim differs or deviates."


def _uncounted(row: dict[str, Any]) -> str:
    """Return a note if a claim does not count as a test, else an empty text."""
    return "" if row["tally"] == claims_file.TEST else " (not a test)"


def open_tests(study: str, collection: str) -> str:
    """Return how many tests of a collection are not decided, and why, in sentences."""
    tests = _tests({collection: study})
    sentences = []
    for verdict, why in (
        (UNDECIDED, "undecided, because our independent samples are too few or vary too much"),
        (UNDECIDABLE, "undecidable, because the claimed value comes from too few runs"),
        (NOT_RUN, "not run"),
    ):
        if n := int((tests["verdict"] == verdict).sum()):
            sentences.append(f"{n} {'test is' if n == 1 else 'tests are'} {why}.")
    return " ".join(sentences) or "Every test is decided."


def open_names(study: str, collection: str) -> list[str]:
    """Return the names of a collection's tests that are not decided."""
    card = _tests({collection: study})
    return list(card.loc[card["verdict"].isin(OPEN), "claim"])


def tail(study: str, name: str) -> float:
    """Return the p of Fisher's exact test of a published share of runs against ours."""
    row = claim(study, name)
    runs = int(row["unit"].removeprefix("of "))
    published = (round(row["published"]), runs)
    ours = (round(row["measured"] / runs * row["measured_n"]), int(row["measured_n"]))
    counts = [[k, n - k] for k, n in (published, ours)]
    return float(fisher_exact(counts).pvalue)


def strangest(study: str, name: str, collection: str) -> float:
    """Return the probability that the smallest p among a collection's tests is at most `tail`."""
    return float(1 - (1 - tail(study, name)) ** len(_tests({collection: study})))


def verdicts(
    study: str, collection: str, *chosen: str, tests: bool | None = None, source: str = ""
) -> str:
    """Return the claims of a collection as a Markdown table; ``chosen``: verdicts to list.

    ``source``: list only its claims. ``tests``: list only the tests, or only the other claims and
    what each is counted as.
    """
    card = table(study, "scorecard")
    selected = card[(card["paper"] == collection) & card["verdict"].isin(chosen or VERDICTS)]
    if source:
        selected = selected[selected["source"] == source]
    if tests is not None:
        selected = selected[(selected["tally"] == claims_file.TEST) == tests]
    head = ["verdict", "where", "claim", "here", "agrees within", "n"]
    head += ["counted as"] if tests is False else []
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in selected.to_dict("records"):
        further = row["reference"] not in ("paper", "circlet", row["source"].lower())
        cells = [
            row["verdict"].replace("_", " "),
            f"{row['source']} ({row['reference']})" if further else row["source"],
            row["statement"].replace("|", "\\|"),
            story.measured(row) if row["measured_n"] else "",
            _span(row["same_low"], row["same_high"]),
            str(row["measured_n"]),
        ]
        cells += [claims_file.TALLIES[row["tally"]]] if tests is False else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(selected) else "None."


def shorter(study: str, collection: str) -> str:
    """Return which claims shorter runs decide as the study's do, as a Markdown table.

    Exits if the column ``shorter`` of ``claims.csv`` disagrees.
    """
    recorded = claims.read(plan_file(DOCS / f"studies/{study}/config.yaml"))
    recorded = recorded[recorded["collection"] == collection]
    rows = shorter_runs.compared(lambda name: table(study, name), recorded)
    shown = {row["claim"]: row["same"] for row in rows}
    for name, stated in recorded.set_index("claim")["shorter"].items():
        if stated != shown.get(str(name), ""):
            raise SystemExit(f"claims.csv: {name}: shorter must be {shown.get(str(name), '')!r}")
    steps = (*shorter_runs.STEPS, shorter_runs.LAST)
    lines = [f"| claim | {' | '.join(f'step {step}' for step in steps)} | same from |"]
    lines.append("|---" * (len(steps) + 2) + "|")
    for row in rows:
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
    """Return the verdicts of the frozen studies on the claims of a collection, as CSV.

    Exits if two studies have judged the same claim.
    """
    cards = [
        table(path.parents[1].name, "scorecard").assign(study=path.parents[1].name)
        for path in sorted(DOCS.glob("studies/*/tables/scorecard.parquet"))
    ]
    all_rows = pd.concat(cards, ignore_index=True)
    judged = all_rows[(all_rows["paper"] == collection) & (all_rows["verdict"] != NOT_RUN)]
    if judged["claim"].duplicated().any():
        raise SystemExit(f"{collection}: two frozen studies have judged the same claim")
    return judged.to_csv(
        columns=claims.FROZEN, index=False, float_format="%.6g", lineterminator="\n"
    )


def made(study: str) -> str:
    """Return a study's number of runs, core-hours, machines and commits, as text."""
    rows = table(study, "provenance")
    hours = rows["hours"].sum()
    commits = sorted({str(c)[:7] for c in rows["commit"]})
    machines = "; ".join(sorted(set(rows["machine"])))
    return (
        f"{rows['runs'].sum()} runs in {hours:.1f} core-hours (machine: {machines}; "
        f"commit{'s'[: len(commits) > 1]} {', '.join(commits)})"
    )


def summary(study: str, experiment: str, outcome: str, scale: float = 1, **where: Any) -> str:
    """Return the estimate and interval of an outcome at the point with these values."""
    at = {"experiment": experiment, "outcome": outcome, **where}
    values = row(study, "outcome_summary", **at)
    center, low, high = (scale * values[name] for name in ("estimate", "low", "high"))
    return f"{number(center)} {interval(low, high)}"


def extremes(study: str, experiment: str, outcome: str, **where: Any) -> pd.Series:
    """Return estimates of an outcome at the points with these values, smallest first."""
    rows = table(study, "outcome_summary")
    for column, target in {"experiment": experiment, "outcome": outcome, **where}.items():
        rows = rows[rows[column].isin(target if isinstance(target, list) else [target])]
    return rows["estimate"].sort_values()


def effect(study: str, experiment: str, outcome: str, parameter: str, column: str) -> str:
    """Return the effect of a parameter on an outcome: ``rho``, or the ``change`` per unit."""
    at = {"experiment": experiment, "outcome": outcome, "parameter": parameter}
    return cell(study, "effects", column, **at)


def row(study: str, name: str, **where: Any) -> Any:
    """Return the only row of a table with these values; None stands for a missing value."""
    rows = table(study, name)
    for column, target in where.items():
        rows = rows[rows[column].isna() if target is None else rows[column] == target]
    if len(rows) != 1:
        raise SystemExit(f"docs/render.py: {len(rows)} rows of {name} of {study} have {where}")
    return rows.iloc[0]


def cell(study: str, name: str, column: str, **where: Any) -> str:
    """Return an estimate in the only row of a table with these values, with its interval."""
    values = row(study, name, **where)
    return f"{number(values[column])} {interval(values[f'{column}_low'], values[f'{column}_high'])}"


def at_step(study: str, name: str, experiment: str, column: str, step: int) -> str:
    """Return the mean of a column over an experiment's runs at a step, with its interval."""
    rows = table(study, name)
    selected = (rows["experiment"] == experiment) & (rows["step"] == step)
    estimate = stats.mean(rows.loc[selected, column])
    return f"{number(estimate.value)} {interval(estimate.low, estimate.high)}"


def over_runs(study: str, name: str, column: str) -> str:
    """Return the geometric mean over runs of their geometric means over rows, with interval."""
    rows = table(study, name)
    logs = np.log(rows[column].where(rows[column] > 0)).groupby(rows["run_id"]).mean()
    estimate = stats.geometric_mean(np.exp(logs))
    return f"{number(estimate.value)} {interval(estimate.low, estimate.high)}"


def rises(study: str, earlier: str = "sharpness_earlier", later: str = "sharpness") -> str:
    """Return for how many spikes a column is larger than it was ten logged steps earlier."""
    spikes = table(study, "spikes").dropna(subset=[earlier, later])
    return f"{(spikes[later] > spikes[earlier]).sum()} of {len(spikes)}"


def at_start(claim: str, code: str) -> Any:
    """Return the results of simulations of step 0 for a claim of Odonnat et al., also as text."""
    results = odonnat_claims.initial_states().loc[(claim, code)]
    ends = interval(results["median_low"], results["median_high"])
    return {**results, "text": f"{number(results['median'])} {ends}"}


def lasso_r2(study: str) -> pd.DataFrame:
    """Return the mean R² of linear fits by dimension, a column per method."""
    fits = table(study, "ode_fits").query("experiment == 'ode_dimensions' and status == 'fitted'")
    return fits.pivot_table(index="d", columns="method", values="r2")


def usual(study: str, column: str) -> str:
    """Return the mean of a column of ``ode_path`` over runs, at the paper's alpha of the Lasso."""
    path = table(study, "ode_path")
    return number(path.loc[np.isclose(path["alpha"], 0.01), column].mean())


def arithmetic(study: str, name: str) -> dict[str, Any]:
    """Return how many circles of float64 an arithmetic keeps, loses and adds, and other counts."""
    rows = table(study, "precision")
    runs = rows[(rows["arithmetic"] == name) & rows["lost"].notna()]
    losses = table(study, "losses")
    late = losses[losses["run_id"].isin(runs["run_id"]) & (losses["step"] >= 15000)]
    highest = late.loc[late.groupby("run_id")["train_loss"].idxmax()]
    return {
        "n": len(runs),
        "highest": f"{highest['train_loss'].min():.2g} to {highest['train_loss'].max():.2g}",
        "steps": f"{highest['step'].min()} to {highest['step'].max()}",
        "seconds": runs["seconds"].median(),
        "spikes": f"{runs['late_spike'].min():.2g} to {runs['late_spike'].max():.2g}",
        "losing": int((runs["lost"] > 0).sum()),
        "twin": int((runs["n_circles"] - runs["gained"] + runs["lost"]).sum()),
        "kept": int((runs["n_circles"] - runs["gained"]).sum()),
        "gained": int(runs["gained"].sum()),
    }


@cache
def coverage() -> pd.DataFrame:
    """Return the population in which the interval of each method covers least."""
    cases = pd.read_csv(DOCS / "studies/coverage.csv")
    return cases.loc[cases.groupby("method", sort=False)["coverage"].idxmin()]


@cache
def planted() -> pd.DataFrame:
    """Return the wrong results that were planted in frozen studies, and what became of them."""
    return pd.read_csv(DOCS / "studies/planted_errors.csv")
