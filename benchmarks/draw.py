"""Plots of ratios, each as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot as plt

matplotlib.rcParams["svg.hashsalt"] = "clsnet"


class Draw:
    """Draw into a folder; names start with that of the machine."""

    def __init__(self, folder: Path, machine: str) -> None:
        self.folder, self.machine = folder, machine

    def bars(
        self,
        name: str,
        title: str,
        values: Mapping[str, float],
        reference: float | None = None,
        limit: float | None = None,
    ) -> None:
        """Draw one bar for each value, and lines where a figure has to be, or can at most be."""
        figure, axes = plt.subplots(figsize=(7, 1.2 + 0.45 * len(values)))
        bars = axes.barh(list(values), list(values.values()), color="#3b6fb6")
        axes.bar_label(bars, fmt="%.3g", padding=3)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        for at, style in ((reference, "--"), (limit, ":")):
            if at is not None:
                axes.axvline(at, color="black", linestyle=style, linewidth=1)
        self._save(name, title, figure, axes)

    def lines(
        self,
        name: str,
        title: str,
        x: str,
        series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    ) -> None:
        """Draw one line for each law, on logarithmic scales."""
        figure, axes = plt.subplots(figsize=(7, 4.5))
        for label, (sizes, times) in series.items():
            axes.loglog(sizes, times, marker="o", label=label)
        axes.set_xlabel(x)
        axes.set_ylabel("time")
        axes.legend(frameon=False)
        self._save(name, title, figure, axes)

    def reliability(self, name: str, title: str, bins: Sequence[Mapping[str, float]]) -> None:
        """Draw the accuracy over the probability, a dot for each bin, larger for more photos."""
        figure, axes = plt.subplots(figsize=(4.8, 4.5))
        axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1)
        x, y = [b["confidence"] for b in bins], [b["accuracy"] for b in bins]
        total = sum(b["photos"] for b in bins)
        axes.plot(x, y, color="#3b6fb6", linewidth=1)
        axes.scatter(x, y, [20 + 600 * b["photos"] / total for b in bins], color="#3b6fb6")
        axes.set_xlim(0, 1.03)
        axes.set_ylim(0, 1.03)
        axes.set_xlabel("mean probability of the class named")
        axes.set_ylabel("share that is right")
        self._save(name, title, figure, axes)

    def _save(self, name: str, title: str, figure: plt.Figure, axes: plt.Axes) -> None:
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        figure.tight_layout()
        for ending in ("png", "svg"):
            options = {"metadata": {"Date": None}} if ending == "svg" else {"dpi": 120}
            figure.savefig(self.folder / f"{self.machine}_{name}.{ending}", **options)
        plt.close(figure)
