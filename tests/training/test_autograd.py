"""Networks given as a plain nn.Module and a loss: equal to a plain training loop."""

import numpy as np
import pytest
import torch
from conftest import CPU, NETWORKS, experiment, planned, trained_logs
from projects import edit

from circlet.errors import CircletError
from circlet.storage import parquet
from circlet.systems import trees
from circlet.training import autograd, job, run, sizes


def point(
    system, folder=NETWORKS, results="results", runs=4, log=None, steps=100, dtype="float64",
    **parameters,
):  # fmt: skip
    settings = {"steps": steps, "dtype": dtype, "seeds": {"count": runs}, "block": runs}
    small = experiment(f"{folder.name}.{system}", parameters=parameters, log=log or {}, **settings)
    return planned(results, {"collections": [str(folder)]}, x=small).points[0]


def trained(point, seeds):
    """Return the final weights of some runs, by name."""
    *_, group = run.run_group(point, seeds, CPU)
    return group.stack.arrays


def plain_loop(point, seed):
    """Return the final weights of a plain training loop: nn.Module, autograd, torch.optim."""
    equations, seeds = autograd.equations(point.system), point.seeds(seed)
    parameters, dtype = point.parameters, getattr(torch, point.settings.dtype)
    network = trees.cast(equations.network(parameters, seeds), dtype)
    start = equations.initial(parameters, seeds)
    for name, values in network.named_parameters():
        values.data.copy_(torch.as_tensor(start[equations.logged(name)]))
    weights = [values for values in network.parameters() if values.requires_grad]
    decay = parameters.get("weight_decay", 0)
    optimizer = {
        "adamw": lambda lr: torch.optim.AdamW(weights, lr, weight_decay=decay, fused=True),
        "adam": lambda lr: torch.optim.Adam(weights, lr, weight_decay=decay, fused=True),
        "sgd": lambda lr: torch.optim.SGD(weights, lr, parameters["momentum"], weight_decay=decay),
    }[parameters["optimizer"]](parameters["learning_rate"])
    train = trees.typed(equations.examples(parameters, seeds)["train"], dtype)
    n = len(trees.tensors(train)[0])
    size = parameters.get("batch_size", n)
    for step in range(point.steps):
        epoch, place = divmod(step, -(-n // size))
        rows = np.arange(n)
        if size < n:
            rows = seeds.stream("order", epoch).permutation(n)[place * size : (place + 1) * size]
        optimizer.zero_grad()
        equations.module.loss(network, trees.mapped(lambda values: values[rows], train)).backward()  # noqa: B023
        optimizer.step()
    return {equations.logged(n): v.detach() for n, v in network.named_parameters()}


@pytest.mark.parametrize("optimizer", ["adamw", "adam", "sgd"])
@pytest.mark.parametrize("system", ["quadratic", "regression"])
def test_equal_to_a_plain_loop(system, optimizer):
    """Bit by bit for `quadratic`, whose tensor sizes suit PyTorch's kernels, alone or stacked."""
    user_point = point(system, optimizer=optimizer, momentum=0.9 if optimizer == "sgd" else 0.0)
    alone, stacked = trained(user_point, [2]), trained(user_point, [0, 1, 2, 3])
    expected = plain_loop(user_point, 2)
    assert expected.keys() == alone.keys()
    for name, values in expected.items():
        for actual in (alone[name][0], stacked[name][2]):
            torch.testing.assert_close(actual, values, rtol=0, atol=1e-13)
            if system == "quadratic":
                assert torch.equal(actual, values), name
    assert not torch.equal(stacked[name][1], stacked[name][2])


def test_the_generator_of_torch_is_left_alone():
    torch.manual_seed(0)
    before = torch.default_generator.get_state()
    trained(point("quadratic", steps=2), [0, 1])
    assert torch.equal(torch.default_generator.get_state(), before)
    assert torch.get_default_dtype() == torch.float32


def test_metrics_are_those_that_it_declares(tmp_path):
    metrics = ["train_loss", "test_loss", "train_accuracy", "test_accuracy"]
    for system, names in (("quadratic", metrics), ("regression", metrics[:2])):
        (block,) = point(system, results=tmp_path / system, steps=20, optimizer="adamw").blocks
        job.run_block(block, "cpu")
        curves, runs = (parquet.read_log(block, kind) for kind in ("curves", "runs"))
        assert list(curves.columns)[2:] == [name for name in metrics if name in runs] == names
        last = curves[curves["step"] == 20].set_index("seed")
        assert (runs.set_index("seed")[names] == last[names]).all(axis=None)
        assert set(runs["dtype"]) == {"float64"}


def test_gradients_of_the_embedding_are_logged():
    log = {"gradients": {"every": 10}, "gradient_norms": {"every": 10}}
    user_point = point("quadratic", steps=20, log=log)
    tables = {kind: t.to_pandas() for kind, t in trained_logs(user_point, [0, 1]).items()}
    norms = tables["gradient_norms"]
    assert set(norms["name"]) == {"embedding", "output.weight"}
    assert tables["gradients"]["frequency"].max() == 3
    alone = trained_logs(user_point, [1])["gradient_norms"].to_pandas()
    np.testing.assert_allclose(norms[norms["seed"] == 1]["norm"], alone["norm"], rtol=1e-6)


def test_as_many_advance_together_as_the_caches_hold():
    small, large = point("quadratic", runs=400), point("quadratic", runs=400, width=1024, p=97)
    assert run.group_size(small, 400, CPU) > 50
    assert run.group_size(large, 400, CPU) == 1
    assert sizes.activations(small) == sizes.activations(point("quadratic", runs=2))


# Errors of an author: a text in quadratic.py, its replacement, and the message to expect.
WRONG = {
    "item": (
        "return functional.cross_entropy(network(pairs), target)",
        "x = functional.cross_entropy(network(pairs), target)\n"
        "    return x if x.item() > 0 else -x",
        r"quadratic.py:\d+: loss\(\) does what torch.func.vmap cannot do .*: use torch.where",
    ),
    "in-place": (
        "return self.output(self.embed(pairs).sum(-2).square())",
        "h = torch.zeros(len(pairs), 8).double()\n        h += self.embed(pairs).sum(-2)\n"
        "        return self.output(h.square())",
        "write x = x [+] y in place of x [+]= y",
    ),
    "in-place of a part": (
        "return self.output(self.embed(pairs).sum(-2).square())",
        "h = torch.zeros(len(pairs), 8).double()\n        h[:] = self.embed(pairs).sum(-2)\n"
        "        return self.output(h.square())",
        "build tensors with torch.stack",
    ),
    "a mask": (
        "return functional.cross_entropy(network(pairs), target)",
        "x = network(pairs)\n    return x[x > 0].sum()",
        "a product with the mask in place of indexing",
    ),
    "dropout": (
        "return self.output(self.embed(pairs).sum(-2).square())",
        "return self.output(functional.dropout(self.embed(pairs).sum(-2).square()))",
        "draw (random numbers|them) in data",
    ),
    "many losses": (
        "functional.cross_entropy(network(pairs), target)",
        "functional.cross_entropy(network(pairs), target, reduction='none')",
        r"loss\(\) must return one real number, .* shape \(\), not torch.float64 of shape",
    ),
    "no train": ('"train": (pairs[:n]', '"trian": (pairs[:n]', 'must return a dictionary {"train"'),
    "no tensor": (
        'return {"train":', 'return {"p": p, "train":', "must return tensors, .* not 7"),
    "no module": ("return Quadratic(", "return lambda: (", "must return a torch.nn.Module"),
    "an unknown metric": (
        'measured[f"{part}_loss"]', 'measured[f"{part}_los"]', "returns 'train_los', which SYSTEM"),
    "no metric": (
        "for part, (pairs, target) in parts.items()",
        'for part, (pairs, target) in {"test": parts["test"]}.items()',
        r"metrics\(\) does not return 'train_loss', which SYSTEM.metrics has"),
    "a metric per example": (
        ".double().mean()", ".double()", r"metrics\(\): train_accuracy must be one real number"),
    "another embedding": (
        "self.embed", "self.embedded", "SYSTEM.embedding: the network has no 'embed.weight'"),
    "a multiplier of nothing": (
        "def metrics(", "def learning_rate_multipliers(parameters):\n    return {'outptu': 2}\n\n\n"
        "def metrics(", "learning_rate_multipliers.. names 'outptu', which is no array"),
    "other shapes": (
        "int(0.8 * len(pairs))", "seeds.data + 9", "the examples of runs differ in shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("runs", [1, 2])
def test_what_cannot_be_is_one_line(network, name, runs):
    old, new, said = WRONG[name]
    edit(network / "equations/quadratic.py", old, new)
    user_point = point("quadratic", network, runs=runs, steps=3)
    only_stacked = name in ("item", "in-place", "in-place of a part", "a mask", "other shapes")
    if only_stacked and runs == 1:
        trained_logs(user_point, [0])  # without vmap, all of that is possible
        return
    with pytest.raises(CircletError, match=said) as caught:
        trained_logs(user_point, range(runs))
    assert "\n" not in str(caught.value)


def test_what_vmap_cannot_do_is_trained_run_by_run_if_the_author_says_so(network):
    edit(network / "equations/quadratic.py", *WRONG["item"][:2])
    edit(network / "systems/quadratic.py", "metrics=", "batched=False,\n    metrics=")
    user_point = point("quadratic", network, steps=5)
    assert run.group_size(user_point, 4, CPU) == 1
    ends = trained_logs(user_point, range(4))["parameters"].to_pandas()
    assert len(set(ends["seed"])) == 4
    whole = trained_logs(point("quadratic", steps=5), range(4))["parameters"].to_pandas()
    both = (frame.sort_values(["seed", "step"]).itertuples() for frame in (ends, whole))
    for row, other in zip(*both, strict=True):
        np.testing.assert_allclose(row.values, other.values, atol=1e-6)


# Errors that make a run depend on other runs, interruptions or logs.


def test_metrics_of_a_lone_run_may_not_draw(network):
    edit(network / "equations/quadratic.py", "measured = {}", "measured = {}\n    torch.rand(1)")
    with pytest.raises(CircletError, match=r"metrics\(\) draws random numbers"):
        trained_logs(point("quadratic", network, steps=3), [0])


def test_metrics_may_use_the_evaluation_mode(network):
    edit(network / "equations/quadratic.py", "measured = {}", "measured = {}\n    network.eval()")
    user_point = point("quadratic", network, steps=3)
    equations, seeds = autograd.equations(user_point.system), user_point.seeds(0)
    data = equations.data(user_point.parameters, [seeds], torch.float64, CPU)
    arrays = equations.initial(user_point.parameters, seeds)
    weights = {name: torch.as_tensor(array)[None] for name, array in arrays.items()}
    equations.metrics(weights, data)
    assert all(module.training for module in data.network.modules())


def test_a_system_without_labels_has_a_name(network):
    edit(network / "systems/regression.py", 'label="w", ', "")
    user_point = point("regression", network, dtype="float32")
    assert user_point.name == "defaults"
