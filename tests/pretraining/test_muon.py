"""Orthogonal steps, against singular value decompositions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from clsnet.pretraining.muon import Group, Muon, by_gram_matrix, by_products, orthogonal


def convolutions(*shapes: tuple[int, ...]) -> list[nn.Parameter]:
    torch.manual_seed(0)
    last = torch.channels_last
    return [nn.Parameter(torch.randn(shape).contiguous(memory_format=last)) for shape in shapes]


def literal_step(weight, gradient, momentum, rate, share=0.9):
    """One step as the text says it, for one matrix; return weights and momentum."""
    momentum = share * momentum + gradient
    u, s, v = torch.linalg.svd(gradient + share * momentum, full_matrices=False)
    weight = weight - rate * (u @ v) * len(weight) ** 0.5 / len(s) ** 0.5
    return weight * len(weight) ** 0.5 / weight.norm(), momentum


@pytest.mark.parametrize("lowest", [1.0, 1e-2, 1e-3])
def test_gram_matrices_give_what_products_of_the_wide_matrices_give(lowest):
    random = torch.Generator().manual_seed(0)
    u, v = (torch.linalg.qr(torch.randn(n, 512, generator=random))[0] for n in (512, 2304))
    matrix = (u * torch.logspace(0, float(torch.tensor(lowest).log10()), 512)) @ v.mT
    matrix = (matrix / matrix.norm())[None]
    exact = by_products(matrix.double())
    torch.testing.assert_close(by_gram_matrix(matrix).double(), exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 4, 36), (2, 36, 4)])
def test_singular_vectors_stay_and_singular_values_become_one(shape):
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    found = orthogonal(matrices)
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    values = u.mT @ found @ v.mT
    diagonal = values.diagonal(dim1=1, dim2=2)
    assert ((diagonal > 0.6) & (diagonal < 1.3)).all()
    torch.testing.assert_close(values, torch.diag_embed(diagonal), atol=1e-4, rtol=0)


def test_steps_are_those_of_the_text_up_to_their_singular_values():
    [weight] = convolutions((4, 2, 3, 3))
    optimiser = Muon([], Group([weight], 0.05), momentum=0.9)
    expected = weight.detach().clone().flatten(1)
    momentum = torch.zeros_like(expected)
    for i in range(3):
        gradient = torch.randn(weight.shape, generator=torch.Generator().manual_seed(i))
        weight.grad = gradient.clone(memory_format=torch.channels_last)
        optimiser.step()
        expected, momentum = literal_step(expected, gradient.flatten(1), momentum, 0.05)
    apart = (weight.detach().flatten(1) - expected).norm() / expected.norm()
    assert apart < 0.02  # three steps of 0.05, whose singular values are 0.7 to 1.2, not 1
    kept = optimiser.momenta[weight].flatten(1)
    torch.testing.assert_close(kept, momentum)


def test_weights_keep_their_norm_and_move_by_the_rate():
    weights = convolutions((8, 4, 3, 3), (8, 4, 3, 3), (16, 8, 1, 1))
    optimiser = Muon([], Group(weights, 0.1), momentum=0.9)
    before = [weight.detach().clone() for weight in weights]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    optimiser.step(share=0.1)
    for weight, old in zip(weights, before, strict=True):
        assert weight.norm().item() == pytest.approx(len(weight) ** 0.5, rel=1e-5)
        assert ((weight - old).norm() / old.norm()).item() == pytest.approx(0.01, rel=0.05)


def test_a_gradient_of_zero_changes_nothing():
    [weight] = convolutions((8, 4, 3, 3))
    optimiser = Muon([], Group([weight], 0.1), momentum=0.9)
    before = weight.detach().clone()
    weight.grad = torch.zeros_like(weight)
    optimiser.step()
    torch.testing.assert_close(weight.detach(), before)


def test_the_scale_of_a_loss_does_not_matter():
    ends = []
    for scale in (1.0, 4096.0):
        [weight] = convolutions((8, 4, 3, 3))
        optimiser = Muon([], Group([weight], 0.1), momentum=0.9)
        weight.grad = scale * torch.ones_like(weight).cumsum(0)
        optimiser.step()
        ends.append(weight.detach())
    torch.testing.assert_close(*ends)


def test_an_infinite_gradient_is_left_out_of_the_momentum_and_of_the_step():
    [weight] = convolutions((8, 4, 3, 3))
    bias = nn.Parameter(torch.ones(3))
    optimiser = Muon([Group([bias], 0.1)], Group([weight], 0.1), momentum=0.9)
    before = weight.detach().clone()
    for infinite in (1.0, 0.0):
        weight.grad = torch.ones_like(weight) / (1 - infinite)
        bias.grad = torch.ones(3)
        optimiser.step(1.0, torch.tensor(infinite))
        if infinite:
            torch.testing.assert_close(weight.detach(), before)
            assert torch.equal(bias, torch.ones(3))
            assert not any(momentum.any() for momentum in optimiser.momenta.values())
    assert (weight - before).norm() > 0.05 * before.norm()
    assert weight.isfinite().all()
    torch.testing.assert_close(bias.detach(), torch.full((3,), 1 - 0.1 * 1.9))


def test_without_convolutions_it_is_gradient_descent():
    ours, theirs = (nn.Parameter(torch.arange(6.0).reshape(2, 3)) for _ in range(2))
    expected = torch.optim.SGD([theirs], 0.1, momentum=0.9, weight_decay=0.1, nesterov=True)
    found = Muon([Group([ours], 0.1, 0.1)], Group([], 0.0), momentum=0.9)
    for _ in range(4):
        for weight, optimiser in ((ours, found), (theirs, expected)):
            weight.grad = None
            weight.sin().sum().backward()
            optimiser.step()
    torch.testing.assert_close(ours, theirs)
