"""A comparison in sentences and as JSON; an unfair one is refused, or shown with every row and verdict marked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairground import reporting
from fairground.comparison import Comparison, Pair, join_folds, require, sentence_of
from fairground.records import RunFolder, RunRecord
from fairground.reporting import UNFAIR, ClassScores, ResultTable, heading, shorten, show, table_formats, unit

#: every pair of six methods
MOST_TO_READ = 15


def compare_records(
    records: Iterable[RunRecord],
    *,
    metric: str | None = None,
    folders: Mapping[str, RunFolder] | None = None,
    **settings: Any,
) -> ResultTable:
    """Compare the methods of some runs by `metric`, by default the metric of selection; folds are averaged.

    `settings` are those of `ResultTable.from_records`; over anything but seeds it needs the `folders` of the runs. The
    table has one column for a given metric; where the methods may not be compared, every row says so.
    """
    kept = tuple(records)
    classes = ClassScores(records=kept, folders=folders or {})
    joined, has_all = join_folds(kept), metric is None
    table = ResultTable.from_records(joined, primary=metric, has_all_metrics=has_all, classes=classes, **settings)
    imported = "all of these runs are imported, and no verdict is made on them"
    nothing = f"{imported if table.imported else 'no run has finished'}, so there is nothing to compare"
    require(bool(table.comparisons), nothing)
    return table.shown()


def refusal(table: ResultTable) -> str:
    """Return every difference with why it matters."""
    return "\n".join([table.fairness.refusal(), *indented(_differences(table))])


def text(table: ResultTable, *, hints: Sequence[str] = (), width: int | None = None) -> str:
    """Return table, verdicts, flags and hints for a terminal of some width."""
    pairs, read = table.comparison.pairs, pairs_to_read(table.comparison)
    # Pairs that only lack a second run share one sentence.
    lacking = [pair for pair in read if pair.low is None and pair.prospect == "advised"]
    lacking = lacking if len(lacking) > 1 else []
    verdicts = [sentence_in(table, pair) for pair in read if pair not in lacking]
    if lacking:
        verdicts.append(f"no verdict on {len(lacking)} pairs: a verdict needs at least two runs of each method")
    lines = [how_to_read(table)] if pairs else []
    lines += indented(("" if table.is_fair else UNFAIR) + verdict for verdict in verdicts)
    if len(read) < len(pairs):
        lines += indented([f"and {len(pairs) - len(read)} pairs without the first method: --json has all"])
    lines += [*reservations(table), *_titled("Hints:", hints)]
    further = "".join(f"{line}\n" for line in lines)
    return f"{table_formats.text(table, width=width)}\n{table_formats.folded(further, width)}"


def reservations(table: ResultTable) -> list[str]:
    flags = [f"{flag.flag}: {flag}" for flag in table.fairness.flags]
    return [*_titled("Unfair, and shown anyway:", _differences(table)), *_titled("Caveats:", flags)]


def how_to_read(table: ResultTable) -> str:
    metric, found = table.primary, table.comparison
    if not has_intervals(found):
        return f"By {heading(metric)}; single runs have no interval:"
    margin, n_pairs = f"{show(metric, found.margin)}{unit(metric)}", len(found.pairs)
    at_once = f"intervals of all {n_pairs} pairs hold at once" if n_pairs > 1 else "the interval holds"
    kinds = {"classes": " for other test classes", "both": " for other seeds and test classes at once"}
    looks = "" if table.waves is None else " over all looks"
    held = f"{at_once}{looks} at {100 * found.level:g} %{kinds.get(found.pairs[0].over, '')}"
    return f"By {heading(metric)}, {held}; equivalent is within ±{margin}:"


def has_intervals(comparison: Comparison) -> bool:
    return any(pair.low is not None for pair in comparison.pairs)


def pairs_to_read(comparison: Comparison) -> list[Pair]:
    """Return all pairs while they are few, otherwise those of the method with the best mean."""
    if len(comparison.pairs) <= MOST_TO_READ:
        return list(comparison.pairs)
    leader = (comparison.repeated.methods or comparison.methods)[0].name
    return [pair for pair in comparison.pairs if leader in (pair.a, pair.b)]


def plain(table: ResultTable, *, is_shown: bool = True) -> dict[str, Any]:
    """Return everything as JSON-ready data; rows and verdicts only when they may be shown."""
    rows, level = [], table.comparison.level
    for row in (*table.rows, *table.imported) if is_shown else ():
        spans = {metric: cell.interval for metric, cell in row.cells.items()}
        scores = {key: one and {**one.ends, "level": level, "kind": "model"} for key, one in spans.items()}
        counts = {"n_done": row.n_done, "n_runs": row.n_runs}
        rows.append({"method": row.label, "key": row.key, **counts, "scores": scores})
    pairs = table.comparison.pairs if is_shown else ()
    return {
        "is_fair": table.is_fair,
        "metric": table.primary,
        "higher_is_better": table.higher_is_better[table.primary],
        "split": table.split,
        "differences": [dict(vars(difference)) for difference in table.fairness.differences],
        "flags": [flag._asdict() for flag in table.fairness.flags],
        "rows": rows,
        "level": level,
        "margin": table.comparison.margin,
        "pairs": [plain_pair(pair, sentence_in(table, pair)) for pair in pairs],
        "best": list(table.best) if is_shown else [],
    }


def plain_pair(pair: Pair, sentence: str) -> dict[str, Any]:
    numbers = ("difference", "low", "high", "p", "p_alone", "verdict", "reason", "n_a", "n_b", "more_seeds")
    return {**{key: getattr(pair, key) for key in ("a", "b", *numbers)}, "sentence": sentence}


def sentence_in(table: ResultTable, pair: Pair) -> str:
    return sentence(pair, table.primary, has_direction=table.has_direction)


def sentence(pair: Pair, metric: str, *, has_direction: bool = True) -> str:
    short = replace(pair, a=shorten(pair.a, 60), b=shorten(pair.b, 60))
    better = "" if has_direction else "higher"
    return sentence_of(short, show=lambda value: show(metric, value), unit=unit(metric), better=better)


def _differences(table: ResultTable) -> list[str]:
    return [f"{difference.rule}: {difference}" for difference in table.fairness.differences]


def _titled(title: str, rows: Sequence[str]) -> list[str]:
    return ["", title, *indented(rows)] if rows else []


def indented(lines: Iterable[str]) -> list[str]:
    """Indent lines, cleaned of control characters and cut to a readable length."""
    return [f"  {shorten(line, 1000)}" for line in lines]


def confidence_of(table: ResultTable) -> dict[str, Any] | None:
    """Return what the comparison says; nothing for one method alone.

    `sentences` are verdicts on pairs; `n_more` is how many more pairs there are. `chances` are each method's
    probability of being the best.
    """
    found = table.comparison
    if not found.pairs:
        return None
    read = pairs_to_read(found)
    return {
        "how_to_read": how_to_read(table)[:-1],
        "has_intervals": has_intervals(found),
        "sentences": [shorten(sentence_in(table, pair), 400) for pair in read],
        "n_more": len(found.pairs) - len(read),
        "chances": _chances(table) if table.has_direction else [],
    }


def _chances(table: ResultTable) -> list[dict[str, Any]]:
    chances = []
    for method in table.comparison.methods:
        chance = method.probability_best
        if chance is None:
            continue
        shown = reporting.chance_text(chance, is_among_best=method.is_among_best)
        row = {"label": method.name, "probability": chance, "shown": shown, "is_among_best": method.is_among_best}
        chances.append(row)
    return sorted(chances, key=lambda row: -row["probability"])
