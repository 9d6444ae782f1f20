"""Networks of users are trained as by a plain PyTorch loop; others: test_refused_networks.py."""

import shutil
import textwrap
from dataclasses import replace
from importlib import import_module

import pytest
import torch
from conftest import CPU, NETWORKS
from msgspec import structs
from test_autograd import plain_loop, point

from circlet.analysis import networks
from circlet.errors import CircletError
from circlet.storage import parquet
from circlet.training import job
from circlet.training.run import run_group
from circlet.training.verify import steps_of, verify

NETWORK = """
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, prune
from torch.utils.checkpoint import checkpoint


class Network(nn.Module):
    def __init__(self, p, width, seeds):
        super().__init__()
        self.embed = nn.Embedding(p, width)
        self.output = nn.Linear(width, p)
{init}

    def hidden(self, pairs):
        return self.embed(pairs).sum(-2).square()

    def forward(self, pairs):
{forward}


def network(parameters, seeds):
    return Network(parameters["p"], parameters["width"], seeds)


def data(parameters, seeds):
    p = parameters["p"]
    pairs = torch.cartesian_prod(torch.arange(p), torch.arange(p))[torch.randperm(p * p)]
    noise = torch.randn(p * p, p)
    parts = {{"train": slice(40), "test": slice(40, None)}}
    return {{k: (pairs[rows], pairs[rows].sum(1) % p, noise[rows]) for k, rows in parts.items()}}


def loss(network, examples):
    pairs, target, noise = examples
{loss}
    return F.cross_entropy(scores, target)


def metrics(network, parts):
{metrics}
    measured = {{}}
    for part, examples in parts.items():
        right = network(examples[0]).argmax(-1) == examples[1]
        measured |= {{f"{{part}}_loss": loss(network, examples),
                      f"{{part}}_accuracy": right.double().mean()}}
    return measured


{more}
"""

USUAL = {
    "init": "pass",
    "forward": "return self.output(self.hidden(pairs))",
    "loss": "scores = network(pairs) + 0.1 * noise",
    "metrics": "pass",
    "more": "",
}
DEPTH = {"init": 2, "forward": 2, "loss": 1, "metrics": 1, "more": 0}


def of(tmp_path, changes, batched=True, runs=5, **settings):
    """Return a point whose network is the usual one except for some lines."""
    folder = shutil.copytree(NETWORKS, tmp_path / f"n{abs(hash(tmp_path)) % 10**9}")
    parts = {
        name: textwrap.indent(textwrap.dedent(text).strip(), "    " * DEPTH[name])
        for name, text in (USUAL | changes).items()
    }
    (folder / "equations/quadratic.py").write_text(NETWORK.format(**parts))
    spec = folder / "systems/quadratic.py"
    text = spec.read_text().replace("metrics=", f"batched={batched},\n    metrics=")
    size = '"batch_size": integer("Examples of a step.", 40, minimum=1),\n        "learning_rate"'
    spec.write_text(text.replace('"learning_rate"', size))
    return point("quadratic", folder, results=tmp_path, runs=runs, **settings)


# By name: whether runs advance together, and what differs from the usual network.
EQUAL = {
    "weights that the loss does not use": (
        True, {"init": "self.spare = nn.Linear(3, 3)"}),
    "complex buffers": (
        True, {"init": "self.register_buffer('dft', torch.fft.fft(torch.eye(width)) * 1j)",
               "forward": "h = self.hidden(pairs)\n"
                          "return self.output((h.to(self.dft.dtype) @ self.dft).real)"}),
    "tied weights": (True, {"init": "self.output.weight = self.embed.weight"}),
    "a pruned weight": (
        True, {"init": "prune.random_unstructured(self.output, 'weight', 0.5)"}),
    "weight norm": (True, {"init": "parametrizations.weight_norm(self.output)"}),
    "a weight for each example": (
        True, {"init": "self.register_buffer('share', torch.rand(40))",
               "loss": "scores = network(pairs)\n"
                       "if len(scores) == 40:\n    scores = scores * network.share[:, None]"}),
    "what only the start of a network needs": (
        True, {"init": "self.seeds = seeds\nself.generator = np.random.default_rng(seeds.network)\n"
                       "self.hook = self.embed.register_forward_hook(lambda m, x, y: y)"}),
    "a penalty of what requires a gradient": (
        True, {"loss": "norm = sum(w.square().sum() for w in network.parameters()\n"
                       "           if w.requires_grad)\nscores = network(pairs) * norm"}),
    "empty weights": (
        True, {"init": "self.none = nn.Parameter(torch.empty(0, 3))\nnn.init.normal_(self.none)",
               "loss": "scores = network(pairs) + 0 * network.none.sum()"}),
    "a cache": (
        True, {"init": "self.masks = {}",
               "forward": "n = len(pairs)\nself.masks.setdefault(n, torch.ones(n, 1).double())\n"
                          "return self.output(self.hidden(pairs)) * self.masks[n]"}),
    "an activation that is kept": (
        True, {"forward": "self.h = self.hidden(pairs)\nreturn self.output(self.h)",
               "loss": "scores = network(pairs)\nscores = scores * network.h.mean()"}),
    "checkpoints of one run": (
        False, {"forward": "return self.output(checkpoint(self.hidden, pairs, use_reentrant=False))"
                }),
    "a layer that is there three times": (
        True, {"init": "self.layers = nn.ModuleList([nn.Linear(width, width)] * 3)\n"
                       "self.last = nn.Linear(width, width)\n"
                       "self.last.bias = self.layers[0].bias",
               "forward": "h = self.hidden(pairs)\nfor layer in [*self.layers, self.last]:\n"
                          "    h = torch.tanh(layer(h))\nreturn self.output(h)"}),
    "a GRU": (
        True, {"init": "self.gru = nn.GRU(width, width, batch_first=True)",
               "forward": "return self.output(self.gru(self.embed(pairs))[0][:, -1])"}),
    "an LSTM": (
        False, {"init": "self.lstm = nn.LSTM(width, width, batch_first=True)",
                "forward": "return self.output(self.lstm(self.embed(pairs))[0][:, -1])"}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize(("batched", "changes"), EQUAL.values(), ids=EQUAL)
def test_what_is_right_equals_a_plain_loop(tmp_path, batched, changes):
    """The plain loop trains with a class of `torch.optim`."""
    user_point = of(tmp_path, changes, batched, steps=20)
    assert verify(user_point, user_point.all_seeds, CPU) < 1e-9
    seeds = [0, 1, 2] if batched else [2]
    *_, group = run_group(user_point, seeds, CPU)
    for weight, expected in plain_loop(user_point, 2).items():
        torch.testing.assert_close(group.stack.arrays[weight][-1], expected, rtol=0, atol=1e-12)


def test_code_may_demand_the_numbers_of_its_experiment(tmp_path):
    loss = {"loss": "scores = network(pairs) @ torch.eye(7)"}
    single = of(tmp_path, loss, dtype="float32")
    verify(single, single.all_seeds, CPU)
    other = of(tmp_path / "float64", loss, dtype="float64")
    with pytest.raises(RuntimeError, match="same dtype"):
        verify(other, other.all_seeds, CPU)


def test_few_steps_are_tried():
    """At most 5 % of a block's steps, or so few that they take less than a second."""
    assert steps_of(point("quadratic", runs=2, steps=2), 2) == 2
    assert steps_of(point("quadratic", runs=4, steps=100), 4) == 4
    assert steps_of(point("quadratic", runs=20, steps=300), 20) == 8
    for runs, steps in ((1, 2000), (20, 300)):
        tried = steps_of(point("quadratic", runs=runs, steps=steps), runs)
        assert 3 * min(3, runs) * tried <= 0.05 * runs * steps


@pytest.mark.parametrize("system", ["quadratic", "letters", "teacher", "regression"])
def test_trained_networks_are_put_together_again(tmp_path, system):
    """Their metrics equal the logged ones, even with random data, frozen weights and buffers."""
    (block,) = point(system, results=tmp_path, runs=3, steps=20, dtype="float32").blocks
    job.run_block(block, "cpu")
    runs = parquet.read_log(block, "runs").set_index("seed")
    equations = import_module(block.point.system.equations)
    trained = list(networks.trained(block, equations))
    assert [run_id for run_id, *_ in trained] == [block.point.run_id(seed) for seed in runs.index]
    for (_, network, parts), (_, logged) in zip(trained, runs.iterrows(), strict=True):
        if hasattr(equations, "metrics"):
            measured = equations.metrics(network, parts)
        else:
            measured = {f"{k}_loss": equations.loss(network, v) for k, v in parts.items()}
        assert measured
        for name, value in measured.items():
            assert float(value) == pytest.approx(logged[name], rel=1e-4, abs=1e-6)


def test_what_cannot_be_put_together_is_one_line(tmp_path):
    equations, other = (
        import_module(f"circlet.collections.networks.equations.{name}")
        for name in ("quadratic", "letters")
    )
    (block,) = point("quadratic", results=tmp_path, steps=2).blocks
    with pytest.raises(CircletError, match=r"and its equations: \S+quadratic.py"):
        next(networks.trained(block, other))
    (block,) = point("quadratic", results=tmp_path, steps=2, log={"gradients": None}).blocks
    log = structs.replace(block.point.settings.log, parameters=None)
    unlogged = replace(block.point, settings=structs.replace(block.point.settings, log=log))
    with pytest.raises(CircletError, match=r"write log: {parameters: {}}"):
        next(networks.trained(replace(block, point=unlogged), equations))
