"""``clsnet pretrain``: train a network on classes that no task uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clsnet.cli.bars import bars

if TYPE_CHECKING:
    from clsnet.pretraining import Status


def pretrain(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SEQUENCE",
            help="Task sequence whose other classes are learned, such as TinyImageNet-100/10, "
            "or folder:PATH for all classes of a folder of images.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="FILE.safetensors for the weights; it must not exist yet.")
    ],
    backbone: Annotated[str, typer.Option(help="resnet18 or resnet50.")] = "resnet18",
    objective: Annotated[
        str, typer.Option(help="supervised, or simsiam, which needs no labels.")
    ] = "supervised",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the images; 40, or 200 for simsiam.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the training, and of the sequence's classes.")
    ] = 0,
    size: Annotated[
        int | None,
        typer.Option(
            min=8, help="Side length to which images are resized; by default they keep their size."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder that holds the data set's files.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at a folder's first unreadable image.")
    ] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
) -> None:
    """Train a network from scratch on the classes that a task sequence does not use.

    A checkpoint is kept beside the weights; the same command resumes interrupted training.
    """
    from clsnet.cli.console import PlainConsole
    from clsnet.cli.output import say
    from clsnet.cli.skipped import tell_skipped
    from clsnet.errors import ClsnetError
    from clsnet.evaluation.store import check_writable
    from clsnet.extractor.backbones.weights import write_weights
    from clsnet.extras import needed

    needed("torch", "clsnet pretrain", "torch")
    from clsnet.pretraining import known_backbone, known_objective, load_base
    from clsnet.pretraining import pretrain as train

    known_backbone(backbone)
    watched = known_objective(objective).watched
    if out.exists():
        raise ClsnetError(f"{out} exists already: move it, or choose another --out.")
    if out.suffix != ".safetensors":  # by which --backbone knows it
        raise ClsnetError(
            f"the name of the weights has to end with .safetensors: --out {out}.safetensors"
        )
    check_writable(out.parent)
    checkpoint = out.with_name(f"{out.name}.checkpoint")
    console = PlainConsole()
    if checkpoint.exists():
        console.tell(f"Resuming from {checkpoint}")
    try:
        with bars(console) as progress:
            reading = progress.add_task("loading", total=None, said="")
            training = progress.add_task("", total=1.0, said="", visible=False)

            def report(stage: str, done: int, total: int) -> None:
                progress.update(reading, description=stage, completed=done, total=total or None)

            def show(status: Status) -> None:
                said = _said(status, watched)
                epoch = f"epoch {status.epoch} of {status.epochs}"
                progress.update(reading, visible=False)
                progress.update(
                    training, description=epoch, completed=status.done, said=said, visible=True
                )
                if status.measured:
                    console.tell(f"{epoch}: {said}, {status.speed:,.0f} images/s")

            base = load_base(source, seed, data, report, strict)
            tell_skipped(console, base.skipped)
            about, state = train(
                base,
                backbone,
                objective,
                epochs=epochs,
                seed=seed,
                size=size,
                device=device,
                checkpoint=checkpoint,
                report=report,
                show=show,
            )
    except KeyboardInterrupt:
        if checkpoint.exists():
            say(f"{checkpoint} is kept: the same command resumes from it.")
        raise
    write_weights(out, about, state)
    checkpoint.unlink(missing_ok=True)
    accuracy = "" if about.accuracy is None else f", held-out accuracy {about.accuracy:.4f}"
    learned = f"{len(about.classes)} classes of {about.dataset}"
    console.tell(f"{backbone}, {learned}{accuracy}")
    console.tell(f"Weights: {out}")


def _said(status: Status, watched: str) -> str:
    figures = (
        f"loss {status.loss:.3f}" if status.loss is not None else "",
        f"{watched} {status.watched:.3f}" if status.watched is not None else "",
        f"held-out {status.accuracy:.3f}" if status.accuracy is not None else "",
    )
    return ", ".join(filter(None, figures))
