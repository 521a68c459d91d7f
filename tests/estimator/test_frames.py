"""Tables with named columns, in and out."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clsnet import CLSNet, load

pandas = pytest.importorskip("pandas")


@pytest.fixture
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def test_names_of_columns_are_kept_and_checked(small, iris, tmp_path):
    X, y = iris
    model = small().fit(X, y)
    assert model.feature_names_in_.tolist() == X.columns.tolist()
    model.save(tmp_path / "m.clsnet")
    for one in (model, load(tmp_path / "m.clsnet")):
        assert one.score(X, y) > 0.9
        with pytest.raises(ValueError, match="feature names should match"):
            one.predict(X[X.columns[::-1]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            one.predict(X.to_numpy())


def test_names_go_to_a_twin_and_not_to_a_clone(small, iris):
    model = small().fit(*iris)
    assert model.twin().feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert not hasattr(model.fit(iris[0].to_numpy(), iris[1]), "feature_names_in_")


def test_representations_have_names(small, iris):
    X, y = iris
    model = small().fit(X, y)
    names = model.get_feature_names_out()
    assert len(names) == model.transform(X).shape[1]
    assert names[:2].tolist() == ["clsnet0", "clsnet1"]


@pytest.mark.parametrize("form", ["pandas", "default"])
def test_representations_come_in_the_form_that_is_asked_for(small, iris, form):
    X, y = iris
    model = small().set_output(transform=form).fit(X, y)
    found = model.transform(X)
    assert isinstance(found, pandas.DataFrame if form == "pandas" else np.ndarray)
    np.testing.assert_array_equal(np.asarray(found), small().fit(X, y).transform(X))
    if form == "pandas":
        assert found.columns.tolist() == model.get_feature_names_out().tolist()
        assert found.index.equals(X.index)
        pandas.testing.assert_frame_equal(found, model.partial_fit(X, y).transform(X))


def test_tables_go_through_a_pipeline(small, iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), small(connection="G"), CLSNet(connection="Z"))
    pipeline.set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_[0] == "clsnet0"
    assert pipeline.score(X, y) > 0.9
    half = make_column_transformer((small(), X.columns[:2]), remainder="passthrough")
    assert half.set_output(transform="pandas").fit_transform(X, y).shape[1] > 4


def test_weights_and_labels_may_be_columns(small, iris):
    X, y = iris
    weights = pandas.Series(np.arange(len(y)) % 3 + 1.0, index=y.index[::-1])
    model = small().fit(X, y.astype("category"), sample_weight=weights)
    plain = small().fit(X, y.to_numpy(), weights.to_numpy())
    np.testing.assert_array_equal(model.classifier_.omega, plain.classifier_.omega)


def test_sparse_columns_are_rows_too(small, iris):
    X, y = iris
    sparse = (X.where(X > 2, 0)).astype(pandas.SparseDtype(float, 0))
    model = small().fit(sparse, y)
    np.testing.assert_allclose(
        model.decision_function(sparse),
        model.decision_function(sparse.sparse.to_dense()),
        atol=1e-9,
    )
