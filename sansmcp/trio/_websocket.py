"""An open websocket as a channel of messages (RFC 6455). The framing is wsproto's."""

import math
from collections import deque
from contextlib import suppress
from typing import Final

import trio
from wsproto import WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage
from wsproto.utilities import LocalProtocolError

from sansmcp import OutgoingMessage

from ._pump import CHUNK
from .transport import MessageChannel

__all__ = ["PROTOCOL_ERROR", "WebSocketChannel"]

# Close codes, RFC 6455 section 7.4.1.
NORMAL: Final = 1000
GOING_AWAY: Final = 1001
PROTOCOL_ERROR: Final = 1002
UNSUPPORTED_DATA: Final = 1003
NO_STATUS: Final = 1005
TOO_BIG: Final = 1009


class WebSocketChannel(MessageChannel):
    """One end of a websocket, after its handshake. Every message is a text.

    Reading never waits for writing, or two peers that are both in the middle of a long message
    might wait for each other to answer a ping.

    Args:
        stream: what the handshake was held over.
        websocket: the state of it.
        max_message_size: bytes. A longer message closes the websocket (1009).
    """

    def __init__(
        self, stream: trio.abc.Stream, websocket: WSConnection, max_message_size: int
    ) -> None:
        self._stream = stream
        self._websocket = websocket
        self._max_message_size = max_message_size
        self._partial = bytearray()
        self._received: deque[bytes] = deque()
        # How receiving ends, once it has; and what we say when we close.
        self._ended: Exception | None = None
        self._farewell = CloseConnection(NORMAL if websocket.client else GOING_AWAY)
        self._sending = trio.Lock()
        self._torn = False
        # The answer to the last ping; the ones before it need none.
        self._pong: Pong | None = None
        self._stirred = trio.Event()
        # Since when nothing has come while we were listening; None while we are not.
        self._silent_since: float | None = None

    # ---- messages

    async def send(self, value: OutgoingMessage) -> None:
        """Send a message as one text frame."""
        await self._send(TextMessage(value.text.decode()))

    async def receive(self) -> bytes:
        """The next message, in UTF-8.

        Raises:
            trio.EndOfChannel: the peer has closed the websocket in good order.
            trio.BrokenResourceError: it was closed otherwise, by either side; says why.
        """
        await trio.lowlevel.checkpoint()
        while not self._received:
            self._check()
            self._silent_since = trio.current_time()
            try:
                data = await self._stream.receive_some(CHUNK)
            except trio.ClosedResourceError:
                self._check()
                raise
            finally:
                self._silent_since = None
            if not data:
                raise trio.BrokenResourceError("the websocket ended without being closed")
            self._websocket.receive_data(bytes(data))
            for event in self._websocket.events():
                if not self._take(event):
                    break
        return self._received.popleft()

    def _check(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _take(self, event: Event) -> bool:
        """Take one event; whether the websocket is to be read any further."""
        match event:
            case TextMessage():
                self._partial += event.data.encode()
                if len(self._partial) > self._max_message_size:
                    limit = f"at most {self._max_message_size:,} bytes are taken"
                    self._fail(TOO_BIG, f"a message that is too long: {limit}")
                elif event.message_finished:
                    self._received.append(bytes(self._partial))
                    self._partial.clear()
            case BytesMessage():
                self._fail(UNSUPPORTED_DATA, "a binary message")
            case Ping():
                self._pong = event.response()
                self._stirred.set()
            case CloseConnection() if self._websocket.state is ConnectionState.OPEN:
                # What wsproto makes of a frame that it cannot read.
                self._fail(event.code, event.reason or "a frame that cannot be read")
            case CloseConnection():
                self._farewell = event.response()
                if event.code in (NORMAL, GOING_AWAY, NO_STATUS):
                    self._ended = trio.EndOfChannel()
                else:
                    reason = f": {event.reason}" if event.reason else ""
                    self._ended = trio.BrokenResourceError(
                        f"the peer closed the websocket with {int(event.code)}{reason}"
                    )
        return self._ended is None

    def _fail(self, code: int, reason: str) -> None:
        self._farewell = CloseConnection(code, reason)
        self._ended = trio.BrokenResourceError(
            f"the peer broke the websocket ({int(code)}): {reason}"
        )

    async def _send(self, event: Event) -> None:
        async with self._sending:
            try:
                data = self._websocket.send(event)
            except LocalProtocolError:
                raise trio.BrokenResourceError("the websocket is closing") from None
            self._torn = True
            await self._stream.send_all(data)
            self._torn = False

    # ---- signs of life

    async def keep_alive(self, interval: float) -> None:
        """Answer pings and send some, until the websocket ends; break it if the peer is silent.

        Args:
            interval: seconds between two pings; the first has to have an effect until the second.
        """
        asked = math.inf
        due = trio.current_time() + interval
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                with trio.move_on_at(due):
                    await self._stirred.wait()
                self._stirred = trio.Event()
                if self._pong is not None:
                    pong, self._pong = self._pong, None
                    await self._send(pong)
                if trio.current_time() < due:
                    continue
                if self._silent_since is not None and self._silent_since < asked < math.inf:
                    self._ended = trio.BrokenResourceError("the peer does not answer pings")
                    await trio.aclose_forcefully(self._stream)
                    return
                await self._send(Ping())
                asked = trio.current_time()
                due = asked + interval

    # ---- the end

    async def aclose(self) -> None:
        """Say why, wait for the peer to say goodbye as well, and close the stream."""
        try:
            if not self._torn:
                with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                    await self._part()
        finally:
            await self._stream.aclose()

    async def _part(self) -> None:
        await self._send(self._farewell)
        # Whoever closes with something unread may destroy what was sent last.
        while self._websocket.state is ConnectionState.LOCAL_CLOSING:
            data = await self._stream.receive_some(CHUNK)
            if not data:
                return
            self._websocket.receive_data(bytes(data))
            for _ in self._websocket.events():
                pass
