"""Uniform: every image is equally likely, whatever its class.

Formula
    The split is shuffled and cut into batches of b; what is left over is left out of this epoch.

Paper
    None: the plain baseline.

Departures from the paper
    None.
"""

import torch

from fairground.contracts.sampler import BatchSampler, DataError, Labels, label_tensor, require


class UniformSampler(BatchSampler):
    """Every image at most once per epoch or, with `replace`, drawn independently each time."""

    def __init__(self, *, labels: Labels, batch_size: int, replace: bool = False, seed: int = 0) -> None:
        super().__init__(batch_size=batch_size, seed=seed)
        labels = label_tensor(labels)
        has_enough = len(labels) >= batch_size or (replace and len(labels) > 0)
        refusal = f"a batch of {batch_size} different images needs as many; the training split has {len(labels)}"
        require(has_enough, f"{refusal}. Lower the batch size or set sampler.replace", DataError)
        self._n_rows, self._replace = len(labels), replace
        self.n_batches = max(1, self._n_rows // self.batch_size)

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        size = (self.n_batches, self.batch_size)
        if self._replace:
            return torch.randint(self._n_rows, size, generator=generator, device=generator.device)
        shuffled = torch.randperm(self._n_rows, generator=generator, device=generator.device)
        return shuffled[: self.n_batches * self.batch_size].view(size)
