"""Native kernels compared with the equations in PyTorch, which are the reference."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import CPU, SYSTEMS, built, config, kernel_logs, trained_logs
from hypothesis import example, given, settings
from hypothesis import strategies as st

from circlet import native
from circlet.study import planning
from circlet.study.seeds import Seeds
from circlet.training import autograd, native_run
from circlet.training.optimizers import optimizer
from circlet.training.stack import Stack

sizes, widths = st.integers(1, 40), st.integers(1, 300)
shares = st.sampled_from([0.3, 0.5, 0.8])

PARAMETERS = {
    "constant_attention": {
        "p": st.integers(3, 113), "d": st.integers(1, 200), "hidden": widths,
        "train_fraction": shares, "weight_decay": st.sampled_from([0.0, 0.6])},
    "embedding_mlp": {
        "p": st.integers(3, 113), "d": st.integers(1, 200), "hidden": widths,
        "train_fraction": shares,
        "activation": st.sampled_from(["silu", "relu"]),
        "residual": st.sampled_from(["exact", "cancelling"])},
    "sparse_transformer": {
        "p": st.integers(2, 12) | st.just(256), "d": st.integers(1, 12),
        "length": st.integers(1, 9),
        "hidden": sizes, "n_train": st.integers(1, 300), "n_test": st.integers(1, 300),
        "bias": st.booleans(), "dropout": st.sampled_from([0.0, 0.4]),
        "mlp_divisor": st.sampled_from([1.0, 10.0])},
    "particles": {
        "p": st.integers(3, 14), "d": st.integers(2, 5),
        "scaling": st.sampled_from(["per_coordinate", "overall"]),
        "f_a": st.sampled_from([0.0, 1.0])},
}  # fmt: skip
TRAINED = [name for name in PARAMETERS if SYSTEMS[name].is_trained]


@st.composite
def parameters(draw, system):
    """Parameters that a system allows."""
    drawn = SYSTEMS[system].defaults | {k: draw(v) for k, v in PARAMETERS[system].items()}
    if system == "sparse_transformer":
        drawn["k"] = draw(st.integers(1, drawn["length"]))
        drawn["vocabulary"] = drawn["p"] + draw(st.integers(0, 3))
        drawn["batch_size"] = draw(st.integers(1, drawn["n_train"]))
    return drawn


class Both:
    """The same run by a kernel and in PyTorch."""

    def __init__(self, system, parameters, dtype, seed=0):
        self.system, self.parameters, self.seed = system, parameters, seed
        self.spec = SYSTEMS[system]
        self.dtype = getattr(torch, dtype)
        self.equations = autograd.equations(self.spec)
        seeds = Seeds(seed, seed, seed, seed)
        start = self.equations.initial(parameters, seeds)
        declared = getattr(self.equations, "learning_rate_multipliers", lambda _: {})
        multipliers = declared(parameters)
        kernel = native.starts(self.spec.equations).kernel(parameters, seeds)
        self.run = native.Run(kernel, start, parameters, multipliers, dtype)
        self.batches = native_run.Batches(parameters, seeds)
        self.stack = Stack([start], self.dtype, CPU, multipliers)
        self.data = self.equations.data(parameters, [seeds], self.dtype, CPU)

    def gradient(self, step=0):
        """Return the gradient in PyTorch of the batch of a step; of the whole train set in 0."""
        out = self.stack.zeros()
        batch = getattr(self.equations, "batch", lambda data, _: data)
        data = batch(self.data, step) if step else self.data
        self.equations.gradients(self.stack.arrays, data, out.arrays)
        return out

    def train(self, steps):
        """Take some steps with the kernel and with PyTorch."""
        self.run.train(0, steps, self.batches.of(1, steps))
        optimiser = self.spec.is_trained and optimizer(self.parameters, self.stack.tensors)
        for step in range(1, steps + 1):
            if optimiser:
                optimiser.step(self.gradient(step).tensors)
            else:
                self.equations.step(self.stack.arrays, self.data)

    def in_double(self):
        """Return a copy with the same weights in float64."""
        copy = Both(self.system, self.parameters, "float64", self.seed)
        for name, values in self.stack.arrays.items():
            copy.stack.arrays[name].copy_(values)
        return copy

    def assert_equal(self, ours, expected, tolerance):
        """Compare arrays by name, relative to the largest number of all, because some cancel."""
        scale = max(values.abs().max().item() for values in expected.values())
        for name, values in expected.items():
            torch.testing.assert_close(
                torch.from_numpy(ours[name]).to(values), values[0], rtol=0, atol=tolerance * scale,
                msg=lambda text, name=name: f"{name}: {text}",
            )  # fmt: skip


def test_the_kernels_are_built_where_there_is_a_compiler():
    if any(map(shutil.which, ("c++", "g++", "clang++"))):
        assert native.missing() == ""


@built
@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**200), st.integers(0, 2**32 - 3), st.integers(1, 3000))
@example(0, 0, 1)
@example(2**128 - 1, 2**32 - 3, 2)
def test_orders_and_dropout_are_those_that_numpy_draws(seed, first, n):
    seeds, epochs, d, rate = Seeds(0, 0, 0, seed), range(first, first + 2), 3, 0.4
    drawn = native.Epochs.draw(seeds.order_words(), epochs, n, d, rate)
    for i, epoch in enumerate(epochs):
        stream = seeds.stream("order", epoch)
        np.testing.assert_array_equal(drawn.arrays["orders"][i], stream.permutation(n))
        kept = stream.random((d, n), dtype=np.float32) >= rate
        np.testing.assert_array_equal(drawn.arrays["kept"][i], kept)


@built
@pytest.mark.parametrize("system", TRAINED)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
@settings(deadline=None, max_examples=25, derandomize=True)
@given(drawn=st.data())
def test_gradients_are_those_of_the_equations(system, dtype, tolerance, drawn):
    chosen = drawn.draw(parameters(system))
    if dtype == "float32" and system == "sparse_transformer":
        chosen |= {"d": chosen["d"] + 3}  # the norm of few numbers cancels: see the next test
    both = Both(system, chosen, dtype)
    exact = both.in_double()
    both.assert_equal(both.run.gradient(), exact.gradient().arrays, tolerance)
    step = 3
    by_kernel = both.run.gradient(step, both.batches.of(step, step))
    both.assert_equal(by_kernel, exact.gradient(step).arrays, tolerance)


@built
@pytest.mark.parametrize("d", [1, 2, 3])
def test_where_float32_cancels_a_kernel_is_as_exact_as_pytorch(d):
    """The gradient before the norm of d numbers is a small difference of large ones."""
    errors = []
    for seed in range(60):
        chosen = SYSTEMS["sparse_transformer"].defaults | {"d": d, "n_train": 40, "hidden": 5}
        both = Both("sparse_transformer", chosen, "float32", seed)
        exact, by_torch = both.in_double().gradient().arrays, both.gradient().arrays
        by_kernel = both.run.gradient()
        errors.append([
            max(np.abs(gradient[name] - exact[name][0].numpy()).max() for name in exact)
            for gradient in (by_kernel, {k: v[0].numpy() for k, v in by_torch.items()})
        ])  # fmt: skip
    kernel, pytorch = np.quantile(errors, 0.9, axis=0)
    assert 0 < kernel < 2 * pytorch < 1e-4


@built
def test_a_kernel_takes_subnormal_numbers_for_zero_and_restores_the_processor():
    both = Both("constant_attention", SYSTEMS["constant_attention"].defaults, "float32")
    both.run.arrays["hidden.bias"][0] = -1e3  # a dead unit: its gradient is 0, and its mean decays
    dead, smallest = np.flatnonzero(both.run.values == -1e3), np.finfo("float32").tiny
    both.run.means[dead] = smallest
    torch.set_flush_denormal(False)
    try:
        both.run.train(0, 1, both.batches.of(1, 1))
        assert both.run.means[dead] == 0
        assert smallest * np.float32(0.9) > 0
    finally:
        torch.set_flush_denormal(True)


@built
@pytest.mark.parametrize("system", TRAINED)
@settings(deadline=None, max_examples=15, derandomize=True)
@given(drawn=st.data())
def test_metrics_are_those_of_the_equations(system, drawn):
    both = Both(system, drawn.draw(parameters(system)), "float64")
    expected = both.equations.metrics(both.stack.arrays, both.data)
    measured = {name: value.item() for name, value in expected.items()}
    assert both.run.metrics() == pytest.approx(measured, rel=1e-12, abs=1e-12, nan_ok=True)


@built
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("system", TRAINED)
def test_a_weight_that_is_not_finite_makes_the_loss_so(system, value):
    both = Both(system, SYSTEMS[system].defaults, "float32")
    both.run.values[0] = value
    assert not np.isfinite(both.run.metrics()["train_loss"])
    assert not all(np.isfinite(array).all() for array in both.run.gradient().values())


@built
@pytest.mark.parametrize("system", PARAMETERS)
@settings(deadline=None, max_examples=8, derandomize=True)
@given(drawn=st.data())
def test_steps_are_those_of_the_equations(system, drawn):
    both = Both(system, drawn.draw(parameters(system)), "float64")
    both.train(10)
    both.assert_equal(both.run.arrays, both.stack.arrays, 1e-8)


@built
@pytest.mark.parametrize("system", PARAMETERS)
def test_steps_have_the_same_bits_however_they_are_called(system):
    """Steps may be taken at once or one by one: a run may be interrupted anywhere."""
    chosen = SYSTEMS[system].defaults | {"p": 7}
    chosen |= {"vocabulary": 8} if "vocabulary" in chosen else {}
    one, other = Both(system, chosen, "float32"), Both(system, chosen, "float32")
    one.run.train(0, 70, one.batches.of(1, 70))
    for step in range(70):
        other.run.train(step, 1, other.batches.of(step + 1, step + 1))
    np.testing.assert_array_equal(one.run.values, other.run.values)


@built
@pytest.mark.parametrize("system", PARAMETERS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 1e-3)])
def test_logs_are_those_of_pytorch(system, dtype, tolerance):
    small = {"n_train": 70, "dropout": 0.4} if system == "sparse_transformer" else {"p": 11}
    often = {kind: {"every": 4} for kind in SYSTEMS[system].kinds if kind != "runs"}
    study = planning.plan(config(system=system, parameters=small, steps=20, log=often, dtype=dtype))
    by_kernel, by_torch = (
        {kind: table.to_pandas().sort_values("seed", kind="stable", ignore_index=True)
         for kind, table in tables.items()}
        for tables in (kernel_logs(study.points[0], [0, 1]),
                       trained_logs(study.points[0], [0, 1]))
    )  # fmt: skip
    assert by_kernel.keys() == by_torch.keys() == set(SYSTEMS[system].kinds)
    for frame in (by_kernel, by_torch):
        frame["runs"] = frame["runs"].drop(columns="seconds")
    for kind, expected in by_torch.items():
        pd.testing.assert_frame_equal(by_kernel[kind], expected, rtol=tolerance, atol=tolerance)


@built
def test_losses_of_certain_networks_do_not_cancel():
    """Like the PyTorch metrics: far below 1e-7, and for logits that float32 cannot exponentiate."""
    both = Both("constant_attention", SYSTEMS["constant_attention"].defaults, "float32")
    both.run.train(0, 4000)
    for name, values in both.stack.arrays.items():
        values[0] = torch.from_numpy(both.run.arrays[name])
    for factor in (1, 30):
        both.run.arrays["output.weight"] *= factor
        both.stack.arrays["output.weight"] *= factor
        expected = both.equations.metrics(both.stack.arrays, both.data)
        measured = {name: value.item() for name, value in expected.items()}
        assert both.run.metrics() == pytest.approx(measured, rel=1e-4)


@built
@pytest.mark.parametrize("kind", native.KINDS)
def test_all_instructions_of_this_processor_give_the_same_numbers(monkeypatch, kind):
    """They agree up to rounding, for each library that was built and can run on this machine."""
    path = native.path_of(kind)
    if path is None or native.KINDS[kind] > native.library().widest():
        pytest.skip(f"no {kind} here")

    def numbers():
        runs = [Both(name, SYSTEMS[name].defaults, "float64").run
                for name in ("embedding_mlp", "sparse_transformer")]  # fmt: skip
        sums = [np.abs(run.gradient()["embedding"]).sum() for run in runs]
        return [*sums, *(value for run in runs for value in run.metrics().values())]

    usual = numbers()
    monkeypatch.setenv("CIRCLET_INSTRUCTIONS", kind)
    library = native.library.__wrapped__()
    monkeypatch.setattr(native, "library", lambda: library)
    assert native.instructions() == kind
    assert numbers() == pytest.approx(usual, rel=1e-12)
