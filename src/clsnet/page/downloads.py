"""The model as a file to keep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BufferedReader
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import StreamingResponse

from clsnet.errors import ClsnetError
from clsnet.page.workbench import Workbench, give_memory_back
from clsnet.photos import export as export_model
from clsnet.storage.regular_files import open_regular

CHUNK = 2**20


async def model(request: Request) -> StreamingResponse:
    """Answer with the model's file."""
    bench: Workbench = request.app.state.bench

    def opened() -> BufferedReader:
        try:
            return open_regular(bench.model)
        except OSError as error:
            raise ClsnetError(f"cannot read {bench.model}: {error.strerror}.") from error

    return _download(await bench.read(opened), bench.model.name)


async def export(request: Request) -> StreamingResponse:
    """Answer with the model as an ONNX file."""
    bench: Workbench = request.app.state.bench

    def opened() -> BufferedReader:
        with bench.scratch.places() as place:  # an open file outlives its name
            made = export_model(bench.model, place(".onnx"), allow=bench.allow)
            return open_regular(made.path)

    file = await bench.read(opened)
    give_memory_back()
    return _download(file, f"{bench.model.stem}.onnx")


def _download(file: BufferedReader, name: str) -> StreamingResponse:
    size = os.fstat(file.fileno()).st_size

    def parts() -> Iterator[bytes]:
        with file:
            while part := file.read(CHUNK):
                yield part

    headers = {
        "content-length": str(size),
        "content-disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}",
    }
    return StreamingResponse(parts(), headers=headers, media_type="application/octet-stream")
