"""Networks that a model of photos can start with, by the names of presets."""

from __future__ import annotations

from clsnet.errors import ClsnetError
from clsnet.extractor import Backbone

PRESETS = {"fast": "efficientnet-lite0", "best": "efficientnet-lite0+1+2"}


def network_of(preset: str | None, backbone: str | Backbone | None) -> str | Backbone | None:
    """Return the network that a person asks for, by a preset or by its name, if by any.

    Examples
    --------
    >>> network_of("best", None)
    'efficientnet-lite0+1+2'
    >>> network_of("better", None)
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: there is no preset 'better': use fast or best.
    """
    if preset is None:
        return backbone
    if preset not in PRESETS:
        raise ClsnetError(f"there is no preset {preset!r}: use {' or '.join(PRESETS)}.")
    if backbone is not None:
        raise ClsnetError("give --preset or --backbone, not both: a preset is a backbone.")
    return PRESETS[preset]


def called(backbone: str | Backbone) -> str:
    """Return what to call a network in a message.

    Examples
    --------
    >>> called("efficientnet-lite0"), called("hf:facebook/dinov2-small")
    ('--preset fast (efficientnet-lite0)', 'the backbone hf:facebook/dinov2-small')
    """
    for preset, network in PRESETS.items():
        if backbone == network:
            return f"--preset {preset} ({network})"
    return f"the backbone {backbone}"
