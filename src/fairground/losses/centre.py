"""Centre loss: softmax classification, with every sample drawn to the learnt centre of its class.

Formula
    L = mean_i [ -log softmax_c(w_c.x_i + b_c)  at c = y_i   +   weight / 2 * || x_i - c_{y_i} ||^2 ],   x raw

Paper
    Wen, Zhang, Li and Qiao, "A discriminative feature learning approach for deep face recognition", ECCV 2016, eqs. 2-5
    (weight is its lambda, 0.003).

Departures from the paper
    Means over the batch where the paper sums, which only rescales the step.
    Centres learn by the gradient of L under the loss's own optimiser, as every learnable part of a loss here does; the
    paper moves each centre by a rate of 0.5 towards the mean of its samples in the batch.
"""

from torch import Generator, Tensor, nn, zeros

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional.prototypes import class_vectors, mean_cross_entropy


class CentreLoss(Loss):
    """`weight` of the pull to the centres; classification alone spreads classes but does not tighten them."""

    is_learnable = True
    tunable = {"weight": LogReal(low=1e-4, high=1.0)}
    bounds = {"weight": "[0, inf)"}
    on_sphere: bool = False

    def __init__(self, *, n_classes: int, embedding_dim: int, weight: float = 0.003) -> None:
        super().__init__()
        self.n_classes, self.weight = n_classes, weight
        self.weights = class_vectors((n_classes, embedding_dim), "uniform")
        self.biases = nn.Parameter(zeros(n_classes))
        self.centres = class_vectors((n_classes, embedding_dim), "uniform")

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        weights, biases, centres = (part.to(embeddings.dtype) for part in (self.weights, self.biases, self.centres))
        classification = mean_cross_entropy(nn.functional.linear(embeddings, weights, biases), labels)
        gaps = embeddings - centres[labels]
        return classification + self.weight / 2 * gaps.square().sum() / max(1, len(labels))
