"""results/report.html: the results of a study, its figures and its provenance, in one file.

A report that is sent alone has no dead links, because the browser makes links to other files only
if these exist. A frozen study has no logs, so its report has no runs to watch, and only the figures
that follow from its tables.
"""

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from markupsafe import Markup, escape

from circlet import formatting, pages
from circlet.analysis import claims
from circlet.analysis.verdicts import COMPATIBLE, DEVIATES, DIFFERS, NOT_RUN, OPEN, REPRODUCED
from circlet.pages import experiments, story, trends
from circlet.storage import files, parquet
from circlet.study import claims_file, contributions, measured, plots, targets
from circlet.study.plan import Study
from circlet.study.registry import Collection
from circlet.study.targets import Target

DATA = ("report.html",)
OPTIONAL_TABLES = {  # with the columns that it needs, which are empty if a study lacks a table
    "scorecard": ["claim", "paper", "tally", "kind", "verdict", "measured_n", "source", "note"],
    "runs": ["experiment", "status", "seconds", "device"],
    "provenance": ["system", "runs"],
    "outcome_summary": ["experiment", "point", "outcome", "estimate", "n_runs"],
    "effects": ["experiment", "outcome", "label", "parameter", "per", "rho", "rho_low", "rho_high"],
    "explorer_runs": ["run_id", "shown", "outcome"],
}
COLLECTION_FILES = ("collection.yaml", "frozen.csv")
USES = ("claims", "captions")

Entry = dict[str, Any]  # a figure or a section, as the template takes it
TEXTS = re.compile(r"<text[^>]*>([^<]*)</text>")
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


def _cited(citation: str) -> Markup:
    link = r'<a href="https://arxiv.org/abs/\1">arXiv:\1</a>'
    return Markup(ARXIV.sub(link, str(escape(citation))))


def _time(hours: float) -> str:
    seconds = 3600 * hours
    return formatting.duration(seconds) if seconds >= 1 else "under 1 s"


def _title(figure: Target) -> str:
    if plot := plots.named(figure.study, figure.name):
        title = plots.title(plot)
    else:
        titles = (collection.figures.get(figure.name) for collection in figure.study.collections)
        short = figure.name.rpartition(".")[2]  # the section names the collection
        title = next(filter(None, titles), short.replace("_", " "))
    return story.capital(title)


def _figure(figure: Target, runs: pd.DataFrame) -> Entry:
    """Return a figure, with why it has nothing to draw, as its image says."""
    with parquet.reading(figure.outputs[0]):
        image = figure.outputs[0].read_text(encoding="utf-8")
    texts = TEXTS.findall(image) if f'id="{plots.NOTHING}"' in image else []
    opening, rest = story.opening(contributions.caption(figure.name, figure.study))
    return {
        "name": figure.name,
        "title": _title(figure),
        "nothing": " ".join(map(html.unescape, texts)),
        "opening": opening,
        "rest": rest,
        "image": base64.b64encode(image.encode()).decode(),
        "watched": story.watched(figure.study, runs, image),
    }


def _section(
    collection: Collection, card: pd.DataFrame, figures: dict[str, Entry], provenance: pd.DataFrame
) -> Entry:
    listed, has_tests = story.of_paper(card, collection.name)
    tests = listed[listed["tally"] == claims_file.TEST]
    counted = listed[listed["tally"].isin([claims_file.TEST, claims_file.OTHER])]
    agrees = story.agreeing(listed, collection.headlines)
    modules = collection.modules("figures")
    mine = [
        figures[name] | {"counts": claims.counts(listed[listed["figure"] == name])}
        for name in dict.fromkeys((*collection.figures, *modules))
        if name in modules and name in figures
    ]
    drawn = {figure["name"]: figure for figure in mine if not figure["nothing"]}
    is_here = provenance["system"].isin(collection.modules("systems"))
    return {
        "name": collection.name,
        "short": story.short(collection),
        "about": collection.metadata,
        "runs": int(provenance.loc[is_here, "runs"].sum()),
        "has_tests": has_tests,
        "n_claims": len(tests),
        "answered": int((tests["verdict"] != NOT_RUN).sum()),
        "counts": claims.counts(tests),
        "decided": bool((counted["verdict"] != NOT_RUN).any()),
        "agrees": agrees,
        "differs": story.differing(listed),
        "frozen_verdicts": story.frozen(listed),
        "judged": story.by_tally(listed, DEVIATES, DIFFERS, COMPATIBLE, REPRODUCED),
        "undecided": story.by_tally(listed, *OPEN),
        "not_run": story.not_run(listed),
        "lead": next((row["figure"] for row in agrees if row["figure"] in drawn), ""),
        "figures": list(drawn.values()),
        "undrawn": [figure for figure in mine if figure["nothing"]],
    }


def _sections(
    study: Study, card: pd.DataFrame, figures: dict[str, Entry], provenance: pd.DataFrame
) -> list[Entry]:
    """Return the sections that have content, those without results last.

    Each term is explained in the first section that has it.
    """
    sections = [_section(c, card, figures, provenance) for c in study.collections]
    sections.sort(key=lambda section: not (section["decided"] or section["figures"]))
    full, explained = [], set[tuple[str, str]]()
    for section in sections:
        about = section["about"]
        has_text = section["runs"] and (about.title or about.methods)
        if section["figures"] or section["n_claims"] or has_text:
            terms = about.terms.items()
            full.append(section | {"terms": [term for term in terms if term not in explained]})
            explained |= terms
    return full


def make(target: Target, frozen: bool = False) -> None:
    """Write the report of a study, which may be frozen."""
    study = target.study
    measured.measure(study.points)  # all points in one process, unless a plan has done so
    lacking = {name: pd.DataFrame(columns=names) for name, names in OPTIONAL_TABLES.items()}
    tables = lacking | pages.tables(target, OPTIONAL_TABLES)
    card, provenance = claims.explained(tables["scorecard"], study), tables["provenance"]
    watched = lacking["explorer_runs"] if frozen else tables["explorer_runs"]
    tests = card[card["tally"] == claims_file.TEST]
    figures = {
        figure.name: _figure(figure, watched)
        for figure in targets.figures(study)
        if figure.name not in study.left_out
    }
    # A frozen study shows the name of its folder alone.
    results = Path(study.results.name if frozen else study.config.results)
    config = json.loads(study.json) | {"results": str(results)}
    page = pages.template("report.html").render(
        claims=claims,
        formatting=formatting,
        story=story,
        cited=_cited,
        time=_time,
        frozen=frozen,
        study=study,
        whole=study.whole or study,
        results=results,
        config=yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
        n_of=card["tally"].value_counts().to_dict(),
        tallies=claims_file.TALLIES,
        verdicts=claims.counts(tests),
        by_chance=claims.by_chance(tests),
        sections=_sections(study, card, figures, provenance),
        trends=trends.sentences(study, tables["effects"], tables["outcome_summary"]),
        figures=figures,
        plots=[
            figures[plot.name]
            for plot in plots.of(study)
            if plot.name in figures and not figures[plot.name]["nothing"]
        ],
        has_live=any((c.folder / "explorer/page.html").exists() for c in study.used_collections),
        systems=[experiments.system(study.specs[name]) for name in study.systems],
        experiments=experiments.rows(study, tables["runs"], tables["outcome_summary"]),
        provenance=provenance.to_dict("records"),
        made=parquet.footer(study.table("provenance")),
    )
    files.write_text(target.outputs[0], page)
