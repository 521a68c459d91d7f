import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.classifier.curvatures.plasticity import FISHERS
from clsnet.errors import ClsnetError
from clsnet.extractor import Identity
from tests.literal import learn_in_turn

X, Y = load_digits(return_X_y=True)
X = X / 16
CLASSES = [(0, 1), (2, 3, 4), (5, 6)]
ROWS = [np.flatnonzero(np.isin(Y, classes))[:50] for classes in CLASSES]


def learned(model):
    for rows in ROWS:
        model.partial_fit(X[rows], Y[rows])
    return model


def on_pixels(**options):
    options = {"curvature": "diagonal", "ridge": 1e-3, "retain": "tasks", **options}
    return learned(CLSNet(backbone=Identity("none"), connection="Z", **options))


def assert_follows_the_text(model, terms, ridge, gammas, fisher, phantoms, rtol):
    tasks = [(model.transform(X[rows]), Y[rows]) for rows in ROWS]
    labels, omega = learn_in_turn(tasks, terms, ridge, gammas, fisher, phantoms)
    assert model.classes_.tolist() == labels
    np.testing.assert_allclose(model.classifier_.omega, omega, rtol=0, atol=rtol * abs(omega).max())


@pytest.mark.parametrize("terms", [(1,), (1, 2), (1, 3), (1, 2, 3)])
@pytest.mark.parametrize("fisher", FISHERS)
def test_every_subset_of_terms_equals_the_recursion_of_the_text(terms, fisher):
    model = on_pixels(terms=terms, fisher=fisher, gamma=1000.0, phantoms=2)
    assert_follows_the_text(model, terms, 1e-3, [1000.0] * 3, fisher, 2, rtol=1e-8)


@pytest.mark.parametrize("retain", ["tasks", "total"])
def test_every_task_has_its_own_gamma(retain):
    model = on_pixels(terms=(1, 2, 3), gamma=[3000.0, 10.0], retain=retain)
    gammas = [3000.0, 10.0, 10.0]
    assert_follows_the_text(model, (1, 2, 3), 1e-3, gammas, "mean-of-squares", 8, rtol=1e-8)


def test_the_paper_preset_is_the_recursion_of_the_text_on_its_representations():
    model = learned(CLSNet.paper(groups=2, group_size=5))
    assert model.transform(X[:1]).shape == (1, 65 + 10)
    gammas = [1e4] * 3
    fisher = "mean-of-squares"
    assert_follows_the_text(model, (1, 2, 3), 2.0**-30, gammas, fisher, 1, rtol=1e-5)


@pytest.mark.parametrize("terms", [(1, 2), (1, 2, 3)])
def test_one_total_of_diagonals_is_as_good_as_one_per_task(terms):
    options = {"terms": terms, "gamma": [500.0, 20.0]}
    tasks = on_pixels(retain="tasks", **options)
    total = on_pixels(retain="total", **options)
    assert len(total.classifier_.traces) == 1
    np.testing.assert_allclose(tasks.classifier_.omega, total.classifier_.omega, atol=1e-9)


def test_old_tasks_are_remembered_by_the_second_term():
    without, with_memory = on_pixels(terms=(1,)), on_pixels(terms=(1, 2), gamma=1e6)
    old = ROWS[0]
    assert without.score(X[old], Y[old]) == 0
    assert with_memory.score(X[old], Y[old]) > 0.8


def test_automatic_ridge_comes_from_the_task_and_not_from_the_diagonals():
    weak, strong = (on_pixels(terms=(1, 2), gamma=g, ridge="auto") for g in (1.0, 1e7))
    assert np.isfinite(strong.classifier_.omega).all()
    one, two = weak.classifier_.calibration, strong.classifier_.calibration
    assert one.temperature == pytest.approx(two.temperature)


def test_more_of_an_old_class_is_refused_and_changes_nothing():
    model = on_pixels()
    before = model.decision_function(X[:50])
    with pytest.raises(ClsnetError, match=r'class 3 was learned before.*use curvature="full"'):
        model.partial_fit(X[Y >= 3], Y[Y >= 3])
    np.testing.assert_array_equal(model.decision_function(X[:50]), before)
    assert len(model.tasks_) == 3
