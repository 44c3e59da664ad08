"""Fields of records: kept, read back, checked."""

import dataclasses
import json
import time
from dataclasses import fields, replace

import numpy as np
import pytest

import fairground
from fairground.errors import StoreError
from fairground.records import Clock, code_version, provenance
from fairground.records.record import Finding, KnownBug, PretrainedWeights, RunRecord, Score, Selection
from fairground.spec import Choice, Integer, LogReal, Real, SearchProcedure, SeedProcedure, UntilSettledSpec
from tests.patience import PATIENCE
from tests.records.factory import make_provenance, make_record

FINDING = Finding(sign="collapse", epoch=2, step=40, sentence="all is one", remedy="lower optimiser.lr (1 now) tenfold")


def test_findings_are_no_part_of_the_digits() -> None:
    record = make_record()
    assert replace(record, findings=(FINDING,)).digits() == record.digits()


RANGES = {"a": Real(low=0, high=1), "b": LogReal(low=1, high=2), "c": Integer(low=2, high=9)}
RANGES |= {"d": Choice(options=(1, "y"))}
SEARCH = SearchProcedure(
    **{"trials": 50, "sampler": "gp", "startup": 5, "pruning": "none", "metric": "map@r", "over": "mean"},
    **{"n_folds": 4, "folds": (0, 1, 2, 3)},
    ranges=RANGES,
)


def test_every_field_survives_json() -> None:
    changed = replace(
        make_record(state="diverged", notes=["by hand"]),
        findings=(FINDING,),
        best_epoch=3,
        scores=(Score(metric="eer", split="test", value=0.5, higher_is_better=False),),
        provenance=make_provenance(cpu_seconds=6.0, device="cuda", device_details={"x": "1"}, peak_device_bytes=9),
        selection=Selection(split="test", metric="recall@1", is_best_of_each=True),
        search=SEARCH,
        clustering_seeds=5,
        is_closed_set=True,
        known_bugs=(KnownBug(component="loss.margin", sentence="counted once"),),
        weights=PretrainedWeights(name="imagenet", hash="0676ba61b6795bbe"),
        seed_procedure=SeedProcedure(plan=UntilSettledSpec(limit=9), metric="map@r", first_seed=4),
    )
    for made in (changed, changed.provenance, changed.scores[0]):
        left = [field.name for field in fields(made) if getattr(made, field.name) == field.default]
        assert left in ([], ["version"]), "every field with a default must be set to something else"
    assert RunRecord.from_json(changed.to_json()) == changed


@pytest.mark.parametrize("change", [{"version": 3}, {"state": "lost"}, {"epochs": [{}]}, {"spec": 3}, {"scores": None}])
def test_what_is_not_a_record_is_refused(change: dict[str, object]) -> None:
    plain = json.loads(make_record(epochs=2).to_json())
    with pytest.raises(StoreError):
        RunRecord.from_plain({**plain, **change})
    plain.pop("spec")
    with pytest.raises(StoreError, match="this is not a fairground record: 'spec'"):
        RunRecord.from_plain(plain)


def test_a_value_outside_the_range_of_its_metric_is_refused():
    record = make_record()
    for metric, value in (("recall@1", 2.5), ("map@r", -0.1), ("ami", -1.1)):
        with pytest.raises(StoreError, match=rf"{metric} cannot be {value}"):
            replace(record, scores=(Score(metric=metric, split="test", value=value),))
    for metric, value in (("ami", -0.1), ("map@r", 1 + 1e-9), ("my_lab:Distance", 2.5)):
        replace(record, scores=(Score(metric=metric, split="test", value=value),))


def test_a_run_says_where_its_numbers_come_from():
    clock = Clock()
    time.sleep(0.01)
    found = clock.finish(data_fingerprint="d", split_fingerprint="s", threads=2)
    assert found.fairground.startswith(fairground.__version__)
    assert found.packages["numpy"] == np.__version__
    assert found.packages["python"].startswith("3.")
    assert found.threads == 2
    assert "cores" in found.hardware
    assert 0.01 <= found.wall_seconds < PATIENCE
    assert found.peak_memory_bytes > 5_000_000
    assert found.started.endswith("+00:00")
    assert all(value not in ("", None) for value in dataclasses.asdict(found).values())


def test_what_was_spent_before_a_resume_counts():
    clock = Clock(started="2026-01-01T00:00:00+00:00", earlier_seconds=100.0, earlier_peak=2**60, earlier_cpu=50.0)
    found = clock.finish(data_fingerprint="d", split_fingerprint="s", threads=1)
    assert 100 <= found.wall_seconds < 100 + PATIENCE
    assert 50 <= found.cpu_seconds < 60
    assert found.peak_memory_bytes == 2**60
    assert found.started == "2026-01-01T00:00:00+00:00"


def test_a_checkout_tells_its_commit(tmp_path):
    git = tmp_path / ".git"
    git.mkdir()
    assert provenance._commit(git) == ""
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\n" + "a" * 40 + " refs/heads/main\n")
    assert provenance._commit(git) == "a" * 40
    (git / "HEAD").write_text("b" * 40 + "\n")
    assert provenance._commit(git) == "b" * 40
    assert code_version().startswith(fairground.__version__)
