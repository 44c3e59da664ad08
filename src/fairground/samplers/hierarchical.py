"""Hierarchical: batches from a few super-classes, so that the other classes in a batch are related ones.

Formula
    B = the union over s super-classes, drawn uniformly and all different, of b/(s n) of their classes, all different,
    with n images each, all different

Paper
    Cakir et al., "Deep Metric Learning to Rank", CVPR 2019, section 5 (mini-batches for large data sets).

Departures from the paper
    Super-classes are drawn for every batch, where the paper's code walks through all pairs of them. A super-class with
    too few classes gives all it has and then repeats, and so does a class with too few images; the record says so.
"""

import torch

from fairground.contracts.sampler import DataError, Labels, label_tensor, require
from fairground.samplers._class_draws import BLOCK, ClassRows, ClassSampler, draw_distinct_rows


class HierarchicalSampler(ClassSampler):
    """`super_per_batch` super-classes share a batch equally; `super_labels` (n,) is the super-class of every image."""

    def __init__(
        self,
        *,
        labels: Labels,
        super_labels: Labels | None,
        batch_size: int,
        per_class: int = 4,
        super_per_batch: int = 2,
        seed: int = 0,
    ) -> None:
        super().__init__(labels=labels, batch_size=batch_size, per_class=per_class, seed=seed)
        if super_labels is None:
            raise DataError("sampler hierarchical needs super-classes, and the data set has none")
        super_labels = label_tensor(super_labels)
        got = f"{len(super_labels)} for {len(labels)} images"
        refusal = f"sampler hierarchical needs one super-class per image; got {got}"
        require(super_labels.shape == labels.shape, refusal, DataError)
        self._n_slots = self.class_slots(distinct=False)
        refusal = f"sampler.super_per_batch must divide the {self._n_slots} classes of a batch; got {super_per_batch}"
        require(super_per_batch >= 1 and self._n_slots % super_per_batch == 0, refusal)
        # A class is where its first image is; the others must be there too.
        super_of_class = super_labels[self._classes.rows[self._classes.starts]]
        is_split = super_of_class[self._classes.group] != super_labels
        refusal = f"{int(is_split.sum())} images are in another super-class than their class"
        require(not is_split.any(), refusal, DataError)
        self._supers = ClassRows(super_of_class)
        wanted = f"at most the number of super-classes, {self._supers.n_classes}"
        refusal = f"sampler.super_per_batch must be {wanted}; got {super_per_batch}"
        require(self._supers.n_classes >= super_per_batch, refusal, DataError)
        self._super_per_batch = super_per_batch

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        n_planned = min(BLOCK, self.n_batches)
        drawn = draw_distinct_rows(self._supers.n_classes, self._super_per_batch, n_planned, generator)
        classes = self._supers.draw(drawn.flatten(), self._n_slots // self._super_per_batch, generator)
        rows = self._classes.draw(classes.flatten(), self._per_class, generator)
        return rows.view(n_planned, self.batch_size)

    def notes(self) -> tuple[str, ...]:
        needed = self._n_slots // self._super_per_batch
        n_small = int((self._supers.sizes < needed).sum())
        small = (f"{n_small} super-classes have fewer than {needed} classes: some come up twice in a batch",)
        return self._classes.filled_up(self._per_class) + (small if n_small else ())
