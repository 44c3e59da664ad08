"""A pretrained trunk cut in two: first stages that stay as they are, last stages that are trained."""

import copy

from torch import Tensor, nn

from fairground.contracts.model import Trunk


class LastStages(Trunk):
    """A copy of a trunk's last `depth` stages; takes what the stages before give."""

    def __init__(self, trunk: Trunk, depth: int) -> None:
        super().__init__()
        self.stages = nn.ModuleList(copy.deepcopy(stage) for stage in trunk.stages[len(trunk.stages) - depth :])
        self.n_features = trunk.n_features
        self._of = [trunk]

    def pool(self, hidden: Tensor) -> Tensor:
        """Return feature vectors as the trunk makes them."""
        return self._of[0].pool(hidden)


def first_stages(trunk: Trunk, depth: int) -> nn.Module:
    """Return the stages before the last `depth`, as a network of their own."""
    return nn.Sequential(*trunk.stages[: len(trunk.stages) - depth])


def put_back(trunk: Trunk, last: LastStages) -> Trunk:
    """Return a copy of the trunk with the trained stages in their place."""
    full = copy.deepcopy(trunk)
    for stage, trained in zip(full.stages[len(full.stages) - len(last.stages) :], last.stages, strict=True):
        stage.load_state_dict(trained.state_dict())
    return full
