"""ImageNet: a thousand classes of photos (Russakovsky et al., 2015), or a selection of them."""

from pathlib import Path

from clsnet.data.cache import cache_folder
from clsnet.data.dataset import Dataset, Labels
from clsnet.data.folder import folder_classes, labelled_images
from clsnet.data.registry import DatasetInfo
from clsnet.errors import ClsnetError
from clsnet.images import Images, Report

SIZE = 224
CHOICE = "classes.txt"


def load(root: Path | None, report: Report) -> Dataset:
    """Load the photos in the folders train and val, which hold one folder for each class.

    If there is a file classes.txt beside them, it lists the classes to use, one per line.
    """
    folder = _find(root)
    if folder is None:
        cache = cache_folder("imagenet")
        raise ClsnetError(
            f"ImageNet is not in {' or '.join(map(str, _folders(root)))}: put its folders train "
            f"and val, with a folder of images for each class, into {cache}, or name their folder"
        )
    classes = _classes(folder)
    train, test = (_part(folder / part, classes) for part in ("train", "val"))
    return Dataset("ImageNet", *train, *test, classes)


def available() -> bool:
    """Tell whether all files are on this machine."""
    return _find() is not None


def _folders(root: Path | None) -> list[Path]:
    return [*([root] if root else []), cache_folder("imagenet")]


def _find(root: Path | None = None) -> Path | None:
    for folder in _folders(root):
        if (folder / "train").is_dir() and (folder / "val").is_dir():
            return folder
    return None


def _classes(folder: Path) -> tuple[str, ...]:
    choice = folder / CHOICE
    if not choice.exists():
        return folder_classes(folder / "train")
    try:
        names = choice.read_text(encoding="utf-8-sig").split()
    except (OSError, UnicodeDecodeError):
        raise ClsnetError(f"cannot read {choice}: write one class a line, in UTF-8") from None
    classes = tuple(dict.fromkeys(names))
    if not classes:
        raise ClsnetError(f"{choice} names no class: write one a line, or remove it")
    return classes


def _part(folder: Path, classes: tuple[str, ...]) -> tuple[Images, Labels]:
    files, y = labelled_images(folder, classes)
    if absent := set(range(len(classes))).difference(y.tolist()):
        raise ClsnetError(
            f"{folder / classes[min(absent)]} holds no images: put the class's images there, "
            f"or list the classes to use in {folder.parent / CHOICE}"
        )
    return Images(files, SIZE), y


DATASET = DatasetInfo(
    name="ImageNet",
    module=__name__,
    description="photos of things and animals, scaled to 224x224, in colour",
    n_classes=1000,
    n_train=1_281_167,
    n_test=50_000,
    source="folders train and val, with a folder for each class",
)
