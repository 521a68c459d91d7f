"""Changes of the model: learn, correct, forget, undo and merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from clsnet import photos
from clsnet.page.refusals import Refused, in_own_words
from clsnet.page.scratch import SOURCE
from clsnet.page.telling import about
from clsnet.page.uploads import MOST_MODEL, MOST_TEXT, Form, body, need_photos, received
from clsnet.page.workbench import Workbench
from clsnet.photos.learning import learn_class
from clsnet.photos.telling import told_undone
from clsnet.storage.json_text import read_json
from clsnet.storage.schema import Misfit, listed, record, text

LONGEST_CLASS = 255  # as long as the name of a folder
CLASSES = record({"classes": listed(text(1000), most=1000)})
Told = dict[str, Any]


async def learn(request: Request) -> JSONResponse:
    """Learn photos of one class."""
    bench: Workbench = request.app.state.bench
    bench.check_teaching()
    async with received(request, bench.scratch) as form:
        label = class_name(form)
        need_photos(form)

        def work() -> Told:
            done = learn_class(bench.model, form.files, label, source=SOURCE, allow=bench.allow)
            return {
                "learned": sum(done.counts.values()),
                "already": done.known,
                "unreadable": _unreadable(done.unreadable, form),
                "warnings": done.warnings,
            }

        return await _changed(bench, work, form.names)


async def correct(request: Request) -> JSONResponse:
    """Let photos be of another class."""
    bench: Workbench = request.app.state.bench
    bench.check_teaching()
    async with received(request, bench.scratch) as form:
        label, new = class_name(form), form.fields.get("new", "false").lower() == "true"
        need_photos(form)

        def work() -> Told:
            done = photos.correct(bench.model, form.files, label, new=new, allow=bench.allow)
            moved = [{"from": old, "to": done.label, "photos": n} for old, n in done.moved.items()]
            return {"moved": moved, "learned": done.learned, "already": done.known}

        return await _changed(bench, work, form.names)


async def forget(request: Request) -> JSONResponse:
    """Forget classes, or photos one by one."""
    bench: Workbench = request.app.state.bench
    bench.check_teaching()
    if request.headers.get("content-type", "").startswith("application/json"):
        return await _forget(bench, await _classes(request), Form())
    async with received(request, bench.scratch) as form:
        need_photos(form)
        return await _forget(bench, [], form)


async def undo(request: Request) -> JSONResponse:
    """Take back the last change."""
    bench: Workbench = request.app.state.bench
    bench.check_teaching()

    def work() -> Told:
        done = photos.undo(bench.model)
        verb = "Done again" if done.again else "Undone"
        return {"undone": f"{verb}: {told_undone(done)}."}

    return await _changed(bench, work)


async def merge(request: Request) -> JSONResponse:
    """Take in what another model has learned."""
    bench: Workbench = request.app.state.bench
    bench.check_teaching()
    async with received(
        request, bench.scratch, files="model", most_files=1, most_bytes=MOST_MODEL
    ) as form:
        if not form.files:
            raise Refused(400, "no-model", "Send the file of a model, in a field named model.")

        def work() -> Told:
            both = [bench.model, *form.files]
            done = photos.merge(both, bench.model, overwrite=True, allow=bench.allow)
            return {"shared": done.shared, "warnings": done.warnings}

        return await _changed(bench, work, form.names)


def class_name(form: Form) -> str:
    """Return the class that a form names, or refuse it."""
    label = form.fields.get("class", "").strip()
    if not label:
        raise Refused(400, "bad-name", "Name the class, in a field named class.")
    if len(label) > LONGEST_CLASS:
        message = f"The name of a class may have {LONGEST_CLASS} characters, not {len(label):,}."
        raise Refused(400, "bad-name", message)
    if not label.isprintable():
        raise Refused(400, "bad-name", "The name of a class may hold no control characters.")
    return label


async def _changed(
    bench: Workbench, work: Callable[[], Told], names: Mapping[Path, str] | None = None
) -> JSONResponse:
    """Change the model, and answer with what it is then."""
    done = await bench.change(work, names)
    return JSONResponse({**done, "info": await bench.read(lambda: about(bench))})


async def _forget(bench: Workbench, classes: list[str], form: Form) -> JSONResponse:
    def work() -> Told:
        done = photos.forget(bench.model, classes, photos=form.files, allow=bench.allow)
        return {
            "forgotten": list(done.counts),
            "photos": sum(done.counts.values()) + sum(done.photos.values()),
        }

    return await _changed(bench, work, form.names)


async def _classes(request: Request) -> list[str]:
    """Return the classes that a request names as JSON."""
    data = b"".join([part async for part in body(request, MOST_TEXT)])
    try:
        found = read_json(data)
        CLASSES.check(found, "the request")
    except Misfit as error:
        raise Refused(400, "bad-json", f'Send {{"classes": ["NAME"]}}: {error}.') from None
    classes: list[str] = found["classes"]
    if not classes:
        raise Refused(400, "bad-json", "Name the classes to forget.")
    return classes


def _unreadable(lines: list[str], form: Form) -> list[dict[str, str]]:
    """Return lines about photos, each with the name of its photo."""
    found = []
    for line in lines:
        name = next((name for path, name in form.names.items() if str(path) in line), "")
        found.append({"name": name, "error": in_own_words(line, form.names)})
    return found
