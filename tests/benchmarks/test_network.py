"""The network's step that is measured gives the gradients of the plain loop."""

import numpy as np
import pytest

from benchmarks import network


@pytest.mark.parametrize(("name", "side"), [("small_conv", 32), ("efficientnet_lite0", 64)])
def test_both_contestants_have_the_same_gradients(name: str, side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "STEPS", 0)
    _, expected = network.plain_step(name, 4, side, 3)
    _, found = network.own_step(name, 4, side, 3)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()
