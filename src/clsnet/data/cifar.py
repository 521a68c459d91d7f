"""CIFAR-10 and CIFAR-100: small photos in colour (Krizhevsky, 2009)."""

import gzip
import itertools
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clsnet.data.cache import cache_folder
from clsnet.data.dataset import Dataset, Labels
from clsnet.errors import ClsnetError
from clsnet.storage.pickles import read_pickle

SHAPE = (3, 32, 32)
N_PIXELS = 3 * 32 * 32
MOST_BYTES = 200_000_000  # either set has less than 190 MB
MOST_MEMBERS = 100
LONGEST_NAME = 1 << 16  # which tarfile reads by itself

Contents = dict[str, bytes]
Part = tuple[npt.NDArray[np.uint8], Labels]


@dataclass(frozen=True)
class Edition:
    """One way a set is published: an archive of one folder, and the files in it."""

    archive: str
    folder: str
    train: tuple[str, ...]
    test: str
    names: str

    @property
    def files(self) -> tuple[str, ...]:
        """All files that are needed."""
        return (*self.train, self.test, self.names)


@dataclass(frozen=True)
class Cifar:
    """One of the two sets; a row of its binary edition starts with labels, the finest last."""

    name: str
    n_classes: int
    labels: str
    label_names: str
    n_label_bytes: int
    editions: tuple[Edition, Edition]


BATCHES = tuple(f"data_batch_{i}" for i in range(1, 6))
CIFAR_10 = Cifar(
    "CIFAR-10",
    10,
    "labels",
    "label_names",
    1,
    (
        Edition(
            "cifar-10-python.tar.gz", "cifar-10-batches-py", BATCHES, "test_batch", "batches.meta"
        ),
        Edition(
            "cifar-10-binary.tar.gz",
            "cifar-10-batches-bin",
            tuple(f"{name}.bin" for name in BATCHES),
            "test_batch.bin",
            "batches.meta.txt",
        ),
    ),
)
CIFAR_100 = Cifar(
    "CIFAR-100",
    100,
    "fine_labels",
    "fine_label_names",
    2,
    (
        Edition("cifar-100-python.tar.gz", "cifar-100-python", ("train",), "test", "meta"),
        Edition(
            "cifar-100-binary.tar.gz",
            "cifar-100-binary",
            ("train.bin",),
            "test.bin",
            "fine_label_names.txt",
        ),
    ),
)


def load(cifar: Cifar, root: Path | None) -> Dataset:
    """Load the 32x32 images of either edition, from its archive or its unpacked folder."""
    found = _find(cifar, root)
    if found is None:
        python, binary = (edition.archive for edition in cifar.editions)
        folders = " or ".join(map(str, _folders(cifar, root)))
        raise ClsnetError(
            f"{cifar.name} is not in {folders}: put {python} or {binary} "
            f"into {_folders(cifar)[0]}, or name the folder that holds it"
        )
    edition, place = found
    contents = _unpack(place, edition) if place.is_file() else _read(place, edition)
    if missing := [name for name in edition.files if name not in contents]:
        raise ClsnetError(
            f"{place} lacks {', '.join(missing)}: put all files of {edition.archive} there"
        )
    X_train, y_train = _part(cifar, place, contents, edition.train)
    X_test, y_test = _part(cifar, place, contents, (edition.test,))
    names = _names(cifar, place, contents, edition.names)
    return Dataset(cifar.name, X_train, y_train, X_test, y_test, names)


def available(cifar: Cifar) -> bool:
    """Tell whether all files are on this machine."""
    return _find(cifar) is not None


def _folders(cifar: Cifar, root: Path | None = None) -> list[Path]:
    return [*([root] if root else []), cache_folder(cifar.name.lower())]


def _find(cifar: Cifar, root: Path | None = None) -> tuple[Edition, Path] | None:
    for folder in _folders(cifar, root):
        for edition in cifar.editions:
            for place in (folder, folder / edition.folder):
                if any((place / name).is_file() for name in edition.files):
                    return edition, place
            if (folder / edition.archive).is_file():
                return edition, folder / edition.archive
    return None


def _read(folder: Path, edition: Edition) -> Contents:
    paths = [path for name in edition.files if (path := folder / name).is_file()]
    for path in paths:
        if path.stat().st_size > MOST_BYTES:
            raise ClsnetError(
                f"{path} has more than {MOST_BYTES:,} bytes; replace it by a good copy"
            )
    return {path.name: path.read_bytes() for path in paths}


def _unpack(archive: Path, edition: Edition) -> Contents:
    contents = {}
    try:
        with gzip.open(archive) as packed:
            file: Any = _Bounded(packed)
            with tarfile.open(fileobj=file, mode="r:") as tar:
                for member in itertools.islice(tar, MOST_MEMBERS):
                    name = Path(member.name).name
                    if name in edition.files and member.isreg():
                        contents[name] = file.whole(tar, member)
    except (OSError, EOFError, ValueError, zlib.error, tarfile.TarError) as error:
        raise ClsnetError(f"cannot read {archive}: {error}; replace it by a good copy") from error
    return contents


class _Bounded:
    """A file of which only so much can be read, as a small archive may unpack to anything.

    All lengths are refused before anything is unpacked.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        self.tell = file.tell
        self.at_once = LONGEST_NAME
        self.left = MOST_BYTES

    def seek(self, place: int) -> None:
        _check(place <= MOST_BYTES)
        self.file.seek(place)

    def read(self, size: int) -> bytes:
        _check(size <= self.at_once and self.tell() + size <= MOST_BYTES)
        taken: bytes = self.file.read(size)
        return taken

    def whole(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
        """Return the contents of a member, which may be longer than it is in the archive."""
        self.left -= member.size
        _check(0 <= self.left <= MOST_BYTES)
        self.at_once = member.size
        file: Any = tar.extractfile(member)
        contents: bytes = file.read()
        self.at_once = LONGEST_NAME
        return contents


def _check(fits: bool) -> None:
    if not fits:
        raise ValueError(f"it unpacks to more than {MOST_BYTES:,} bytes")


def _part(cifar: Cifar, place: Path, contents: Contents, names: tuple[str, ...]) -> Part:
    batches = [_batch(cifar, contents[name], f"{place}/{name}") for name in names]
    X, y = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    return X.reshape(-1, *SHAPE), y


def _batch(cifar: Cifar, contents: bytes, name: str) -> Part:
    if name.endswith(".bin"):
        width = cifar.n_label_bytes + N_PIXELS
        if len(contents) % width:
            raise _wrong(name, cifar, f"its {len(contents)} bytes are no rows of {width}")
        rows = np.frombuffer(contents, np.uint8).reshape(-1, width)
        X, y = rows[:, cifar.n_label_bytes :], rows[:, cifar.n_label_bytes - 1].astype(np.int64)
    else:
        batch = read_pickle(contents, name)
        data, labels = batch.get("data"), batch.get(cifar.labels)
        if not isinstance(data, np.ndarray) or not _all(labels, int):
            raise _wrong(name, cifar, f"it lacks data or {cifar.labels}")
        X, y = data, np.array(labels, np.int64)
        if X.shape != (len(y), N_PIXELS):
            raise _wrong(name, cifar, f"it holds {len(y)} labels and data of shape {X.shape}")
    if y.size and not 0 <= y.min() <= y.max() < cifar.n_classes:
        raise _wrong(name, cifar, f"its labels are not 0 to {cifar.n_classes - 1}")
    return X, y


def _names(cifar: Cifar, place: Path, contents: Contents, name: str) -> tuple[str, ...]:
    names: Any
    if name.endswith(".txt"):
        names = contents[name].split()
    else:
        names = read_pickle(contents[name], f"{place}/{name}").get(cifar.label_names)
    if not _all(names, str, bytes) or len(names) != cifar.n_classes:
        raise _wrong(f"{place}/{name}", cifar, f"it does not name {cifar.n_classes} classes")
    return tuple(one.decode("latin1") if isinstance(one, bytes) else one for one in names)


def _all(values: Any, *types: type) -> bool:
    return isinstance(values, list) and all(type(value) in types for value in values)


def _wrong(name: str, cifar: Cifar, reason: str) -> ClsnetError:
    return ClsnetError(f"{name} is not of {cifar.name}: {reason}; replace it by a good copy")
