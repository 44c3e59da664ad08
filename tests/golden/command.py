"""The command line within this process: what it prints as JSON."""

import contextlib
import io
import json
import sys
from typing import Any

from fairground.__main__ import main


def printed(*words: str) -> tuple[int, Any]:
    """Return a command's exit code and the JSON it prints."""
    before, out = sys.argv, io.StringIO()
    sys.argv = ["fairground", *words, "--json"]
    code = 0
    try:
        with contextlib.redirect_stdout(out):
            main()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    finally:
        sys.argv = before
    return code, json.loads(out.getvalue() or "null")
