"""A JSON object in a file that vouches for itself: a digest of the object's bytes stands before them.

The file is JSON for whoever reads it by hand, `{"sha256": DIGEST, "body": OBJECT}`, but it is checked byte for byte:
one changed bit anywhere in it, or one byte too few, and it is refused.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairground.errors import FairgroundError, StoreError, require
from fairground.files import parse_json, read_bytes
from fairground.records.artefacts import write_atomically

_FILE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","body":(\{.*\})\}', re.DOTALL)


def write_sealed(path: Path, body: Mapping[str, Any]) -> None:
    """Write an object with its digest, atomically."""
    write_atomically(path, sealed(body))


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the object, refusing with a StoreError a file that is not exactly as it was written."""
    return unsealed(read_bytes(path, error=StoreError), path.name, error=StoreError)


def sealed(body: Mapping[str, Any]) -> bytes:
    """Return an object as JSON with its digest."""
    data = json.dumps(dict(body), allow_nan=False, separators=(",", ":")).encode()
    digest = hashlib.sha256(data).hexdigest().encode()
    return b'{"sha256":"' + digest + b'","body":' + data + b"}"


def unsealed(data: bytes, origin: str, *, error: type[FairgroundError]) -> dict[str, Any]:
    """Return what `sealed` was given; a refusal says where the bytes came from."""
    found = _FILE.fullmatch(data)
    require(found is not None, f"{origin} is not a sealed JSON file", error)
    assert found is not None
    digest, body = found.groups()
    require(hashlib.sha256(body).hexdigest() == digest.decode(), f"{origin} does not match its checksum", error)
    return parse_json(body, origin, error=error)
