import math

import numpy as np
import pytest
import torch

from circlet.systems import loss

F = torch.nn.functional


def scores(gap, dtype):
    """Return scores of three classes, of which the right one leads by ``gap``."""
    return torch.tensor([[gap, 0.0, -1.0]], dtype=dtype), torch.tensor([[0]])


@pytest.mark.parametrize("gap", [0.0, 5.0, 20.0, 60.0])
def test_logit_gradient_is_exact_where_softmax_minus_one_is_noise(gap):
    """At a gap of 20 the probability of the others is 3e-9, below float32's steps near 1."""
    o, target = scores(gap, torch.float32)
    others = math.exp(-gap) + math.exp(-gap - 1)
    expected = -others / (1 + others)
    assert loss.logit_gradient(o, target, 1)[0, 0] == pytest.approx(expected, rel=1e-6)
    cancelling = loss.cancelling_logit_gradient(o, target, 1)[0, 0].item()
    if gap >= 20:
        assert cancelling == 0  # no step would be taken
    else:
        assert cancelling == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("dim", [1, 2])
def test_logit_gradient_is_that_of_pytorchs_cross_entropy(dim):
    torch.manual_seed(0)
    o = torch.randn(2, 5, 7, dtype=torch.float64, requires_grad=True)
    classes = o.shape[dim]
    target = torch.randint(classes, (2, 7) if dim == 1 else (2, 5))
    flat = o.movedim(dim, 1)
    F.cross_entropy(flat, target, reduction="sum").backward()
    for gradient in (loss.logit_gradient, loss.cancelling_logit_gradient):
        actual = gradient(o.detach(), target.unsqueeze(dim), dim)
        torch.testing.assert_close(actual, o.grad, atol=1e-14, rtol=1e-12)
    value, accuracy = loss.metrics(o.detach(), target.unsqueeze(dim), dim)
    expected = F.cross_entropy(flat.detach(), target, reduction="none").mean(1)
    torch.testing.assert_close(value, expected)
    right = (flat.detach().argmax(1) == target).double().mean(1)
    torch.testing.assert_close(accuracy, right)


def test_the_exact_cross_entropy_can_be_differentiated():
    """Autograd, here of stacked runs, gives the gradient of the shipped systems."""
    torch.manual_seed(0)
    o, target = 30 * torch.randn(3, 9, 5), torch.randint(5, (3, 9, 1))
    gradient = torch.func.vmap(torch.func.grad(lambda *one: loss.cross_entropy(*one, 1).mean()))
    expected = loss.logit_gradient(o, target, 2) / 9
    torch.testing.assert_close(gradient(o, target), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("gap", [20.0, 25.0, 40.0])
def test_small_losses_are_measured_in_float32(gap):
    o, target = scores(gap, torch.float32)
    value, _ = loss.metrics(o[None] + 37.0, target[None], 2)
    expected = np.log1p(math.exp(-gap) + math.exp(-gap - 1))
    assert value.item() == pytest.approx(expected, rel=1e-4)
    rounded = F.cross_entropy(o + 37.0, target[0]).item()
    assert abs(rounded - expected) > 0.5 * expected  # the result of the usual formula
