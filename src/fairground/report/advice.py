"""What a race found, in plain words: what to take, how sure that is, what would make it surer, and what all cost."""

from collections.abc import Sequence
from typing import Any

from fairground.recommend.recommendation import Recommendation
from fairground.recommend.standings import MethodStanding
from fairground.report.headings import duration, heading, show, show_interval, size, unit
from fairground.report.headline import join_words
from fairground.statistics.pairwise import Verdict

#: the columns of the ranking
RANKING = ("method", "validation", "test", "seeds", "epochs", "time of a run", "memory")
#: nobody runs more seeds than this to tell two methods apart
REACH = 100


def advice_of(recommendation: Recommendation, *, metric: str, is_sealed: bool) -> list[str]:
    """Return the advice, most important sentence first."""
    found = recommendation
    return [
        *_what_to_take(found, metric),
        *_how_sure(found),
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
    return [
        (
            standing.label,
            show_interval(metric, standing.interval),
            "sealed" if (test := standing.test_interval) is None else show_interval(metric, test),
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
        return [f"Take the {chosen.label} {_as_it_is(chosen)}: {_score(chosen, metric)} on the validation classes."]
    if found.is_cheaper:
        saved = 100 * (1 - chosen.seconds / best.seconds)
        return [
            f"Tied: take {chosen.label}, it is the cheapest, {_score(chosen, metric)} on the validation classes; "
            f"{best.label} has {_score(best, metric)}, cannot be told from it, and {saved:.0f} % more of its time "
            "would be spent for nothing that can be seen."
        ]
    others = [standing.label for standing in found.level if standing.label != chosen.label]
    most = "highest" if chosen.higher_is_better else "lowest"
    tied = f" It is tied with {join_words(others)} and has the {most} mean." if others else ""
    return [f"Take {chosen.label}: {_score(chosen, metric)} on the validation classes.{tied}"]


def _how_sure(found: Recommendation) -> list[str]:
    if found.is_baseline or not found.leaders:
        return []
    if all(len(standing.validation) < 2 for standing in found.leaders):
        return ["One seed each cannot tell a better method from a lucky one: give it more time."]
    words = []
    for verdict in found.verdicts:
        if found.best.label not in (verdict.a, verdict.b):
            continue
        if verdict.is_separated:
            words.append(f"{verdict.a} is better than {verdict.b} beyond what chance explains.")
        else:
            words.append(_what_would_separate(verdict))
    return words


def _what_would_separate(verdict: Verdict) -> str:
    more = verdict.more_seeds
    if len(verdict.differences) < 2:
        return f"{verdict.a} and {verdict.b} share too few seeds to be told apart."
    if more is None or more > REACH:
        return f"No number of seeds within reach would separate {verdict.a} from {verdict.b}: choose by cost."
    return (
        f"{more} more seed{'' if more == 1 else 's'} would separate {verdict.a} from {verdict.b}, if the difference "
        "stays as seen."
    )


def _against_baseline(found: Recommendation, metric: str) -> list[str]:
    baseline, best = found.baseline, found.best
    if baseline is None or not found.leaders:
        return []
    gain = f"{show(metric, abs(best.mean - baseline.mean))} points"
    if found.is_baseline:
        return [
            f"Training did not beat the {baseline.label}, so use that: {best.label}, the best of those trained, has "
            f"{_score(best, metric)}. More time, or more images of more classes, may change that."
        ]
    return [f"Training gained {gain} over the {baseline.label} ({show(metric, baseline.mean)}{unit(metric)})."]


def _on_test(found: Recommendation, metric: str, is_sealed: bool) -> list[str]:
    if is_sealed:
        return ["The test classes are still sealed: they are opened once, when the race is over."]
    interval = found.chosen.test_interval
    if interval is None:
        return []
    return [
        f"On the test classes, opened once after this choice, {found.chosen.label} reaches {heading(metric)} "
        f"{show_interval(metric, interval)}{unit(metric)}: what to expect of classes never seen."
    ]


def _as_it_is(standing: MethodStanding) -> str:
    return "as they are" if standing.label.endswith("s") else "as it is"


def _score(standing: MethodStanding, metric: str) -> str:
    n = len(standing.validation)
    over = f" over {n} seeds" if n > 1 else ""
    return f"{heading(metric)} {show_interval(metric, standing.interval)}{unit(metric)}{over}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first = f"{row[0]:<{widths[0]}}"
    return "  ".join([first, *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))])
