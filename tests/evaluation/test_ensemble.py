import numpy as np
import pytest
import torch

from fairground.errors import DataError
from fairground.evaluation import concatenate, evaluate, evaluate_ensemble


def test_concatenated_and_separated():
    draw = np.random.default_rng(0)
    labels = draw.integers(10, size=120)
    models = [draw.normal(size=(10, 6))[labels] + draw.normal(size=(120, 6)) for _ in range(4)]
    found = evaluate_ensemble(models, labels, ["recall@1", "map@r"])
    joined = np.concatenate([model / np.linalg.norm(model, axis=1, keepdims=True) for model in models], axis=1)
    assert found.concatenated == pytest.approx(evaluate(joined, labels, ["recall@1", "map@r"]))
    each = [evaluate(model, labels, ["recall@1", "map@r"]) for model in models]
    assert list(found.each) == each
    assert found.separated["map@r"] == pytest.approx(np.mean([scores["map@r"] for scores in each]))
    assert found.concatenated["map@r"] > found.separated["map@r"]


def test_the_longest_model_does_not_outweigh_the_others():
    short, long = np.array([[1.0, 0.0]]), np.array([[30.0, 40.0]])
    assert concatenate([short, long]).tolist() == [[1.0, 0.0, 0.6, 0.8]]
    assert concatenate([short, long], normalise=False).tolist() == [[1.0, 0.0, 30.0, 40.0]]
    assert concatenate([torch.tensor(short), long]).tolist() == [[1.0, 0.0, 0.6, 0.8]]


def test_refusals():
    with pytest.raises(DataError, match=r"all models must embed the same images; got \[2, 3\] rows"):
        concatenate([np.eye(2), np.eye(3)])
    with pytest.raises(DataError, match="an ensemble needs one model at least"):
        concatenate([])
