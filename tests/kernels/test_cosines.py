import pytest
import torch

from fairground.functional.prototypes import cosines, cosines_with_centres
from fairground.kernels.angular_softmax import multiplied_angle, widened_angle
from fairground.kernels.cosines import cross_entropy_, kernel_of_centre_cosines, kernel_of_cosines
from tests.losses.fixtures import CENTRES, F8, PROXIES, X

OWN = F8.unsqueeze(1)


def leaves(vectors):
    return X.clone().requires_grad_(), vectors.clone().requires_grad_()


def agree(result, value, inputs):
    torch.testing.assert_close(result.value, value.detach())
    for ours, theirs in zip(
        (result.gradient, *result.parameter_gradients), torch.autograd.grad(value, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_derivatives_by_cosine_become_gradients():
    inputs = leaves(PROXIES)
    agree(kernel_of_cosines(X, PROXIES, lambda c: (c.square().sum(), 2 * c)), cosines(*inputs).square().sum(), inputs)


def test_derivatives_by_centre_become_gradients():
    inputs = leaves(CENTRES)
    result = kernel_of_centre_cosines(X, CENTRES, lambda c: (c.square().sum(), 2 * c))
    agree(result, cosines_with_centres(*inputs).square().sum(), inputs)


def test_derivatives_by_length_become_gradients():
    inputs = leaves(PROXIES)
    lengths = X.norm(dim=1, keepdim=True)
    result = kernel_of_cosines(X, PROXIES, lambda c: ((c * lengths).sum(), lengths.expand_as(c), c.sum(1, True)))
    # Length times cosine is the product with the unit vector.
    agree(result, (inputs[0] @ (inputs[1] / inputs[1].norm(dim=1, keepdim=True)).T).sum(), inputs)


def test_cross_entropy_is_that_of_torch():
    value, slopes = cross_entropy_(X[:, :4].clone(), OWN, 3.0)
    leaf = X[:, :4].clone().requires_grad_()
    expected = torch.nn.functional.cross_entropy(leaf * 3, F8)
    assert value.item() == pytest.approx(expected.item(), abs=1e-14)
    assert torch.allclose(slopes, torch.autograd.grad(expected, leaf)[0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("shift", [-500.0, 3.0, 500.0])
@pytest.mark.parametrize("scale", [0.05, 1.0, 64.0])
def test_shifting_all_logits_of_cross_entropy_changes_nothing(shift, scale):
    loss, slopes = cross_entropy_(X[:, :4].clone(), OWN, scale)
    shifted_loss, shifted_slopes = cross_entropy_(X[:, :4] + shift, OWN, scale)
    assert float(shifted_loss) == pytest.approx(float(loss), abs=1e-9)
    assert torch.allclose(shifted_slopes, slopes, atol=1e-8)


def test_an_empty_batch_costs_nothing():
    result = kernel_of_cosines(X[:0], PROXIES, lambda c: cross_entropy_(c, OWN[:0], 1.0))
    assert result.value == 0
    assert not result.parameter_gradients[0].any()


@pytest.mark.parametrize(
    "curve",
    [
        lambda theta: widened_angle(theta, 0.5, fallback=True),
        lambda theta: widened_angle(theta, 0.5, fallback=False),
        lambda theta: multiplied_angle(theta, 4, 0.0),
        lambda theta: multiplied_angle(theta, 4, 5.0),
    ],
)
def test_curves_and_their_derivatives(curve):
    theta = torch.tensor([[0.3], [1.0], [2.9]], dtype=torch.float64, requires_grad=True)
    value, _ = curve(theta)
    expected = torch.autograd.grad(value.sum(), theta)[0]
    torch.testing.assert_close(curve(theta.detach())[1], expected)
