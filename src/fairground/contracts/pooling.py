"""How a trunk makes one vector of the maps of its last stage: the mean, the maximum, both, or the generalised mean."""

from typing import Literal

from torch import Tensor

Pooling = Literal["avg", "max", "avg+max", "gem"]


def pooled(maps: Tensor, pooling: Pooling) -> Tensor:
    """Return feature vectors f (n, c) of maps h (n, c, ...), pooled over the places x of an image.

    avg: f = mean_x h(x). max: f = max_x h(x). avg+max: the sum of both, as in the released code of Roth et al. and
    of Kim et al., "Proxy Anchor Loss", CVPR 2020. gem: f = (mean_x max(h(x), 1e-6)^3)^(1/3), the generalised mean
    of Radenovic, Tolias and Chum, "Fine-tuning CNN Image Retrieval with No Human Annotation", TPAMI 2018, who learn
    the power from 3 on; here it stays 3, so that pooling adds no weights to a network.
    """
    places = maps.flatten(2)
    if pooling == "gem":
        return places.float().clamp(min=1e-6).pow(3).mean(2).pow(1 / 3)
    if pooling == "max":
        return places.amax(2)
    return places.mean(2) + places.amax(2) if pooling == "avg+max" else places.mean(2)
