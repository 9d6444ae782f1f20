"""results/report.html: the results of a study, its figures and its provenance, in one file.

A report that is sent alone has no dead links, because the browser makes links to other files only
if these exist. A frozen study has no logs, so its report has no runs to watch, and only the figures
that follow from its tables.
"""

import base64
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from markupsafe import Markup, escape

from circlet import formatting, pages
from circlet.analysis import claims
from circlet.analysis.verdicts import AGREES, NOT_RUN
from circlet.pages import experiments, story, trends
from circlet.storage import files, parquet
from circlet.study import claims_file, contributions, measured, plots, targets
from circlet.study.plan import Study
from circlet.study.registry import Collection
from circlet.study.targets import Target

DATA = ("report.html",)
OPTIONAL_TABLES = (
    "scorecard", "runs", "provenance", "outcome_summary", "effects", "explorer_runs",
)  # fmt: skip
COLLECTION_FILES = ("collection.yaml", "frozen.csv")
USES = ("claims", "captions")

METADATA = (
    "authors", "title", "year", "identifier", "question", "methods", "outcomes", "references",
    "terms",
)  # fmt: skip
TEXTS = re.compile(r"<text[^>]*>([^<]*)</text>")
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
WORDS = {"fourier": "Fourier", "ode": "ODE", "pca": "PCA"}  # words in names of figures


def _undrawn(figure: Target) -> str:
    """Return why a figure has nothing to draw, as its image says; empty if it has something."""
    with parquet.reading(figure.outputs[0]):
        image = figure.outputs[0].read_text(encoding="utf-8")
    if f'id="{plots.NOTHING}"' not in image:
        return ""
    return " ".join(html.unescape(text) for text in TEXTS.findall(image))


def _title(figure: Target, title: str = "") -> str:
    if plot := plots.named(figure.study, figure.name):
        title = plots.title(plot)
    words = figure.name.rpartition(".")[2].split("_")  # the section names the collection
    title = title or " ".join(WORDS.get(word, word) for word in words)
    return title[0].upper() + title[1:]


def _figure(figure: Target, card: pd.DataFrame, runs: pd.DataFrame, title: str = "") -> dict:
    with parquet.reading(figure.outputs[0]):
        image = figure.outputs[0].read_bytes()
    judged = card[card["figure"] == figure.name]
    opening, rest = story.opening(contributions.caption(figure.name, figure.study))
    return {
        "name": figure.name,
        "title": _title(figure, title),
        "opening": opening,
        "rest": rest,
        "image": base64.b64encode(image).decode(),
        "counts": claims.counts(judged),
        "watched": story.watched(figure.study, runs, image.decode()),
    }


def _time(hours: float) -> str:
    seconds = 3600 * hours
    return formatting.duration(seconds) if seconds >= 1 else "under 1 s"


def _section(
    collection: Collection,
    provenance: pd.DataFrame,
    figures: dict[str, Target],
    card: pd.DataFrame,
    listed: pd.DataFrame,
) -> dict[str, Any]:
    metadata = collection.metadata
    claims = card[card["paper"] == collection.name]
    return {
        "name": collection.name,
        "short": metadata.short or collection.name,
        **{key: getattr(metadata, key) for key in METADATA},
        "runs": _runs(provenance, collection.modules("systems")),
        **_claims(claims, collection.headlines),
        **_figures(collection, figures, claims, listed),
    }


def _claims(card: pd.DataFrame, headlines: Iterable[str]) -> dict[str, Any]:
    tests = card[card["tally"] == claims_file.TEST]
    if tests.empty:  # claims beyond the papers: listed like tests, but not counted above
        card = card.assign(tally=claims_file.TEST)
    is_test, is_run = card["tally"].eq(claims_file.TEST), card["verdict"].ne(NOT_RUN)
    counted = is_test | card["tally"].eq(claims_file.OTHER)
    judged, open_claims = story.judged(card)
    return {
        "tests": claims.counts(tests),
        "claims": claims.counts(card),
        "answered": int((is_test & is_run).sum()),
        "agreed": int((is_test & card["verdict"].isin(AGREES)).sum()),
        "decided": bool((counted & is_run).any()),
        "agrees": story.agreeing(card, headlines),
        "differs": story.differing(card),
        "frozen_verdicts": story.frozen(card),
        "judged": judged,
        "undecided": open_claims,
        "lacking": story.not_run(card),
    }


def _figures(
    collection: Collection, figures: dict[str, Target], card: pd.DataFrame, listed: pd.DataFrame
) -> dict[str, Any]:
    mine = collection.modules("figures")
    titles = {**dict.fromkeys((*collection.figures, *mine), ""), **collection.figures}
    shown = [name for name in titles if name in mine and name in figures]
    undrawn = {name: _undrawn(figures[name]) for name in shown}
    drawn = [name for name in shown if not undrawn[name]]
    return {
        "figures": [_figure(figures[name], card, listed, titles[name]) for name in drawn],
        "undrawn": {
            _title(figures[name], titles[name]): why for name, why in undrawn.items() if why
        },
    }


def _without_repeats(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sections, each without the terms that an earlier one explains."""
    explained: dict[str, str] = {}
    for section in sections:
        terms = section["terms"] or {}
        section["terms"] = {k: v for k, v in terms.items() if explained.get(k) != v}
        explained |= terms
    return sections


def _cited(citation: str) -> Markup:
    link = r'<a href="https://arxiv.org/abs/\1">arXiv:\1</a>'
    return Markup(ARXIV.sub(link, str(escape(citation))))


def _runs(provenance: pd.DataFrame, systems: Iterable[str]) -> int:
    return int(provenance.loc[provenance["system"].isin(systems), "runs"].sum())


def _has_content(section: dict[str, Any]) -> bool:
    """Return whether a section has any content besides its number of runs."""
    has_results = section["figures"] or any(section["claims"].values())
    return bool(has_results or (section["runs"] and (section["title"] or section["methods"])))


class _Tables:
    """Tables that a report reads; a table that the study lacks has no rows."""

    def __init__(self, target: Target, frozen: bool):
        self.target = target
        outcome = ["experiment", "outcome", "label"]
        sizes = [f"{name}{end}" for name in ("rho", "change") for end in ("", "_low", "_high")]
        self.provenance = parquet.read_table(target.study, "provenance")
        card = ["claim", "paper", "tally", "kind", "verdict", "measured_n", "source", "note"]
        self.card = claims.explained(self._read("scorecard", card), target.study)
        self.tests = self.card[self.card["tally"] == claims_file.TEST]
        estimates = ["point", "unit", "estimate", "low", "high", "n_runs"]
        self.summary = self._read("outcome_summary", [*outcome, *estimates])
        self.effects = self._read("effects", [*outcome, "parameter", "per", *sizes])
        self.runs = self._read("runs", ["experiment", "status", "seconds", "device"])
        listed = self._read("explorer_runs", ["run_id", "shown"])
        self.listed = listed.iloc[:0] if frozen else listed

    def _read(self, name: str, columns: list[str]) -> pd.DataFrame:
        study = self.target.study
        is_there = study.table(name) in self.target.inputs and name not in study.left_out
        return parquet.read_table(study, name) if is_there else pd.DataFrame(columns=columns)


def _shown(study: Study, tables: _Tables) -> dict[str, Any]:
    figures = {f.name: f for f in targets.figures(study) if f.name not in study.left_out}
    sections = [
        _section(collection, tables.provenance, figures, tables.card, tables.listed)
        for collection in study.collections
    ]
    for section in sections:
        drawn = {figure["name"] for figure in section["figures"]}
        agreeing = (row["figure"] for row in section["agrees"] if row["figure"] in drawn)
        section["lead"] = next(agreeing, "")
    full = [section for section in sections if _has_content(section)]
    full.sort(key=lambda section: not (section["decided"] or section["figures"]))  # empty ones last
    return {
        "sections": _without_repeats(full),
        "trends": trends.sentences(study, tables.effects, tables.summary),
        "plots": [
            _figure(figures[p.name], tables.card, tables.listed)
            for p in plots.of(study)
            if p.name in figures and not _undrawn(figures[p.name])
        ],
        "probe": next(iter(figures), ""),
        "has_live": any((c.folder / "explorer/page.html").exists() for c in study.used_collections),
    }


def _made_from(study: Study, tables: _Tables, frozen: bool) -> dict[str, Any]:
    whole = study.whole or study
    # A frozen study shows the name of its folder alone.
    results = Path(study.results.name if frozen else study.config.results)
    config = json.loads(study.json) | {"results": str(results)}
    return {
        "systems": [experiments.system(study.specs[name]) for name in study.systems],
        "experiments": experiments.rows(study, tables.runs, tables.summary),
        "has_parents": any(point.parent for point in study.points),
        "provenance": tables.provenance.to_dict("records"),
        "versions": tables.provenance["versions"].drop_duplicates(),
        "made": parquet.footer(study.table("provenance")),
        "config": yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
        "results": results,
        "has_runs": len(tables.runs) > 0,
        "partial": bool(study.missing or study.left_out) and not frozen,
        "left_out": study.left_out,
        "planned": sum(point.count for point in whole.points),
        "not_begun": sorted(whole.config.experiments.keys() - study.config.experiments.keys()),
        "done": _runs(tables.provenance, study.systems),
    }


def make(target: Target, frozen: bool = False) -> None:
    """Write the report of a study, which may be frozen."""
    study = target.study
    measured.measure(study.points)  # all points in one process, unless a plan has done so
    tables = _Tables(target, frozen)
    page = pages.template("report.html").render(
        number=formatting.number,
        measured=story.measured,
        span=formatting.span,
        footnotes=story.footnotes,
        cited=_cited,
        time=_time,
        frozen=frozen,
        tally_words=claims_file.TALLIES,
        verdicts=claims.counts(tables.tests),
        n_claims=len(tables.card),
        tallies={
            words: n
            for tally, words in claims_file.TALLIES.items()
            if (n := int((tables.card["tally"] == tally).sum())) and tally != claims_file.TEST
        },
        by_chance=claims.by_chance(tables.tests),
        **_shown(study, tables),
        **_made_from(study, tables, frozen),
    )
    files.write_text(target.outputs[0], page)
