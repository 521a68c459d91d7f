import itertools

import numpy as np
import pytest
import torch

from clsnet.checks import method_checks
from clsnet.methods import get_method
from clsnet.methods.intercontinet import InterContiNet, interval_scores

SMALL = {
    "hidden": (32, 32),
    "epochs": 3,
    "batch_size": 20,
    "contraction_epochs": 6,
    "contraction_rate": 1.0,
    "device": "cpu",
}


@pytest.fixture(scope="module")
def history(vectors):
    """The model, and both ends of all intervals after each of three tasks."""
    model = InterContiNet(**SMALL)
    intervals = []
    for task in vectors[:3]:
        model.partial_fit(task.X_train / 16, task.y_train)
        intervals.append(model.intervals())
    return model, intervals


def test_intervals_of_later_tasks_lie_inside_earlier_ones(history):
    _, intervals = history
    for before, after in itertools.pairwise(intervals):
        for name, (lower, upper) in before.items():
            inner_lower, inner_upper = (end[: len(lower)] for end in after[name])
            assert (inner_lower >= lower - 1e-6).all()
            assert (inner_upper <= upper + 1e-6).all()


def test_new_classes_lie_inside_the_spare_outputs_interval(history):
    _, intervals = history
    lower, upper = intervals[0]["head.weight"]
    inner_lower, inner_upper = intervals[1]["head.weight"]
    assert len(lower) == 3
    assert len(inner_lower) == 5
    assert (inner_lower[2:] >= lower[2] - 1e-6).all()
    assert (inner_upper[2:] <= upper[2] + 1e-6).all()


def test_intervals_are_alive(vectors):
    model = InterContiNet(**SMALL)
    model.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    before = model.net.body[0].weight.detach().clone()
    radius = model.radius["body.0.weight"].clone()
    assert (radius > 0).all()
    model.partial_fit(vectors[1].X_train / 16, vectors[1].y_train)
    moved = (model.net.body[0].weight.detach() - before).abs()
    assert (moved > 0).any()
    assert (moved <= radius + 1e-6).all()


def test_scores_of_any_weights_in_the_intervals_lie_inside_the_bounds(history, vectors):
    model, _ = history
    x = model.as_input(vectors[2].X_test / 16)
    signed = torch.cat([x, -x])  # negative samples too
    lower, upper = interval_scores(model.net, model.radius, signed)
    centres = {name: w.detach().clone() for name, w in model.net.named_parameters()}
    random = torch.Generator().manual_seed(0)
    for corner in (False, True, True):
        moved = {}
        for name, radius in model.radius.items():
            u = 2 * torch.rand(radius.shape, generator=random) - 1
            moved[name] = centres[name] + radius * (u.sign() if corner else u)
        scores = torch.func.functional_call(model.net, moved, (signed,))
        assert (scores >= lower - 1e-4).all()
        assert (scores <= upper + 1e-4).all()
    assert (model.net(signed) > lower).all()


def test_without_radii_the_bounds_are_the_scores(history, vectors):
    model, _ = history
    x = model.as_input(vectors[0].X_test / 16)
    none = {name: torch.zeros_like(radius) for name, radius in model.radius.items()}
    lower, upper = interval_scores(model.net, none, x)
    torch.testing.assert_close(lower, model.net(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(upper, model.net(x), rtol=1e-4, atol=1e-5)


def worst_case(model, task):
    """Which samples of a task are right whatever the weights in the intervals are."""
    lower, upper = interval_scores(model.net, model.radius, model.as_input(task.X_train / 16))
    codes = np.array([model.labels.index(label) for label in task.y_train.tolist()])
    own = np.eye(lower.shape[1], dtype=bool)[codes]
    worst = np.where(own, lower.detach().numpy(), upper.detach().numpy())
    return worst.argmax(axis=1) == codes


def test_the_worst_case_solves_the_first_task_and_goes_on_to(vectors):
    """The guarantee: what is right in the worst case stays right, whatever is learned later."""
    first = vectors[0]
    model = InterContiNet(**SMALL).partial_fit(first.X_train / 16, first.y_train)
    safe = worst_case(model, first)
    assert safe.mean() > 0.8
    for task in vectors[1:3]:
        model.partial_fit(task.X_train / 16, task.y_train)
        right = model.predict(first.X_train / 16) == first.y_train
        assert right[safe].all()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_default_keeps_its_promise_at_full_width(vectors, seed):
    """At the paper's width bounds start out many powers of ten too wide."""
    first = vectors[0]
    model = InterContiNet(seed=seed, epochs=3, device="cpu")
    model.partial_fit(first.X_train / 16, first.y_train)
    right = np.mean(model.predict(first.X_train / 16) == first.y_train)
    assert model.net.body[2].weight.shape == (900, 900)
    assert right > 0.9
    assert worst_case(model, first).mean() >= 0.9 * right


# A promise that is kept leaves no room for a second task where there are hidden layers.
LEARNING = ("answers_are_classes_seen_so_far", "the_newest_task_is_learned")


@pytest.mark.parametrize(
    "check",
    method_checks(get_method("intercontinet"), hidden=(100,), batch_size=20, device="cpu"),
    ids=str,
)
def test_with_its_default_promise_it_passes_all_checks_but_those_of_learning_more(check):
    if check.name in LEARNING:
        with pytest.raises(AssertionError, match="newest task"):
            check()
    else:
        check()


def test_radii_start_nearly_full(vectors):
    model = InterContiNet(**{**SMALL, "contraction_epochs": 0}, max_radius=2.0)
    model.partial_fit(vectors[0].X_train / 16, vectors[0].y_train)
    for radius in model.radius.values():
        torch.testing.assert_close(radius, torch.full_like(radius, 2 / (1 + np.exp(-5))))


def test_no_radius_is_ever_zero(vectors):
    """Weights that are pushed to the ends of their intervals leave room for later tasks."""
    model = InterContiNet(**SMALL, learning_rate=10.0)
    for task in vectors[:4]:
        model.partial_fit(task.X_train / 16, task.y_train)
        assert all(bool((radius > 0).all()) for radius in model.radius.values())


def test_network_with_spare_output_and_radii_are_counted(history):
    model, _ = history
    weights = 65 * 32 + 33 * 32 + 33 * (6 + 1)
    assert model.memory().model_mb == 2 * 4 * weights / 2**20
    assert model.memory().exemplar_mb == 0
