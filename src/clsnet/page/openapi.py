"""The API as OpenAPI describes it, and as a page for people."""

from __future__ import annotations

from typing import Any

import clsnet

CLASS = {"class": {"type": "string", "description": "Name of the class."}}
NEW = {"new": {"type": "boolean", "description": "Whether the class may be a new one."}}
CODES = {
    "400": "the request is malformed: bad-form, bad-json, bad-name, bad-question, no-photo, gone",
    "401": "no-token: the token or the cookie is missing",
    "403": "other-origin, other-host, or read-only: the server runs without --teach",
    "404": "no-such-class (nearest tells the most similar name), no-model",
    "408": "too-slow: no byte came for 30 seconds, or fewer than 4 KB a second",
    "409": "busy: another process has been changing the model for too long",
    "413": "too-large, too-many: at most 64 photos and 64 MB at once, a model of 512 MB",
    "415": "no-form: photos have to come as multipart/form-data",
    "422": "not-done: the message tells why; nothing was changed",
    "507": "disk-full: nothing was changed",
}


def _file_form(name: str, about: str, **fields: Any) -> dict[str, Any]:
    file = {"type": "array", "description": about, "items": {"type": "string", "format": "binary"}}
    schema = {"type": "object", "required": [name], "properties": {name: file, **fields}}
    return {"content": {"multipart/form-data": {"schema": schema}}}


def _query(name: str, kind: str, default: float, about: str) -> dict[str, Any]:
    schema = {"type": kind, "default": default}
    return {"name": name, "in": "query", "description": about, "schema": schema}


PHOTOS = "Photos, at most 64 and 64 MB at once."
TOP = _query("top", "integer", 3, "How many classes to name.")
REJECT = _query(
    "reject",
    "number",
    0.05,
    "Say 'none of these' of photos that fit worse than this share of known ones; 0 never does.",
)
CLASSES = {
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["classes"],
                "properties": {"classes": {"type": "array", "items": {"type": "string"}}},
            }
        },
        **_file_form("file", "Or the very photos that were learned, to forget these.")["content"],
    }
}
OPERATIONS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "info": ("get", "What the model knows, what its file keeps and what it could tell.", {}),
    "predict": (
        "post",
        "What photos show: names with probabilities, or none of these (label is null).",
        {"parameters": [TOP, REJECT], "requestBody": _file_form("file", PHOTOS)},
    ),
    "learn": (
        "post",
        "Learn photos of one class, new or known. Only sums are kept.",
        {"requestBody": _file_form("file", PHOTOS, **CLASS)},
    ),
    "correct": (
        "post",
        "Let photos be of a class, exactly as if they had been learned so at once.",
        {"requestBody": _file_form("file", PHOTOS, **CLASS, **NEW)},
    ),
    "forget": ("post", "Forget classes, or single photos.", {"requestBody": CLASSES}),
    "undo": ("post", "Take back the last change; the second time, do it again.", {}),
    "merge": (
        "post",
        "Take in what another model has learned, without any photo.",
        {"requestBody": _file_form("model", "One file of a model, at most 512 MB.")},
    ),
    "map": ("get", "The classes in two dimensions, from -1 to 1.", {}),
    "confusions": (
        "get",
        "The expected share of each class (row) taken for every class (column); rows of classes "
        "with too few photos are zero.",
        {},
    ),
    "model": ("get", "The file of the model.", {}),
    "export": ("get", "The model as an ONNX file.", {}),
}
ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "nearest": {"type": "string"},
            },
        }
    },
}


def description() -> dict[str, Any]:
    """Return the API as OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "clsnet", "version": clsnet.__version__},
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": ERROR},
        },
        "paths": {
            f"/{name}": {method: {"summary": about, **more, "responses": _responses(name)}}
            for name, (method, about, more) in OPERATIONS.items()
        },
    }


def _responses(name: str) -> dict[str, Any]:
    kind = "application/octet-stream" if name in ("model", "export") else "application/json"
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    failures = {status: {"description": why, "content": error} for status, why in CODES.items()}
    return {"200": {"description": "Done.", "content": {kind: {}}}, **failures}
