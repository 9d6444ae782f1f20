import pytest
import torch

from circlet.systems import matmul


def operands():
    generator = torch.Generator().manual_seed(0)
    sizes = ((1, 100, 2784), (1, 2784, 59))
    return [torch.randn(size, generator=generator) for size in sizes]


def test_gradients_go_through():
    a, b = operands()
    a.requires_grad_()
    matmul.matmul(a, b).sum().backward()
    torch.testing.assert_close(a.grad, b.sum(2)[:, None].expand_as(a), rtol=1e-4, atol=1e-4)


def test_without_onednn_it_is_the_product_of_torch(monkeypatch):
    monkeypatch.setattr(matmul, "_linear", None)
    a, b = operands()
    torch.testing.assert_close(matmul.matmul(a, b), a @ b, rtol=0, atol=0)


def test_this_torch_has_onednn():
    """Without oneDNN, embedding_mlp trains at half the speed on processors other than Intel's."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("a build of torch without oneDNN")
    assert matmul._linear is not None
