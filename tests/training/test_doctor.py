"""Small trainings that really are ill, each in its way, and healthy ones that must hear nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairground.records.record import EpochRow, Finding, RunRecord
from fairground.records.training_events import Event, SignFound
from fairground.spec import from_plain, load_run, parse_overrides
from fairground.training.doctor import SIGNS, EpochCheck, History, Observation, WatchedRun
from fairground.training.run import run
from tests.training.ill_losses import ILL
from tests.training.stopping import stop_and_resume
from tests.training.tiny import tiny

REMEDIES = {
    "collapse": "use miner=semihard (hardest now)",
    "stuck_at_margin": "use miner=distance_weighted (hardest now) or lower optimiser.lr (0.01 now) tenfold",
    "no_active_tuples": "use miner=distance_weighted (all_semihard now) or raise loss.margin (-0.2 now)",
    "exploding_norms": "lower optimiser.lr (10 now) tenfold or add regulariser=embedding_norm",
    "dead_proxies": "lower loss.n_centres (8 now)",
}


def findings_of(record: RunRecord) -> dict[str, Finding]:
    return {finding.sign: finding for finding in record.findings}


@pytest.mark.parametrize("sign", ILL)
def test_an_ill_training_is_named_with_a_remedy(sign: str, tmp_path: Path) -> None:
    told: list[Event] = []
    record = run(tiny(*ILL[sign]), home=tmp_path, listen=told.append)
    found = findings_of(record)
    for name in (sign, "collapse") if sign == "stuck_at_margin" else (sign,):
        assert found[name].remedy == REMEDIES.get(name, found[name].remedy)
    warnings = [event for event in told if isinstance(event, SignFound)]
    # Once each, in the terminal as in the record.
    assert [event.sentence for event in warnings] == [finding.text for finding in record.findings]


def test_hubs_are_named(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal((1000, 128)).astype(np.float32)
    np.savez(tmp_path / "noise.npz", features=noise, labels=np.repeat(np.arange(100), 10))
    words = ("split.validation=0.5", "head=linear", "optimiser.lr=0.05", "training.batch_size=16", "training.epochs=3")
    words = (f"data.path={tmp_path / 'noise.npz'}", "loss=tests.training.ill_losses:OneSidedLoss", *words)
    spec = load_run(protocol="features", overrides=parse_overrides(words))
    found = findings_of(run(spec, home=tmp_path))["hubs"]
    assert "neighbours of very many" in found.sentence
    assert found.remedy.startswith("lower head.embedding_dim (128 now)")


HEALTHY = {"margin": ("loss=margin", "miner=distance_weighted"), "proxies": ("loss=proxy_nca",)}
HEALTHY |= {"soft triple": ("loss=soft_triple",)}


@pytest.mark.parametrize("method", HEALTHY)
def test_a_healthy_training_hears_nothing(method: str, tmp_path: Path) -> None:
    words = ("data.n_classes=40", "training.epochs=3", "training.batches_per_epoch=25", "training.batch_size=32")
    assert run(tiny(*HEALTHY[method], *words), home=tmp_path).findings == ()


def test_the_doctor_moves_no_digit_and_can_be_sent_away(tmp_path: Path) -> None:
    spec = tiny(*ILL["dead_proxies"])
    watched = run(spec, home=tmp_path / "watched")
    alone = run(spec, home=tmp_path / "alone", is_watched=False)
    assert watched.digits() == alone.digits()
    assert watched.name == alone.name
    assert watched.findings
    assert alone.findings == ()


def test_a_resumed_run_has_the_findings_of_an_undisturbed_one_and_tells_each_once(tmp_path: Path) -> None:
    told: list[Event] = []
    record = stop_and_resume(tiny(*ILL["dead_proxies"]), tmp_path, 7, 16, listen=told.append)
    assert "dead_proxies" in findings_of(record)
    sentences = [event.sentence for event in told if isinstance(event, SignFound)]
    assert sentences == [finding.text for finding in record.findings]


LOOK = Observation(
    step=20, n_batches=20, n_idle=0, lowest=0.5, highest=0.6, norm=2.0, gradient=1.0, spread=0.5, at_one_point=None
)
CHECKUP = EpochCheck(
    epoch=3, collapse="none", collapse_sentence="", dimensions=9.0, hubness=0.5, largest_hub=3.0, n_proxies=20
)


def patient(
    *words: str,
    observations: tuple[Observation, ...] = (),
    checkups: tuple[EpochCheck, ...] = (),
    rows: tuple[EpochRow, ...] = (),
) -> WatchedRun:
    history = History()
    for look in observations:
        history.add_observation(look)
    for checkup in checkups:
        history.add_checkup(checkup)
    return WatchedRun(spec=tiny(*words), history=history, rows=rows, n_classes=20, n_train=240, step=200)


def scores(*values: float, losses: tuple[float, ...]) -> tuple[EpochRow, ...]:
    untrained = EpochRow(epoch=0, step=0, loss=None, validation={"map@r": values[0]})
    pairs = enumerate(zip(values[1:], losses, strict=True), start=1)
    return (untrained, *(EpochRow(epoch=n, step=n, loss=loss, validation={"map@r": v}) for n, (v, loss) in pairs))


STUCK = replace(LOOK, lowest=0.1, highest=0.1005, at_one_point=0.1, spread=0.001)
IDLE = replace(LOOK, n_idle=18)
LINE = replace(CHECKUP, collapse="line", collapse_sentence="97% along one direction", dimensions=1.2)
UNWELL = {
    "collapse": patient(checkups=(LINE,)),
    "stuck_at_margin": patient("loss=triplet", observations=(STUCK,) * 5),
    "no_active_tuples": patient(observations=(IDLE,) * 3),
    "exploding_norms": patient(observations=(LOOK, *(replace(LOOK, gradient=100.0 + n) for n in range(3)))),
    "dead_proxies": patient(checkups=(replace(CHECKUP, n_untouched=10),)),
    "overfitting": patient(rows=scores(0.1, 0.4, 0.37, 0.36, 0.36, losses=(1.0, 0.95, 0.93, 0.9))),
    "hubs": patient(checkups=(replace(CHECKUP, epoch=0), *(replace(CHECKUP, hubness=2.1),) * 2)),
}
WELL = {
    "collapse": [
        patient(checkups=(replace(LINE, dimensions=9.5),)),
        patient(checkups=(LINE,))._replace(step=49),
        patient(observations=(replace(LOOK, spread=5e-4), replace(LOOK, spread=6e-4), replace(LOOK, spread=7e-4))),
    ],
    "stuck_at_margin": [
        patient(observations=(STUCK,) * 4),
        patient(observations=(replace(STUCK, at_one_point=0.11),) * 5),
        patient(observations=(replace(STUCK, highest=0.12),) * 5),
        patient(observations=(replace(STUCK, spread=0.03),) * 5),
        patient(observations=(replace(STUCK, at_one_point=None),) * 5),
    ],
    "no_active_tuples": [
        patient(observations=(IDLE, IDLE)),
        patient(observations=(replace(IDLE, n_idle=17), IDLE, IDLE)),
    ],
    "exploding_norms": [
        patient(observations=(LOOK, *(replace(LOOK, gradient=99.0),) * 3)),
        patient(observations=(LOOK, *(replace(LOOK, norm=250.0 - n) for n in range(3)))),
        patient(observations=(LOOK, replace(LOOK, gradient=1e4), LOOK, LOOK)),
    ],
    "dead_proxies": [
        patient(checkups=(replace(CHECKUP, n_untouched=20, epoch=2),)),
        patient(checkups=(replace(CHECKUP, n_untouched=9),)),
        patient(checkups=(replace(LINE, n_untouched=20),)),
    ],
    "overfitting": [
        patient(rows=scores(0.1, 0.4, 0.37, 0.38, 0.36, losses=(1.0, 0.95, 0.93, 0.9))),
        patient(rows=scores(0.1, 0.4, 0.37, 0.36, 0.36, losses=(1.0, 0.99, 0.98, 0.95))),
        patient(rows=scores(0.1, 0.4, 0.39, 0.36, 0.36, losses=(1.0, 0.95, 0.93, 0.9))),
        patient(rows=scores(0.1, 0.4, 0.3, losses=(1.0, 0.5))),
    ],
    "hubs": [
        patient(checkups=(replace(CHECKUP, hubness=2.1),)),
        patient(checkups=(replace(CHECKUP, epoch=0, hubness=1.5), *(replace(CHECKUP, hubness=2.2),) * 2)),
    ],
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_says_yes(name: str) -> None:
    diagnosis = SIGNS[name](UNWELL[name])
    assert diagnosis is not None
    assert diagnosis.sentence
    assert not diagnosis.sentence.endswith(".")
    assert "optimiser." in diagnosis.remedy or "loss." in diagnosis.remedy or "training." in diagnosis.remedy


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_says_no(name: str) -> None:
    for well in (patient(), patient(observations=(LOOK,) * 9, checkups=(CHECKUP,) * 3), *WELL[name]):
        assert SIGNS[name](well) is None


def test_history_survives_plain_data_and_stays_short() -> None:
    from dataclasses import asdict

    history = UNWELL["hubs"].history
    for number in range(40):
        history.add_observation(replace(LOOK, step=number))
    assert len(history.late) == 16
    assert history.first is not None
    assert history.first.step == 0
    assert from_plain(History, asdict(history)) == history


def test_where_less_is_better_a_rising_score_is_overfitting_and_a_falling_one_is_not() -> None:
    def looked(*values: float) -> WatchedRun:
        rows = scores(*values, losses=(1.0, 0.95, 0.93, 0.9))
        by_eer = tuple(replace(row, validation={"eer": row.validation["map@r"]}) for row in rows)
        return patient('evaluation.metrics=["eer"]', "evaluation.select_by=eer", rows=by_eer)

    diagnosis = SIGNS["overfitting"](looked(0.5, 0.1, 0.11, 0.12, 0.12))
    assert diagnosis is not None
    assert diagnosis.sentence.startswith("validation eer rose from 10.00 % (epoch 1) to 12.00 %")
    for well in ((0.5, 0.4, 0.37, 0.36, 0.36), (0.5, 0.1, 0.104, 0.12, 0.12), (0.5, 0.0, 0.0, 0.0, 0.0)):
        assert SIGNS["overfitting"](looked(*well)) is None
