"""Runs of the smoke study, their logs, and functions that drive the explorer, for its tests."""

import numpy as np
import pandas as pd
from browsing import each
from conftest import ROOT, make_tables, rewrite, run_blocks

from circlet import build
from circlet.storage import parquet
from circlet.study import planning, targets

STUDY = planning.plan_file(ROOT / "config/smoke.yaml")
NETWORK = "decay_scan/p17_d2_wd1/s00003"
PARTICLES = "alignment/p17_d2_fa1_dtype-float64/s00000"
CIRCLES = "trajectory/p13_d24_hidden-16_wd0.5/s00001"
TRANSFORMER = (
    "heads/p2_d2_length-4_k-2_n_train-64_n_test-32_batch_size-16_learning_rate-0.02/s00002"
)
PANELS = {
    NETWORK: ["embedding", "sums", "answers", "signals", "losses"],
    PARTICLES: ["embedding", "sums", "signals"],
    CIRCLES: ["embedding", "sums", "ordered_answers", "signals", "losses", "ode"],
    TRANSFORMER: ["embedding", "sequences", "attention", "losses"],
}


def block_of(run_id, study=STUDY):
    runs = ((block, seed) for block in study.blocks for seed in block.seeds)
    return next((block, seed) for block, seed in runs if block.point.run_id(seed) == run_id)


def finished_block_of(finished, run_id):
    """Return the block and seed of a run in the finished study."""
    return block_of(run_id, STUDY.staged(finished.folder / "results/smoke"))


def logged(finished, run_id, kind):
    """Return the rows of a run in a log, as a frame."""
    block, seed = finished_block_of(finished, run_id)
    frame = parquet.read_log(block, kind)
    return frame[frame["seed"] == seed]


def embedding_at(finished, run_id, step):
    rows = logged(finished, run_id, "embeddings").query("step == @step").sort_values("token")
    return np.stack(rows["vector"]).astype(float)


def weights_at(finished, run_id, step):
    block, seed = finished_block_of(finished, run_id)
    arrays = parquet.read_weights(block, [step])
    return {name: array[0, seed - block.first] for name, array in arrays.items()}


def table(name, finished):
    return pd.read_parquet(finished.folder / f"results/smoke/tables/{name}.parquet")


def explorer_of(settings, folder, **forged):
    """Run a study and make its explorer; ``forged``: changes of the frames of tables, by name."""
    study = run_blocks(planning.plan(settings | {"results": str(folder)}))
    page = targets.explorer(study)
    make_tables(study, *(table.name for table in page.tables))
    for name, change in forged.items():
        rewrite(study.table(name), change)
    build.make(page)
    return page.outputs[0]


def at(run_id, step=None, **others):
    """Return the fragment of an address."""
    parts = {"run": run_id, **({} if step is None else {"step": step}), **others}
    return "#" + "&".join(f"{name}={value}" for name, value in parts.items())


def settled(page):
    """Return a page when regions and charts are drawn and the address shows its state."""
    page.evaluate("new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))")
    page.wait_for_selector("#explore[data-rests]")
    return page


def step_now(page):
    return int(page.inner_text("#step-now").split()[1].rstrip(","))


def column(page, n):
    """Return the texts of a column of the list of runs."""
    return each(page, f"#run-list td:nth-child({n})")


def picture(page, panel):
    """Return what a panel shows, with its background."""
    return page.evaluate(
        """id => [...document.querySelectorAll(`#${id}-picture svg`)].map(e => e.innerHTML).join("")
        + (document.querySelector(`#${id}-picture canvas`)?.toDataURL() ?? "")""",
        panel,
    )
