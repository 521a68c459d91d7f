"""Analytic methods at the size in use against their formulas, solved at once from all samples.

Their own tests do this for every option at small sizes; here rounding has its chance.
"""

import numpy as np
import pytest
from scipy.linalg import solve
from scipy.special import ndtr, softmax

from clsnet.methods import get_method

N_CLASSES, N_FEATURES, N_EACH = 10, 1000, 60
ONE = {"klda": {"n_models": 1}, "anacp": {"n_heads": 1}}  # of several alike


@pytest.fixture(scope="module")
def features():
    """Correlated features in single precision, as backbones give them, and some to predict."""
    random = np.random.default_rng(0)
    means = random.normal(size=(N_CLASSES, N_FEATURES))
    mixing = random.normal(size=(40, N_FEATURES))

    def drawn(n):
        y = np.repeat(np.arange(N_CLASSES), n)
        noise = random.normal(size=(len(y), 40)) @ mixing / 4
        shown = np.where(random.random(len(y)) < 0.3, y ^ 1, y)  # else no ridge would be too small
        rows = means[shown] + noise + random.normal(size=(len(y), N_FEATURES))
        return np.maximum(rows, 0).astype(np.float32) / 8, y

    return *drawn(N_EACH), drawn(5)[0]


@pytest.fixture
def learned(features):
    """Makes a method that has learned five tasks, as it is built by default for `fast`."""
    A, y, _ = features

    def learned(name, **options):
        model = get_method(name).build(0, "fast", device="cpu", **options)
        model.start(N_FEATURES)
        for first in range(0, N_CLASSES, 2):
            rows = np.flatnonzero((y == first) | (y == first + 1))
            model.learn(A[rows], y[rows])
        return model.consolidate()

    return learned


def ridge_regression(H, Y, ridge):
    """From the smaller of the two matrices of products."""
    return H.T @ solve(H @ H.T + ridge * np.eye(len(H)), Y, assume_a="pos")


def hidden(layer, A):
    return A.astype(float) @ layer.weights.astype(float)


def relu(Z):
    return np.maximum(Z, 0)


def gelu(Z):
    return Z * ndtr(Z)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def class_means(A, y):
    return np.array([A[y == c].mean(axis=0) for c in range(N_CLASSES)])


def acil(model, A, y, x):
    weights = ridge_regression(relu(hidden(model.layer, A)), np.eye(N_CLASSES)[y], 0.1)
    return relu(hidden(model.layer, x)) @ weights


def ds_al(model, A, y, x):
    Y, left = np.eye(N_CLASSES)[y], np.zeros((len(y), N_CLASSES))
    for first in range(0, N_CLASSES, 2):
        seen, own = y < first + 2, (y == first) | (y == first + 1)
        residual = Y[own] - acil_until(model, A[seen], Y[seen], A[own])
        left[own, first : first + 2] = residual[:, first : first + 2]
    second = ridge_regression(np.tanh(hidden(model.layer, A)), left, 0.1)
    return acil(model, A, y, x) + np.tanh(hidden(model.layer, x)) @ second


def acil_until(model, A, Y, x):
    return relu(hidden(model.layer, x)) @ ridge_regression(relu(hidden(model.layer, A)), Y, 0.1)


def fecam(model, A, y, x):
    A, x = A.astype(float), x.astype(float)
    eye, found = np.eye(N_FEATURES, dtype=bool), []
    for c in range(N_CLASSES):
        S = np.cov(np.sqrt(A[y == c]).T)
        for _ in range(2):
            S = S + np.where(eye, S[eye].mean(), S[~eye].mean())
        S /= np.sqrt(np.outer(S[eye], S[eye]))
        gaps = unit(np.sqrt(x)) - unit(np.sqrt(A[y == c].mean(axis=0))[None])
        found.append(-(gaps * solve(S, gaps.T).T).sum(axis=1))
    return np.array(found).T


def klda(model, A, y, x):
    total = 0.0
    for number in range(model.n_models):
        Z, z = (model.expand(rows.astype(float), number) for rows in (A, x))
        means = class_means(Z, y)
        S = (Z - means[y]).T @ (Z - means[y]) + model.ridge * np.eye(model.nodes)
        gaps = (z[:, None] - means).reshape(-1, model.nodes)
        distances = (gaps * solve(S, gaps.T, assume_a="pos").T).sum(axis=1)
        total = total + softmax(-distances.reshape(len(z), N_CLASSES), axis=1)
    return total


def anacp(model, A, y, x):
    A, x = unit(A.astype(float)), unit(x.astype(float))
    means = class_means(A, y)
    S = (A - means[y]).T @ (A - means[y]) / len(A) + model.shrinkage * np.eye(N_FEATURES)
    values, vectors = np.linalg.eigh(S)
    white, centre = vectors / np.sqrt(values) @ vectors.T, means.mean(axis=0)
    U, s, Vt = np.linalg.svd((means - centre) @ white, full_matrices=False)
    targets = unit(U[:, :-1] * (s[:-1] + 1) @ Vt[:-1] @ white + centre)  # the last s is zero
    drawn, Y = model.drawn(means, np.linalg.cholesky(S))
    seen = []
    for rows in (drawn, x):
        outputs = 0.0
        for head in model.heads:
            theta = ridge_regression(gelu(hidden(head, A)), targets[y], model.ridge)
            outputs = outputs + unit(gelu(hidden(head, rows)) @ theta) / model.n_heads
        seen.append(gelu(hidden(model.second, outputs)))
    return seen[1] @ ridge_regression(seen[0], Y, model.ridge)


def loranpac(model, A, y, x):
    kept, Y = np.zeros((0, model.width)), np.eye(N_CLASSES)[y]
    H = relu(hidden(model.layer, A))
    for first in range(0, N_CLASSES, 2):
        rows = np.vstack([kept, H[(y == first) | (y == first + 1)]])
        _, s, Vt = np.linalg.svd(rows, full_matrices=False)
        left = round(0.75 * (y < first + 2).sum())
        kept = s[:left, None] * Vt[:left]
    return relu(hidden(model.layer, x)) @ Vt[:left].T / s[:left] ** 2 @ (Vt[:left] @ (H.T @ Y))


def ranpac(model, A, y, x):
    weights = ridge_regression(relu(hidden(model.layer, A)), np.eye(N_CLASSES)[y], model.ridge)
    return relu(hidden(model.layer, x)) @ weights


def slda(model, A, y, x):
    A, x = A.astype(float), x.astype(float)
    means = class_means(A, y)
    S = (1 - model.shrinkage) * (A - means[y]).T @ (A - means[y]) / len(A)
    W = solve(S + model.shrinkage * np.eye(N_FEATURES), means.T, assume_a="pos")
    return x @ W - (means.T * W).sum(axis=0) / 2


def ncm(model, A, y, x):
    means = class_means(A.astype(float), y)
    return x @ means.T - (means**2).sum(axis=1) / 2


@pytest.mark.parametrize(
    ("name", "literal", "tolerance"),
    [
        ("acil", acil, 1e-5),
        ("air", acil, 1e-5),  # classes are balanced
        ("ds-al", ds_al, 1e-5),
        ("fecam", fecam, 1e-5),
        ("klda", klda, 1e-4),
        ("anacp", anacp, 1e-4),
        ("loranpac", loranpac, 1e-3),
        ("ranpac", ranpac, 1e-4),
        ("slda", slda, 1e-3),
        ("ncm", ncm, 1e-5),
    ],
)
def test_scores_are_those_of_the_formula(name, literal, tolerance, features, learned):
    A, y, x = features
    model = learned(name, **ONE.get(name, {}))
    found = model.scores(x)[:, np.argsort(model.labels)]
    expected = literal(model, A, y, x)
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    np.testing.assert_array_equal(found.argmax(axis=1), expected.argmax(axis=1))
