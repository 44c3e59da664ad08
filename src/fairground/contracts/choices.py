"""The values that a `Literal` setting of a component allows, checked when it is constructed."""

from collections.abc import Mapping
from inspect import signature
from typing import Any, Literal, Self, get_args, get_origin

from fairground.errors import require


class ChecksChoices:
    """Refuses a wrong value of a `Literal` setting before the constructor runs."""

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Return an object whose `Literal` settings are known to be allowed."""
        _require_choices(cls, settings)
        return super().__new__(cls)


def _require_choices(component: type, settings: Mapping[str, object]) -> None:
    parameters = signature(component).parameters
    for name, value in settings.items():
        hint = parameters[name].annotation if name in parameters else None
        if get_origin(hint) is Literal:
            *others, last = map(repr, get_args(hint))
            allowed = " or ".join([", ".join(others), last])
            require(
                value in get_args(hint),
                f"{component.__module__.rpartition('.')[2]}.{name} must be {allowed}; got {value!r}",
            )
