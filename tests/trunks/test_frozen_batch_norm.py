"""Batch norm frozen in both senses (erratum E41): its statistics alone, or its weights too."""

import pytest
import torch

from fairground.heads.linear import LinearHead
from fairground.spec.catalogue import find
from fairground.training.model import EmbeddingModel


@pytest.mark.parametrize("name", ["resnet50", "googlenet", "bn_inception", "efficientnet_lite0", "mobilenet_v2"])
@pytest.mark.parametrize("freeze", ["none", "stats", "stats_and_affine"])
def test_a_step_moves_what_is_not_frozen_and_nothing_else(name: str, freeze: str) -> None:
    trunk = find("trunks", name)(channels=3, weights=None)
    head = LinearHead(n_features=trunk.n_features, embedding_dim=4)
    model = EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm=freeze).train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    optimiser = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], lr=0.1)
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    (model(images) * torch.tensor([1.0, -2.0, 3.0, 0.5])).sum().backward()
    optimiser.step()
    changed = {key for key, value in model.state_dict().items() if not torch.equal(value, before[key])}
    norms = {key.rpartition(".")[0] for key in before if key.endswith("running_mean")}
    assert norms
    statistics = {f"{norm}.{kind}" for norm in norms for kind in ("running_mean", "running_var")}
    affine = {f"{norm}.{kind}" for norm in norms for kind in ("weight", "bias")}
    assert bool(statistics & changed) == (freeze == "none")
    assert bool(affine & changed) == (freeze != "stats_and_affine")
    assert any(key.endswith("conv1.weight") or "conv" in key for key in changed)
