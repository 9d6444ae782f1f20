"""Initial states of the live simulations, and the tour: from noise to a circle, and to a grid."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from circlet.collections.musat.systems import constant_attention, particles

TABLES = ()

_PARTICLES = ("p", "f_a", "g_a", "g_r", "step_size", "std")
_NETWORK = ("p", "d", "hidden", "train_fraction", "learning_rate", "weight_decay")


# Seeds that the page offers, and how the live network ends after `steps` steps, as tests check.
_STARTS = {
    "a circle": {"seed": 0, "weight_decay": 1.5, "steps": 2000},
    "a grid": {"seed": 7, "weight_decay": 0.3, "steps": 2000},
    "overfitting": {"seed": 8, "weight_decay": 0.3, "steps": 2000},
}


def data(tables: Mapping[str, pd.DataFrame], trained: set[str]) -> dict[str, Any]:
    """Return the parameters of particles and network, and the network's number of weights."""
    count = constant_attention.SYSTEM.weights
    assert count
    network = {name: constant_attention.SYSTEM.defaults[name] for name in _NETWORK}
    return {
        # At this alignment most particle systems end as circles.
        "particles": {name: particles.SYSTEM.defaults[name] for name in _PARTICLES} | {"f_a": 2.0},
        "network": network,
        "starts": _STARTS,
        "weights": int(count(**network)),
    }


def _best(played: pd.DataFrame, outcome: str) -> pd.Series | None:
    """Return the run with an outcome that has most frames; among equals, the most perfect one."""
    candidates = played[(played["outcome"] == outcome) & (played["d"] == 2)]
    candidates = candidates.assign(is_particles=candidates["system"] != "constant_attention")
    if candidates.empty:
        return None
    measure = {"circle": "norm_ratio", "grid": "imperfections"}[outcome]
    order = ["is_particles", "frames", measure, "run_id"]
    return candidates.sort_values(order, ascending=[True, False, True, True]).iloc[0]


def tour(tables: Mapping[str, pd.DataFrame], played: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the stops of the tour: noise, the circle that it becomes, and a grid."""
    mine = played[played["system"].isin(["constant_attention", "particles"])]
    circle, grid = _best(mine, "circle"), _best(mine, "grid")
    first = grid if circle is None else circle
    if first is None:
        return []
    stops = [_stop("Noise", first, 0, ["embedding", "losses"], (
        "At step 0 every number is at a random place, so the sum of two numbers says nothing about "
        f"the answer, the remainder modulo {first['p']:.0f}. Press Play to watch the numbers move "
        "until the end of training."
    ))]  # fmt: skip
    if circle is not None:
        stops.append(_stop("A circle", circle, circle["last_step"], ["embedding", "sums"], (
            "At the end of the same training the numbers form a circle: the largest distance from "
            f"the middle is {circle['norm_ratio']:.2f} times the smallest. Adding two numbers adds "
            "their angles, so the direction of their sum determines the answer. But sums of nearly "
            "opposite numbers fall near the middle, where all directions meet. Yellow marks sums "
            "whose nearest other sum has another answer."
        )))  # fmt: skip
    if grid is not None:
        decay, p = grid.get("weight_decay"), int(grid["p"])
        at = f", at weight decay {decay:g}," if pd.notna(decay) else ""
        stops.append(_stop("A grid", grid, grid["last_step"], ["embedding", "sums"], (
            f"Another random start{at} ends in a grid: along each row, the numbers grow by the "
            f"same amount, modulo {p}. {int(grid['imperfections'])} of its "
            f"{p * (p + 1) // 2} pair sums have a nearest sum with another answer (yellow)."
        )))  # fmt: skip
    return stops


def _stop(title: str, run: pd.Series, step: int, panels: list[str], text: str) -> dict[str, Any]:
    return {"title": title, "run": run["run_id"], "step": int(step), "panels": panels, "text": text}
