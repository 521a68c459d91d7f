import os
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsnet.errors import ClsnetError
from clsnet.storage.pickles import _STAND_INS, read_pickle

BATCH = {
    "data": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "labels": [2, 0, 1],
    "filenames": ["a.png", "b.png", "c.png"],
    "batch_label": "training batch 1 of 5",
    "empty": b"",
}
# What Python 2 wrote, byte for byte: names and pixels are strings, not bytes.
PYTHON_2 = (
    b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04"
    b"K\x00\x85U\x01b\x87Rq\x05(K\x01K\x03K\x04\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07"
    b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x0c"
    + bytes(range(12))
    + b"tbU\x06labelsq\x08]q\x09(K\x02K\x00K\x01eu."
)


def complaint(contents: bytes) -> str:
    with pytest.raises(ClsnetError) as caught:
        read_pickle(contents, "the/batch")
    message = str(caught.value)
    assert message.startswith("the/batch is not a batch of images: ")
    assert message.endswith("; replace it by a good copy") and "\n" not in message
    return message


@pytest.mark.parametrize("protocol", range(5))
def test_batches_are_read(protocol):
    batch = read_pickle(pickle.dumps(BATCH, protocol), "batch")
    assert list(batch) == list(BATCH)
    np.testing.assert_array_equal(batch.pop("data"), BATCH["data"])
    assert batch == {name: value for name, value in BATCH.items() if name != "data"}


def test_keys_of_bytes_become_text():
    assert read_pickle(pickle.dumps({b"labels": [1]}, 2), "batch") == {"labels": [1]}


def test_what_python_2_wrote():
    wanted = pickle.loads(PYTHON_2, encoding="bytes")
    batch = read_pickle(PYTHON_2, "batch")
    np.testing.assert_array_equal(batch["data"], wanted[b"data"])
    assert batch["data"].dtype == np.uint8 and batch["labels"] == [2, 0, 1]


def test_arrays_stored_by_columns():
    array = np.asfortranarray(BATCH["data"])
    np.testing.assert_array_equal(read_pickle(pickle.dumps({"a": array}, 2), "b")["a"], array)


class Runs:
    """When unpickled, calls a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(5))
def test_a_malicious_pickle_runs_nothing(tmp_path, protocol):
    made = tmp_path / "made"
    for call in (
        Runs(os.mkdir, str(made)),
        Runs(os.system, f"touch {made}"),
        Runs(open, str(made), "w"),
    ):
        contents = pickle.dumps({"labels": [1], "data": call}, protocol)
        assert " to be run" in complaint(contents)
        assert not made.exists()
    pickle.loads(contents)["data"].close()
    assert made.exists()  # so the pickle does what it is feared for


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("numpy", "load"),
        ("numpy.core.multiarray", "fromfile"),
        ("_codecs", "lookup"),
        ("clsnet.storage.pickles", "_Array"),
        ("numpy", "ndarray.tofile"),
    ],
)
def test_nothing_else_can_be_asked_for(module, name):
    by_line = f"c{module}\n{name}\n.".encode()
    on_stack = b"\x80\x04" + b"".join(
        b"\x8c" + bytes([len(word)]) + word.encode() for word in (module, name)
    )
    for contents in (by_line, on_stack + b"\x93."):
        assert f"it asks for {module}.{name} to be run" in complaint(contents)


@pytest.mark.parametrize("allowed", sorted(f"{module}\n{name}" for module, name in _STAND_INS))
def test_what_may_be_asked_for_cannot_be_changed(allowed):
    before = {key: dict(getattr(one, "__dict__", {})) for key, one in _STAND_INS.items()}
    for state in (b"}U\x01aK\x01s", b"N}U\x0c__defaults__K\x01s\x86", b"N}U\x01aK\x01s\x86"):
        complaint(f"\x80\x02c{allowed}\n".encode("latin1") + state + b"b.")
    assert before == {key: dict(getattr(one, "__dict__", {})) for key, one in _STAND_INS.items()}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"data": np.zeros(3)}, "holds values of type 'f8', not u1"),
        ({"data": np.array([len, max], object)}, "__builtin__.len|type 'O8'"),
        ([1, 2], "not hold a dictionary"),
        (7, "not hold a dictionary"),
    ],
)
def test_other_values(value, reason):
    message = complaint(pickle.dumps(value, 2))
    assert any(part in message for part in reason.split("|"))


def test_an_array_with_too_few_values():
    assert "reshape" in complaint(PYTHON_2.replace(b"K\x03K\x04", b"K\x03K\x05"))


@pytest.mark.parametrize("length", [0, 1, 10, 100, -1])
def test_half_a_pickle(length):
    complaint(PYTHON_2[:length])


def test_bytes_of_any_length_cannot_be_ordered():
    complaint(pickle.dumps({"data": Runs(bytes, 10**15)}, 2))


@given(st.binary(max_size=60))
def test_any_bytes_give_a_dictionary_or_a_clsnet_error(contents):
    for data in (contents, PYTHON_2[:90] + contents):
        try:
            assert isinstance(read_pickle(data, "batch"), dict)
        except ClsnetError as error:
            assert "batch" in str(error)


def test_the_largest_batch_of_images_is_read():
    """As CIFAR-100 has it: two labels and the name of a file for each of 50,000 images."""
    names = [f"photo_of_something_s_{i:06}.png".encode() for i in range(50_000)]
    labels = [i % 100 for i in range(50_000)]
    batch = {b"filenames": names, b"fine_labels": labels, b"coarse_labels": list(labels)}
    for protocol in (1, 2, 4):
        read = read_pickle(pickle.dumps(batch, protocol=protocol), "batch")
        assert read["filenames"] == names and read["coarse_labels"] == labels
