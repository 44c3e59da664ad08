"""Balanced: every class equally often, and every image at least once an epoch.

Formula
    Round r takes, from every class c in a fresh shuffle of the classes, the images r n .. r n + n - 1 (modulo the size
    of c) of a shuffle of c made once per epoch; batches are the next b/n classes each. An epoch is as many rounds as
    the largest class needs.

Paper
    None: users of samplers that draw m images per class ask for it, because those visit neither every class nor every
    image.

Departures from the paper
    None. A batch that straddles two rounds begins the second with classes it does not have yet, so that no batch has a
    class twice.
"""

from collections.abc import Mapping

import torch

from fairground.contracts.sampler import Choice, Labels
from fairground.samplers._class_draws import ClassSampler


class BalancedSampler(ClassSampler):
    """`per_class` images of each class of a batch, one class after the other."""

    tunable = {"per_class": Choice(options=(2, 4, 8))}

    def __init__(self, *, labels: Labels, batch_size: int, per_class: int = 4, seed: int = 0) -> None:
        super().__init__(labels=labels, batch_size=batch_size, per_class=per_class, seed=seed)
        self._n_slots = self.class_slots(distinct=True)
        self._order: torch.Tensor | None = None
        self._round = 0
        self._left_over = self._classes.rows.new_empty(0, per_class)
        n_rounds = -(-int(self._classes.sizes.max()) // self._per_class)
        self.n_batches = -(-n_rounds * self._classes.n_classes // self._n_slots)

    def start_epoch(self, generator: torch.Generator) -> None:
        super().start_epoch(generator)
        shuffled = torch.randperm(len(self._classes.rows), generator=generator, device=generator.device)
        self._order = shuffled[self._classes.group[shuffled].argsort(stable=True)]
        self._round, self._left_over = 0, self._left_over[:0]

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        if self._order is None:
            self.start_epoch(generator)
        assert self._order is not None
        classes = torch.randperm(self._classes.n_classes, generator=generator, device=generator.device)
        if len(self._left_over) > 0:
            is_left_over = torch.isin(classes, self._classes.group[self._left_over[:, 0]])
            classes = torch.cat([classes[~is_left_over], classes[is_left_over]])
        turns = self._round * self._per_class + torch.arange(self._per_class, device=generator.device)
        places = turns % self._classes.sizes[classes].unsqueeze(1)
        groups = torch.cat([self._left_over, self._order[self._classes.starts[classes].unsqueeze(1) + places]])
        self._round += 1
        n_planned = len(groups) // self._n_slots
        self._left_over = groups[n_planned * self._n_slots :]
        return groups[: n_planned * self._n_slots].reshape(n_planned, -1)

    def state_dict(self) -> dict[str, torch.Tensor]:
        state = super().state_dict()
        if self._order is not None:
            state |= {"order": self._order, "round": torch.tensor(self._round), "left_over": self._left_over}
        return state

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        super().load_state_dict(state)
        if "order" in state:
            self._order, self._left_over = state["order"].clone(), state["left_over"].clone()
            self._round = int(state["round"])
