"""Sessions on Trio: the connections of `sansmcp`, bound to transports.

A client is one line, `async with connect_stdio(["some-server"]) as session:`, and so is a server,
`await serve_stdio(server)`; `open_session` and `Server.serve` do the same over any stream.
"""

from ._pump import Notifications
from .context import ClientContext, Context
from .errors import (
    ConnectionLost,
    ElicitationRequired,
    PeerError,
    RequestError,
    RequestTimeout,
    SessionError,
    TaskCancelled,
    ToolError,
    VersionMismatchError,
)
from .memory import connect_memory, memory_pair
from .server import Server
from .session import ClientOptions, ConnectionOptions, Session, open_session
from .sockets import connect_tcp, connect_unix, serve_tcp, serve_unix
from .stdio import SAFE_ENVIRONMENT, Shutdown, connect_stdio, serve_stdio
from .task import TaskHandle
from .transport import MessageChannel, MessageReceived, MessageSent, Observer, Transport
from .websocket import SUBPROTOCOL, connect_websocket, serve_websocket

__all__ = [
    "SAFE_ENVIRONMENT",
    "SUBPROTOCOL",
    "ClientContext",
    "ClientOptions",
    "ConnectionLost",
    "ConnectionOptions",
    "Context",
    "ElicitationRequired",
    "MessageChannel",
    "MessageReceived",
    "MessageSent",
    "Notifications",
    "Observer",
    "PeerError",
    "RequestError",
    "RequestTimeout",
    "Server",
    "Session",
    "SessionError",
    "Shutdown",
    "TaskCancelled",
    "TaskHandle",
    "ToolError",
    "Transport",
    "VersionMismatchError",
    "connect_memory",
    "connect_stdio",
    "connect_tcp",
    "connect_unix",
    "connect_websocket",
    "memory_pair",
    "open_session",
    "serve_stdio",
    "serve_tcp",
    "serve_unix",
    "serve_websocket",
]
