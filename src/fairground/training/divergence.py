"""A loss that is not finite: whether the learning rate or the scale of the loss is to blame."""

import torch


def divergence_cause(embeddings: torch.Tensor, number: float) -> str:
    """Say whether the network or the loss is the cause, because that decides the remedy."""
    if not bool(torch.isfinite(embeddings).all()):
        return f"the loss is {number}: the network's output is not finite; the learning rate is probably too high"
    finite = f"although the embeddings are finite (largest norm {float(embeddings.norm(dim=1).max()):.3g})"
    return f"the loss is {number} {finite}: a scale, margin or temperature of the loss is probably too extreme"
