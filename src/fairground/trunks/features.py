"""Ready-made features as they are: a frozen encoder of any kind, of which only the head is trained.

Formula
    f = x

Paper
    None.

Departures from the paper
    None.
"""

from torch import Tensor, nn

from fairground.contracts.trunk_head_transform import Trunk, require


class FeaturesTrunk(Trunk):
    """`channels` is the width of the features, which the data say."""

    def __init__(self, *, channels: int) -> None:
        super().__init__()
        self.stages = nn.ModuleList([_AsTheyAre()])
        self.n_features = channels


class _AsTheyAre(nn.Module):
    def forward(self, features: Tensor) -> Tensor:
        refusal = f"trunk features takes feature vectors (n, d), not images; got shape {tuple(features.shape)}"
        require(features.ndim == 2, f"{refusal}. Choose a trunk for images, such as efficientnet_lite0")
        return features
