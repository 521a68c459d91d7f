import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.methods.logd import LOGD, METHOD, decompose


def case(seed, n_old, size):
    random = np.random.RandomState(seed)
    return random.normal(size=(n_old + 1, size))


def step(gradients, n_specific=3, margin=0.0):
    return decompose(gradients @ gradients.T, n_specific, margin) @ gradients


def literal(gradients, n_specific, margin=0.0):
    """The same with vectors: a singular value decomposition, and projections one by one."""
    batch, old = gradients[0], gradients[1:]
    shared = old.sum(axis=0)
    _, values, directions = np.linalg.svd(old - old.mean(axis=0), full_matrices=False)
    directions = directions[:n_specific][values[:n_specific] > 1e-6]
    project = np.eye(len(batch)) - directions.T @ directions
    batch, shared = project @ batch, project @ shared
    return batch + max(-(shared @ batch) / (shared @ shared), margin) * shared


@pytest.mark.parametrize("margin", [0.0, 0.5])
@pytest.mark.parametrize("n_specific", [0, 1, 3])
@pytest.mark.parametrize("n_old", [1, 2, 5])
def test_step_follows_from_inner_products_alone(n_old, n_specific, margin):
    for seed in range(10):
        gradients = case(seed, n_old, size=12)
        expected = literal(gradients, n_specific, margin)
        np.testing.assert_allclose(step(gradients, n_specific, margin), expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_step_has_no_specific_direction_and_never_opposes_the_shared_one(seed):
    gradients = case(seed, n_old=4, size=20)  # three specific directions: all of them
    old = gradients[1:]
    for margin in (0.0, 0.5):
        found = step(gradients, margin=margin)
        assert np.abs((old - old.mean(axis=0)) @ found).max() < 1e-9
        assert (old @ found).min() > -1e-9


@pytest.mark.parametrize("seed", range(10))
def test_one_old_task_gives_a_gem(seed):
    batch, old = case(seed, n_old=1, size=5)
    expected = batch - min(batch @ old, 0) / (old @ old) * old
    np.testing.assert_allclose(step(np.stack([batch, old])), expected, atol=1e-12)


def test_equal_or_vanishing_gradients_of_old_tasks_do_no_harm():
    batch, old = case(0, n_old=1, size=5)
    old *= -np.sign(old @ batch)
    once, thrice = step(np.stack([batch, old])), step(np.stack([batch, old, old, old]))
    np.testing.assert_allclose(once, thrice, atol=1e-9)
    np.testing.assert_array_equal(step(np.stack([batch, 0 * old, 0 * old])), batch)


class Watched(LOGD):
    """Notes how the step of each layer agrees with the gradients of the parts."""

    def parts(self):
        self.drawn = super().parts()
        return self.drawn

    def before_step(self):
        super().before_step()
        for layer in self.net.layers() if self.memories else []:
            found = torch.cat([layer.weight.grad, layer.bias.grad[:, None]], dim=1).flatten()
            parts = []
            for x, y in self.drawn:
                loss = torch.nn.functional.cross_entropy(self.net(x), y)
                weight, bias = torch.autograd.grad(loss, [layer.weight, layer.bias])
                parts.append(torch.cat([weight, bias[:, None]], dim=1).flatten())
            parts = torch.stack(parts).double()
            found = found.double() / found.norm()
            parts /= parts.norm(dim=1).max()
            self.__dict__.setdefault("specific", []).append(
                ((parts - parts.mean(dim=0)) @ found).abs().max().item()
            )
            self.__dict__.setdefault("shared", []).append((parts.sum(dim=0) @ found).item())


@pytest.fixture(scope="module")
def learned(tasks):
    model = Watched(hidden=(32, 32), epochs=2, batch_size=20, budget=60, device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
    return model


def test_every_step_of_every_layer_keeps_the_constraints(learned):
    assert max(learned.specific) < 1e-3
    assert min(learned.shared) > -1e-3


def test_parts_are_random_and_disjoint_or_by_task(learned, tasks):
    found = [{tuple(row) for row in x.tolist()} for x, _ in learned.drawn]
    assert [len(y) for _, y in learned.drawn] == [20, 20]
    assert len(found) == 2 and not found[0] & found[1]
    assert all(len(set(y.tolist())) == 4 for _, y in learned.drawn)
    model = Watched(by_task=True, hidden=(8,), epochs=1, budget=60, device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    assert [sorted(set(y.tolist())) for _, y in model.drawn] == [[0, 1], [2, 3]]


def test_memory_is_the_network_and_the_exemplars(learned):
    parameters = 64 * 32 + 32 + 32 * 32 + 32 + 32 * 6 + 6
    assert learned.memory().model_mb == 4 * parameters / 2**20
    assert learned.memory().exemplar_mb == 4 * 60 * 64 / 2**20
    assert learned.memories == []


def test_three_classes_one_sample_each_and_known_classes_again():
    random = np.random.RandomState(0)
    model = LOGD(hidden=(8,), epochs=2, budget=2, device="cpu")
    for labels in ([0], [1], [2], [0, 2]):
        model.partial_fit(random.normal(size=(len(labels), 5)), np.array(labels))
    assert set(model.predict(random.normal(size=(20, 5))).tolist()) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n_specific": -1}, "n_specific=-1: use a number of 0 or more."),
        ({"margin": "a"}, "margin='a' is not a number."),
        ({"by_task": 1}, "by_task=1 is not True or False."),
    ],
)
def test_bad_options_are_refused(tasks, options, reason):
    with pytest.raises(ClsnetError) as caught:
        LOGD(**options).partial_fit(tasks[0].X_train, tasks[0].y_train)
    assert str(caught.value) == reason


def test_method_builds_with_the_papers_budget():
    model = METHOD.build(3, None, device="cpu")
    assert (model.seed, model.budget, METHOD.paper) == (3, 2000, "LOGD")
