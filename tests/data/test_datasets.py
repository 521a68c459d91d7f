import subprocess
import sys

import numpy as np
import pytest

from clsnet.data import datasets, load_dataset, load_sequence
from clsnet.errors import ClsnetError

KNOWN = ["CIFAR-10", "CIFAR-100", "Digits", "FashionMNIST", "ImageNet", "TinyImageNet"]


def test_every_data_set_says_what_it_is():
    infos = datasets()
    assert [info.name for info in infos if info.module.startswith("clsnet.")] == KNOWN
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
    with pytest.raises(ClsnetError) as caught:
        load_dataset(name)
    assert all(known in str(caught.value) for known in KNOWN)


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


def test_importing_the_package_imports_no_data_set():
    code = (
        "import sys, clsnet.data; print(*(name for name in sys.modules if 'clsnet.data.' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {info.module for info in datasets()}


OUTSIDE = """
import numpy as np
from clsnet.data import Dataset, DatasetInfo

imported = True


def load(root, report):
    X, y = np.zeros((8, 4, 4), np.uint8), np.arange(8) % 2
    return Dataset("Blank", X, y, X, y, ("one", "two"))


def available():
    return True


DATASET = DatasetInfo(
    name="Blank",
    module=__name__,
    description="black squares",
    n_classes=2,
    n_train=8,
    n_test=8,
    source="made up",
)
"""


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A package of somebody else's, installed, that brings a data set."""

    def install(source=OUTSIDE, value="blank_data:DATASET"):
        (tmp_path / "blank_data.py").write_text(source)
        about = tmp_path / "blank_data-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: blank-data\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[clsnet.datasets]\nBlank = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    sys.modules.pop("blank_data", None)


def test_a_data_set_of_another_package_is_listed_unimported_and_loaded_by_name(outside):
    outside()
    assert [info.name for info in datasets()] == ["Blank", *KNOWN]
    assert "blank_data" not in sys.modules
    sequence = load_sequence("blank-2/2")
    assert sequence.name == "Blank-2/2"
    assert len(sequence.dataset.X_train) == 8


def test_a_description_that_is_no_literal_is_imported(outside):
    outside(OUTSIDE.replace("n_train=8", "n_train=len('eight---')"))
    assert [info.n_train for info in datasets() if info.name == "Blank"] == [8]


@pytest.mark.parametrize(
    ("source", "value", "reason"),
    [
        ("DATASET = 1 / 0", "blank_data:DATASET", "fails: division by zero"),
        ("DATASET = 1", "blank_data:DATASET", "is not a DatasetInfo"),
        (OUTSIDE, "blank_data:NOTHING", "fails: module 'blank_data' has no attribute 'NOTHING'"),
        (OUTSIDE, "no_such_module:DATASET", "fails: No module named 'no_such_module'"),
    ],
)
def test_a_broken_data_set_of_another_package_is_named_in_one_line(outside, source, value, reason):
    outside(source, value)
    with pytest.warns(UserWarning) as told:
        known = datasets()
    [line] = {str(one.message) for one in told}
    assert line == f"clsnet.datasets 'Blank' ({value}) {reason}; it is left out."
    assert "Digits" in {info.name for info in known}
