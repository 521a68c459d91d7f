"""The command line; torch is imported only by commands that need it."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext

INTERRUPTED = 130  # the exit status of what Ctrl-C ended
RESUMED = (["bench"], ["reproduce"])  # commands that keep finished runs


def main() -> None:
    """Run the command line; an error is reported as one line and an exit status."""
    try:
        _main()
    except KeyboardInterrupt:  # before the command began
        sys.exit(INTERRUPTED)


def _main() -> None:
    share_cores()
    try:
        from clsnet.cli.app import app
    except ModuleNotFoundError as error:
        sys.exit(f"the command line needs {error.name}: pip install 'clsnet[cli]'")
    from clsnet.cli.output import protect_streams, say
    from clsnet.errors import ClsnetError

    protect_streams()
    if "" in sys.argv[1:]:
        say("one of the arguments is empty: is a variable not set?")
        sys.exit(2)
    try:
        with _together():
            app()
    except ClsnetError as error:
        say(error)
        sys.exit(2)
    except OSError as error:  # such as a name that is too long
        what = error.filename or "cannot read or write"
        say(f"{what}: {error.strerror or error}.")
        sys.exit(2)
    except SystemExit as end:  # typer turns Ctrl-C into this
        if end.code == INTERRUPTED:
            resumes = sys.argv[1:2] in RESUMED
            say("interrupted; the same command resumes." if resumes else "interrupted.")
        raise


def share_cores() -> None:
    """Let OpenMP's threads sleep while they wait; read by torch when it is imported.

    By default they spin, and on a busy machine one photo then takes seconds.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _together() -> AbstractContextManager[None]:
    """Join the other processes, if ``torchrun`` started this one."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return nullcontext()
    from clsnet.arrays.ranks import joined

    return joined()
