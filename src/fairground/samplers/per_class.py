"""SPC-n: batches of a few classes with the same number of images each.

Formula
    B = the union over b/n classes, drawn uniformly and all different, of n images of that class, drawn uniformly and
    all different

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 3.2 (SPC-2, SPC-4, SPC-8).

Departures from the paper
    None by default. The paper's released code draws the classes, and the images within a class, with replacement:
    `replace_classes` and `replace_samples`. A class with fewer than n images gives all it has and then repeats; the
    record says how many there are.
"""

import torch

from fairground.contracts.sampler import Choice, Labels
from fairground.samplers._class_draws import BLOCK, ClassSampler, draw_distinct_rows


class PerClassSampler(ClassSampler):
    """`per_class` images of each class of a batch, one class after the other."""

    tunable = {"per_class": Choice(options=(2, 4, 8))}

    def __init__(
        self,
        *,
        labels: Labels,
        batch_size: int,
        per_class: int = 4,
        replace_classes: bool = False,
        replace_samples: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(labels=labels, batch_size=batch_size, per_class=per_class, seed=seed)
        self._n_slots = self.class_slots(distinct=not replace_classes)
        self._replace_classes, self._replace_samples = replace_classes, replace_samples

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        n_planned = min(BLOCK, self.n_batches)
        n_classes = self._classes.n_classes
        if self._replace_classes:
            drawn = torch.randint(n_classes, (n_planned, self._n_slots), generator=generator, device=generator.device)
        else:
            drawn = draw_distinct_rows(n_classes, self._n_slots, n_planned, generator)
        rows = self._classes.draw(drawn.flatten(), self._per_class, generator, replace=self._replace_samples)
        return rows.view(n_planned, self.batch_size)

    def notes(self) -> tuple[str, ...]:
        return () if self._replace_samples else self._classes.filled_up(self._per_class)
