import pytest
import torch

from circlet.systems import matmul


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def operands(generator, runs, dtype=torch.float32):
    a = torch.randn(runs, 100, 2784, generator=generator, dtype=dtype)
    b = torch.randn(runs, 2784, 59, generator=generator, dtype=dtype)
    return a, b


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_product_is_that_of_float64(generator, runs, turned):
    a, b = operands(generator, runs)
    if turned:
        a, b = a.mT.contiguous().mT, b.mT.contiguous().mT
    found = matmul.matmul(a, b)
    # 2784 products of numbers of size 1, rounded to 6e-8 each.
    torch.testing.assert_close(found, (a.double() @ b.double()).float(), rtol=0, atol=2e-4)


def test_float64_is_left_alone(generator):
    a, b = operands(generator, 1, torch.float64)
    torch.testing.assert_close(matmul.matmul(a, b), a @ b, rtol=0, atol=0)


def test_gradients_go_through(generator):
    a, b = operands(generator, 1)
    a.requires_grad_()
    matmul.matmul(a, b).sum().backward()
    torch.testing.assert_close(a.grad, b.sum(2)[:, None].expand_as(a), rtol=1e-4, atol=1e-4)


def test_without_onednn_it_is_the_product_of_torch(generator, monkeypatch):
    monkeypatch.setattr(matmul, "_linear", None)
    a, b = operands(generator, 1)
    torch.testing.assert_close(matmul.matmul(a, b), a @ b, rtol=0, atol=0)


def test_this_torch_has_onednn():
    """Without oneDNN, embedding_mlp trains at half the speed on processors other than Intel's."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("a build of torch without oneDNN")
    assert matmul._linear is not None
