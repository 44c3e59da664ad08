"""Embeddings, proxies and labels that need no random numbers, and losses on them.

`X` holds eight raw embeddings of four dimensions. `F8` gives them four classes, the last with a single sample; `F8B`
gives them four classes of two. All are float64, so that values can be compared to nine digits.
"""

import inspect

import torch
from torch import Tensor

from fairground.contracts.loss import Loss, Triplets
from fairground.spec.catalogue import find


def _counting(n: int) -> Tensor:
    return torch.arange(1, n + 1, dtype=torch.float64)


_ROW = _counting(8).unsqueeze(1)
_COLUMN = _counting(4)

#: (8, 4) raw embeddings
X = torch.sin(1.3 * _ROW + 0.7 * _COLUMN**2) + 0.25 * torch.cos(2.1 * _ROW * _COLUMN)
#: (4, 4) class weights or proxies, one per class
PROXIES = torch.cos(0.9 * _ROW[:4] + 1.1 * _COLUMN * _ROW[:4])
#: (4, 2, 4) centres, two per class
CENTRES = torch.cos(0.5 * _ROW[:4].unsqueeze(2) + 1.7 * _counting(2).view(1, 2, 1) * _COLUMN)

#: one class of three, two of two, one of one
F8 = torch.tensor([0, 0, 0, 1, 1, 2, 2, 3])
#: four classes of two
F8B = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
#: one triplet for every anchor of `F8B`
T8B = Triplets(torch.arange(8), torch.tensor([1, 0, 3, 2, 5, 4, 7, 6]), torch.tensor([2, 4, 0, 7, 1, 6, 3, 5]))


def build(name: str, *, n_classes: int = 4, embedding_dim: int = 4, **settings: object) -> Loss:
    """Return a loss, with the facts its constructor asks for."""
    kind = find("losses", name)
    facts = {"n_classes": n_classes, "embedding_dim": embedding_dim}
    asked = inspect.signature(kind).parameters
    loss: Loss = kind(**{key: value for key, value in facts.items() if key in asked}, **settings)
    return loss


def on_fixture(name: str, **settings: object) -> Loss:
    """Return a loss in float64 with `PROXIES`, or `CENTRES` if it has two per class, for its class vectors."""
    loss = build(name, **settings).double()
    with torch.no_grad():
        for weights in loss.parameters():
            if weights.ndim >= 2:
                weights.copy_(CENTRES if weights.ndim == 3 and weights.shape[1] == 2 else PROXIES.view_as(weights))
    return loss


def gradient_of(loss: Loss, embeddings: Tensor, labels: Tensor, *tuples: object) -> tuple[float, Tensor]:
    """Return value and gradient."""
    leaf = embeddings.clone().requires_grad_()
    value = loss(leaf, labels, *tuples, generator=torch.Generator().manual_seed(0))
    value.backward()
    assert leaf.grad is not None
    return value.item(), leaf.grad
