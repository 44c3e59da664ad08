"""What may be recommended: the network as it is, heads with losses and their settings, and trained last stages."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairground.spec.adaptation import ALL, AdaptationSpec
from fairground.spec.load import load_run
from fairground.spec.study import MethodSpec

#: the label of the first row of every table
FROZEN = "frozen network"
RAW = "raw features"
UNTRAINED = "untrained network"
DIMENSIONS = (64, 128, 256, 512)
#: steps of the rounds of the race, each three times as long as the one before
STEPS = (30, 90, 270)
RATES = ("0.0003", "0.0001", "0.001")
#: shrinkage and prior of discriminants: many classes and images bear little of either, few need much
DISCRIMINANTS = (("0.7", "2"), ("0.5", "1"), ("0.9", "4"), ("0.7", "1"), ("0.3", "2"), ("0.9", "1"))


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One method: `words` over the words of the data and protocol, and how long it is trained."""

    name: str
    words: tuple[str, ...]
    steps: int = 0
    depth: int = 0
    depth_steps: int = 0
    depth_lr: float = 0.0

    @property
    def key(self) -> str:
        """What its measurements are found by: everything that decides them but the repeat."""
        said = [self.words, self.steps, self.depth, self.depth_steps, self.depth_lr]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """The name with the rate and how long it is trained; candidates of one label are the same candidate."""
        rate = next((word.partition("=")[2] for word in self.words if word.startswith("optimiser.head_lr=")), None)
        parts = [f"rate {rate}"] if rate is not None else []
        parts += [f"{self.steps} steps"] if self.steps else []
        if self.depth_steps and self.depth == ALL:
            rate = f" at {self.depth_lr:g}" if self.depth_lr else ""
            parts.append(f"{self.depth_steps} steps of the network{rate}")
        elif self.depth_steps:
            parts.append(f"{self.depth_steps} steps of the last {self.depth} stages at {self.depth_lr:g}")
        return ", ".join([self.name, *parts])

    @property
    def is_trained(self) -> bool:
        """Tell whether any weight is trained."""
        return self.steps + self.depth_steps > 0

    def spec(self, protocol: str, base: Sequence[str], seed: int) -> AdaptationSpec:
        """Return what is to be trained."""
        run = load_run(protocol=protocol, overrides=[*base, *self.words, f"seed={seed}"])
        return AdaptationSpec(
            run=run,
            steps=self.steps,
            depth=self.depth,
            depth_steps=self.depth_steps,
            depth_lr=self.depth_lr,
        )

    def trained_for(self, steps: int) -> "Candidate":
        """Return the same trained for another number of steps."""
        return replace(self, depth_steps=steps) if self.depth == ALL and not self.steps else replace(self, steps=steps)


def frozen_candidates(width: int, n_train: int, *, name: str) -> list[Candidate]:
    """Return the network as it is, with discriminants, and on principal axes, plain and whitened.

    None has a step of training, and every beginning is a sensible field.
    """
    found = [Candidate(name=name, words=("head=identity",))]
    for shrinkage, prior in DISCRIMINANTS:
        found.append(Candidate(name=f"PLDA {shrinkage}/{prior}", words=_discriminant(shrinkage, prior)))
    dims = _dimensions(width, n_train)
    for dim in reversed(dims):
        found.append(Candidate(name=f"{name}, PCA {dim}", words=("head=pca", *_axes(dim), "head.standardise=false")))
        for power, word in (("0.5", "half whitened"), ("1.0", "whitened")):
            words = ("head=whitened", *_axes(dim), f"head.power={power}")
            found.append(Candidate(name=f"{name}, {word} {dim}", words=words))
    return found


def head_candidates(methods: Sequence[MethodSpec], width: int, n_train: int) -> list[Candidate]:
    """Return heads x losses x rates in an order of which every beginning is a sensible field.

    The first heads start from a discriminant, a residual head at the frozen network itself, the others at its principal
    axes, an MLP at random.
    """
    dims = _dimensions(width, n_train)
    wide = dims[-1]
    rank = max(1, min(64, width // 2))
    shrinkage, prior = DISCRIMINANTS[0]
    heads = [
        (f"from PLDA {shrinkage}/{prior}", _discriminant(shrinkage, prior)),
        ("residual", ("head=residual", f"head.rank={rank}")),
        (f"linear {wide}", ("head=whitened", *_axes(wide), "head.power=0.5")),
        (f"linear {wide} from PCA", ("head=pca", *_axes(wide), "head.standardise=false")),
        (f"MLP {min(wide, 256)}", ("head=mlp", *_axes(min(wide, 256)), "head.hidden=[512]")),
        ("residual, full", ("head=residual", f"head.rank={min(width, 256)}")),
        (f"linear {dims[len(dims) // 2]}", ("head=whitened", *_axes(dims[len(dims) // 2]), "head.power=0.5")),
    ]
    found: dict[str, Candidate] = {}
    for turn, rate in enumerate(RATES):
        for place, (head, words) in enumerate(heads):
            for method in methods[: len(methods) if turn + place < 2 else max(1, len(methods) // 2)]:
                name = f"{method.label}, {head}"
                one = Candidate(name=name, words=(*words, *method.words, *_rates(rate)), steps=STEPS[0])
                found.setdefault(one.key, one)
    return list(found.values())


def started_from(candidate: Candidate, discriminant: Candidate) -> Candidate:
    """Return a candidate that starts from a discriminant with the settings of another one; others as they are."""
    if "head=plda" not in candidate.words:
        return candidate
    words = (*discriminant.words, *(word for word in candidate.words if not word.startswith("head")))
    first = f"PLDA {'/'.join(DISCRIMINANTS[0])}"
    return replace(candidate, words=words, name=candidate.name.replace(first, discriminant.name))


def network_candidates(methods: Sequence[MethodSpec]) -> list[Candidate]:
    """Return small networks trained from nothing, by loss."""
    return [Candidate(name=method.label, words=method.words, depth=ALL, depth_steps=STEPS[0]) for method in methods]


def stage_candidates(leader: Candidate, depths: Sequence[int], steps: int) -> list[Candidate]:
    """Return the leader with last stages trained after its head, the gentlest first."""
    return [
        replace(leader, depth=depth, depth_steps=steps, depth_lr=rate)
        for rate in (1e-4, 3e-4, 3e-5)
        for depth in depths
    ]


def challengers(leader: Candidate) -> list[Candidate]:
    """Return the leader with one thing changed: trained longer or shorter, faster or slower."""
    found = [leader.trained_for(2 * max(leader.steps, leader.depth_steps))] if leader.is_trained else []
    said = {word.partition("=")[0]: word.partition("=")[2] for word in leader.words}
    if "optimiser.head_lr" in said:
        value = said["optimiser.lr"]
        for factor in (3.0, 1 / 3):
            rate = f"{float(value) * factor:.3g}"
            kept = tuple(word for word in leader.words if word not in _rates(value))
            found.append(replace(leader, words=(*kept, *_rates(rate))))
    if leader.depth > 0:
        found += [replace(leader, depth_steps=2 * leader.depth_steps)]
    return found


def _rates(rate: str) -> tuple[str, ...]:
    return (f"optimiser.lr={rate}", f"optimiser.head_lr={rate}")


def _dimensions(width: int, n_train: int) -> list[int]:
    """Return the dimensions below the width and the number of images; where all are too many, as many as there are."""
    return [dim for dim in DIMENSIONS if dim < min(width, n_train)] or [max(1, min(width, n_train - 1))]


def _discriminant(shrinkage: str, prior: str) -> tuple[str, ...]:
    return ("head=plda", f"head.shrinkage={shrinkage}", f"head.prior={prior}")


def _axes(dim: int) -> tuple[str, ...]:
    return (f"head.embedding_dim={dim}",)
