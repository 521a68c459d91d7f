"""What photos show."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from clsnet.errors import ClsnetError
from clsnet.page.refusals import Refused, in_own_words
from clsnet.page.uploads import Form, need_photos, received
from clsnet.page.workbench import Workbench
from clsnet.photos.predicting import REJECT, Prediction, check_question

TOP, NEAREST = 3, 3
MOST = 100  # classes that are named


async def predict(request: Request) -> JSONResponse:
    """Answer what uploaded photos show."""
    bench: Workbench = request.app.state.bench
    top, reject = _number(request, "top", int, TOP), _number(request, "reject", float, REJECT)
    try:
        check_question(top, reject)
    except ClsnetError as error:
        raise Refused(400, "bad-question", str(error)) from None
    async with received(request, bench.scratch) as form:
        need_photos(form)
        begun = time.perf_counter()

        def answer() -> list[Prediction]:
            named = min(max(top, NEAREST), MOST)
            return bench.answering().answers(form.files, top=named, reject=reject)

        found = await bench.read(answer, form.names)
    seconds = round(time.perf_counter() - begun, 4)
    return JSONResponse({"answers": [_told(one, form, top) for one in found], "seconds": seconds})


def _told(found: Prediction, form: Form, top: int) -> dict[str, Any]:
    name = form.names[found.path]
    if found.unreadable:
        return {"name": name, "error": in_own_words(found.unreadable, form.names)}
    chances = [{"label": label, "probability": chance} for label, chance in found.top]
    return {
        "name": name,
        "label": found.label,
        "top": chances[:top],
        "nearest": chances[:NEAREST],
    }


def _number(request: Request, name: str, kind: Any, default: Any) -> Any:
    given = request.query_params.get(name)
    try:
        return default if given is None else kind(given)
    except ValueError:
        raise Refused(400, "bad-question", f"{name} has to be a number.") from None
