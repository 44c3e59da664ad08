"""NT-Xent and its gradient; equals `NtXentLoss.formula`."""

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products
from fairground.kernels.tuplets import tuplets_


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, temperature: float, floor: float
) -> KernelResult | None:
    """Return the mean over positive pairs, `floor` added inside the logarithm, and its gradient.

    None without a positive or without a negative.
    """
    pairs = batch_pairs(embeddings, labels, tuples, repeats=True)
    if not pairs.are_complete:
        return None
    return kernel_of_products(embeddings, lambda s: _of_cosines(s, pairs, temperature, floor), normalise=True)


def _of_cosines(cosines: Tensor, pairs: BatchPairs, temperature: float, floor: float) -> tuple[Tensor, Tensor]:
    logits = cosines.div_(temperature)
    tuplets = tuplets_(logits, logits.take(pairs.place), pairs, within=1 / temperature)
    terms, pull = tuplets.terms, tuplets.pull
    if floor > 0:
        probability = (-terms).exp()
        terms, pull = -(probability + floor).log(), pull * probability / (probability + floor)
    pull = pull / (len(terms) * temperature)
    return terms.mean(), tuplets.gradient_(pull, pull)
