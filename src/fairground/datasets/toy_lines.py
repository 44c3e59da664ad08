"""Lines in the plane, each one class: four to learn, and others that differ in ways training never has to notice.

Formula
    diagonal  training lines are pieces of the diagonal; two test lines are vertical, two horizontal
    vertical  training lines are vertical and differ in x alone; two test lines have the same x and differ in y

    Each class has `per_class` of 100 evenly spaced points of its line.

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    figure 6 (diagonal) and, in supplement E, figure 11 (vertical).

Departures from the paper
    The diagonal is that of the paper's script. The vertical lines were published without coordinates: these are our
    own. Further points of the training lines validate, because a run needs a validation split.
"""

from typing import Literal

import numpy as np

from fairground.contracts.dataset import Dataset, ImageTable
from fairground.loading.image_dataset import FeatureRows

#: from (x, y) to (x, y)
_Line = tuple[float, float, float, float]
#: what is learned and what is tested, by name
LINES: dict[str, tuple[tuple[_Line, ...], tuple[_Line, ...]]] = {
    "diagonal": (
        tuple((low, low, low + 0.2, low + 0.2) for low in (0.10, 0.35, 0.60, 0.85)),
        ((0.2, 0.2, 0.2, 0.4), (0.2, 0.55, 0.2, 0.85), (0.4, 0.2, 0.6, 0.2), (0.7, 0.2, 0.9, 0.2)),
    ),
    "vertical": (
        tuple((x, 0.1, x, 0.9) for x in (0.2, 0.4, 0.6, 0.8)),
        ((0.5, 0.1, 0.5, 0.4), (0.5, 0.6, 0.5, 0.9)),
    ),
}
_N_PLACES = 100


class ToyLinesDataset(Dataset):
    """`lines` says which of the two; `per_class` points of each line, drawn with `seed`."""

    bounds = {"per_class": "[2, 100]"}

    def __init__(
        self, *, lines: Literal["diagonal", "vertical"] = "diagonal", per_class: int = 15, seed: int = 0
    ) -> None:
        self.lines, self.per_class, self.seed = lines, per_class, seed

    def load(self) -> ImageTable:
        random = np.random.default_rng(self.seed)
        learned, unseen = LINES[self.lines]
        drawn = [("train", learned), ("test", unseen), ("validation", learned)]
        classes = [(part, number, line) for part, some in drawn for number, line in enumerate(some)]
        parts = np.repeat(np.array([part for part, *_ in classes]), self.per_class)
        return ImageTable(
            images=FeatureRows(
                np.concatenate([self._points(random, line) for *_, line in classes]).astype(np.float32),
                origin=f"toy_lines {self.lines}",
            ),
            labels=np.repeat(np.arange(len(classes)), self.per_class).astype(np.int64),
            class_names=tuple(f"{part} {number}" for part, number, _ in classes),
            official_test=parts == "test",
            listed_parts=parts,
        )

    def _points(self, random: np.random.Generator, line: _Line) -> np.ndarray:
        """Return some of the evenly spaced points (per_class, 2) of a line."""
        along = random.choice(np.linspace(0, 1, _N_PLACES), self.per_class, replace=False)[:, None]
        return np.asarray((1 - along) * np.array(line[:2]) + along * np.array(line[2:]))
