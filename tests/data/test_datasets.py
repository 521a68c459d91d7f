import numpy as np
import pytest

from clsnet.data import datasets, load_dataset
from clsnet.errors import ClsnetError

KNOWN = ["CIFAR-10", "CIFAR-100", "Digits", "FashionMNIST", "ImageNet", "TinyImageNet"]


def test_every_data_set_says_what_it_is():
    infos = datasets()
    assert [info.name for info in infos] == KNOWN
    for info in infos:
        assert info.description and info.source
        assert isinstance(info.available(), bool)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("FashonMNIST", "FashionMNIST"),
        ("digit", "Digits"),
        ("fashion-mnist", "FashionMNIST"),
        ("tiny-imagenet", "TinyImageNet"),
        ("CIFAR100", "CIFAR-100"),
    ],
)
def test_unknown_name_names_the_nearest(name, nearest):
    with pytest.raises(ClsnetError, match=f"unknown data set '{name}': the nearest is '{nearest}'"):
        load_dataset(name)


@pytest.mark.parametrize("name", ["", "?", "CIFAR"])
def test_unlike_names_are_answered_too(name):
    with pytest.raises(ClsnetError, match=", ".join(KNOWN)):
        load_dataset(name)


def test_names_are_found_in_any_case():
    assert load_dataset("dIGITS").name == "Digits"


def test_digits_are_as_announced():
    [info] = [info for info in datasets() if info.name == "Digits"]
    assert info.available()
    data = load_dataset("Digits")
    assert data.X_train.shape == (info.n_train, 8, 8) and data.X_test.shape == (info.n_test, 8, 8)
    assert data.X_train.dtype == np.uint8 and data.X_train.max() == 16
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    assert data.class_names == tuple("0123456789")


def test_digits_are_split_in_proportion_and_always_alike():
    data, again = load_dataset("Digits"), load_dataset("Digits")
    np.testing.assert_array_equal(data.X_test, again.X_test)
    per_class = np.bincount(data.y_train) + np.bincount(data.y_test)
    np.testing.assert_allclose(np.bincount(data.y_test), per_class * 360 / 1797, atol=1)
