"""Images that stay on disk until they are needed."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import blake2b
from typing import Any, BinaryIO, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from clsnet.errors import ClsnetError
from clsnet.images import budget
from clsnet.images.decode import MOST_BYTES, Unreadable, decode
from clsnet.storage.regular_files import open_regular

CHUNK = 32
SMALL = 16_384
PART = 2**20  # bytes of a file in memory while its digest is taken
RULE = b"JPEG at twice the size or more, upright RGB on white, bicubic, centre square: "
RULE_BYTES = 8  # of a digest

Result = TypeVar("Result")


class Source(Protocol):
    """Where an encoded image lies, if not in a file of its own."""

    @property
    def name(self) -> str:
        """What to call it in a message."""

    def read(self) -> bytes:
        """Return the encoded image, from any thread."""


class Images:
    """A lazy, immutable sequence of encoded images, indexed like an array of decoded ones.

    A slice, a mask or an array of indices returns other `Images` and decodes nothing; a single
    index returns one decoded image. `numpy.asarray` decodes all of them with one thread per core,
    into `uint8` of shape (n, 3, height, width), so memory holds only what is requested.

    Parameters
    ----------
    sources
        Paths, or objects with a name and `read`.
    size
        Scale each image's smaller side to this length and crop the centre square; with None, images
        keep their size, which must be the same for all.
    strict
        Let `readable` raise an error at the first unreadable image.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from clsnet.images import Images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [Path(folder) / f"{grey}.png" for grey in (10, 20, 30)]
    ...     for grey, path in zip((10, 20, 30), paths):
    ...         Image.new("L", (6, 4), grey).save(path)
    ...     images = Images(paths)
    ...     images.shape, len(images[1:]), np.asarray(images[1:])[:, 0, 0, 0].tolist()
    ((3, 3, 4, 6), 2, [20, 30])
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(
        self,
        sources: Sequence[str | os.PathLike[str] | Source],
        size: int | None = None,
        strict: bool = False,
    ) -> None:
        if size is not None and size < 1:
            raise ClsnetError(f"images cannot be scaled to size {size}: give 1 or more")
        self.size = size
        self.strict = strict
        self._sources = [os.fspath(s) if isinstance(s, str | os.PathLike) else s for s in sources]
        self._rows: npt.NDArray[np.int64] = np.arange(len(sources))

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<{len(self)} images, {'native size' if self.size is None else self.size}>"

    @cached_property
    def shape(self) -> tuple[int, int, int, int]:
        """What the shape of all images would be, known from the first."""
        if self.size is not None:
            return len(self), 3, self.size, self.size
        if not self._sources:
            return 0, 3, 0, 0
        _, height, width = self._decode(self._rows[0] if len(self) else 0).shape
        return len(self), 3, height, width

    @overload
    def __getitem__(self, index: int | np.integer) -> npt.NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | npt.NDArray[Any]) -> Images: ...
    def __getitem__(
        self, index: int | np.integer | slice | Sequence[int] | npt.NDArray[Any]
    ) -> Images | npt.NDArray[np.uint8]:
        rows = self._rows[index]
        if not isinstance(rows, np.ndarray):
            return self._decode(rows).copy()
        if rows.ndim > 1:
            raise IndexError("images are indexed along their first axis only")
        view = Images([], self.size, self.strict)
        view._sources, view._rows = self._sources, rows
        return view

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("images have to be decoded: there is no array without a copy")
        pixels = np.empty(self.shape, np.uint8)

        def put(i: int) -> None:
            image = self._decode(self._rows[i])
            if image.shape != pixels.shape[1:]:
                sizes = " and ".join(f"{w} x {h}" for _, h, w in (image.shape, pixels.shape[1:]))
                raise ClsnetError(
                    f"{self._name(self._rows[i])} and {self._name(self._rows[0])} differ in size "
                    f"({sizes}): give a size to scale them to"
                )
            pixels[i] = image

        for _ in self._in_threads(put):
            pass
        return pixels if dtype is None else pixels.astype(dtype, copy=False)

    @property
    def place(self) -> tuple[int, bytes]:
        """Which images these are, among all that are in memory now."""
        return id(self._sources), self._rows.tobytes()

    def digests(self) -> list[bytes]:
        """Return bytes for each image that tell what it decodes to.

        The first 16 are the digest of the file's contents, the others tell how it is scaled.
        """
        rule = RULE + str(self.size).encode()
        scaled = blake2b(rule, digest_size=RULE_BYTES).digest()

        def digest(i: int) -> bytes:
            with self._opened(self._rows[i]) as file:
                found = blake2b(digest_size=16)
                while part := file.read(PART):
                    found.update(part)
                return found.digest() + scaled

        return list(self._in_threads(digest))

    def inspect(self) -> Iterator[tuple[int, int] | str]:
        """Decode each image and yield its height and width, or the one line why it has none."""

        def look(i: int) -> tuple[int, int] | str:
            try:
                _, height, width = self._decode(self._rows[i]).shape
            except Unreadable as error:
                if self.strict:
                    raise
                return str(error)
            return height, width

        return self._in_threads(look)

    def _in_threads(self, work: Callable[[int], Result]) -> Iterator[Result]:
        """Yield the work on each image; small ones would only get in each other's way."""
        return _in_threads(work, len(self), 1 if self.small else os.cpu_count() or 1)

    @property
    def small(self) -> bool:
        """Whether decoding one is a matter of microseconds, known from the first there is."""
        for row in self._rows:
            try:
                with self._opened(row) as file:
                    return len(file.read(SMALL)) < SMALL
            except Unreadable:
                continue
        return True

    def _name(self, row: np.integer | int) -> str:
        source = self._sources[row]
        return source if isinstance(source, str) else source.name

    @contextmanager
    def _opened(self, row: np.integer | int) -> Iterator[BinaryIO]:
        source = self._sources[row]
        try:
            if isinstance(source, str):
                with open_regular(source, MOST_BYTES) as file:
                    yield file
            else:
                yield io.BytesIO(source.read())
        except OSError as error:
            raise self._unreadable(row, error.strerror or error) from error

    def _decode(self, row: np.integer | int) -> npt.NDArray[np.uint8]:
        with self._opened(row) as file, budget.encoded(length := file.seek(0, os.SEEK_END)):
            file.seek(0)
            try:
                return decode(file.read(length), self.size, self._name(row))
            except Unreadable as error:
                raise self._unreadable(row, error) from error

    def _unreadable(self, row: np.integer | int, reason: object) -> Unreadable:
        return Unreadable(
            f"cannot read the image {self._name(row)}: {reason}; replace or remove it"
        )


def readable(images: Images) -> tuple[npt.NDArray[np.bool_], list[str]]:
    """Decode all images; return a mask of the readable ones, and one line about each other one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clsnet.images import Images, readable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.png"
    ...     _ = path.write_bytes(b"no image")
    ...     mask, lines = readable(Images([path]))
    >>> mask, lines
    (array([False]), ['cannot read the image ...a.png: not an image of a known format; ...'])
    """
    found = list(images.inspect())
    lines = [line for line in found if isinstance(line, str)]
    return np.array([not isinstance(line, str) for line in found], bool), lines


def _in_threads(work: Callable[[int], Result], n: int, threads: int) -> Iterator[Result]:
    """Yield the work on 0 to n - 1, done in chunks by threads; the first failure ends it."""
    from concurrent.futures import ThreadPoolExecutor

    size = max(1, min(CHUNK, n // (4 * threads)))
    pool = ThreadPoolExecutor(threads)
    try:
        chunks = (range(n)[start : start + size] for start in range(0, n, size))
        for done in pool.map(lambda chunk: [work(i) for i in chunk], chunks):
            yield from done
    finally:
        pool.shutdown(cancel_futures=True)
