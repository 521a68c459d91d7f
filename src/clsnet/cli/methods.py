"""``clsnet methods``: what can be benchmarked."""

from __future__ import annotations


def methods() -> None:
    """List every method: its family, what it keeps of old tasks, and its reference."""
    from rich.table import Table

    from clsnet.cli.console import PlainConsole
    from clsnet.methods import methods as known

    table = Table("method", "family", "keeps", "reference")
    for method in known().values():
        table.add_row(method.name, method.family, method.keeps, method.reference)
    PlainConsole().print(table)
