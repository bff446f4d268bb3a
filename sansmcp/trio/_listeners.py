"""TCP connections and the accepting of connections, for the transports that stand on them."""

import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Never, TypeAlias

import trio

from ._pump import logger

__all__ = ["Listener", "Listeners", "listen_tcp", "open_tcp", "serve_listeners"]

Listener: TypeAlias = trio.SocketListener | trio.SSLListener[trio.SocketStream]
Listeners: TypeAlias = Sequence[Listener]


async def open_tcp(
    host: str, port: int, ssl_context: ssl.SSLContext | None
) -> trio.SocketStream | trio.SSLStream[trio.SocketStream]:
    """A stream to a TCP server, with TLS if there is a context for it."""
    if ssl_context is None:
        return await trio.open_tcp_stream(host, port)
    # "https_compatible": the end of TLS is not negotiated. A message cut short is noticed anyway.
    return await trio.open_ssl_over_tcp_stream(
        host, port, ssl_context=ssl_context, https_compatible=True
    )


async def listen_tcp(host: str, port: int, ssl_context: ssl.SSLContext | None) -> Listeners:
    """Listeners on all addresses of a host, with TLS if there is a context for it."""
    if ssl_context is None:
        return await trio.open_tcp_listeners(port, host=host)
    return await trio.open_ssl_over_tcp_listeners(
        port, ssl_context, host=host, https_compatible=True
    )


async def serve_listeners(
    serve: Callable[[Any, trio.Nursery], Awaitable[None]],
    listeners: Listeners,
    max_connections: int,
    task_status: trio.TaskStatus[Listeners],
) -> Never:
    """Accept connections until cancelled, and hang up at once on those beyond the limit.

    What goes wrong with one connection ends that one, and is logged.

    Args:
        serve: serves one connection; gets a nursery for what is to outlive it.
        listeners: where to accept.
        max_connections: at the same time.
        task_status: for `nursery.start`.
    """
    connections = 0

    async def serve_one(stream: trio.abc.Stream) -> None:
        nonlocal connections
        if connections >= max_connections:
            logger.warning("a connection beyond the limit of %d was refused", max_connections)
            await trio.aclose_forcefully(stream)
            return
        connections += 1
        try:
            await serve(stream, nursery)
        except Exception:
            logger.exception("a connection failed")
        finally:
            connections -= 1

    async with trio.open_nursery() as nursery:
        await trio.serve_listeners(serve_one, list(listeners), task_status=task_status)
