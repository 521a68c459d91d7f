"""Sums that travel: they add up in any order to what one model would have learned."""

import functools
import itertools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from clsnet import CLSNet, ClsnetError, Sums, load
from clsnet.arrays.devices import CPU
from clsnet.extractor import Identity, Patches
from clsnet.storage.model_file import SUMS, read, write
from clsnet.storage.tensors import as_bytes, read_tensors

X, Y = load_digits(return_X_y=True)
IMAGES = X.reshape(-1, 8, 8)
SMALL = {"groups": 2, "group_size": 5}
RETAINS = ("total", "tasks", "classes")


def dense(sums):
    """Gram matrix, class sums in the order of classes, and numbers of samples."""
    traces = [trace.dense for trace in sums.summed.traces.values()]
    total = functools.reduce(lambda a, b: a.merge(b), traces)
    return total.gram, total.columns(sums.classes), sums.summed.task


def assert_same(one, other, tolerance=1e-12):
    (gram, cross, task), (gram2, cross2, task2) = dense(one), dense(other)
    assert task.counts == task2.counts
    assert task.weights == pytest.approx(task2.weights, rel=1e-12)
    np.testing.assert_allclose(gram, gram2, rtol=0, atol=tolerance * abs(gram2).max())
    np.testing.assert_allclose(cross, cross2, rtol=0, atol=tolerance * abs(cross2).max())


sizes = st.lists(st.integers(1, 120), min_size=3, max_size=4)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(RETAINS), sizes, st.integers(0, 2**31), st.booleans())
def test_sums_commute_and_associate(retain, sizes, seed, are_weighted):
    random = np.random.default_rng(seed)
    model = CLSNet(retain=retain, **SMALL)
    parts = []
    for size in sizes:
        rows = random.integers(0, len(X), size)
        weights = random.uniform(0.1, 3, size) if are_weighted else None
        parts.append(model.summarise([(X[rows], Y[rows], weights)]))
    whole = sum(parts)
    for order in itertools.permutations(parts):
        assert_same(sum(order), whole)
    a, b, *rest = parts
    assert_same((a + b) + sum(rest), a + (b + sum(rest)))


@pytest.mark.parametrize("retain", RETAINS)
@pytest.mark.parametrize("samples", [X, IMAGES], ids=["vectors", "images"])
def test_learning_sums_is_learning_their_samples(retain, samples):
    options = {"retain": retain, **SMALL}
    if samples.ndim == 3:
        options["backbone"] = Patches(filters=4, pool=2)
    seen = CLSNet(**options).partial_fit(samples[:900], Y[:900])
    seen.partial_fit(samples[900:], Y[900:])
    told = CLSNet(**options)
    maker = CLSNet(**options)
    for rows in (slice(900), slice(900, None)):
        parts = [maker.summarise([(samples[rows][i::3], Y[rows][i::3])]) for i in range(3)]
        told.learn_sums(sum(parts))
    assert told.tasks_ == seen.tasks_
    assert told.classes_.tolist() == seen.classes_.tolist()
    mine, theirs = told.classifier_.omega, seen.classifier_.omega
    assert np.linalg.norm(mine - theirs) <= 1e-9 * np.linalg.norm(theirs)
    assert (told.predict(samples) == seen.predict(samples)).all()


@pytest.mark.parametrize("options", [{"curvature": "low-rank", "rank": 20}, {"gamma": 2.0}])
def test_other_rules_learn_from_sums_too(options):
    seen, told = CLSNet(**options, **SMALL), CLSNet(**options, **SMALL)
    for rows in (Y < 5, Y >= 5):
        seen.partial_fit(X[rows], Y[rows])
        sums = seen.twin().summarise([(X[rows], Y[rows])])
        if not hasattr(told, "model_"):
            told = seen.twin()
        told.learn_sums(sums)
    np.testing.assert_allclose(told.decision_function(X), seen.decision_function(X), atol=1e-8)


def test_sums_stay_as_they_are_when_they_are_learned_and_added():
    model = CLSNet(**SMALL)
    sums = [model.summarise([(X[i::2], Y[i::2])]) for i in range(2)]
    before = [dense(one)[0].copy() for one in sums]
    model.learn_sums(sums[0]).learn_sums(sums[1]).learn_sums(sum(sums))
    model.predict(X)
    for one, gram in zip(sums, before, strict=True):
        np.testing.assert_array_equal(dense(one)[0], gram)


def test_summing_up_learns_nothing():
    model = CLSNet(**SMALL).partial_fit(X[Y < 5], Y[Y < 5])
    scores = model.decision_function(X)
    model.summarise([(X[Y > 4], Y[Y > 4])])
    np.testing.assert_array_equal(model.decision_function(X), scores)


@pytest.mark.parametrize("retain", ["total", "classes"])
@pytest.mark.parametrize("n", [20, 1797], ids=["few", "many"])
def test_a_file_and_a_pickle_hold_the_same_sums(tmp_path, retain, n):
    model = CLSNet(retain=retain, **SMALL)
    weights = 1 + np.arange(n) % 3
    sums = model.summarise([(X[:n], Y[:n], weights)])
    sums.save(tmp_path / "a.sums")
    for found in (Sums.load(tmp_path / "a.sums"), pickle.loads(pickle.dumps(sums))):
        assert found.source == sums.source
        assert_same(found, sums, 0)
        assert model.twin().learn_sums(found).score(X, Y) > 0.5


def test_names_of_columns_travel():
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    sums = CLSNet(**SMALL).summarise([(frame, Y)])
    model = CLSNet(**SMALL).learn_sums(sums)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ClsnetError, match="other names of columns"):
        CLSNet(**SMALL).fit(X, Y).learn_sums(sums)


# -------------------------------------------------------------------------- bad input


@pytest.fixture
def sums():
    return CLSNet(**SMALL).summarise([(X[:100], Y[:100])])


@pytest.mark.parametrize(
    ("options", "samples", "told"),
    [
        ({"random_state": 1}, X, "random_state"),
        ({"groups": 3}, X, "backbone"),
        ({"retain": "classes"}, X, "retain"),
        ({}, X[:, :30], "shapes of samples"),
        ({"backbone": Identity()}, X, "backbone"),
    ],
    ids=["seed", "nodes", "retain", "shape", "backbone"],
)
def test_sums_of_another_extractor_are_refused_by_name(sums, options, samples, told, tmp_path):
    model = CLSNet(**{**SMALL, **options}).fit(samples, Y)
    model.save(tmp_path / "before")
    with pytest.raises(ClsnetError, match=f"not of this model: they have other {told}"):
        model.learn_sums(sums)
    with pytest.raises(ClsnetError, match=f"sums of different {told}"):
        sums + model.summarise([(samples[:100], Y[:100])])
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_an_extractor_that_was_fitted_to_samples_is_told_by_them():
    options = {"backbone": "identity", **SMALL}
    one, other = (CLSNet(**options).prepare(part) for part in (X[:500], X[500:]))
    sums = one.summarise([(X[:100], Y[:100])])
    assert one.twin().learn_sums(sums).score(X, Y) > 0.5
    with pytest.raises(ClsnetError, match="other samples that the extractor was fitted to"):
        other.learn_sums(sums)
    with pytest.raises(ClsnetError, match=r"call prepare\(X\)"):
        CLSNet(**options).learn_sums(sums)


def test_a_label_of_two_types_is_named(sums):
    as_text = CLSNet(**SMALL).summarise([(X[:100], Y[:100].astype(str))])
    for add in (lambda: sums + as_text, lambda: CLSNet(**SMALL).fit(X, Y).learn_sums(as_text)):
        with pytest.raises(ClsnetError, match="the label '0' is text in one of these and a number"):
            add()


def test_a_rule_that_reads_samples_twice_cannot_learn_sums():
    model = CLSNet.paper(groups=2).prepare(X)
    sums = model.summarise([(X[:100], Y[:100])])
    with pytest.raises(ClsnetError, match="reads the samples of a task twice"):
        model.learn_sums(sums)


def test_nothing_to_sum_up_is_refused(sums):
    with pytest.raises(ClsnetError, match="there is no batch"):
        CLSNet(**SMALL).summarise([])
    with pytest.raises(TypeError):
        sums + 1
    with pytest.raises(ClsnetError, match="learn_sums takes Sums"):
        CLSNet(**SMALL).learn_sums(sum([]))


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9, 0.9999])
def test_a_truncated_file_is_refused(sums, tmp_path, keep):
    path = tmp_path / "a.sums"
    sums.save(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    with pytest.raises(ClsnetError, match=r"a\.sums is damaged or not a file of sums"):
        Sums.load(path)


def test_a_file_of_a_newer_version_is_refused(sums, tmp_path):
    path = tmp_path / "a.sums"
    sums.save(path)
    metadata, arrays = read_tensors(path)
    path.write_bytes(as_bytes(arrays, {**metadata, "version": "2"}))
    with pytest.raises(ClsnetError, match="written by a newer clsnet"):
        Sums.load(path)


def test_a_model_is_no_file_of_sums_and_the_other_way_round(sums, tmp_path):
    sums.save(tmp_path / "sums")
    CLSNet(**SMALL).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ClsnetError, match="is a clsnet model, but not a file of sums"):
        Sums.load(tmp_path / "model")
    with pytest.raises(ClsnetError, match="is a file of sums, but not a clsnet model"):
        load(tmp_path / "sums")
    with pytest.raises(ClsnetError, match="No such file"):
        Sums.load(tmp_path / "none")


def edit(header, place, value):
    *way, last = place
    for step in way:
        header = header[step]
    header[last] = value


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["extractor", "dimension"], 3),
        (["extractor", "seed"], -1),
        (["sample_shape"], [10**9]),
        (["counts", 0], ["x", 3]),
        (["counts", 0, 1], 0),
        (["counts"], []),
        (["weights"], [["x", 1.0]]),
        (["traces", 0, "key"], "other"),
        (["traces", 0, "labels"], [0, 1]),
        (["traces", 0, "n_samples"], -1),
        (["traces"], []),
        (["per_class"], True),
        (["surprise"], 1),
    ],
    ids=str,
)
def test_an_edited_header_is_refused(sums, tmp_path, place, value):
    path = tmp_path / "a.sums"
    sums.save(path)
    header, arrays = read(path, SUMS)
    header = json.loads(json.dumps(header))
    edit(header, place, value)
    write(path, header, arrays, SUMS)
    with pytest.raises(ClsnetError, match=r"a\.sums is damaged"):
        Sums.load(path)


@pytest.mark.parametrize(
    "array",
    [np.full((63, 63), np.nan), np.zeros((3, 3)), np.zeros((63, 63), np.float32)],
    ids=["NaN", "too small", "float32"],
)
def test_bad_arrays_are_refused(tmp_path, array):
    sums = CLSNet(**SMALL).summarise([(X, Y)])
    path, size = tmp_path / "a.sums", sums.source.extractor["dimension"]
    sums.save(path)
    header, arrays = read(path, SUMS)
    wrong = np.resize(array, (size, size)) if array.shape == (63, 63) else array
    write(path, header, {**arrays, "trace.0.gram": wrong.astype(array.dtype)}, SUMS)
    with pytest.raises(ClsnetError, match=r"a\.sums is damaged"):
        Sums.load(path)


def test_samples_too_large_to_be_squared_are_refused():
    with pytest.raises(ClsnetError, match="too large to be squared"):
        CLSNet(backbone="identity", connection="Z").prepare(X).summarise([(X * 1e200, Y)])


def test_sums_are_numpy_arrays_on_the_cpu(sums):
    assert sums.on(CPU) is sums.summed
    traces = sums.summed.traces.values()
    assert all(isinstance(a, np.ndarray) for trace in traces for a in trace.arrays().values())
