"""results/report.html: the scorecard, the figures and what made them, in one file."""

import base64
from pathlib import Path

import jinja2
import pandas as pd

from circlet import io, products, source, view
from circlet.plan import Study
from circlet.products import Product

DATA = ("pages/report.html", "data/papers.csv")

# The order of the papers; other figures follow by name.
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
    "idealised_circuit",
    "two_phases",
    "gradient_norms",
    "loss_spikes",
    "attention_maps",
    "head_ablations",
    "transfer",
    "seed_effects",
    "sandbox",
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
        if figure.name not in study.left_out
    ]


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
                "seconds": float(here["seconds"].sum()),
                "device": ", ".join(sorted(here["device"].unique())),
                "points": points.to_dict("records"),
            }
        )
    return rows


def make(product: Product) -> None:
    """Write the report of a study."""
    study = product.study
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
    )
    environment.filters["number"] = view.number
    whole = study.whole or study
    runs = io.read_table(study, "runs")

    def table(name: str, columns: list[str]) -> pd.DataFrame:
        has = study.table(name) in product.inputs and name not in study.left_out
        return io.read_table(study, name) if has else pd.DataFrame(columns=columns)

    scorecard = table("scorecard", ["paper", "verdict"])
    summary = table("structure_summary", ["experiment", "sample"])
    papers = pd.read_csv(source.PACKAGE / DATA[1]).to_dict("records")
    counts = scorecard["verdict"].value_counts()
    rows = _experiments(study, runs, summary)
    page = environment.get_template("report.html").render(
        papers=[
            paper | {"claims": claims.to_dict("records")}
            for paper in papers
            if len(claims := scorecard[scorecard["paper"] == paper["paper"]])
        ],
        verdicts=[(v, counts.get(v, 0)) for v in ("reproduced", "deviates", "not_run")],
        figures=_figures(study),
        experiments=rows,
        provenance=io.read_table(study, "provenance").to_dict("records"),
        made=io.footer(study.table("runs")),
        results=study.results,
        partial=bool(study.missing or study.left_out),
        left_out=study.left_out,
        planned=sum(point.count for point in whole.points),
        not_begun=sorted(whole.config["experiments"].keys() - study.config["experiments"].keys()),
        done=len(runs),
    )
    with io.atomic(product.outputs[0]) as temporary:
        temporary.write_text(page, encoding="utf-8")
