"""Optional dependencies: imported when first needed; if one is missing, one line says so."""

from __future__ import annotations

import importlib
import re
from typing import Any

from clsnet.errors import ClsnetError


def needed(module: str, purpose: str, extra: str, oldest: str = "") -> Any:
    """Import an optional module, or raise an error that says in one line how to install it.

    Parameters
    ----------
    module
        What to import.
    purpose
        What needs it: the subject of the message.
    extra
        The extra of this package that installs it.
    oldest
        The oldest version that works.

    Examples
    --------
    >>> needed("there_is_none", "a GPU", "torch")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: a GPU needs there_is_none: pip install 'clsnet[torch]'
    """
    try:
        found = importlib.import_module(module)
    except ImportError:
        message = f"{purpose} needs {module}: pip install 'clsnet[{extra}]'"
        raise ClsnetError(message) from None
    except Exception as error:
        raise ClsnetError(f"{purpose} needs {module}, which fails to import: {error}") from None
    installed = str(getattr(found, "__version__", ""))
    if _numbers(installed) < _numbers(oldest):
        raise ClsnetError(
            f"{purpose} needs {module} {oldest} or newer, not {installed}: "
            f"pip install -U 'clsnet[{extra}]'"
        )
    return found


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]
