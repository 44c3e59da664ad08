"""What a reader calls a data set: one of the user's own by its folder or file, others by their own name."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fairground.spec.settings import Value

#: data sets that are whatever lies at a path
OWN_DATA = ("folder", "table", "features")
#: names that say nothing without the folder above
_BARE = ("images", "image", "photos", "pictures", "data", "train", "all")


def data_name(part: Value | Mapping[str, Any]) -> str:
    """Return the name of a data set from its part of a plain spec."""
    if not isinstance(part, Mapping):
        return str(part)
    name = str(part.get("name", "?"))
    place = part.get("root") or part.get("path")
    if name not in OWN_DATA or not isinstance(place, str) or not place:
        return name
    path = PurePath(place)
    shown = path.stem if name != "folder" else path.name
    return f"{path.parent.name}/{shown}" if shown in _BARE and path.parent.name else shown or name
