"""The figures of a report: curves, matrices, forgetting, and accuracy against cost."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.style
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from clsnet.evaluation.summaries import Summary
from clsnet.experiments.published import TABLE
from clsnet.reporting.labels import PlacedLabel, place
from clsnet.reporting.lines import LookedLine, label_width, line_figure
from clsnet.reporting.picture import TIP, Picture, drawn
from clsnet.reporting.series import curves, forgetting, leaking, total_mb
from clsnet.reporting.style import (
    BAD,
    GOOD,
    INK,
    LEAK,
    MARKED,
    MUTED,
    ON_DARK,
    ON_LIGHT,
    RC,
    SMALL,
    WIDTH,
    canvas,
    label_of,
    looks,
)


def pictures(prefix: str, summaries: Sequence[Summary]) -> dict[str, Picture]:
    """Draw all figures of one sequence, by name; file names start with the prefix."""
    made = {"accuracy": accuracy_curves(f"{prefix}-accuracy", summaries)}
    made |= cost_figures(prefix, summaries)
    with matplotlib.style.context(["default", RC]):
        if len(summaries[0].matrix()) > 1:
            made["forgetting"] = _forgetting(f"{prefix}-forgetting", summaries)
        for i, summary in enumerate(summaries):
            made[f"matrix-{i}"] = _matrix(f"{prefix}-matrix-{i + 1}", summary)
    return made


def cost_figures(prefix: str, summaries: Sequence[Summary]) -> dict[str, Picture]:
    """Draw accuracy against memory and, where times can be compared, against time."""
    costs: dict[str, tuple[str, Callable[[Summary], float | None], Callable[[Any], float]]] = {
        "memory": ("memory (MB)", total_mb, _paper_mb)
    }
    if any(len(summary.machines) == 1 for summary in summaries):
        costs["time"] = (
            "learning time (s)",
            lambda s: s.mean("seconds", "learn"),
            lambda row: float(row.seconds),
        )
    with matplotlib.style.context(["default", RC]):
        return {
            name: _scatter(f"{prefix}-{name}", summaries, *cost) for name, cost in costs.items()
        }


def accuracy_curves(
    name: str, summaries: Sequence[Summary], more: Sequence[LookedLine] = ()
) -> Picture:
    """Draw the accuracy after each task, and further lines beside."""
    lines = []
    for summary, look in zip(summaries, looks(summaries), strict=True):
        means, deviations = curves(summary)
        tip = f"{summary.title}: {means[-1]:.4f} after the last task"
        tasks = range(1, len(means) + 1)
        lines.append(LookedLine(label_of(summary), tasks, means, deviations, look, tip))
    title = "Accuracy on all tasks so far, after each task"
    with matplotlib.style.context(["default", RC]):
        return line_figure(
            name, title, [*lines, *more], "tasks learned", "accuracy on all tasks so far"
        )


def _matrix(name: str, summary: Summary) -> Picture:
    rows = summary.matrix()
    size = 172.0
    figure, axes = canvas(size + 30, size + 50, 24, 6, 20, 30)
    cells = [(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row)]
    _cells(axes, cells, len(rows), len(rows), 1.0, GOOD)
    axes.set(xlabel="accuracy on task (%)", ylabel="after task")
    ticks = MaxNLocator(integer=True, nbins=MARKED).tick_values(1, len(rows))
    shown = [int(t) for t in ticks if 1 <= t <= len(rows)]
    axes.set_xticks([t - 0.5 for t in shown], [str(t) for t in shown])
    axes.set_yticks([t - 0.5 for t in shown], [str(t) for t in shown])
    colour = LEAK if leaking(summary) else INK
    figure.text(
        6 / (size + 30),
        1 - 12 / (size + 50),
        label_of(summary),
        weight="bold",
        color=colour,
        va="center",
    )
    if len(rows) > 2:
        axes.text(
            len(rows) - 0.1,
            0.5,
            f"mean {statistics.fmean(rows[-1]):.4f}",
            ha="right",
            va="center",
            color=MUTED,
        )
    said = [
        f"After task {i}: " + ", ".join(f"{100 * cell:.1f}" for cell in row) + "."
        for i, row in enumerate(rows, 1)
    ]
    title = f"{summary.title}: accuracy on each task, after each task, in percent"
    return drawn(figure, name, title, " ".join(said))


def _forgetting(name: str, summaries: Sequence[Summary]) -> Picture:
    rows = [forgetting(summary.matrix()) for summary in summaries]
    order = sorted(
        range(len(rows)), key=lambda i: (leaking(summaries[i]), statistics.fmean(rows[i]))
    )
    left = 12 + label_width([label_of(summary) for summary in summaries])
    height = 40.0 + 19 * len(rows)
    figure, axes = canvas(WIDTH, height, left, 6, 6, 34)
    cells = [(i, j, value) for i, k in enumerate(order) for j, value in enumerate(rows[k])]
    _cells(axes, cells, len(rows), len(rows[0]), max(0.1, max(map(max, rows))), BAD)
    axes.set_xlabel("accuracy lost on task, in percentage points")
    ticks = MaxNLocator(integer=True, nbins=MARKED).tick_values(1, len(rows[0]))
    shown = [int(t) for t in ticks if 1 <= t <= len(rows[0])]
    axes.set_xticks([t - 0.5 for t in shown], [str(t) for t in shown])
    styles = looks(summaries)
    titles = [label_of(summaries[k]) for k in order]
    axes.set_yticks([i + 0.5 for i in range(len(rows))], titles, fontsize=SMALL)
    for label, k in zip(axes.get_yticklabels(), order, strict=True):
        label.set(color=styles[k].text, weight=styles[k].weight)
    said = [f"{summaries[k].title}: " + ", ".join(f"{100 * v:.1f}" for v in rows[k]) for k in order]
    title = "Forgetting: accuracy on each task when learned, less that at the end, in percent"
    return drawn(figure, name, title, "; ".join(said) + ".")


def _cells(
    axes: Any,
    cells: Sequence[tuple[int, int, float]],
    rows: int,
    columns: int,
    top: float,
    map_: Any,
) -> None:
    for i, j, value in cells:
        shade = map_(max(0.0, value) / top)
        axes.add_patch(Rectangle((j + 0.03, i + 0.04), 0.94, 0.92, facecolor=shade, linewidth=0))
        if columns <= MARKED:
            style = {"color": _readable_on(shade), "fontsize": 9 if columns <= 8 else 7}
            shown = f"{100 * value:.0f}".replace("-0", "0").replace("-", "−")
            axes.text(j + 0.5, i + 0.5, shown, ha="center", va="center", **style)
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _scatter(
    name: str,
    summaries: Sequence[Summary],
    axis: str,
    cost: Callable[[Summary], float | None],
    published: Callable[[Any], float],
) -> Picture:
    figure, axes = canvas(WIDTH, 290, 42, 8, 8, 34)
    rows = TABLE.get(summaries[0].sequence, {})
    known = [
        (summary, look, (max(spent, 1e-3), summary.mean("avg_acc") or 0.0))
        for summary, look in zip(summaries, looks(summaries), strict=True)
        if (spent := cost(summary)) is not None
    ]
    theirs = [(published(row), row.avg_acc) for row in rows.values()]
    across, up = zip(*(point for *_, point in known), *theirs, strict=True)
    ratio = max(across) / min(across)
    room = max(1.2 * ratio**0.12, (10 / ratio) ** 0.5)  # a decade at least, or there are no ticks
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if ratio < 30 else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlim=(min(across) / room, max(across) * room))
    axes.set(
        ylim=(math.floor(10 * min(up) - 0.3) / 10, min(1.0, math.ceil(10 * max(up)) / 10) + 0.02)
    )
    axes.set(xlabel=f"{axis}, logarithmic", ylabel="average accuracy after the last task")
    texts: list[PlacedLabel] = []
    tips: list[str] = []
    for summary, look, point in known:
        own = {"color": look.colour, "marker": look.marker, "zorder": 3}
        size = 7 if look.weight == "bold" else 5.5
        axes.plot(*point, **own, markersize=size, linestyle="", gid=f"{TIP}{len(tips)}")
        tips.append(f"{summary.title}: {point[0]:.4g} {axis[-4:].strip('( )')}, {point[1]:.4f}")
        font = {"color": look.text, "weight": look.weight, "fontsize": SMALL}
        texts.append((*point, label_of(summary), True, font))
    for point, method in zip(theirs, rows, strict=True):
        hollow = {"markerfacecolor": "none", "markeredgecolor": MUTED, "marker": "o"}
        axes.plot(*point, **hollow, markersize=4.5, linestyle="", gid=f"{TIP}{len(tips)}")
        tips.append(f"{method}, as published: {point[0]:.4g}, {point[1]:.4f}")
        texts.append((*point, method, False, {"color": MUTED, "fontsize": 7.5}))
    place(axes, texts)
    said = "; ".join(tips) + "."
    return drawn(figure, name, f"Average accuracy against {axis}", said, tips)


def _readable_on(shade: tuple[float, ...]) -> str:
    """Return the colour of text with the greater contrast (WCAG's relative luminance)."""
    red, green, blue = (c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in shade[:3])
    return ON_LIGHT if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else ON_DARK


def _paper_mb(row: Any) -> float:
    return float(row.model_mb + row.exemplar_mb)
