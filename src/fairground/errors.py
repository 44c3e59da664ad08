"""The exceptions of fairground, `require`, which raises them, and "Did you mean ...?".

A message is one sentence for the user: which setting, what is allowed, what was given. The command line prints it
without a traceback and exits with `exit_code`.
"""

import difflib
import re
import warnings
from collections.abc import Iterable
from math import inf
from typing import Any


class FairgroundError(Exception):
    """Something that fairground refuses or could not finish."""

    exit_code = 1


class InputError(FairgroundError, ValueError):
    """The request cannot be carried out; nothing was started. A `ValueError`, as Python users expect."""

    exit_code = 2


class DataError(InputError):
    """The data cannot be used: an empty split, shared classes, unreadable arrays."""


class PictureError(DataError):
    """An image cannot be read. The message is one line even if the file name is not."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence.replace("\n", "\\n"))


class StoreError(FairgroundError):
    """Records or checkpoints cannot be read or written."""


class SealError(FairgroundError):
    """The test split was requested before selection was finished."""


class DivergedError(FairgroundError):
    """The training loss is not finite."""


class ClusterError(FairgroundError):
    """No machine is left to run on; runs that were begun can be resumed."""


class DamageWarning(UserWarning):
    """A stored file is damaged and left out."""

    @classmethod
    def warn(cls, sentence: str) -> None:
        warnings.warn(sentence, cls, stacklevel=3)


def require_within(interval: str, name: str, value: Any) -> None:
    """Refuse a value outside an interval, written as in mathematics; None is a value left out."""
    low, high = map(float, interval[1:-1].split(","))
    wanted = f"in {interval}" if high < inf else f"{'above' if interval[0] == '(' else 'at least'} {low:g}"
    is_end = (value == low and interval[0] == "[") or (value == high and interval[-1] == "]")
    require(value is None or is_end or low < value < high, f"{name} must be {wanted}; got {value}")


def require(condition: bool, complaint: str, error: type[FairgroundError] = InputError) -> None:
    """Raise `error` with `complaint` unless `condition` holds."""
    if not condition:
        raise error(complaint)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the known word nearest to `word`, or nothing when none is near."""
    names = list(known)
    if word in names:  # Many ask in passing, for an error that is not raised.
        return ""
    folded = {folded_name(name): name for name in names}
    close = difflib.get_close_matches(folded_name(word), folded, n=1, cutoff=0.6)
    return f" Did you mean '{folded[close[0]]}'?" if close else ""


def folded_name(word: str) -> str:
    """Forget case, underscores and the s/z of -ise/-ize, so that the names people know find ours."""
    return re.sub(r"[\W_]", "", word).lower().replace("z", "s").replace("center", "centre")
