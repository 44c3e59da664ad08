"""How much work a run is, from its spec alone: images through the network, and bytes that stay on the disk.

Formula
    trained   = epochs * batches * batch size;  batches: as said, or one pass over the training images
    evaluated = (epochs / validate_every + 1) * images that select + test images + training images, if analysed
    images    = trained + evaluated / 3: a forward pass is about a third of a training step
    bytes     = 4 * weights * (1 + 2 * 3) + 4 * test images * dimension: the best weights, two checkpoints with two
                numbers of the optimiser for each weight, and the test embeddings

It needs a published data set, whose size is known, and a trunk that says how many weights it has. Patience ends a run
sooner: what is said is the most.
"""

from dataclasses import dataclass

from fairground.spec.counts import Counts
from fairground.spec.declarations import declared
from fairground.spec.run import RunSpec

#: a forward pass against a training step
FORWARD = 1 / 3
_COPIES = 1 + 2 * 3
_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class RunWork:
    """One run: images, those only evaluated counted as a third, and bytes; at most."""

    images: float
    bytes: int


def work_of(spec: RunSpec) -> RunWork | None:
    """Return how much work a run is; None where its data set or trunk does not say its size."""
    counts: Counts | None = declared("datasets", spec.data.name, "official", None)
    weights: int | None = declared("trunks", spec.trunk.name, "n_weights", None)
    if counts is None or weights is None:
        return None
    training, evaluation = spec.training, spec.evaluation
    held_out = _validation_share(spec)
    n_train, n_validation = (round(share * counts.train_images) for share in (1 - held_out, held_out))
    batches = training.batches_per_epoch or n_train // training.batch_size
    trained = training.epochs * batches * training.batch_size
    selecting = counts.test_images if evaluation.select_on == "test" else n_validation
    evaluated = (training.epochs // training.validate_every + 1) * selecting
    evaluated += counts.test_images if evaluation.test else 0
    evaluated += n_train if evaluation.analyses else 0
    width = spec.head.settings.get("embedding_dim")
    kept = counts.test_images * (width if isinstance(width, int) else 0) if evaluation.test else 0
    return RunWork(images=trained + FORWARD * evaluated, bytes=_BYTES * (_COPIES * weights + kept))


def _validation_share(spec: RunSpec) -> float:
    """Return which part of the training half validates: one fold of several, or the fraction said."""
    settings = spec.split.settings
    n_folds, fraction = settings.get("n_folds"), settings.get("validation")
    if isinstance(n_folds, int):
        return 1 / n_folds
    return float(fraction) if isinstance(fraction, int | float) else 0.0
