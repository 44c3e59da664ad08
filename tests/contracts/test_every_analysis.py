"""What every analysis owes, run over whatever is in the room."""

import numpy as np
import pytest

from fairground.evaluation import EmbeddingView, analyse
from fairground.spec.catalogue import list_room


def cloud(seed=0):
    draw = np.random.default_rng(seed)
    labels = draw.integers(6, size=120)
    return draw.normal(size=(6, 9))[labels] + draw.normal(size=(120, 9)), labels


@pytest.mark.parametrize("name", list_room("analysis"))
def test_findings_are_finite_and_named(name):
    findings = analyse(*cloud(), [name])[name]
    assert findings.values
    assert all(np.isfinite(value) and isinstance(value, float) for value in findings.values.values())
    assert all(np.isfinite(curve).all() for curve in findings.curves.values())


@pytest.mark.parametrize("name", list_room("analysis"))
def test_order_of_rows_names_of_classes_and_rotation_do_not_matter(name):
    rows, labels = cloud()
    draw = np.random.default_rng(1)
    order = draw.permutation(120)
    turn, _ = np.linalg.qr(draw.normal(size=(9, 9)))
    whole = analyse(rows, labels, [name])[name].values
    other = analyse((rows @ turn)[order], 5 - labels[order], [name])[name].values
    assert other == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("name", list_room("analysis"))
def test_a_set_of_equal_embeddings_is_survived(name):
    findings = analyse(np.ones((8, 4)), np.arange(8) % 2, [name])[name]
    assert all(np.isfinite(value) for value in findings.values.values())


def test_all_are_run_over_one_view_by_default():
    view = EmbeddingView(*cloud())
    assert list(analyse(view)) == list(list_room("analysis"))
