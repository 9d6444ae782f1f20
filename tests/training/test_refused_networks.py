"""Networks of users that a plain PyTorch loop trains differently are refused in one line."""

import pytest
from test_autograd import trained
from test_verify import of

from circlet.errors import CircletError
from circlet.training import job

# Networks that a plain loop trains differently, or that depend on logs, restarts or other runs.
REFUSED = {
    "a hook on a gradient": (
        {"init": "w = self.output.weight\nmask = torch.rand(w.shape) > 0.5\n"
         "w.register_hook(lambda g: g * mask.to(g))"},
        "does not train as in a plain PyTorch loop: .* hooks on gradients"),
    "weights also in a list": (
        {"init": "self.all = [self.output.weight]",
         "forward": "return self.hidden(pairs) @ self.all[0].T"},
        "does not train as in a plain PyTorch loop: .* weights that are also kept in a list"),
    "weights in a list that matter little, beside a metric in bfloat16": (
        {"init": "self.all = [self.output.weight]",
         "loss": "scores = network(pairs) + 1e-3 * noise * network.all[0].norm()",
         "metrics": "network.output.weight.bfloat16().norm()"},
        "does not train as in a plain PyTorch loop: .* weights that are also kept in a list"),
    "a sparse buffer": (
        {"init": "self.register_buffer('mask', torch.eye(width).to_sparse())"},
        r"network\(\): mask must be a dense tensor"),
    "data changed by the loss": (
        {"loss": "noise *= 0.9\nscores = network(pairs) + noise"},
        "return other numbers after a call with the same arguments, .* change copies of data"),
    "a list by seed": (
        {"init": "self.scale = [float(seeds.network)]",
         "forward": "return self.output(self.hidden(pairs)) * self.scale[0]"},
        r"does not train as in a plain PyTorch loop: .* self\.register_buffer"),
    "frozen by seed": (
        {"init": "self.output.weight.requires_grad_(seeds.network % 2 == 0)"},
        r"network\(\): output.weight differs between seeds: "),
    "a network that is used again": (
        {"more": "_NETWORK = Network(7, 8, None)\ndef network(parameters, seeds):\n"
                 "    for w in _NETWORK.parameters():\n        w.data.normal_()\n"
                 "    return _NETWORK",
         "init": "self.register_buffer('scale', torch.rand(()))"},
        "does not follow the seeds|does not train"),
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
    "a counter": (
        {"init": "self.calls = 0",
         "forward": "self.calls += 1\n"
                    "return self.output(self.hidden(pairs)) * (1 + self.calls / 100)"},
        "return other numbers after a call with the same arguments"),
    "the best loss so far": (
        {"init": "self.best = torch.tensor(float('inf'))",
         "metrics": "network.best = torch.minimum(network.best, network.output.bias.norm())",
         "more": "_metrics = metrics\ndef metrics(network, parts):\n"
                 "    return _metrics(network, parts) | {'test_loss': network.best}"},
        "return other numbers after a call with other arguments"),
    "numbers of an unseeded generator": (
        {"init": "self.register_buffer('scale', torch.tensor(np.random.default_rng().random()))",
         "loss": "scores = network(pairs) * network.scale"},
        "gives other numbers when it is repeated"),
    "a mask that is drawn once for all seeds": (
        {"init": "Network.mask = getattr(Network, 'mask', None)\n"
                 "if Network.mask is None:\n    Network.mask = torch.rand(width)\n"
                 "self.output.weight.data *= Network.mask"},
        r"network\(\) does not follow the seeds: without other runs before it, seed \d has other"),
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
@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_what_trains_otherwise_is_refused(tmp_path, changes, said):
    point = of(tmp_path, changes)
    with pytest.raises(CircletError, match=said) as caught:
        job.run_block(point.blocks[0], "cpu")
    assert "\n" not in str(caught.value)
    assert not point.blocks[0].log("runs").exists()


def test_a_weight_that_is_frozen_for_one_seed_in_the_middle_is_refused(tmp_path):
    """Even among runs that are trained one after another, of which few are tried."""
    frozen = {"init": "self.output.weight.requires_grad_(seeds.network != 1)"}
    point = of(tmp_path, frozen, batched=False)
    said = r"network\(\): output.weight differs between seeds: .* requires a gradient"
    with pytest.raises(CircletError, match=said):
        job.run_block(point.blocks[0], "cpu")


@pytest.mark.parametrize(
    ("batched", "condition"), [(False, "h.mean() > 1"), (True, "len(h) == 16")]
)
def test_a_weight_must_have_a_gradient_at_every_step_or_at_none(tmp_path, batched, condition):
    forward = f"h = self.hidden(pairs)\nreturn self.output(h) if {condition} else h[:, :7]"
    changes = {"forward": forward, "loss": "scores = network(pairs)"}
    point = of(tmp_path, changes, batched, steps=200, weight_decay=10, batch_size=16)
    with pytest.raises(CircletError, match=r"loss\(\) depends on output.* in some steps only"):
        trained(point, [0, 1] if batched else [0])
