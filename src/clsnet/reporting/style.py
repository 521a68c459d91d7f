"""The look of every figure: colours, line styles, fonts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from clsnet.evaluation.summaries import Summary
from clsnet.reporting.series import is_bound, leaking

INK, MUTED, LINE, ACCENT, LEAK = "#1b1f24", "#656d76", "#d8dee4", "#0b62b0", "#c4281c"
# Told apart by the colour-blind (after Okabe and Ito, and Tol), without red, which means leaking.
OTHERS = ("#c97800", "#117a3d", "#a8449a", "#7a7a12", "#2f9183")
# On the page, colours follow its light or dark theme: each is a variable of templates/report.css.
VARIABLES = {INK: "ink", MUTED: "muted", LINE: "line", ACCENT: "accent", LEAK: "leak"} | {
    colour: f"series-{i}" for i, colour in enumerate(OTHERS)
}
GOOD = LinearSegmentedColormap.from_list("good", ["#f3f7fb", "#a9cbe9", "#4b93cf", "#0b4f91"])
BAD = LinearSegmentedColormap.from_list("bad", ["#fbf6ee", "#f3c27a", "#c96f12", "#7a3c00"])
WIDTH = 400.0  # points; near a telephone's width, so that labels stay readable there
LEADER = {"arrowstyle": "-", "lw": 0.7, "relpos": (0, 0.5), "shrinkA": 2, "shrinkB": 4}
SMALL = 8.5
MARKED = 12  # with more tasks than that, points and the cells of a heat map are too small
ON_LIGHT, ON_DARK = "#10151a", "#fdfdfd"  # text in a coloured cell, the same in both themes

RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.solid_capstyle": "round",
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "clsnet",
}


@dataclass(frozen=True)
class Look:
    """How a method is drawn, in every figure."""

    colour: str
    text: str
    dash: Any = "-"
    marker: str = "o"
    width: float = 1.3
    weight: str = "normal"


def looks(summaries: Sequence[Summary]) -> list[Look]:
    """Give every method its look: ours thick and blue, what leaks red, the bounds grey."""
    styles = list(product(("-", (0, (5, 2)), (0, (1.5, 1.5))), OTHERS))
    result: list[Look] = []
    ours = others = 0
    for summary in summaries:
        if leaking(summary):
            result.append(Look(LEAK, LEAK, dash=(0, (4, 2)), marker="X"))
        elif summary.method == "clsnet":
            result.append(Look(ACCENT, ACCENT, marker="osD^"[ours % 4], width=2.2, weight="bold"))
            ours += 1
        elif is_bound(summary):
            result.append(Look(MUTED, MUTED, dash=(0, (1, 1.5)), marker="d"))
        else:
            dash, colour = styles[others % len(styles)]
            result.append(Look(colour, INK, dash=dash))
            others += 1
    return result


def canvas(width: float, height: float, *margins: float) -> tuple[Figure, Any]:
    """Return a figure and its axes; sizes and margins (left, right, top, bottom) in points."""
    left, right, top, bottom = margins
    figure = Figure(figsize=(width / 72, height / 72))
    FigureCanvasAgg(figure)
    box = (left / width, bottom / height, (width - left - right) / width)
    return figure, figure.add_axes((*box, (height - top - bottom) / height))


def label_of(summary: Summary, limit: int = 28) -> str:
    """Return a method's title for a figure, cut where it would push the figure aside.

    Examples
    --------
    >>> label_of(Summary("Digits-10/5", "clsnet-demo", None, "demo", False, []))
    'clsnet-demo, LEAKING'
    """
    title = summary.title.replace("LEAKING protocol", "LEAKING")
    if len(title) <= limit:
        return title
    return title[: limit - 10] + "…, LEAKING" if leaking(summary) else title[: limit - 1] + "…"
