"""What stands before every request: Host, origin, token and headers."""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clsnet.page.refusals import Refused
from clsnet.page.session import Access

SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; object-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Guard:
    """Lets a request through only from whom it should come; the body is not read before.

    Parameters
    ----------
    app
        Answers what is let through.
    access
        Decides who may ask.
    hosts
        What the Host header may be; None if it may be anything, which needs a token.
    doors
        Paths that are open to whoever comes, to get access.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        hosts: Collection[str] | None,
        doors: Collection[str] = (),
    ) -> None:
        self.app, self.access, self.hosts, self.doors = app, access, hosts, doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":  # there are no web sockets here
            return await send({"type": "websocket.close", "code": 1008})

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self._check(scope, Headers(scope=scope))
        except Refused as refused:
            return await refused.response()(scope, receive, send_guarded)
        return await self.app(scope, receive, send_guarded)

    def _check(self, scope: Scope, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if self.hosts is not None and (len(hosts) != 1 or hosts[0].lower() not in self.hosts):
            raise Refused(403, "other-host", "This address does not belong to clsnet.")
        if scope["path"] in self.doors and scope["method"] in SAFE:
            return
        if not self.access.allows(headers):
            raise Refused(401, "no-token", "Open the link that clsnet printed, or send its token.")
        if not self._is_from_here(scope, headers, hosts):
            raise Refused(403, "other-origin", "Another page may not ask clsnet for anything.")

    def _is_from_here(self, scope: Scope, headers: Headers, hosts: list[str]) -> bool:
        """Tell whether a request comes from our own page, or from no page at all."""
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        ours = {f"{scope['scheme']}://{host.lower()}" for host in hosts}
        if any(origin.lower() not in ours for origin in origins):
            return False
        if scope["method"] in SAFE:
            return all(site in ("same-origin", "none") for site in sites)
        if any(site != "same-origin" for site in sites):
            return False
        return bool(origins or sites) or not self.access.ambient
