"""What may be recommended: the frozen network with a head in closed form, trained heads, the network trained.

Each function returns methods in an order of which every beginning is a sensible choice, because the time decides how
many are tried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from fairground.spec import AdaptationSpec, Trains, Value, load_run, load_study

#: of whitened features
MOST_DIMENSIONS = 512
#: shrinkage and prior of discriminants: many classes and images need little of either, few need much
DISCRIMINANTS = ((0.7, 2.0), (0.3, 2.0), (0.9, 4.0))
HEAD_RATES = (3e-4, 1e-3)
#: decay of the average of the weights
AVERAGE = 0.9
SUP_CON: tuple[str, Mapping[str, Value]] = ("SupCon", {"loss": "sup_con"})
MULTI_SIMILARITY: tuple[str, Mapping[str, Value]] = (
    "multi-similarity",
    {"loss": "multi_similarity", "miner": "multi_similarity"},
)
#: what trains, most promising first (docs/recommend.md has the study): which stages, loss with its settings, rate
FINE_TUNING: tuple[tuple[Literal["last stages", "network"], tuple[str, Mapping[str, Value]], float], ...] = (
    ("last stages", SUP_CON, 1e-4),
    ("network", SUP_CON, 1e-4),
    ("last stages", MULTI_SIMILARITY, 1e-4),
    ("network", MULTI_SIMILARITY, 1e-4),
    ("last stages", SUP_CON, 3e-4),
    ("network", SUP_CON, 3e-4),
)


@dataclass(frozen=True, kw_only=True)
class Network:
    """Where features come from: `name` for people, a protocol and what it overrides; `is_new` without weights."""

    name: str
    protocol: str
    overrides: Mapping[str, Value] = field(default_factory=dict)
    is_new: bool = False


@dataclass(frozen=True, kw_only=True)
class Method:
    """`name` is what people read; `settings` tell methods of one name apart. `head` is the name of the closed form."""

    name: str
    network: Network
    trains: Trains = "nothing"
    settings: str = ""
    overrides: Mapping[str, Value] = field(default_factory=dict)
    head: str = ""
    steps: int = 0
    #: the share of the published weights in those of a trained network
    published: float = 0.0

    @property
    def is_on_maps(self) -> bool:
        """Tell whether it trains the last stages on cached maps, which takes a fraction of the time."""
        return "training.trainable" in self.overrides

    @property
    def training(self) -> str:
        """The training without its length and its closed form; measurements of one training share it."""
        return ", ".join(part for part in (self.name, self.settings, self.network.name) if part)

    @property
    def label(self) -> str:
        steps = f"{self.steps} steps" if self.steps else ""
        mixed = f"{100 * self.published:.0f} % published weights" if self.published else ""
        return ", ".join(part for part in (self.training, steps, mixed, self.head) if part)

    @property
    def title(self) -> str:
        """What people read: two methods of a table may have the same."""
        return self.name + (f" with {self.head.partition(' ')[0]}" if self.head and self.trains != "nothing" else "")

    def spec(self, base: Mapping[str, Value], seed: int) -> AdaptationSpec:
        overrides = {**self.network.overrides, **base, **self.overrides, "seed": seed}
        run = load_run(protocol=self.network.protocol, overrides=overrides)
        return AdaptationSpec(run=run, trains=self.trains, steps=self.steps, published=self.published)


def plain(name: str, network: Network) -> Method:
    return Method(name=name, network=network, overrides={"head": "identity"})


def closed_forms(frozen: Method, width: int, n_train: int) -> list[Method]:
    """Return the network as it is, with discriminants, and on whitened principal axes: nothing is trained."""
    whitened = [_whitened(width, n_train, power) for power in (0.5, 1.0)]
    return [frozen, *(with_head(frozen, *one) for one in (*map(discriminant, DISCRIMINANTS), *whitened))]


def after_training(method: Method, discriminants: Sequence[tuple[float, float]] = DISCRIMINANTS) -> list[Method]:
    """Return a trained network with its features as embeddings, and with discriminants fitted to them.

    Both with the trained weights, and with their mean with the published ones, which forgets less.
    """
    shares = (0.0,) if method.network.is_new else (0.0, 0.5)
    plain_head: tuple[str, Mapping[str, Value]] = ("", {"head": "identity"})
    heads = [plain_head, *map(discriminant, discriminants)]
    return [with_head(replace(method, published=share), *one) for share in shares for one in heads]


def trained_networks(network: Network, n_last: int = 0) -> list[Method]:
    """Return the trainings of a network, or of its last stages where `n_last` of them may train alone.

    One without published weights has losses and rates of its own.
    """
    if network.is_new:
        losses = [(one.label, one.overrides) for one in load_study("recommend/laptop").methods]
        return [_fine_tuned("small network from scratch", network, loss, 1e-3, size=128) for loss in losses]
    return [
        _fine_tuned(f"fine-tuned {what}", network, loss, rate, n_last=n_last if what == "last stages" else 0)
        for what, loss, rate in FINE_TUNING
        if what == "network" or n_last
    ]


def _fine_tuned(
    name: str, network: Network, loss: tuple[str, Mapping[str, Value]], rate: float, *, n_last: int = 0, size: int = 32
) -> Method:
    title, overrides = loss
    trained: dict[str, Value] = {"training.batch_size": size}
    if n_last:
        trained["training.trainable"] = f"last:{n_last}"
    return Method(
        name=f"{name} ({title})",
        network=network,
        trains="network",
        settings=f"rate {rate:g}",
        overrides={**overrides, **_rates(rate), **trained},
    )


def trained_heads(start: Method, width: int, n_train: int) -> list[Method]:
    """Return heads x losses x rates, those that start from the best closed form first."""
    starts = [(start.head, {key: value for key, value in start.overrides.items() if key.startswith("head")})]
    starts += [
        ("residual", {"head": "residual", "head.rank": max(1, min(64, width // 2))}),
        _whitened(width, n_train, 0.5),
    ]
    losses = load_study("recommend/features-settings").methods
    found = {}
    for rate in HEAD_RATES:
        for title, head in dict(starts).items() if start.head else starts[1:]:
            for loss in losses:
                name, settings = f"trained head ({loss.label.partition(',')[0]})", f"{loss.label}, rate {rate:g}"
                overrides = {**loss.overrides, **head, **_rates(rate)}
                one = replace(start, name=name, trains="head", settings=f"{settings}, from {title}", head="")
                found[one.label] = replace(one, overrides=overrides)
    return list(found.values())


def with_head(method: Method, title: str, overrides: Mapping[str, Value]) -> Method:
    name = method.name if method.trains != "nothing" or not title else f"{method.name} with {title.partition(' ')[0]}"
    return replace(method, name=name, head=title, overrides={**method.overrides, **overrides})


def _rates(rate: float) -> dict[str, Value]:
    adam: dict[str, Value] = {"optimiser.name": "adam", "optimiser.weight_decay": 0.0, "optimiser.average": AVERAGE}
    return {**adam, "optimiser.lr": rate, "optimiser.head_lr": rate}


def discriminant(setting: tuple[float, float]) -> tuple[str, dict[str, Value]]:
    shrinkage, prior = setting
    return f"PLDA {shrinkage:g}/{prior:g}", {"head": "plda", "head.shrinkage": shrinkage, "head.prior": prior}


def _whitened(width: int, n_train: int, power: float) -> tuple[str, dict[str, Value]]:
    dim = max(1, min(width, n_train - 1, MOST_DIMENSIONS))
    return f"whitening {dim}/{power:g}", {"head": "whitened", "head.embedding_dim": dim, "head.power": power}
