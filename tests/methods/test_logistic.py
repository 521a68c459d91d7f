import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from clsnet.errors import ClsnetError
from clsnet.methods.common.log_loss import LogLoss, cross_entropy
from clsnet.methods.logistic import METHOD, PENALTIES, Logistic


@pytest.fixture(scope="module")
def model(vectors):
    model = Logistic(penalty=0.01, device="cpu")
    for task in vectors[:3]:
        model.partial_fit(task.X_train, task.y_train)
    return model


@pytest.fixture(scope="module")
def samples(model, vectors):
    X = np.concatenate([task.X_train for task in vectors[:3]])
    return model.extractor_.transform(X), np.concatenate([task.y_train for task in vectors[:3]])


def objective(A, codes, weights, bias, strength):
    scores = A @ weights + bias
    loss = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(A)), codes]
    return loss.mean() + strength / 2 * (weights**2).sum()


def test_weights_are_as_good_as_those_of_scikit_learn(model, samples):
    A, y = samples
    strength = 0.01 * A.var(axis=0).mean()
    theirs = LogisticRegression(C=1 / (len(A) * strength), max_iter=2_000, tol=1e-5).fit(A, y)
    codes = np.searchsorted(theirs.classes_, y)
    least = objective(A, codes, theirs.coef_.T, theirs.intercept_, strength)
    found = objective(A, codes, *model.consolidate().solution, strength)
    assert found == pytest.approx(least, rel=0.02)
    same = theirs.predict(A) == np.array(model.labels)[model.scores(A).argmax(axis=1)]
    assert same.mean() > 0.995


def test_a_start_from_another_model_leads_to_the_same_optimum(samples):
    A, y = samples
    codes = np.searchsorted(np.unique(y), y)
    loss = LogLoss(A, codes)
    strength = 0.1 * A.var(axis=0).mean()
    values = [
        objective(A, codes, *loss.minimised(0.1, start), strength)
        for start in (None, loss.minimised(0.001))
    ]
    assert values[0] == pytest.approx(values[1], rel=0.01)


@pytest.mark.parametrize("n", [3, 12, 60])
def test_few_samples_lead_to_the_same_weights(n):
    random = np.random.RandomState(0)
    y = np.arange(n) % 3
    A = np.eye(20)[y] + 0.3 * random.normal(size=(n, 20))
    found = LogLoss(A, y).minimised(0.1)
    strength = 0.1 * A.var(axis=0).mean()
    theirs = LogisticRegression(C=1 / (n * strength), max_iter=1_000, tol=1e-8).fit(A, y)
    np.testing.assert_allclose(found.weights, theirs.coef_.T, atol=0.02 * theirs.coef_.max())
    close = 0.05 * np.abs(theirs.coef_).max()
    np.testing.assert_allclose(found.bias - found.bias.mean(), theirs.intercept_, atol=close)


def test_slopes_are_the_derivatives_of_the_loss():
    random = np.random.RandomState(0)
    scores, y = random.normal(size=(5, 3)), np.array([0, 2, 1, 1, 2])
    loss, slopes = cross_entropy(scores, y)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert loss == pytest.approx(-np.log(probabilities[np.arange(5), y]).mean())
    for i, j in np.ndindex(5, 3):
        moved = scores.copy()
        moved[i, j] += 1e-6
        assert slopes[i, j] == pytest.approx((cross_entropy(moved, y)[0] - loss) / 1e-6, abs=1e-5)


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_penalty_is_the_strongest_after_which_held_out_samples_get_no_better(noise):
    random = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], 50)
    A = np.eye(30)[y] + noise * random.normal(size=(150, 30))
    model = Logistic(device="cpu")
    model.start(30)
    penalty, _ = model.chosen(A, y)

    order = np.random.default_rng(0)
    held_out = np.concatenate([order.permutation(np.flatnonzero(y == c))[:10] for c in range(3)])
    rest = np.setdiff1d(np.arange(150), held_out)
    strengths = np.array(PENALTIES) * A[rest].var(axis=0).mean()
    losses = []
    for strength in strengths:
        known = LogisticRegression(C=1 / (len(rest) * strength), max_iter=1_000)
        p = known.fit(A[rest], y[rest]).predict_proba(A[held_out])
        losses.append(-np.log(p[np.arange(30), y[held_out]]).mean())
    rises = [i for i in range(len(losses) - 1) if losses[i + 1] >= losses[i]]
    assert penalty == PENALTIES[rises[0] if rises else -1]


def test_learns_the_digits_and_chooses_its_penalty(tasks):
    model = Logistic(device="cpu")
    for task in tasks[:3]:
        model.partial_fit(task.X_train, task.y_train)
    hits = [model.predict(task.X_test) == task.y_test for task in tasks[:3]]
    assert np.mean(np.concatenate(hits)) > 0.97


def test_one_class_and_one_sample_a_class_are_learned(vectors):
    model = Logistic(device="cpu")
    first, second = vectors[:2]
    alone = first.y_train == first.classes[0]
    model.partial_fit(first.X_train[alone], first.y_train[alone])
    assert set(model.predict(first.X_test).tolist()) == {first.classes[0]}
    model = Logistic(device="cpu")
    rows = [np.flatnonzero(second.y_train == label)[0] for label in second.classes]
    model.partial_fit(second.X_train[rows], second.y_train[rows])
    np.testing.assert_array_equal(model.predict(second.X_train[rows]), second.y_train[rows])


def test_features_of_every_sample_are_exemplars(model, samples):
    extractor = sum(value.size for value in model.extractor_.state().values())
    assert model.memory().exemplar_mb == 4 * samples[0].size / 2**20
    assert model.memory().model_mb == 4 * extractor / 2**20


def test_a_penalty_of_zero_is_refused():
    with pytest.raises(ClsnetError, match=r"penalty=0: use a number above 0\."):
        Logistic(penalty=0, device="cpu").check_parameters()


def test_method_is_a_bound_and_hands_over_seed_and_preset():
    model = METHOD.build(3, "small", device="cpu")
    assert (model.seed, model.preset) == (3, "small")
    assert METHOD.family == "bound"
