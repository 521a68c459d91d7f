"""Reading files from inside a zip archive, from any number of threads and processes."""

import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from clsnet.errors import ClsnetError

LOCAL_HEADER = struct.Struct("<4s22xHH")
MOST_BYTES = 1 << 26  # of a file in an archive; all of them are images or lists


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive; reading it opens the archive anew, so nothing is shared."""

    archive: str
    path: str
    offset: int
    packed: int
    size: int
    crc: int
    deflated: bool

    @property
    def name(self) -> str:
        """The archive and the path in it."""
        return f"{self.archive}/{self.path}"

    def read(self) -> bytes:
        """Return the file's contents, or raise `OSError` if they are damaged."""
        with Path(self.archive).open("rb") as file:
            file.seek(self.offset)
            header = file.read(LOCAL_HEADER.size)
            if len(header) < LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
                raise OSError("it is not where the archive says")
            _, name_length, extra_length = LOCAL_HEADER.unpack(header)
            file.seek(name_length + extra_length, 1)
            data = file.read(min(self.packed, MOST_BYTES + 1))
        try:
            contents = _inflated(data, self.size + 1) if self.deflated else data
        except zlib.error as error:
            raise OSError(f"its compressed data are damaged ({error})") from error
        if len(contents) != self.size:
            raise OSError("it is not as long as the archive says")
        if zlib.crc32(contents) != self.crc:
            raise OSError("its checksum is wrong")
        return contents


def members(archive: Path) -> dict[str, Member]:
    """List the files in a zip archive by their paths in it.

    Examples
    --------
    >>> import tempfile, zipfile
    >>> from pathlib import Path
    >>> from clsnet.data.zipped import members
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.zip"
    ...     with zipfile.ZipFile(path, "w") as file:
    ...         file.writestr("b/c.txt", "hello")
    ...     {name: member.read() for name, member in members(path).items()}
    {'b/c.txt': b'hello'}
    """
    try:
        with zipfile.ZipFile(archive) as file:
            infos = [info for info in file.infolist() if not info.is_dir()]
    except (OSError, zipfile.BadZipFile) as error:
        raise ClsnetError(f"cannot read {archive}: {error}; replace it by a good copy") from error
    for info in infos:
        if info.flag_bits & 1 or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise ClsnetError(
                f"{archive} holds {info.filename} encrypted or compressed in a rare way: unpack it"
            )
    for info in infos:
        if info.file_size > MOST_BYTES:
            raise ClsnetError(
                f"{archive} holds {info.filename!r:.80}, which has more than {MOST_BYTES:,} bytes"
            )
    return {
        info.filename: Member(
            str(archive),
            info.filename,
            info.header_offset,
            info.compress_size,
            info.file_size,
            info.CRC,
            info.compress_type == zipfile.ZIP_DEFLATED,
        )
        for info in infos
    }


def _inflated(data: bytes, most: int) -> bytes:
    """Return at most so many bytes of what is compressed."""
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, most)
