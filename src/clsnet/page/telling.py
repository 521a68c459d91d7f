"""What a model knows, and what can be seen of it."""

from __future__ import annotations

import operator
from itertools import accumulate
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

import clsnet
from clsnet.page.workbench import Accuracies, Workbench
from clsnet.photos import info as about_model
from clsnet.photos.about import Info
from clsnet.photos.interval import wilson
from clsnet.photos.seeing import class_confusions, class_map
from clsnet.photos.telling import told_change, told_undone
from clsnet.photos.undoing import undoable

NOTHING: dict[str, Any] = {
    "exists": False,
    "photos": 0,
    "network": None,
    "size": 0,
    "classes": [],
    "accuracy": None,
    "history": [],
    "growth": [],
    "inferable": [],
    "kept": {},
    "can_undo": False,
    "undoes": None,
}


async def info(request: Request) -> JSONResponse:
    """Answer what the model is."""
    bench: Workbench = request.app.state.bench
    return JSONResponse(await bench.read(lambda: about(bench)))


async def see_map(request: Request) -> JSONResponse:
    """Answer with the classes in two dimensions."""
    bench: Workbench = request.app.state.bench

    def points() -> list[dict[str, Any]]:
        if not (counts := _counts(bench)):
            return []
        taught = bench.answering().taught
        places = class_map(taught.classifier).round(4).tolist()
        return [
            {"label": label, "x": x, "y": y, "photos": counts.get(label, 0)}
            for label, (x, y) in zip(taught.classes, places, strict=True)
        ]

    return JSONResponse({"points": await bench.read(points)})


async def see_confusions(request: Request) -> JSONResponse:
    """Answer with the expected share of each class that is taken for every class."""
    bench: Workbench = request.app.state.bench

    def table() -> dict[str, Any]:
        if _counts(bench):
            taught = bench.answering().taught
            rows = class_confusions(taught.classifier)
            if rows is not None:
                return {"labels": taught.classes, "rows": rows.round(6).tolist()}
        return {"labels": [], "rows": []}

    return JSONResponse(await bench.read(table))


def about(bench: Workbench) -> dict[str, Any]:
    """Return what there is to say about the model."""
    always = {
        "model": bench.model.name,
        "version": clsnet.__version__,
        "readonly": not bench.teach,
        "writer": bench.changing,
    }
    if not bench.model.exists():
        return {**always, **NOTHING}
    known, undone = about_model(bench.model), undoable(bench.model)
    accuracy = _accuracy(known)
    if accuracy:
        bench.accuracies[sum(known.counts.values()), len(known.counts)] = accuracy["expected"]
    return {
        **always,
        "exists": True,
        "photos": sum(known.counts.values()),
        "network": known.backbone,
        "size": known.size,
        "classes": [_class(label, known) for label in known.counts],
        "accuracy": accuracy,
        "history": _history(known),
        "growth": _growth(known, bench.accuracies),
        "inferable": known.inferable,
        "kept": known.kept,
        "can_undo": undone is not None,
        "undoes": undone and told_undone(undone),
    }


def _counts(bench: Workbench) -> dict[str, int]:
    return about_model(bench.model).counts if bench.model.exists() else {}


def _history(known: Info) -> list[dict[str, Any]]:
    return [
        {
            "date": change.date,
            "text": told_change(change),
            "photos": sum(change.counts.values()),
            "classes": len(change.counts),
        }
        for change in known.history
    ]


def _growth(known: Info, accuracies: Accuracies) -> list[dict[str, Any]]:
    """Return how many photos and classes were known after each change, and how well."""
    photos = accumulate(sum(change.counts.values()) for change in known.history)
    names = accumulate((frozenset(change.counts) for change in known.history), operator.or_)
    return [
        {"photos": n, "classes": len(labels), "accuracy": accuracies.get((n, len(labels)))}
        for n, labels in zip(photos, names, strict=True)
    ]


def _class(label: str, known: Info) -> dict[str, Any]:
    n, expectation = known.counts[label], known.expectation
    right = None if expectation is None else expectation.right.get(label)
    low, high = (None, None) if right is None else wilson(right * n, n)
    confused = [] if expectation is None else expectation.confused
    return {
        "label": label,
        "photos": n,
        "recognised": right,
        "low": low,
        "high": high,
        "confused_with": [
            {"label": other, "share": share} for own, other, share in confused if own == label
        ],
    }


def _accuracy(known: Info) -> dict[str, float] | None:
    found = known.expectation and known.expectation.accuracy(known.counts)
    return dict(zip(("expected", "low", "high"), found, strict=True)) if found else None
