"""From a metric's config word to the metric; `spec/measurement_names.py` says what a word is."""

import inspect

from fairground.contracts.metric import Metric
from fairground.errors import InputError, require
from fairground.spec.catalogue import find
from fairground.spec.measurement_names import ROOM, MetricWord, read_metric, refuse_unknown, spelled

#: no list of neighbours is longer
_MOST = 10**9


def metric_named(word: str) -> Metric:
    """Return the metric a config word means, or refuse it with the nearest right word."""
    if ":" in word:
        return _outsider(word)
    found = read_metric(word)
    if found is None:
        refuse_unknown(word)
    assert found is not None
    return _built(word, found)


def _built(word: str, found: MetricWord) -> Metric:
    kind: type[Metric] = find(ROOM, found.name)
    if found.argument is None:
        return kind()
    require(
        kind.argument is not None,
        f"metric '{word}': {spelled(found.name)} takes nothing after @; got '{found.argument}'",
    )
    text = found.argument.removeprefix(f"{kind.argument}=")
    return kind(**{str(kind.argument): _number(word, text)})


def _number(word: str, text: str) -> int | float:
    try:
        number = int(text) if text.isdecimal() else float(text)
    except ValueError as error:
        raise InputError(f"metric '{word}': '{text}' is not a number") from error
    require(number <= _MOST, f"metric '{word}': a number after @ is {_MOST:,} at most; got {text}")
    return number


def _outsider(word: str) -> Metric:
    path, _, argument = word.partition("@")
    kind = find(ROOM, path)
    require(
        inspect.isclass(kind) and issubclass(kind, Metric),
        f"'{path}' is not a metric: derive it from RankingMetric, ClusteringMetric, VerificationMetric or "
        "OpenSetMetric",
    )
    if not argument:
        return kind()  # type: ignore[no-any-return]
    require(kind.argument is not None, f"metric '{word}' takes nothing after @; got '{argument}'")
    return kind(**{kind.argument: _number(word, argument)})  # type: ignore[no-any-return]
