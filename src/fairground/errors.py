"""The exceptions fairground raises on purpose, under one root, and the one-line way to raise them.

Every message is written for the person at the keyboard: which setting, what is allowed, what was given.
The command line prints the sentence without a traceback and exits with `exit_code`.
"""


class FairgroundError(Exception):
    """Anything fairground refuses or could not finish, with a sentence that says why."""

    exit_code = 1


class InputError(FairgroundError, ValueError):
    """What the user asked for cannot be done as asked; nothing was started. A `ValueError`, as Python users expect."""

    exit_code = 2


class DataError(InputError):
    """The data cannot be used as it is: an empty split, shared classes, unreadable arrays."""


class PictureError(DataError):
    """One picture cannot be read; there may be more of them. One line, whatever the picture is called."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence.replace("\n", "\\n"))


class StoreError(FairgroundError):
    """Records or checkpoints cannot be read or written."""


class SealError(FairgroundError):
    """The test split was asked for before selection was over."""


class DivergedError(FairgroundError):
    """Training reached a loss that is not a finite number."""


class ClusterError(FairgroundError):
    """No machine is left to run on; what was begun stays resumable."""


class DamageWarning(UserWarning):
    """Part of what is stored was damaged and is left out of an answer; the sentence names it."""


def require(condition: bool, complaint: str, error: type[FairgroundError] = InputError) -> None:
    """Raise `error` with `complaint` unless `condition` holds."""
    if not condition:
        raise error(complaint)
