"""NT-Xent and its gradient; equals `NtXentLoss.formula`."""

from functools import partial

from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.kernels.batch_pairs import BatchPairs
from fairground.kernels.pair_blocks import kernel_of_pairs
from fairground.kernels.tuplets import tuplets_


def value_and_gradient(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, temperature: float, floor: float
) -> KernelResult | None:
    """Return the mean over positive pairs, `floor` added inside the logarithm, and its gradient.

    None without a positive or without a negative.
    """
    rule = partial(_of_cosines, temperature=temperature, floor=floor)
    return kernel_of_pairs(embeddings, labels, tuples, rule, repeats=True, complete=True)


def _of_cosines(
    cosines: Tensor, pairs: BatchPairs, *, temperature: float, floor: float
) -> tuple[Tensor, Tensor, Tensor]:
    logits = cosines.div_(temperature)
    tuplets = tuplets_(logits, logits.take(pairs.place), pairs, within=1 / temperature)
    terms, pull = tuplets.terms, tuplets.pull
    if floor > 0:
        probability = (-terms).exp()
        terms, pull = -(probability + floor).log(), pull * probability / (probability + floor)
    n_terms = terms.new_tensor(len(terms))
    pull = pull / (n_terms.clamp_min(1) * temperature)
    return terms.sum() / n_terms.clamp_min(1), tuplets.gradient_(pull, pull), n_terms
