"""Every transport, as something that opens a session with `features.py` behind it."""

import secrets
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme

from sansmcp.trio import (
    Session,
    connect_memory,
    connect_stdio,
    connect_tcp,
    connect_unix,
    connect_websocket,
    serve_tcp,
    serve_unix,
    serve_websocket,
)
from sansmcp.trio._background import background_nursery

from .features import make_server

Connect = Callable[..., AbstractAsyncContextManager[Session]]

FEATURES = [sys.executable, "-m", "tests.trio.features"]
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    return context


@pytest.fixture
def client_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def port_of(listeners: Any) -> int:
    listener = getattr(listeners[0], "transport_listener", listeners[0])
    return int(listener.socket.getsockname()[1])


@asynccontextmanager
async def serving(serve: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
    """Run a `serve_...` function beside the block; gives its listeners."""
    async with background_nursery() as nursery:
        yield await nursery.start(partial(serve, *args, **options))


@pytest.fixture(params=["memory", "stdio", "tcp", "tls", "unix", "websocket", "secure websocket"])
def connect(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    server_context: ssl.SSLContext,
    client_context: ssl.SSLContext,
) -> Connect:
    """Opens a session over one of the transports; its options are those of the session."""

    contexts = client_context, server_context

    @asynccontextmanager
    async def over(**options: Any) -> AsyncIterator[Session]:
        server = make_server()
        match request.param:
            case "memory":
                async with connect_memory(server, **options) as session:
                    yield session
            case "stdio":
                async with connect_stdio(FEATURES, cwd=REPOSITORY, **options) as session:
                    yield session
            case "tcp" | "tls":
                ours, theirs = contexts if request.param == "tls" else (None, None)
                async with (
                    serving(serve_tcp, server, "localhost", 0, ssl_context=theirs) as listeners,
                    connect_tcp(
                        "localhost", port_of(listeners), ssl_context=ours, **options
                    ) as session,
                ):
                    yield session
            case "unix":
                path = tmp_path / secrets.token_hex(4)
                async with (
                    serving(serve_unix, server, path),
                    connect_unix(path, **options) as session,
                ):
                    yield session
            case _:
                secure = request.param == "secure websocket"
                ours, theirs = contexts if secure else (None, None)
                async with serving(
                    serve_websocket, server, "localhost", 0, ssl_context=theirs
                ) as listeners:
                    url = f"{'wss' if secure else 'ws'}://localhost:{port_of(listeners)}/mcp"
                    async with connect_websocket(url, ssl_context=ours, **options) as session:
                        yield session

    return over
