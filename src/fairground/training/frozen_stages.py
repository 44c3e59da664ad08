"""Which stages of a trunk train: all of them, the last few, or none but the head."""

from fairground.contracts.model import Trunk
from fairground.contracts.regulariser import Regulariser
from fairground.errors import require


def n_frozen_stages(trainable: str, trunk: Trunk, name: str) -> int:
    """Return how many stages, from the first, do not train; refuse what this trunk cannot be cut into."""
    if trainable == "all":
        return 0
    n_stages = len(trunk.stages)
    require(
        any(True for _ in trunk.parameters()),
        f"trunk {name} has no weights, so none can be frozen; say training.trainable=all",
    )
    require(
        type(trunk).forward is Trunk.forward,
        f"trunk {name} does not run its stages one after another, so they cannot be frozen one by one; say "
        "training.trainable=all",
    )
    if trainable == "head":
        return n_stages
    n_trained = int(trainable.removeprefix("last:"))
    choices = "all or head" if n_stages == 1 else f"all, head, or last:1 to last:{n_stages - 1}"
    stages = "1 stage" if n_stages == 1 else f"{n_stages} stages"
    require(
        n_trained < n_stages,
        f"trunk {name} has {stages}, so training.trainable must be {choices}; got {trainable}",
    )
    return n_stages - n_trained


def require_stage_to_mix(regulariser: Regulariser, trainable: str) -> None:
    """Refuse a regulariser that mixes samples before a stage that trains, where none does."""
    require(
        trainable != "head" or not regulariser.mixes,
        "training.trainable=head trains no stage of the trunk, but the regulariser mixes samples before one; say "
        "last:N, or regulariser=none",
    )
