"""Embeddings, proxies and labels that need no random numbers, and the fixed triplets of the second labelling.

`X` holds eight raw embeddings of four dimensions. `F8` gives them four classes, the last with a single sample; `F8B`
gives them four classes of two. All are float64, so that values can be compared to nine digits.
"""

import torch

from fairground.contracts.loss import Triplets


def _counting(n: int) -> torch.Tensor:
    return torch.arange(1, n + 1, dtype=torch.float64)


_ROW = _counting(8).unsqueeze(1)
_COLUMN = _counting(4)

#: (8, 4) raw embeddings
X = torch.sin(1.3 * _ROW + 0.7 * _COLUMN**2) + 0.25 * torch.cos(2.1 * _ROW * _COLUMN)
#: (4, 4) class weights or proxies, one a class
PROXIES = torch.cos(0.9 * _ROW[:4] + 1.1 * _COLUMN * _ROW[:4])
#: (4, 2, 4) centres, two a class
CENTRES = torch.cos(0.5 * _ROW[:4].unsqueeze(2) + 1.7 * _counting(2).view(1, 2, 1) * _COLUMN)

#: one class of three, two of two, one of one
F8 = torch.tensor([0, 0, 0, 1, 1, 2, 2, 3])
#: four classes of two
F8B = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
#: one triplet for every anchor of `F8B`
T8B = Triplets(
    anchor=torch.arange(8),
    positive=torch.tensor([1, 0, 3, 2, 5, 4, 7, 6]),
    negative=torch.tensor([2, 4, 0, 7, 1, 6, 3, 5]),
)
