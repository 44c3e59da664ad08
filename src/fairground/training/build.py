"""A component by its name and settings: the only file that reads the catalogue."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from fairground.contracts.dataset import Dataset
from fairground.contracts.loss import Loss
from fairground.contracts.miner import Miner
from fairground.contracts.model import Head, Transform, Trunk
from fairground.contracts.regulariser import Regulariser
from fairground.contracts.sampler import BatchSampler
from fairground.contracts.split import Split
from fairground.errors import require
from fairground.spec.catalogue import find, nearest
from fairground.spec.identity import Purpose, child_seed
from fairground.spec.run import ROOM_OF, ComponentSpec

#: what pytorch-metric-learning calls the arguments that we supply
_SUPPLIED_ALIASES = {"num_classes": "n_classes", "embedding_size": "embedding_dim"}
#: what an outside class must be to be used as a part
_KINDS: Mapping[str, tuple[type, ...]] = {
    "data": (Dataset,),
    "split": (Split,),
    "transform": (Transform,),
    "trunk": (Trunk,),
    "head": (Head,),
    "loss": (Loss, nn.Module),
    "miner": (Miner, nn.Module),
    "regulariser": (Regulariser,),
    "sampler": (BatchSampler,),
}


def build_dataset(part: ComponentSpec) -> Dataset:
    """Return a data set by name, nothing of it read yet."""
    found: Dataset = build("data", part, {})
    return found


def build_split(part: ComponentSpec) -> Split:
    """Return a split by name."""
    found: Split = build("split", part, {})
    return found


@contextmanager
def seeded(seed: int, purpose: Purpose) -> Iterator[None]:
    """First weights come from torch's global stream: start it for one purpose, and put the old one back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(seed, purpose))
        yield


def build(key: str, part: ComponentSpec, supplied: Mapping[str, object]) -> Any:
    """Construct a component: its settings from the spec, what it needs to know of the run from `supplied`."""
    kind = find(ROOM_OF[key], part.name)
    parameters = inspect.signature(kind).parameters
    is_ours = ":" not in part.name
    # A config may name a class, never run one that is not a part: subprocess:Popen must not be a loss.
    kinds = _KINDS[key]
    wanted = " or ".join(f"{kind.__module__.partition('.')[0]}'s {kind.__name__}" for kind in kinds)
    require(is_ours or issubclass(kind, kinds), f"{key}={part.name} is not a {key}: it must be a {wanted}")
    for setting in part.settings:
        require(
            setting in parameters,
            f"no setting '{key}.{setting}'.{nearest(setting, parameters)} ({part.name} takes {', '.join(parameters)}.)",
        )
    known = {
        name: supplied[_SUPPLIED_ALIASES.get(name, name)]
        for name in parameters
        if _SUPPLIED_ALIASES.get(name, name) in supplied
    }
    clash = sorted(set(known) & set(part.settings))
    require(not clash, f"{key}.{', '.join(clash)} follows from the data and cannot be set")
    try:
        return kind(**known, **part.settings)
    except TypeError as error:
        if is_ours:
            raise
        require(False, f"{part.name} cannot be made with these settings: {error}")
