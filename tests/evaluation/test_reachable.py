import numpy as np
import pytest

from clsnet.evaluation.reachable import reachable_arrays


def test_shared_memory_counts_once():
    whole = np.ones((4, 5))
    assert reachable_arrays([whole, whole[1:], whole.T]).least == 20


def test_memory_shared_with_torch_counts_once():
    torch = pytest.importorskip("torch")
    whole = np.ones((4, 5))
    assert reachable_arrays([whole, torch.from_numpy(whole)[1:]]).least == 20


def test_a_triangle_may_count_as_half():
    symmetric = np.arange(9.0).reshape(3, 3)
    symmetric += symmetric.T
    for half in (symmetric, np.triu(symmetric)):
        found = reachable_arrays({"gram": half})
        assert (found.least, found.most) == (6, 9)
    assert reachable_arrays([np.tril(symmetric)]).least == 9


def test_labels_and_counts_may_count_and_samples_of_integers_do():
    found = reachable_arrays({"counts": np.arange(5), "classes": {"cat": 3}})
    assert (found.least, found.most) == (0, 6)
    assert reachable_arrays(np.zeros((5, 4), np.int64)).least == 20
    assert reachable_arrays(np.zeros((5, 4), np.uint8)).least == 5  # as large as five numbers


def test_modules_and_classes_are_not_followed():
    class Settings:
        table = np.ones(1000)

    assert (
        reachable_arrays(
            [Settings, Settings(), np, test_modules_and_classes_are_not_followed]
        ).least
        == 0
    )
