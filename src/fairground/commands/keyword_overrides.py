"""Overrides of a spec from Python keywords, objects among them."""

import os
from collections.abc import Mapping, Sequence

from fairground import training
from fairground.spec import ROOM_OF, InputError, Value, require

#: what a keyword may be: a value, a table of them, or for a part an object
Setting = str | int | float | bool | None | os.PathLike[str] | Sequence["Setting"] | Mapping[str, "Setting"] | object
_PLAIN = (str, int, float, bool, type(None), os.PathLike)


def keyword_overrides(settings: Mapping[str, Setting]) -> dict[str, Value]:
    """Return keywords as overrides by dotted name: `optimiser={"lr": 1e-3}` sets `optimiser.lr`.

    In the table of a component, `name` is the component itself. A component that is a Python object, such as a module
    or data, becomes a name that follows from its content.
    """
    found: dict[str, Value] = {}
    for key, value in settings.items():
        is_table = isinstance(value, Mapping) and "." not in key
        entries = value.items() if isinstance(value, Mapping) and is_table else [("", value)]
        for inner, item in entries:
            is_name = not inner or (inner == "name" and key in ROOM_OF)
            dotted = key if is_name else f"{key}.{inner}"
            require(dotted not in found, f"'{dotted}' is given twice")
            is_part = key in (*ROOM_OF, "optimiser") and inner in ("", "name")
            is_object = is_part and not isinstance(item, _PLAIN)
            plain = training.name_of_object(key, item) if is_object else _plain(dotted, item)
            found[dotted] = None if isinstance(plain, str) and plain.lower() == "none" else plain
    return found


def _plain(key: str, value: object) -> Value:
    # A scalar of NumPy becomes a Python number.
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Mapping):
        return {str(inner): _plain(key, item) for inner, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_plain(key, item) for item in value]
    advice = "; of a data set in parts pass one of them" if key.startswith("data.") else ""
    wanted = "text, a number, true or false, None, or a list or table of these"
    raise InputError(f"{key} must be {wanted}; got {type(value).__name__}{advice}")
