"""Trained networks, rebuilt from their logs, for tables that analyse them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from circlet.errors import CircletError
from circlet.storage import parquet
from circlet.study.blocks import Block
from circlet.study.registry import path_of
from circlet.systems import trees
from circlet.systems.seeded import seeded
from circlet.systems.trees import Tree


def trained(block: Block, equations: Any) -> Iterator[tuple[str, nn.Module, dict[str, Tree]]]:
    """Yield the ``run_id``, the network at the last step and the data of each finished run.

    ``equations`` is the module of the system, with its ``network`` and ``data``. Weights have their
    logged float32 values, in the dtype of the experiment, and need no gradient. The table must read
    the logs ``runs`` and ``parameters``. Raises LogError as `circlet.storage.parquet.read_log`
    does, and CircletError if these equations or logs give no network.
    """
    point, path = block.point, path_of(block.point.system.equations)
    if equations.__name__ != point.system.equations or not hasattr(equations, "network"):
        raise CircletError(f"trained() needs a system with network(), and its equations: {path}")
    if "parameters" not in point.logs or not point.steps_logged("parameters"):
        raise CircletError(f"{point.experiment}: trained() needs its log of parameters: "
                           "write log: {parameters: {}}")  # fmt: skip
    dtype = getattr(torch, point.settings.dtype)
    weights = parquet.read_weights(block, [point.steps])  # (1, runs, *shape)
    if name := point.system.embedding:
        weights[name] = weights.pop("embedding")
    runs = parquet.read_log(block, "runs")
    for seed in runs.loc[runs["status"] == "finished", "seed"]:
        seeds = point.seeds(seed)
        with seeded(seeds, "network"):
            network = equations.network(point.parameters, seeds)
        with seeded(seeds, "data"):
            parts = equations.data(point.parameters, seeds)
        state = {k: torch.as_tensor(values[0, seed - block.first]) for k, values in weights.items()}
        network.load_state_dict(network.state_dict() | state)
        trees.cast(network, dtype).requires_grad_(False)
        yield point.run_id(seed), network, trees.typed(parts, dtype)
