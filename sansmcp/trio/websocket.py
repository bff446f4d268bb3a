"""Websockets: one message a text frame, subprotocol `mcp`.

A custom transport (basic/transports, CUST-03). The client opens the websocket and names the
subprotocol; from then on each text frame is one JSON-RPC message, in either direction, and the
conversation is that of every transport, beginning with `initialize`. Closing the websocket ends it.
"""

import ssl
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Never, Unpack
from urllib.parse import urlsplit

import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, RejectConnection, Request
from wsproto.utilities import RemoteProtocolError

from sansmcp import Limits

from ._background import background_nursery
from ._door import SUBPROTOCOL, Door, first_event, listens_on_loopback
from ._listeners import Listeners, listen_tcp, open_tcp, serve_listeners
from ._websocket import PROTOCOL_ERROR, WebSocketChannel
from .errors import ConnectionLost
from .server import Server
from .session import ClientOptions, Session, open_session

__all__ = ["SUBPROTOCOL", "connect_websocket", "serve_websocket"]

# ---- the client


@asynccontextmanager
async def connect_websocket(
    url: str,
    *,
    ssl_context: ssl.SSLContext | None = None,
    headers: Mapping[str, str] | None = None,
    connect_timeout: float = 30.0,
    keep_alive: float = 20.0,
    require_subprotocol: bool = True,
    **options: Unpack[ClientOptions],
) -> AsyncIterator[Session]:
    """A session with a server over a websocket, as long as the block lasts.

    Args:
        url: `ws://...` or `wss://...`.
        ssl_context: for `wss`; `ssl.create_default_context()` if left out.
        headers: further ones for the handshake's HTTP request, such as `Authorization`.
        connect_timeout: seconds until the websocket must be open.
        keep_alive: seconds between two pings; a peer that is silent for so long is given up.
        require_subprotocol: whether a server that does not agree to the subprotocol is given up.
        options: see `ClientOptions`.

    Raises:
        ValueError: the URL is none of a websocket.
        OSError: there is no connection.
        SessionError: as `open_session`; `ConnectionLost` where the websocket is refused.
    """
    limits = options.get("limits") or Limits()
    with trio.move_on_after(connect_timeout) as opening:
        channel = await _open(
            url, ssl_context, headers or {}, require_subprotocol, limits.max_message_size
        )
    if opening.cancelled_caught:
        raise ConnectionLost(f"no websocket within {connect_timeout:g} seconds")
    async with background_nursery() as nursery:
        nursery.start_soon(channel.keep_alive, keep_alive)
        async with open_session(channel, **options) as session:
            yield session


async def _open(
    url: str,
    ssl_context: ssl.SSLContext | None,
    headers: Mapping[str, str],
    require_subprotocol: bool,
    max_message_size: int,
) -> WebSocketChannel:
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError(f"expected ws://... or wss://..., got {url!r}")
    if parts.scheme == "wss":
        ssl_context = ssl_context or ssl.create_default_context()
    elif ssl_context is not None:
        raise ValueError("TLS goes with wss://")
    port = parts.port or (443 if ssl_context else 80)
    stream = await open_tcp(parts.hostname, port, ssl_context)
    try:
        websocket = WSConnection(ConnectionType.CLIENT)
        request = Request(
            host=parts.netloc.rpartition("@")[2],
            target=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            subprotocols=[SUBPROTOCOL],
            extra_headers=[(name.encode(), value.encode()) for name, value in headers.items()],
        )
        await stream.send_all(websocket.send(request))
        match await first_event(stream, websocket):
            case AcceptConnection(subprotocol=agreed):
                if agreed == SUBPROTOCOL or not require_subprotocol:
                    return WebSocketChannel(stream, websocket, max_message_size)
                why = f"the server does not speak the subprotocol {SUBPROTOCOL}"
                await stream.send_all(websocket.send(CloseConnection(PROTOCOL_ERROR, why)))
                raise ConnectionLost(why)
            case RejectConnection(status_code=status):
                raise ConnectionLost(f"the server refuses the websocket: HTTP {status}")
            case event:
                raise ConnectionLost(f"no websocket: unexpected {event}")
    except BaseException as error:
        await trio.aclose_forcefully(stream)
        if isinstance(error, (RemoteProtocolError, trio.BrokenResourceError)):
            raise ConnectionLost(f"no websocket: {error}") from error
        raise


# ---- the server


async def serve_websocket(
    server: Server,
    host: str,
    port: int,
    *,
    ssl_context: ssl.SSLContext | None = None,
    origins: Collection[str] = (),
    hosts: Collection[str] = (),
    max_connections: int = 1000,
    handshake_timeout: float = 10.0,
    keep_alive: float = 20.0,
    require_subprotocol: bool = True,
    task_status: trio.TaskStatus[Listeners] = trio.TASK_STATUS_IGNORED,
) -> Never:
    """Serve over websockets until cancelled.

    A page in a browser can open a websocket to any address, that of this machine included, and says
    in the header `Origin` where it comes from. It is refused, unless its origin is listed.

    Args:
        server: serves all connections.
        host: the address to listen on, such as "127.0.0.1".
        port: 0 for any that is free.
        ssl_context: for TLS, with the server's certificate; without TLS if left out.
        origins: of pages that may connect, such as "https://app.example".
        hosts: names under which a server on a loopback address may be addressed, besides `host`,
            "localhost" and the loopback addresses. All others are refused there: a page could have
            its own name point here. On other addresses every name will do.
        max_connections: further ones are closed at once.
        handshake_timeout: seconds until the websocket must be open.
        keep_alive: seconds between two pings; a peer that is silent for so long is given up.
        require_subprotocol: whether clients that do not name the subprotocol are refused.
        task_status: for `nursery.start`, which gives the listeners, as does `trio.serve_tcp`.

    Raises:
        OSError: the address cannot be listened on.
    """
    listeners = await listen_tcp(host, port, ssl_context)
    door = Door(
        origins={origin.lower() for origin in origins},
        hosts=(
            {name.lower() for name in (host, *hosts, "localhost")}
            if all(listens_on_loopback(listener) for listener in listeners)
            else None
        ),
        require_subprotocol=require_subprotocol,
        max_message_size=server.limits.max_message_size,
    )

    async def serve(stream: trio.abc.Stream, task_nursery: trio.Nursery) -> None:
        channel = None
        with (
            trio.move_on_after(handshake_timeout),
            suppress(trio.BrokenResourceError, trio.ClosedResourceError),
        ):
            channel = await door.open(stream)
        if channel is not None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.keep_alive, keep_alive)
                await server.serve(channel, task_nursery=task_nursery)
                nursery.cancel_scope.cancel()

    await serve_listeners(serve, listeners, max_connections, task_status)
