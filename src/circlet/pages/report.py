"""results/report.html: the results of a study, its figures and its provenance, in one file.

The section of a collection begins with claims that agree and a figure, then deviations and why
(`circlet.pages.story`). Further verdicts, the rest of each caption and the experiments are folded.
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

from circlet import pages, terminal
from circlet.analysis import claims
from circlet.analysis.verdicts import AGREES, NOT_RUN
from circlet.pages import story
from circlet.storage import files, parquet
from circlet.study import claims_file, contributions, cost, measured, plots, targets
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.registry import Collection
from circlet.study.targets import Target
from circlet.systems.spec import SHARE, SystemSpec

DATA = ("report.html",)
OPTIONAL_TABLES = (
    "scorecard", "runs", "provenance", "outcome_summary", "effects", "explorer_runs",
)  # fmt: skip
FROM_COLLECTIONS = ("collection.yaml", "claims.csv", "frozen.csv", "captions")

OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD"}
ABOUT = (
    "authors", "title", "year", "identifier", "question", "methods", "outcomes", "references",
    "terms",
)  # fmt: skip
TEXTS = re.compile(r"<text[^>]*>([^<]*)</text>")
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
MOST = 8  # most values of a parameter to list
WORDS = {"fourier": "Fourier", "ode": "ODE", "pca": "PCA"}  # words in names of figures


def _undrawn(figure: Target) -> str:
    """Return why a figure has nothing to draw, as its image says; empty if it has something."""
    with parquet.reading(figure.outputs[0]):
        image = figure.outputs[0].read_text(encoding="utf-8")
    if f'id="{plots.NOTHING}"' not in image:
        return ""
    return " ".join(html.unescape(text) for text in TEXTS.findall(image))


def _title(figure: Target, title: str = "") -> str:
    """Return the title that the collection gives a figure, or else its name in words."""
    if plot := plots.named(figure.study, figure.name):
        title = plots.title(plot)
    words = figure.name.rpartition(".")[2].split("_")  # the section names the collection
    title = title or " ".join(WORDS.get(word, word) for word in words)
    return title[0].upper() + title[1:]


def _figure(figure: Target, card: pd.DataFrame, runs: pd.DataFrame, title: str = "") -> dict:
    """Return a figure with its title, caption, counts of verdicts, and runs to watch."""
    with parquet.reading(figure.outputs[0]):
        image = figure.outputs[0].read_bytes()
    judged = card[card["figure"] == figure.name]
    watched = story.watched(figure.study, runs, image.decode())
    if plot := plots.named(figure.study, figure.name):
        watched = story.examples(figure.study, runs, plot.experiment)
    opening, rest = story.opening(contributions.caption(figure.name, figure.study))
    return {
        "name": figure.name,
        "title": _title(figure, title),
        "opening": opening,
        "rest": rest,
        "image": base64.b64encode(image).decode(),
        "counts": claims.counts(judged),
        "watched": watched,
    }


def _points(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the headings and rows of the table of points of each experiment."""
    by_experiment = {}
    for name, of_experiment in table.groupby("experiment"):
        headings = {"runs": "runs"}
        rows: dict[str, dict[str, str]] = {}
        for row in of_experiment.to_dict("records"):
            unit = f", {row['unit']}" if row["unit"] not in ("", SHARE, "steps") else ""
            headings[f"of {row['outcome']}"] = f"{row['label']}{unit}"
            cells = rows.setdefault(row["point"], {"point": row["point"]})
            most = max(row["n_runs"], int(cells.get("runs", "0").split()[0]))
            cells["runs"] = f"{most} of {row['n_planned']}"
            cells[f"of {row['outcome']}"] = _cell(row)
        by_experiment[name] = {"headings": headings, "rows": list(rows.values())}
    return by_experiment


def _cell(row: dict[str, Any]) -> str:
    """Return an outcome of a point with its interval, an end of which may be unknown."""
    center, low, high = (story.number(row[k]) for k in ("estimate", "low", "high"))
    if pd.isna(row["low"]) != pd.isna(row["high"]):
        return f"{center} [{low}, {high}]"
    possible = story.RANGES.get(row["unit"])
    return f"{center} {story.interval(row['low'], row['high'], possible)}".rstrip()


def _values(values: list[Any]) -> str:
    """Return the different values of a parameter as text; of many, the first two and the last."""
    different = dict.fromkeys(values)
    words = [f"{v:g}" if isinstance(v, float) else str(v) for v in different]
    if len(words) <= MOST:
        return ", ".join(words)
    return f"{words[0]}, {words[1]} … {words[-1]} ({len(words)} values)"


def _optimizer(point: Point) -> str:
    """Return the name of a point's optimiser."""
    name = point.parameters.get("optimizer", "adamw")
    return OPTIMIZERS.get(name, name)


def _setting(points: list[Point]) -> dict[str, Any]:
    """Return an experiment's setting: parameters off their defaults, steps, number of weights."""
    system = points[0].system
    values = {name: [point.parameters[name] for point in points] for name in system.parameters}
    others = {name: used for name, used in values.items() if set(used) != {system.defaults[name]}}
    parts = [f"{name} = {_values(used)}" for name, used in others.items() if name != "optimizer"]
    acts = {k: None for point in points for k in point.keys if k not in system.parameters}
    parts += [f"{k} = {_values([point.keys.get(k, '–') for point in points])}" for k in acts]
    steps = f"{_values([point.steps for point in points])} steps"
    if system.is_trained:
        steps += f" of {_values([_optimizer(point) for point in points])}"
    weights = sorted({int(cost.weights(point)) for point in points})
    ends = dict.fromkeys((weights[0], weights[-1]))
    return {
        "setting": "; ".join([*parts, steps]),
        "weights": " to ".join(map(str, ends)) if system.is_trained else "",
    }


def _system(system: SystemSpec) -> dict[str, str]:
    """Return the description and the default parameters of a system."""
    usual = [f"{name} = {_values([value])}" for name, value in system.defaults.items()]
    about = contributions.description(system)
    return {"name": system.name, "about": about, "usual": "; ".join(usual)}


def _experiments(study: Study, runs: pd.DataFrame, summaries: dict[str, Any]) -> list[dict]:
    """Return each experiment's runs and setting, and the summary of its points, if any."""
    rows = []
    for name, settings in study.config.experiments.items():
        here = runs[runs["experiment"] == name]
        rows.append(
            {
                "name": name,
                "system": settings.system,
                "planned": sum(point.count for point in study.experiment(name)),
                "finished": int((here["status"] == "finished").sum()),
                "unfinished": int((here["status"] != "finished").sum()),
                "hours": float(here["seconds"].sum()) / 3600,
                "device": ", ".join(sorted(here["device"].unique())),
                "points": summaries.get(name),
                **_setting(study.experiment(name)),
            }
        )
    return rows


def _time(hours: float) -> str:
    """Return a computing time as text."""
    seconds = 3600 * hours
    return terminal.duration(seconds) if seconds >= 1 else "under 1 s"


def _section(
    collection: Collection,
    provenance: pd.DataFrame,
    figures: dict[str, Target],
    card: pd.DataFrame,
    listed: pd.DataFrame,
) -> dict[str, Any]:
    """Return the contents of a collection's section: metadata, claims and figures."""
    about = collection.metadata
    claims_here = card[card["paper"] == collection.name]
    return {
        "name": collection.name,
        "short": about.short or collection.name,
        **{key: getattr(about, key) for key in ABOUT},
        "runs": _runs(provenance, collection.modules("systems")),
        **_claims(claims_here, collection.headlines),
        **_figures(collection, figures, claims_here, listed),
    }


def _claims(card: pd.DataFrame, headlines: Iterable[str]) -> dict[str, Any]:
    """Return the contents about claims of a collection's section."""
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
        "why_undecided": story.undecided(card),
        "lacking": story.not_run(card),
    }


def _figures(
    collection: Collection, figures: dict[str, Target], card: pd.DataFrame, listed: pd.DataFrame
) -> dict[str, Any]:
    """Return the figures of a collection, and why others have nothing to draw."""
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


def _lead(section: dict[str, Any]) -> str:
    """Return the figure of the first agreeing claim that has one; empty if there is none."""
    drawn = {figure["name"] for figure in section["figures"]}
    return next((row["figure"] for row in section["agrees"] if row["figure"] in drawn), "")


def _without_repeats(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the sections, each without the terms that an earlier one explains."""
    known: dict[str, str] = {}
    for section in sections:
        terms = section["terms"] or {}
        section["terms"] = {k: v for k, v in terms.items() if known.get(k) != v}
        known |= terms
    return sections


def _cited(citation: str) -> Markup:
    """Return a citation with its arXiv identifier as a link."""
    link = r'<a href="https://arxiv.org/abs/\1">arXiv:\1</a>'
    return Markup(ARXIV.sub(link, str(escape(citation))))


def _runs(provenance: pd.DataFrame, systems: Iterable[str]) -> int:
    """Return the number of runs of some systems."""
    return int(provenance.loc[provenance["system"].isin(systems), "runs"].sum())


def _says(section: dict[str, Any]) -> bool:
    """Return whether a section has any content besides its number of runs."""
    has_results = section["figures"] or any(section["claims"].values())
    return bool(has_results or (section["runs"] and (section["title"] or section["methods"])))


def _is_empty(section: dict[str, Any]) -> bool:
    """Return whether a study has no results for a collection: such sections come last."""
    return not (section["decided"] or section["figures"])


class _Tables:
    """Tables that a report reads; a table that the study lacks has no rows."""

    def __init__(self, target: Target, frozen: bool):
        self.target = target
        outcome = ["experiment", "outcome", "label"]
        sizes = [f"{name}{end}" for name in ("rho", "change") for end in ("", "_low", "_high")]
        self.provenance = parquet.read_table(target.study, "provenance")
        card = ["claim", "paper", "tally", "kind", "verdict", "source", "note"]
        self.card = claims.explained(self._read("scorecard", card), target.study)
        self.tests = self.card[self.card["tally"] == claims_file.TEST]
        estimates = ["point", "unit", "estimate", "low", "high", "n_runs"]
        self.summary = self._read("outcome_summary", [*outcome, *estimates])
        self.effects = self._read("effects", [*outcome, "parameter", "per", *sizes])
        self.runs = self._read("runs", ["experiment", "status", "seconds", "device"])
        listed = self._read("explorer_runs", ["run_id", "experiment", "shown"])
        self.listed = listed.iloc[:0] if frozen else listed

    def _read(self, name: str, columns: list[str]) -> pd.DataFrame:
        study = self.target.study
        is_there = study.table(name) in self.target.inputs and name not in study.left_out
        return parquet.read_table(study, name) if is_there else pd.DataFrame(columns=columns)


def _scores(tables: _Tables) -> dict[str, Any]:
    """Return what the page says about all claims together."""
    return {
        "tally_words": claims_file.TALLIES,
        "verdicts": claims.counts(tables.tests),
        "n_claims": len(tables.card),
        "tallies": {
            claims_file.TALLIES[tally]: n
            for tally, n in claims.tallies(tables.card).sum(axis=1).items()
            if tally != claims_file.TEST
        },
        "by_chance": claims.by_chance(tables.tests),
    }


def _shown(study: Study, tables: _Tables) -> dict[str, Any]:
    """Return the contents of the page: a section per collection, and plots of the study itself."""
    figures = {f.name: f for f in targets.figures(study) if f.name not in study.left_out}
    sections = [
        _section(collection, tables.provenance, figures, tables.card, tables.listed)
        for collection in study.collections
    ]
    for section in sections:
        section["lead"] = _lead(section)
    return {
        "sections": _without_repeats(sorted((s for s in sections if _says(s)), key=_is_empty)),
        "trends": story.trends(study, tables.effects, tables.summary),
        "plots": [
            {"experiment": p.experiment, **_figure(figures[p.name], tables.card, tables.listed)}
            for p in plots.of(study)
            if p.name in figures and not _undrawn(figures[p.name])
        ],
        "probe": next(iter(figures), ""),
        "has_live": any((c.folder / "explorer/page.html").exists() for c in study.used_collections),
    }


def _made_from(study: Study, tables: _Tables, frozen: bool) -> dict[str, Any]:
    """Return what the page says about the runs and their provenance."""
    whole = study.whole or study
    results = Path(study.results.name) if frozen else study.results  # the folder's name alone
    config = json.loads(study.json) | {"results": str(results)}
    return {
        "systems": [_system(study.known[name]) for name in study.systems],
        "experiments": _experiments(study, tables.runs, _points(tables.summary)),
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
        number=story.number,
        measured=story.measured,
        span=story.span,
        footnotes=story.footnotes,
        cited=_cited,
        time=_time,
        frozen=frozen,
        **_scores(tables),
        **_shown(study, tables),
        **_made_from(study, tables, frozen),
    )
    files.write_text(target.outputs[0], page)
