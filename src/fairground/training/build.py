"""A component by its name and settings, the table of a data set, and components from outside the package.

An outside loss is a torch module called with (embeddings, labels) or (embeddings, labels, tuples); an outside miner is
one called with (embeddings, labels). Tuples cross the border as index vectors, three for triplets and four for pairs,
as pytorch-metric-learning has them.
"""

import hashlib
import inspect
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts.loss import Loss, Pairs, Triplets, Tuples
from fairground.contracts.miner import Miner
from fairground.contracts.model import Head, Transform, Trunk
from fairground.contracts.regulariser import Regulariser
from fairground.contracts.sampler import BatchSampler
from fairground.contracts.table import Dataset, ImageTable, Split
from fairground.errors import require
from fairground.spec.catalogue import find, nearest
from fairground.spec.identity import Purpose, canonical_json, child_seed
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
#: tables kept at once: the runs of a study that one process makes go from one data set to the next
_TABLES_KEPT = 2
_tables: "dict[Hashable, LoadedTable]" = {}


def build_dataset(part: ComponentSpec) -> Dataset:
    found: Dataset = build("data", part, {})
    return found


def build_split(part: ComponentSpec) -> Split:
    found: Split = build("split", part, {})
    return found


def best_device() -> torch.device:
    """Return the machine's accelerator if it has one, otherwise the CPU."""
    return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")


@contextmanager
def torch_threads(n: int | None) -> Iterator[None]:
    """Let torch use `n` threads inside the block, if given; what the block changes is undone as well."""
    before = torch.get_num_threads()
    if n is not None:
        torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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


class LoadedTable(NamedTuple):
    """A table and a hash that changes when any of its images, labels or class names does."""

    table: ImageTable
    fingerprint: str


def load_table(part: ComponentSpec) -> LoadedTable:
    """Return a data set's table, without loading it again where its version says that it would be the same."""
    dataset = build_dataset(part)
    version = dataset.version()
    key = (part.name, canonical_json(part.settings), version)
    found = _tables.pop(key, None)
    if found is None:
        table = dataset.load()
        found = LoadedTable(table, fingerprint_of(table.images.fingerprint(), table.labels, table.class_names))
    if version is not None:
        _tables[key] = found
        if len(_tables) > _TABLES_KEPT:
            del _tables[next(iter(_tables))]
    return found


def fingerprint_of(*things: object) -> str:
    digest = hashlib.sha256()
    for thing in things:
        digest.update(thing.tobytes() if isinstance(thing, np.ndarray) else repr(thing).encode())
        digest.update(b"|")
    return digest.hexdigest()[:16]


class ExternalLoss(Loss):
    """A loss module from outside, behind our contract."""

    def __init__(self, *, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        takes_tuples = len(inspect.signature(module.forward).parameters) >= 3
        self.accepts = (Triplets, Pairs) if takes_tuples else ()

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        with _own_randomness(generator):
            arguments = (embeddings, labels) if tuples is None else (embeddings, labels, tuple(tuples))
            value: Tensor = self.module(*arguments)
        require(
            isinstance(value, Tensor) and value.numel() == 1,
            f"{type(self.module).__name__} must return one number; got {type(value).__name__}",
        )
        return value.reshape(())


class ExternalMiner(Miner):
    """A miner module from outside, behind our contract."""

    def __init__(self, *, module: nn.Module) -> None:
        self.module = module

    def mine(self, embeddings: Tensor, labels: Tensor, *, generator: torch.Generator | None) -> Tuples:
        with _own_randomness(generator):
            found = self.module(embeddings, labels)
        require(
            isinstance(found, tuple) and len(found) in (3, 4),
            f"{type(self.module).__name__} must return 3 index vectors (triplets) or 4 (pairs)",
        )
        return Triplets(*found) if len(found) == 3 else Pairs(*found)


@contextmanager
def _own_randomness(generator: torch.Generator | None) -> Iterator[None]:
    """Outsiders draw from torch's global stream: lend them one that our generator started, and put ours back."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
