"""What a reader must know about methods that share a table, and may not conclude: one function per flag."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import NamedTuple

from fairground.comparison import UNSAID, Comparison, Difference, Evidence, find_differences, is_measured_raw, seed_of
from fairground.records.record import Provenance, RunRecord, SplitName, grouped, one_of_each_spec
from fairground.spec import SeedProcedure, end_of

#: the methods concerned, a sentence, and why it matters
Found = Iterator[tuple[tuple[str, ...], str, str]]
CLUSTERING = ("nmi", "ami", "f1", "purity")
#: a fifth of another method's trials is far less
FAR_LESS = 5
FULL = 0.99


class Flag(NamedTuple):
    """Something a reader must know: by which flag, about which methods, in a sentence, and why it matters."""

    flag: str
    methods: tuple[str, ...]
    text: str
    why: str

    def __str__(self) -> str:
        return f"{self.text} {self.why}"


class FlagRule(NamedTuple):
    """`raised_when` is shown in the list of flags; `find` looks for the flag."""

    name: str
    raised_when: str
    find: Callable[[Evidence], Found]


#: in the order in which they are shown
FLAGS: list[FlagRule] = []


class FairnessResult(NamedTuple):
    """Methods may share a table when there is no difference; flags are shown with it."""

    methods: tuple[str, ...]
    differences: tuple[Difference, ...]
    flags: tuple[Flag, ...]

    @property
    def is_fair(self) -> bool:
        return not self.differences

    def refusal(self) -> str:
        rules_broken = ", ".join(dict.fromkeys(difference.rule for difference in self.differences))
        n = len(self.methods)
        return f"these {n} methods differ in more than what is compared ({rules_broken}), so that no table is fair:"


def check_fairness(
    methods: Mapping[str, Sequence[RunRecord]],
    *,
    metric: str,
    split: SplitName = "test",
    comparison: Comparison | None = None,
    varied: tuple[str, ...] = (),
    imported: Sequence[str] = (),
) -> FairnessResult:
    """Apply every rule and flag to the runs of each method, given under its label; see `Evidence` for the rest."""
    runs, others = {label: tuple(records) for label, records in methods.items()}, tuple(imported)
    evidence = Evidence(methods=runs, metric=metric, split=split, comparison=comparison, varied=varied, imported=others)
    flags = tuple(
        Flag(flag=rule.name, methods=concerned, text=text, why=why)
        for rule in FLAGS
        for concerned, text, why in rule.find(evidence)
    )
    return FairnessResult(methods=tuple(methods), differences=tuple(find_differences(evidence)), flags=flags)


def _listed(labels: Iterable[str]) -> str:
    """Return names that may have commas in them; of many the first."""
    names = list(labels)
    between, n_more = "; " if any(", " in name for name in names) else ", ", len(names) - 6
    return between.join(names[:6]) + (f" and {n_more} more" if n_more > 0 else "")


def _flag(name: str, raised_when: str) -> Callable[[Callable[[Evidence], Found]], None]:
    return lambda find: FLAGS.append(FlagRule(name, raised_when, find))


@_flag("imported", "numbers of others stand in the table")
def imported_numbers(evidence: Evidence) -> Found:
    if evidence.imported:
        text = f"Imported, so that no rule can be checked: {_listed(evidence.imported)}."
        yield evidence.imported, text, "Another protocol can explain any difference to them (MLRC 2.1)."


@_flag("test_selection", "the test split selected, or no validation score shows that it did not (MLRC 2.3)")
def selected_on_test(evidence: Evidence) -> Found:
    why = "What is selected by its test score has a test score that is too high (MLRC 2.3)."
    if on_test := evidence.where(lambda run: run.selection is not None and run.selection.split == "test"):
        yield on_test, f"Selected on the test split: {_listed(on_test)}.", why
    if unknown := evidence.where(lambda run: run.selection is None):
        text = f"No validation score, so nothing shows that the test split did not select: {_listed(unknown)}."
        yield unknown, text, why


@_flag("test_watched", "test scores of every epoch were kept while validation selected (MLRC 2.3)")
def watched_test(evidence: Evidence) -> Found:
    if watched := evidence.where(lambda run: any(row.test for row in run.epochs)):
        text = f"The test split was watched during training, though validation selected: {_listed(watched)}."
        yield watched, text, "A person who sees every epoch's test score may choose what to report by it (MLRC 2.3)."


@_flag("no_repeats", "a method was run once (MLRC 2.1)")
def run_once(evidence: Evidence) -> Found:
    if once := tuple(label for label, runs in evidence.done.items() if len(runs) == 1):
        why = "One run cannot tell a better method from a luckier seed (MLRC 2.1)."
        yield once, f"One run only: {_listed(once)}.", why


@_flag("seeds", "methods have unequal numbers of runs, or other seeds")
def other_seeds(evidence: Evidence) -> Found:
    if _shared_procedure(evidence) is not None:
        return
    seeds = {label: frozenset(map(seed_of, runs)) for label, runs in evidence.done.items() if runs}
    counts = {label: len(found) for label, found in seeds.items()}
    if len(set(counts.values())) > 1:
        text = f"Unequal numbers of runs: {', '.join(f'{label} {count}' for label, count in counts.items())}."
        yield tuple(counts), text, "Methods with fewer runs have wider intervals; run the missing ones."
    elif len(set(seeds.values())) > 1:
        why = "On shared seeds chance moves both methods alike and their difference is seen sooner."
        yield tuple(seeds), "The methods were not run on the same seeds.", why


@_flag("waves", "seeds were added in waves until the study was settled")
def seeds_in_waves(evidence: Evidence) -> Found:
    shared = _shared_procedure(evidence)
    if shared is not None:
        counts = {label: len(set(map(seed_of, runs))) for label, runs in evidence.done.items()}
        listed = ", ".join(f"{label} {count}" for label, count in counts.items())
        yield tuple(counts), f"Runs of each method: {listed}; {shared.sentence}.", shared.why_fair
    elif some := tuple(label for label, runs in evidence.methods.items() if any(run.seed_procedure for run in runs)):
        text = f"Seeds were added until a study was settled, and this table does not correct for it: {_listed(some)}."
        yield some, text, "Seeds added after looking make false verdicts frequent; compare the study's methods alone."


def _shared_procedure(evidence: Evidence) -> SeedProcedure | None:
    found = {run.seed_procedure for runs in evidence.methods.values() for run in runs}
    return found.pop() if len(found) == 1 else None


@_flag("overlap", "one method is called better while the two intervals overlap (MLRC 2.1)")
def overlapping_claims(evidence: Evidence) -> Found:
    # The interval of a difference can leave out 0 where two single intervals overlap, because shared seeds move both.
    # A reader who sees only the table cannot know that.
    seen = {} if evidence.comparison is None else evidence.comparison.estimates
    better = [pair for pair in evidence.comparison.pairs if pair.verdict == "better"] if evidence.comparison else []
    beaten = grouped((pair.a, pair.b) for pair in better if seen[pair.a].overlaps(seen[pair.b]))
    if beaten:
        than = {one: some[0] if len(some) == 1 else f"{len(some)} methods" for one, some in beaten.items()}
        listed = ", ".join(f"{winner} than {others}" for winner, others in list(than.items())[:3])
        n, more = sum(map(len, beaten.values())), f" and {len(than) - 3} more" if len(than) > 3 else ""
        verdicts = f"{len(better)} verdict{'' if len(better) == 1 else 's'}"
        text = f"In {n} of {verdicts} a method is called better while the two intervals overlap: {listed}{more}."
        why = "Only the interval of their difference, which leaves out what both share, supports that."
        yield tuple(dict.fromkeys(name for one, some in beaten.items() for name in (one, *some))), text, why


@_flag("bound", "a searched setting ended within a hundredth of the edge of its range")
def on_a_bound(evidence: Evidence) -> Found:
    listed = {
        label: ", ".join(dict.fromkeys(end for run in runs for end in _bounds_hit(run)))
        for label, runs in evidence.done.items()
    }
    if found := {label: ends for label, ends in listed.items() if ends}:
        text = f"On a bound of the search range: {'; '.join(f'{label}: {ends}' for label, ends in found.items())}."
        yield tuple(found), text, "The optimum may be outside; widen the range."


def _bounds_hit(run: RunRecord) -> Iterator[str]:
    ranges = {} if run.search is None else run.search.ranges
    parts = {part: found for part, found in run.spec.items() if isinstance(found, dict)} if ranges else {}
    for part, settings in parts.items():
        for key, value in settings.items():
            names = (f"{part}.{key}", f"{part}.{settings.get('name')}.{key}")
            end = end_of(next((ranges[name] for name in names if name in ranges), None), value)
            if end is not None:
                yield f"{part}.{key} = {float(str(value)):g} ({end})"


@_flag("less_tuning", "a method had at most a fifth of another's trials")
def tuned_less(evidence: Evidence) -> Found:
    trials = {
        label: max((0 if run.search is None else run.search.trials for run in runs), default=0)
        for label, runs in evidence.done.items()
        if label not in evidence.untrained
    }
    most = max(trials.values(), default=0)
    if behind := tuple(label for label, count in trials.items() if most and count * FAR_LESS <= most):
        listed = ", ".join(f"{label} ({trials[label] or 'none known'})" for label in behind)
        text = f"Far less tuning than the {most} trials of the most tuned method: {listed}."
        yield behind, text, "A baseline at its defaults is easily beaten by anything that was searched for."


@_flag("clustering", "NMI, AMI, F1 or purity from a single clustering, without the spread over its seeds (MLRC 2.2)")
def clustered_once(evidence: Evidence) -> Found:
    runs = [(label, run) for label, found in evidence.done.items() for run in found if run.clustering_seeds < 2]
    once = {(label, score.metric) for label, run in runs for score in run.scores if score.metric in CLUSTERING}
    if once:
        metrics = ", ".join(sorted({metric for _, metric in once}))
        text = f"From a single clustering, without the spread over its seeds: {metrics}."
        why = "k-means from another start gives the same embeddings another score (MLRC 2.2)."
        yield tuple(sorted({label for label, _ in once})), text, why


@_flag("weak_metric", "compared by recall or a clustering metric, or all methods at the ceiling (MLRC 2.2)")
def by_a_weak_metric(evidence: Evidence) -> Found:
    labels, stem = tuple(evidence.methods), evidence.metric.partition("@")[0]
    text = f"Compared by {evidence.metric}, which tells less than map@r."
    if stem == "recall":
        yield labels, text, "Recall looks for one classmate and ignores the rest; MAP@R sees them all (MLRC 2.2)."
    if stem in CLUSTERING:
        yield labels, text, "It needs clusters, and is high for many classes whatever the model (MLRC 2.2, table 2)."
    scores = [[run.score(evidence.metric, evidence.split) or 0.0 for run in runs] for runs in evidence.done.values()]
    if all(some and FULL <= fmean(some) <= 1 for some in scores):
        why = "At the ceiling methods of different quality look equal (MLRC 2.2, figure 1)."
        yield labels, f"Every method has a {evidence.metric} of 99 % or more.", why


@_flag("raw_outputs", "some methods are measured on raw outputs, others at unit length (MLRC 2.2)")
def measured_raw(evidence: Evidence) -> Found:
    raw = tuple(label for label, runs in evidence.done.items() if any(map(is_measured_raw, one_of_each_spec(runs))))
    if raw and len(raw) < sum(bool(runs) for runs in evidence.done.values()):
        text = f"Measured on raw outputs, the others at unit length: {_listed(raw)}."
        why = "Length alone moves every ranking metric; evaluation.normalise=true measures all alike (MLRC 2.2)."
        yield raw, text, why


@_flag("closed_set", "the test classes were trained on")
def on_a_closed_set(evidence: Evidence) -> Found:
    if closed := tuple(label for label, runs in evidence.methods.items() if any(run.is_closed_set for run in runs)):
        why = "Metric learning is judged on classes never seen; a closed set is classification and scores higher."
        yield closed, f"Tested on classes that were trained on (closed set): {_listed(closed)}.", why


@_flag("known_bugs", "a bug of published code is reproduced on purpose")
def with_known_bugs(evidence: Evidence) -> Found:
    bugs = ((bug.sentence, label) for label, runs in evidence.methods.items() for run in runs for bug in run.known_bugs)
    for sentence, labels in grouped(dict.fromkeys(bugs)).items():
        text = f"Known bug switched on in {_listed(labels)}: {sentence}."
        yield tuple(labels), text, "It shows what was published, not what the method can do."


@_flag("per_class", "images of a class in a batch follow the loss (MLRC 3.1)")
def images_per_class(evidence: Evidence) -> Found:
    found = {label: settings.get("sampler.per_class", UNSAID) for label, settings in evidence.settings.items()}
    if len(set(found.values())) > 1 and not evidence.compares_samplers:
        listed = ", ".join(f"{label} {value}" for label, value in found.items())
        why = "Part of a difference in score may come from the batches (MLRC 3.1 does the same)."
        yield tuple(found), f"Images of a class in a batch follow the loss: {listed}.", why


@_flag("unfinished", "runs diverged or failed and are missing from the mean")
def unfinished(evidence: Evidence) -> Found:
    for label, runs in evidence.methods.items():
        if lost := [run.state for run in runs if run.state != "done"]:
            states = ", ".join(sorted(set(lost)))
            text = f"{label}: {len(lost)} of {len(runs)} runs did not finish ({states}) and are not counted."
            yield (label,), text, "A mean over the runs that survived flatters an unstable method."


_ENVIRONMENT: Mapping[str, Callable[[Provenance], object]] = {
    "the version of fairground": lambda origin: origin.fairground.partition("+")[0],
    "the versions of packages": attrgetter("packages"),
    "the machine": attrgetter("hardware"),
    "the driver or libraries of the device": attrgetter("device_details"),
}


@_flag("environment", "versions or machine are not the same in all runs")
def other_environments(evidence: Evidence) -> Found:
    origins = [run.provenance for runs in evidence.done.values() for run in runs]
    if apart := [name for name, read in _ENVIRONMENT.items() if any(read(one) != read(origins[0]) for one in origins)]:
        why = "Results are not bit-identical across them; more seeds show whether it matters."
        yield tuple(evidence.methods), f"Not the same in all runs: {', '.join(apart)}.", why


@_flag("device", "runs were made on different kinds of device, such as cpu and cuda")
def other_devices(evidence: Evidence) -> Found:
    why = "Their arithmetic differs: one seed does not give two methods the same chance on both."
    return _run_differently(evidence, lambda origin: origin.device, "on the same kind of device", why)


@_flag("threads", "runs used different numbers of threads")
def other_threads(evidence: Evidence) -> Found:
    why = "Sums split over another number of threads round differently: results are not bit-identical."
    return _run_differently(evidence, lambda origin: origin.threads, "with the same number of threads", why)


def _run_differently(evidence: Evidence, read: Callable[[Provenance], str | int], how: str, why: str) -> Found:
    found = {label: {read(run.provenance) for run in runs} for label, runs in evidence.done.items() if runs}
    if len(set().union(*found.values())) > 1:
        listed = ", ".join(f"{label} {' or '.join(map(str, sorted(used)))}" for label, used in found.items())
        yield tuple(found), f"Not run {how}: {listed}.", why


@_flag("untrained", "an untrained network is listed beside trained ones")
def not_trained(evidence: Evidence) -> Found:
    labels = tuple(label for label in evidence.methods if label in evidence.untrained)
    if labels and len(labels) < len(evidence.methods):
        why = "It is there to show what training adds; its head and dimensions may differ."
        yield labels, f"Not trained: {_listed(labels)}.", why
