"""The moving average of a model's weights, which is measured in their place.

Formula
    a <- d a + (1 - d) w after step t (from 1),  d = min(average, (1 + t) / (10 + t))

Paper
    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", SIAM Journal on Control 1992;
    Tarvainen and Valpola, "Mean teachers are better role models", NeurIPS 2017 (the moving average).

Departures from the paper
    d begins low, so that first weights are soon forgotten in short runs. Buffers, such as batch norm's statistics, are
    those of the last step.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch


@dataclass
class WeightAverage:
    """The average of a model's weights; `decay` is the largest d."""

    model: torch.nn.Module
    decay: float
    _weights: dict[str, torch.Tensor] = field(default_factory=dict)
    _n_updates: int = 0

    @torch.no_grad()
    def start(self) -> None:
        self._weights = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}
        self._n_updates = 0

    @torch.no_grad()
    def update(self) -> None:
        self._n_updates += 1
        decay = min(self.decay, (1 + self._n_updates) / (10 + self._n_updates))
        for name, weight in self.model.named_parameters():
            self._weights[name].lerp_(weight, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the average into the model for a while, then the weights under training back."""
        training = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}
        self._copy(self._weights)
        try:
            yield
        finally:
            self._copy(training)

    def state(self) -> dict[str, torch.Tensor]:
        return {**self._weights, "n_updates": torch.tensor(self._n_updates)}

    def load_state(self, state: Mapping[str, torch.Tensor]) -> None:
        own = dict(self.model.named_parameters())
        # Laid out as the weights are: sums over another layout would round differently.
        self._weights = {name: torch.empty_like(weight).copy_(state[name]) for name, weight in own.items()}
        self._n_updates = int(state["n_updates"])

    @torch.no_grad()
    def _copy(self, weights: Mapping[str, torch.Tensor]) -> None:
        for name, weight in self.model.named_parameters():
            weight.copy_(weights[name])
