"""What must agree before methods may share a table: one row a rule, each with its reason.

A new rule is a new row. `unforeseen` watches every setting that no other row names, so that a setting which a later
version adds cannot slip through.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fairground.comparison.evidence import Evidence, is_measured_raw, is_under
from fairground.records.record import RunRecord, one_of_each_spec

#: what is compared, and so may differ
COMPARED = ("loss", "miner", "regulariser", "sampler", "optimiser.loss_lr", "optimiser.loss_weight_decay")
#: what a network that is not trained may have otherwise under a rule about training: everything
ANYTHING = ("",)

Read = Callable[[RunRecord], str | None]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`settings` must agree, all but those under `but`; so must the `fields` of records, by what they are called.

    `compares` and `reason` are for the list of rules, `why` is said of a difference, `flaw` says where the reason is
    documented. `free` are further exceptions that depend on the methods compared. `is_rest` watches every setting that
    no rule names. A network that is not trained may differ in what lies under `untrained_may_differ_in`: what decides
    training decides nothing about it.
    """

    name: str
    settings: tuple[str, ...]
    compares: str
    reason: str
    why: str
    flaw: str
    but: tuple[str, ...] = ()
    fields: Mapping[str, Read] = field(default_factory=dict)
    free: Callable[[Evidence], tuple[str, ...]] = lambda _: ()
    untrained_may_differ_in: tuple[str, ...] = ()
    is_rest: bool = False


def compares_samplers(evidence: Evidence) -> bool:
    """Tell whether two methods have different samplers and are otherwise the same method."""
    others = tuple(owner for owner in COMPARED if owner != "sampler")
    samplers: dict[tuple, set[tuple]] = {}
    for settings in evidence.settings.values():
        method = tuple(sorted(item for item in settings.items() if is_under(item[0], others)))
        sampler = tuple(sorted(item for item in settings.items() if is_under(item[0], ("sampler",))))
        samplers.setdefault(method, set()).add(sampler)
    return any(len(found) > 1 for found in samplers.values())


def _free_of_batches(evidence: Evidence) -> tuple[str, ...]:
    """The sampler may differ when it is what is compared; how many images of a class a batch holds, always."""
    return ("sampler",) if compares_samplers(evidence) else ("sampler.per_class",)


def _free_of_lengths(evidence: Evidence) -> tuple[str, ...]:
    """What is said of lengths may differ where all are measured alike: a loss of unit vectors needs no word for it."""
    ways = {is_measured_raw(run) for records in evidence.methods.values() for run in one_of_each_spec(records)}
    return ("evaluation.normalise",) if len(ways) == 1 else ()


def _trials(record: RunRecord) -> str | None:
    return None if record.search is None else str(record.search.trials)


RULES: tuple[Rule, ...] = (
    Rule(
        name="protocol",
        settings=("protocol",),
        compares="the protocol's name",
        reason="it fixes everything else; numbers of two protocols answer two questions (MLRC 2.1)",
        why=(
            "A protocol fixes data, network, budget and judgement at once; numbers of two protocols answer two "
            "questions."
        ),
        flaw=(
            "MLRC section 2.1: numbers copied from papers with other training and evaluation are set side by side as "
            "if only the method had changed."
        ),
    ),
    Rule(
        name="trunk",
        settings=("trunk", "head"),
        but=("head.embedding_dim",),
        fields={"pretrained weights": lambda record: None if record.weights is None else record.weights.hash},
        untrained_may_differ_in=("head",),
        compares="network, weights, pooling, head",
        reason="ImageNet weights alone: Recall@1 41.1 to 51.1 on CUB200 (MLRC 2.1, table 1)",
        why=(
            "The network and its starting weights alone move Recall@1 by ten points before any fine-tuning (41.1 for "
            "GoogleNet, 51.1 for BN-Inception on CUB200, MLRC table 1)."
        ),
        flaw=(
            "MLRC section 2.1 and table 1: before any training, ImageNet weights reach Recall@1 of 41.1 on CUB200 "
            "with GoogleNet, 48.7 with ResNet50 and 51.1 with BN-Inception, and a 2017 paper with ResNet50 claimed "
            "large gains over competitors with GoogleNet. Its supplementary page names seven such papers, and one "
            "that sums average and max pooling where its competitors only average."
        ),
    ),
    Rule(
        name="embedding_dim",
        settings=("head.embedding_dim",),
        untrained_may_differ_in=ANYTHING,
        compares="number of dimensions",
        reason="more dimensions retrieve better whatever the loss (MLRC 2.1)",
        why="More dimensions retrieve better whatever the loss.",
        flaw=(
            "MLRC section 2.1: accuracy grows with the dimension. Its supplementary page names four papers that use "
            "more than their competitors without saying so: 128 against 64; 512 against 384 and 64; 512 or 1536 "
            "against 64; 512 against 128."
        ),
    ),
    Rule(
        name="batch_norm",
        settings=("training.freeze_batch_norm",),
        untrained_may_differ_in=ANYTHING,
        compares="frozen or not",
        reason="worth 2 points on CUB200, and left out of papers (MLRC 2.1)",
        why="Freezing batch norm reduces overfitting, worth about 2 points on CUB200.",
        flaw=(
            "MLRC section 2.1: the code of a 2019 paper freezes batch norm, worth 2 points on CUB200 by its authors' "
            "own word, and the paper does not say so. Its supplementary page lists it under omitted details."
        ),
    ),
    Rule(
        name="preprocessing",
        settings=("transform",),
        compares="the transform: size, crop, augmentation",
        reason="stronger augmentation raises every method (MLRC 2.1)",
        why="Stronger augmentation and larger crops raise accuracy whatever the loss.",
        flaw=(
            "MLRC section 2.1: papers that say they crop simply use the stronger random resized crop in their code; "
            "its supplementary page names five, and one that crops to 256 pixels where its competitors have 227 or "
            "224."
        ),
    ),
    Rule(
        name="data",
        settings=("data",),
        but=("data.root", "data.path"),
        fields={"data fingerprint": lambda record: record.provenance.data_fingerprint},
        compares="data set, its settings, fingerprint of images and labels",
        reason="other images or labels make another task",
        why="Other images or labels make another task.",
        flaw=(
            "MLRC section 2.1, at its root: keep everything constant but the algorithm. Data sets have versions, "
            "cropped variants and broken files; the name alone does not tell, the fingerprint does. Where the files "
            "lie is no difference."
        ),
    ),
    Rule(
        name="split",
        settings=("split",),
        fields={"split fingerprint": lambda record: record.provenance.split_fingerprint},
        compares="split, its settings, fingerprint of its rows",
        reason="more training classes, or easier test classes, raise every method (MLRC 2.3)",
        why="More training classes or easier test classes raise the score whatever the loss.",
        flaw=(
            "MLRC section 2.3: most papers train on all of the first half of the classes and have no validation set; "
            "methods that hold classes out for validation learn from fewer. Other test classes are another test."
        ),
    ),
    Rule(
        name="optimiser",
        settings=("optimiser",),
        but=("optimiser.loss_lr", "optimiser.loss_weight_decay"),
        untrained_may_differ_in=ANYTHING,
        compares="name, rates, decay, momentum, but not those of the loss' own weights",
        reason="it decides how far a run gets (MLRC 2.1)",
        why="Optimiser and learning rate decide how far a run gets and how well it generalises, whatever the loss.",
        flaw=(
            "MLRC section 2.1: SGD, RMSprop, Adam and AdamW are set side by side; adaptive ones converge faster, SGD "
            "may generalise better. The rate and decay of the loss' own weights belong to the method: MLRC section "
            "3.1."
        ),
    ),
    Rule(
        name="batches",
        settings=("training.batch_size", "sampler"),
        free=_free_of_batches,
        untrained_may_differ_in=ANYTHING,
        compares="batch size, sampler",
        reason="larger batches hold more pairs (MLRC 3.1)",
        why="What a batch holds decides what a loss can see: larger batches have more, and harder, pairs.",
        flaw=(
            "MLRC section 3.1 and the questions on its supplementary page: larger batches hold more pairs and "
            "triplets and help losses on embeddings most; with batches of 256 instead of 32 FastAP gains enough to "
            "join the rest."
        ),
    ),
    Rule(
        name="budget",
        settings=("training.epochs", "training.batches_per_epoch"),
        untrained_may_differ_in=ANYTHING,
        compares="epochs, batches per epoch",
        reason="longer training can win by itself (MLRC 2.3)",
        why="Longer training can win by itself, or lose by overfitting.",
        flaw=(
            "MLRC section 2.3: papers report after a predetermined number of iterations, and how it was chosen is "
            "unclear."
        ),
    ),
    Rule(
        name="search_budget",
        settings=(),
        fields={"trials searched": _trials},
        untrained_may_differ_in=ANYTHING,
        compares="trials searched",
        reason="the best of more trials is higher by chance alone (MLRC 3.3)",
        why=(
            "The best of more trials is higher by chance alone, and a method searched for longer is nearer to its "
            "optimum."
        ),
        flaw=(
            "MLRC sections 2.3 and 3.3: a method tuned for long is set beside competitors at their defaults or at "
            "copied numbers. MLRC section 3.3 gives every loss 50 trials of the same search."
        ),
    ),
    Rule(
        name="selection",
        settings=("evaluation.select_by", "evaluation.select_on", "training.validate_every", "training.patience"),
        # By the field, which records of every version have.
        but=("evaluation.select_on",),
        fields={"selected on": lambda record: None if record.selection is None else record.selection.split},
        untrained_may_differ_in=ANYTHING,
        compares="metric and split that select, how often, with what patience",
        reason="the best of several looks is higher than a look (MLRC 2.3)",
        why="The best of several looks is higher than a look: all must choose by the same rule, equally often.",
        flaw=(
            "MLRC section 2.3: the best of many looks is reported. Who looks more often, or with more patience, has "
            "more to choose from; who chooses by another metric optimises another goal; who chooses on test classes "
            "has seen the answers."
        ),
    ),
    Rule(
        name="evaluation",
        settings=(
            "evaluation.metrics",
            "evaluation.lone",
            "evaluation.normalise",
            "evaluation.clustering_seeds",
        ),
        free=_free_of_lengths,
        compares="metrics, lone queries, normalisation, seeds of clustering",
        reason="the same model scores differently when measured differently (MLRC 2.2)",
        why=(
            "The same model scores differently when measured differently, and a metric only some methods report hides "
            "where the others are weak."
        ),
        flaw=(
            "MLRC section 2.2: scores depend on what is measured and how. Dropping queries without a classmate "
            "instead of counting them as misses, or normalising one method's embeddings only, moves a score without "
            "moving a model."
        ),
    ),
    Rule(
        name="unforeseen",
        settings=(),
        is_rest=True,
        untrained_may_differ_in=("training",),
        compares="every setting no other rule watches",
        reason="a detail nobody mentions can have a big effect (MLRC 2.1)",
        why="It is no part of the method, and nobody can tell how much of a difference in score it explains.",
        flaw=(
            "MLRC section 2.1: small details that are not mentioned can have a big effect on accuracy. A setting that "
            "a later version adds must not slip through because no rule knew it."
        ),
    ),
)
