"""What every regulariser may do: change the mined tuples, add a penalty, or mix samples inside the model."""

from typing import ClassVar

from torch import Generator, Tensor, nn

from fairground.contracts import Loss, Mixing, Part, Triplets, Tuples
from fairground.spec import LogReal, Real, require

#: what the files of these parts need beside what is defined here
__all__ = ["LogReal", "Loss", "Mixing", "Real", "Regulariser", "Triplets", "Tuples", "require"]


class Regulariser(Part, nn.Module):
    """A few hooks, each harmless unless overridden; the training step calls them in the order they stand here.

    A plan to mix is followed like this, with one mining for each of the two labels a mixed sample carries:

        embeddings = model(images, mixing)              # which calls `mix` before the planned stage
        own = loss(embeddings, labels, mined with labels)
        partners = loss(embeddings, labels[mixing.partner], mined with labels[mixing.partner])
        value = mixing.weight * own + (1 - mixing.weight) * partners

    For a loss that is a mean of cross-entropies this is ordinary mixup. Where all partners have the same label as the
    sample, both sets of tuples are one and its weights add up to 1.
    """

    #: whether the hook `change_tuples` does anything, so that `assemble` can refuse it without a ranking loss
    changes_tuples: ClassVar[bool] = False
    #: whether `plan_mixing` does anything: mixed samples depend on each other, so a batch cannot be cut into chunks
    mixes: ClassVar[bool] = False

    def check_loss(self, loss: Loss) -> None:
        """Refuse, in a sentence, a loss that this regulariser can do nothing for; called once, before training."""

    def plan_mixing(self, batch_size: int, n_stages: int, *, generator: Generator) -> Mixing | None:
        """Return how this batch is mixed inside the model, or None."""
        return None

    def change_tuples(self, tuples: Tuples, labels: Tensor, *, generator: Generator | None = None) -> Tuples:
        """Return the tuples the loss shall see."""
        return tuples

    def penalty(self, embeddings: Tensor, labels: Tensor, loss: Loss) -> Tensor | None:
        """Return a term to add to the loss, or None."""
        return None
