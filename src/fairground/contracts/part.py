"""What parts share: settings of a `Literal` type checked when one is constructed, search ranges, and known bugs."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from fairground.spec import Range, require, require_within


class Part:
    """Refuses a wrong value of a `Literal` setting, or a number out of `bounds`, before the constructor runs.

    `bounds` has intervals as in mathematics: `{"scale": "(0, inf)"}`. A setting left out may be None.
    """

    bounds: ClassVar[Mapping[str, str]] = {}
    tunable: ClassVar[Mapping[str, Range]] = {}

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        parameters = signature(cls).parameters
        bounds = dict(item for kind in reversed(cls.__mro__) for item in vars(kind).get("bounds", {}).items())
        for name, value in settings.items():
            setting = f"{cls.__module__.rpartition('.')[2]}.{name}"
            hint = parameters[name].annotation if name in parameters else None
            if get_origin(hint) is Literal:
                *others, last = map(repr, get_args(hint))
                allowed = " or ".join([", ".join(others), last])
                require(value in get_args(hint), f"{setting} must be {allowed}; got {value!r}")
            if name in bounds:
                require(value is not None or type(None) in get_args(hint), f"{setting} must be a number; got None")
                require_within(bounds[name], setting, value)
        return super().__new__(cls)

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()
