import numpy as np
import pytest
import torch
from scipy.stats import beta, kstest

from clsnet.pretraining.feeding import Feed
from clsnet.pretraining.supervised import Supervised

MEAN, DEVIATION = (0.1, 0.2, 0.3), (0.5, 0.25, 0.125)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def objective(tiny):
    return Supervised(tiny(4 * 5), MEAN, DEVIATION)


def test_the_loss_is_the_cross_entropy_with_both_labels(objective):
    images = torch.randint(256, (12, 3, 8, 8), generator=generator(1)).byte()
    labels = torch.arange(12) % 5
    views, first, second, share = objective.draw(images, labels, 8, generator())
    loss, accuracy = objective(views, first, second, share)
    assert torch.equal(first // 4, labels)
    assert torch.equal(second, first.roll(1))
    scores = objective.network(views).detach().double()
    terms, right = [], []
    for i in range(12):
        chances = scores[i].exp() / scores[i].exp().sum()
        target = torch.zeros(20, dtype=torch.float64)
        target[first[i]] += share[i].double()
        target[first[i - 1]] += 1 - share[i].double()
        terms.append(float(-(target * chances.log()).sum()))
        dominant = first[i] if share[i] >= 0.5 else first[i - 1]
        right.append(float(chances.argmax() == dominant))
    assert float(loss.detach()) == pytest.approx(np.mean(terms), rel=1e-5)
    assert float(accuracy) == pytest.approx(np.mean(right))


def test_a_label_tells_the_class_and_how_far_the_image_is_turned(objective):
    """The first image of each pair is light on one side, its neighbour is all dark."""
    images = torch.zeros(400, 3, 8, 8, dtype=torch.uint8)
    images[::2, :, :, 4:] = 255
    labels = torch.arange(400) % 5
    views, first, _, share = objective.draw(images, labels, 8, generator())
    assert torch.equal(first // 4, labels)
    turns = first % 4
    assert turns.bincount(minlength=4).min() > 60
    checked = set()
    for i in range(0, 400, 2):
        if share[i] < 0.5:
            continue
        view = views[i].mean(dim=0)
        left, right = view[:, :4].mean(), view[:, 4:].mean()
        above, below = view[:4].mean(), view[4:].mean()
        across, down = float(right - left), float(below - above)
        # Counterclockwise: right, up, left, down. A mirror swaps left and right.
        if turns[i] in (0, 2):
            assert abs(across) > abs(down)
        else:
            assert abs(down) > abs(across)
            assert (down < 0) == (turns[i] == 1)
        checked.add(int(turns[i]))
    assert checked == {0, 1, 2, 3}


def test_an_image_is_mixed_with_its_neighbour_by_the_same_share_as_its_label(objective):
    """One white image among black ones shows up twice, in two shares of one brightness."""
    images = torch.zeros(6, 3, 8, 8, dtype=torch.uint8)
    images[2] = 255
    views, _, _, share = objective.draw(images, torch.arange(6), 8, generator(3))
    seen = views * torch.tensor(DEVIATION)[:, None, None] + torch.tensor(MEAN)[:, None, None]
    light = seen.mean(dim=(1, 2, 3))
    assert light[[0, 1, 4, 5]].abs().max() < 1e-6
    assert light[2] / share[2] == pytest.approx(float(light[3] / (1 - share[3])), rel=1e-3)
    assert 0.79 < light[2] / share[2] < 1.01


def test_shares_follow_the_beta_distribution(objective):
    images = torch.zeros(4000, 3, 1, 1, dtype=torch.uint8)
    *_, share = objective.draw(images, torch.zeros(4000, dtype=torch.long), 1, generator())
    assert not share.isnan().any()
    lower = share[share < 0.5]  # float32 has too few numbers just below one
    assert abs(len(lower) - 2000) < 100
    assert kstest(lower.numpy(), lambda x: 2 * beta(0.2, 0.2).cdf(x)).pvalue > 0.01


def test_views_have_the_asked_size_and_the_seed_decides(objective):
    images = torch.randint(256, (4, 3, 16, 16), generator=generator(1)).byte()
    once, again, other = (
        objective.draw(images, torch.arange(4), 8, generator(seed))[0] for seed in (0, 0, 1)
    )
    assert once.shape == (4, 3, 8, 8)
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


@pytest.mark.parametrize("space", [0, 1 << 30])
def test_accuracy_is_the_share_of_right_answers_to_upright_images(objective, space):
    X = np.random.default_rng(0).integers(0, 256, (700, 3, 4, 4)).astype(np.uint8)
    objective.network.norm.running_mean += 0.3
    network = objective.network.eval()
    mean, deviation = (np.float32(c)[:, None, None] for c in (MEAN, DEVIATION))
    with torch.no_grad():
        scores = network(torch.from_numpy((X / np.float32(255) - mean) / deviation))
    answers = scores[:, [0, 4, 8, 12, 16]].argmax(dim=1)
    assert len(answers.unique()) > 1
    y = answers.numpy().copy()
    y[:70] = (y[:70] + 1) % 5
    objective.train()
    feed = Feed(X, y, 4, torch.device("cpu"), space)
    assert objective.accuracy(feed, feed) == pytest.approx(0.9)
    assert objective.training
    assert network.training
