"""The positives of every row as one rectangular table, so that work on them never touches an (n, n) mask."""

from typing import NamedTuple

import torch
from torch import Tensor


class Positives(NamedTuple):
    """`rows` (n, k): the other rows of each row's class, k being the most any has; `exists` marks the real entries.

    Entries that do not exist repeat the row itself. `counts` (n,) says how many exist.
    """

    rows: Tensor
    exists: Tensor
    counts: Tensor


def list_positives(labels: Tensor) -> Positives:
    """Return the table of positives of a batch, in O(n log n + n k)."""
    n = len(labels)
    ordered, order = labels.sort(stable=True)
    place = order.argsort()
    start = torch.searchsorted(ordered, labels)
    counts = torch.searchsorted(ordered, labels, right=True).sub_(start).sub_(1)
    number = torch.arange(int(counts.max()) if n else 0, device=labels.device)
    place = place.unsqueeze(1)
    # The row itself stands among its class in the order: whoever comes after it moves up by one.
    slots = start.unsqueeze(1) + number
    slots += slots >= place
    exists = number < counts.unsqueeze(1)
    return Positives(order[torch.where(exists, slots, place)], exists, counts)
