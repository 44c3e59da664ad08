"""SoftTriple's centre regulariser: draws the several centres of a class together, so that spare ones merge.

Formula
    R = weight * ( sum_c sum_{k<l} sqrt(2 - 2 w_ck . w_cl) ) / (C K (K - 1)),  w_ck the unit centres of class c

Paper
    Qian, Shang, Sun, Hu, Li and Jin, "SoftTriple Loss: Deep Metric Learning Without Triplet Sampling", ICCV 2019,
    equation 8.

Departures from the paper
    For any loss with several centres per class, as `centres` or `weights` (C, K, D). Loss `soft_triple` has the same
    term as its own setting `reg_weight`: use one of the two. `divisor` "pairs" divides by the number of pairs,
    C K (K - 1) / 2, as the library of the Reality Check experiments did.
"""

from typing import Literal

from torch import Tensor

from fairground.contracts.regulariser import Loss, Real, Regulariser, require
from fairground.functional.prototypes import centre_spread


class SoftTripleCentresRegulariser(Regulariser):
    """`weight` multiplies the spread of each class' centres; `divisor` says what it is divided by."""

    tunable = {"weight": Real(low=0.0, high=1.0)}
    bounds = {"weight": "[0, inf)"}

    def __init__(self, *, weight: float = 0.2, divisor: Literal["ckk", "pairs"] = "ckk") -> None:
        super().__init__()
        self.weight, self.divisor = weight, divisor

    def check_loss(self, loss: Loss) -> None:
        needed = "a loss with several centres per class, such as soft_triple or sub_centre_arc_face"
        refusal = f"regulariser soft_triple_centres needs {needed}; {type(loss).__name__} has none"
        require(_centres(loss) is not None, refusal)

    def penalty(self, embeddings: Tensor, labels: Tensor, loss: Loss) -> Tensor:
        self.check_loss(loss)
        centres = _centres(loss)
        assert centres is not None
        return self.weight * centre_spread(centres, per_pair=self.divisor == "pairs")


def _centres(loss: Loss) -> Tensor | None:
    for name in ("centres", "weights"):
        found = getattr(loss, name, None)
        if isinstance(found, Tensor) and found.ndim == 3:
            return found
    return None
