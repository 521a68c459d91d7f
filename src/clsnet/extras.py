"""Optional parts: imported when first needed, and named in one line where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from clsnet.errors import ClsnetError


def needed(module: str, purpose: str, extra: str) -> Any:
    """Import an optional module, or say in one line how to install it.

    Parameters
    ----------
    module
        What to import.
    purpose
        What needs it, as the subject of the message.
    extra
        The extra of this package that installs it.

    Examples
    --------
    >>> needed("there_is_none", "a GPU", "torch")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: a GPU needs there_is_none: pip install 'clsnet[torch]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        message = f"{purpose} needs {module}: pip install 'clsnet[{extra}]'"
        raise ClsnetError(message) from None
    except Exception as error:
        raise ClsnetError(f"{purpose} needs {module}, which fails to import: {error}") from None
