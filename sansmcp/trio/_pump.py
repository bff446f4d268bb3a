"""Runs one connection over one transport. Nothing in here knows a rule of the protocol.

One task reads, one writes, one watches the deadlines, one hands notifications to their handlers,
and every request of the peer's is served in a task and a cancel scope of its own.

Back-pressure. Reading never waits for a handler or for a reader of notifications, because what is
read next may be the answer that they wait for. So memory is bounded at the other end:

- who wants to send something waits for room while more than `ROOM` bytes are unsent; that holds
  for calls, for notifications and for the answers of handlers;
- requests that are being served, or whose answers wait for room, count as in flight, and of these
  there are `Limits.max_requests_in_flight` at most, of `Limits.max_message_size` each;
- what the connection answers by itself (pings, lists, refusals) waits for nobody, so that reading
  stops while more than `OWED` bytes of it are unsent;
- notifications that nobody has taken are kept up to a number, and then the oldest are dropped.

Two peers that follow these rules never wait for each other: what makes one of them stop reading is
neither its own requests nor its handlers' answers, but only a flood of what is answered without
being waited for, and whoever sends requests without reading the answers has stopped first.
"""

import io
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

import trio

from sansmcp import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Connection,
    ConnectionClosed,
    ErrorReceived,
    Event,
    Initialized,
    LineFramer,
    LocalProtocolError,
    NotificationReceived,
    Oversized,
    ProgressReceived,
    ProtocolViolation,
    RequestCancelled,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
    StructureError,
    VersionMismatch,
    frame,
)
from sansmcp import types as t

from ._background import bare
from .errors import (
    ConnectionLost,
    PeerError,
    RequestError,
    RequestTimeout,
    ToolError,
    VersionMismatchError,
)
from .transport import MessageChannel, MessageReceived, MessageSent, Observer, Transport

__all__ = ["Handler", "Handlers", "Notifications", "Pump"]

logger: Final = logging.getLogger("sansmcp.trio")

#: Given a context and the params of a request or a notification: does what is due. Of a request it
#: returns the result.
Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]
Handlers: TypeAlias = Mapping[str, Handler]

#: Bytes that may be unsent before somebody who wants to send more has to wait.
ROOM: Final = 2**20
#: Bytes of automatic answers that may be unsent before reading stops.
OWED: Final = 2**24
#: Bytes that are read or written at once, more or less.
CHUNK: Final = 2**16
#: Notifications that are kept for whoever is to take them.
KEPT: Final = 1000
#: Seconds that are spent on sending the rest and on closing politely, each.
PARTING: Final = 2.0

_C = TypeVar("_C", bound=Connection)


class Notifications:
    """The peer's notifications, as they came: `async for notification in session.notifications`.

    At most 1,000 are kept for the one who takes them; beyond that the oldest are dropped, since
    waiting would hold up the answers behind them. The iteration never ends by itself: when the
    connection does, it raises `ConnectionLost`.

    Attributes:
        dropped: how many were dropped.
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._kept: deque[Any] = deque()
        self._stirred = trio.Event()
        self._lost: ConnectionLost | None = None

    def _put(self, notification: Any) -> None:
        if len(self._kept) == KEPT:
            self._kept.popleft()
            self.dropped += 1
        self._kept.append(notification)
        self._stirred.set()

    def _end(self, lost: ConnectionLost) -> None:
        self._lost = lost
        self._stirred.set()

    def __aiter__(self) -> "Notifications":
        return self

    async def __anext__(self) -> Any:
        await trio.lowlevel.checkpoint()
        while not self._kept:
            if self._lost is not None:
                raise _again(self._lost)
            self._stirred = trio.Event()
            await self._stirred.wait()
        return self._kept.popleft()


class _Call:
    """A request of ours that somebody waits for."""

    def __init__(self) -> None:
        self.stirred = trio.Event()
        self.progress: deque[ProgressReceived] = deque(maxlen=KEPT)
        self.outcome: ResultReceived | ErrorReceived | RequestTimedOut | None = None


class Pump(Generic[_C]):
    """A connection at work.

    Args:
        connection: ours; its clock is `trio.current_time`.
        transport: where the peer is. It is closed at the end of `run`.
        handlers: for requests and notifications of the peer's, by method.
        context: makes the first argument of a handler, of the event and the handler's scope.
        observer: see `Observer`.
        initialize_timeout: seconds until the handshake must be over; None for ever.
        linger: seconds that requests which are being served have left once the peer has sent all
            that it will.

    Attributes:
        lost: how the connection ended; None while it lasts.
        notifications: those that have no handler.
    """

    def __init__(
        self,
        connection: _C,
        transport: Transport,
        handlers: Handlers,
        context: Callable[[RequestReceived | NotificationReceived, trio.CancelScope], Any],
        *,
        observer: Observer | None = None,
        initialize_timeout: float | None = None,
        linger: float = 0.0,
    ) -> None:
        self.connection = connection
        self.lost: ConnectionLost | None = None
        self.notifications = Notifications()
        self._transport = transport
        self._handlers = handlers
        self._context = context
        self._observer = observer
        self._tap = LineFramer(connection.limits.max_message_size)
        self._initialize_timeout = initialize_timeout
        self._linger = linger
        self._broken: Exception | None = None
        self._calls: dict[t.RequestId, _Call] = {}
        self._serving: dict[t.RequestId, trio.CancelScope] = {}
        self._heard = Notifications()
        self._scope = trio.CancelScope()
        self._reading = trio.CancelScope()
        self._alarm = trio.CancelScope()
        # What is unsent: messages, each with whether it is an automatic answer, and their sizes.
        self._outbox: deque[tuple[bytes, bool]] = deque()
        self._unsent = 0
        self._owed = 0
        self._filled = trio.Event()
        self._eased = trio.Event()
        self._turn = trio.Lock()
        self._posted: dict[Any, None] = {}

    # ---- the life of a connection

    async def run(self) -> None:
        """Carry messages until the conversation is over, and close the transport."""
        try:
            with self._scope:
                if self._initialize_timeout is not None:
                    self._scope.deadline = trio.current_time() + self._initialize_timeout
                async with trio.open_nursery() as self._nursery:
                    for task in (self._write, self._watch, self._hear):
                        self._nursery.start_soon(task)
                    await self._read()
                    self._end("the conversation is over")
                    await self.drain()
                    self._nursery.cancel_scope.cancel()
        except BaseException as error:
            error = bare(error)
            self._end(f"the session failed: {error!r}", error)
            raise error from error.__cause__
        finally:
            if self._scope.cancelled_caught and self._scope.deadline < math.inf:
                self._end(f"not initialized within {self._initialize_timeout:g} seconds")
            self._end("the session was closed")
            with trio.move_on_after(PARTING):
                try:
                    await self._transport.aclose()
                except trio.BrokenResourceError:
                    pass

    def stop(self) -> None:
        """End it from our side."""
        self._scope.cancel()

    async def drain(self) -> None:
        """Wait until everything is sent, as long as the peer takes some of it now and then."""
        while self._outbox and self._broken is None:
            with trio.move_on_after(PARTING) as scope:
                await self._eased.wait()
            if scope.cancelled_caught:
                return

    def _end(self, reason: str, cause: BaseException | None = None) -> None:
        """Nothing more comes of this connection: everybody who waits is told."""
        if self.lost is None:
            self.lost = ConnectionLost(str(self._broken or "") or reason)
            self.lost.__cause__ = cause or self._broken
        self._handle(self.connection.receive_eof())
        for call in self._calls.values():
            call.stirred.set()
        self.notifications._end(self.lost)
        self._eased.set()

    def check(self) -> None:
        """Raise `ConnectionLost` if the connection has ended."""
        if self.lost is not None:
            raise _again(self.lost)

    # ---- input

    async def _read(self) -> None:
        with self._reading:
            try:
                if isinstance(self._transport, MessageChannel):
                    await self._read_messages(self._transport)
                else:
                    await self._read_stream(self._transport)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                self._broken = self._broken or error
                return
            # The peer may have closed its sending side only: what it has asked for, it still gets.
            with trio.move_on_after(self._linger):
                while self._serving:
                    await self._quiet.wait()

    async def _read_stream(self, stream: trio.abc.ReceiveStream) -> None:
        while data := await stream.receive_some(CHUNK):
            # Line by line: so that the observer sees what came of each, and so that one chunk of
            # small requests cannot fill the memory with large answers.
            for line in io.BytesIO(data):
                if self._observer is not None:
                    for text in self._tap.receive_data(line):
                        if not isinstance(text, Oversized):
                            self._observer(trio.current_time(), MessageReceived(text))
                self._handle(self.connection.receive_data(line))
                await self._answers_sent()

    async def _read_messages(self, channel: MessageChannel) -> None:
        async for text in channel:
            if self._observer is not None:
                self._observer(trio.current_time(), MessageReceived(text))
            self._handle(self.connection.receive_message(text))
            await self._answers_sent()

    async def _answers_sent(self) -> None:
        while self._owed > OWED:
            await self._eased.wait()

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            if self._observer is not None:
                self._observer(trio.current_time(), event)
            match event:
                case RequestReceived(id=id):
                    scope = self._serving[id] = trio.CancelScope()
                    self._nursery.start_soon(self._serve, event, scope)
                case ResultReceived(id=id) | RequestTimedOut(id=id):
                    self._answered(id, event)
                case ErrorReceived(id=id):
                    if id is None:
                        logger.warning("the peer reports an error: %s", event.error.message)
                    else:
                        self._answered(id, event)
                case ProgressReceived(id=id):
                    call = self._calls.get(id)
                    if call is not None:
                        call.progress.append(event)
                        call.stirred.set()
                case NotificationReceived():
                    handled = event.method in self._handlers
                    (self._heard if handled else self.notifications)._put(
                        event if handled else event.notification
                    )
                case RequestCancelled(id=id):
                    if id in self._serving:
                        self._serving[id].cancel()
                case ProtocolViolation():
                    logger.info("the peer broke %s: %s", event.rule, event.detail)
                case Initialized():
                    self._scope.deadline = math.inf
                case VersionMismatch():
                    self.lost = VersionMismatchError(event.supported, event.offered)
                case ConnectionClosed():
                    if self.lost is None:
                        self._end(event.reason)
                    self._reading.cancel()
        self.flush(owed=True)

    def _answered(
        self, id: t.RequestId, event: ResultReceived | ErrorReceived | RequestTimedOut
    ) -> None:
        call = self._calls.get(id)
        if call is not None:
            call.outcome = event
            call.stirred.set()

    # ---- output

    def flush(self, *, owed: bool = False) -> None:
        """Have the writer send what the connection has queued.

        Args:
            owed: these are answers that the connection has given by itself.
        """
        for message in self.connection.messages_to_send():
            if self._observer is not None:
                self._observer(trio.current_time(), MessageSent(message.text))
            self._outbox.append((message, owed))
            if owed:
                self._owed += len(message.text)
            else:
                self._unsent += len(message.text)
        if self._outbox:
            self._filled.set()
        due = self.connection.next_deadline()
        if due is not None and due < self._alarm.deadline:
            self._alarm.deadline = due
