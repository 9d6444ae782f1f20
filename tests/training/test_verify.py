"""Networks of users are trained as by a plain PyTorch loop, or refused in one line."""

import functools
import itertools
import shutil
import textwrap

import numpy as np
import pytest
import torch
from test_autograd import NETWORKS, plain_loop, point, trained

from circlet.errors import CircletError
from circlet.training import hidden_state, job
from circlet.training.run import run_group
from circlet.training.verify import steps_of, verify, verify_end

CPU = torch.device("cpu")

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
    found = {{}}
    for part, examples in parts.items():
        right = network(examples[0]).argmax(-1) == examples[1]
        found |= {{f"{{part}}_loss": loss(network, examples),
                   f"{{part}}_accuracy": right.double().mean()}}
    return found


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


# Networks that a plain loop trains differently, or that depend on logs, restarts or other runs.
REFUSED = {
    "a hook on a gradient": (
        {"init": "w = self.output.weight\nmask = torch.rand(w.shape) > 0.5\n"
         "w.register_hook(lambda g: g * mask.to(g))"},
        r"network\(\): output.weight has a hook on its gradient"),
    "weights also in a list": (
        {"init": "self.all = [self.output.weight]",
         "forward": "return self.hidden(pairs) @ self.all[0].T"},
        "does not train as in a plain PyTorch loop: .* weights that are also kept in a list"),
    "weights in a list that matter little, beside a metric in bfloat16": (
        {"init": "self.all = [self.output.weight]",
         "loss": "scores = network(pairs) + 1e-3 * noise * network.all[0].norm()",
         "metrics": "network.output.weight.bfloat16().norm()"},
        "does not train as in a plain PyTorch loop: .* weights that are also kept in a list"),
    "a cache by the size of a batch": (
        {"init": "self.rest = {}\nself.register_buffer('sign', torch.rand(width) - 0.5)",
         "forward": "h = self.hidden(pairs)\nn = len(h)\nif n < 40:\n"
                    "    h = h * self.rest.setdefault(n, self.sign.detach().clone())\n"
                    "return self.output(h)"},
        "cannot be called for other runs: .* keep what no checkpoint has"),
    "a sparse buffer": (
        {"init": "self.register_buffer('mask', torch.eye(width).to_sparse())"},
        r"network\(\): mask must be a dense tensor"),
    "modules that are not registered": (
        {"init": "self.scales = [nn.Parameter(torch.rand(()))]",
         "forward": "return self.output(self.hidden(pairs) * self.scales[0].to(torch.float64))"},
        "scales.0 differs between seeds"),
    "data changed by the loss": (
        {"loss": "noise *= 0.9\nscores = network(pairs) + noise"},
        r"changes weights, buffers or data in place \(mul_\): change a copy"),
    "a list by seed": (
        {"init": "self.scale = [float(seeds.network)]",
         "forward": "return self.output(self.hidden(pairs)) * self.scale[0]"},
        r"network\(\): scale differs between seeds; .*register_buffer"),
    "frozen by seed": (
        {"init": "self.output.weight.requires_grad_(seeds.network % 2 == 0)"},
        r"network\(\): output.weight differs between seeds"),
    "a network that is used again": (
        {"more": "_NETWORK = Network(7, 8, None)\ndef network(parameters, seeds):\n"
                 "    for w in _NETWORK.parameters():\n        w.data.normal_()\n"
                 "    return _NETWORK",
         "init": "self.register_buffer('scale', torch.rand(()))"},
        "does not follow the seeds|does not train|changes weights, buffers or data in place"),
    "a multiplier of a frozen weight": (
        {"init": "self.output.weight.requires_grad_(False)",
         "more": "def learning_rate_multipliers(parameters):\n    return {'output.weight': 2}"},
        "names 'output.weight', which does not require a gradient"),
    "numbers of NumPy in a network": (
        {"init": "self.output.weight.data *= np.random.choice([-1, 1])"},
        r"network\(\) uses np.random: draw from seeds.stream"),
    "numbers of Python in data": (
        {"more": "_data = data\ndef data(parameters, seeds):\n    random.choice([1, 2])\n"
                 "    return _data(parameters, seeds)"},
        r"data\(\) uses random: draw from seeds.stream"),
    "numbers of NumPy in a loss": (
        {"loss": "scores = network(pairs) * np.random.rand()"},
        r"loss\(\) uses np.random"),
    "a generator of its own": (
        {"init": "self.generator = np.random.default_rng(0)",
         "loss": "scores = network(pairs) * network.generator.choice([1, 1.1])"},
        "generator.* changes at every call, and no checkpoint has it"),
    "a counter": (
        {"init": "self.calls = 0",
         "forward": "self.calls += 1\n"
                    "return self.output(self.hidden(pairs)) * (2 if self.calls > 10**4 else 1)"},
        "calls changes at every call, and no checkpoint has it"),
    "a counter of the module": (
        {"more": "_CALLS = 0\n_loss = loss\ndef loss(network, examples):\n    global _CALLS\n"
                 "    _CALLS += 1\n    return _loss(network, examples)"},
        "quadratic._CALLS changes at every call"),
    "a counter in a buffer": (
        {"init": "self.register_buffer('calls', torch.zeros(()))",
         "loss": "network.calls = network.calls + 1\nscores = network(pairs)"},
        "calls changes at every call"),
    "the best loss so far": (
        {"init": "self.best = torch.tensor(float('inf'))",
         "metrics": "network.best = torch.minimum(network.best, network.output.bias.norm())",
         "more": "_metrics = metrics\ndef metrics(network, parts):\n"
                 "    return _metrics(network, parts) | {'test_loss': network.best}"},
        "what one call leaves in best changes the next"),
    "a clock": (
        {"loss": "import time\nscores = network(pairs) * (1 + time.perf_counter() % 1)"},
        "changes at every call|gives other numbers when it is repeated"),
    "a counter on a weight": (
        {"loss": "w = network.output.weight\nw.n = getattr(w, 'n', 0) + 1\n"
                 "scores = network(pairs) * (1 if w.n < 30 else 2)"},
        r"output.weight\(\) changes at every call"),
    "numbers of an unseeded generator": (
        {"init": "self.register_buffer('scale', torch.tensor(np.random.default_rng().random()))",
         "loss": "scores = network(pairs) * network.scale"},
        "gives other numbers when it is repeated"),
    "a mask that is drawn once for all seeds": (
        {"init": "Network.mask = getattr(Network, 'mask', None)\n"
                 "if Network.mask is None:\n    Network.mask = torch.rand(width)\n"
                 "self.output.weight.data *= Network.mask"},
        r"network\(\) does not follow the seeds: without other runs before it, seed \d has other"),
    "data that are drawn once for all seeds": (
        {"more": "import functools\ndata = functools.cache(lambda *_, f=data: f({'p': 7}, None))\n"
                 "_data = data\ndef data(parameters, seeds):\n    return _data()"},
        "does not train as in a plain PyTorch loop"),
    "a sparse gradient": (
        {"init": "self.embed = nn.Embedding(p, width, sparse=True)"},
        r"loss\(\) has a sparse gradient of embedding: set sparse=False"),
    "a mask as a weight": (
        {"init": "mask = torch.full((3,), -torch.inf)\n"
                 "self.mask = nn.Parameter(mask, requires_grad=False)"},
        r"network\(\): mask is not finite at step 0: register it as a buffer"),
    "complex weights": (
        {"init": "self.c = nn.Parameter(torch.ones(3, dtype=torch.complex64))"},
        "c is torch.complex64, but weights must be real floats"),
    "lazy weights": (
        {"init": "self.lazy = nn.LazyLinear(3)"},
        "lazy.weight has no shape yet: call the network once"),
    "a loss without a gradient": (
        {"loss": "scores = network(pairs).detach()"},
        r"loss\(\) does not depend on the weights in a way that can be differentiated"),
    "a loss of whole numbers": (
        {"more": "_loss = loss\ndef loss(network, examples):\n"
                 "    return _loss(network, examples).long()"},
        r"a float tensor of shape \(\), not torch.int64 of shape \(\)"),
    "checkpoints of many runs": (
        {"forward": "return self.output(checkpoint(self.hidden, pairs, use_reentrant=False))"},
        "torch.func.vmap cannot do .*saved tensor hooks.*; or set batched=False in SYSTEM"),
    "spectral norm": (
        {"init": "parametrizations.spectral_norm(self.output)"},
        r"changes a buffer, as nn\.BatchNorm and spectral_norm do"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", REFUSED)
def test_what_trains_otherwise_is_refused(tmp_path, name):
    changes, said = REFUSED[name]
    own = of(tmp_path, changes)
    with pytest.raises(CircletError, match=said) as caught:
        job.run_block(own.blocks[0], "cpu")
    assert "\n" not in str(caught.value)
    assert not own.blocks[0].log("runs").exists()


def test_a_weight_that_is_frozen_for_one_seed_in_the_middle_is_refused(tmp_path):
    """Even among runs that are trained one after another, of which few are tried."""
    frozen = {"init": "self.output.weight.requires_grad_(seeds.network != 1)"}
    own = of(tmp_path, frozen, batched=False)
    said = r"network\(\): whether output.weight requires a gradient differs between seeds"
    with pytest.raises(CircletError, match=said):
        job.run_block(own.blocks[0], "cpu")


# By name: whether runs advance together, and what differs from the usual network.
EQUAL = {
    "the usual": (True, {}),
    "weights that the loss does not use": (
        True, {"init": "self.spare = nn.Linear(3, 3)"}),
    "complex buffers": (
        True, {"init": "self.register_buffer('dft', torch.fft.fft(torch.eye(width)) * 1j)",
               "forward": "h = self.hidden(pairs)\n"
                          "return self.output((h.to(self.dft.dtype) @ self.dft).real)"}),
    "tied weights": (True, {"init": "self.output.weight = self.embed.weight"}),
    "values without plain numbers": (
        True, {"init": "self.a = np.array({'x': 1}, dtype=object)\n"
                       "self.m = torch.empty(3, device='meta')\n"
                       "self.n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])\n"
                       "x = torch.ones(2).float()\n"
                       "self.q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)"}),
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
    "hooks of its own": (
        True, {"init": "self.fwd_hooks, self.n_hooks = [], 0"}),
    "a dataclass": (
        True, {"more": "import dataclasses, functools\n@dataclasses.dataclass(frozen=True)\n"
                       "class Settings:\n    scale: float = 2.0\n    @functools.cached_property\n"
                       "    def twice(self): return 2 * self.scale\nSETTINGS = Settings()",
               "init": "self.settings = Settings(3.0)",
               "forward": "scale = SETTINGS.twice * self.settings.scale\n"
                          "return self.output(self.hidden(pairs)) * scale"}),
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
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("name", EQUAL)
def test_what_is_right_equals_a_plain_loop(tmp_path, name):
    """The plain loop trains with a class of `torch.optim`."""
    batched, changes = EQUAL[name]
    own = of(tmp_path, changes, batched, steps=20)
    assert verify(own, own.every_seed, CPU) < 1e-9
    seeds = [0, 1, 2] if batched else [2]
    *_, group = run_group(own, seeds, CPU, trained=lambda group: verify_end(group, seeds))
    for weight, expected in plain_loop(own, 2).items():
        torch.testing.assert_close(group.stack.arrays[weight][-1], expected, rtol=0, atol=1e-12)


def test_code_may_demand_the_numbers_of_its_experiment(tmp_path):
    loss = {"loss": "scores = network(pairs) @ torch.eye(7)"}
    own = of(tmp_path, loss, dtype="float32")
    verify(own, own.every_seed, CPU)
    other = of(tmp_path / "float64", loss, dtype="float64")
    with pytest.raises(RuntimeError, match="same dtype"):
        verify(other, other.every_seed, CPU)


@pytest.mark.parametrize(
    ("batched", "condition"), [(False, "h.mean() > 1"), (True, "len(h) == 16")]
)
def test_a_weight_must_have_a_gradient_at_every_step_or_at_none(tmp_path, batched, condition):
    forward = f"h = self.hidden(pairs)\nreturn self.output(h) if {condition} else h[:, :7]"
    changes = {"forward": forward, "loss": "scores = network(pairs)"}
    own = of(tmp_path, changes, batched, steps=200, weight_decay=10, batch_size=16)
    with pytest.raises(CircletError, match=r"loss\(\) depends on output.* in some steps only"):
        trained(own, [0, 1] if batched else [0])


LATE = {
    "a penalty on weights in a list": {
        "init": "self.held = [self.output.weight]",
        "loss": "scores = network(pairs)\nfor w in network.held:\n"
                "    scores = scores * (1 + torch.relu(0.5 - w.norm()))"},
    "weights in a list that matter in a run between": {
        "steps": 1000,
        "init": "self.held = [self.output.weight]\n"
                "self.register_buffer('late', torch.tensor(seeds.embedding == 1.0))",
        "loss": "scores = network(pairs)\nfor w in network.held:\n"
                "    scores = scores * (1 + network.late * torch.relu(0.5 - w.norm()))"},
    "a target that is copied late": {
        "batched": False, "more": "import copy",
        "loss": "scores = network(pairs)\n"
                "if network.output.weight.norm() < 0.2 and not hasattr(network, 'target'):\n"
                "    network.target = copy.deepcopy(network.output).requires_grad_(False)\n"
                "if hasattr(network, 'target'):\n"
                "    scores = scores + network.target(network.hidden(pairs))"},
    "weights that are frozen late, in metrics": {
        "batched": False,
        "metrics": "if network.output.bias.norm() < 0.2:\n"
                   "    network.output.requires_grad_(False)"},
    "weights that are rounded late": {
        "batched": False,
        "metrics": "w = network.output.bias\nif w.norm() < 0.2: w.data = w.data.round(decimals=1)"},
    "a hook on a gradient, set late": {
        "batched": False,
        "loss": "w = network.output.bias\nif w.norm() < 0.2: w.register_hook(lambda g: g / 2)\n"
                "scores = network(pairs)"},
    "a phase in a buffer": {
        "init": "self.register_buffer('late', torch.zeros(()))",
        "loss": "scores = network(pairs) * (1 + network.late)\n"
                "network.late = torch.maximum(network.late, 0.5 * (\n"
                "    network.output.weight.detach().norm() < 0.2))"},
    "a counter that a generator hides": {
        "batched": False,
        "more": "def warm():\n    for factor in [1.0] * 200 + [2.0] * 100000: yield factor\n"
                "WARM = warm()",
        "loss": "scores = network(pairs) * next(WARM)"},
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_what_differs_late_is_refused_at_the_end(tmp_path, name):
    changes = dict(LATE[name])
    settings = {"steps": changes.pop("steps", 300), "weight_decay": 10}
    own = of(tmp_path, changes, changes.pop("batched", True), **settings)
    said = (
        r"of a fresh network|cannot be called for other|only network\(\) may|changes the next|"
        r"loss\(\) or metrics\(\) changes"
    )
    with pytest.raises(CircletError, match=said):
        job.run_block(own.blocks[0], "cpu")


def test_few_steps_are_tried():
    """At most 5 % of a block's steps, or so few that they take less than a second."""
    assert steps_of(point("quadratic", runs=2, steps=2), 2) == 2
    assert steps_of(point("quadratic", runs=4, steps=100), 4) == 4
    assert steps_of(point("quadratic", runs=20, steps=300), 20) == 8
    for runs, steps in ((1, 2000), (20, 300)):
        tried = steps_of(point("quadratic", runs=runs, steps=steps), runs)
        assert 3 * min(3, runs) * tried <= 0.05 * runs * steps


class Scale:
    @staticmethod
    def counted(n=[0]):  # noqa: B006
        n[0] += 1

    def method(self):
        pass


@functools.lru_cache
def cached():
    pass


def count(calls=[0]):  # noqa: B006
    calls[0] += 1


def closure(held):
    return lambda x: held[-1] * x


CYCLE, NUMBERS, DRAWN = itertools.cycle([1, 2]), (n for n in range(9)), np.random.default_rng(0)

# Values that a network may hold, and a call that changes each.
HELD = {
    "a list": (LIST := [1.0], lambda: LIST.append(2.0)),
    "a word in a dictionary": (WORDS := {"first": "relu"}, lambda: WORDS.update(first="tanh")),
    "a default": (count, count),
    "a default of a static method": (Scale, Scale.counted),
    "an attribute of a class": (Scale, lambda: setattr(Scale, "factor", 2.0)),
    "an attribute of a method": (Scale().method, lambda: setattr(Scale.method, "n", 1)),
    "an attribute of a function with a cache": (cached, lambda: setattr(cached, "n", 1)),
    "a closure": (closure(FACTORS := [1]), lambda: FACTORS.append(2)),
    "a cycle": (CYCLE, lambda: next(CYCLE)),
    "a generator": (NUMBERS, lambda: next(NUMBERS)),
    "a generator of random numbers": (DRAWN, DRAWN.random),
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_call_changes_is_seen(name):
    held, call = HELD[name]
    network = torch.nn.Linear(2, 3)
    network.held = held
    before = hidden_state.of_network(network)
    assert hidden_state.differences(before, hidden_state.of_network(network)) == []
    call()
    changed = hidden_state.differences(before, hidden_state.of_network(network))
    assert changed and all(place.startswith("held") for place in changed)


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (torch.relu, torch.celu),
        (torch.nn.ReLU(), torch.nn.Tanh()),
        (functools.partial(torch.mul, 2), functools.partial(torch.mul, 3)),
        ((lambda k: lambda x: k * x)(1), (lambda k: lambda x: k * x)(2)),
    ],
    ids=["functions of PyTorch", "modules", "arguments", "closures"],
)
def test_two_values_are_told_apart(first, other):
    networks = [torch.nn.Linear(2, 3) for _ in "12"]
    networks[0].held, networks[1].held = first, other
    assert hidden_state.differences(*map(hidden_state.of_network, networks))


def test_two_states_differ_where_they_do():
    class Network(torch.nn.Linear):
        pass

    first, other = Network(2, 3), Network(2, 3)
    for network in (first, other):
        network.numbers, network.nested = [1.0, float("nan")], {"a": (1, {"b": torch.ones(2)})}
        network.alike = lambda x: x
    states = [hidden_state.of_network(network) for network in (first, other)]
    assert hidden_state.differences(*states) == []  # weights may differ
    other.nested["a"][1]["b"][1] = 2
    assert hidden_state.differences(states[0], hidden_state.of_network(other)) == ["nested.a.1.b"]
