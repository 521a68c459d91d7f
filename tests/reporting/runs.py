"""Made-up runs, and the page that is made of them."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.evaluation.answers import Answers
from clsnet.evaluation.protocol import Outcome

SEQUENCE = "Digits-10/5"
N = 1000  # test samples
HOSTILE = '<script>alert("$x$ & 1")</script>\x07'


def write(
    folder: Path, method: str, accuracy: float, order: int = 0, **more: Any
) -> dict[str, Any]:
    """Write a run that loses a little accuracy with each task, where clsnet bench would put it."""
    sequence = more.get("sequence", "FashionMNIST-10/5")
    tasks = int(sequence.rpartition("/")[2])
    lost = (1 - accuracy) / tasks
    R = [[1 - lost * (i + (t < i) + 0.1 * order) for t in range(i + 1)] for i in range(tasks)]
    run = {
        "sequence": sequence,
        "method": method,
        "config": {"preset": None, "tune": False},
        "order": [[2 * t, 2 * t + 1] for t in range(tasks)],
        "seed": 0,
        "protocol": "agnostic",
        "R": R,
        "independent": [1.0] * tasks,
        **Outcome(R, [1.0] * tasks, {}, {}).metrics(),
        "seconds": {"learn": 3.25 + order, "predict": 0.5},
        "memory": {"model_mb": 6.0, "exemplar_mb": 1.5},
        "environment": {"gpu": "none", "threads": "2"},
        "format": 1,
        "version": "0.1.0",
        **more,
    }
    path = folder / sequence / method.replace("/", "_") / f"{order}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run))
    return run


def answered(accuracy: float, shift: int = 0) -> dict[str, Any]:
    """Answers of which so many are right; the easiest samples first, but for a shift."""
    right = np.roll(np.arange(N) < accuracy * N, shift)
    return Answers(np.ones(N, dtype=bool), right, "4d1a").packed()


def add(
    folder: Path, method: str, accuracy: float, seed: int = 0, order: int = 0, **more: Any
) -> None:
    """Write a run with so many right answers, to a folder of its configuration and seed."""
    config = {"preset": "fast", "tune": False, **more.pop("config", {})}
    more = {"sequence": SEQUENCE, "answers": answered(accuracy), "order_free": True, **more}
    name = "-".join(f"{value}" for value in config.values()).replace("/", "_")
    write(folder / name / f"seed{seed}", method, accuracy, order, seed=seed, config=config, **more)


class Page(HTMLParser):
    """Elements of a page, in order: tag, attributes, and the text inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self._open: list[tuple[str, list[str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inside: list[str] = []
        self.elements.append((tag, dict(attrs), inside))
        if tag != "meta":
            self._open.append((tag, inside))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for _, inside in self._open:
            inside.append(data)

    def texts(self, tag: str, **wanted: str) -> list[str]:
        """Text of every such element."""
        return ["".join(inside) for _, _, inside in self._found(tag, wanted)]

    def attributes(self, tag: str, **wanted: str) -> list[dict[str, str | None]]:
        """Attributes of every such element."""
        return [attributes for _, attributes, _ in self._found(tag, wanted)]

    def rows(self) -> dict[str, list[dict[str, str | None]]]:
        """Cells of the sortable tables' rows, by the row's heading."""
        found: dict[str, list[dict[str, str | None]]] = {}
        heading = ""
        for tag, attributes, inside in self.elements:
            if tag == "tr":
                heading = ""
            elif tag == "th" and attributes.get("scope") == "row":
                heading = "".join(inside)
            elif tag == "td" and heading and attributes.get("class"):
                found.setdefault(heading, []).append(attributes)
        return found

    def _found(self, tag: str, wanted: dict[str, str]) -> list[Any]:
        wanted = {key.rstrip("_").replace("_", "-"): value for key, value in wanted.items()}
        return [
            element
            for element in self.elements
            if element[0] == tag and wanted.items() <= element[1].items()
        ]
