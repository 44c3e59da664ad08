"""What a reader must know about methods that may share a table: one row a flag, each with its reason.

A flag keeps nobody out of a table; it says what may not be concluded.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fairground.comparison import flag_checks
from fairground.comparison.evidence import Evidence, Flag


@dataclass(frozen=True, kw_only=True)
class FlagRule:
    """`raised_when` is for the list of flags, `flaw` says where the reason is documented, `find` looks for it."""

    name: str
    raised_when: str
    flaw: str
    find: Callable[[Evidence], flag_checks.Found]


FLAGS: tuple[FlagRule, ...] = (
    FlagRule(
        name="test_selection",
        raised_when="the test split selected, or no validation score shows that it did not (MLRC 2.3)",
        flaw=(
            "MLRC section 2.3: test accuracy is looked at during training and its best is reported; or training runs "
            "for a number of iterations that nobody says how was chosen. Its supplementary page: no paper uses a "
            "validation set."
        ),
        find=flag_checks.selected_on_test,
    ),
    FlagRule(
        name="test_watched",
        raised_when="test scores of every epoch were kept while validation selected (MLRC 2.3)",
        flaw=(
            "MLRC section 2.3: papers look at test accuracy at every checkpoint and report the best. Runs that are "
            "watched on purpose, to measure what that is worth, must not be mistaken for runs under seal."
        ),
        find=flag_checks.watched_test,
    ),
    FlagRule(
        name="no_repeats",
        raised_when="a method was run once (MLRC 2.1)",
        flaw=(
            "MLRC section 2.1: most papers give no confidence intervals while improvements are in the low single "
            "digits."
        ),
        find=flag_checks.run_once,
    ),
    FlagRule(
        name="seeds",
        raised_when="methods have unequal numbers of runs, or other seeds",
        flaw=(
            "MLRC section 2.1 asks for several runs and intervals. The best of methods with unequal numbers of runs "
            "is not a fair best, and what two methods do not share (first weights, order of images) is noise in their "
            "difference."
        ),
        find=flag_checks.other_seeds,
    ),
    FlagRule(
        name="waves",
        raised_when="seeds were added in waves until the study was settled",
        flaw=(
            "MLRC section 2.1 asks for intervals over repeats. Repeats run until a verdict appears find one in noise "
            "too; a rule fixed beforehand, and intervals that pay for every look, keep the rate of false verdicts."
        ),
        find=flag_checks.seeds_in_waves,
    ),
    FlagRule(
        name="overlap",
        raised_when="one method is called better while the two intervals overlap (MLRC 2.1)",
        flaw=(
            "MLRC section 2.1: small improvements are claimed without intervals that would show whether they mean "
            "anything."
        ),
        find=flag_checks.overlapping_claims,
    ),
    FlagRule(
        name="bound",
        raised_when="a searched setting ended within a hundredth of the edge of its range",
        flaw=(
            "MLRC section 3.3 and the optimal settings on its supplementary page: several optima lie on a bound "
            "(CosFace and ArcFace scale 100, multi-similarity alpha 0.01, contrastive margin -0.2): the true one may "
            "lie outside."
        ),
        find=flag_checks.on_a_bound,
    ),
    FlagRule(
        name="less_tuning",
        raised_when="a method had at most a fifth of another's trials",
        flaw=(
            "MLRC section 2.3 and its list of reported results: the contrastive loss is quoted at 26.4 on CUB200 from "
            "2016 to 2019; searched for like the others it reaches 68.1 (MLRC table 4), the level of the newest."
        ),
        find=flag_checks.tuned_less,
    ),
    FlagRule(
        name="clustering",
        raised_when="NMI, AMI, F1 or purity from a single clustering, without the spread over its seeds (MLRC 2.2)",
        flaw=(
            "MLRC section 2.2: NMI and F1 need the embeddings clustered first, which brings in the choice of "
            "algorithm and the seed of its start; the same embeddings score differently from seed to seed."
        ),
        find=flag_checks.clustered_once,
    ),
    FlagRule(
        name="weak_metric",
        raised_when="compared by recall or a clustering metric, or all methods at the ceiling (MLRC 2.2)",
        flaw=(
            "MLRC section 2.2, figure 1 and table 3: Recall@1 is nearly 100 for three embedding spaces of different "
            "quality. Table 2: NMI of untrained networks is 81.2 on SOP, because there are many classes."
        ),
        find=flag_checks.by_a_weak_metric,
    ),
    FlagRule(
        name="raw_outputs",
        raised_when="some methods are measured on raw outputs, others at unit length (MLRC 2.2)",
        flaw=(
            "MLRC section 2.2: the same model scores differently when measured differently. N-pair, angular and "
            "generalised lifted structure train on raw outputs and are measured on them, as in the code of Roth et "
            "al.; next to methods measured at unit length part of their distance is the measure's."
        ),
        find=flag_checks.measured_raw,
    ),
    FlagRule(
        name="closed_set",
        raised_when="the test classes were trained on",
        flaw=(
            "MLRC section 3.3 tests on classes never seen, as the field does. Splits of the images within classes "
            "give far higher numbers and answer another question."
        ),
        find=flag_checks.on_a_closed_set,
    ),
    FlagRule(
        name="known_bugs",
        raised_when="a bug of published code is reproduced on purpose",
        flaw=(
            "MLRC section 2.1: what code does and the paper does not say. A run that repeats such a bug reproduces a "
            "number; it is not what the method would score."
        ),
        find=flag_checks.with_known_bugs,
    ),
    FlagRule(
        name="per_class",
        raised_when="images of a class in a batch follow the loss (MLRC 3.1)",
        flaw=(
            "None by itself: MLRC section 3.1 gives losses on pairs 4 images of a class and classification losses 1. "
            "But it is one more thing that differs besides the loss, and tuning it for one side only would be unfair."
        ),
        find=flag_checks.images_per_class,
    ),
    FlagRule(
        name="unfinished",
        raised_when="runs diverged or failed and are missing from the mean",
        flaw=(
            "MLRC section 2.1 asks for averages over runs. A mean over those that survived is one over the lucky ones."
        ),
        find=flag_checks.unfinished,
    ),
    FlagRule(
        name="environment",
        raised_when="versions or machine are not the same in all runs",
        flaw=(
            "MLRC section 3.1 fixes the library it runs on. Versions and hardware move digits, seldom verdicts; where "
            "they differ between methods a reader should know."
        ),
        find=flag_checks.other_environments,
    ),
    FlagRule(
        name="threads",
        raised_when="runs were made with other numbers of threads",
        flaw=(
            "MLRC section 3.1 fixes the library it runs on, and with it the order of sums. Two runs of one spec with "
            "other numbers of threads have other digits."
        ),
        find=flag_checks.other_threads,
    ),
    FlagRule(
        name="untrained",
        raised_when="a network that is not trained stands beside trained ones",
        flaw=(
            "MLRC section 2.1 and table 1 hold trained networks against untrained ones: an untrained row makes no "
            "table unfair, for nothing about training was chosen for it, but it is no method of training either."
        ),
        find=flag_checks.not_trained,
    ),
)


def find_flags(evidence: Evidence) -> list[Flag]:
    """Return everything a reader must know, flag by flag."""
    return [
        Flag(flag=rule.name, methods=methods, text=text, why=why)
        for rule in FLAGS
        for methods, text, why in rule.find(evidence)
    ]
