"""CIFAR-100: small photos of a hundred classes."""

from pathlib import Path

from clsnet.data import cifar
from clsnet.data.dataset import Dataset
from clsnet.data.registry import DatasetInfo
from clsnet.images import Report


def load(root: Path | None, report: Report) -> Dataset:
    """Load the 32x32 images of either edition, from its archive or its unpacked folder."""
    return cifar.load(cifar.CIFAR_100, root)


def available() -> bool:
    """Tell whether all files are on this machine."""
    return cifar.available(cifar.CIFAR_100)


DATASET = DatasetInfo(
    name="CIFAR-100",
    module=__name__,
    description="photos of things and animals, 32x32, in colour",
    n_classes=100,
    n_train=50_000,
    n_test=10_000,
    source="cifar-100-python.tar.gz or cifar-100-binary.tar.gz, packed or not",
)
