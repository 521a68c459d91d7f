"""Networks that lie elsewhere: what a model's file calls them, and what the user allows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

OURS = (
    *("columns", "identity", "patches"),
    *("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2", "efficientnet-lite0+1+2"),
)
"""Backbones that need nothing but clsnet and the weights that it installs."""
SOURCES = {"hf": "model", "timm": "model", "resnet": "weights", "callable": "function"}
"""The constructor's argument that says which network it is."""


def reference(name: str, config: Mapping[str, Any]) -> str:
    """Return what the user must allow for a backbone, or nothing if it is one of ours.

    Examples
    --------
    >>> reference("hf", {"model": "facebook/dinov2-small", "taps": "last"})
    'hf:facebook/dinov2-small'
    >>> reference("patches", {})
    ''
    """
    if name in OURS:
        return ""
    source = str(config.get(SOURCES.get(name, ""), ""))
    return f"{name}:{source}" if name in ("hf", "timm") else source or name


def referred(backbone: str) -> str:
    """Return the same for a backbone as a person names it.

    Examples
    --------
    >>> referred("auto"), referred("timm:vit_tiny"), referred("resnet18:base.safetensors")
    ('', 'timm:vit_tiny', 'base.safetensors')
    """
    kind, _, source = backbone.partition(":")
    if backbone in ("auto", *OURS):
        return ""
    if kind in ("resnet18", "resnet50"):
        return source
    return backbone if kind in ("hf", "timm") or backbone.endswith(".safetensors") else kind


def allowed_by(allow: str | Collection[str]) -> set[str]:
    """Return what is allowed by these names, and the empty name of what needs no allowance."""
    return {"", *map(referred, [allow] if isinstance(allow, str) else allow)}
