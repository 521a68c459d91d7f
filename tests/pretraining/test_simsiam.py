import numpy as np
import pytest
import torch

from clsnet.pretraining.feeding import Feed
from clsnet.pretraining.loop import train
from clsnet.pretraining.simsiam import SimSiam

CPU = torch.device("cpu")
HALF = (0.5, 0.5, 0.5)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def objective(tiny):
    return SimSiam(tiny(4), HALF, HALF)


def cosine(a, b):
    return (a @ b) / (a.norm() * b.norm())


def test_loss_and_gradient_are_those_of_the_formula(objective):
    views = torch.rand(2, 6, 3, 8, 8, generator=generator())
    loss, spread = objective(*views)
    loss.backward()
    weight = objective.network.conv.weight
    gradient = weight.grad.clone()
    objective.zero_grad()

    z1, z2 = (objective.projector(objective.network.embed(view)) for view in views)
    p1, p2 = objective.predictor(z1), objective.predictor(z2)
    literal = torch.zeros(())
    for i in range(6):
        literal = literal - cosine(p1[i], z2[i].detach()) / 12 - cosine(p2[i], z1[i].detach()) / 12
    literal.backward()
    torch.testing.assert_close(loss, literal, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(gradient, weight.grad, atol=1e-6, rtol=1e-3)

    unit = np.stack([(z / z.norm()).detach().numpy() for z in z1])
    assert float(spread) == pytest.approx(unit.std(axis=0).mean() * 2048**0.5, rel=1e-4)


def test_the_spread_tells_a_collapse(objective):
    views = torch.rand(2, 6, 3, 8, 8, generator=generator())
    assert objective(*views)[1] > 0.5
    with torch.no_grad():
        objective.network.norm.weight.zero_()
        objective.network.norm.bias.fill_(1)
    assert objective(*views)[1] < 0.01


def test_the_last_layer_has_no_part(objective):
    assert not any(p.requires_grad for p in objective.network.fc.parameters())
    loss, _ = objective(*torch.rand(2, 6, 3, 8, 8))
    loss.backward()
    assert objective.network.conv.weight.grad.abs().sum() > 0


def test_the_two_views_differ(objective):
    images = torch.randint(256, (5, 3, 16, 16), generator=generator(1)).byte()
    first, second = objective.draw(images, torch.arange(5), 8, generator())
    assert first.shape == second.shape == (5, 3, 8, 8)
    assert all(not torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_neighbours_vote_weighted_by_likeness(objective, shapes):
    data = shapes(60)
    feeds = [Feed(data.X, data.y, 8, CPU, 1 << 30), Feed(data.X_test, data.y_test, 8, CPU, 0)]
    known, asked = (objective.outputs(feed, torch.nn.Identity())[0] for feed in feeds)
    right = []
    for row, label in zip(asked, data.y_test, strict=True):
        alike = np.array([float(cosine(row, other)) for other in known])
        votes = np.zeros(4)
        for i in np.argsort(-alike)[:20]:
            votes[data.y[i]] += np.exp(alike[i] / 0.1)
        right.append(votes.argmax() == label)
    assert objective.accuracy(*feeds) == pytest.approx(np.mean(right), abs=0.011)


def test_the_loss_falls_and_nothing_collapses(tiny, shapes):
    class Quick(SimSiam):
        rate = 1.0

    data = shapes(128)
    feed = Feed(data.X, data.y, 8, CPU, 1 << 30)
    objective = Quick(tiny(4), HALF, HALF)
    fc = objective.network.fc.weight.clone()
    seen = []
    accuracy = train(objective, feed, feed, epochs=6, seed=0, show=seen.append)
    ends = [status for status in seen if status.measured]
    assert ends[-1].loss < ends[0].loss - 0.1
    assert ends[-1].watched > 0.3
    assert accuracy > 0.5
    assert torch.equal(objective.network.fc.weight, fc)
