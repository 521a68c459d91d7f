"""A folder of images, with one folder for each class, as a data set."""

import os
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clsnet.data.dataset import Dataset, Labels
from clsnet.errors import ClsnetError
from clsnet.images import Images, Report
from clsnet.images.endings import PLAIN
from clsnet.storage.files import at_home

SIZE = 224
TEST_SHARE = 0.2


def load_folder(path: Path, strict: bool = False, report: Report | None = None) -> Dataset:
    """Load a folder that holds one folder of images for each class.

    If it holds the folders train and test, each with a folder for each class, these are the
    training and the test set; otherwise a fixed fifth of each class is the test set. Every image is
    checked: unreadable ones are left out, and if sizes differ, all are resized to 224 x 224.

    Parameters
    ----------
    path
        The folder. Folders inside a class's folder are searched, too.
    strict
        Fail at the first unreadable image, instead of leaving it out.
    report
        Called as `report(stage, done, total)`, in images.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from clsnet.data import load_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for pet in ("cat", "dog"):
    ...         (Path(folder) / pet).mkdir()
    ...         for i in range(5):
    ...             Image.new("RGB", (8, 8)).save(Path(folder) / pet / f"{i}.jpg")
    ...     pets = load_folder(Path(folder))
    ...     pets.class_names, pets.X_train.shape, pets.y_test
    (('cat', 'dog'), (8, 3, 8, 8), array([0, 1]))
    """
    path = at_home(path).resolve()
    classes = folder_classes(path)
    folders = _parts(path)
    found = [labelled_images(folder, classes) for folder in folders]
    files = [file for files, _ in found for file in files]
    y = np.concatenate([labels for _, labels in found])
    part = np.repeat(np.arange(len(folders)), [len(files) for files, _ in found])

    seen = list(_look(Images(files, strict=strict), f"checking {path.name}", report))
    kept = np.array([not isinstance(one, str) for one in seen], bool)
    sizes = {one for one in seen if not isinstance(one, str)}
    files = [files[i] for i in np.flatnonzero(kept)]
    images = Images(files, size=None if len(sizes) == 1 else SIZE)
    y = y[kept]
    test = part[kept] == 1 if len(folders) == 2 else _fifth(y)
    _check(path, classes, y, test, split=len(folders) == 2)
    name = "folder-" + re.sub(r"[^\w.-]+", "-", path.name)
    skipped = tuple(one for one in seen if isinstance(one, str))
    parts = images[~test], y[~test], images[test], y[test]
    return Dataset(name, *parts, classes, skipped, _digest(path, files))


def folder_classes(path: Path) -> tuple[str, ...]:
    """List the classes of a folder that `load_folder` loads."""
    try:
        names = {
            entry.name
            for part in _parts(at_home(path))
            for entry in os.scandir(part)
            if entry.is_dir() and not entry.name.startswith(".")
        }
    except OSError as error:
        raise ClsnetError(f"cannot read the folder {path}: {error.strerror}") from error
    if not names:
        raise ClsnetError(f"{path} holds no folders: make one for each class, with its images")
    return tuple(sorted(names))


def labelled_images(folder: Path, classes: Sequence[str]) -> tuple[list[str], Labels]:
    """List the images in each class's folder, and their classes as indices."""
    files = [sorted(image_files(folder / name)) for name in classes]
    labels = np.repeat(np.arange(len(classes)), [len(names) for names in files])
    return [file for names in files for file in names], labels


def _parts(path: Path) -> list[Path]:
    parts = [path / "train", path / "test"]
    return parts if all(part.is_dir() for part in parts) else [path]


def image_files(folder: Path) -> Iterator[str]:
    """Yield the images in a folder and in all folders inside, but for hidden ones."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.lower().endswith(PLAIN) and not name.startswith("."):
                yield os.path.join(place, name)  # noqa: PTH118  (a million paths as plain strings)


def _look(images: Images, stage: str, report: Report | None) -> Iterator[tuple[int, int] | str]:
    for done, seen in enumerate(images.inspect(), start=1):
        if report:
            report(stage, done, len(images))
        yield seen


def _digest(path: Path, files: Sequence[str]) -> str:
    digest = blake2b(digest_size=16)
    for file in files:
        inside = file.removeprefix(str(path)).replace(os.sep, "/")
        digest.update(os.fsencode(f"{inside}\0{Path(file).stat().st_size}\0"))
    return digest.hexdigest()


def _fifth(y: Labels) -> npt.NDArray[np.bool_]:
    test = np.zeros(len(y), bool)
    for label in np.unique(y):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(y == label))
        test[rows[: max(1, round(TEST_SHARE * len(rows)))]] = True
    return test


def _check(
    path: Path, classes: Sequence[str], y: Labels, test: npt.NDArray[np.bool_], split: bool
) -> None:
    for name, n_train, n_test in zip(
        classes,
        np.bincount(y[~test], minlength=len(classes)),
        np.bincount(y[test], minlength=len(classes)),
        strict=True,
    ):
        if n_train and n_test:
            continue
        if split:
            part = path / ("test" if n_train else "train")
            raise ClsnetError(f"{part / name} holds no readable image: put one or more there")
        raise ClsnetError(
            f"{path / name} holds {n_train + n_test} readable images: a class needs 2 or more"
        )
