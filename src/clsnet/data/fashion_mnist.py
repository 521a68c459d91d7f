"""Fashion-MNIST: photos of clothes, of the size and format of MNIST (Xiao et al., 2017)."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from clsnet.data.cache import cache_folder
from clsnet.data.dataset import Dataset
from clsnet.data.fetch import download, unpack_debian_package
from clsnet.data.idx import read_idx
from clsnet.data.registry import DatasetInfo
from clsnet.errors import ClsnetError
from clsnet.images import Report

CLASS_NAMES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
# Of the uncompressed contents: the Debian package holds them recompressed.
SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
DEBIAN_PACKAGE = "dataset-fashion-mnist"
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
BASE_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"

Files = dict[str, Path]


def load(root: Path | None, report: Report) -> Dataset:
    """Load the 28x28 images from the first folder that holds them, or fetch them."""
    files = _find(root) or _fetch(root, report)
    X_train, y_train = _read(files, "train")
    X_test, y_test = _read(files, "t10k")
    return Dataset("FashionMNIST", X_train, y_train, X_test, y_test, CLASS_NAMES)


def available() -> bool:
    """Tell whether all files are on this machine."""
    return _find() is not None


def _folders(root: Path | None) -> list[Path]:
    return [*([root] if root else []), cache_folder("fashion-mnist"), DEBIAN_FOLDER]


def _find(root: Path | None = None) -> Files | None:
    for folder in _folders(root):
        pairs = [(name, folder / f"{name}{end}") for name in SHA256 for end in ("", ".gz")]
        files = {name: path for name, path in pairs if os.access(path, os.R_OK)}
        if len(files) == len(SHA256):
            return files
        if files and folder == root:
            missing = ", ".join(name for name in SHA256 if name not in files)
            raise ClsnetError(
                f"{root} lacks a readable {missing} (.gz or not): put all four files there"
            )
    return None


def _read(files: Files, part: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    images, labels = files[f"{part}-images-idx3-ubyte"], files[f"{part}-labels-idx1-ubyte"]
    X, y = read_idx(images), read_idx(labels)
    _require(X, images, X.dtype == np.uint8 and X.shape[1:] == (28, 28), "28x28 uint8 images")
    _require(y, labels, y.dtype == np.uint8 and y.shape == X.shape[:1], f"{len(X)} uint8 labels")
    if y.size and y.max() >= len(CLASS_NAMES):
        raise ClsnetError(f"{labels} holds the label {y.max()}: Fashion-MNIST's are 0 to 9")
    return X, y.astype(np.int64)


def _require(array: npt.NDArray[Any], path: Path, good: bool, wanted: str) -> None:
    if not good:
        raise ClsnetError(
            f"{path} holds {array.dtype} of shape {array.shape}, not {wanted}: "
            "replace it by Fashion-MNIST's own"
        )


def _fetch(root: Path | None, report: Report) -> Files:
    cache = cache_folder("fashion-mnist")
    failures = [f"not in {', '.join(map(str, _folders(root)))}"]
    routes: dict[str, Callable[[Path, Report], None]] = {
        f"Debian package {DEBIAN_PACKAGE}": _by_debian_package,
        "download": _by_download,
    }
    for name, route in routes.items():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=cache, prefix=".fetch-") as folder:
                route(Path(folder), report)
                return _keep_verified(Path(folder), cache)
        except ClsnetError as error:
            failures.append(f"{name}: {error}")
        except OSError as error:
            raise ClsnetError(
                f"cannot keep Fashion-MNIST in {cache} ({error.strerror or error}): "
                "set CLSNET_DATA to a folder that can be written"
            ) from error
    raise ClsnetError(
        f"cannot get Fashion-MNIST: {'; '.join(failures)}; "
        f"put {', '.join(f'{name}.gz' for name in SHA256)} into {cache} by hand"
    )


def _by_debian_package(folder: Path, report: Report) -> None:
    unpack_debian_package(DEBIAN_PACKAGE, folder, report)
    for path in list(folder.glob("usr/**/*-ubyte.gz")):
        path.replace(folder / path.name)


def _by_download(folder: Path, report: Report) -> None:
    for name in SHA256:
        download(f"{BASE_URL}{name}.gz", folder / f"{name}.gz", report)


def _keep_verified(folder: Path, cache: Path) -> Files:
    for name, sha256 in SHA256.items():
        try:
            with gzip.open(folder / f"{name}.gz") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, EOFError, zlib.error) as error:
            raise ClsnetError(f"the {name}.gz fetched is unusable ({error})") from error
        if found != sha256:
            raise ClsnetError(f"the {name}.gz fetched has SHA-256 {found}, not {sha256}")
    return {name: (folder / f"{name}.gz").replace(cache / f"{name}.gz") for name in SHA256}


DATASET = DatasetInfo(
    name="FashionMNIST",
    module=__name__,
    description="photos of clothes, 28x28, grey values 0 to 255",
    n_classes=10,
    n_train=60_000,
    n_test=10_000,
    source="Debian package dataset-fashion-mnist, or "
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    fetchable=True,
)
