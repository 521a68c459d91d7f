"""A cache on disk for the outputs of a frozen network, so that ten experiments run it once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.images.lazy import RULE_BYTES

SECONDS_FOR_OTHERS = 60.0
AT_ONCE = 500
LONGEST = 1 << 24  # bytes of a row


class FeatureCache:
    """Rows of float32 in a database, keyed by digests of the samples.

    Parameters
    ----------
    folder
        Where databases lie; made if it is not there.
    network
        Digest of the frozen network, its preprocessing and its options: one database for each.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = FeatureCache(Path(folder), "network")
    ...     first = cache.rows([b"a", b"b"], lambda missing: np.eye(2, dtype=np.float32)[missing])
    ...     again = cache.rows([b"b"], lambda missing: 1 / 0)
    >>> again
    array([[0., 1.]], dtype=float32)
    """

    def __init__(self, folder: Path, network: str) -> None:
        self.path = folder / f"{network}.features"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ClsnetError(f"cannot keep features in {folder}: {error.strerror}.") from None
        with self._open() as database:
            database.execute("CREATE TABLE IF NOT EXISTS features (key BLOB PRIMARY KEY, row BLOB)")

    def rows(
        self, keys: Sequence[bytes], compute: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Return one row for each key; those that are not there yet are computed and kept.

        Parameters
        ----------
        keys
            One digest per sample.
        compute
            Given the places of samples whose rows are not there, returns these rows.
        """
        known: dict[bytes, bytes] = {}
        with self._open() as database:
            for start in range(0, len(keys), AT_ONCE):
                some = keys[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                asked = "SELECT key, row FROM features WHERE length(row) <= ? AND key IN"
                known.update(database.execute(f"{asked} ({marks})", [LONGEST, *some]))
        missing = np.array([i for i, key in enumerate(keys) if key not in known], dtype=int)
        if len(missing):
            made = np.ascontiguousarray(compute(missing), dtype=np.float32)
            new = {keys[i]: row.tobytes() for i, row in zip(missing, made, strict=True)}
            with self._open() as database:
                database.executemany("INSERT OR IGNORE INTO features VALUES (?, ?)", new.items())
            known.update(new)
        return self._stacked([known[key] for key in keys])

    def _stacked(self, rows: Sequence[bytes]) -> np.ndarray:
        lengths = {len(row) if isinstance(row, bytes) else -1 for row in rows}
        if len(lengths) == 1 and lengths.pop() % 4 == 0:
            found = np.stack([np.frombuffer(row, np.float32) for row in rows])
            if np.isfinite(found).all():
                return found
        raise ClsnetError(
            f"{self.path} holds a damaged row; remove the file to make it anew, or give another "
            "folder."
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction; other processes wait for its end."""
        try:
            database = sqlite3.connect(self.path, timeout=SECONDS_FOR_OTHERS)
            try:
                with database:
                    yield database
            finally:
                database.close()
        except sqlite3.Error as error:
            raise ClsnetError(
                f"cannot use the features in {self.path}: {error}; give another folder, or remove "
                "the file to make it anew."
            ) from None


def remove_rows(folder: Path, contents: Iterable[str]) -> int:
    """Remove the features of image files from every database of a folder, and count them.

    Parameters
    ----------
    folder
        Where databases lie.
    contents
        Digests of the files' contents, in hex.
    """
    paths = sorted(folder.glob("*.features"))
    if not paths:
        raise ClsnetError(f"{folder} holds no cached features; name the folder of --cache.")
    first = [bytes.fromhex(one) for one in contents]
    ranges = [(one, one + b"\xff" * RULE_BYTES) for one in first]
    removed = 0
    for path in paths:
        with FeatureCache(folder, path.stem)._open() as database:
            database.execute("PRAGMA secure_delete = ON")  # else the bytes stay in free pages
            asked = "DELETE FROM features WHERE key BETWEEN ? AND ?"
            removed += database.executemany(asked, ranges).rowcount
    return removed


def digests(X: Any) -> list[bytes]:
    """Return bytes for each sample that tell what it is.

    Examples
    --------
    >>> first, second, third = digests(np.array([[1, 2], [3, 4], [1, 2]]))
    >>> first == third, first == second
    (True, False)
    """
    if hasattr(X, "digests"):
        found: list[bytes] = X.digests()
        return found
    form = f"{X.dtype} {X.shape[1:]} ".encode()
    return [blake2b(form + sample.tobytes(), digest_size=16).digest() for sample in X]
