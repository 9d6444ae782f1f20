"""results/report.html: the scorecard, the figures and what made them, in one file."""

import base64
import json
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from circlet import io, pages, products, source, view
from circlet.plan import Study
from circlet.products import Product

DATA = ("pages/report.html", "data/papers.csv", "data/published.csv")

# Figures by paper, in its order; others follow by name.
SECTIONS = {
    "musat": (
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
    ),
    "ding": (
        "signal_trajectories",
        "pca_and_fourier",
        "frozen_losses",
        "circles_by_size",
        "survival_by_signal",
        "survival_by_gradient",
        "circle_ablations",
        "ode_fits",
        "circles_by_weight_decay",
        "circularity",
        "ablated_starts",
        "embedding_gradients",
        "circles_by_modulus",
        "ode_coefficients",
        "ode_trajectories",
        "ode_generalisation",
        "forecast",
        "precision",
    ),
    "odonnat": (
        "idealised_circuit",
        "two_phases",
        "gradient_norms",
        "loss_spikes",
        "attention_maps",
        "head_ablations",
        "transfer",
        "seed_effects",
        "sandbox",
    ),
}
WORDS = {"fourier": "Fourier", "ode": "ODE", "pca": "PCA"}  # that names of figures have in them


def _figure(figure: Product, claims: pd.DataFrame) -> dict[str, Any]:
    """A figure, its caption, and the claims that it is about."""
    return {
        "name": figure.name,
        "title": " ".join(WORDS.get(word, word) for word in figure.name.split("_")),
        "caption": products.caption(figure.name),
        "image": base64.b64encode(_bytes(figure.outputs[0])).decode(),
        "claims": claims[claims["figure"] == figure.name].to_dict("records"),
    }


def _bytes(path: Path) -> bytes:
    with io.reading(path):
        return path.read_bytes()


def _experiments(study: Study, runs: pd.DataFrame, summary: pd.DataFrame) -> list[dict]:
    """What ran, experiment by experiment, with the summary of each point where there is one."""
    rows = []
    for name, settings in study.config["experiments"].items():
        here = runs[runs["experiment"] == name]
        points = summary[(summary["experiment"] == name) & (summary["sample"] == "all")]
        rows.append(
            {
                "name": name,
                "system": settings["system"],
                "planned": sum(point.count for point in study.experiment(name)),
                "finished": int((here["status"] == "finished").sum()),
                "unfinished": int((here["status"] != "finished").sum()),
                "hours": float(here["seconds"].sum()) / 3600,
                "device": ", ".join(sorted(here["device"].unique())),
                "points": points.to_dict("records"),
            }
        )
    return rows


def _time(hours: float) -> str:
    """Computing time for a reader."""
    seconds = 3600 * hours
    return view.duration(seconds) if seconds >= 1 else "under 1 s"


def _paper(
    paper: dict[str, Any],
    runs: pd.DataFrame,
    figures: dict[str, Product],
    claims: pd.DataFrame,
) -> dict[str, Any]:
    """All that the page says of a paper: verdicts, figures with their claims, the other claims."""
    own = claims[claims["paper"] == paper["paper"]]
    shown = [figures[name] for name in SECTIONS[paper["paper"]] if name in figures]
    beside = own["figure"].isin([figure.name for figure in shown])
    return paper | {
        "counts": {verdict: int((own["verdict"] == verdict).sum()) for verdict in view.VERDICTS},
        "deviating": own[own["verdict"] == "deviates"].to_dict("records"),
        "figures": [_figure(figure, own) for figure in shown],
        "others": own[~beside].to_dict("records"),
        "runs": int(runs["system"].isin(paper["systems"].split()).sum()),
    }


def make(product: Product) -> None:
    """Write the report of a study."""
    study = product.study
    whole = study.whole or study
    runs, provenance = (io.read_table(study, name) for name in ("runs", "provenance"))

    def table(name: str, columns: list[str]) -> pd.DataFrame:
        has = study.table(name) in product.inputs and name not in study.left_out
        return io.read_table(study, name) if has else pd.DataFrame(columns=columns)

    published = pd.read_csv(source.PACKAGE / DATA[2])[["claim", "figure"]]
    claims = table("scorecard", ["claim", "paper", "verdict", "n_runs"]).merge(
        published, "left", "claim"
    )
    claims["verdict"] = view.verdicts(claims)
    summary = table("structure_summary", ["experiment", "sample"])
    figures = {f.name: f for f in products.figures(study) if f.name not in study.left_out}
    papers = pd.read_csv(source.PACKAGE / DATA[1]).to_dict("records")
    placed = {name for section in SECTIONS.values() for name in section}
    sections = [_paper(paper, runs, figures, claims) for paper in papers]
    page = pages.template("report.html").render(
        number=view.number,
        time=_time,
        papers=[s for s in sections if s["runs"] or s["figures"] or sum(s["counts"].values())],
        verdicts={
            verdict: sum(s["counts"][verdict] for s in sections) for verdict in view.VERDICTS
        },
        figures=[_figure(f, claims[:0]) for n, f in sorted(figures.items()) if n not in placed],
        experiments=_experiments(study, runs, summary),
        provenance=provenance.to_dict("records"),
        versions=provenance["versions"].drop_duplicates(),
        made=io.footer(study.table("runs")),
        config=yaml.safe_dump(json.loads(study.json), sort_keys=False, allow_unicode=True),
        results=study.results,
        partial=bool(study.missing or study.left_out),
        left_out=study.left_out,
        planned=sum(point.count for point in whole.points),
        not_begun=sorted(whole.config["experiments"].keys() - study.config["experiments"].keys()),
        done=len(runs),
    )
    with io.atomic(product.outputs[0]) as temporary:
        temporary.write_text(page, encoding="utf-8")
