"""Metrics and analyses by the names that a spec has for them: `recall@5`, `MAP@R`, `fnmr@fmr=0.01`, `rho(drop_last=1)`.

A name is a file of the metrics room, `map_at_r.py` for `map@r`, or an alias; case and hyphens do not matter.
"""

import re
from functools import cache
from typing import NamedTuple, NoReturn

from fairground.errors import InputError, require
from fairground.spec import Value, canonical, declared, fit, list_names, nearest, parse_value, settings_of

ROOM = "metrics"
#: ways to re-rank lists before they are measured: `map@r+k_reciprocal`
RERANKINGS = ("k_reciprocal", "query_expansion")


class MetricDeclaration(NamedTuple):
    """A metric's file, what is after @, its name in print, and whether it is a share, between `lowest` and 1."""

    name: str
    argument: str | None
    title: str
    higher_is_better: bool
    is_share: bool
    lowest: float
    reranking: str = ""

    @property
    def word(self) -> str:
        """Its name in a spec: `recall@1`."""
        argument = "" if self.argument is None else f"@{self.argument}"
        return spelled(self.name) + argument + (f"+{self.reranking}" if self.reranking else "")

    def allows(self, value: float) -> bool:
        """Tell whether a value is in the range of the metric, up to rounding."""
        return not self.is_share or self.lowest - 1e-6 <= value <= 1 + 1e-6


@cache
def declared_metric(word: str) -> MetricDeclaration | None:
    """Return what the metric a word means declares; None where no metric of ours is called so."""
    plain, way = _plain(without_reranking(word)), reranking_of(word)
    stem, _, argument = plain.partition("_at_")
    for known in _spellings():
        if plain in known or (stem in known and argument):
            name = known.get(plain) or known[stem]
            given = None if plain in known else argument
            title = declared(ROOM, name, "title", name)
            defaults = {"higher_is_better": True, "is_share": True, "lowest": 0.0}
            flags = {key: declared(ROOM, name, key, default) for key, default in defaults.items()}
            title = title if given is None else f"{title}@{given}"
            title += f" re-ranked ({way.replace('_', ' ')}, transductive)" if way else ""
            return MetricDeclaration(name, given, title, **flags, reranking=way)
    return None


def reranking_of(word: str) -> str:
    """Return how the lists that a metric measures are re-ranked, nothing where they are plain."""
    _, _, way = word.rpartition("+")
    return way if way in RERANKINGS else ""


def without_reranking(word: str) -> str:
    return word.rpartition("+")[0] if reranking_of(word) else word


def is_share(metric: str) -> bool:
    """Tell whether the metric is a share of 1, shown in per cent, as all retrieval metrics are."""
    found = declared_metric(metric)
    return found is not None and found.is_share


def in_unit(metric: str, shown: float) -> float:
    """Return a number in the unit of the scores from one in the unit they are shown in."""
    return shown / 100 if is_share(metric) else shown


def goodness(value: float, higher_is_better: bool | None) -> float:
    """Return a score turned so that more is better; one without a known direction stays as it is."""
    return -value if higher_is_better is False else value


def refuse_unknown(word: str) -> NoReturn:
    name, _, argument = _plain(word).partition("_at_")
    words = [spelled(known) for known in list_names(ROOM)]
    hint = nearest(f"{name}@{argument}" if argument else name, words) or nearest(name, words)
    if argument and hint and "@" not in hint:
        hint = hint.replace("'?", f"@{argument}'?")
    raise InputError(f"no metric '{word}'.{hint} `fairground list metrics` shows them all.")


def spelled(name: str) -> str:
    """Return the config word of a metric's file: `map_at_r` is `map@r`."""
    return name.replace("_at_", "@")


def _plain(word: str) -> str:
    name, at, argument = word.lower().partition("@")
    folded = re.sub(r"[\s\-]+", "_", name.strip())
    return f"{folded}_at_{argument.strip()}" if at else folded


@cache
def _spellings() -> tuple[dict[str, str], dict[str, str]]:
    names = list_names(ROOM)
    aliases = {_plain(alias): name for name in names for alias in declared(ROOM, name, "aliases", ())}
    return {_plain(name): name for name in names}, aliases


def read_analysis(word: str) -> tuple[str, dict[str, Value]]:
    """Return the name and the options of the analysis that a word asks for, or refuse in a sentence."""
    match = re.fullmatch(r"\s*([\w.:]+)\s*(?:\((.*)\))?\s*", word, re.DOTALL)
    if match is None:
        raise InputError(f"'{word}' is not an analysis: write a name like rho, or with options like rho(drop_last=1)")
    name = canonical("analysis", match[1])
    return name, dict(_option(name, text) for text in (match[2] or "").split(",") if text.strip())


def check_analyses(words: list[str]) -> None:
    """Refuse unknown analyses and options, and an analysis that is named twice: their values would share a name."""
    names = [read_analysis(word)[0] for word in words]
    twice = next((name for name in names if names.count(name) > 1), "")
    require(not twice, f"evaluation.analyses names {twice} twice; a run has room for one set of its values")


def _option(name: str, text: str) -> tuple[str, Value]:
    key, equals, value = (part.strip() for part in text.partition("="))
    require(bool(equals) and bool(key), f"evaluation.analyses: '{text.strip()}' of {name} must be option=value")
    if ":" in name:
        return key, parse_value(value)
    settings = settings_of("analysis", name)
    takes = f"{name} takes {', '.join(settings)}" if settings else f"{name} has no options"
    require(key in settings, f"evaluation.analyses: no option '{key}' of {name}.{nearest(key, settings)} ({takes}.)")
    return key, fit(f"evaluation.analyses: {name}.{key}", settings[key].hint, parse_value(value))
