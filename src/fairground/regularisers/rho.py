"""Rho-regularisation: now and then the loss pushes a positive away, so that the embedding keeps more directions.

Formula
    the triplets of each anchor, independently with probability p_switch, are changed:
    reading "code":     (a, p, n) -> (a, a, p'), p' uniform in P(a)
    reading "replace":  (a, p, n) -> (a, p, p)
    reading "swap":     (a, p, n) -> (a, n, p)

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 5.1.

Departures from the paper
    The text speaks of switching the negative with the positive. The code of its benchmark runs does "code", its toy
    script "replace", and its words taken literally are "swap". An anchor without a positive keeps its triplets.
"""

from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.regulariser import Loss, Real, Regulariser, Triplets, Tuples, require
from fairground.functional.triplets import switch_triplets


class RhoRegulariser(Regulariser):
    """`p_switch` is the share of anchors whose triplets change, `reading` how."""

    tunable = {"p_switch": Real(low=0.0, high=0.6)}
    bounds = {"p_switch": "[0, 1]"}
    changes_tuples = True

    def __init__(self, *, p_switch: float = 0.2, reading: Literal["code", "replace", "swap"] = "code") -> None:
        super().__init__()
        self.p_switch, self.reading = p_switch, reading

    def check_loss(self, loss: Loss) -> None:
        require(Triplets in loss.accepts, f"regulariser rho changes triplets; {type(loss).__name__} takes none")

    def change_tuples(self, tuples: Tuples, labels: Tensor, *, generator: Generator | None = None) -> Tuples:
        refusal = "regulariser rho changes triplets, and this miner gives pairs; try miner=distance_weighted"
        require(isinstance(tuples, Triplets), refusal)
        assert isinstance(tuples, Triplets)
        return switch_triplets(tuples, labels, chance=self.p_switch, reading=self.reading, generator=generator)
