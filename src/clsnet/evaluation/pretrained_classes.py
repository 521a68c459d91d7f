"""Classes that a network was pretrained on, on which it must not be tested."""

from __future__ import annotations

from clsnet.data import TaskSequence
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import Network, auto_backbone, resolve_backbone

IMAGENET = "ImageNet-1k"
INSIDE_IMAGENET = ("ImageNet", "TinyImageNet")


def pretrained_classes(backbone: str, sequence: TaskSequence, seed: int) -> list[str]:
    """Return the classes of a sequence that a backbone was pretrained on.

    All classes of Tiny-ImageNet are classes of ImageNet-1k.
    """
    network = resolve_backbone(backbone, sequence.dataset.X_train.shape[1:])
    if not isinstance(network, Network):
        return []
    data = sequence.dataset
    names = [data.class_names[c] for task in sequence.order(seed, 0) for c in task]
    if network.trained_on == IMAGENET and data.name in INSIDE_IMAGENET:
        return names
    return [name for name in names if name in network.seen_classes]


def check_not_pretrained(backbone: str, sequence: TaskSequence, seed: int) -> None:
    """Refuse to test a network on the classes that it was pretrained on."""
    known = pretrained_classes(backbone, sequence, seed)
    if known:
        if backbone == "auto":
            backbone = auto_backbone(sequence.dataset.X_train.shape[1:])
        raise ClsnetError(
            f"{backbone} was pretrained on {len(known)} of the {sequence.n_classes} classes of "
            f"{sequence.name} (such as {known[0]}), so it would be no test of learning new ones; "
            "pretrain on its base classes with clsnet pretrain, or say --allow-seen and the "
            "figures will be labelled."
        )
