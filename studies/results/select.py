"""Which runs a claim looks at, as the tables its arithmetic needs."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from studies.results.records import ExportedRun

#: rows of tables that nothing was trained for
#: losses that learn a vector per class; these begin at random and, at default settings, learn no faster than the head
CLASS_WEIGHTS = ("ArcFace", "CosFace", "N. Softmax", "Proxy-Anchor", "ProxyNCA", "SoftTriple")
UNTRAINED = ("Frozen", "Untrained")
#: values by method and seed
Table = dict[str, dict[int, float]]


def finals(runs: Sequence[ExportedRun]) -> list[ExportedRun]:
    """Return the runs after selection of methods on the same seeds: of the most methods on the most seeds.

    While a study goes on some methods have fewer seeds than others; they wait until they have as many.
    """
    found = [run for run in runs if run.is_final and run.method not in UNTRAINED]
    seeds: dict[str, set[int]] = {}
    for run in found:
        seeds.setdefault(run.method, set()).add(run.seed)
    if not seeds:
        return []

    def kept(n: int) -> list[str]:
        return [method for method, some in seeds.items() if len(some) >= n]

    most = max({len(some) for some in seeds.values()}, key=lambda n: (n * len(kept(n)), len(kept(n))))
    methods = set(kept(most))
    shared = set.intersection(*(seeds[method] for method in methods))
    return [run for run in found if run.method in methods and run.seed in shared]


def by_data(runs: Sequence[ExportedRun], order: Mapping[str, str]) -> dict[str, list[ExportedRun]]:
    """Return runs by data set, in the order of the pages."""
    found: dict[str, list[ExportedRun]] = {}
    for name in order:
        some = [run for run in runs if run.data == name]
        if some:
            found[name] = some
    return found


def finals_by_data(runs: Sequence[ExportedRun], order: Mapping[str, str]) -> dict[str, list[ExportedRun]]:
    """Return the runs after selection by data set, of the sets that have any."""
    found = {data: finals(some) for data, some in by_data(runs, order).items()}
    return {data: some for data, some in found.items() if some}


def values(runs: Sequence[ExportedRun], metric: str, split: str = "test") -> Table:
    """Return one metric of the selected epoch by method and seed."""
    found: Table = {}
    for run in runs:
        if (split, metric) in run.scores:
            found.setdefault(run.method, {})[run.seed] = run.scores[split, metric]
    return found


def split_label(label: str) -> tuple[str, str]:
    """Return the loss and the variant of a method called "loss, variant"."""
    loss, _, variant = label.rpartition(", ")
    return loss, variant


def seeds_in_words(rows: Iterable[Mapping[int, float]]) -> str:
    """Return how many seeds every row has, as a sentence."""
    n = min(len(row) for row in rows)
    return f"{n} seed{'s' if n > 1 else ''} per method."


def means(table: Table) -> dict[str, float]:
    """Return each method's mean, best first."""
    found = {method: sum(row.values()) / len(row) for method, row in table.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def columns(x: Mapping[str, float], y: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return two measures of the methods that both have, in the order of the first."""
    shared = [method for method in x if method in y]
    return np.array([x[method] for method in shared], float), np.array([y[method] for method in shared], float)


def untrained(runs: Sequence[ExportedRun], metric: str) -> float | None:
    """Return what the network scores before training: the untrained row, else the mean of all runs at epoch 0.

    The runs are those of one data set.
    """
    assert len({run.data for run in runs}) <= 1, "what is untrained is asked of one data set at a time"
    rows = [run for run in runs if run.is_final and run.method in UNTRAINED]
    found = [run.scores["test", metric] for run in rows]
    if not found:
        curves = [run.epochs.get(("test", metric), {}) for run in runs if run.is_final]
        found = [curve[0] for curve in curves if 0 in curve]
    return sum(found) / len(found) if found else None


def raw_features(rows: Sequence[ExportedRun]) -> dict[str, float]:
    """Return what all features of EfficientNet-Lite0 score as they are, by metric, of C11's rows on one data set."""
    scores = next(run.scores for run in rows if run.method.startswith("efficientnet_lite0, all "))
    return {metric: value for (_, metric), value in scores.items()}


def what_matters(runs: Sequence[ExportedRun], order: Mapping[str, str], metric: str) -> dict[str, float]:
    """Return by data set the difference that matters: a tenth of the best method's gain over the untrained network."""
    found = {}
    for data, some in by_data(runs, order).items():
        before, after = untrained(some, metric), means(values(finals(some), metric))
        if before is not None and after:
            found[data] = max(0.0, max(after.values()) - before) / 10
    return found


def untrained_line(runs: Sequence[ExportedRun], data: str, metric: str) -> float | None:
    """Return where the dashed line of a figure is: what the network of one data set scores before training, in %."""
    found = untrained([run for run in runs if run.data == data], metric)
    return None if found is None else 100 * found


def unfinished(runs: Sequence[ExportedRun]) -> list[str]:
    """Return a sentence for each study some of whose methods were searched and have not been repeated yet."""
    found = []
    for study in sorted({run.study for run in runs}):
        some = [run for run in runs if run.study == study]
        searched = {run.method for run in some if run.kind == "trial"}
        missing = sorted(searched - {run.method for run in finals(some)} - set(UNTRAINED))
        if missing:
            found.append(f"Not finished in `{study}`, and left out: {', '.join(missing)}.")
    return found
