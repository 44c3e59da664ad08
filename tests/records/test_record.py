"""Findings in records: kept, read back, told once; records from before there were any still load."""

import json
from dataclasses import replace

import pytest

from fairground.errors import StoreError
from fairground.records.record import Finding, RunRecord
from tests.records.factory import make_record

FINDING = Finding(sign="collapse", epoch=2, step=40, sentence="all is one", remedy="lower optimiser.lr (1 now) tenfold")


def test_findings_survive_json() -> None:
    record = replace(make_record(), findings=(FINDING,))
    assert RunRecord.from_json(record.to_json()) == record


def test_a_record_of_version_1_has_no_findings() -> None:
    data = json.loads(make_record().to_json())
    del data["findings"]
    record = RunRecord.from_json(json.dumps(data | {"version": 1}))
    assert record.findings == ()
    assert record.version == 1


def test_a_finding_reads_as_one_line() -> None:
    assert FINDING.told == "collapse (epoch 2, step 40): all is one. Try: lower optimiser.lr (1 now) tenfold."


def test_findings_are_no_part_of_the_digits_and_each_sign_comes_once() -> None:
    record = make_record()
    assert replace(record, findings=(FINDING,)).digits() == record.digits()
    with pytest.raises(StoreError, match="a sign is found once at most"):
        replace(record, findings=(FINDING, FINDING))
