"""The server of the live page, for this machine only.

It listens on 127.0.0.1, answers nothing without the random token in its address, rejects other
host names (a foreign site could point one of its names here), and can only read.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from terrafl.errors import UserError
from terrafl.reports.html import load_assets, render_page
from terrafl.reports.live.feed import Feed, Overview
from terrafl.reports.live.watched import Watched

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

POLL_S = 0.4
HOST = "127.0.0.1"

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class LiveServer:
    """The page of some folders.

    Parameters
    ----------
    overview
        The runs.
    token
        The secret part of the address.
    """

    overview: Overview
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    def app(self) -> Starlette:
        """Return the application."""
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.routing import Route

        return Starlette(
            routes=[
                Route("/{token}/", self._page),
                Route("/{token}/events", self._events),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
            lifespan=self._polling,
        )

    @asynccontextmanager
    async def _polling(self, app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(self._poll())
        try:
            yield
        finally:
            task.cancel()

    async def _poll(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self.overview.look)
            except Exception:  # the page must go on, whatever a folder holds
                _log.warning("the runs could not be read just now", exc_info=True)
            await asyncio.sleep(POLL_S)

    def _require_token(self, request: Request) -> None:
        from starlette.exceptions import HTTPException

        token = request.path_params["token"].encode()
        if not secrets.compare_digest(token, self.token.encode()):
            raise HTTPException(404)

    async def _page(self, request: Request) -> Response:
        from starlette.responses import HTMLResponse

        self._require_token(request)
        headers = {
            "Content-Security-Policy": load_assets().policy(live=True),
            "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",  # the address is the key
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        return HTMLResponse(render_page([], live=True), headers=headers)

    async def _events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        self._require_token(request)
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        return StreamingResponse(self._news(), headers=headers, media_type="text/event-stream")

    async def _news(self) -> AsyncIterator[str]:
        feed = Feed(self.overview)
        yield feed.opening()
        while True:
            for message in await asyncio.to_thread(feed.news):
                yield message
            await asyncio.sleep(POLL_S)


def serve(
    paths: Sequence[Path],
    *,
    port: int = 0,
    on_ready: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve the live page of some folders until interrupted.

    Parameters
    ----------
    paths
        Folders that runs are in, or will be.
    port
        Port of 127.0.0.1; 0 takes any that is free.
    on_ready
        Called with the address.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise UserError(
            "terrafl watch needs starlette and uvicorn: pip install 'terrafl[watch]'."
        ) from error
    server = LiveServer(Overview(Watched(paths)))
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()  # a browser that opens the address at once waits, and does not fail
        except OSError as error:
            raise UserError(
                f"port {port} of {HOST} must be free; it cannot be used ({error.strerror}): "
                "choose another with --port."
            ) from error
        on_ready(f"http://{HOST}:{listening.getsockname()[1]}/{server.token}/")
        settings = uvicorn.Config(server.app(), log_level="critical", timeout_graceful_shutdown=1)
        uvicorn.Server(settings).run(sockets=[listening])
