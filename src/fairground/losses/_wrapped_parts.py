"""Parts inside a loss, by name and settings."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from fairground.contracts import Loss, Miner
from fairground.spec import find, nearest, require


def build_wrapped(
    owner: str, room: str, kind: type, name: str, settings: Mapping[str, Any], sizes: Mapping[str, Any]
) -> Any:
    """Construct the part that the loss `owner` wraps, giving it the sizes it takes."""
    found = find(room, name)
    is_ours = inspect.isclass(found) and issubclass(found, kind)
    require(is_ours, f"{owner} wraps fairground's own {room}; {name} is not one")
    takes = inspect.signature(found).parameters
    for setting in settings:
        refusal = f"no setting '{setting}' of {name} in {owner}.{nearest(setting, takes)}"
        require(setting in takes and setting not in sizes, refusal)
    return found(**settings, **{size: value for size, value in sizes.items() if size in takes and value is not None})


def checked_weights(owner: str, weights: Sequence[float], n: int, of: str) -> tuple[float, ...]:
    """Return one weight for each of `n` terms, by default all 1."""
    require(len(weights) in (0, n), f"{owner}.weights must be one number per {of}, {n}; got {len(weights)}")
    require(all(weight >= 0 for weight in weights), f"{owner}.weights must be 0 or more; got {list(weights)}")
    return tuple(weights) or (1.0,) * n


def build_wrapped_miner(owner: str, name: str | None, settings: Mapping[str, Any] | None, loss: Loss) -> Miner | None:
    """Construct the miner inside the loss `owner`, for the loss that it wraps."""
    require(name is not None or not settings, f"{owner}.miner_settings needs a miner")
    if name is None:
        return None
    miner: Miner = build_wrapped(owner, "miners", Miner, name, settings or {}, {})
    wrapped = type(loss).__module__.rpartition(".")[2]
    refusal = f"{owner}.miner: {name} gives tuples that {wrapped} does not take"
    require(issubclass(miner.yields, loss.accepts), refusal)
    return miner
