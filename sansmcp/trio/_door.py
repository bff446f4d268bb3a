"""The handshake of a websocket, as both sides hold it (RFC 6455, section 4)."""

import ipaddress
from collections.abc import Collection
from typing import Final, cast
from urllib.parse import urlsplit

import attrs
import trio
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, Event, RejectConnection, RejectData, Request
from wsproto.utilities import RemoteProtocolError

from ._listeners import Listener
from ._pump import CHUNK
from ._websocket import WebSocketChannel

__all__ = ["SUBPROTOCOL", "Door", "first_event", "listens_on_loopback"]

#: The name by which both sides know that this is MCP.
SUBPROTOCOL: Final = "mcp"


async def first_event(stream: trio.abc.Stream, websocket: WSConnection) -> Event:
    """What the peer says in the handshake."""
    while True:
        for event in websocket.events():
            return event
        data = await stream.receive_some(CHUNK)
        if not data:
            raise trio.BrokenResourceError("the peer closed the connection in the handshake")
        websocket.receive_data(bytes(data))


def listens_on_loopback(listener: Listener) -> bool:
    """Whether only this machine can connect."""
    if isinstance(listener, trio.SSLListener):
        listener = cast(trio.SocketListener, listener.transport_listener)
    return _is_loopback(listener.socket.getsockname()[0])


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@attrs.frozen(kw_only=True)
class Door:
    """Lets clients in, or not. `hosts` is None where every name will do."""

    origins: Collection[str]
    hosts: Collection[str] | None
    require_subprotocol: bool
    max_message_size: int

    async def open(self, stream: trio.abc.Stream) -> WebSocketChannel | None:
        """Hold the handshake; None where there is to be no websocket."""
        websocket = WSConnection(ConnectionType.SERVER)
        try:
            request = cast(Request, await first_event(stream, websocket))
            refusal = self._refusal(request)
        except RemoteProtocolError as error:
            hint = error.event_hint
            status = hint.status_code if isinstance(hint, RejectConnection) else 400
            refusal = status, str(error)
        except ValueError:
            refusal = 400, "a header that cannot be read"
        if refusal is None:
            agreed = SUBPROTOCOL if SUBPROTOCOL in request.subprotocols else None
            await stream.send_all(websocket.send(AcceptConnection(agreed)))
            return WebSocketChannel(stream, websocket, self.max_message_size)
        status, why = refusal
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(why))]
        reject = RejectConnection(status_code=status, headers=headers, has_body=True)
        await stream.send_all(websocket.send(reject) + websocket.send(RejectData(why.encode())))
        return None

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        for header, value in request.extra_headers:
            if header == b"origin" and value.decode("latin-1").lower() not in self.origins:
                return 403, "this origin is not allowed"
        name = urlsplit(f"//{request.host}").hostname or ""
        if self.hosts is not None and not (name in self.hosts or _is_loopback(name)):
            return 403, "this host name is not allowed"
        if self.require_subprotocol and SUBPROTOCOL not in request.subprotocols:
            return 400, f"the subprotocol {SUBPROTOCOL} is required"
        return None
