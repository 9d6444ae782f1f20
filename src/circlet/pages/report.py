"""results/report.html: the scorecard, the figures and what made them, in one file."""

import base64
from pathlib import Path

import jinja2
import pandas as pd

from circlet import io, products, view
from circlet.plan import Study

DATA = ("pages/report.html",)

PAPERS = {
    "musat": (
        "Clustering and Alignment: Understanding the Training Dynamics in Modular Addition",
        "T. Mușat",
    ),
}

# The order of the paper; other figures follow by name.
ORDER = [
    "published_tables",
    "imperfections_accuracy",
    "grid_and_circle",
    "imperfect_grid",
    "grid_classifier",
    "circle_classifier",
    "particle_structures",
    "weight_magnitudes",
    "embedding_gallery",
    "particle_gallery",
    "classifier_gallery",
    "projection_gallery",
]


def _figures(study: Study) -> list[dict[str, str]]:
    shown = sorted(
        products.figures(study),
        key=lambda f: (ORDER.index(f.name) if f.name in ORDER else len(ORDER), f.name),
    )
    return [
        {
            "name": figure.name,
            "caption": products.caption(figure.name),
            "image": base64.b64encode(_bytes(figure.outputs[0])).decode(),
        }
        for figure in shown
    ]


def _bytes(path: Path) -> bytes:
    with io.reading(path):
        return path.read_bytes()


def _experiments(study: Study, runs: pd.DataFrame) -> list[dict]:
    rows = []
    for name in study.config["experiments"]:
        here = runs[runs["experiment"] == name]
        rows.append(
            {
                "name": name,
                "system": study.config["experiments"][name]["system"],
                "points": len(study.experiment(name)),
                "planned": sum(b.count for p in study.experiment(name) for b in p.blocks),
                "finished": int((here["status"] == "finished").sum()),
                "diverged": int((here["status"] == "diverged").sum()),
                "seconds": float(here["seconds"].sum()),
                "device": ", ".join(sorted(here["device"].unique())),
            }
        )
    return rows


def make(study: Study) -> None:
    """Write the report of a study."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
    )
    environment.filters["number"] = view.number
    has_scorecard = study.table("scorecard") in products.report(study).inputs
    scorecard = (
        io.read_table(study, "scorecard")
        if has_scorecard
        else pd.DataFrame(columns=["paper", "verdict"])
    )
    verdicts = scorecard["verdict"].value_counts()
    page = environment.get_template("report.html").render(
        papers=[
            {"title": PAPERS[paper][0], "author": PAPERS[paper][1], "claims": claims}
            for paper, claims in (
                (name, frame.to_dict("records")) for name, frame in scorecard.groupby("paper")
            )
        ],
        verdicts=[
            (name, int(verdicts.get(name, 0))) for name in ("reproduced", "deviates", "not_run")
        ],
        figures=_figures(study),
        experiments=_experiments(study, io.read_table(study, "runs")),
        made=io.footer(study.table("runs")),
        results=study.results,
    )
    path = study.results / "report.html"
    with io.atomic(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
