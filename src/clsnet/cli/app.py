"""All commands."""

from __future__ import annotations

from typing import Annotated

import typer

from clsnet.cli.bench import bench
from clsnet.cli.correct import correct
from clsnet.cli.datasets import datasets
from clsnet.cli.export import export
from clsnet.cli.forget import forget
from clsnet.cli.info import info
from clsnet.cli.learn import learn
from clsnet.cli.merge import merge
from clsnet.cli.methods import methods
from clsnet.cli.page import page
from clsnet.cli.predict import predict
from clsnet.cli.pretrain import pretrain
from clsnet.cli.report import report
from clsnet.cli.reproduce import reproduce
from clsnet.cli.serve import serve
from clsnet.cli.sort import sort
from clsnet.cli.test import test
from clsnet.cli.undo import undo

app = typer.Typer(
    name="clsnet",
    help="Teach a classifier new classes, task after task, without keeping old data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would take as long to import as all the rest
)


def _version(wanted: bool) -> None:
    if wanted:
        from clsnet import __version__

        typer.echo(f"clsnet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command(
    epilog="Examples:\n\n"
    "clsnet learn pets.clsnet photos/january\n\n"
    "clsnet learn pets.clsnet photos/february --dry-run"
)(learn)
app.command(
    epilog="Examples:\n\n"
    "clsnet predict pets.clsnet img1.jpg inbox --top 3\n\n"
    "clsnet predict pets.clsnet inbox --json"
)(predict)
app.command(
    epilog="Examples:\n\n"
    "clsnet test pets.clsnet photos/labelled\n\n"
    "clsnet test pets.clsnet photos/labelled -o test.html"
)(test)
app.command(
    epilog="Examples:\n\n"
    "clsnet correct pets.clsnet photos/dog/img7.jpg cat\n\n"
    "clsnet correct pets.clsnet img8.jpg img9.jpg rabbit --new"
)(correct)
app.command(
    epilog="Examples:\n\n"
    "clsnet forget pets.clsnet dog\n\n"
    "clsnet forget pets.clsnet --photo photos/dog/img7.jpg\n\n"
    "clsnet forget pets.clsnet -- -name-that-begins-with-a-dash"
)(forget)
app.command(
    epilog="Examples:\n\n"
    "clsnet sort pets.clsnet inbox --into sorted\n\n"
    "clsnet sort pets.clsnet inbox --into sorted --move --go\n\n"
    "clsnet sort --undo sorted"
)(sort)
app.command(
    epilog="Examples:\n\n"
    "clsnet merge here.clsnet there.clsnet -o both.clsnet\n\n"
    "clsnet merge here.clsnet there.clsnet -o both.clsnet --rename there.clsnet:tabby=cat"
)(merge)
app.command(
    epilog="Examples:\n\nclsnet info pets.clsnet\n\nclsnet info pets.clsnet --card > pets.md"
)(info)
app.command(epilog="Example: clsnet export pets.clsnet pets.onnx")(export)
app.command(epilog="Example: clsnet undo pets.clsnet")(undo)
app.command(epilog="Example: clsnet page pets.clsnet")(page)
app.command(
    epilog="Examples:\n\n"
    "clsnet serve pets.clsnet --port 8000\n\n"
    "clsnet serve pets.clsnet --host 0.0.0.0 --port 8000 --token-file token.txt --workers 2"
)(serve)
app.command(
    epilog="Examples:\n\n"
    "clsnet bench FashionMNIST-10/5\n\n"
    "clsnet bench FashionMNIST-10/5 --method clsnet --method clsnet-paper --orders 5\n\n"
    "clsnet bench Digits-10/5 --out /tmp/digits"
)(bench)
app.command(
    epilog="Examples:\n\n"
    "clsnet pretrain TinyImageNet-100/10 --data DIR --out base.safetensors\n\n"
    "clsnet pretrain folder:photos --objective simsiam --out photos.safetensors"
)(pretrain)
app.command(epilog="Example: clsnet report results -o report.html")(report)
app.command(
    epilog="Examples:\n\n"
    "clsnet reproduce\n\n"
    "clsnet reproduce all --from results -o page.html\n\n"
    "clsnet reproduce terms trade-off --quick"
)(reproduce)
app.command(epilog="Example: clsnet methods")(methods)
app.command(epilog="Example: clsnet datasets")(datasets)
