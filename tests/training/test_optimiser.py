"""One optimiser over trunk, head and loss: torch's own numbers, without importing torch's compiler."""

import subprocess
import sys

import pytest
import torch
from torch import nn, optim

from fairground.spec.run import OptimiserSpec
from fairground.training.optimiser import build_optimiser


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.trunk, self.head = nn.Linear(3, 4), nn.Linear(4, 2)


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("adam", lambda weights: optim.Adam(weights, lr=0.1, weight_decay=0.01, fused=True)),
        ("adamw", lambda weights: optim.AdamW(weights, lr=0.1, weight_decay=0.01, fused=True)),
        ("sgd", lambda weights: optim.SGD(weights, lr=0.1, weight_decay=0.01, momentum=0.9, fused=True)),
        ("rmsprop", lambda weights: optim.RMSprop(weights, lr=0.1, weight_decay=0.01, momentum=0.9, foreach=True)),
    ],
)
def test_steps_and_state_are_torchs_own(name, reference) -> None:
    ours, theirs = Model(), Model()
    momentum = 0.9 if name in ("sgd", "rmsprop") else 0.0
    spec = OptimiserSpec(name=name, lr=0.1, weight_decay=0.01, momentum=momentum)
    optimiser, other = build_optimiser(spec, ours, nn.Identity()), reference(theirs.parameters())
    images = torch.randn(5, 3)
    for _ in range(3):
        for model, stepper in ((ours, optimiser), (theirs, other)):
            stepper.zero_grad(set_to_none=True)
            model.head(model.trunk(images)).square().sum().backward()
            stepper.step()
    for own, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(own, expected)
    again = build_optimiser(spec, Model(), nn.Identity())
    again.load_state_dict(optimiser.state_dict())
    assert again.state_dict()["state"].keys() == other.state_dict()["state"].keys()


def test_the_compiler_of_torch_is_not_imported() -> None:
    script = (
        "import sys, torch; from torch import nn\n"
        "from fairground.spec.run import OptimiserSpec\n"
        "from fairground.training.optimiser import build_optimiser\n"
        "model = nn.Module(); model.trunk, model.head = nn.Linear(2, 2), nn.Linear(2, 2)\n"
        "optimiser = build_optimiser(OptimiserSpec(name='adam'), model, nn.Identity())\n"
        "model.head(model.trunk(torch.ones(1, 2))).sum().backward(); optimiser.step(); optimiser.zero_grad()\n"
        "optimiser.load_state_dict(optimiser.state_dict())\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
