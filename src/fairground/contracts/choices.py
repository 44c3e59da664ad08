"""The values that a `Literal` setting of a component allows, checked when it is constructed."""

from inspect import signature
from typing import Any, Literal, Self, get_args, get_origin

from fairground.errors import require


class ChecksChoices:
    """Refuses a wrong value of a `Literal` setting before the constructor runs."""

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
