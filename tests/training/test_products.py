"""Products of rounded factors: how factors are rounded, and that all products of a step are."""

import numpy as np
import pytest
import torch
from conftest import CPU, SYSTEMS, point_of, trained_logs
from torch.nn.functional import conv1d, linear, scaled_dot_product_attention

from circlet.errors import CircletError
from circlet.training import autograd, products, run
from circlet.training.stack import Stack

BITS = {"tf32": 10, "bfloat16": 7}


def nearest(x, bits):
    """Round float32 numbers to some bits of mantissa, ties to even, by integer arithmetic."""
    whole, unit = x.numpy().view(np.uint32).astype(np.uint64), 2 ** (23 - bits)
    down, rest = whole // unit, whole % unit
    up = (rest > unit // 2) | ((rest == unit // 2) & (down % 2 == 1))
    return torch.as_tensor(((down + up) * unit).astype(np.uint32).view(np.float32))


@pytest.mark.parametrize("kind", BITS)
def test_every_mantissa_is_rounded_to_the_nearest(kind):
    mantissas = (torch.arange(2**23, dtype=torch.int32) + 0x3F800000).view(torch.float32)
    for x in (mantissas, -1e-30 * mantissas):
        rounded = products._ROUNDED[kind](x)
        assert torch.equal(rounded, nearest(x, BITS[kind]))
        assert torch.equal(rounded, products._ROUNDED[kind](rounded))
    assert len(rounded.unique()) == 2 ** BITS[kind] + 1
    assert products._ROUNDED[kind](torch.tensor([torch.nan, torch.inf])).isfinite().sum() == 0


OPERATIONS = {
    "vector": lambda a, b: a[0] @ b[:, 0],
    "matrix and vector": lambda a, b: a @ b[:, 0],
    "matrices": lambda a, b: a @ b,
    "stacked": lambda a, b: a.expand(3, -1, -1) @ b,
    "linear": lambda a, b: linear(a, b.mT, torch.ones(5)),
    "added": lambda a, b: torch.ones(3, 4, 5).baddbmm_(a.expand(3, -1, -1), b.expand(3, -1, -1)),
    "einsum": lambda a, b: torch.einsum("ij,jk->ki", a, b),
    "convolution": lambda a, b: conv1d(a.mT[None], b.mT[..., None]),
}


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_products_are_those_of_rounded_factors(operation, kind):
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(shape, generator=generator) for shape in ((4, 3), (3, 5)))
    with products.rounded(kind):
        product = operation(a, b)
    assert torch.equal(product, operation(nearest(a, BITS[kind]), nearest(b, BITS[kind])))
    assert not torch.equal(product, operation(a, b))


def test_float32_and_the_end_leave_products_alone():
    a = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    with products.rounded("float32"):
        assert torch.equal(a @ a.mT, products.rounded("float32")(torch.mm)(a, a.mT))
    before, allowed = a @ a.mT, torch.backends.cuda.matmul.allow_tf32
    with pytest.raises(ZeroDivisionError), products.rounded("bfloat16"):
        assert torch.backends.cuda.matmul.allow_tf32
        _ = 1 / 0
    assert torch.equal(a @ a.mT, before)
    assert torch.backends.cuda.matmul.allow_tf32 == allowed


def test_numbers_that_are_not_float32_are_left_alone():
    a, n = torch.randn(4, 4, dtype=torch.float64), torch.arange(300, 316).view(4, 4)
    with products.rounded("bfloat16"):
        assert torch.equal(a @ a, torch.mm(a, a))
        assert (n @ n)[0, 0] == sum(n[0] * n[:, 0])


class Rounding(products._Rounding):
    """Rounding of factors in a float64 step, in which nothing else is rounded."""

    def _round(self, factor):
        return self.rounded(factor.float()).double() if factor.is_floating_point() else factor


def stepped(point, dtype, kind="float32", mode=None):
    """Return two runs' gradients at the start, or their positions after a step, as a vector."""
    equations, seeds = autograd.equations(point.system), range(2)
    weights = Stack(run.initials(point, seeds, {}), dtype, CPU, {}).arrays
    data = equations.data(point.parameters, [point.seeds(s) for s in seeds], dtype, CPU)
    batch = equations.batch(data, 1) if hasattr(equations, "batch") else data
    out = {name: torch.zeros_like(values) for name, values in weights.items()}
    with torch.no_grad(), mode or products.rounded(kind):
        if hasattr(equations, "gradients"):
            equations.gradients(weights, batch, out)
        else:
            equations.step(weights, batch)
            out = weights
    return torch.cat([values.flatten().double() for values in out.values()])


SMALL = {"embedding_mlp": {"p": 13, "d": 8}, "sparse_transformer": {"n_train": 200}}


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("system", [*SYSTEMS, "networks.letters"])
def test_every_product_of_a_step_is_rounded(system, kind):
    """For hand-written gradients, a simulation, and autograd under vmap."""
    point = point_of(system=system, parameters=SMALL.get(system, {}))
    plain, rounded = (stepped(point, torch.float32, k) for k in ("float32", kind))
    with torch.no_grad():
        exact = stepped(point, torch.float64, mode=Rounding(products._ROUNDED[kind]))
    gap = (rounded - plain).norm()
    assert 2**-15 * plain.norm() < gap < 2**-3 * plain.norm()
    # Few factors are so close to a tie that float32 rounds them to the other side.
    assert (rounded - exact).norm() < 0.1 * gap


def test_attention_in_one_kernel_is_rounded_forward_and_backward():
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(2, 3, 6, 4, generator=generator) for _ in range(3)]

    def gradients(mode, dtype):
        leaves = [x.to(dtype, copy=True).requires_grad_() for x in inputs]
        with mode:
            out = scaled_dot_product_attention(*leaves)
            (out**2).sum().backward()
        return torch.cat([out.detach().flatten(), *(x.grad.flatten() for x in leaves)]).double()

    rounded = gradients(products.rounded("bfloat16"), torch.float32)
    plain = gradients(products.rounded("float32"), torch.float32)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        exact = gradients(Rounding(products.to_bfloat16), torch.float64)
    assert (rounded - exact).norm() < 0.1 * (rounded - plain).norm()


def test_a_layer_that_hides_its_products_is_refused():
    layer = torch.nn.LSTM(4, 4)
    with products.rounded("tf32"), pytest.raises(CircletError, match=r"nn\.LSTM"):
        layer(torch.zeros(2, 4))


@pytest.mark.parametrize("system", ["constant_attention", "networks.letters"])
def test_runs_of_bfloat16_products_are_others_and_train(system):
    final = {}
    for kind in ("float32", "bfloat16"):
        logs = trained_logs(point_of(system=system, products=kind, steps=300), range(2))
        curves = logs["curves"].to_pandas().groupby("seed")["train_loss"]
        assert (curves.last() < 0.7 * curves.first()).all()
        assert logs["runs"]["products"].to_pylist() == [kind] * 2
        final[kind] = curves.last()
    assert (final["float32"] != final["bfloat16"]).all()
