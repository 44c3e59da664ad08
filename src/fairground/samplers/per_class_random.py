"""SPC-R: random batches with one positive pair guaranteed.

Formula
    B = b - 1 random images, and one more of the class of one of them, drawn uniformly

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 3.2 (SPC-R).

Departures from the paper
    None by default. The released code draws each of the b - 1 images from a class drawn uniformly, both with
    replacement: `uniform_over = "classes"`. In both forms the last image is another than its partner if its class has
    another; in the released code it may be the same.
"""

from typing import Literal

import torch

from fairground.contracts.sampler import DataError, Labels, require
from fairground.functional.random_draws import draw_below
from fairground.samplers._class_draws import BLOCK, ClassSampler, draw_distinct_rows


class PerClassRandomSampler(ClassSampler):
    """`uniform_over` says what is equally likely among the first b - 1: every image or every class."""

    def __init__(
        self, *, labels: Labels, batch_size: int, uniform_over: Literal["samples", "classes"] = "samples", seed: int = 0
    ) -> None:
        super().__init__(labels=labels, batch_size=batch_size, seed=seed)
        require(batch_size >= 2, f"the batch size must be at least 2, for a pair; got {batch_size}")
        has_enough = uniform_over == "classes" or len(labels) >= batch_size - 1
        refusal = f"a batch of {batch_size} needs {batch_size - 1} different images"
        require(has_enough, f"{refusal}; the training split has {len(labels)}", DataError)
        self._uniform_over = uniform_over

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        n_planned, n_random = min(BLOCK, self.n_batches), self.batch_size - 1
        if self._uniform_over == "samples":
            rows = draw_distinct_rows(len(self._classes.rows), n_random, n_planned, generator)
        else:
            size = (n_planned * n_random,)
            drawn = torch.randint(self._classes.n_classes, size, generator=generator, device=generator.device)
            rows = self._classes.draw(drawn, 1, generator, replace=True).view(n_planned, n_random)
        places = torch.randint(n_random, (n_planned, 1), generator=generator, device=generator.device)
        return torch.cat([rows, self._other_of_class(rows.gather(1, places), generator)], dim=1)

    def _other_of_class(self, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return for every row another of its class; a lone image is its own partner."""
        classes = self._classes.group[rows]
        first, size = self._classes.starts[classes], self._classes.sizes[classes]
        others = self._classes.rows[first + draw_below((size - 1).clamp_min(1), generator)]
        # The last of the class was left out of the draw, to stand in for the row itself.
        return torch.where(others == rows, self._classes.rows[first + size - 1], others)

    def notes(self) -> tuple[str, ...]:
        n_lone = int((self._classes.sizes == 1).sum())
        return (f"{n_lone} classes have one image, which is its own partner when chosen",) if n_lone else ()
