"""Small multiples of points in a plane, coloured by class."""

from __future__ import annotations

import math
from typing import Any

import matplotlib.style

from clsnet.experiments.answer import Panels
from clsnet.reporting.picture import Picture, drawn
from clsnet.reporting.style import ACCENT, INK, MUTED, OTHERS, RC, SMALL, WIDTH, canvas

COLUMNS = 3
MARKERS = "o^"
COLOURS = (ACCENT, *OTHERS[:4])


def panels_figure(name: str, panels: Panels) -> Picture:
    """Draw panels, three in a row; a class is a colour and a shape."""
    rows = math.ceil(len(panels.panels) / COLUMNS)
    side, title, legend = WIDTH / COLUMNS, 14.0, 14.0 * math.ceil(len(panels.class_names) / 5) + 4
    height = rows * (side + title) + legend
    with matplotlib.style.context(["default", RC]):
        figure, whole = canvas(WIDTH, height, 0, 0, 0, 0)
        whole.set_axis_off()
        for i, panel in enumerate(panels.panels):
            left, top = side * (i % COLUMNS), (i // COLUMNS) * (side + title)
            bottom = height - top - title - side
            width = (side - 6) / WIDTH
            axes: Any = figure.add_axes(
                ((left + 3) / WIDTH, (bottom + 3) / height, width, (side - 6) / height)
            )
            axes.set(xticks=[], yticks=[], xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
            axes.spines[:].set(visible=True, color=MUTED)
            axes.grid(visible=False)
            x, y = (left + 4) / WIDTH, 1 - (top + 7) / height
            figure.text(x, y, panel.title, color=INK, fontsize=SMALL, va="center")
            for label in sorted(set(panel.labels)):
                own = [p for p, c in zip(panel.points, panel.labels, strict=True) if c == label]
                axes.plot(*zip(*own, strict=True), **_mark(label), markersize=1.8)
        for label, class_name in enumerate(panels.class_names):
            x = (8 + (label % 5) * WIDTH / 5) / WIDTH
            y = (legend - 9 - 14 * (label // 5)) / height
            whole.plot(x, y, **_mark(label), markersize=4, transform=whole.transAxes)
            whole.text(x + 6 / WIDTH, y, _short(class_name), color=INK, fontsize=7.5, va="center")
        whole.set(xlim=(0, 1), ylim=(0, 1))
        said = "; ".join(f"{panel.title}: {len(panel.points)} points" for panel in panels.panels)
        return drawn(figure, name, panels.caption, f"{said}.")


def _short(name: str, most: int = 13) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _mark(label: int) -> dict[str, Any]:
    colour = COLOURS[label % len(COLOURS)]
    marker = MARKERS[label // len(COLOURS) % len(MARKERS)]
    return {
        "color": colour,
        "marker": marker,
        "linestyle": "",
        "markeredgewidth": 0,
        "clip_on": False,
    }
