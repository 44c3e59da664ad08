"""Sums of hinges triplet by triplet and quadruplet by quadruplet, for oracles that share no code with the losses."""

from torch import Tensor


def triplets(matrix: Tensor, labels: list[int], margin: float) -> tuple[float, int]:
    """Return the sum of [m_ap - m_an + margin]_+ and how many are above 0."""
    total, n_active = 0.0, 0
    for a, own in enumerate(labels):
        for p, near in enumerate(labels):
            for n, far in enumerate(labels):
                if p != a and near == own and far != own:
                    hinge = float(matrix[a, p] - matrix[a, n]) + margin
                    total += max(0.0, hinge)
                    n_active += hinge > 0
    return total, n_active


def quadruplets(matrix: Tensor, labels: list[int], margin: float) -> tuple[float, int]:
    """Return the sum of [m_ap - m_nl + margin]_+ over n < l of two further classes, and how many are above 0."""
    total, n_active, rows = 0.0, 0, range(len(labels))
    for a in rows:
        for p in rows:
            for n in rows:
                for m in range(n + 1, len(labels)):
                    is_positive = p != a and labels[p] == labels[a]
                    if is_positive and len({labels[a], labels[n], labels[m]}) == 3:
                        hinge = float(matrix[a, p] - matrix[n, m]) + margin
                        total += max(0.0, hinge)
                        n_active += hinge > 0
    return total, n_active
