"""What parts share: settings of a `Literal` type checked when one is constructed, search ranges, and known bugs."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from fairground.errors import require
from fairground.spec.search_ranges import Range


class Part:
    """Refuses a wrong value of a `Literal` setting before the constructor runs."""

    tunable: ClassVar[Mapping[str, Range]] = {}

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        parameters = signature(cls).parameters
        for name, value in settings.items():
            hint = parameters[name].annotation if name in parameters else None
            if get_origin(hint) is Literal:
                *others, last = map(repr, get_args(hint))
                allowed = " or ".join([", ".join(others), last])
                setting = f"{cls.__module__.rpartition('.')[2]}.{name}"
                require(value in get_args(hint), f"{setting} must be {allowed}; got {value!r}")
        return super().__new__(cls)

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()
