"""Who may ask: a browser that brought the one-time token, or a program with the token."""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Protocol

from starlette.datastructures import Headers


class Access(Protocol):
    """Decides who may ask."""

    ambient: bool
    """Whether a browser proves who it is without being asked to, whatever page makes it."""

    def allows(self, headers: Headers) -> bool:
        """Tell whether whoever sent these headers may ask."""


class Session:
    """The browser that opened the page: it exchanges a one-time token for a cookie.

    Parameters
    ----------
    port
        Where the page is served. Cookies do not know ports, so the name of the cookie does.

    Examples
    --------
    >>> session = Session(8000)
    >>> cookie = session.exchange(session.token)
    >>> session.allows(Headers({"cookie": f"{session.cookie_name}={cookie}"}))
    True
    >>> session.exchange(session.token) is None
    True
    """

    ambient = True

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self.cookie_name = f"clsnet-{port}"
        self._cookie = secrets.token_urlsafe(32)
        self._used = False

    def exchange(self, token: str) -> str | None:
        """Return the cookie's value for the token, once."""
        if self._used or not _same(token, self.token):
            return None
        self._used = True
        return self._cookie

    def allows(self, headers: Headers) -> bool:
        """Tell whether the cookie is there."""
        for line in headers.getlist("cookie"):
            try:
                cookie = SimpleCookie(line).get(self.cookie_name)
            except CookieError:
                continue
            if cookie is not None and _same(cookie.value, self._cookie):
                return True
        return False


class Bearer:
    """Programs that send ``Authorization: Bearer TOKEN``, or any if there is no token.

    Examples
    --------
    >>> Bearer("secret").allows(Headers({"authorization": "Bearer secret"}))
    True
    >>> Bearer("secret").allows(Headers({"authorization": "Bearer guess"}))
    False
    """

    ambient = False

    def __init__(self, token: str | None) -> None:
        self.token = token

    def allows(self, headers: Headers) -> bool:
        """Tell whether the token is there."""
        if self.token is None:
            return True
        kind, _, token = headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and _same(token.strip(), self.token)


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())
