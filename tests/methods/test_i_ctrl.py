import math

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods import check_options
from clsnet.methods.i_ctrl import ICTRL, METHOD, coding_rate, rate_reduction

SMALL = {"hidden": (24, 16), "latent": 6, "directions": 2, "epochs": 3, "batch_size": 20}
SMALL["device"] = "cpu"


def learned(tasks, **options):
    model = ICTRL(**{**SMALL, **options})
    for task in tasks:
        model.partial_fit(np.asarray(task.X_train) / np.float32(16), task.y_train)
    return model


@pytest.fixture(scope="module")
def model(tasks):
    return learned(tasks[:3])


def unit(n, d, seed=0):
    z = torch.randn(n, d, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return z / z.norm(dim=1, keepdim=True)


# ------------------------------------------------------------------------------- the rate


def literal_rate(z, distortion):
    """Half the logarithm of the determinant, by the eigenvalues of the d x d matrix."""
    n, d = len(z), len(z[0])
    matrix = np.eye(d)
    for row in z:
        for i in range(d):
            for j in range(d):
                matrix[i, j] += d / (n * distortion) * row[i] * row[j]
    return sum(math.log(value) for value in np.linalg.eigvalsh(matrix)) / 2


def literal_reduction(z, y, distortion):
    total = literal_rate(z, distortion)
    for label in set(y):
        part = [row for row, one in zip(z, y, strict=True) if one == label]
        total -= len(part) / len(z) * literal_rate(part, distortion)
    return total


@pytest.mark.parametrize("n", [1, 4, 6, 30])
@pytest.mark.parametrize("distortion", [0.5, 2.0])
def test_the_coding_rate_is_half_a_log_determinant(n, distortion):
    z = unit(n, 6)
    expected = literal_rate(z.tolist(), distortion)
    assert coding_rate(z, distortion).item() == pytest.approx(expected, rel=1e-10)


def test_the_rate_reduction_is_the_rate_of_all_less_that_of_classes():
    z, y = unit(11, 4), [0, 0, 0, 5, 5, 2, 2, 2, 2, 2, 0]
    found = rate_reduction(z, torch.tensor(y), 0.5).item()
    assert found == pytest.approx(literal_reduction(z.tolist(), y, 0.5), rel=1e-10)
    one_class = rate_reduction(z, torch.zeros(11, dtype=torch.long), 0.5).item()
    assert one_class == pytest.approx(0, abs=1e-12)


def test_the_gradient_of_the_rate_reduction_is_its_change():
    z, y = unit(7, 3), [0, 1, 1, 0, 2, 1, 0]
    leaf = z.clone().requires_grad_()
    rate_reduction(leaf, torch.tensor(y), 0.5).backward()
    step = 1e-6
    for i in range(7):
        for j in range(3):
            sides = []
            for sign in (1, -1):
                moved = z.tolist()
                moved[i][j] += sign * step
                sides.append(literal_reduction(moved, y, 0.5))
            change = (sides[0] - sides[1]) / (2 * step)
            assert leaf.grad[i, j].item() == pytest.approx(change, rel=1e-5, abs=1e-8)


def test_classes_in_orthogonal_subspaces_have_the_largest_reduction():
    y = torch.tensor([0, 0, 1, 1])
    apart = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    mixed = torch.tensor([[1.0, 0], [0, 1], [1, 0], [0, 1]])
    assert rate_reduction(apart, y, 0.5) > rate_reduction(mixed, y, 0.5) + 0.2


# -------------------------------------------------------------------------- what is kept


def test_mean_and_covariance_of_the_newest_features_are_kept(tasks, model):
    X, y = tasks[2].X_train.reshape(-1, 64) / np.float32(16), np.asarray(tasks[2].y_train)
    for code in (4, 5):
        z = model.features(torch.from_numpy(X[y == model.labels[code]])).double().numpy()
        np.testing.assert_allclose(model.means[code], z.mean(axis=0), atol=1e-6)
        np.testing.assert_allclose(model.covariances[code], np.cov(z.T, bias=True), atol=1e-6)


def test_old_distributions_stay_as_they_were(tasks):
    model = learned(tasks[:1])
    before = [tensor.clone() for tensor in (*model.means, *model.covariances)]
    model.partial_fit(tasks[1].X_train / np.float32(16), tasks[1].y_train)
    assert len(model.means) == len(model.covariances) == 4
    now = (*model.means[:2], *model.covariances[:2])
    assert all(torch.equal(*pair) for pair in zip(now, before, strict=True))


class Watched(ICTRL):
    """Keeps what was drawn."""

    def drawn(self, n):
        z, codes = super().drawn(n)
        self.seen = [*self.__dict__.get("seen", []), (self.task, z, codes)]
        return z, codes


def test_features_are_drawn_of_old_classes_alike_and_as_they_are_distributed(tasks):
    model = learned(tasks[:2])
    model.new = slice(4, 6)
    model.start_task(torch.zeros(0, 64), torch.zeros(0))
    for root, covariance in zip(model.roots, model.covariances, strict=True):
        torch.testing.assert_close(root @ root.T, covariance, rtol=0, atol=1e-6)
    model.random.manual_seed(3)
    z, codes = model.drawn(40)
    assert torch.bincount(codes).tolist() == [10] * 4
    random = torch.Generator().manual_seed(3)
    torch.randperm(40, generator=random)
    for i, normal in enumerate(torch.randn(40, 6, generator=random)):
        expected = model.means[codes[i]] + model.roots[codes[i]] @ normal
        torch.testing.assert_close(z[i], expected / expected.norm(), rtol=1e-5, atol=1e-6)


def test_replay_is_of_old_classes_only_and_not_in_the_first_task(tasks):
    model = Watched(**SMALL)
    for task in tasks[:3]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    assert {number for number, *_ in model.seen} == {1, 2}
    for number in (1, 2):
        codes = torch.cat([codes for task, _, codes in model.seen if task == number])
        assert sorted(set(codes.tolist())) == list(range(2 * number))


# ------------------------------------------------------------------------------- the loss


def test_neither_player_has_a_gradient_in_the_others_loss(tasks):
    model = learned(tasks[:1], game=1.0)
    x = torch.rand(12, 64, generator=torch.Generator().manual_seed(0))
    y = torch.arange(12) % 2
    z = model.net.features(x)
    decoded = model.net.decode(z.detach())
    for loss, own, other in (
        (model.encoder_loss(x, z, y, decoded, 12), "encoder", "decoder"),
        (model.decoder_loss(x, z, y, decoded), "decoder", "encoder"),
    ):
        model.net.zero_grad(set_to_none=True)
        loss.backward(retain_graph=True)
        assert all(p.grad is not None for p in getattr(model.net, own).parameters())
        assert all(p.grad is None for p in getattr(model.net, other).parameters())


@pytest.mark.parametrize("game", [0.0, 0.7])
def test_the_losses_are_those_of_their_definition(model, game):
    model = learned_copy(model, game)
    random = torch.Generator().manual_seed(1)
    x, y = torch.rand(10, 64, generator=random), torch.tensor([4, 5, 4, 5, 4, 5, 0, 1, 0, 1])
    z = torch.cat([model.net.features(x[:6]), unit(4, 6).float()])
    decoded = model.net.decode(z.detach())
    again = model.net.features(torch.cat([decoded[:6], x[6:]])).detach()
    looped = model.net.features(decoded).detach()
    labels = y.tolist()

    def between(a, b, codes):
        total = 0.0
        for code in codes:
            rows = [i for i, one in enumerate(labels) if one == code]
            both = [*a[rows].tolist(), *b[rows].tolist()]
            total += literal_reduction(both, [0] * len(rows) + [1] * len(rows), 0.5)
        return total

    encoder = -literal_reduction(z.tolist(), labels, 0.5)
    encoder -= literal_reduction(again.tolist(), labels, 0.5)
    encoder -= game * between(z, again, (4, 5))
    pairs = zip(z[6:].tolist(), again[6:].tolist(), strict=True)
    encoder += 20 * sum(math.dist(a, b) ** 2 for a, b in pairs) / 4
    found = model.encoder_loss(x, z, y, decoded, 6).item()
    assert found == pytest.approx(encoder, rel=1e-4, abs=1e-4)

    decoder = 300 * float(np.mean((decoded.detach().numpy() - x.numpy()) ** 2))
    decoder += game * literal_reduction(looped.tolist(), labels, 0.5)
    decoder += game * between(z, looped, (0, 1, 4, 5))
    assert model.decoder_loss(x, z, y, decoded).item() == pytest.approx(decoder, rel=1e-4)


def learned_copy(model, game):
    twin = ICTRL(**{**model.get_params(), "game": game})
    twin.net = model.net
    return twin


# ----------------------------------------------------------------------- classification


def test_a_sample_is_of_the_class_whose_subspace_is_nearest(tasks, model):
    X = torch.from_numpy(tasks[0].X_test[:9].reshape(-1, 64) / np.float32(16))
    found = model.scores(X)
    for i, z in enumerate(model.features(X).double().numpy()):
        for code in range(6):
            _, vectors = np.linalg.eigh(model.covariances[code].double().numpy())
            rest = z - model.means[code].double().numpy()
            for axis in (-1, -2):
                rest = rest - (rest @ vectors[:, axis]) * vectors[:, axis]
            assert found[i, code].item() == pytest.approx(-(rest @ rest), abs=1e-5)


def test_without_directions_it_is_the_nearest_mean(tasks):
    model = learned(tasks[:2], directions=0)
    X = tasks[0].X_test / np.float32(16)
    z = model.features(torch.from_numpy(X.reshape(-1, 64).astype(np.float32)))
    nearest = torch.cdist(z, torch.stack(model.means)).argmin(dim=1)
    assert model.predict(X).tolist() == [model.labels[code] for code in nearest]


# -------------------------------------------------------------------------- the rest


def test_distributions_are_counted_without_their_lower_triangles(model):
    layers = [(64, 24), (24, 16), (16, 6), (6, 16), (16, 24), (24, 64)]
    numbers = sum((inputs + 1) * outputs for inputs, outputs in layers)
    numbers += 6 * (6 + 21)
    assert model.memory().model_mb == 4 * numbers / 2**20
    assert model.memory().exemplar_mb == 0


def test_the_first_of_three_tasks_is_known_by_replay(tasks):
    options = {"hidden": (100,), "latent": 20, "directions": 5, "epochs": 8, "learning_rate": 3e-3}
    X, y = tasks[0].X_test / np.float32(16), tasks[0].y_test
    found = [
        np.mean(
            [
                learned(tasks[:3], **options, replay=replay, seed=seed).predict(X) == y
                for seed in range(4)
            ]
        )
        for replay in (True, False)
    ]
    assert found[0] > 0.8
    assert found[0] > found[1] + 0.1


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_one_sample_of_a_class_and_a_task_without_new_classes_are_learned(hidden, vectors):
    X, y = vectors[0].X_train / 16, vectors[0].y_train
    rows = [int(np.flatnonzero(y == label)[0]) for label in np.unique(y)]
    model = ICTRL(**{**SMALL, "hidden": hidden}).partial_fit(X[rows], y[rows])
    model.partial_fit(X[rows], y[rows])
    assert set(model.predict(X)) <= set(y)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"distortion": 0.0}, "distortion=0.0: use a number above 0"),
        ({"replay": 0.5}, "replay=0.5 is not True or False"),
        ({"latent": 0}, "latent=0: use a number of 1 or more"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, reason):
    with pytest.raises(ClsnetError, match=reason):
        check_options(METHOD, options)
