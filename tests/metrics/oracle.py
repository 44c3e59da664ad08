"""Rankings by plain loops: sort every reference by distance, then by index, and look."""

import math

import numpy as np

from fairground.contracts.metric import Ranking


def hit_lists(queries, references, is_relevant, *, own=None, is_left_out=lambda i, j: False, unit=True):
    """For every query the list of hits and misses in ranking order, the query itself and left-out pairs removed."""
    lists = []
    for i, query in enumerate(queries):
        order = []
        for j, reference in enumerate(references):
            if (own is not None and own[i] == j) or is_left_out(i, j):
                continue
            order.append((_distance(query, reference, unit), j))
        lists.append([is_relevant(i, j) for _, j in sorted(order)])
    return lists


def _distance(left, right, unit):
    if unit:
        dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
        return -dot / (math.hypot(*left) * math.hypot(*right))
    return math.fsum((a - b) ** 2 for a, b in zip(left, right, strict=True))


def ranking(lists, class_sizes=None, n_levels=1):
    """The same as evidence for a metric; where the lists hold grades from 0 to 1, with these."""
    ranks = [[place for place, is_hit in enumerate(hits, 1) if is_hit] for hits in lists]
    sizes = [len(places) for places in ranks]
    grades = [grade for hits in lists for grade in hits if grade]
    return Ranking(
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        ranks=np.array([place for places in ranks for place in places], np.int32),
        class_sizes=np.array(sizes) + 1 if class_sizes is None else np.array(class_sizes),
        grades=np.array(grades) if any(type(grade) is float for grade in grades) else None,
        n_levels=n_levels,
    )


def hits_at(places, length):
    """A list of hits and misses with hits at these places, from 1."""
    return [place in places for place in range(1, length + 1)]


def precision_at(hits, k):
    return sum(hits[:k]) / k


def average_precision(hits, length):
    """The sum over hits among the first `length` of the precision there; not divided."""
    return sum(precision_at(hits, k) for k in range(1, min(length, len(hits)) + 1) if hits[k - 1])
