"""Several labels per embedding: rows that share one belong together, for losses and for miners."""

import pytest
import torch

from fairground.errors import InputError
from fairground.spec import find, list_room
from tests.losses import oracles
from tests.losses.fixtures import F8, F8B, X, build, gradient_of

MARKS = torch.tensor([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 1]])
SHARED = (MARKS @ MARKS.T > 0) & ~torch.eye(8, dtype=torch.bool)
STRANGE = ~SHARED & ~torch.eye(8, dtype=torch.bool)
TAKING = [name for name in list_room("losses") if find("losses", name).takes_label_sets]


class Shared(oracles.Tuples):
    """All pairs and triplets of `MARKS`, by loops."""

    def __init__(self):
        self.labels, self.is_mined = MARKS.tolist(), False
        every = [(a, b, bool(set_of(a) & set_of(b))) for a in range(8) for b in range(8) if a != b]
        self.positive = [(a, b) for a, b, together in every if together]
        self.negative = [(a, b) for a, b, together in every if not together]
        self.triplets = [(a, p, n) for a, p in self.positive for n in self.far(a)]


def set_of(row):
    return {label for label, mark in enumerate(MARKS[row].tolist()) if mark}


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("labels", [F8, F8B])
def test_sets_of_one_label_are_labels(name, labels):
    alone = torch.nn.functional.one_hot(labels)
    (value, gradient), (same, its_gradient) = (gradient_of(build(name).double(), X, some) for some in (alone, labels))
    assert value == pytest.approx(same, abs=1e-9)
    torch.testing.assert_close(gradient, its_gradient, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("contrastive", {"positive_margin": 0.1, "negative_margin": 1.3, "reduction": "mean_all"}),
        ("triplet", {"margin": 0.3}),
        ("nt_xent", {"temperature": 0.3}),
        ("sup_con", {"temperature": 0.3}),
        ("multi_similarity", {"alpha": 3.0, "beta": 7.0, "base": 0.4}),
        ("sigmoid_pairs", {"scale": 5.0, "bias": -2.0}),
        ("sigmoid_pairs", {"scale": 10.0, "balanced": True}),
    ],
)
def test_losses_on_sets_agree_with_their_loops(name, settings):
    expected = getattr(oracles, name)(Shared(), **settings)
    assert build(name, **settings)(X, MARKS).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in list_room("losses") if name not in TAKING])
def test_other_losses_refuse_sets(name):
    with pytest.raises(InputError, match="takes one label per embedding; got"):
        build(name)(X, MARKS)


@pytest.mark.parametrize("name", list_room("miners"))
def test_miners_find_pairs_that_share_a_label(name):
    # The one that switches triplets is asked to leave them.
    settings = {"p_switch": 0.0} if name == "rho_distance" else {}
    mined = find("miners", name)(**settings)(X, MARKS, generator=torch.Generator().manual_seed(0))
    anchor, other = (mined.anchor, mined.anchor) if hasattr(mined, "anchor") else (mined[0], mined[2])
    assert mined.size > 0
    assert SHARED[anchor, mined.positive].all()
    assert STRANGE[other, mined.negative].all()
