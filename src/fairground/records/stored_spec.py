"""The spec in a run's folder, believed only where it has the hash that the run is named by."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from fairground.errors import FairgroundError, StoreError, require
from fairground.files import read_json
from fairground.records.artefacts import RunFolder
from fairground.spec.identity import NAME_LENGTH, canonical_json
from fairground.spec.load import COMMAND_LINE, run_from_plain
from fairground.spec.run import RunSpec


def is_own_spec(plain: Mapping[str, Any], name: str) -> bool:
    """Tell whether a plain spec is the one that a run is named by."""
    # Of the data as it stands: a later version may spell out further defaults, which would change the hash.
    try:
        return hashlib.sha256(canonical_json(plain).encode()).hexdigest()[:NAME_LENGTH] == name
    except (ValueError, TypeError, RecursionError):
        return False


def stored_spec(folder: RunFolder, overrides: Sequence[str] = (), *, origin: str = COMMAND_LINE) -> RunSpec:
    """Return the spec of a run that was begun, with `overrides`; refuse one that is not what the run began with."""
    plain = read_json(folder.spec, error=StoreError)
    require(
        is_own_spec(plain, folder.name),
        f"{folder.spec} is damaged: it is not the spec that run {folder.name} began with. "
        "`fairground store repair` writes it anew where the run has a record; the words of the run do as well",
        StoreError,
    )
    try:
        return run_from_plain(plain, list(overrides), origin=origin)
    except FairgroundError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{folder.spec} cannot be read as a spec: {error}") from error
