"""Small files of every format but images that ask for much, and what reads each of them."""

import gzip
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from clsnet import load
from clsnet.extractor.augmentation import MOST_DRAWN
from clsnet.storage.json_text import MOST_VALUES
from tests.fuzz.headers import read_parts, write_parts
from tests.fuzz.seeds import write_seeds

GIGABYTE = 2**30
Bomb = Callable[[Path], Callable[[], object]]


def safetensors_bytes(header: object, data: bytes = b"") -> bytes:
    """Return a safetensors file with whatever header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def _about(small: bool = True) -> dict[str, str]:
    fields = {
        "network": "resnet18",
        "small": small,
        "size": 32,
        "mean": [0.5] * 3,
        "deviation": [0.5] * 3,
        "objective": "supervised",
        "dataset": "none",
        "classes": [],
    }
    return {"format": "clsnet-weights", "about": json.dumps(fields)}


def _weights(path: Path, header: object, data: bytes = b"") -> Callable[[], object]:
    from clsnet.extractor.backbones.resnet import ResNet

    path.write_bytes(safetensors_bytes(header, data))
    return lambda: ResNet(str(path))


def weights_of_empty_arrays(path: Path) -> Callable[[], object]:
    empty = {"dtype": "F32", "shape": [5_000_000, 0], "data_offsets": [0, 0]}
    return _weights(path, {"__metadata__": _about(), "fc.weight": empty, "fc.bias": empty})


def weights_larger_than_the_file(path: Path) -> Callable[[], object]:
    huge = {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}
    return _weights(path, {"__metadata__": _about(), "fc.weight": huge})


def weights_with_a_huge_header(path: Path) -> Callable[[], object]:
    path.write_bytes((2**40).to_bytes(8, "little") + b"{}")
    from clsnet.extractor.backbones.resnet import ResNet

    return lambda: ResNet(str(path))


def weights_of_nested_lists(path: Path) -> Callable[[], object]:
    return _weights(path, b"[" * 2**20)


def weights_of_many_lists(path: Path) -> Callable[[], object]:
    return _weights(path, b'{"a":[' + b"[]," * (2**20 - 3) + b"[]]}")


def weights_of_many_texts(path: Path) -> Callable[[], object]:
    return _weights(path, b'{"a":[' + b'"ab",' * 6_700_000 + b'""]}')


def weights_of_as_many_lists_as_allowed(path: Path) -> Callable[[], object]:
    from clsnet.extractor.backbones.weights import MOST_VALUES

    return _weights(path, b'{"a":[' + b"[]," * (MOST_VALUES // 2 - 3) + b"[]]}")


def _model(path: Path, change: Callable[[dict, dict], None]) -> Callable[[], object]:
    folder = path.with_name("seeds")
    folder.mkdir()
    seeds = {seed.stem: seed for seed in write_seeds(folder)}
    header, tensors = read_parts(seeds["nodes" if "nodes" in path.stem else "patches"])
    change(header, tensors)
    write_parts(path, header, tensors)
    return lambda: load(path, device="cpu")


def model_of_huge_samples(path: Path) -> Callable[[], object]:
    return _model(path, lambda header, tensors: header.update(sample_shape=[3, 12_000, 12_000]))


def model_of_large_samples(path: Path) -> Callable[[], object]:
    return _model(path, lambda header, tensors: header.update(sample_shape=[1, 4_000, 4_000]))


def model_with_as_many_nodes_as_allowed(path: Path) -> Callable[[], object]:
    """No class is known, so that the widest matrices take no room in the file."""

    def change(header: dict, tensors: dict) -> None:
        rows = len(tensors["extractor.augmentation.weight"])
        nodes = MOST_DRAWN // (rows * tensors["extractor.augmentation.weight"].itemsize)
        header["augmentation"]["augmentation"].update(groups=1, group_size=nodes)
        header.update(labels=[], tasks=[], traces=[])
        for name in [name for name in tensors if name.startswith("trace.")]:
            del tensors[name]
        tensors["omega"] = np.zeros((nodes + rows, 0))
        for name in ("shift", "factor"):
            tensors[f"extractor.augmentation.{name}"] = np.ones(nodes, np.float32)

    return _model(path.with_name("nodes-model"), change)


def model_of_nested_notes(path: Path) -> Callable[[], object]:
    def change(header: dict, tensors: dict) -> None:
        header["notes"] = {}

    call = _model(path, change)
    header, tensors = read_parts(path)
    text = json.dumps(header).replace(
        '"notes": {}', '"notes": {"a": ' + "[" * 900 + "]" * 900 + "}"
    )
    import safetensors.numpy

    from clsnet.storage.model_file import MODEL
    from clsnet.storage.tensors import checksum

    metadata = {"format": MODEL.format, "version": str(MODEL.version), "header": text}
    metadata["checksum"] = checksum(text, tensors)
    path.write_bytes(safetensors.numpy.save(tensors, metadata=metadata))
    return call


def model_of_as_many_lists_as_allowed(path: Path) -> Callable[[], object]:
    lists: list[object] = [[] for _ in range(MOST_VALUES // 2 - 1000)]
    return _model(path, lambda header, tensors: header.update(notes={"a": lists}))


def model_of_as_many_texts_as_allowed(path: Path) -> Callable[[], object]:
    texts = ["ab"] * (MOST_VALUES - 1000)
    return _model(path, lambda header, tensors: header.update(notes={"a": texts}))


def _pickle(contents: bytes) -> Callable[[], object]:
    from clsnet.storage.pickles import read_pickle

    return lambda: read_pickle(contents, "batch")


def pickle_with_a_far_memo(path: Path) -> Callable[[], object]:
    return _pickle(b"\x80\x02Nr" + struct.pack("<I", 2**28) + b".")


def pickle_of_a_long_bytearray(path: Path) -> Callable[[], object]:
    return _pickle(b"\x80\x05\x96" + struct.pack("<Q", 2**33) + b".")


def pickle_of_many_lists(path: Path) -> Callable[[], object]:
    return _pickle(b"\x80\x02" + b"]" * 30_000_000 + b".")


def pickle_of_copies(path: Path) -> Callable[[], object]:
    """One text of 4 MB, encoded a thousand times."""
    start = b"\x80\x02}(X\x01\x00\x00\x00dc_codecs\nencode\nq\x00X" + struct.pack("<I", 2**22)
    start += b"x" * 2**22 + b"q\x01X\x06\x00\x00\x00latin1q\x02\x86q\x03R"
    return _pickle(start + b"]q\x04(" + b"h\x00h\x03R" * 1000 + b"eu.")


def torch_weights_with_a_far_memo(path: Path) -> Callable[[], object]:
    from clsnet.storage.torch_weights import read_torch_weights

    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02}r" + struct.pack("<I", 2**28) + b".")
    return lambda: read_torch_weights(path)


def torch_weights_of_many_views(path: Path) -> Callable[[], object]:
    """A zip of few bytes that says that it unpacks to much."""
    from clsnet.storage.torch_weights import read_torch_weights

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", b"\0" * 2**28)
    return lambda: read_torch_weights(path)


def _zeros(size: int) -> bytes:
    """Return so many zeros as gzip packs them; gzip files in a row are one."""
    whole, rest = divmod(size, 2**24)
    return gzip.compress(bytes(2**24)) * whole + gzip.compress(bytes(rest))


def idx_of_zeros(path: Path) -> Callable[[], object]:
    from clsnet.data.idx import read_idx

    header = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**11, 2**10, 2**10)
    path.write_bytes(gzip.compress(header) + _zeros(2**31))
    return lambda: read_idx(path)


def idx_of_no_numbers(path: Path) -> Callable[[], object]:
    from clsnet.data.idx import read_idx

    path.write_bytes(bytes([0, 0, 8, 2]) + struct.pack(">2I", 2**32 - 1, 0))
    return lambda: read_idx(path)


def _tar(path: Path, packed: bytes) -> Callable[[], object]:
    from clsnet.data import cifar

    folder = path.with_name("folder")
    folder.mkdir()
    (folder / "cifar-10-python.tar.gz").write_bytes(packed)
    return lambda: cifar.load(cifar.CIFAR_10, folder)


def _member(path: Path, size: int, kind: bytes = tarfile.REGTYPE) -> Callable[[], object]:
    """Write a tar of one member that is all zeros."""
    info = tarfile.TarInfo("cifar-10-batches-py/data_batch_1")
    info.type, info.size = kind, size
    return _tar(path, gzip.compress(info.tobuf()) + _zeros(size + -size % 512 + 1024))


def tar_of_a_large_member(path: Path) -> Callable[[], object]:
    return _member(path, 2 * GIGABYTE)


def tar_with_a_large_header(path: Path) -> Callable[[], object]:
    return _member(path, GIGABYTE, tarfile.XHDTYPE)


def tar_of_a_member_as_large_as_allowed(path: Path) -> Callable[[], object]:
    from clsnet.data.cifar import MOST_BYTES

    return _member(path, MOST_BYTES - 2**14)


def tar_of_sparse_members(path: Path) -> Callable[[], object]:
    """Members that hold nothing but say that a terabyte of zeros is to be put in its place."""
    tar = b""
    for i in range(1, 6):
        info = tarfile.TarInfo(f"cifar-10-batches-py/data_batch_{i}")
        info.pax_headers = {"GNU.sparse.map": f"{2**40},0", "GNU.sparse.size": str(2**40)}
        tar += info.tobuf(tarfile.PAX_FORMAT)
    return _tar(path, gzip.compress(tar + bytes(1024)))


def tar_of_many_members(path: Path) -> Callable[[], object]:
    return _tar(path, gzip.compress(tarfile.TarInfo("x").tobuf() * 1000) * 300 + _zeros(1024))


def _zip(path: Path, size: int) -> Callable[[], object]:
    from clsnet.data.zipped import members

    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    zeros = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = zeros * (size >> 24) + packer.flush()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"")
        archive.writestr("b", b"\0" * 100)
    data = path.read_bytes()
    start = data.index(b"PK\3\4", 1)
    # The second member gets the long contents, while the list still says that it is short.
    local = struct.unpack_from("<4s5H3I2H", data, start)
    body = start + 30 + local[9] + local[10]
    directory = data.index(b"PK\1\2")
    moved = bytearray(data[directory:])
    second = moved.index(b"PK\1\2", 1)
    struct.pack_into("<I", moved, second + 20, len(packed))
    end = moved.index(b"PK\5\6")
    struct.pack_into("<I", moved, end + 16, body + len(packed))
    path.write_bytes(data[:body] + packed + bytes(moved))

    def read() -> None:
        for member in members(path).values():
            try:
                member.read()
            except OSError as error:  # as a photo that cannot be read
                from clsnet.errors import ClsnetError

                raise ClsnetError(str(error)) from None

    return read


def zip_of_a_large_member(path: Path) -> Callable[[], object]:
    return _zip(path, 2 * GIGABYTE)


def _run(path: Path, text: bytes) -> Callable[[], object]:
    from clsnet.reporting.folder import read_folder

    folder = path.with_name("folder")
    folder.mkdir()
    (folder / "0.json").write_bytes(text)
    return lambda: read_folder(folder)


def result_of_nested_lists(path: Path) -> Callable[[], object]:
    return _run(path, b"[" * 2**20)


def result_of_many_lists(path: Path) -> Callable[[], object]:
    return _run(path, b'{"R":[' + b"[]," * (2**20 - 3) + b"[]]}")


def result_of_as_many_lists_as_allowed(path: Path) -> Callable[[], object]:
    from clsnet.evaluation.store import MOST_VALUES

    return _run(path, b'{"R":[' + b"[]," * (MOST_VALUES // 2 - 3) + b"[]]}")


def result_of_many_samples(path: Path) -> Callable[[], object]:
    answers = {"samples": 2**50, "labels": "", "tested": "", "right": ""}
    run = {
        "R": [[1.0]],
        "protocol": "",
        "config": {},
        "format": 1,
        "version": "",
        "answers": answers,
    }
    return _run(path, json.dumps(run).encode())


KINDS = ("weights_", "model_", "pickle_", "torch_", "idx_", "tar_", "zip_", "result_")
BOMBS: dict[str, Bomb] = {
    name: bomb for name, bomb in list(globals().items()) if name.startswith(KINDS)
}
