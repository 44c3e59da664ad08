"""The vocabulary of search ranges: what a component's `tunable` says about each of its settings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairground.errors import require

Unit = Literal["radians", "degrees"]
#: how many radians each unit is
_RADIANS: Mapping[Unit, float] = {"radians": 1.0, "degrees": math.pi / 180}


@dataclass(frozen=True, kw_only=True)
class Real:
    """Any number between `low` and `high`, searched linearly.

    `unit` is that of both ends; a setting `x` that has an `x_unit` next to it has ranges with a unit and no others.
    """

    low: float
    high: float
    unit: Unit | None = None

    def __post_init__(self) -> None:
        require(self.low < self.high, f"a range needs low < high; got [{self.low}, {self.high}]")


@dataclass(frozen=True, kw_only=True)
class LogReal:
    """A positive number between `low` and `high`, searched on a logarithmic scale."""

    low: float
    high: float

    def __post_init__(self) -> None:
        require(0 < self.low < self.high, f"a logarithmic range needs 0 < low < high; got [{self.low}, {self.high}]")


@dataclass(frozen=True, kw_only=True)
class Integer:
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        require(self.low < self.high, f"a range needs low < high; got [{self.low}, {self.high}]")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of a few named options."""

    options: tuple[str | int | float | bool, ...]

    def __post_init__(self) -> None:
        require(len(self.options) > 1, f"a choice needs at least two options; got {self.options}")


Range = Real | LogReal | Integer | Choice
_KINDS: Mapping[str, type[Range]] = {kind.__name__: kind for kind in (Real, LogReal, Integer, Choice)}

#: as a share of the range: a search rarely lands on the edge to the last digit
NEAR = 0.01


def end_of(searched: Range | None, value: object) -> str | None:
    """Return which end of the range the value lies on, "lower" or "upper"; choices have no ends."""
    if not isinstance(searched, Real | LogReal | Integer) or not isinstance(value, int | float) or value is True:
        return None
    at, low, high = float(value), float(searched.low), float(searched.high)
    if isinstance(searched, LogReal):
        # What lies outside the range is beyond the bound, whatever its logarithm would be.
        at, low, high = math.log(max(at, low)), math.log(low), math.log(high)
    slack = 0.0 if isinstance(searched, Integer) else NEAR * (high - low)
    return "lower" if at <= low + slack else "upper" if at >= high - slack else None


def contains(searched: Range, value: object) -> bool:
    """Tell whether a search of the range could try the value."""
    if isinstance(searched, Choice):
        return any(value == option and type(value) is type(option) for option in searched.options)
    if isinstance(value, bool) or not isinstance(value, int if isinstance(searched, Integer) else int | float):
        return False
    return searched.low <= value <= searched.high


def range_for(key: str, searched: Range, unit: str | None) -> Range:
    """Return the range of a setting in the unit its run states; both must have a unit, or neither."""
    given = searched.unit if isinstance(searched, Real) else None
    if unit is None:
        require(given is None, f"the range of {key} is in {given}, and {key} has no unit")
        return searched
    require(given is not None, f"the range of {key} needs a unit: unit = 'radians' or 'degrees'; got {searched}")
    require(unit in _RADIANS, f"{key}_unit must be 'radians' or 'degrees'; got '{unit}'")
    assert isinstance(searched, Real)
    assert searched.unit is not None
    wanted: Unit = "degrees" if unit == "degrees" else "radians"
    if wanted == searched.unit:
        return searched
    ratio = _RADIANS[searched.unit] / _RADIANS[wanted]
    return Real(low=_short(searched.low * ratio), high=_short(searched.high * ratio), unit=wanted)


def _short(value: float) -> float:
    """Return a number without the last digits, which a change of units makes up: 90, not 90.00000000000001."""
    return float(f"{value:.14g}")


def range_to_plain(span: Range) -> dict[str, Any]:
    """Return a range as JSON-ready data with its kind."""
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(span).items()}
    if values.get("unit", "") is None:
        del values["unit"]  # most ranges have none, and studies keep their names
    return {"kind": type(span).__name__, **values}


def range_from_plain(data: Mapping[str, Any]) -> Range:
    """Read a range back."""
    values: dict[str, Any] = {key: value for key, value in data.items() if key != "kind"}
    if "options" in values:
        values["options"] = tuple(values["options"])
    return _KINDS[data["kind"]](**values)
