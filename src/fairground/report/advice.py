"""What a race found, in plain words: what to take, how sure that is, what would make it surer, and what all cost."""

from collections.abc import Sequence
from math import inf
from typing import Any

from fairground.recommend.recommendation import Recommendation
from fairground.recommend.standings import MethodStanding, intervals_of
from fairground.report.comparison import sentence
from fairground.report.headings import duration, heading, show, show_interval, size, unit
from fairground.report.headline import join_words
from fairground.statistics.comparison import Pair

#: the columns of the ranking
RANKING = ("method", "validation", "test", "seeds", "epochs", "time of a run", "memory")
#: with more seeds than this to be run, a choice by cost is the better advice
REACH = 100


def advice_of(recommendation: Recommendation, *, metric: str, is_sealed: bool) -> list[str]:
    """Return the advice, most important sentence first."""
    found = recommendation
    return [
        *_what_to_take(found, metric),
        *_how_sure(found, metric),
        *_against_baseline(found, metric),
        *_on_test(found, metric, is_sealed),
    ]


def standings_text(standings: Sequence[MethodStanding], baselines: Sequence[MethodStanding], *, metric: str) -> str:
    """Return the ranking as a table for a terminal."""
    rows: list[Sequence[str]] = [RANKING, *ranking_of((*standings, *baselines), metric=metric)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]]) + "\n"


def ranking_of(standings: Sequence[MethodStanding], *, metric: str) -> list[tuple[str, ...]]:
    """Return the rows of the ranking, a cell for each column of `RANKING`."""
    validation, test = intervals_of(standings, "validation"), intervals_of(standings, "test")
    return [
        (
            standing.label,
            show_interval(metric, validation[standing.label]),
            show_interval(metric, test[standing.label]) if standing.label in test else "sealed",
            str(len(standing.validation)),
            str(standing.epochs),
            duration(standing.seconds),
            size(standing.memory),
        )
        for standing in standings
    ]


def standings_plain(standings: Sequence[MethodStanding]) -> list[dict[str, Any]]:
    """Return the ranking as JSON-ready data."""
    return [
        {
            "method": standing.label,
            "epochs": standing.epochs,
            "is_full": standing.is_full,
            "validation": standing.validation,
            "test": standing.test,
            "seconds": standing.seconds,
            "memory_bytes": standing.memory,
            "runs": [run.name for run in standing.runs],
        }
        for standing in standings
    ]


def _what_to_take(found: Recommendation, metric: str) -> list[str]:
    chosen, best = found.chosen, found.best
    if found.is_baseline:
        return [
            f"Take the {chosen.label} {_as_it_is(chosen)}: {_score(found, chosen, metric)} on the validation classes."
        ]
    if found.is_cheaper:
        assert found.comparison is not None
        saved = 100 * (1 - chosen.seconds / best.seconds)
        pair = found.comparison.pair(best.label, chosen.label)
        return [
            f"Take {chosen.label}, the cheapest of those that may be best: {_score(found, chosen, metric)} on the "
            f"validation classes. {best.label} has {_score(found, best, metric)}; the two are "
            f"{'equivalent' if pair.verdict == 'equivalent' else 'not settled'}, and {chosen.label} saves "
            f"{saved:.0f} % of the time."
        ]
    return [f"Take {chosen.label}: {_score(found, chosen, metric)} on the validation classes.{_open_against(found)}"]


def _open_against(found: Recommendation) -> str:
    """Say which methods are not behind the chosen one, and why it is taken before them."""
    best = found.chosen
    if found.comparison is None or len(found.level) < 2 or all(len(one.validation) < 2 for one in found.leaders):
        return ""
    others = [standing.label for standing in found.level if standing.label != best.label]
    verdicts = {label: found.comparison.pair(best.label, label).verdict for label in others}
    equal = [label for label in others if verdicts[label] == "equivalent"]
    unsettled = [label for label in others if verdicts[label] == "unsettled"]
    parts = [f"is equivalent to {join_words(equal)}"] if equal else []
    parts += [f"is not settled against {join_words(unsettled)}"] if unsettled else []
    most = "highest" if best.higher_is_better else "lowest"
    return f" It {', '.join(parts)} and has the {most} mean."


def _how_sure(found: Recommendation, metric: str) -> list[str]:
    if found.is_baseline or found.comparison is None:
        return []
    if all(len(standing.validation) < 2 for standing in found.leaders):
        return ["One seed each cannot tell a better method from a lucky one: give it more time."]
    pairs = [pair for pair in found.comparison.pairs if found.best.label in (pair.a, pair.b)]
    return [f"{sentence(pair, metric)}.{' Choose by cost.' if _is_out_of_reach(pair) else ''}" for pair in pairs]


def _is_out_of_reach(pair: Pair) -> bool:
    return not pair.is_settled and pair.low is not None and (pair.more_seeds or inf) > REACH


def _against_baseline(found: Recommendation, metric: str) -> list[str]:
    baseline, best = found.baseline, found.best
    if baseline is None or not found.leaders:
        return []
    gain = f"{show(metric, abs(best.mean - baseline.mean))} points"
    if found.is_baseline:
        return [
            f"Training did not beat the {baseline.label}, so use that: {best.label}, the best of those trained, has "
            f"{_score(found, best, metric)}. More time, or more images of more classes, may change that."
        ]
    return [f"Training gained {gain} over the {baseline.label} ({show(metric, baseline.mean)}{unit(metric)})."]


def _on_test(found: Recommendation, metric: str, is_sealed: bool) -> list[str]:
    if is_sealed:
        return ["The test classes are still sealed: they are opened once, when the race is over."]
    interval = intervals_of(_shown(found), "test").get(found.chosen.label)
    if interval is None:
        return []
    return [
        f"On the test classes, opened once after this choice, {found.chosen.label} reaches {heading(metric)} "
        f"{show_interval(metric, interval)}{unit(metric)}: what to expect of classes never seen."
    ]


def _as_it_is(standing: MethodStanding) -> str:
    return "as they are" if standing.label.endswith("s") else "as it is"


def _shown(found: Recommendation) -> list[MethodStanding]:
    return [*found.leaders, *([] if found.baseline is None else [found.baseline])]


def _score(found: Recommendation, standing: MethodStanding, metric: str) -> str:
    n, interval = len(standing.validation), intervals_of(_shown(found), "validation")[standing.label]
    over = f" over {n} seeds" if n > 1 else ""
    return f"{heading(metric)} {show_interval(metric, interval)}{unit(metric)}{over}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first = f"{row[0]:<{widths[0]}}"
    return "  ".join([first, *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))])
