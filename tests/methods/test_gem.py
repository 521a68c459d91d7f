import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from clsnet.methods.gem import GEM, METHOD, project


def random_case(seed, n_memories, size):
    random = np.random.RandomState(seed)
    return random.normal(size=size), random.normal(size=(n_memories, size))


def projected(gradient, memories, margin=0.0):
    return project(torch.from_numpy(gradient), torch.from_numpy(memories), margin).numpy()


def by_brute_force(gradient, memories):
    """The primal problem: the nearest vector whose product with every memory is not negative."""
    found = minimize(
        lambda x: ((x - gradient) ** 2).sum() / 2,
        gradient,
        jac=lambda x: x - gradient,
        constraints={"type": "ineq", "fun": lambda x: memories @ x, "jac": lambda x: memories},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return found.x


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_memories", [1, 3, 5])
def test_projection_is_the_nearest_gradient_that_violates_no_constraint(seed, n_memories):
    gradient, memories = random_case(seed, n_memories, size=7)
    found = projected(gradient, memories)
    assert (memories @ found).min() > -1e-9
    np.testing.assert_allclose(found, by_brute_force(gradient, memories), atol=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_margin_is_the_least_weight_of_every_memory(seed):
    gradient, memories = random_case(seed, n_memories=3, size=7)
    memories[0] -= 2 * gradient  # violated
    found = projected(gradient, memories, margin=0.5)
    weights = np.linalg.lstsq(memories.T, found - gradient, rcond=None)[0]
    assert weights.min() > 0.5 - 1e-9
    assert (memories @ found).min() > -1e-9
    # optimal: a weight above the margin belongs to a memory that is just not violated
    assert np.abs((weights - 0.5) * (memories @ found)).max() < 1e-8


def test_gradient_is_untouched_where_no_constraint_is_violated():
    gradient, memories = random_case(0, n_memories=4, size=9)
    memories *= np.sign(memories @ gradient)[:, None]
    np.testing.assert_array_equal(projected(gradient, memories, margin=0.5), gradient)


def test_memories_that_repeat_one_another_do_no_harm():
    gradient, memories = random_case(1, n_memories=1, size=4)
    memories *= -np.sign(memories @ gradient)
    once, thrice = projected(gradient, memories), projected(gradient, memories.repeat(3, axis=0))
    np.testing.assert_allclose(once, thrice, atol=1e-7)
    assert projected(gradient, -gradient[None]) == pytest.approx(np.zeros(4), abs=1e-7)


class Watched(GEM):
    """Notes, at every step, how each old task's gradient agrees with the step taken."""

    def before_step(self):
        before = [p.grad.clone() for p in self.net.parameters()]
        super().before_step()
        after = [p.grad for p in self.net.parameters()]
        self.changed = self.__dict__.get("changed", 0) + any(
            not torch.equal(a, b) for a, b in zip(before, after, strict=True)
        )
        self.constrained = [sorted(set(y.tolist())) for _, y in self.memories]
        for x, y in self.memories:
            loss = torch.nn.functional.cross_entropy(self.net(x), y)
            old = torch.autograd.grad(loss, list(self.net.parameters()))
            product = sum((a * b).sum() for a, b in zip(after, old, strict=True))
            norm = sum(a.square().sum() for a in after) * sum(b.square().sum() for b in old)
            self.worst = min(self.__dict__.get("worst", 0.0), float(product / norm.sqrt()))


@pytest.fixture(scope="module")
def learned(tasks):
    model = Watched(hidden=(32, 32), epochs=3, batch_size=20, budget=60, device="cpu")
    sizes = []
    for task in tasks[:3]:
        model.partial_fit(task.X_train / np.float32(16), task.y_train)
        sizes.append((len(model.exemplars), torch.bincount(model.exemplars.y).tolist()))
    return model, sizes


def test_no_step_raises_the_loss_on_old_exemplars(learned):
    model, _ = learned
    assert model.changed > 0
    assert model.worst > -1e-4


def test_memory_is_shared_equally_and_exactly_counted(learned):
    model, sizes = learned
    assert sizes == [(60, [30] * 2), (60, [15] * 4), (60, [10] * 6)]
    parameters = 64 * 32 + 32 + 32 * 32 + 32 + 32 * 6 + 6
    assert model.memory().model_mb == 4 * parameters / 2**20
    assert model.memory().exemplar_mb == 4 * 60 * 64 / 2**20


def test_there_is_one_constraint_per_old_task(learned):
    model, _ = learned
    assert model.constrained == [[0, 1], [2, 3]]


def test_no_exemplar_is_kept_beside_those_that_are_counted(learned):
    model, _ = learned
    assert model.memories == []


def test_exemplars_are_samples_of_their_class(learned, tasks):
    model, _ = learned
    for x, code in zip(model.exemplars.X, model.exemplars.y.tolist(), strict=True):
        label = model.labels[code]
        same = np.concatenate([t.X_train[t.y_train == label] for t in tasks[:3]]) / np.float32(16)
        assert (same.reshape(len(same), -1) == x.numpy()).all(axis=1).any()


def test_method_builds_with_the_papers_budget():
    model = METHOD.build(3, None, device="cpu")
    assert (model.seed, model.budget, METHOD.paper) == (3, 2000, "GEM")
