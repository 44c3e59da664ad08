import torch

from fairground.functional import blocks
from fairground.functional.blocks import sum_over_blocks


def test_blocks_are_summed_and_worked_out_anew_for_the_gradient(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 20)
    x = torch.randn(9, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    seen = []

    def cubes(rows: slice) -> torch.Tensor:
        seen.append(rows.start)
        return x[rows].pow(3).sum()

    total = sum_over_blocks(cubes, 9, 5)
    assert seen == [0, 4, 8]
    assert torch.allclose(total, x.pow(3).sum())
    (gradient,) = torch.autograd.grad(total, x, create_graph=True)
    assert len(seen) > 3
    assert torch.allclose(gradient, 3 * x.square())
    assert torch.allclose(torch.autograd.grad(gradient.sum(), x)[0], 6 * x)
    assert torch.allclose(torch.func.grad(lambda y: sum_over_blocks(lambda r: y[r].pow(3).sum(), 9, 5))(x), gradient)
