"""What must agree before methods may share a table: one row per rule, each with its reason; a new rule is a new row.

What is compared may differ. Everything else must agree: `unforeseen` watches every setting that no other row names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fairground.comparison import Comparison
from fairground.records.record import RunRecord, SplitName, grouped, one_of_each_spec
from fairground.spec import declared, flatten

#: what is compared, and so may differ
COMPARED = ("loss", "miner", "regulariser", "sampler", "optimiser.loss_lr", "optimiser.loss_weight_decay")
#: an untrained network may differ in everything that a rule about training watches
ANYTHING = ("",)
UNSAID = "not set"
#: between the values of one method's runs that do not agree
OR = " or "


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The runs of each method under its label, and what is to be concluded from them.

    `comparison` is the one that readers see, where it has been made and one direction is better. `varied` are settings
    whose effect is the question: methods differ in them on purpose. `imported` are methods in the table whose numbers
    are others': no rule can be applied to them.
    """

    methods: Mapping[str, tuple[RunRecord, ...]]
    metric: str
    split: SplitName = "test"
    comparison: Comparison | None = None
    varied: tuple[str, ...] = ()
    imported: tuple[str, ...] = ()

    @cached_property
    def done(self) -> Mapping[str, tuple[RunRecord, ...]]:
        return {label: tuple(r for r in runs if r.state == "done") for label, runs in self.methods.items()}

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, str]]:
        """Each method's spec as flat settings; where its own runs disagree, all their values."""
        found = {}
        for label, runs in self.methods.items():
            specs = [flatten(run.spec) for run in one_of_each_spec(runs)]
            keys = dict.fromkeys(key for spec in specs for key in spec)
            found[label] = {key: OR.join(sorted({spec.get(key, "none") for spec in specs})) for key in keys}
        return found

    @cached_property
    def untrained(self) -> frozenset[str]:
        """The methods that train nothing: networks measured with the weights they start with."""
        return frozenset(label for label, runs in self.methods.items() if all(run.is_untrained for run in runs))

    def where(self, is_so: Callable[[RunRecord], bool]) -> tuple[str, ...]:
        return tuple(label for label, runs in self.done.items() if any(map(is_so, runs)))

    @property
    def compares_samplers(self) -> bool:
        """Whether two methods have different samplers and are otherwise the same method."""

        def n_different(*owners: str) -> int:
            settings = self.settings.values()
            return len({frozenset(item for item in some.items() if is_under(item[0], owners)) for some in settings})

        return n_different(*COMPARED) > n_different(*(owner for owner in COMPARED if owner != "sampler"))


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that must agree and does not: by which rule, which setting, each method's value, why it matters."""

    rule: str
    what: str
    values: Mapping[str, str]
    why: str

    def __str__(self) -> str:
        by_value = grouped((value, label) for label, value in self.values.items())
        listed = "; ".join(f"{value} ({', '.join(labels)})" for value, labels in by_value.items())
        return f"{self.what}: {listed}. {self.why}"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`settings` must agree, all but those under `but`; so must the `fields` of records, by what they are called.

    `compares` and `why` are shown in the list of rules, `why` also with a difference. `free` are further exceptions
    that depend on the methods compared. An untrained network may differ in what is under `untrained_may_differ_in`,
    which has no effect on it.
    """

    name: str
    settings: tuple[str, ...]
    compares: str
    why: str
    but: tuple[str, ...] = ()
    fields: Mapping[str, Callable[[RunRecord], str | None]] = field(default_factory=dict)
    free: Callable[[Evidence], tuple[str, ...]] = lambda _: ()
    untrained_may_differ_in: tuple[str, ...] = ()


def is_measured_raw(record: RunRecord) -> bool:
    """Tell whether embeddings were measured without normalisation: by the run's setting, else by its loss."""
    given = record.setting("evaluation.normalise")
    if given is not None:
        return given is False
    if record.setting("loss.normalise") is True:
        return False
    return declared("losses", str(record.setting("loss")), "on_sphere", True) is False


def _free_of_lengths(evidence: Evidence) -> tuple[str, ...]:
    """The setting may differ where all are measured alike: a loss on unit vectors need not set it."""
    ways = {is_measured_raw(run) for records in evidence.methods.values() for run in one_of_each_spec(records)}
    return ("evaluation.normalise",) if len(ways) == 1 else ()


_NAMED: tuple[Rule, ...] = (
    Rule(
        name="protocol",
        settings=("protocol",),
        compares="the protocol's name",
        why="Numbers of two protocols answer two questions (MLRC 2.1).",
    ),
    Rule(
        name="trunk",
        settings=("trunk", "head"),
        but=("head.embedding_dim",),
        fields={"pretrained weights": lambda record: None if record.weights is None else record.weights.hash},
        untrained_may_differ_in=("head",),
        compares="network, weights, pooling, head",
        why="ImageNet weights alone: Recall@1 41.1 (GoogleNet) to 51.1 (BN-Inception) on CUB200 (MLRC 2.1, table 1).",
    ),
    Rule(
        name="embedding_dim",
        settings=("head.embedding_dim",),
        untrained_may_differ_in=ANYTHING,
        compares="number of dimensions",
        why="More dimensions retrieve better whatever the loss (MLRC 2.1).",
    ),
    Rule(
        name="batch_norm",
        settings=("training.freeze_batch_norm",),
        untrained_may_differ_in=ANYTHING,
        compares="frozen or not",
        why="Freezing batch norm is worth about 2 points on CUB200, and papers do not mention it (MLRC 2.1).",
    ),
    Rule(
        name="preprocessing",
        settings=("transform",),
        compares="the transform: size, crop, augmentation",
        why="Stronger augmentation and larger crops raise accuracy whatever the loss (MLRC 2.1).",
    ),
    Rule(
        name="data",
        settings=("data",),
        but=("data.root", "data.path"),
        fields={"data fingerprint": lambda record: record.provenance.data_fingerprint},
        compares="data set, its settings, fingerprint of images and labels",
        why="Other images or labels make another task.",
    ),
    Rule(
        name="split",
        settings=("split",),
        fields={"split fingerprint": lambda record: record.provenance.split_fingerprint},
        compares="split, its settings, fingerprint of its rows",
        why="More training classes, or easier test classes, raise the score whatever the loss (MLRC 2.3).",
    ),
    Rule(
        name="optimiser",
        settings=("optimiser",),
        but=("optimiser.loss_lr", "optimiser.loss_weight_decay"),
        untrained_may_differ_in=ANYTHING,
        compares="name, rates, decay, momentum, but not those of the weights of the loss",
        why="Optimiser and learning rate decide how far a run gets and how well it generalises (MLRC 2.1).",
    ),
    Rule(
        name="batches",
        settings=("training.batch_size", "sampler"),
        # The sampler may differ when it is what is compared; the images per class in a batch always may.
        free=lambda evidence: ("sampler",) if evidence.compares_samplers else ("sampler.per_class",),
        untrained_may_differ_in=ANYTHING,
        compares="batch size, sampler",
        why="Larger batches hold more, and harder, pairs (MLRC 3.1).",
    ),
    Rule(
        name="budget",
        settings=("training.epochs", "training.batches_per_epoch"),
        untrained_may_differ_in=ANYTHING,
        compares="epochs, batches per epoch",
        why="Longer training can win by itself, or lose by overfitting (MLRC 2.3).",
    ),
    Rule(
        name="search_budget",
        settings=(),
        fields={"trials searched": lambda record: None if record.search is None else str(record.search.trials)},
        untrained_may_differ_in=ANYTHING,
        compares="trials searched",
        why="The best of more trials is higher by chance alone (MLRC 3.3).",
    ),
    Rule(
        name="selection",
        settings=("evaluation.select_by", "evaluation.select_on", "training.validate_every", "training.patience"),
        # The field of the record tells.
        but=("evaluation.select_on",),
        fields={"selected on": lambda record: None if record.selection is None else record.selection.split},
        untrained_may_differ_in=ANYTHING,
        compares="metric and split that select, how often, with what patience",
        why="The best of several looks is higher than one look: all must select by the same rule (MLRC 2.3).",
    ),
    Rule(
        name="evaluation",
        settings=tuple(
            f"evaluation.{key}" for key in ("metrics", "lone", "normalise", "clustering_seeds", "rerank", "distance")
        ),
        free=_free_of_lengths,
        compares="metrics, lone queries, normalisation, seeds of clustering, re-ranking, distance",
        why="The same model scores differently when measured differently (MLRC 2.2).",
    ),
)
_CONTENT = Rule(
    name="content",
    settings=(),
    compares="source, version and defaults of classes from outside, and files that settings name",
    why="One name stood for other code or numbers in some runs: their scores are those of two methods.",
)
_UNFORESEEN = Rule(
    name="unforeseen",
    settings=ANYTHING,
    # Measured on the side, it changes no result.
    but=(*COMPARED, "training.analyse_every", *(owner for rule in _NAMED for owner in rule.settings)),
    untrained_may_differ_in=("training",),
    compares="every setting no other rule watches",
    why="It is not part of the method, and how much of a difference it explains is unknown (MLRC 2.1).",
)
RULES = (*_NAMED, _CONTENT, _UNFORESEEN)


def find_differences(evidence: Evidence) -> list[Difference]:
    """Return everything that must agree and does not, rule by rule; the runs of one method must share the fields."""
    found = []
    keys = dict.fromkeys(key for settings in evidence.settings.values() for key in settings)
    for rule in RULES:
        exceptions = (*rule.but, *rule.free(evidence), *evidence.varied)
        watched = [key for key in keys if is_under(key, rule.settings) and not is_under(key, exceptions)]
        # Another network has other weights, another data set another fingerprint.
        is_varied = any(is_under(key, rule.settings) for key in evidence.varied)
        for what in (*watched, *(() if is_varied else rule.fields)):
            freed = evidence.untrained if is_under(what, rule.untrained_may_differ_in) else frozenset()
            labels = [label for label in evidence.methods if label not in freed]
            values = {label: evidence.settings[label].get(what, UNSAID) for label in labels}
            is_split = False
            if what in rule.fields:
                given = {label: {rule.fields[what](run) or UNSAID for run in evidence.done[label]} for label in labels}
                values = {label: OR.join(sorted(some)) or UNSAID for label, some in given.items()}
                is_split = any(len(some) > 1 for some in given.values())
            if is_split or len(set(values.values())) > 1:
                found.append(Difference(rule=rule.name, what=what, values=values, why=rule.why))
    return [*found, *_other_content(evidence)]


def _other_content(evidence: Evidence) -> Iterator[Difference]:
    """Yield what one name stands for in some runs and not in others; the files of what is compared may differ."""
    contents = {label: [run.content for run in runs] for label, runs in evidence.done.items()}
    for what in dict.fromkeys(key for some in contents.values() for content in some for key in content):
        given = {label: {content.get(what, UNSAID) for content in some} for label, some in contents.items()}
        values = {label: OR.join(sorted(some)) for label, some in given.items() if some != {UNSAID}}
        is_free = is_under(what.removeprefix("file of "), (*COMPARED, *evidence.varied))
        is_apart = len(set(values.values())) > 1 and not is_free
        if (is_apart or any(OR in value for value in values.values())) and not what.endswith("fingerprint"):
            yield Difference(rule=_CONTENT.name, what=what, values=values, why=_CONTENT.why)


def is_under(key: str, owners: Iterable[str]) -> bool:
    """Tell whether a dotted setting is one of `owners` or below one; everything is below an empty one."""
    return any(owner in ("", key) or key.startswith(f"{owner}.") for owner in owners)
