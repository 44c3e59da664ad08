"""From a metric's config word to the metric: `recall@5`, `R@1`, `precision_at_1`, `MAP@R`, `fnmr@fmr=0.01`.

A word is `name` or `name@argument`. The name is a file in the metrics room or one of the aliases its class lists; case,
hyphens and underscores do not matter, and `_at_` may stand for `@`. Where `name@argument` is itself a file
(`map@r` is `map_at_r.py`), that file is meant.
"""

import inspect
import re
from functools import cache

from fairground.catalogue import find, list_room, nearest
from fairground.contracts.metric import Metric
from fairground.errors import require

ROOM = "metrics"


def metric_named(word: str) -> Metric:
    """Return the metric a config word means, or refuse it with the nearest right word."""
    if ":" in word:
        return _outsider(word)
    plain = _plain(word)
    known = _known()
    if plain in known:
        return _built(word, known[plain], None)
    name, _, argument = plain.partition("_at_")
    if name in known and argument:
        return _built(word, known[name], argument)
    aliases = _aliases()
    if plain in aliases:
        return _built(word, aliases[plain], None)
    if name in aliases and argument:
        return _built(word, aliases[name], argument)
    raise_unknown(word, name, argument)
    raise AssertionError("unreachable")


def raise_unknown(word: str, name: str, argument: str) -> None:
    """Refuse a word, suggesting the nearest right one."""
    words = [spelled(name) for name in _known().values()]
    hint = nearest(f"{name}@{argument}" if argument else name, words) or nearest(name, words)
    if argument and hint and "@" not in hint:
        hint = hint.replace("'?", f"@{argument}'?")
    require(False, f"no metric '{word}'.{hint} `fairground list metrics` shows them all.")


def spelled(name: str) -> str:
    """Return the config word of a metric's file: `map_at_r` is `map@r`."""
    return name.replace("_at_", "@")


def _plain(word: str) -> str:
    name, at, argument = word.lower().partition("@")
    folded = re.sub(r"[\s\-]+", "_", name.strip())
    return f"{folded}_at_{argument.strip()}" if at else folded


@cache
def _known() -> dict[str, str]:
    """Return every metric's name by its plain spelling; reading the room's files takes milliseconds."""
    return {_plain(name): name for name in list_room(ROOM)}


@cache
def _kind(name: str) -> type[Metric]:
    return find(ROOM, name)


@cache
def _aliases() -> dict[str, str]:
    return {_plain(alias): name for name in _known().values() for alias in _kind(name).aliases}


def _built(word: str, name: str, argument: str | None) -> Metric:
    kind = _kind(name)
    if argument is None:
        metric = kind()
    else:
        require(kind.argument is not None, f"metric '{word}': {spelled(name)} takes nothing after @; got '{argument}'")
        text = argument.removeprefix(f"{kind.argument}=")
        metric = kind(**{str(kind.argument): _number(word, text)})
    return metric


def _number(word: str, text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        require(False, f"metric '{word}': '{text}' is not a number")
        raise


def _outsider(word: str) -> Metric:
    path, _, argument = word.partition("@")
    kind = find(ROOM, path)
    require(
        inspect.isclass(kind) and issubclass(kind, Metric),
        f"'{path}' is not a metric: derive it from RankingMetric, ClusteringMetric or VerificationMetric",
    )
    if not argument:
        return kind()  # type: ignore[no-any-return]
    require(kind.argument is not None, f"metric '{word}' takes nothing after @; got '{argument}'")
    return kind(**{kind.argument: _number(word, argument)})  # type: ignore[no-any-return]
