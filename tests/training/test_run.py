import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.commands.show import record_lines
from fairground.errors import InputError, SealError, StoreError
from fairground.records.run_folder import RunFolder
from fairground.records.training_events import Event, Note
from fairground.spec.run_and_method_names import name_of
from fairground.training import Checkpoints, SealedRows, device_named
from fairground.training.run import run
from tests.training.stopping import stop_after
from tests.training.tiny import tiny


def test_a_run_learns_and_tells_everything(tmp_path: Path) -> None:
    events: list[str] = []
    opened: list[str] = []
    words = ("training.epochs=4", "training.batches_per_epoch=20", "data.noise=1.5", "data.n_classes=40")
    spec = tiny(*words, "loss=nt_xent")
    record = run(spec, home=tmp_path, listen=lambda event: events.append(type(event).__name__), witness=opened.append)
    assert record.state == "done"
    assert record.name == name_of(spec)
    losses = [row.loss for row in record.epochs if row.loss is not None]
    assert losses[-1] < losses[0]
    untrained, best = record.epochs[0].validation["map@r"], record.score("map@r", "validation")
    assert best is not None
    assert best > untrained
    assert events.count("BatchTrained") == 80
    assert events.count("EpochEnded") == 5  # the untrained model has a row too
    assert len(opened) == 1
    assert record.provenance.peak_memory_bytes > 0
    gallery = np.load(RunFolder(tmp_path, record.name).gallery, allow_pickle=False)
    assert gallery["images"].shape[:2] == gallery["labels"].shape
    queries = np.load(RunFolder(tmp_path, record.name).queries, allow_pickle=False)
    assert queries["per_query/map@r"][queries["is_counted"]].mean() == pytest.approx(record.score("map@r"))


def test_the_same_spec_and_seed_give_the_same_digits_and_another_seed_others(tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = run(tiny(), home=tmp_path / "a")
    assert torch.equal(torch.get_rng_state(), before), "a run leaves the caller's random stream alone"
    assert run(tiny(), home=tmp_path / "b").digits() == first.digits()
    assert run(tiny("seed=1"), home=tmp_path / "c").score("map@r") != first.score("map@r")


def test_a_device_that_is_not_there_is_refused_and_a_cpu_needs_no_details(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no device 'nvidia' on this machine; there are: auto, cpu"):
        run(tiny(), home=tmp_path, device="nvidia")
    assert device_named("cpu") == torch.device("cpu")
    provenance = run(tiny("training.epochs=0"), home=tmp_path, device="cpu").provenance
    assert (provenance.device, provenance.device_text, provenance.peak_device_bytes) == ("cpu", "", 0)
    details = {"model": "NVIDIA T4", "driver": "550.54", "cuda": "12.4"}
    on_card = replace(provenance, device="cuda", device_details=details)
    assert on_card.device_text == "cuda, NVIDIA T4, driver 550.54, cuda 12.4"


def test_a_run_that_goes_on_on_another_kind_of_device_says_so(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tiny(), home=tmp_path, should_stop=stop_after(8))
    folder = RunFolder(tmp_path, name_of(tiny()))
    checkpoints = Checkpoints(folder.checkpoints, folder.name)
    snapshot = checkpoints.load()
    assert snapshot is not None
    checkpoints.save(9, replace(snapshot, values={**snapshot.values, "device": "cuda"}))
    heard: list[Event] = []
    record = run(tiny(), home=tmp_path, listen=heard.append)
    note = "begun on cuda and continued on cpu: not bit-identical to a run on one kind of device"
    assert note in record.notes
    assert Note(note) in heard


def test_patience_ends_a_run_when_nothing_was_better_for_more_than_so_many_epochs(tmp_path: Path) -> None:
    words = ("training.epochs=9", "training.patience=2", "optimiser.lr=0.0", "training.batches_per_epoch=1")
    record = run(tiny(*words, "training.freeze_batch_norm=stats"), home=tmp_path)
    # Nothing changes, so that the first trained epoch stays the best.
    assert (record.best_epoch, record.epochs[-1].epoch) == (1, 4)
    line = "  stopped after epoch 4 of 9: no later epoch was better than epoch 1 (training.patience=2)"
    assert line in list(record_lines(record))
    # Epochs 6 to 8 are not measured, so that none of them ends the run.
    seldom = run(tiny(*words, "training.validate_every=5"), home=tmp_path)
    assert seldom.epochs[-1].epoch == 9


def test_a_loss_that_is_not_finite_ends_the_run_as_diverged_with_step_and_cause(tmp_path: Path) -> None:
    record = run(tiny("optimiser.name=sgd", "optimiser.lr=100", "loss=n_pair"), home=tmp_path)
    assert record.state == "diverged"
    assert record.scores == ()
    assert record.failure is not None
    assert "diverged at step" in record.failure
    assert "learning rate" in record.failure or "too extreme" in record.failure


def test_the_test_split_cannot_be_read_before_selection_is_over() -> None:
    told: list[str] = []
    sealed = SealedRows(np.arange(5), witness=told.append)
    with pytest.raises(SealError, match="sealed until training and selection are over"):
        sealed.open()
    assert told == []
    sealed.end_selection("epoch 3 selected")
    assert sealed.open().tolist() == [0, 1, 2, 3, 4]
    assert "epoch 3 selected" in told[0]


def test_a_checkpoint_that_is_damaged_or_of_another_run_is_passed_over(tmp_path: Path) -> None:
    whole = run(tiny(), home=tmp_path / "whole")
    for seed, home, n in ((1, "other", 9), (0, "hurt", 9), (0, "mixed", 4)):
        with pytest.raises(KeyboardInterrupt):
            run(tiny(f"seed={seed}"), home=tmp_path / home, should_stop=stop_after(n), checkpoint_seconds=0.0)
    newest = sorted(RunFolder(tmp_path / "hurt", whole.name).checkpoints.glob("[0-9]*.safetensors"))[-1]
    newest.write_bytes(newest.read_bytes()[:-7] + b"garbage")
    (other,) = (tmp_path / "other" / "runs").iterdir()
    for path in (other / "checkpoints").iterdir():
        shutil.copy(path, RunFolder(tmp_path / "mixed", whole.name).checkpoints)
    for home, note in (("hurt", "does not match its checksum"), ("mixed", f"it belongs to run {other.name}")):
        record = run(tiny(), home=tmp_path / home)
        assert record.digits() == whole.digits()
        assert any(note in said and "fell back to the one before" in said for said in record.notes)


def test_a_resumed_run_keeps_the_threads_it_began_with(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    told: list[Event] = []
    try:
        torch.set_num_threads(3)
        with pytest.raises(KeyboardInterrupt):
            run(tiny("training.epochs=1"), home=tmp_path, should_stop=stop_after(1))
        torch.set_num_threads(2)
        record = run(tiny("training.epochs=1"), home=tmp_path, listen=told.append)
    finally:
        torch.set_num_threads(before)
    assert record.provenance.threads == 3
    assert Note("threads: 3 as when the run began, not 2, which could change its results") in told


def test_a_run_whose_checkpoints_are_all_damaged_says_so(tmp_path: Path) -> None:
    record = run(tiny("training.epochs=1"), home=tmp_path)
    for path in RunFolder(tmp_path, record.name).checkpoints.glob("[0-9]*.json"):
        path.write_text("{")
    with pytest.raises(StoreError, match=r"checkpoints in .* are damaged"):
        run(tiny("training.epochs=1"), home=tmp_path)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["loss=arc_face", "miner=distance_weighted"], "takes no miner; set miner=none"),
        (["loss=triplet", "miner=multi_similarity"], "gives pairs, but loss triplet takes triplets"),
        (["loss=triplet", "regulariser=rho"], "needs a miner"),
        (["training.gradient_chunk=8"], "set training.freeze_batch_norm=stats"),
        (["transform=plain"], "trunk small_conv cannot take what transform plain makes of an image"),
    ],
)
def test_what_cannot_work_is_refused_before_it_starts(overrides: list[str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        run(tiny(*overrides), home=tmp_path)
    assert sentence in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_keeps_its_test_split_sealed_and_is_swept_when_it_goes_on(tmp_path: Path) -> None:
    opened: list[str] = []
    spec = tiny("training.epochs=2")
    whole = run(spec, home=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(spec, home=tmp_path / "stopped", should_stop=stop_after(8), witness=opened.append)
    folder = RunFolder(tmp_path / "stopped", whole.name)
    assert not folder.embeddings.exists()
    assert opened == []
    left = [folder.path / ".record.json.99-ab.tmp", folder.checkpoints / ".step-0.json.98-cd.tmp"]
    for path in left:
        path.write_bytes(b"what a killed writer leaves")
    assert run(spec, home=tmp_path / "stopped", witness=opened.append).digits() == whole.digits()
    assert len(opened) == 1
    assert not any(path.exists() for path in left)


def test_a_full_disk_is_said_in_a_sentence_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync
    calls = iter(range(1000))

    def full(handle: int) -> None:
        if next(calls) == 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="disk is full"):
            run(tiny(), home=tmp_path / "full")
    assert run(tiny(), home=tmp_path / "full").digits() == run(tiny(), home=tmp_path / "other").digits()
