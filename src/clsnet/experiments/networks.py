"""The frozen network of an experiment: one that is there, or one pretrained on other classes."""

from __future__ import annotations

from pathlib import Path

from clsnet.data import TaskSequence
from clsnet.errors import ClsnetError

ON_IMAGENET = "efficientnet-lite0"
SIMSIAM = "-simsiam"


def network_of(kind: str, sequence: TaskSequence, seed: int, out: Path, data: Path | None) -> str:
    """Return the backbone to run a sequence with.

    It is a file below `out`, pretrained on the classes that the sequence leaves over, if need be
    now. That takes minutes on a GPU and days without one, so without one the command is told. A
    sequence of all classes of its data set leaves none over: then it is EfficientNet-Lite0 with
    its ImageNet weights.

    Parameters
    ----------
    kind
        ``"resnet18"``, or ``"resnet50-simsiam"`` for a network trained without labels.
    sequence, seed
        What is to be learned; the seed says which classes are left over.
    out
        Where networks are kept.
    data
        As for `load_sequence`.
    """
    if not sequence.base_classes(seed):
        return ON_IMAGENET
    classes = sequence.name.rpartition("/")[0]
    path = out / "networks" / classes / f"seed{seed}" / f"{kind}.safetensors"
    if not path.exists():
        if not _has_gpu():
            backbone = f"--backbone {kind.removesuffix(SIMSIAM)}"
            objective = " --objective simsiam" if kind.endswith(SIMSIAM) else ""
            raise ClsnetError(
                f"{path} is not there, and pretraining needs a GPU; make it elsewhere with: "
                f"clsnet pretrain {sequence.name} {backbone}{objective} --seed {seed} --out {path}"
            )
        pretrain_to(path, kind, sequence, seed, data)
    return str(path)


def pretrain_to(
    path: Path,
    kind: str,
    sequence: TaskSequence,
    seed: int,
    data: Path | None,
    epochs: int | None = None,
) -> None:
    """Pretrain a network on the classes that a sequence leaves over; goes on if interrupted."""
    from clsnet.extractor.backbones.weights import write_weights
    from clsnet.pretraining import load_base, pretrain

    checkpoint = path.with_name(f"{path.name}.checkpoint")
    path.parent.mkdir(parents=True, exist_ok=True)
    about, state = pretrain(
        load_base(sequence.spec or sequence.name, seed, data),
        kind.removesuffix(SIMSIAM),
        "simsiam" if kind.endswith(SIMSIAM) else "supervised",
        epochs=epochs,
        seed=seed,
        checkpoint=checkpoint,
    )
    write_weights(path, about, state)
    checkpoint.unlink(missing_ok=True)


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()
