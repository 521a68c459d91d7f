import numpy as np
import pytest
import torch

from clsnet.methods.owm import OWM, update

SMALL = {"hidden": (64,), "batch_size": 20, "device": "cpu"}


class Recorded(OWM):
    """Writes down the mean inputs of every batch and the alphas."""

    def __init__(self, **options):
        super().__init__(**options)
        self.rows, self.alphas = {0: [], 1: [], 2: []}, {0: [], 1: [], 2: []}

    def before_step(self):
        for place, inputs in enumerate(self.inputs):
            mean = torch.cat([inputs.detach().mean(dim=0), torch.ones(1)])
            self.rows[place].append(mean.double())
            self.alphas[place].append(self.alpha(place, len(self.inputs)))
        super().before_step()


def learn(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train / 16, task.y_train)
    return model


@pytest.fixture(scope="module")
def recorded(vectors):
    return learn(Recorded(**{**SMALL, "hidden": (32, 32)}), vectors[:2])


@pytest.mark.parametrize("place", [0, 1, 2])
def test_projectors_equal_the_recursion_step_by_step(recorded, place):
    P = torch.eye(len(recorded.rows[place][0]), dtype=torch.double)
    for r, alpha in zip(recorded.rows[place], recorded.alphas[place], strict=True):
        k = P @ r[:, None]
        P = P - k @ k.T / (alpha + r @ P @ r)
    torch.testing.assert_close(recorded.projectors[place].double(), P, rtol=0, atol=1e-4)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_projectors_equal_the_batch_formula(recorded, place):
    """P = (I + A' diag(1 / alpha) A)^-1, which for one alpha is alpha (A'A + alpha I)^-1."""
    A = torch.stack(recorded.rows[place])
    weights = 1 / torch.tensor(recorded.alphas[place], dtype=torch.double)
    P = torch.linalg.inv(torch.eye(A.shape[1], dtype=torch.double) + (A.T * weights) @ A)
    torch.testing.assert_close(recorded.projectors[place].double(), P, rtol=0, atol=1e-4)


def test_alphas_fall_during_a_task_as_in_the_authors_code(recorded, vectors):
    assert recorded.alphas[0][0] == 0.9
    assert recorded.alphas[1][0] == 1.0
    steps = recorded.epochs * -(-len(vectors[0].y_train) // 20)
    assert recorded.alphas[0][steps - 1] == pytest.approx(0.0009, rel=0.2)
    assert recorded.alphas[1][steps - 1] == pytest.approx(0.1, rel=0.1)
    assert recorded.alphas[0][steps] == 0.9
    assert set(recorded.alphas[2]) == {0.6}


def test_gradients_are_the_plain_ones_times_the_projector(vectors):
    model = learn(OWM(**SMALL), vectors[:1])
    x = model.as_input(vectors[0].X_train[:20] / 16)
    y = torch.zeros(20, dtype=torch.long)
    plain = torch.autograd.grad(model.loss(x, y), list(model.net.head.parameters()))
    model.loss(x, y).backward()
    model.before_step()
    projected = torch.cat([plain[0], plain[1][:, None]], dim=1) @ model.projectors[-1]
    torch.testing.assert_close(model.net.head.weight.grad, projected[:, :-1])
    torch.testing.assert_close(model.net.head.bias.grad, projected[:, -1])


def test_projected_updates_do_not_change_the_response_to_old_inputs():
    random = torch.Generator().manual_seed(0)
    old = torch.randn(5, 40, generator=random)
    projector = torch.eye(40)
    for r in old.repeat(20, 1):
        update(projector, r, alpha=0.01)
    change = torch.randn(3, 40, generator=random) @ projector
    fresh = torch.randn(5, 40, generator=random)
    assert (change @ old.T).norm() < 1e-3 * (change @ fresh.T).norm()


def test_the_same_change_without_the_projector_moves_them(vectors):
    """On real inputs: a task's mean input answers the next task's update far less than before."""
    model = learn(OWM(**SMALL), vectors[:1])
    mean = torch.cat([model.as_input(vectors[0].X_train / 16).mean(dim=0), torch.ones(1)])
    assert (model.projectors[0] @ mean).norm() < 0.01 * mean.norm()


def test_it_remembers_where_fine_tuning_forgets(vectors):
    model = learn(OWM(**{**SMALL, "hidden": (200,)}), vectors)
    right = [np.mean(model.predict(task.X_test / 16) == task.y_test) for task in vectors]
    assert np.mean(right) > 0.6
    assert right[0] > 0.5


def test_new_classes_start_as_copies_of_the_spare_output(vectors):
    model = learn(OWM(**SMALL), vectors[:1])
    assert model.net.head.out_features == 3
    spare = model.net.head.weight[2].detach().clone()
    model.epochs = 0
    learn(model, vectors[1:2])
    assert model.net.head.out_features == 5
    torch.testing.assert_close(model.net.head.weight[2:].detach(), spare.expand(3, -1))


def test_the_spare_output_is_never_predicted(vectors):
    model = learn(OWM(**SMALL), vectors[:1])
    with torch.no_grad():
        model.net.head.bias[2] = 1e6
    assert set(model.predict(vectors[2].X_test).tolist()) <= set(vectors[0].classes)


def test_network_with_spare_output_and_projectors_are_counted(vectors):
    model = learn(OWM(**SMALL), vectors[:2])
    weights = 65 * 64 + 65 * (4 + 1)
    assert model.memory().model_mb == 4 * (weights + 65**2 + 65**2) / 2**20
    assert model.memory().exemplar_mb == 0
