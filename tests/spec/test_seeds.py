from typing import get_args

from fairground.spec.seeds import Purpose, child_seed


def test_purposes_and_seeds_have_streams_of_their_own() -> None:
    seeds = {child_seed(seed, purpose) for seed in range(100) for purpose in get_args(Purpose)}
    assert len(seeds) == 100 * len(get_args(Purpose))
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_child_seed_never_changes() -> None:
    assert child_seed(0, "sampler") == 440412102650778695
