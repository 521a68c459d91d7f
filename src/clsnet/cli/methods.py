"""``clsnet methods``: the methods that can be benchmarked."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from clsnet.cli.console import PlainConsole
    from clsnet.methods import Method

FORMS = {
    "pixels": "on pixels, without a pretrained network",
    "frozen": "on the features of a frozen network: --backbone NAME",
    "tuned": "fine-tuning a network: --backbone NAME --option form=tuned",
}
FINETUNES = "fine-tuning a network: --backbone NAME"


def methods(
    name: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Methods to tell more about.")
    ] = None,
) -> None:
    """List all methods and what they keep of old tasks, or the options of some.

    With names: what each method is, where it was published, the forms that it has, and the options
    that `clsnet bench --option` can set.
    """
    from clsnet.cli.console import PlainConsole
    from clsnet.methods import get_method
    from clsnet.methods import methods as known

    console = PlainConsole()
    if not name:
        _list(console, list(known().values()))
    for number, method in enumerate([get_method(each) for each in name or ()]):
        if number:
            console.print()
        _tell(console, method)


def _list(console: PlainConsole, known: list[Method]) -> None:
    """Print the names of all methods by family, and what they keep."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    families = dict.fromkeys(method.family for method in known)
    for family in sorted(families, key=lambda family: family != "ours"):
        table.add_row(family, style="bold")
        for method in known:
            if method.family == family:
                table.add_row(f"  {method.name}", method.keeps)
    console.print(table)
    console.print()
    console.tell("Reference, forms and options of a method: clsnet methods NAME")


def _tell(console: PlainConsole, method: Method) -> None:
    """Print all that is known of one method."""
    from rich.table import Table

    from clsnet.methods import known_options

    maker = method.load()
    forms = [FORMS[form] for form in method.forms]
    about = {
        "": (inspect.getdoc(maker) or "").partition("\n")[0] if isinstance(maker, type) else "",
        "family": method.family,
        "keeps": method.keeps,
        "differs": method.variant or "",
        "reference": method.reference,
        "needs": f"--backbone {method.needs}" if method.needs else "",
        "forms": "\n".join([FINETUNES] if method.finetunes else forms),
        "--tune tries": "\n".join(f"{o}: {_values(v)}" for o, v in method.grid.items()),
    }
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for fact, text in about.items():
        if text:
            facts.add_row(fact or method.name, text, style=None if fact else "bold")
    options = Table("option", "default", "range", box=None, padding=(0, 2, 0, 0))
    ranges: dict[str, Any] = getattr(maker, "declared", {})
    for option, default in known_options(method).items():
        options.add_row(option, str(default), str(ranges.get(option, "")))
    console.print(facts)
    if options.row_count:
        console.print()
        console.print(options)


def _values(values: list[Any]) -> str:
    return ", ".join(map(str, values))
