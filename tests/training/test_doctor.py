"""Small trainings that really are ill, each in its way, and healthy ones that must hear nothing."""

from pathlib import Path

import numpy as np
import pytest

from fairground.records.events import Event, SignFound
from fairground.records.record import Finding, RunRecord
from fairground.spec.load import load_run
from fairground.spec.settings import parse_overrides
from fairground.training.run import run
from tests.training.ill_losses import ILL
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
    assert sign in found
    assert found[sign].remedy == REMEDIES.get(sign, found[sign].remedy)
    warnings = [event for event in told if isinstance(event, SignFound)]
    # Once each, in the terminal as in the record.
    assert [event.sentence for event in warnings] == [finding.text for finding in record.findings]


def test_hubs_are_named(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).standard_normal((1000, 128)).astype(np.float32)
    np.savez(tmp_path / "noise.npz", features=noise, labels=np.repeat(np.arange(100), 10))
    words = ("split.validation=0.5", "head=linear", "optimiser.lr=0.05", "training.batch_size=16", "training.epochs=3")
    spec = load_run(
        protocol="features",
        overrides=parse_overrides(
            [f"data.path={tmp_path / 'noise.npz'}", "loss=tests.training.ill_losses:OneSidedLoss", *words]
        ),
    )
    found = findings_of(run(spec, home=tmp_path))["hubs"]
    assert "neighbours of very many" in found.sentence
    assert found.remedy.startswith("lower head.embedding_dim (128 now)")


HEALTHY = {
    "contrastive": ("loss=contrastive",),
    "triplet, distance-weighted": ("loss=triplet", "miner=distance_weighted"),
    "margin": ("loss=margin", "miner=distance_weighted"),
    "multi-similarity": ("loss=multi_similarity",),
    "proxies": ("loss=proxy_nca",),
    "arc face": ("loss=arc_face",),
    "soft triple": ("loss=soft_triple",),
}


@pytest.mark.parametrize("method", HEALTHY)
def test_a_healthy_training_hears_nothing(method: str, tmp_path: Path) -> None:
    words = ("data.n_classes=40", "training.epochs=3", "training.batches_per_epoch=25", "training.batch_size=32")
    assert run(tiny(*HEALTHY[method], *words), home=tmp_path).findings == ()


def test_the_doctor_moves_no_digit_and_can_be_sent_away(tmp_path: Path) -> None:
    spec = tiny(*ILL["stuck_at_margin"], "training.epochs=2")
    watched = run(spec, home=tmp_path / "watched")
    alone = run(spec, home=tmp_path / "alone", is_watched=False)
    assert watched.digits() == alone.digits()
    assert watched.name == alone.name
    assert watched.findings
    assert alone.findings == ()


class Power:
    """Stops a run after so many batches, as Ctrl-C would."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize(("sign", "stops"), [("stuck_at_margin", (7, 16, 5, 99)), ("dead_proxies", (7, 16))])
def test_a_resumed_run_has_the_findings_of_an_undisturbed_one(
    sign: str, stops: tuple[int, ...], tmp_path: Path
) -> None:
    spec = tiny(*ILL[sign])
    whole = run(spec, home=tmp_path / "whole")
    told: list[str] = []

    def listen(event: Event) -> None:
        told.extend([event.sentence] if isinstance(event, SignFound) else [])

    for batches in stops:
        with pytest.raises(KeyboardInterrupt):
            run(spec, home=tmp_path / "broken", listen=listen, should_stop=Power(batches))
    broken = run(spec, home=tmp_path / "broken", listen=listen)
    assert broken.findings == whole.findings
    assert told == [finding.text for finding in whole.findings]
