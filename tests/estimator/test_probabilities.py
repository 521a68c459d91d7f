"""Probabilities of vectors beside those of logistic regression, by five folds."""

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsnet import CLSNet

RARE = {"n_informative": 5, "weights": [0.95, 0.05], "random_state": 0}
NOISY = {"n_informative": 5, "flip_y": 0.3, "random_state": 1}
SETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "digits": lambda: load_digits(n_class=10, return_X_y=True),
    "a rare class": lambda: make_classification(1000, 20, **RARE),
    "labels of noise": lambda: make_classification(1000, 20, **NOISY),
}


def log_loss(model, X, y):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return -cross_val_score(model, X, y, cv=folds, scoring="neg_log_loss").mean()


@pytest.mark.parametrize("name", SETS)
def test_log_loss_is_at_most_1_3_times_that_of_logistic_regression(name):
    X, y = SETS[name]()
    peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    assert log_loss(CLSNet(), X, y) < 1.3 * log_loss(peer, X, y)


def test_probabilities_of_vectors_do_not_depend_on_the_order_of_tasks_or_on_what_is_forgotten():
    X, y = load_digits(return_X_y=True)
    tasks = [(0, 1, 2), (3,), (4, 5, 6), (7, 8, 9)]

    def taught(tasks):
        model = CLSNet(retain="tasks")
        for task in tasks:
            model.partial_fit(X[np.isin(y, task)], y[np.isin(y, task)])
        return model

    def probabilities(model):
        return model.predict_proba(X)[:, np.argsort(model.classes_)]

    one, two = taught(tasks), taught(tasks[::-1])
    np.testing.assert_allclose(probabilities(one), probabilities(two), atol=1e-8)
    one.forget(task=1)
    fresh = taught([tasks[3], tasks[0], tasks[2]])
    np.testing.assert_allclose(probabilities(one), probabilities(fresh), atol=1e-8)
