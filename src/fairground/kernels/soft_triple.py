"""SoftTriple; equals `losses.soft_triple.SoftTripleLoss.formula`."""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.functional.prototypes import NEAREST
from fairground.kernels.cosines import cross_entropy_, kernel_of_centre_cosines
from fairground.kernels.normalize import normalize_rows, tangent_projection


def value_and_gradient(
    embeddings: Tensor,
    centres: Tensor,
    labels: Tensor,
    *,
    scale: float,
    gamma: float,
    margin: float,
    spread_weight: float,
) -> KernelResult:
    """Return the mean cross-entropy over softly chosen centres, plus the weighted sum of distances between centres."""
    own = labels.unsqueeze(1)

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor]:
        shares = (cosine / gamma).softmax(1)
        similarity = (shares * cosine).sum(1, keepdim=True)
        less = similarity.new_full(own.shape, -margin)
        value, slopes = cross_entropy_(similarity.squeeze(1).scatter_add(1, own, less), own, scale)
        # S = sum_k p_k s_k with p a softmax of s / gamma has the derivative p_k (1 + (s_k - S) / gamma).
        by_centre = cosine.sub_(similarity).div_(gamma).add_(1).mul_(shares)
        return value, by_centre.mul_(slopes.unsqueeze(1))

    result = kernel_of_centre_cosines(embeddings, centres, rule)
    if not spread_weight:
        return result
    spread, gradient = _spread(centres.detach().to(embeddings.dtype), spread_weight)
    return KernelResult(result.value + spread, result.gradient, (result.parameter_gradients[0] + gradient,))


def _spread(centres: Tensor, weight: float) -> tuple[Tensor, Tensor]:
    """Return weight * sum_c sum_{k<l} ||w_ck - w_cl|| over unit centres (C, K, d), and its gradient."""
    units, inverse = normalize_rows(centres)
    squares = (units @ units.transpose(1, 2)).mul_(-2).add_(2)
    distances = squares.clamp_min(NEAREST).sqrt_()
    slopes = distances.reciprocal().mul_(-weight).mul_(squares >= NEAREST)
    for matrix in (distances, slopes):
        torch.diagonal(matrix, dim1=1, dim2=2).zero_()
    return distances.sum() * (weight / 2), tangent_projection(slopes @ units, units, inverse)
