"""An analysis as a spec names it: `rho`, or with options of its own, `rho(drop_last=1)`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairground.errors import require
from fairground.spec.catalogue import canonical, nearest
from fairground.spec.declarations import settings_of
from fairground.spec.settings import Value, check_value, parse_value

_WORD = re.compile(r"\s*([\w.:]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class AnalysisWord:
    """An analysis by name, and the options that were given."""

    name: str
    options: dict[str, Value] = field(default_factory=dict)


def read_analysis(word: str) -> AnalysisWord:
    """Return the analysis a word names, its options checked, or refuse in a sentence."""
    match = _WORD.fullmatch(word)
    require(match is not None, f"'{word}' is no analysis: write a name like rho, or with options like rho(drop_last=1)")
    assert match is not None
    name = canonical("analysis", match[1])
    options = dict(_option(name, text) for text in (match[2] or "").split(",") if text.strip())
    return AnalysisWord(name=name, options=options)


def check_analyses(words: Sequence[str]) -> None:
    """Refuse unknown analyses and options, and an analysis that is named twice: their values would share a name."""
    names = [read_analysis(word).name for word in words]
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
    return key, check_value(f"evaluation.analyses: {name}.{key}", settings[key].annotation, parse_value(value))
