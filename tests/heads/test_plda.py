import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.functional.scatter_of_classes import class_scatter
from fairground.heads.plda import PldaHead


def data(n_classes: int = 12, per_class: int = 6, d: int = 5, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Classes that differ along the first axes, images that differ most along the last."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n_classes).repeat_interleave(per_class)
    between = torch.randn(n_classes, d, generator=generator) * torch.linspace(2, 0.1, d)
    within = torch.randn(len(labels), d, generator=generator) * torch.linspace(0.2, 3, d)
    return (between[labels] + within + 5).float(), labels


def by_formula(features: torch.Tensor, labels: torch.Tensor, shrinkage: float, prior: float) -> np.ndarray:
    """Return what the docstring says, entry by entry and with a full decomposition, up to a rotation."""
    f, y = features.double().numpy(), labels.numpy()
    classes = sorted(set(y.tolist()))
    n, d = f.shape
    mean = f.mean(0)
    within, means = np.zeros((d, d)), {}
    for c in classes:
        means[c] = f[y == c].mean(0)
        for row in f[y == c]:
            within += np.outer(row - means[c], row - means[c]) / (n - len(classes))
    s = (1 - shrinkage) * within + shrinkage * np.trace(within) / d * np.eye(d)
    inverse = np.linalg.inv(np.linalg.cholesky(s))
    z = np.zeros((d, d))
    for c in classes:
        one = inverse @ (means[c] - mean)
        z += (y == c).sum() * np.outer(one, one) / n
    z -= np.trace(inverse @ within @ inverse.T) / d * len(classes) / n * np.eye(d)
    values, vectors = np.linalg.eigh(z)
    q = np.maximum(values, 0)
    p = q + prior * q.sum() / d
    weight = np.diag(np.sqrt(p / (2 * p + 1))) @ vectors.T @ inverse
    weight *= np.sqrt(d / (weight**2).sum())
    return (f - mean) @ weight.T


@pytest.mark.parametrize(("shrinkage", "prior"), [(0.7, 2.0), (0.1, 0.5), (1.0, 1.0)])
def test_products_are_those_of_the_formula(shrinkage: float, prior: float) -> None:
    features, labels = data()
    head = PldaHead(n_features=5, shrinkage=shrinkage, prior=prior)
    head.fit_classes(torch.split(features, 17), labels)
    found = head(features).detach().double().numpy()
    expected = by_formula(features, labels, shrinkage, prior)
    assert np.allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_a_value_by_hand() -> None:
    # Two classes at -2 and 2 along the first axis, images a unit either side of them along both: S_w = 4 I / (4 - 2)
    # along the axis on which images differ.
    features = torch.tensor([[-2.0, 1.0], [-2.0, -1.0], [2.0, 1.0], [2.0, -1.0]])
    head = PldaHead(n_features=2, shrinkage=1.0, prior=0.0)
    head.fit_classes([features], torch.tensor([0, 0, 1, 1]))
    # S = tr(diag(0, 2)) / 2 I = I, so that z = f. q = (4 - 0.5, 0) and p the same: the second axis has no weight, and
    # rows of mean squared length 1 leave sqrt(2) for the first.
    found = head(torch.tensor([[-2.0, 1.0], [3.0, 5.0]])).detach()
    assert found.norm(dim=1).tolist() == pytest.approx([2 * 2**0.5, 3 * 2**0.5], abs=1e-5)
    assert float(found[0] @ found[1]) == pytest.approx(-12, abs=1e-4)


def test_without_between_class_scatter_it_whitens_within_classes() -> None:
    # Both classes have the same mean, so that only the scatter within them is left.
    features = torch.tensor([[0.0, 2.0], [0.0, -2.0], [1.0, 0.0], [-1.0, 0.0]])
    head = PldaHead(n_features=2, shrinkage=0.5)
    head.fit_classes([features], torch.tensor([0, 0, 1, 1]))
    # S_w = diag(1, 4), S = diag(1.75, 3.25)
    ratio = head(torch.eye(2)).detach() - head(torch.zeros(2)).detach()
    assert float(ratio[0].norm() / ratio[1].norm()) == pytest.approx((3.25 / 1.75) ** 0.5, abs=1e-5)


def test_fewer_dimensions_are_the_principal_axes_of_the_result() -> None:
    features, labels = data()
    full, few = PldaHead(n_features=5), PldaHead(n_features=5, embedding_dim=2)
    for head in (full, few):
        head.fit_classes([features], labels)
    points = full(features).detach().double().numpy()
    points -= points.mean(0)
    _, vectors = np.linalg.eigh(points.T @ points)
    expected = points @ vectors[:, ::-1][:, :2]
    found = few(features).detach().double().numpy()
    scale = np.linalg.norm(found) / np.linalg.norm(expected)
    assert np.allclose(found @ found.T, expected @ expected.T * scale**2, atol=1e-3)


def test_unseen_classes_are_found_better_than_by_the_features_themselves() -> None:
    def recall(points: torch.Tensor, labels: torch.Tensor) -> float:
        unit = torch.nn.functional.normalize(points, dim=1)
        nearest = (unit @ unit.T).fill_diagonal_(-2).argmax(1)
        return float((labels[nearest] == labels).float().mean())

    features, labels = data(40, 8, d=12)
    seen = labels < 20
    head = PldaHead(n_features=12)
    head.fit_classes([features[seen]], labels[seen])
    unseen, own = features[~seen], labels[~seen]
    assert recall(head(unseen).detach(), own) > recall(unseen - features[seen].mean(0), own) + 0.1


def test_scatter_by_hand_in_any_blocks() -> None:
    features = torch.tensor([[0.0, 0.0], [2.0, 0.0], [10.0, 4.0], [10.0, 6.0], [13.0, 5.0]])
    labels = torch.tensor([7, 7, 2, 2, 2])
    for size in (1, 2, 5):
        found = class_scatter(torch.split(features, size), labels)
        assert found.mean.tolist() == pytest.approx([7, 3])
        assert found.means.tolist() == [[11, 5], [1, 0]]
        assert found.counts.tolist() == [3, 2]
        # (1 + 1) + (1 + 1 + 4) and (1 + 1), each over 5 - 2
        assert found.within.flatten().tolist() == pytest.approx([8 / 3, 0, 0, 2 / 3], abs=1e-12)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"plda\.embedding_dim must be in \[1, 8\].*got 9"):
        PldaHead(n_features=8, embedding_dim=9)
    with pytest.raises(InputError, match=r"plda\.shrinkage must be in \(0, 1\]; got 0"):
        PldaHead(n_features=8, shrinkage=0.0)
    with pytest.raises(InputError, match=r"plda\.prior must be a number from 0; got -1"):
        PldaHead(n_features=8, prior=-1.0)
    with pytest.raises(InputError, match=r"a class of two images; got 3 images of 3 classes"):
        PldaHead(n_features=2).fit_classes([torch.eye(3)[:, :2]], torch.arange(3))
    with pytest.raises(InputError, match=r"every feature needs a label; got 3 features and 4 labels"):
        PldaHead(n_features=2).fit_classes([torch.eye(3)[:, :2]], torch.tensor([0, 0, 1, 1]))
