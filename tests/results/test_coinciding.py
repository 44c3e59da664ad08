"""Losses that coincide: found in the records, and for the reason that the page gives."""

import torch

from fairground.losses import ContrastiveLoss, MarginLoss, TripletLoss
from fairground.miners.distance_weighted import DistanceWeightedMiner


def test_where_every_tuple_is_active_three_losses_have_one_gradient() -> None:
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(64, 16, generator=generator, dtype=torch.float64)
    labels = torch.arange(64) // 4
    triplets = DistanceWeightedMiner()(points, labels, generator=generator)
    losses = (
        ContrastiveLoss(positive_margin=0.0, negative_margin=2.0),
        MarginLoss(beta=1.0, margin=2.0, learn_beta=False),
        TripletLoss(margin=2.0),
    )
    directions = []
    for loss in losses:
        leaf = points.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(leaf, labels, triplets), leaf)
        directions.append(gradient / gradient.norm())
    for other in directions[1:]:
        torch.testing.assert_close(other, directions[0], rtol=0, atol=1e-12)
