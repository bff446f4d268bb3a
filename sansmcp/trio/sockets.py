"""TCP and Unix sockets: one message a line, as over stdio, with or without TLS."""

import errno
import os
import socket
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Never, Unpack

import trio

from ._listeners import Listeners, listen_tcp, open_tcp, serve_listeners
from .server import Server
from .session import ClientOptions, Session, open_session

__all__ = ["connect_tcp", "connect_unix", "serve_tcp", "serve_unix"]

#: What a Unix socket's file allows: its owner everything, others nothing.
_OWNER_ONLY: Final = stat.S_IRUSR | stat.S_IWUSR


@asynccontextmanager
async def connect_tcp(
    host: str,
    port: int,
    *,
    ssl_context: ssl.SSLContext | None = None,
    **options: Unpack[ClientOptions],
) -> AsyncIterator[Session]:
    """A session with a server over TCP, as long as the block lasts.

    Args:
        host: a name or an address.
        port: its port.
        ssl_context: for TLS, such as `ssl.create_default_context()`; without TLS if left out.
        options: see `ClientOptions`.

    Raises:
        OSError: there is no connection.
        SessionError: as `open_session`.
    """
    async with open_session(await open_tcp(host, port, ssl_context), **options) as session:
        yield session


@asynccontextmanager
async def connect_unix(
    path: str | os.PathLike[str], **options: Unpack[ClientOptions]
) -> AsyncIterator[Session]:
    """A session with a server over a Unix socket, as long as the block lasts.

    Args:
        path: the socket's file.
        options: see `ClientOptions`.

    Raises:
        OSError: there is no connection.
        RuntimeError: this system has no Unix sockets, or Trio does not know them.
        SessionError: as `open_session`.
    """
    async with open_session(await trio.open_unix_socket(path), **options) as session:
        yield session


async def serve_tcp(
    server: Server,
    host: str,
    port: int,
    *,
    ssl_context: ssl.SSLContext | None = None,
    max_connections: int = 1000,
    task_status: trio.TaskStatus[Listeners] = trio.TASK_STATUS_IGNORED,
) -> Never:
    """Serve over TCP until cancelled.

    Whoever can reach the port can use the server. Without TLS, everybody on the way can listen.

    Args:
        server: serves all connections.
        host: the address to listen on, such as "127.0.0.1".
        port: 0 for any that is free.
        ssl_context: for TLS, with the server's certificate; without TLS if left out.
        max_connections: further ones are closed at once.
        task_status: for `nursery.start`, which gives the listeners, as does `trio.serve_tcp`.

    Raises:
        OSError: the address cannot be listened on.
    """

    async def serve(stream: trio.abc.Stream, nursery: trio.Nursery) -> None:
        await server.serve(stream, task_nursery=nursery)

    listeners = await listen_tcp(host, port, ssl_context)
    await serve_listeners(serve, listeners, max_connections, task_status)


async def serve_unix(
    server: Server,
    path: str | os.PathLike[str],
    *,
    max_connections: int = 1000,
    task_status: trio.TaskStatus[Listeners] = trio.TASK_STATUS_IGNORED,
) -> Never:
    """Serve over a Unix socket until cancelled. Its file is removed at the end.

    Only processes of the same user can connect: the file has the mode 0600. A file left behind by a
    server that is gone is replaced; where one is listening, or the file is no socket, it is kept.

    Args:
        server: serves all connections.
        path: the socket's file.
        max_connections: further ones are closed at once.
        task_status: for `nursery.start`.

    Raises:
        OSError: the file is in use, or cannot be made.
        RuntimeError: this system has no Unix sockets, or Trio does not know them.
    """
    if not hasattr(trio.socket, "AF_UNIX"):
        raise RuntimeError("Unix sockets are not supported on this system")

    async def serve(stream: trio.abc.Stream, nursery: trio.Nursery) -> None:
        # All clients are the same user.
        await server.serve(stream, task_context="", task_nursery=nursery)

    file = Path(path)
    _remove_stale(file)
    with trio.socket.socket(trio.socket.AF_UNIX) as listening:
        await listening.bind(str(file))
        ours = file.lstat()
        try:
            # Nobody can connect before `listen`, so the mode is never too wide.
            file.chmod(_OWNER_ONLY)
            listening.listen()
            listener = trio.SocketListener(listening)
            await serve_listeners(serve, [listener], max_connections, task_status)
        finally:
            with suppress(OSError):
                if os.path.samestat(file.lstat(), ours):
                    file.unlink()


def _remove_stale(file: Path) -> None:
    """Remove a socket that nobody listens on. All else is left for `bind` to complain about."""
    try:
        if not stat.S_ISSOCK(file.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        if probe.connect_ex(str(file)) == errno.ECONNREFUSED:
            file.unlink(missing_ok=True)
