"""Where to write names next to marks so that they cover neither each other nor the marks."""

from collections.abc import Sequence

#: a point or a shift, in printers' points
Place = tuple[float, float]
#: left, low, right, high
_Box = tuple[float, float, float, float]
#: how far a name is from its mark, and how wide a letter and how high a line of 8 points is
_GAP, _LETTER, _LINE = 7.0, 4.6, 9.0
#: half the side of a mark
_MARK = 4.0


def label_shifts(marks: Sequence[Place], labels: Sequence[str], width: float) -> list[Place]:
    """Return by how much each name is shifted from its mark: right of it where there is room, otherwise about it.

    `marks` are places on a panel that is `width` wide. A shift to the left is meant for a name that ends there.
    """
    taken = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in marks]
    shifts: list[Place] = []
    for (x, y), label in zip(marks, labels, strict=True):
        choices = [(side * _GAP, step * _LINE) for step in (0, 1, -1, 2, -2) for side in (1, -1)]
        boxes = {shift: _box(x + shift[0], y + shift[1], len(label), is_right=shift[0] > 0) for shift in choices}
        best = min(choices, key=lambda shift: _cost(boxes[shift], taken, width))
        taken.append(boxes[best])
        shifts.append(best)
    return shifts


def _box(x: float, y: float, n_letters: int, *, is_right: bool) -> _Box:
    length = n_letters * _LETTER
    left = x if is_right else x - length
    return left, y - _LINE / 2, left + length, y + _LINE / 2


def _cost(box: _Box, taken: Sequence[_Box], width: float) -> float:
    """Return the area that a name shares with what is there, and what it loses beyond the sides."""
    shared = sum(
        max(0.0, min(box[2], other[2]) - max(box[0], other[0]))
        * max(0.0, min(box[3], other[3]) - max(box[1], other[1]))
        for other in taken
    )
    outside = max(0.0, -box[0]) + max(0.0, box[2] - width)
    return shared + _LINE * outside
