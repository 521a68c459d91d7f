import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsnet.data import Dataset, TaskSequence, load_sequence
from clsnet.data.sequences import tasks_in_name
from clsnet.errors import ClsnetError

seeds = st.integers(0, 2**64)
indices = st.integers(0, 10_000)
DIGITS = load_sequence("Digits-10/5")


@st.composite
def sequences(draw: st.DrawFn) -> TaskSequence:
    n_available = draw(st.integers(1, 30))
    n_classes = draw(st.integers(1, n_available))
    first = draw(st.one_of(st.none(), st.integers(1, n_classes - 1))) if n_classes > 1 else None
    n_tasks = draw(st.integers(1, n_classes - (first or 0))) + (first is not None)
    y_train = np.random.default_rng(0).permutation(np.repeat(np.arange(n_available), 3))
    y_test = np.tile(np.arange(n_available), 2)
    X_train, X_test = (np.arange(len(y), dtype=np.uint8)[:, None, None] for y in (y_train, y_test))
    names = tuple(f"class {i}" for i in range(n_available))
    dataset = Dataset("Made", X_train, y_train, X_test, y_test, names)
    return TaskSequence(dataset, n_classes, n_tasks, first=first)


@given(sequences(), seeds, indices, st.sampled_from(["classes", "tasks"]))
def test_tasks_are_disjoint_as_equal_as_can_be_and_cover_the_classes(
    sequence, seed, index, shuffle
):
    order = sequence.order(seed, index, shuffle)
    sizes = [len(classes) for classes in order]
    assert len(order) == sequence.n_tasks == tasks_in_name(sequence.name)
    assert tuple(sizes) == sequence.sizes
    if sequence.first:
        assert sizes.pop(0) == sequence.first
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] in (0, 1)
    used = [c for classes in order for c in classes]
    assert len(set(used)) == sequence.n_classes
    assert set(used) <= set(range(len(sequence.dataset.class_names)))
    assert all(type(c) is int for c in used)
    if shuffle == "tasks":
        used = sorted(used)
        assert all(sorted(task) == used[used.index(min(task)) :][: len(task)] for task in order)


@given(sequences(), seeds, indices)
def test_same_seed_and_index_give_the_same_order(sequence, seed, index):
    assert sequence.order(seed, index) == sequence.order(seed, index)


@given(sequences(), seeds, indices, indices)
def test_the_seed_alone_chooses_the_classes(sequence, seed, index, other):
    first, second = sequence.order(seed, index), sequence.order(seed, other)
    assert set().union(*first) == set().union(*second)


@settings(derandomize=True)
@given(seeds, st.lists(indices, min_size=2, max_size=2, unique=True))
def test_another_index_is_another_order(seed, pair):
    assert DIGITS.order(seed, pair[0]) != DIGITS.order(seed, pair[1])


@given(sequences(), seeds, indices)
def test_tasks_hold_all_rows_of_their_classes_and_no_other(sequence, seed, index):
    data, order = sequence.dataset, sequence.order(seed, index)
    tasks = sequence.tasks(order)
    assert tuple(task.classes for task in tasks) == order
    for task in tasks:
        train = [i for i, y in enumerate(data.y_train) if y in task.classes]
        test = [i for i, y in enumerate(data.y_test) if y in task.classes]
        assert task.X_train.ravel().tolist() == train and task.X_test.ravel().tolist() == test
        np.testing.assert_array_equal(task.y_train, data.y_train[train])
        np.testing.assert_array_equal(task.y_test, data.y_test[test])


def test_orders_are_the_same_on_every_machine():
    assert DIGITS.order(0, 0) == ((4, 9), (8, 7), (5, 3), (0, 1), (2, 6))
    assert DIGITS.order(0, 0, "tasks") == ((0, 1), (6, 7), (4, 5), (2, 3), (8, 9))
    assert load_sequence("Digits-10/3").order(0, 0) == ((4, 9, 8, 7), (5, 3, 0), (1, 2, 6))
    assert load_sequence("Digits-10/3").order(1, 3, "tasks") == ((6, 7, 8, 9), (3, 4, 5), (0, 1, 2))
    assert load_sequence("Digits-4/2").order(7, 3) == ((7, 8), (1, 0))


@given(sequences(), seeds, indices)
def test_base_classes_are_the_classes_of_no_task(sequence, seed, index):
    base = sequence.base_classes(seed)
    used = set().union(*sequence.order(seed, index))
    assert base == tuple(sorted(set(range(len(sequence.dataset.class_names))) - used))
    assert all(type(c) is int for c in base)


@given(sequences(), seeds)
def test_base_data_hold_all_rows_of_the_base_classes(sequence, seed):
    data, base = sequence.dataset, sequence.base_classes(seed)
    if not base:
        with pytest.raises(ClsnetError, match=f"{re.escape(sequence.name)} leaves no class"):
            sequence.base_data(seed)
        return
    X, y, X_test, y_test = sequence.base_data(seed)
    train = [i for i, label in enumerate(data.y_train) if label in base]
    test = [i for i, label in enumerate(data.y_test) if label in base]
    assert X.ravel().tolist() == train and X_test.ravel().tolist() == test
    assert [base[label] for label in y] == data.y_train[train].tolist()
    assert [base[label] for label in y_test] == data.y_test[test].tolist()
    assert y.dtype == y_test.dtype == np.int64


def test_base_classes_are_the_same_on_every_machine():
    assert load_sequence("Digits-6/3").base_classes(0) == (0, 1, 8, 9)
    with pytest.raises(ClsnetError, match="seed -1 must be 0 or more"):
        DIGITS.base_classes(-1)


def test_a_sequence_remembers_how_it_was_asked_for():
    assert load_sequence("dIgItS-6/3").spec == "dIgItS-6/3"


def test_names_are_shown_in_their_canonical_form():
    sequence = load_sequence("dIgItS-6/3")
    assert (sequence.name, sequence.n_classes, sequence.n_tasks) == ("Digits-6/3", 6, 3)
    assert sequence.dataset.name == "Digits"
    assert load_sequence("dIgItS-10/b6+2").name == "Digits-10/B6+2"
    assert tasks_in_name("TinyImageNet-200/B100+10") == 11
    assert tasks_in_name("Digits-10") is None


@pytest.mark.parametrize(
    "name",
    [
        "FashionMNIST",
        "FashionMNIST-10",
        "FashionMNIST-/5",
        "FashionMNIST-10/",
        "-10/5",
        "10/5",
        "",
        "FashionMNIST-0/5",
        "FashionMNIST-10/0",
        "FashionMNIST-10/-5",
        "FashionMNIST-10/5 ",
        "FashionMNIST-10/5/2",
        "FashionMNIST-10/B5",
        "FashionMNIST-10/B0+5",
        "FashionMNIST-10/B5+",
        "FashionMNIST-10/5+5",
        "FashionMNIST-1e1/5",
        "FashionMNIST-\u0661\u0660/\u0665",
        "Digits-" + "9" * 5000 + "/1",
    ],
)
def test_names_of_another_form(name):
    with pytest.raises(ClsnetError, match="is not a sequence: write DATASET-C/T"):
        load_sequence(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("FashionMNIST-5/10", "'FashionMNIST-5/10': 5 classes are too few for 10 tasks"),
        ("Digits-10/B8+3", "'Digits-10/B8[+]3': 2 classes after the first 8 are too few for 3"),
        ("Digits-10/B10+1", "0 classes after the first 10 are too few for 1 tasks"),
        ("Digits-10/B12+1", "0 classes after the first 12 are too few for 1 tasks"),
        ("FashionMNIST-20/5", "'FashionMNIST-20/5': FashionMNIST has only 10 classes"),
        ("Fashion-10/5", "unknown data set 'Fashion': the nearest is 'FashionMNIST'"),
        ("Foo-10/5", "unknown data set 'Foo': the nearest is '.*' .known: CIFAR-10, "),
    ],
)
def test_names_that_cannot_be(name, reason):
    with pytest.raises(ClsnetError, match=reason):
        load_sequence(name)


@pytest.mark.parametrize(("seed", "index"), [(-1, 0), (0, -1)])
def test_negative_seed_or_index(seed, index):
    with pytest.raises(ClsnetError, match="must both be 0 or more"):
        DIGITS.order(seed, index)


def test_a_class_without_images_is_named():
    with pytest.raises(ClsnetError, match="Digits has no training images of class 11"):
        DIGITS.tasks(((1, 11),))
