"""Search ranges, as a component's `tunable` declares them for its settings, and the values in them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fairground.spec import LATER, Value, require

Unit = Literal["radians", "degrees"]


@dataclass(frozen=True, kw_only=True)
class Real:
    """Any number between `low` and `high`, searched linearly.

    `unit` is that of both ends; a setting `x` that has an `x_unit` next to it has ranges with a unit and no others.
    """

    low: float
    high: float
    unit: Unit | None = field(default=None, metadata=LATER)

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


def end_of(searched: Range | None, value: object) -> str | None:
    """Return which end of the range the value is on, "lower" or "upper"; choices have no ends."""
    if not isinstance(searched, Real | LogReal | Integer) or not isinstance(value, int | float) or value is True:
        return None
    at, low, high = float(value), float(searched.low), float(searched.high)
    if isinstance(searched, LogReal):
        # What is outside the range is beyond the bound, whatever its logarithm would be.
        at, low, high = math.log(max(at, low)), math.log(low), math.log(high)
    # A search rarely ends exactly on the edge.
    slack = 0.0 if isinstance(searched, Integer) else 0.01 * (high - low)
    return "lower" if at <= low + slack else "upper" if at >= high - slack else None


def contains(searched: Range, value: object) -> bool:
    if isinstance(searched, Choice):
        return any(value == option and type(value) is type(option) for option in searched.options)
    if isinstance(value, bool) or not isinstance(value, int if isinstance(searched, Integer) else int | float):
        return False
    return searched.low <= value <= searched.high


def range_for(key: str, searched: Range, unit: Value) -> Range:
    """Return the range of a setting in the unit its run states; both must have a unit, or neither."""
    given = searched.unit if isinstance(searched, Real) else None
    if unit is None:
        require(given is None, f"the range of {key} is in {given}, and {key} has no unit")
        return searched
    require(given is not None, f"the range of {key} needs a unit: unit = 'radians' or 'degrees'; got {searched}")
    if unit == given or not isinstance(searched, Real):
        return searched
    convert = math.degrees if unit == "degrees" else math.radians
    # Without the last digits, which a change of units makes up: 90, not 90.00000000000001.
    low, high = (float(f"{convert(value):.14g}") for value in (searched.low, searched.high))
    return Real(low=low, high=high, unit="degrees" if unit == "degrees" else "radians")


def range_from_plain(data: Mapping[str, Any]) -> Range:
    values: dict[str, Any] = {key: tuple(value) if key == "options" else value for key, value in data.items()}
    return _KINDS[values.pop("kind")](**values)


def value_at(span: Range, share: float) -> Value:
    """Return the value at a share in [0, 1) of the way through a range."""
    if isinstance(span, Choice):
        return span.options[int(share * len(span.options))]
    if isinstance(span, Integer):
        return span.low + int(share * (span.high - span.low + 1))
    if isinstance(span, LogReal):
        return rounded(span, math.exp(math.log(span.low) + share * math.log(span.high / span.low)))
    return rounded(span, span.low + share * (span.high - span.low))


def rounded(span: Real | LogReal, value: float) -> float:
    """Return a number of a range with six significant digits, so that a table can print it whole."""
    return min(max(float(f"{value:.6g}"), float(span.low)), float(span.high))
