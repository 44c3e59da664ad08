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

from fairground.errors import StoreError, require
from fairground.files import parse_json, read_bytes
from fairground.records.artefacts import write_atomically

_FILE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","body":(\{.*\})\}', re.DOTALL)


def write_sealed(path: Path, body: Mapping[str, Any]) -> None:
    """Write an object with its digest, atomically."""
    data = json.dumps(dict(body), allow_nan=False, separators=(",", ":")).encode()
    digest = hashlib.sha256(data).hexdigest().encode()
    write_atomically(path, b'{"sha256":"' + digest + b'","body":' + data + b"}")


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the object, refusing with a StoreError a file that is not exactly as it was written."""
    data = read_bytes(path, error=StoreError)
    found = _FILE.fullmatch(data)
    require(found is not None, f"{path.name} is not a sealed JSON file", StoreError)
    assert found is not None
    digest, body = found.groups()
    require(hashlib.sha256(body).hexdigest() == digest.decode(), f"{path.name} does not match its checksum", StoreError)
    return parse_json(body, path.name, error=StoreError)
