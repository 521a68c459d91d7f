"""The application: the page, and the API behind it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates
from starlette.types import ASGIApp

import clsnet
from clsnet.page import asking, downloads, openapi, teaching, telling
from clsnet.page.guard import Guard
from clsnet.page.refusals import HANDLERS, Refused
from clsnet.page.session import Access, Session
from clsnet.page.workbench import Workbench, use_little_memory

HERE = Path(__file__).parent
TEMPLATES = Jinja2Templates(HERE / "templates")
API = "/api/v1"


def page_app(bench: Workbench, session: Session, hosts: Collection[str]) -> ASGIApp:
    """Return the page with its API, for the browser that brings the one-time token."""

    async def page(request: Request) -> Response:
        return await _page(request, session)

    static = StaticFiles(directory=HERE / "static")
    routes = [Route("/", page), Mount("/static", static), *api_routes()]
    return _guarded(bench, routes, session, hosts, doors=("/",))


def api_app(bench: Workbench, access: Access, hosts: Collection[str] | None) -> ASGIApp:
    """Return the API alone."""
    return _guarded(bench, api_routes(), access, hosts)


def api_routes() -> list[Route]:
    """Return everything that programs can ask for."""
    gets = {
        "info": telling.info,
        "map": telling.see_map,
        "confusions": telling.see_confusions,
        "model": downloads.model,
        "export": downloads.export,
    }
    posts = {
        "predict": asking.predict,
        "learn": teaching.learn,
        "correct": teaching.correct,
        "forget": teaching.forget,
        "undo": teaching.undo,
        "merge": teaching.merge,
    }
    return [
        Route("/api", _documentation),
        Route(f"{API}/openapi.json", _openapi),
        *(Route(f"{API}/{name}", answer, methods=["GET"]) for name, answer in gets.items()),
        *(Route(f"{API}/{name}", answer, methods=["POST"]) for name, answer in posts.items()),
    ]


def _guarded(
    bench: Workbench,
    routes: list[Any],
    access: Access,
    hosts: Collection[str] | None,
    doors: Collection[str] = (),
) -> ASGIApp:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        use_little_memory()
        threading.Thread(target=bench.warm_up, daemon=True).start()
        try:
            yield
        finally:
            bench.close()

    app = Starlette(routes=routes, exception_handlers=HANDLERS, lifespan=lifespan)
    app.state.bench = bench
    return Guard(app, access, hosts, doors)


async def _documentation(request: Request) -> Response:
    context = {
        "version": clsnet.__version__,
        "operations": openapi.OPERATIONS,
        "codes": openapi.CODES,
    }
    return TEMPLATES.TemplateResponse(request, "api.html", context)


async def _openapi(request: Request) -> Response:
    return JSONResponse(openapi.description())


async def _page(request: Request, session: Session) -> Response:
    """Answer with the page; the one-time token in the address becomes a cookie."""
    bench: Workbench = request.app.state.bench
    known = session.allows(request.headers)
    token = request.query_params.get("token")
    if token is not None:
        cookie = session.exchange(token)
        if cookie is None and not known:
            message = "This link was used before: end clsnet page with Ctrl-C and start it again."
            raise Refused(401, "no-token", message)
        response = RedirectResponse("/", 303)
        if cookie is not None:
            response.set_cookie(session.cookie_name, cookie, httponly=True, samesite="strict")
        return response
    if not known:
        raise Refused(401, "no-token", "Open the link that clsnet page printed in the terminal.")
    context = {"model": bench.model.name, "version": clsnet.__version__}
    return TEMPLATES.TemplateResponse(request, "page.html", context)
