"""Sentences of a report: which claims agree, which do not and why, and links to runs."""

import html
import math
import re
import string
from collections import Counter
from typing import Any
from urllib.parse import parse_qs

import pandas as pd

from circlet import formatting
from circlet.analysis import claims
from circlet.analysis.verdicts import AGREES, DEVIATES, DIFFERS, NOT_RUN, REPRODUCED
from circlet.study import claims_file
from circlet.study.plan import Study
from circlet.study.plots import listed
from circlet.study.registry import Collection
from circlet.study.swept import setting, swept
from circlet.systems.spec import SHARE

MAX_HEADLINES = 3  # most headline claims of a paper
MAX_RUNS = 6  # most runs that a figure lists
BEFORE = ("step", "epoch")  # units that stand before their value
CANNOT_TELL = "cannot tell"
MAX_FACTOR, MAX_PART = 1000, 0.9  # of an `interval` that says something
RANGES = dict.fromkeys(("AUC", "accuracy", "share", SHARE), (0, 1)) | {"%": (0, 100)}  # by unit
MIN_OPENING = 10  # least number of words of a caption that are visible
SENTENCE_END = re.compile(r"(?<=[^A-Z\s][.?!]) (?=[A-Z])")
PLAYS = re.compile(r'href="\.\./explorer\.html#([^"]*)"')


def interval(low: float, high: float, possible: tuple[float, float] | None = None) -> str:
    """Return a 95 % interval, an end of which may be unknown; empty if there is none.

    "cannot tell" follows if it leaves nearly everything possible: its ends differ by more than a
    factor of `MAX_FACTOR`, or it covers at least the share `MAX_PART` of the possible range.
    """
    if (math.isnan(low) and math.isnan(high)) or low == high:
        return ""
    small, large = sorted((abs(low), abs(high)))
    is_wide = low * high > 0 and large > MAX_FACTOR * small
    if possible:
        is_wide |= high - low >= MAX_PART * (possible[1] - possible[0])
    ends = formatting.interval(low, high)
    return f"{ends}, {CANNOT_TELL}" if is_wide else ends


def measured(row: dict[str, Any]) -> str:
    """Return our value of a claim with its unit and interval: ``22 of 100 [20, 24]``.

    If a share is scaled to the number of runs of the paper, our count follows: ``(5 of our 24)``.
    """
    if math.isnan(row["measured"]):
        return "no value"
    amount, unit = formatting.number(row["measured"]), row["unit"] or ""
    parts = [unit, amount] if unit in BEFORE else [amount, unit]
    phrase = " ".join(filter(None, [*parts, measured_interval(row)]))
    n, of = row["measured_n"], _paper_runs(row)
    if not of or of == n:
        return phrase
    return f"{phrase} ({row['measured'] / of * n:.0f} of our {n:.0f})"


def measured_interval(row: dict[str, Any]) -> str:
    """Return the 95 % interval of our value; "cannot tell" only if the claim is not decided."""
    of, unit = _paper_runs(row), row["unit"] or ""
    possible: tuple[float, float] | None = (0, of) if of else RANGES.get(unit)
    if row["kind"] == "correlation":
        possible = (-1, 1)
    low, high = row["measured_low"], row["measured_high"]
    bounds = interval(low, high, possible)
    if row["verdict"] in (REPRODUCED, DIFFERS, DEVIATES):
        return bounds.removesuffix(f", {CANNOT_TELL}")
    return bounds


def _paper_runs(row: dict[str, Any]) -> int:
    """Return the paper's number of runs, to which a share is scaled; zero for other claims."""
    of = re.fullmatch(r"of (\d+)", row["unit"] or "")  # a collection may have another unit
    return int(of[1]) if of and row["kind"] == "share" else 0


def opening(caption: str) -> tuple[str, str]:
    """Split a caption into visible sentences, of at least `MIN_OPENING` words, and the others."""
    sentences = SENTENCE_END.split(caption)
    n = 1
    while n < len(sentences) and len(" ".join(sentences[:n]).split()) < MIN_OPENING:
        n += 1
    return " ".join(sentences[:n]), " ".join(sentences[n:])


def short(collection: Collection) -> str:
    """Return the short name of a collection."""
    return collection.metadata.short or collection.name


def of_paper(card: pd.DataFrame, paper: str) -> tuple[pd.DataFrame, bool]:
    """Return the claims of a paper, and whether any is a test.

    If none is, such as those beyond the papers, all are listed like tests.
    """
    listed = card[card["paper"] == paper]
    has_tests = bool((listed["tally"] == claims_file.TEST).any())
    return listed if has_tests else listed.assign(tally=claims_file.TEST), has_tests


def agreeing(card: pd.DataFrame, headlines: list[str]) -> list[dict[str, Any]]:
    """Return tests that agree, as examples: the headlines, or else the first of each source."""
    agrees = card[card["verdict"].isin(AGREES) & (card["tally"] == claims_file.TEST)]
    chosen = agrees[agrees["claim"].isin(headlines)]
    if chosen.empty:
        chosen = agrees.drop_duplicates("source")
    return chosen.head(MAX_HEADLINES).to_dict("records")


def differing(card: pd.DataFrame) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return claims that deviate or differ, by recorded reason, or else by how their runs differ.

    Claims that are not tests are left out where a test has the same reason.
    """
    others = (card["tally"] == claims_file.OTHER) & (card["reason"] == "")
    reasons = card["reason"].where(~others, card["note"].map(lambda note: f"{capital(note)}."))
    groups = []
    for reason, group in claims.deviations(card.assign(reason=reasons)):
        tests = group[group["tally"] == claims_file.TEST]
        groups.append((reason, (group if tests.empty else tests).to_dict("records")))
    return groups


def frozen(card: pd.DataFrame) -> str:
    """Return the verdicts of frozen studies on tests that were not run; empty if there are none."""
    there = card[(card["tally"] == claims_file.TEST) & (card["frozen_study"] != "")]
    if there.empty:
        return ""
    names = list(there["frozen_study"].unique())
    studies = f"the frozen {'study' if len(names) == 1 else 'studies'} {listed(names)}"
    return f"Verdicts in {studies}: {claims.counted(there['frozen_verdict'])}."


def by_tally(card: pd.DataFrame, *verdicts: str) -> dict[str, list[dict[str, Any]]]:
    """Return the claims with some verdicts, in the order of these, by how they are counted."""
    chosen = pd.concat([card[card["verdict"] == verdict] for verdict in verdicts])
    of_tally = {tally: chosen[chosen["tally"] == tally] for tally in claims_file.TALLIES}
    return {tally: rows.to_dict("records") for tally, rows in of_tally.items() if len(rows)}


def not_run(card: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return claims that were not run, by cause, with the verdicts of frozen studies."""
    causes: dict[str, list[dict[str, Any]]] = {}
    for row in card[card["verdict"] == NOT_RUN].to_dict("records"):
        cause = row["note"]
        if row["frozen_study"]:
            cause = f"verdicts of the frozen study {row['frozen_study']}"
            row |= {name: row[f"frozen_{name}"] for name in claims.FROZEN if name != "claim"}
        causes.setdefault(cause, []).append(row)
    return causes


def footnotes(groups: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """Return the marks (a, b, and so on) of notes that more than one claim has."""
    notes = Counter(row["note"] for rows in groups.values() for row in rows if row["note"])
    shared = [note for note, n in notes.items() if n > 1]
    return dict(zip(shared, string.ascii_lowercase, strict=False))


def watched(study: Study, runs: pd.DataFrame, svg: str) -> list[tuple[str, str]]:
    """Return the runs that an SVG links to and the explorer shows: fragments of its address, words.

    The words are the setting of the run, its seed and outcome, and the step.
    """
    is_shown = runs["shown"].isin(["training", "end"])
    shown = runs[is_shown].set_index("run_id")[["shown", "outcome"]].to_dict("index")
    links: dict[str, str] = {}
    for fragment in map(html.unescape, PLAYS.findall(svg)):
        asked = parse_qs(fragment)
        if run := shown.get(asked["run"][0]):
            experiment, name, seed = asked["run"][0].split("/")
            points = study.experiment(experiment)
            point = next(point for point in points if point.name == name)
            parts = [*setting(point, swept(points)), f"seed {int(seed[1:])} ({run['outcome']})"]
            if run["shown"] == "training":
                parts += [f"step {step}" for step in asked.get("step", ())]
            links[f"#{fragment}"] = ", ".join(parts)
    return list(links.items())[:MAX_RUNS]


def capital(sentence: str) -> str:
    """Return a sentence that begins with a capital letter."""
    return sentence[:1].upper() + sentence[1:]
