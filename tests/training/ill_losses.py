"""Settings and losses that make a training ill on purpose."""

import torch
from torch import Tensor

from fairground.contracts.loss import Loss, Tuples

#: by the sign the doctor should name, words for the tiny run; what is stuck at its margin has collapsed too
ILL = {
    "stuck_at_margin": (
        *("loss=triplet", "miner=hardest", "loss.margin=1", "loss.power=2"),
        *("optimiser.lr=0.01", "training.batches_per_epoch=60", "training.epochs=2"),
    ),
    "no_active_tuples": (
        *("loss=triplet", "miner=all_semihard", "loss.margin=-0.2"),
        *("training.batches_per_epoch=60", "training.epochs=1"),
    ),
    "exploding_norms": ("loss=contrastive", "optimiser.lr=10", "training.batches_per_epoch=20"),
    "dead_proxies": ("loss=sub_centre_arc_face", "loss.n_centres=8", "training.batches_per_epoch=12"),
    "overfitting": ("loss=proxy_nca", "optimiser.loss_lr=0", "training.epochs=5", "training.batches_per_epoch=12"),
}


class OneSidedLoss(Loss):
    """Draws everything towards one direction, each row as far as it was: what lies nearest to it becomes a hub."""

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        return (embeddings.mean(0)[0] - 10).square()
