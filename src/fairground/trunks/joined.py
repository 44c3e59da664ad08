"""Several networks side by side, whose features are compared as one vector.

Formula
    f = (f_1 / |f_1|, ..., f_k / |f_k|),  f_i the features of network i

Paper
    None.

Departures from the paper
    None. Pixels come as they are, and each network normalises them for itself. All networks are one stage: with
    `training.trainable=head` they run once per image, and their features are cached.
"""

from torch import Tensor, cat, nn

from fairground.contracts.trunk_head_transform import PhotoTrunk, Pooling, Preprocessing, require
from fairground.spec import find
from fairground.trunks._pretrained_weights import fingerprint_of


class JoinedTrunk(PhotoTrunk):
    """`networks` are names of trunks, joined by +; `weights` and `pooling` are given to each of them.

    A network of timm is `timm:NAME`.
    """

    preprocessing = Preprocessing(mean=(0.0, 0.0, 0.0), deviation=(1.0, 1.0, 1.0), scale=1.0)

    def __init__(
        self,
        *,
        channels: int,
        networks: str = "efficientnet_lite0+efficientnet_lite1+efficientnet_lite2",
        weights: str | None = "imagenet",
        pooling: Pooling = "avg",
    ) -> None:
        super().__init__(channels, pooling)
        names = networks.split("+")
        refusal = f"joined.networks must be at least two different trunks for photographs joined by +; got '{networks}'"
        require(len(names) == len(set(names)) > 1 and "joined" not in names, refusal)
        members = []
        for name in names:
            kind, _, model = name.partition(":")
            network = find("trunks", kind)
            require(issubclass(network, PhotoTrunk), refusal)
            of_timm = {"model": model} if model else {}
            members.append(network(channels=channels, weights=weights, pooling=pooling, **of_timm))
        sides = {member.input_side for member in members} - {None}
        require(len(sides) < 2, f"joined.networks take images of different sizes only: {sorted(sides)}")
        self.input_side = next(iter(sides), None)
        self.stages = nn.ModuleList([_SideBySide(members)])
        self.n_features = sum(member.n_features for member in members)
        self.weights_fingerprint = fingerprint_of(self) if all(one.weights_fingerprint for one in members) else ""


class _SideBySide(nn.Module):
    def __init__(self, networks: list[PhotoTrunk]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, images: Tensor) -> Tensor:
        features = []
        for network in self.networks:
            assert isinstance(network, PhotoTrunk)
            features.append(network(network.preprocessing.apply(images)))
        return cat([nn.functional.normalize(one, dim=1) for one in features], dim=1)
