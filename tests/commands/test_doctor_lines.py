"""Where a person reads what the doctor found: in `show`, and in the line of each run of a study."""

from dataclasses import replace

import pytest

from fairground.commands.list_show import print_record
from fairground.commands.progress import study_progress
from fairground.records.record import Finding
from tests.records.factory import make_record

SIGNS = ("collapse", "hubs")
FINDINGS = tuple(Finding(sign=sign, epoch=2, step=40, sentence="all is one", remedy="take care") for sign in SIGNS)


def test_show_prints_each_finding(capsys: pytest.CaptureFixture[str]) -> None:
    print_record(replace(make_record(), findings=FINDINGS), as_json=False)
    assert "  doctor: collapse (epoch 2, step 40): all is one. Try: take care." in capsys.readouterr().out.splitlines()


def test_a_study_names_the_signs_of_each_run_in_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with study_progress(2, metric="map@r", is_quiet=False) as (_, heard):
        heard(replace(make_record(), findings=FINDINGS))
        heard(make_record(seed=1))
    ill, well = capsys.readouterr().err.splitlines()
    assert ill.endswith("doctor: collapse, hubs")
    assert "doctor" not in well
