"""``clsnet datasets``: the data sets of task sequences."""

from __future__ import annotations


def datasets() -> None:
    """List all data sets, their sizes, and whether they are on this machine.

    A sequence is DATASET-C/T: C classes in T tasks; or folder:PATH/T, a folder
    that holds one folder of images for each class. "bring it": put the files that are named
    into a folder, and give that as --data.
    """
    from rich.table import Table

    from clsnet.cli.console import PlainConsole
    from clsnet.data import datasets as known

    table = Table("data set", "classes", "train", "test", "here")
    table.add_column("what and where from", overflow="fold")
    for info in known():
        sizes = (f"{n:,}" for n in (info.n_classes, info.n_train, info.n_test))
        here = "yes" if info.available() else "fetched" if info.fetchable else "bring it"
        table.add_row(info.name, *sizes, here, f"{info.description} ({info.source})")
    PlainConsole().print(table)
