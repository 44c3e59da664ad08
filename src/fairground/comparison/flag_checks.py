"""What flags look for: each function yields the methods concerned, a sentence, and why it matters."""

from collections.abc import Callable, Iterator
from operator import attrgetter

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import Comparison, Estimate
from fairground.comparison.evidence import Evidence, is_any_other, is_measured_raw
from fairground.comparison.rules import compares_samplers
from fairground.comparison.run_scores import seed_of
from fairground.records.record import Provenance, RunRecord, one_of_each_spec
from fairground.spec.procedures import SeedProcedure
from fairground.spec.space import end_of

Found = Iterator[tuple[tuple[str, ...], str, str]]
CLUSTERING = ("nmi", "ami", "f1", "purity")
#: a fifth of another method's trials is far less
FAR_LESS = 5
FULL = 0.99
_TEST = attrgetter("test")


def selected_on_test(evidence: Evidence) -> Found:
    """Methods selected on the test split, and those that show no other selection."""
    why = "Whatever is chosen by its test score has a test score that is too high (MLRC 2.3)."
    splits = {
        label: {None if record.selection is None else record.selection.split for record in records}
        for label, records in evidence.done.items()
    }
    on_test = tuple(label for label, found in splits.items() if "test" in found)
    unknown = tuple(label for label, found in splits.items() if None in found)
    if on_test:
        yield on_test, f"Selected on the test split: {', '.join(on_test)}.", why
    if unknown:
        text = f"No validation score, so nothing shows that the test split did not select: {', '.join(unknown)}."
        yield unknown, text, why


def watched_test(evidence: Evidence) -> Found:
    """Methods whose test split was measured while they trained, though validation selected."""
    watched = tuple(
        label for label, records in evidence.done.items() if any(any(map(_TEST, record.epochs)) for record in records)
    )
    if watched:
        text = f"The test split was watched during training, though validation selected: {', '.join(watched)}."
        yield watched, text, "Who has seen every epoch's test score may choose what to report by it (MLRC 2.3)."


def run_once(evidence: Evidence) -> Found:
    """Methods with a single finished run."""
    once = tuple(label for label, records in evidence.done.items() if len(records) == 1)
    if once:
        why = "Without repeats nobody can tell a better method from a luckier seed (MLRC 2.1)."
        yield once, f"One run only: {', '.join(once)}.", why


def other_seeds(evidence: Evidence) -> Found:
    """Unequal numbers of runs, or equal numbers of other seeds, unless one procedure gave out all seeds."""
    if _shared_procedure(evidence) is not None:
        return
    seeds = {label: frozenset(map(seed_of, records)) for label, records in evidence.done.items() if records}
    counts = {label: len(found) for label, found in seeds.items()}
    if len(set(counts.values())) > 1:
        text = f"Unequal numbers of runs: {', '.join(f'{label} {count}' for label, count in counts.items())}."
        yield tuple(counts), text, "Methods with fewer runs have wider intervals; run the missing ones."
    elif len(set(seeds.values())) > 1:
        why = "On shared seeds chance moves both methods alike and their difference is seen sooner."
        yield tuple(seeds), "The methods were not run on the same seeds.", why


def seeds_in_waves(evidence: Evidence) -> Found:
    """Seeds added until a study was settled: by one procedure for all methods, or for some of them alone."""
    shared = _shared_procedure(evidence)
    if shared is not None:
        counts = {label: len(set(map(seed_of, records))) for label, records in evidence.done.items()}
        listed = ", ".join(f"{label} {count}" for label, count in counts.items())
        yield tuple(counts), f"Runs of each method: {listed}; {shared.sentence}.", shared.why_fair
        return
    some = tuple(label for label, found in evidence.seed_procedures.items() if found != {None})
    if some:
        text = f"Seeds were added until a study was settled, and this table does not correct for it: {', '.join(some)}."
        why = (
            "Seeds added because of what was seen make false verdicts frequent; compare the methods of the study alone."
        )
        yield some, text, why


def _shared_procedure(evidence: Evidence) -> SeedProcedure | None:
    found = frozenset[SeedProcedure | None]().union(*evidence.seed_procedures.values())
    return next(iter(found)) if len(found) == 1 else None


def overlapping_claims(evidence: Evidence) -> Found:
    """Claims whose two intervals share a value, or of which one is missing."""
    # The interval of a difference can leave out 0 where two single intervals overlap, because shared seeds move both.
    # A reader who sees only the table cannot know that, so it is said.
    seen = evidence.comparison or _compared(evidence)
    known = {} if seen is None else {method.name: method for method in seen.methods}
    for better, worse in evidence.claims:
        if better in known and worse in known and _overlap(known[better], known[worse]):
            text = f"{better} is called better than {worse} while their own intervals overlap."
            why = "Only the interval of their difference, which leaves out what both share, supports that."
            yield (better, worse), text, why


def _compared(evidence: Evidence) -> Comparison | None:
    values = {label: found for label in evidence.done if (found := evidence.values(label))}
    return compare_values(values) if values else None


def _overlap(one: Estimate, other: Estimate) -> bool:
    """Tell whether two intervals share a value; one that is missing could be anywhere and overlaps all."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return True
    return one.low <= other.high and other.low <= one.high


def on_a_bound(evidence: Evidence) -> Found:
    """Settings within one hundredth of the end of the range they were searched in."""
    for label, records in evidence.done.items():
        hits = dict.fromkeys(hit for record in records for hit in _bounds_hit(record, evidence))
        for setting, value, end in hits:
            text = f"{label}: {setting} = {value:g} lies on the {end} bound of its search range."
            yield (label,), text, "The optimum may lie beyond; widen the range before believing the method's best."


def _bounds_hit(record: RunRecord, evidence: Evidence) -> Iterator[tuple[str, float, str]]:
    ranges = {**evidence.ranges, **({} if record.search is None else record.search.ranges)}
    for part, settings in record.spec.items() if ranges else ():
        if isinstance(settings, dict):
            for key, value in settings.items():
                names = (f"{part}.{key}", f"{part}.{settings.get('name')}.{key}")
                searched = next((ranges[name] for name in names if name in ranges), None)
                end = end_of(searched, value)
                if end is not None:
                    yield f"{part}.{key}", float(str(value)), end


def tuned_less(evidence: Evidence) -> Found:
    """Methods with at most a fifth of the most trials; nothing said counts as none searched."""
    trials = {
        label: max((0 if record.search is None else record.search.trials for record in records), default=0)
        for label, records in evidence.done.items()
        if label not in evidence.untrained
    }
    most = max(trials.values(), default=0)
    behind = tuple(label for label, count in trials.items() if most and count * FAR_LESS <= most)
    if behind:
        listed = ", ".join(f"{label} ({trials[label] or 'none said'})" for label in behind)
        text = f"Far less tuning than the {most} trials of the most tuned method: {listed}."
        yield behind, text, "A baseline at its defaults is easily beaten by anything that was searched for."


def clustered_once(evidence: Evidence) -> Found:
    """Clustering metrics that were scored from a single seed of the clustering."""
    once = {
        (label, score.metric)
        for label, records in evidence.done.items()
        for record in records
        for score in record.scores
        if score.metric in CLUSTERING and record.clustering_seeds < 2
    }
    if once:
        metrics = ", ".join(sorted({metric for _, metric in once}))
        text = f"From a single clustering, without the spread over its seeds: {metrics}."
        why = "k-means started elsewhere gives the same embeddings another score (MLRC 2.2)."
        yield tuple(sorted({label for label, _ in once})), text, why


def by_a_weak_metric(evidence: Evidence) -> Found:
    """A metric known to be uninformative, and all methods at its ceiling."""
    labels, stem = tuple(evidence.methods), evidence.metric.partition("@")[0]
    text = f"Compared by {evidence.metric}, which tells less than map@r."
    if stem == "recall":
        yield labels, text, "Recall looks for one classmate and ignores the rest; MAP@R sees them all (MLRC 2.2)."
    if stem in CLUSTERING:
        yield labels, text, "It needs clusters, and is high for many classes whatever the model (MLRC 2.2, table 2)."
    values = (list(evidence.values(label).values()) for label in labels)
    if all(some and FULL <= sum(some) / len(some) <= 1 for some in values):
        why = "At the ceiling methods of different quality look equal (MLRC 2.2, figure 1)."
        yield labels, f"Every method has a {evidence.metric} of 99 % or more.", why


def on_a_closed_set(evidence: Evidence) -> Found:
    """Methods whose test classes were trained on."""
    closed = tuple(label for label, runs in evidence.methods.items() if any(run.is_closed_set for run in runs))
    if closed:
        why = "Metric learning is judged on classes never seen; a closed set is classification and scores higher."
        yield closed, f"Tested on classes that were trained on (closed set): {', '.join(closed)}.", why


def with_known_bugs(evidence: Evidence) -> Found:
    """Every known bug, with the methods it was switched on in."""
    where: dict[str, dict[str, None]] = {}
    for label, records in evidence.methods.items():
        for bug in (bug for record in records for bug in record.known_bugs):
            where.setdefault(bug.sentence, {})[label] = None
    for sentence, labels in where.items():
        text = f"Known bug switched on in {', '.join(labels)}: {sentence}."
        yield tuple(labels), text, "It shows what was published, not what the method can do."


def images_per_class(evidence: Evidence) -> Found:
    """Numbers of images of a class in a batch that differ where the sampler is not compared."""
    found = {label: settings.get("sampler.per_class", "not said") for label, settings in evidence.settings.items()}
    if len(set(found.values())) > 1 and not compares_samplers(evidence):
        listed = ", ".join(f"{label} {value}" for label, value in found.items())
        text = f"Images of a class in a batch follow the loss: {listed}."
        why = "Part of a difference in score may come from the batches (MLRC 3.1 does the same, and says so)."
        yield tuple(found), text, why


def unfinished(evidence: Evidence) -> Found:
    """Methods with runs that did not finish."""
    for label, records in evidence.methods.items():
        lost = len(records) - len(evidence.done[label])
        if lost:
            states = ", ".join(sorted({record.state for record in records if record.state != "done"}))
            text = f"{label}: {lost} of {len(records)} runs did not finish ({states}) and are not counted."
            yield (label,), text, "A mean over the runs that survived flatters an unstable method."


_ENVIRONMENT: tuple[tuple[str, Callable[[Provenance], object]], ...] = (
    ("the version of fairground", lambda origin: origin.fairground.partition("+")[0]),
    ("the versions of packages", attrgetter("packages")),
    ("the machine", attrgetter("hardware")),
)


def other_environments(evidence: Evidence) -> Found:
    """All of the environment that is not the same in all finished runs."""
    origins = [record.provenance for records in evidence.done.values() for record in records]
    if not is_any_other(map(attrgetter("fairground", "packages", "hardware"), origins)):  # one look at each of many
        return
    apart = [name for name, read in _ENVIRONMENT if is_any_other(map(read, origins))]
    if apart:
        text = f"Not the same in all runs: {', '.join(apart)}."
        yield tuple(evidence.methods), text, "It moves digits; more seeds show whether it moves more."


def other_threads(evidence: Evidence) -> Found:
    """Numbers of threads that are not the same in all finished runs."""
    threads = {
        label: sorted({record.provenance.threads for record in records})
        for label, records in evidence.done.items()
        if records
    }
    if len({number for numbers in threads.values() for number in numbers}) > 1:
        listed = ", ".join(f"{label} {' or '.join(map(str, numbers))}" for label, numbers in threads.items())
        why = "Sums split over another number of threads round differently: the same spec gives other digits."
        yield tuple(threads), f"Not run with the same number of threads: {listed}.", why


def not_trained(evidence: Evidence) -> Found:
    """Methods that train nothing, among others that do."""
    labels = tuple(label for label in evidence.methods if label in evidence.untrained)
    if labels and len(labels) < len(evidence.methods):
        why = "It is there to show what training adds; its head and dimensions may be others."
        yield labels, f"Not trained: {', '.join(labels)}.", why


def measured_raw(evidence: Evidence) -> Found:
    """Methods measured on raw outputs where others are measured at unit length."""
    raw = tuple(
        label for label, records in evidence.done.items() if any(map(is_measured_raw, one_of_each_spec(records)))
    )
    if raw and len(raw) < sum(bool(records) for records in evidence.done.values()):
        text = f"Measured on raw outputs, the others at unit length: {', '.join(raw)}."
        yield (
            raw,
            text,
            "Length alone moves every ranking metric; evaluation.normalise=true measures all alike (MLRC 2.2).",
        )
