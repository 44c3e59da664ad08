"""Each sign by numbers written down: what it says yes to, and the nearest thing it says no to."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from fairground.records.record import EpochRow
from fairground.training.doctor import SIGNS, EpochCheck, History, Observation, ProxyUsage, WatchedRun
from tests.training.tiny import tiny

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
ILL = {
    "collapse": patient(checkups=(LINE,)),
    "stuck_at_margin": patient("loss=triplet", observations=(STUCK,) * 5),
    "no_active_tuples": patient(observations=(IDLE,) * 3),
    "exploding_norms": patient(observations=(LOOK, *(replace(LOOK, gradient=100.0 + n) for n in range(3)))),
    "dead_proxies": patient(checkups=(replace(CHECKUP, n_judged=6, n_lost=2),)),
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
        patient(checkups=(replace(CHECKUP, n_judged=7, n_lost=2),)),
        patient(checkups=(replace(CHECKUP, n_judged=4, n_lost=4),)),
        patient(checkups=(replace(CHECKUP, n_judged=6, n_lost=6, epoch=2),)),
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
    diagnosis = SIGNS[name](ILL[name])
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

    history = ILL["hubs"].history
    for number in range(40):
        history.add_observation(replace(LOOK, step=number))
    assert len(history.late) == 16
    assert history.first is not None
    assert history.first.step == 0
    assert History.from_plain(asdict(history)) == history


def test_a_class_vector_is_lost_when_others_are_nearer_to_it() -> None:
    # Vectors along the axes; the images of class 0 lie along its vector, those of classes 1 and 2 are exchanged.
    proxies = nn.Parameter(torch.eye(3))
    count = ProxyUsage(proxies, torch.optim.Adam([proxies]), is_decayed=False)
    count.count(5 * torch.eye(3).repeat(8, 1), torch.tensor([0, 2, 1]).repeat(8))
    verdict = count.judge()
    assert verdict == {"n_proxies": 3, "n_judged": 3, "n_lost": 2, "n_untouched": 0}
    # Counted anew after each verdict; too few images are not judged.
    count.count(torch.eye(3).repeat(4, 1), torch.tensor([0, 2, 1]).repeat(4))
    assert count.judge()["n_judged"] == 0
    # What was not judged is not forgotten.
    count.count(torch.eye(3).repeat(4, 1), torch.tensor([0, 2, 1]).repeat(4))
    assert count.judge()["n_lost"] == 2


def test_vectors_without_a_gradient_are_known_from_the_optimiser() -> None:
    proxies = nn.Parameter(torch.ones(2, 2, 4))
    optimiser = torch.optim.Adam([proxies])
    proxies[0].square().sum().backward()
    optimiser.step()
    assert ProxyUsage(proxies, optimiser, is_decayed=False).judge()["n_untouched"] == 2
    assert ProxyUsage(proxies, optimiser, is_decayed=True).judge()["n_untouched"] == 0


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
