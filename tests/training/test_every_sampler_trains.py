"""Every sampler through the whole walk: it trains, and a run stopped in the middle of an epoch ends the same."""

from pathlib import Path

import pytest

from fairground.errors import DataError
from fairground.spec.catalogue import list_room
from fairground.training.run import run
from tests.training.tiny import tiny

#: settings besides the defaults
WORDS = {
    "d2_coreset": ["sampler.pool=64"],
    "distance_distribution": ["sampler.pool=64", "sampler.mine=epoch"],
    "frechet": ["sampler.pool=64"],
    "greedy_coreset": ["sampler.pool=64", "sampler.momentum=0.5"],
    "m_per_class": ["sampler.straddle=true", "sampler.list_length=64"],
}


@pytest.mark.parametrize("name", list_room("samplers"))
def test_a_run_stopped_in_the_middle_of_an_epoch_ends_the_same(name: str, tmp_path: Path) -> None:
    words = [f"sampler={name}", "training.epochs=2", "training.batches_per_epoch=4", *WORDS.get(name, [])]
    if name == "fixed_tuples":
        (tmp_path / "pairs.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(40)), encoding="utf-8")
        words.append(f"sampler.file={tmp_path / 'pairs.csv'}")
    spec = tiny(*words)
    if name == "hierarchical":
        with pytest.raises(DataError, match="sampler hierarchical needs super-classes, and the data set has none"):
            run(spec, home=tmp_path / "whole")
        return
    whole = run(spec, home=tmp_path / "whole")
    assert whole.state == "done"
    n_batches = iter(range(1, 100))
    with pytest.raises(KeyboardInterrupt):
        run(spec, home=tmp_path / "cut", should_stop=lambda: next(n_batches) == 6)
    assert run(spec, home=tmp_path / "cut").digits() == whole.digits()
