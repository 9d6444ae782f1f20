"""results/report.html: the scorecard, the figures and what made them, in one file."""

import base64
import json
from typing import Any

import pandas as pd
import yaml

from circlet import pages, terminal
from circlet.analysis import claims
from circlet.storage import files, parquet
from circlet.study import claims_file, cost, measured, pictures, targets
from circlet.study.plan import Study
from circlet.study.points import Point
from circlet.study.registry import Collection
from circlet.study.targets import Target
from circlet.systems.spec import SHARE, SystemSpec

DATA = ("report.html",)
OPTIONAL_TABLES = ("scorecard", "runs", "provenance", "outcome_summary")
FROM_COLLECTIONS = ("collection.yaml", "claims.csv", "captions")

OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD"}
MOST = 8  # values of a parameter that are named
WORDS = {"fourier": "Fourier", "ode": "ODE", "pca": "PCA"}  # that names of figures have in them


def _figure(figure: Target, claims: pd.DataFrame) -> dict[str, Any]:
    """A figure, its caption, and the claims that it is about."""
    with parquet.reading(figure.outputs[0]):
        image = figure.outputs[0].read_bytes()
    words = figure.name.rpartition(".")[2].split("_")  # of a user's, its section has the rest
    title = " ".join(WORDS.get(word, word) for word in words)
    if figure.study.pictures and figure.study.pictures[0].name == figure.name:
        title = pictures.title(figure.study.pictures[0])
    return {
        "name": figure.name,
        "title": title,
        "caption": targets.caption(figure.name, figure.study),
        "image": base64.b64encode(image).decode(),
        "claims": claims[claims["figure"] == figure.name].to_dict("records"),
    }


def _points(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Rows of the points of experiments, and headings of their columns, by experiment."""
    found = {}
    for name, own in table.groupby("experiment"):
        headings = {"runs": "runs"}
        rows: dict[str, dict[str, str]] = {}
        for row in own.to_dict("records"):
            unit = f", {row['unit']}" if row["unit"] not in ("", SHARE, "steps") else ""
            headings[f"of {row['outcome']}"] = f"{row['label']}{unit}"
            cells = rows.setdefault(row["point"], {"point": row["point"]})
            most = max(row["n_runs"], int(cells.get("runs", "0").split()[0]))
            cells["runs"] = f"{most} of {row['n_planned']}"
            center, low, high = (terminal.number(row[k]) for k in ("estimate", "low", "high"))
            interval = f" [{low} … {high}]" if row["n_runs"] else ""
            cells[f"of {row['outcome']}"] = center + interval
        found[name] = {"headings": headings, "rows": list(rows.values())}
    return found


def _values(values: list[Any]) -> str:
    """The different values of a parameter, if there are not too many."""
    different = dict.fromkeys(values)
    words = [f"{v:g}" if isinstance(v, float) else str(v) for v in different]
    if len(words) <= MOST:
        return ", ".join(words)
    return f"{words[0]}, {words[1]} … {words[-1]} ({len(words)} values)"


def _setting(points: list[Point]) -> dict[str, Any]:
    """What the runs of an experiment are: parameters that are not the usual, and the training."""
    system = points[0].system
    values = {name: [point.parameters[name] for point in points] for name in system.parameters}
    others = {name: own for name, own in values.items() if set(own) != {system.defaults[name]}}
    parts = [f"{name} = {_values(own)}" for name, own in others.items() if name != "optimizer"]
    acts = {k: None for point in points for k in point.keys if k not in system.parameters}
    parts += [f"{k} = {_values([point.keys.get(k, '–') for point in points])}" for k in acts]
    steps = f"{_values([point.steps for point in points])} steps"
    if system.is_trained:
        used = [point.parameters.get("optimizer", "adamw") for point in points]
        steps += f" of {_values([OPTIMIZERS.get(name, name) for name in used])}"
    weights = sorted({int(cost.weights(point)) for point in points})
    ends = dict.fromkeys((weights[0], weights[-1]))
    return {
        "setting": "; ".join([*parts, steps]),
        "weights": " to ".join(map(str, ends)) if system.is_trained else "",
    }


def _system(system: SystemSpec) -> dict[str, str]:
    """What a system is, and its parameters where an experiment gives no others."""
    usual = [f"{name} = {_values([value])}" for name, value in system.defaults.items()]
    about = targets.description(system)
    return {"name": system.name, "about": about, "usual": "; ".join(usual)}


def _experiments(study: Study, runs: pd.DataFrame, summaries: dict[str, Any]) -> list[dict]:
    """What ran, experiment by experiment, with the summary of each point where there is one."""
    rows = []
    for name, settings in study.config["experiments"].items():
        here = runs[runs["experiment"] == name]
        rows.append(
            {
                "name": name,
                "system": settings["system"],
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
    """Computing time for a reader."""
    seconds = 3600 * hours
    return terminal.duration(seconds) if seconds >= 1 else "under 1 s"


def _section(
    collection: Collection, runs: pd.DataFrame, figures: dict[str, Target], claims: pd.DataFrame
) -> dict[str, Any]:
    """All that the page says of a collection: verdicts, figures with their claims, other claims."""
    about = collection.about
    own = claims[claims["paper"] == collection.name]
    mine = collection.modules("figures")
    named = dict.fromkeys([*collection.figures, *mine])
    shown = [figures[name] for name in named if name in mine and name in figures]
    beside = own["figure"].isin([figure.name for figure in shown])
    return {
        "name": collection.name,
        "short": about.get("short") or collection.name,
        **{key: about.get(key) for key in ("authors", "title", "year", "methods")},
        "outcomes": about.get("outcomes"),
        "references": about.get("references"),
        "counts": _counts(own),
        "tests": _counts(own[own["tally"] == claims_file.TEST]),
        "deviating": own[own["verdict"] == "deviates"].to_dict("records"),
        "figures": [_figure(figure, own) for figure in shown],
        "others": own[~beside].to_dict("records"),
        "runs": int(runs["system"].isin(collection.modules("systems")).sum()),
    }


def _counts(card: pd.DataFrame) -> dict[str, int]:
    """How many claims have each verdict."""
    return {verdict: int((card["verdict"] == verdict).sum()) for verdict in claims.VERDICTS}


def _says(section: dict[str, Any]) -> bool:
    """Whether there is more to say of a collection than that it has runs."""
    has_results = section["figures"] or sum(section["counts"].values())
    return bool(has_results or (section["runs"] and (section["title"] or section["methods"])))


def make(target: Target) -> None:
    """Write the report of a study."""
    study = target.study
    whole = study.whole or study
    measured.measure(study.points)  # of all in one process, if no plan has
    runs, provenance = (parquet.read_table(study, name) for name in ("runs", "provenance"))

    def table(name: str, columns: list[str]) -> pd.DataFrame:
        has = study.table(name) in target.inputs and name not in study.left_out
        return parquet.read_table(study, name) if has else pd.DataFrame(columns=columns)

    card = table("scorecard", ["claim", "paper", "tally", "kind", "verdict", "n_runs"])
    card = card.merge(claims.read(study)[["claim", "figure"]], "left", "claim")
    tests = card[card["tally"] == claims_file.TEST]
    summaries = _points(table("outcome_summary", ["experiment"]))
    figures = {f.name: f for f in targets.figures(study) if f.name not in study.left_out}
    sections = [_section(c, runs, figures, card) for c in study.collections]
    page = pages.template("report.html").render(
        number=terminal.number,
        span=terminal.span,
        time=_time,
        sections=[s for s in sections if _says(s)],
        pictures=[_figure(figures[p.name], card) for p in study.pictures if p.name in figures],
        has_live=any((c.folder / "explorer/page.html").exists() for c in study.used_collections),
        verdicts=_counts(tests),
        n_claims=len(card),
        tallies={
            claims_file.TALLIES[tally]: n
            for tally, n in claims.tallies(card).sum(axis=1).items()
            if tally != claims_file.TEST
        },
        by_chance=claims.by_chance(tests),
        systems=[_system(study.known[name]) for name in study.systems],
        experiments=_experiments(study, runs, summaries),
        has_parents=any(point.parent for point in study.points),
        provenance=provenance.to_dict("records"),
        versions=provenance["versions"].drop_duplicates(),
        made=parquet.footer(study.table("runs")),
        config=yaml.safe_dump(json.loads(study.json), sort_keys=False, allow_unicode=True),
        results=study.results,
        partial=bool(study.missing or study.left_out),
        left_out=study.left_out,
        planned=sum(point.count for point in whole.points),
        not_begun=sorted(whole.config["experiments"].keys() - study.config["experiments"].keys()),
        done=len(runs),
    )
    with files.atomic(target.outputs[0]) as temporary:
        temporary.write_text(page, encoding="utf-8")
