"""Manifold mixup: every sample is blended with another inside the network, and carries both labels.

Formula
    l ~ Beta(alpha, alpha);  h_i <- l h_i + (1 - l) h_pi(i) before one stage of the trunk, chosen uniformly;
    L = l * L(embeddings, y) + (1 - l) * L(embeddings, y_pi), tuples mined with y and with y_pi

Paper
    Verma et al., "Manifold Mixup: Better Representations by Interpolating Hidden States", ICML 2019; for ranking losses
    Roth et al., ICML 2020, supplement F, equation 30.

Departures from the paper
    Equation 30 leaves open whether l is drawn for a batch or for a sample, and before which stages: here once a batch,
    and before any stage, the input among them. It divides by the batch size, where we reduce as the loss does.
"""

import numpy as np
import torch

from fairground.contracts.regulariser import LogReal, Mixing, Regulariser


class ManifoldMixupRegulariser(Regulariser):
    """`alpha` shapes the blend: large means halves, small means nearly one or the other.

    `deepest` is the last stage that samples may be mixed before, counted from 0; 0 is mixup of images alone.
    """

    mixes = True
    tunable = {"alpha": LogReal(low=0.1, high=10.0)}
    bounds = {"alpha": "(0, inf)", "deepest": "[0, inf)"}

    def __init__(self, *, alpha: float = 2.0, deepest: int | None = None) -> None:
        super().__init__()
        self.alpha, self.deepest = alpha, deepest

    def plan_mixing(self, batch_size: int, n_stages: int, *, generator: torch.Generator) -> Mixing:
        n_choices = n_stages if self.deepest is None else min(n_stages, self.deepest + 1)
        home = generator.device
        stage = int(torch.randint(max(1, n_choices), (), generator=generator, device=home))
        partner = torch.randperm(batch_size, generator=generator, device=home)
        # torch's own Beta draws from the global generator only.
        seed = int(torch.randint(2**62, (), generator=generator, device=home))
        weight = float(np.random.default_rng(seed).beta(self.alpha, self.alpha))
        return Mixing(weight=weight, partner=partner, stage=stage)
