"""A job by its dotted path: how it is found, called, and how what it did becomes one plain reply."""

import importlib
import json
import re
import traceback
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

from fairground.errors import FairgroundError, InputError, StoreError, require
from fairground.spec.catalogue import nearest
from fairground.studies.executors.threads import limited_to


def check_path(path: str) -> str:
    """Return `path` if it looks like `package.module:function`; nothing is imported."""
    is_path = re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", path) is not None
    require(is_path, f"a job is named package.module:function; got {path!r}")
    return path


def perform(
    path: str,
    argument: Mapping[str, Any],
    report: Callable[[Mapping[str, Any]], None],
    *,
    threads: int | None = None,
) -> dict[str, Any]:
    """Call the job and return {"result": ...} or {"failure": sentence, "details": traceback, "is_store_failure": ...}.

    With `threads` the job is held to as many; a worker process was held to them when it began.
    KeyboardInterrupt passes: it means the run is wanted later, not that it failed.
    """
    try:
        job = _find(path)
        with nullcontext() if threads is None else limited_to(threads):
            result = job(argument, report)
        require(isinstance(result, Mapping), f"{path} must return a mapping; got {type(result).__name__}")
        # Through JSON even within one process: an outcome must not depend on where its job ran.
        return {"result": json.loads(json.dumps(result, allow_nan=False))}
    except FairgroundError as error:
        is_store_failure = isinstance(error, StoreError)
        return {"failure": str(error), "details": traceback.format_exc(), "is_store_failure": is_store_failure}
    except (Exception, SystemExit) as error:
        return {"failure": f"{type(error).__name__}: {error}", "details": traceback.format_exc()}


def _find(path: str) -> Callable[..., Any]:
    module_name, _, function = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"cannot import '{module_name}' for the job '{path}': no module '{error.name}'") from error
    require(hasattr(module, function), f"'{module_name}' has no '{function}'.{nearest(function, dir(module))}")
    found: Callable[..., Any] = getattr(module, function)
    return found
