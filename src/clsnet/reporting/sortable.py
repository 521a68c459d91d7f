"""The paper's table with our columns beside the paper's, as HTML that can be sorted."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from clsnet.methods.registry import methods
from clsnet.reporting.paper import TABLE, Row, paper_row
from clsnet.reporting.series import leaking, orders
from clsnet.reporting.tables import Summary, number

PAPER_HARDWARE = "RTX 3080 Ti"
# Heading, unit, field of a run, field of the paper's row, digits.
COLUMNS = (
    ("Avg Acc", "", ("avg_acc",), "avg_acc", 4),
    ("BWT", "", ("bwt",), "bwt", 4),
    ("FWT", "", ("fwt",), "fwt", 4),
    ("Model", "MB", ("memory", "model_mb"), "model_mb", 2),
    ("Exemplars", "MB", ("memory", "exemplar_mb"), "exemplar_mb", 2),
    ("Learning", "s", ("seconds", "learn"), "seconds", 1),
)
LEAKING = '<strong class="leaking">LEAKING</strong>'


def sortable(summaries: Sequence[Summary]) -> str:
    """Return the table of one sequence: our runs, then what only the paper has."""
    sequence = summaries[0].sequence
    sources = ("ours", "paper") if sequence in TABLE else ("ours",)
    rows, shown = [], set()
    for summary in summaries:
        method = methods().get(summary.method)
        published = paper_row(sequence, method.paper if method else None)
        if method and published:
            shown.add(method.paper)
        rows.append(_row(summary, published))
    missing = [(name, row) for name, row in TABLE.get(sequence, {}).items() if name not in shown]
    rows += [
        _published(name, row) for name, row in sorted(missing, key=lambda one: -one[1].avg_acc)
    ]
    beside = f", beside the figures that the paper reports (its times: {PAPER_HARDWARE})"
    caption = (
        f"{escape(sequence)}: mean over class orders, ± standard deviation"
        f"{beside if sequence in TABLE else ''}. Choose a heading to sort by it."
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(sequence)}">'
        f'<table class="sortable"><caption><span>{caption}</span></caption>'
        f"<thead>{_head(sources)}</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def name_of(summary: Summary) -> str:
    """Return a method's title as HTML, with a red label if its figures leak.

    Examples
    --------
    >>> name_of(Summary("Digits-10/5", "<b>", "fast", "agnostic", False, []))
    '&lt;b&gt;, fast'
    """
    if not leaking(summary):
        return escape(summary.title)
    return f"{escape(summary.title.removesuffix(', LEAKING protocol'))} {LEAKING}"


def _head(sources: Sequence[str]) -> str:
    groups = "".join(
        f'<th scope="colgroup" colspan="{len(sources)}">{name}'
        f"{f' <small>({unit})</small>' if unit else ''}</th>"
        for name, unit, *_ in COLUMNS
    )
    ours_and_paper = "".join(
        _sorter(source, f"{name}, {source}") for name, *_ in COLUMNS for source in sources
    )
    return (
        f'<tr>{_sorter("Method", "Method", 2)}{groups}<th scope="col" rowspan="2">Measured on</th>'
        f"</tr><tr>{ours_and_paper}</tr>"
    )


def _sorter(text: str, name: str, rows: int = 1) -> str:
    span = f' rowspan="{rows}"' if rows > 1 else ""
    return (
        f'<th scope="col"{span} aria-sort="none"><button type="button" aria-label="{name}">'
        f"{text}</button></th>"
    )


def _row(summary: Summary, published: Row | None) -> str:
    cells = []
    for _, _, path, field, digits in COLUMNS:
        ours = summary.mean(*path)
        spread = ""
        if path == ("avg_acc",) and len(summary.runs) > 1:
            spread = f' <small class="spread">± {number(summary.spread("avg_acc"))}</small>'
        cells.append(_cell(ours, digits, "ours", spread))
        if summary.sequence in TABLE:
            cells.append(_cell(getattr(published, field, None), digits, "paper"))
    kind = "leaks" if leaking(summary) else "own" if summary.method == "clsnet" else "run"
    return (
        f'<tr class="{kind}"><th scope="row">{name_of(summary)}'
        f" <small>{orders(summary)}</small></th>{''.join(cells)}"
        f"<td>{escape(', '.join(summary.machines))}</td></tr>"
    )


def _published(name: str, row: Row) -> str:
    cells = "".join(
        _cell(None, digits, "ours") + _cell(getattr(row, field), digits, "paper")
        for _, _, _, field, digits in COLUMNS
    )
    return (
        f'<tr class="published"><th scope="row">{escape(name)} <small>paper only</small></th>'
        f"{cells}<td>{PAPER_HARDWARE}</td></tr>"
    )


def _cell(value: float | None, digits: int, source: str, more: str = "") -> str:
    sort_by = "" if value is None else f' data-value="{value!r}"'
    return f'<td class="{source}"{sort_by}>{number(value, digits).replace("-", "−")}{more}</td>'
