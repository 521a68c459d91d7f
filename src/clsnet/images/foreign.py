"""HEIC, AVIF and camera raw files, whose readers cannot be interrupted.

Each is read in a process of its own with limits on memory and time; a crash there is harmless.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt

from clsnet.errors import ClsnetError
from clsnet.images import budget
from clsnet.images.endings import INSTALL, RAW, ending, missing

NAMES = {"heif": "HEIC", "avif": "AVIF", "raw": "a camera raw file"}
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")
AVIF_BRANDS = (b"avif", b"avis")
RAW_STARTS = (b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0", b"FOVb", b"\0MRM")
CHILD = "clsnet.images.foreign_child"
CLOCK = 60.0  # seconds that such a process may take on a busy machine
REFUSED = 3  # its exit status if it says why
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Unreadable(ClsnetError):
    """Why something is not an image."""


def foreign_kind(encoded: bytes, name: str) -> str:
    """Return the one of these readers that an image needs: "heif", "avif", "raw", or "" for none.

    Parameters
    ----------
    encoded
        The file's contents.
    name
        Its name, without which most raw files look like TIFF.

    Examples
    --------
    >>> foreign_kind(bytes(4) + b"ftypheic", "a.jpg"), foreign_kind(b"II*", "a.nef")
    ('heif', 'raw')
    >>> foreign_kind(b"II*", "a.tif")
    ''
    """
    if encoded[4:8] == b"ftyp":
        major, brands = encoded[8:12], encoded[8 : 8 + 4 * 16]
        if major in AVIF_BRANDS or (major in (b"mif1", b"msf1") and b"avif" in brands):
            return "avif"
        if major in HEIF_BRANDS:
            return "heif"
        return "raw" if major == b"crx " else ""
    is_raw = encoded.startswith(RAW_STARTS) or encoded[6:14] == b"HEAPCCDR"
    return "raw" if is_raw or (ending(name) in RAW and not _is_common(encoded)) else ""


def read_foreign(kind: str, encoded: bytes, size: int | None) -> npt.NDArray[np.uint8]:
    """Decode an image like `decode`, in a process of its own, one at a time.

    Raises
    ------
    Unreadable
        If its reader is not installed, refuses it, or exceeds its limits.
    """
    if package := missing(kind):
        raise Unreadable(f"{NAMES[kind]} needs {package} ({INSTALL})")
    command = [sys.executable, "-P", "-m", CHILD, kind, str(size or 0)]
    with budget.decoded(budget.DECODED):
        try:
            done = subprocess.run(
                command,
                input=encoded,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=CLOCK,
                env={**os.environ, **QUIET},
            )
        except subprocess.TimeoutExpired:
            raise Unreadable(f"it takes more than {CLOCK:.0f} seconds") from None
    if done.returncode == 0:
        pixels: npt.NDArray[np.uint8] = np.load(io.BytesIO(done.stdout), allow_pickle=False)
        return pixels
    if done.returncode == REFUSED:
        raise Unreadable(done.stdout.decode(errors="replace"))
    raise Unreadable("its reader failed or exceeded its limits of time and memory")


def _is_common(encoded: bytes) -> bool:
    """Whether this is an image of another kind under the name of a raw file."""
    return encoded.startswith((b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", b"RIFF"))
