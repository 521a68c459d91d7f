"""Sparse matrices give the answers of dense ones, and are never dense as a whole."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from clsnet import CLSNet
from clsnet.estimator.sparse import SparseRows
from clsnet.extractor import Identity, Patches

FORMS = [sp.csr_matrix, sp.csr_array, sp.csc_array, sp.coo_array, sp.lil_array, sp.dok_array]


@pytest.fixture
def texts(vectors):
    """Tasks with many zeros."""
    return [(np.maximum(task.X_train - 8, 0), task.y_train) for task in vectors[:3]]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.parametrize("options", [{}, {"backbone": "identity"}, {"connection": "Z"}], ids=str)
def test_a_sparse_matrix_is_learned_as_a_dense_one(small, texts, form, options):
    dense, sparse = small(**options), small(**options)
    for X, y in texts:
        dense.partial_fit(X, y)
        sparse.partial_fit(form(X), y)
    X = texts[0][0]
    for verb in ("transform", "decision_function", "predict_proba", "predict"):
        wanted, found = getattr(dense, verb)(X), getattr(sparse, verb)(form(X))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
        np.testing.assert_allclose(getattr(sparse, verb)(X), wanted, rtol=0, atol=1e-10)
    assert sparse.score(form(X), texts[0][1]) == dense.score(X, texts[0][1])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_numbers_of_any_kind_may_be_sparse(small, texts, dtype):
    X, y = texts[0][0].astype(dtype), texts[0][1]
    wanted = small().fit(X, y).decision_function(X)
    found = small().fit(sp.csr_array(X), y).decision_function(sp.csr_array(X))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


def test_a_stream_may_mix_both(small, texts):
    X, y = texts[0]
    plain = small().fit(X, y).decision_function(X)
    batches = [(sp.csr_array(X[:50]), y[:50]), (X[50:90], y[50:90]), (sp.csc_array(X[90:]), y[90:])]
    np.testing.assert_allclose(small().learn(batches).decision_function(X), plain, atol=1e-10)


def test_weights_go_with_sparse_rows(small, texts):
    X, y = texts[0]
    weights = np.arange(len(y)) % 4.0
    dense = small().fit(X, y, weights)
    sparse = small().fit(sp.csr_array(X), y, weights)
    np.testing.assert_allclose(
        sparse.decision_function(X), dense.decision_function(X), rtol=0, atol=1e-10
    )


def test_the_whole_matrix_is_never_dense():
    n, d = 100_000, 160
    X = sp.random_array((n, d), density=0.01, format="csr", rng=np.random.default_rng(0))
    y = np.arange(n) % 3
    model = CLSNet(backbone=Identity("none"), connection="Z")
    tracemalloc.start()
    model.fit(X, y).predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 8 / 3


def test_rows_are_cut_before_they_are_dense():
    matrix = sp.random_array((50, 7), density=0.3, format="csr", rng=np.random.default_rng(0))
    rows, dense = SparseRows(matrix), matrix.toarray()
    for some in (slice(3, 9), slice(0, None, 4), np.array([5, 1, 5]), dense[:, 0] > 0):
        assert isinstance(rows[some], SparseRows)
        np.testing.assert_array_equal(np.asarray(rows[some]), dense[some])
    assert np.asarray(rows, dtype=np.float32).dtype == np.float32


# ----------------------------------------------------------------------------- bad input


def test_values_that_are_no_numbers(small, texts, refuses):
    X, y = texts[0]
    model = small().fit(X, y)
    bad = sp.csr_array(X)
    bad.data[7] = np.nan
    refuses(model, "NaN or infinite", lambda: model.partial_fit(bad, y))
    refuses(model, "NaN or infinite", lambda: model.predict(bad))
    fresh = small()
    refuses(fresh, "NaN or infinite", lambda: fresh.fit(bad, y))


def test_another_width_than_before(small, texts, refuses):
    X, y = texts[0]
    model = small().fit(X, y)
    refuses(model, "63 features", lambda: model.partial_fit(sp.csr_array(X[:, 1:]), y))


@pytest.mark.parametrize("backbone", ["patches", "network"])
def test_where_images_are_wanted(texts, refuses, backbone, write_network, tmp_path):
    if backbone == "network":
        backbone = write_network(tmp_path / "net.safetensors")
    X, y = texts[0]
    model = CLSNet(backbone=backbone)
    refuses(model, "backbone needs images", lambda: model.partial_fit(sp.csr_array(X), y))


def test_where_images_were_learned(tasks, texts, refuses):
    model = CLSNet(backbone=Patches(filters=2, pool=2)).fit(tasks[0].X_train, tasks[0].y_train)
    X, y = texts[0]
    refuses(model, "features", lambda: model.partial_fit(sp.csr_array(X), y))
    reason = r"samples of shape \(8,\) given"
    refuses(model, reason, lambda: model.predict(sp.csr_array(X[:, :8])))
