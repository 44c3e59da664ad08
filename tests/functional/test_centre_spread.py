from math import sqrt

import pytest
import torch

from fairground.functional.prototypes import centre_spread
from tests.losses.fixtures import CENTRES
from tests.losses.pinned import cosine


def test_spread_of_the_fixture():
    assert centre_spread(CENTRES, per_pair=False).item() == pytest.approx(0.603899101, abs=1e-9)
    assert centre_spread(CENTRES, per_pair=True).item() == pytest.approx(1.207798202, abs=1e-9)


def test_three_centres_a_class_agree_with_a_loop():
    centres = torch.cat([CENTRES, CENTRES.flip(2)[:, :1]], dim=1)
    total = sum(
        sqrt(2 - 2 * cosine(one[first], one[second])) for one in centres for first, second in ((0, 1), (0, 2), (1, 2))
    )
    assert centre_spread(centres, per_pair=False).item() == pytest.approx(total / (4 * 3 * 2), abs=1e-12)
