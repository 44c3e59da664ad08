"""What one batch gave the loss to learn from, noted on the way through a step."""

from torch import Tensor

from fairground.contracts.tuples import Tuples


class BatchStatistics:
    """Counts the tuples of the batch under way and keeps what its loss was before any penalty."""

    def __init__(self) -> None:
        self._n_tuples: int | None = None
        self._values: list[Tensor] = []

    def begin(self) -> None:
        """Forget the last batch."""
        self._n_tuples = None
        self._values = []

    def count(self, tuples: Tuples | None, value: Tensor) -> None:
        """Take the tuples of a loss, if they were mined, and its value; nothing is read from the device yet."""
        if tuples is not None:
            self._n_tuples = (self._n_tuples or 0) + tuples.size
        self._values.append(value.detach())

    def is_idle(self) -> bool:
        """Tell whether there was nothing to learn from; asked after the step has read its loss from the device."""
        return self._n_tuples == 0 or (bool(self._values) and all(value.item() == 0 for value in self._values))
