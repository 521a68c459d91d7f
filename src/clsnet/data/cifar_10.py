"""CIFAR-10: small photos of ten classes."""

from pathlib import Path

from clsnet.data import cifar
from clsnet.data.dataset import Dataset
from clsnet.data.registry import DatasetInfo
from clsnet.images import Report


def load(root: Path | None, report: Report) -> Dataset:
    """Load the 32x32 images of either edition, from its archive or its unpacked folder."""
    return cifar.load(cifar.CIFAR_10, root)


def available() -> bool:
    """Tell whether all files are on this machine."""
    return cifar.available(cifar.CIFAR_10)


DATASET = DatasetInfo(
    name="CIFAR-10",
    module=__name__,
    description="photos of things and animals, 32x32, in colour",
    n_classes=10,
    n_train=50_000,
    n_test=10_000,
    source="cifar-10-python.tar.gz or cifar-10-binary.tar.gz, packed or not",
)
