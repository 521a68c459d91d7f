import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsnet.errors import ClsnetError
from clsnet.storage import torch_weights
from clsnet.storage.torch_weights import LEGACY_MAGIC, LEGACY_VERSION, read_torch_weights

STATE = {
    "a.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "a.bias": np.array([1.5, -2.5]),
    "a.half": np.arange(3, dtype=np.float16),
    "a.count": np.array(7),
    "a.flags": np.array([True, False]),
    "none": np.zeros((0, 3), dtype=np.float32),
}
NAMES = {"f4": "Float", "f8": "Double", "f2": "Half", "i8": "Long", "b1": "Bool"}


class Call:
    """When unpickled, calls what has this name."""

    def __init__(self, name, *arguments):
        self.name, self.arguments = name, arguments

    def __repr__(self):
        return f"Call({self.name})"  # names of tests are the same in every process


class Storage:
    """A reference to numbers outside of the pickle."""

    def __init__(self, pid):
        self.pid = pid


def pickled(value):
    """Write the few things that a state dict is made of, as torch.save does."""
    if isinstance(value, Call):
        module, _, name = value.name.rpartition(".")
        arguments = b"".join(map(pickled, value.arguments))
        return f"c{module}\n{name}\n(".encode() + arguments + b"tR"
    if isinstance(value, Storage):
        return pickled(value.pid) + b"Q"
    if isinstance(value, tuple):
        return b"(" + b"".join(map(pickled, value)) + b"t"
    if isinstance(value, dict):
        items = b"".join(pickled(k) + pickled(v) for k, v in value.items())
        return b"ccollections\nOrderedDict\n(tR(" + items + b"u"
    if isinstance(value, str) and value.startswith("torch."):
        return f"ctorch\n{value.removeprefix('torch.')}\n".encode()
    return pickle.dumps(value, 2)[2:-1]


def reference(key, array, **change):
    pid = ("storage", f"torch.{NAMES[array.dtype.str[1:]]}Storage", key, "cpu", array.size)
    strides = tuple(s // array.itemsize for s in array.strides)
    parts = {"pid": pid, "offset": 0, "shape": array.shape, "strides": strides, **change}
    storage = Storage(parts["pid"])
    rest = (parts["offset"], parts["shape"], parts["strides"], False, {})
    return Call("torch._utils._rebuild_tensor_v2", storage, *rest)


def references(state, **change):
    return {name: reference(str(i), a, **change) for i, (name, a) in enumerate(state.items())}


def in_zip(state, value=None, compression=zipfile.ZIP_STORED, byteorder=b"little", cut=0):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        content = pickled(references(state) if value is None else value)
        archive.writestr("archive/data.pkl", b"\x80\x02" + content + b".")
        archive.writestr("archive/byteorder", byteorder)
        for i, array in enumerate(state.values()):
            archive.writestr(f"archive/data/{i}", array.tobytes()[: array.nbytes - cut])
    return file.getvalue()


def in_legacy(state, value=None, keys=None, magic=LEGACY_MAGIC, endian=True):
    system = {"protocol_version": 1001, "little_endian": endian}
    file = b"".join(pickle.dumps(part, 2) for part in (magic, LEGACY_VERSION, system))
    content = pickled(references(state) if value is None else value)
    file += b"\x80\x02" + content + b"."
    file += pickle.dumps([str(i) for i in range(len(state))] if keys is None else keys, 2)
    for array in state.values():
        file += struct.pack("<q", array.size) + array.tobytes()
    return file


FORMS = pytest.mark.parametrize("form", [in_zip, in_legacy])


def written(tmp_path, contents):
    (tmp_path / "w.pth").write_bytes(contents)
    return tmp_path / "w.pth"


def complaint(tmp_path, contents):
    path = written(tmp_path, contents)
    with pytest.raises(ClsnetError) as caught:
        read_torch_weights(path)
    message = str(caught.value)
    assert message.startswith(f"{path} is not a file of weights: ")
    assert message.endswith("; replace it by a good copy.") and "\n" not in message
    return message


@FORMS
def test_weights_come_back_as_they_were(tmp_path, form):
    state = read_torch_weights(written(tmp_path, form(STATE)))
    assert list(state) == list(STATE)
    for name, array in STATE.items():
        np.testing.assert_array_equal(state[name], array)
        assert state[name].dtype == array.dtype and state[name].shape == array.shape
        assert not state[name].flags.writeable


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_wrote(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    state = network.state_dict()
    state["odd"] = torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[1:]
    state["shared"] = state["odd"]
    torch.save(state, tmp_path / "w.pth", _use_new_zipfile_serialization=zipped)
    found = read_torch_weights(tmp_path / "w.pth")
    assert list(found) == list(state)
    for name, tensor in state.items():
        np.testing.assert_array_equal(found[name], tensor.numpy())


def test_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read the weights .*absent: No such file"):
        read_torch_weights(tmp_path / "absent")


@FORMS
@pytest.mark.parametrize(
    "call",
    [
        lambda made: Call("os.system", f"touch {made}"),
        lambda made: Call("posix.mkdir", str(made)),
        lambda made: Call("builtins.open", str(made), "w"),
        lambda made: Call("torch.load", str(made)),
        lambda made: Call("torch.storage._load_from_bytes", b"x"),
    ],
)
def test_a_file_that_holds_code_runs_nothing(tmp_path, form, call):
    made = tmp_path / "made"
    code = call(made)
    assert f"it asks for {code.name} to be run" in complaint(tmp_path, form({}, {"a": code}))
    assert not made.exists()


def test_a_file_that_is_feared_for_does_what_is_feared(tmp_path):
    made = tmp_path / "made"
    pickle.loads(b"\x80\x02" + pickled({"a": Call("os.mkdir", str(made))}) + b".")
    assert made.exists()


@pytest.mark.parametrize("form", [in_zip, in_legacy])
def test_what_may_be_asked_for_cannot_be_changed(tmp_path, form, monkeypatch):
    for (module, name), stand_in in torch_weights._Unpickler.stand_ins.items():
        before = dict(getattr(stand_in, "__dict__", {}))
        for state in (b"}U\x01aK\x01s", b"N}U\x01aK\x01s\x86"):
            content = f"c{module}\n{name}\n".encode() + state + b"b"
            with monkeypatch.context() as patch:
                patch.setitem(globals(), "pickled", lambda value, c=content: c)
                complaint(tmp_path, form({}, {}))
        assert dict(getattr(stand_in, "__dict__", {})) == before


ONE = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}


@FORMS
@pytest.mark.parametrize(
    "change",
    [
        {"shape": (2, 4), "strides": (4, 1)},
        {"shape": (10**12,), "strides": (0,)},
        {"shape": (10**12, 10**12), "strides": (10**12, 1)},
        {"offset": 1},
        {"offset": 10**30, "shape": (), "strides": ()},
        {"strides": (3, 2)},
        {"strides": (3, -1)},
        {"offset": -1},
        {"shape": (2, -3)},
        {"shape": (2.0, 3)},
        {"shape": (True, 3)},
        {"shape": (1,) * 9, "strides": (1,) * 9},
        {"strides": (1,)},
        {"offset": "0"},
    ],
    ids=str,
)
def test_a_tensor_larger_than_what_is_stored_of_it_is_refused(tmp_path, form, change):
    assert "a tensor " in complaint(tmp_path, form(ONE, references(ONE, **change)))


@FORMS
@pytest.mark.parametrize(
    "pid",
    [
        ("storage", "torch.FloatStorage", "0", "cpu", 10**15),
        ("storage", "torch.FloatStorage", "0", "cpu", -1),
        ("storage", "torch.FloatStorage", "0", "cpu", 5),
        ("storage", "torch.FloatStorage", "0", "cpu", 6.0),
        ("storage", "torch.FloatStorage", "0", "cpu", 6, ("0", 0, 6)),
        ("storage", "torch.FloatStorage", "../0", "cpu", 6),
        ("storage", "torch.FloatStorage", 0, "cpu", 6),
        ("storage", "O", "0", "cpu", 6),
        ("storage", Call("collections.OrderedDict"), "0", "cpu", 6),
        ("module", "torch.FloatStorage", "0", "cpu", 6),
        ("storage",),
        "storage",
        7,
    ],
    ids=str,
)
def test_what_is_no_plain_storage_is_refused(tmp_path, form, pid):
    complaint(tmp_path, form(ONE, references(ONE, pid=pid)))


@FORMS
@pytest.mark.parametrize(
    "value", [{"a": 1}, {"a": {"b": 2}}, {1: reference("0", ONE["w"])}, (1, 2), 7, {"a": None}]
)
def test_other_values_are_refused(tmp_path, form, value):
    complaint(tmp_path, form(ONE, value))


@FORMS
def test_cut_files_are_refused(tmp_path, form):
    contents = form(STATE)
    for length in (0, 1, 2, 10, 100, len(contents) // 2, len(contents) - 1):
        complaint(tmp_path, contents[:length])


def test_file_that_goes_on_is_refused(tmp_path):
    assert "longer than what it holds" in complaint(tmp_path, in_legacy(STATE) + b"x")


@pytest.mark.parametrize("keys", [[], ["0", "0"], ["1"], [["0"]], 5, "x"])
def test_old_file_with_other_storages_is_refused(tmp_path, keys):
    complaint(tmp_path, in_legacy(ONE, keys=keys))


def test_files_that_torch_did_not_write_are_refused(tmp_path):
    assert "not written by torch.save" in complaint(tmp_path, in_legacy(ONE, magic=7))
    assert "bytes are in wrong order" in complaint(tmp_path, in_legacy(ONE, endian=False))
    assert "bytes are in wrong order" in complaint(tmp_path, in_zip(ONE, byteorder=b"big"))
    assert "numbers are not all there" in complaint(tmp_path, in_zip(ONE, cut=1))
    assert "compressed" in complaint(tmp_path, in_zip(ONE, compression=zipfile.ZIP_DEFLATED))
    complaint(tmp_path, b"text")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    complaint(tmp_path, empty.getvalue())


@given(st.binary(max_size=60))
def test_any_bytes_give_weights_or_a_clsnet_error(tmp_path_factory, contents):
    path = Path(tmp_path_factory.getbasetemp()) / "any.pth"
    for data in (contents, in_legacy(ONE)[:90] + contents, in_zip(ONE)[:90] + contents):
        path.write_bytes(data)
        try:
            assert isinstance(read_torch_weights(path), dict)
        except ClsnetError as error:
            assert str(path) in str(error)
    path.unlink()


def test_dictionaries_may_say_more_about_themselves(tmp_path):
    state = OrderedDict(a=1)
    state._metadata = OrderedDict()
    assert b"_metadata" in pickle.dumps(state, 2)  # as a state dict of torch does
    content = pickled(references(ONE)) + b"}U\x09_metadata}sb"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + content + b".")
        archive.writestr("archive/data/0", ONE["w"].tobytes())
    np.testing.assert_array_equal(
        read_torch_weights(written(tmp_path, file.getvalue()))["w"], ONE["w"]
    )
