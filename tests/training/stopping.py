"""A run stopped after some batches and resumed ends with the results of an undisturbed one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fairground.records import Listener, RunRecord
from fairground.spec.run_spec import RunSpec
from fairground.training.run import run


def stop_after(n: int) -> Callable[[], bool]:
    batches = iter(range(1, 1000))
    return lambda: next(batches) == n


def stop_and_resume(spec: RunSpec, home: Path, *stops: int, listen: Listener = lambda _: None) -> RunRecord:
    """Stop a run after so many batches, each time it is resumed; compare its record with that of a whole run."""
    whole = run(spec, home=home / "whole")
    assert whole.state == "done", whole.failure
    for n in stops:
        with pytest.raises(KeyboardInterrupt):
            run(spec, home=home / "stopped", listen=listen, should_stop=stop_after(n))
    resumed = run(spec, home=home / "stopped", listen=listen)
    assert resumed.digits() == whole.digits()
    assert resumed.findings == whole.findings
    return resumed
