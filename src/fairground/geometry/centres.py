"""How far apart the centres of each class are."""

from torch import Tensor, triu_indices

from fairground.geometry.distances import unit


def centre_spread(centres: Tensor, *, per_pair: bool) -> Tensor:
    """Return sum_c sum_{k<l} ||w_ck - w_cl|| over unit centres (C, K, d), divided by C K (K - 1).

    `per_pair` divides by the number of pairs, C K (K - 1) / 2, instead. With one centre a class there is no pair and
    the spread is 0.
    """
    n_centres = centres.shape[1]
    if n_centres == 1:
        return centres.sum() * 0
    on_sphere = unit(centres)
    products = on_sphere @ on_sphere.transpose(1, 2)
    first, second = triu_indices(n_centres, n_centres, offset=1, device=centres.device)
    # The slope of the root is infinite where two centres coincide.
    distances = (2 - 2 * products[:, first, second]).clamp_min(1e-12).sqrt()
    return distances.mean() if per_pair else distances.mean() / 2
