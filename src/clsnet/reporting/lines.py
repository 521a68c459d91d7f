"""Lines with bands of deviation, each labelled at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from clsnet.reporting.labels import spread
from clsnet.reporting.picture import TIP, Picture, drawn
from clsnet.reporting.style import LEADER, MARKED, SMALL, WIDTH, Look, canvas


@dataclass(frozen=True)
class LookedLine:
    """A line, and how it looks; `tip` is shown to a pointer that rests on it."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    spreads: Sequence[float]
    look: Look
    tip: str


def line_figure(
    name: str, title: str, lines: Sequence[LookedLine], x: str, y: str, log: bool = False
) -> Picture:
    """Draw lines of shares; steps along x are whole numbers, or factors if `log`."""
    height = max(280.0, 44.0 + 16 * len(lines))
    right = 24 + label_width([line.label for line in lines])
    figure, axes = canvas(WIDTH, height, 42, right, 10, 34)
    first, last = min(line.xs[0] for line in lines), max(line.xs[-1] for line in lines)
    low = _lowest(lines)
    axes.set(ylim=(low, 1.0), xlabel=x, ylabel=y)
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if last / first > 30 else (1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: factor(value)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        room = (last / first) ** 0.02
        axes.set_xlim(first / room, last * room)
    else:
        axes.set_xlim(first - 0.03 * last, 1.01 * last)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(axis="x", visible=False)
    line_height = 11.5 / (height - 44) * (1 - low)
    aside = 1 + 18 / (axes.get_position().width * WIDTH)
    heights = spread([line.ys[-1] for line in lines], line_height, low, 1.0)
    for i, line in enumerate(lines):
        look, front = line.look, 3 if line.look.weight == "bold" else 2
        if any(line.spreads):
            below = [m - d for m, d in zip(line.ys, line.spreads, strict=True)]
            above = [m + d for m, d in zip(line.ys, line.spreads, strict=True)]
            axes.fill_between(line.xs, below, above, color=look.colour, alpha=0.13, linewidth=0)
        style = {"color": look.colour, "linestyle": look.dash, "linewidth": look.width}
        axes.plot(
            line.xs,
            line.ys,
            **style,
            marker=look.marker if len(line.xs) <= MARKED else "",
            markersize=4,
            clip_on=False,
            zorder=front,
            gid=f"{TIP}{i}",
        )
        font = {"color": look.text, "weight": look.weight, "fontsize": SMALL, "va": "center"}
        axes.annotate(
            line.label,
            (line.xs[-1], line.ys[-1]),
            (aside, heights[i]),
            textcoords=axes.get_yaxis_transform(),
            annotation_clip=False,
            arrowprops={"color": look.colour, **LEADER},
            **font,
        )
    tips = [line.tip for line in lines]
    return drawn(figure, name, title, "; ".join(tips) + ".", tips)


def factor(value: float) -> str:
    """Write a value of an axis whose steps are factors.

    Examples
    --------
    >>> factor(0.05), factor(100.0), factor(1e6)
    ('0.05', '100', '10⁶')
    """
    if value < 1e4:
        return f"{value:g}"
    return "10" + str(round(math.log10(value))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def label_width(labels: Sequence[str]) -> float:
    """Return the width of the longest label, in points."""
    font = FontProperties(weight="bold")
    paths = [TextPath((0, 0), label, SMALL, font) for label in labels]
    return max(float(path.get_extents().width) for path in paths)


def _lowest(lines: Sequence[LookedLine]) -> float:
    """Return the tenth at which the axis starts."""
    deviations = ((line, line.spreads or [0.0] * len(line.ys)) for line in lines)
    lowest = min(y - s for line, each in deviations for y, s in zip(line.ys, each, strict=True))
    return min(9, math.floor(10 * max(0.0, lowest))) / 10
