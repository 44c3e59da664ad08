"""Python keywords as the words of the command line, so that both say the same run.

fg.train("laptop", loss="margin", optimiser={"lr": 3e-4}, **{"loss.beta": 1.2})
fairground train --protocol laptop loss=margin optimiser.lr=0.0003 loss.beta=1.2
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from fairground.errors import InputError
from fairground.spec.run import ROOM_OF
from fairground.spec.settings import parse_value

#: what a keyword may be: a value, or a table of them
Setting = str | int | float | bool | None | os.PathLike[str] | Sequence["Setting"] | Mapping[str, "Setting"]


def words_of(settings: Mapping[str, Setting]) -> list[str]:
    """Return `key=value` words: of a table one per entry, whose `name` is the word of the component itself."""
    words = []
    for key, value in settings.items():
        if isinstance(value, Mapping) and "." not in key:
            for inner, item in value.items():
                is_name = inner == "name" and key in ROOM_OF
                dotted = key if is_name else f"{key}.{inner}"
                words.append(f"{dotted}={_text(dotted, item)}")
        else:
            words.append(f"{key}={_text(key, value)}")
    return words


def _text(key: str, value: Any, *, is_inner: bool = False) -> str:
    """Return a value as TOML writes it; text that stands alone goes without quotes where it is read back the same."""
    # NumPy's scalars say what they are in Python.
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if value is None and not is_inner:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | os.PathLike):
        return _quoted(os.fspath(value), is_inner=is_inner)
    if isinstance(value, Mapping):
        entries = (
            f"{_quoted(str(inner), is_inner=True)} = {_text(key, item, is_inner=True)}" for inner, item in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return f"[{', '.join(_text(key, item, is_inner=True) for item in value)}]"
    raise InputError(
        f"{key} must be text, a number, true or false, None, or a list or table of these; got {type(value).__name__}"
    )


def _quoted(text: str, *, is_inner: bool) -> str:
    is_plain = not is_inner and text == text.strip() and (parse_value(text) == text or text.lower() == "none")
    # TOML writes text as JSON does, but for one sign that it wants escaped.
    return text if is_plain else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
