"""What may be recommended: the frozen network, heads trained with a loss, last stages, small networks.

A kind of candidate is one function here: it returns candidates in an order of which every beginning is a sensible
choice, because the time decides how many are tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairground.spec import ALL, AdaptationSpec, MethodSpec, Value, load_run

#: what the first row of every table is called
FROZEN = "frozen network"
RAW = "raw features"
UNTRAINED = "untrained network"
DIMENSIONS = (64, 128, 256, 512)
#: steps of the rounds of the race, each three times as long as the one before
STEPS = (30, 90, 270)
RATES = (3e-4, 1e-4, 1e-3)
STAGE_RATES = (1e-4, 3e-4, 3e-5)
#: shrinkage and prior of discriminants: many classes and images need little of either, few need much
DISCRIMINANTS = ((0.7, 2), (0.5, 1), (0.9, 4), (0.7, 1), (0.3, 2), (0.9, 1))


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One method: its head and loss, which `overrides` set, and how long it is trained.

    `start` names what the head is before training; it is empty for the protocol's own head. `rate` is none for the
    protocol's own learning rate. `steps` train the head alone, `depth_steps` the last `depth` stages with it.
    """

    start: str = ""
    loss: str = ""
    overrides: Mapping[str, Value] = field(default_factory=dict)
    rate: float | None = None
    steps: int = 0
    depth: int = 0
    depth_steps: int = 0
    depth_lr: float = 0.0

    @property
    def name(self) -> str:
        return ", ".join(part for part in (self.loss, self.start) if part)

    @property
    def method(self) -> str:
        """The name and the learning rate, without the length of training."""
        return self.name if self.rate is None else f"{self.name}, rate {self.rate:g}"

    @property
    def label(self) -> str:
        """All of it; measurements are kept under this label."""
        parts = [self.method]
        if self.steps:
            parts.append(f"{self.steps} steps")
        if self.depth_steps:
            which = "network" if self.depth == ALL else f"last {self.depth} stages"
            rate = f" at {self.depth_lr:g}" if self.depth_lr else ""
            parts.append(f"{self.depth_steps} steps of the {which}{rate}")
        return ", ".join(parts)

    @property
    def is_trained(self) -> bool:
        """Tell whether any weight is trained; a head fitted in closed form is not."""
        return self.steps + self.depth_steps > 0

    def spec(self, protocol: str, base: Mapping[str, Value], seed: int) -> AdaptationSpec:
        rates = {} if self.rate is None else {"optimiser.lr": self.rate, "optimiser.head_lr": self.rate}
        run = load_run(protocol=protocol, overrides={**base, **self.overrides, **rates, "seed": seed})
        lengths = {"depth": self.depth, "depth_steps": self.depth_steps}
        return AdaptationSpec(run=run, steps=self.steps, depth_lr=self.depth_lr, **lengths)

    def trained_for(self, steps: int) -> "Candidate":
        return replace(self, depth_steps=steps) if self.depth == ALL and not self.steps else replace(self, steps=steps)


def plain(name: str) -> Candidate:
    return _untrained(name, "identity")


def frozen_candidates(width: int, n_train: int, *, name: str) -> list[Candidate]:
    """Return the network as it is, with discriminants, and on principal axes, plain and whitened: nothing trained."""
    found = [plain(name), *(_discriminant(*setting) for setting in DISCRIMINANTS)]
    for dim in reversed(_dimensions(width, n_train)):
        found += [
            _axes(f"{name}, PCA {dim}", dim),
            _whitened(f"{name}, half whitened {dim}", dim, 0.5),
            _whitened(f"{name}, whitened {dim}", dim, 1.0),
        ]
    return found


def head_candidates(methods: Sequence[MethodSpec], width: int, n_train: int) -> list[Candidate]:
    """Return heads x losses x rates.

    The first heads start from a discriminant, a residual head at the frozen network itself, the others at its principal
    axes, an MLP at random.
    """
    dims = _dimensions(width, n_train)
    wide, middle = dims[-1], dims[len(dims) // 2]
    narrow = min(wide, 256)
    first = _discriminant(*DISCRIMINANTS[0])
    heads = [
        replace(first, start=f"from {first.start}"),
        _untrained("residual", "residual", rank=max(1, min(64, width // 2))),
        _whitened(f"linear {wide}", wide, 0.5),
        _axes(f"linear {wide} from PCA", wide),
        _untrained(f"MLP {narrow}", "mlp", embedding_dim=narrow, hidden=[512]),
        _untrained("residual, full", "residual", rank=min(width, 256)),
        _whitened(f"linear {middle}", middle, 0.5),
    ]
    found: dict[str, Candidate] = {}
    for turn, rate in enumerate(RATES):
        for place, head in enumerate(heads):
            for method in methods[: len(methods) if turn + place < 2 else max(1, len(methods) // 2)]:
                overrides = {**method.overrides, **head.overrides}
                one = replace(head, loss=method.label, overrides=overrides, rate=rate, steps=STEPS[0])
                found.setdefault(one.label, one)
    return list(found.values())


def stage_candidates(leader: Candidate, depth: int, steps: int) -> list[Candidate]:
    return [replace(leader, depth=depth, depth_steps=steps, depth_lr=rate) for rate in STAGE_RATES]


def changed_leaders(leader: Candidate) -> list[Candidate]:
    """Return the leader with one thing changed: trained longer, faster or slower."""
    found = [leader.trained_for(2 * max(leader.steps, leader.depth_steps))] if leader.is_trained else []
    if leader.rate is not None:
        found += [replace(leader, rate=float(f"{leader.rate * factor:.3g}")) for factor in (3.0, 1 / 3)]
    if leader.depth > 0:
        found.append(replace(leader, depth_steps=2 * leader.depth_steps))
    return found


def started_from(candidate: Candidate, discriminant: Candidate) -> Candidate:
    """Return a candidate that starts from a discriminant with the settings of another one; others as they are."""
    if candidate.overrides.get("head") != discriminant.overrides["head"]:
        return candidate
    overrides = {**candidate.overrides, **discriminant.overrides}
    return replace(candidate, start=f"from {discriminant.start}", overrides=overrides)


def _dimensions(width: int, n_train: int) -> list[int]:
    """Return the dimensions below the width and the number of images; where all are too many, as many as there are."""
    return [dim for dim in DIMENSIONS if dim < min(width, n_train)] or [max(1, min(width, n_train - 1))]


def _untrained(start: str, head: str, **settings: Value) -> Candidate:
    return Candidate(start=start, overrides={"head": head, **{f"head.{key}": of for key, of in settings.items()}})


def _discriminant(shrinkage: float, prior: float) -> Candidate:
    return _untrained(f"PLDA {shrinkage:g}/{prior:g}", "plda", shrinkage=shrinkage, prior=float(prior))


def _whitened(start: str, dim: int, power: float) -> Candidate:
    return _untrained(start, "whitened", embedding_dim=dim, power=power)


def _axes(start: str, dim: int) -> Candidate:
    return _untrained(start, "pca", embedding_dim=dim, standardise=False)
