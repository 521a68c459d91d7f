"""``clsnet methods``: the methods that can be benchmarked."""

from __future__ import annotations


def methods() -> None:
    """List all methods: family, what they keep of old tasks, and reference."""
    from rich.table import Table

    from clsnet.cli.console import PlainConsole
    from clsnet.methods import methods as known

    table = Table("method", "family", "keeps", "reference")
    for method in known().values():
        table.add_row(method.name, method.family, method.keeps, method.reference)
    PlainConsole().print(table)
