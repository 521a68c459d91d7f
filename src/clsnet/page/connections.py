"""Connections that ask nothing are closed, so that nobody can use them up."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0  # seconds to send the whole header of a request
MOST_WAITING = 256


class PromptConnection(H11Protocol):
    """One connection: closed unless a request's header comes in time.

    If too many connections wait for a header, the one that has waited longest is closed.
    """

    waiting: ClassVar[dict[PromptConnection, asyncio.TimerHandle]] = {}
    """Connections on which nothing is being answered, the oldest first."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on to the next request."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._end_waiting()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_waiting()
        elif self not in self.waiting and not self.transport.is_closing():
            self.waiting[self] = self.loop.call_later(PATIENCE, self.transport.close)
            if len(self.waiting) > MOST_WAITING:
                oldest = next(iter(self.waiting))
                oldest._end_waiting()
                oldest.transport.abort()

    def _end_waiting(self) -> None:
        if timer := self.waiting.pop(self, None):
            timer.cancel()
