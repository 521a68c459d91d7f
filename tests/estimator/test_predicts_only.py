"""A file of weights in single precision: it answers, and does nothing else."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, ClsnetError, load, merge

X, Y = load_digits(return_X_y=True)


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_it_answers_alike_in_a_smaller_file(tmp_path, retain):
    model = CLSNet(groups=4, retain=retain).fit(X, Y)
    model.save(tmp_path / "whole")
    model.save(tmp_path / "weights", predicts_only=True)
    slim = load(tmp_path / "weights")
    assert slim.classifier_.omega.dtype == np.float32
    assert (slim.predict(X) == model.predict(X)).all()
    np.testing.assert_allclose(slim.predict_proba(X), model.predict_proba(X), atol=1e-3)
    assert (tmp_path / "weights").stat().st_size < 0.5 * (tmp_path / "whole").stat().st_size
    slim.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "weights").read_bytes()


def test_it_neither_learns_nor_forgets_nor_merges(tmp_path):
    model = CLSNet(groups=4, retain="classes").fit(X, Y)
    model.save(tmp_path / "weights", predicts_only=True)
    slim = load(tmp_path / "weights")
    for change in (
        lambda: slim.partial_fit(X[:10], Y[:10]),
        lambda: slim.learn_sums(model.summarise([(X[:10], Y[:10])])),
        lambda: slim.forget(classes=[1]),
        lambda: merge(model, slim),
    ):
        with pytest.raises(ClsnetError, match="weights for predicting, and no sums"):
            change()
    assert (slim.predict(X) == model.predict(X)).all()


def test_many_classes_are_learned_and_told_apart():
    random = np.random.default_rng(0)
    centres = random.standard_normal((6000, 40))
    y = np.repeat(np.arange(6000), 2)
    samples = centres[y] + 0.01 * random.standard_normal((12000, 40))
    model = CLSNet(backbone="identity", connection="Z", ridge=1e-6).prepare(samples[:100])
    model.partial_fit(samples, y)
    alone = CLSNet(backbone="identity", connection="Z", ridge=1e-6).prepare(samples[:100])
    for part in (y < 3000, y >= 3000):
        alone.partial_fit(samples[part], y[part])
    some = slice(0, 12000, 300)
    assert (model.predict(samples[some]) == alone.predict(samples[some])).all()
    assert model.predict_proba(samples[:2]).shape == (2, 6000)
