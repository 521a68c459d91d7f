import copy

import pytest
import torch

from clsnet.methods.common.residual import Residual
from clsnet.pretraining import gradients
from clsnet.pretraining.gradients import STEPS_BEFORE, Gradients
from clsnet.pretraining.loop import _optimiser
from clsnet.pretraining.simsiam import SimSiam
from clsnet.pretraining.supervised import Supervised

HALF = (0.5, 0.5, 0.5)
GPU = torch.cuda.is_available()


@pytest.mark.parametrize("kind", [Supervised, SimSiam])
def test_gradients_are_those_of_the_loss(tiny, kind):
    objective = kind(tiny(16), HALF, HALF)
    drawn = a_batch(objective, 8, torch.Generator().manual_seed(0))
    found = Gradients(objective)
    found(*drawn)  # whose gradients must not be left
    loss, watched = objective(*drawn)
    trained = [parameter for parameter in objective.parameters() if parameter.requires_grad]
    expected = torch.autograd.grad(loss, trained)
    figures = found(*drawn)
    assert figures.tolist() == [loss.item(), watched.item()]
    assert not figures.requires_grad
    for parameter, gradient in zip(trained, expected, strict=True):
        assert torch.equal(parameter.grad, gradient)


@pytest.mark.parametrize("kind", [Supervised, SimSiam])
def test_the_scale_of_a_loss_leaves_its_gradients_alone(tiny, kind):
    objective = kind(tiny(16), HALF, HALF)
    drawn = a_batch(objective, 8, torch.Generator().manual_seed(0))
    plain, scaled = Gradients(objective), Gradients(objective)
    scaled._scale.fill_(gradients.LOSS_SCALE)
    plain(*drawn)
    expected = {p: p.grad for p in objective.parameters() if p.grad is not None}
    scaled(*drawn)
    for parameter, gradient in expected.items():
        torch.testing.assert_close(parameter.grad, gradient)
    assert scaled.infinite == plain.infinite == 0
    assert scaled._scale == gradients.LOSS_SCALE


def test_a_gradient_out_of_range_halves_the_scale_and_is_no_step(tiny):
    objective = Supervised(tiny(16), HALF, HALF)
    with torch.no_grad():
        objective.network.fc.weight *= 1000  # and with it the gradients of all before
    drawn = a_batch(objective, 8, torch.Generator().manual_seed(0))
    found, optimiser = Gradients(objective), _optimiser(objective, 64)
    before = [parameter.detach().clone() for parameter in objective.parameters()]
    found._scale.fill_(torch.finfo(torch.float32).max)
    halvings = 0
    while found(*drawn).isfinite().all() and found.infinite:
        optimiser.step(1.0, found.infinite)
        torch.testing.assert_close([*objective.parameters()], before)
        halvings += 1
    assert 0 < halvings < 100
    assert found._scale == torch.finfo(torch.float32).max / 2**halvings
    optimiser.step(1.0, found.infinite)
    moved = [not torch.allclose(*pair) for pair in zip(before, objective.parameters(), strict=True)]
    assert all(moved)


@pytest.mark.skipif(not GPU, reason="needs a GPU")
@pytest.mark.parametrize("kind", [Supervised, SimSiam])
def test_what_is_played_trains_like_what_is_computed(kind, monkeypatch):
    """Two shapes one after the other, each for longer than it takes to record them."""
    torch.manual_seed(0)
    network = Residual(18, small=True, n_classes=16)
    objective = kind(network, HALF, HALF).cuda().to(memory_format=torch.channels_last)
    played = losses(copy.deepcopy(objective))
    monkeypatch.setattr(gradients, "STEPS_BEFORE", 1000)
    computed = losses(objective)
    assert played == pytest.approx(computed, rel=0.01)
    assert computed[0] != computed[-1]


def losses(objective):
    device = torch.device("cuda")
    optimiser, found = _optimiser(objective, 64), Gradients(objective)
    random = torch.Generator(device).manual_seed(0)
    seen = []
    for side in (8, 16):
        for _ in range(3 * STEPS_BEFORE):
            seen.append(found(*a_batch(objective, side, random))[0].item())
            optimiser.step(1 / 20, found.infinite)
    return seen


def a_batch(objective, side, random):
    n, device = 64, random.device
    images = torch.randint(256, (n, 3, 16, 16), generator=random, device=device)
    labels = torch.randint(4, (n,), generator=random, device=device)
    return objective.draw(images.to(torch.uint8), labels, side, random)
