"""Runs one connection over one transport. Nothing in here knows a rule of the protocol.

One Trio task reads, one writes, one watches the deadlines, one hands notifications to their
handlers, and every request of the peer's is served in one of its own, in a cancel scope. Where the
peer asks for a task of the protocol's, it is given one at once, and the same handler works on it.

Back-pressure. Reading never waits for a handler or for a reader of notifications, because what is
read next may be the answer that they wait for. So memory is bounded at the other end:

- who wants to send something waits for room while `ROOM` bytes or more are unsent; that holds for
  calls, for notifications and for the answers of handlers;
- requests that are being served, or whose answers wait for room, count as in flight, and of these
  there are `Limits.max_requests_in_flight` at most, of `Limits.max_message_size` each;
- what the connection answers by itself (pings, lists, refusals) waits for nobody, so reading stops
  while more than `OWED` bytes of it are unsent;
- notifications that nobody has taken are kept up to `KEPT`, then the oldest are dropped.

Two peers that follow these rules do not wait for each other: neither stops reading for what it has
to say itself, nor for what its handlers answer, but only for a flood of what is answered
automatically. A peer that makes one, and then takes nothing of it for `STALLED` seconds, is given
up: it may be waiting for us to read what it still has to send.
"""

import io
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import trio

from sansmcp import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Connection,
    ConnectionClosed,
    ConnectionState,
    ErrorReceived,
    Event,
    Initialized,
    LineFramer,
    LocalProtocolError,
    NotificationReceived,
    OutgoingMessage,
    Oversized,
    ProgressReceived,
    ProtocolViolation,
    RequestCancelled,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
    StructureError,
    TaskBookFailed,
    TaskCancelRequested,
    TaskCreated,
    TaskStatusChanged,
    VersionMismatch,
    frame,
)
from sansmcp import types as t
from sansmcp.tasks import TERMINAL

from ._background import bare
from .errors import ConnectionLost, PeerError, RequestError, RequestTimeout, ToolError
from .transport import MessageChannel, MessageReceived, MessageSent, Observer, Transport

__all__ = [
    "Call",
    "Handler",
    "Handlers",
    "Incoming",
    "Notifications",
    "Pump",
    "Send",
    "Workshop",
    "logger",
]

logger: Final = logging.getLogger("sansmcp.trio")

#: Given a context and the params of a request or a notification, does what is due; of a request it
#: returns the result.
Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]
#: What a handler is called for.
Incoming: TypeAlias = RequestReceived | NotificationReceived
#: By the name of the method.
Handlers: TypeAlias = Mapping[str, Handler]

#: Bytes that may be unsent before somebody who wants to send more has to wait.
ROOM: Final = 2**20
#: Bytes of automatic answers that may be unsent before reading stops.
OWED: Final = 2**24
#: Bytes that are read or written at once, more or less.
CHUNK: Final = 2**16
#: Seconds without any of it being taken after which the peer is given up.
STALLED: Final = 30.0
#: Notifications that are kept for whoever is to take them, or wait to be sent.
KEPT: Final = 1000
#: Seconds that the peer has to take some of the rest, and to take part in closing.
PARTING: Final = 2.0

_C = TypeVar("_C", bound=Connection)


class Notifications:
    """The peer's notifications as they come: `async for notification in session.notifications`.

    At most 1,000 are kept for whoever takes them, and each is given once. Beyond that the oldest
    are dropped, since to wait would hold up the answers behind them. When the connection ends, the
    iteration gives what is left and then raises `ConnectionLost`.

    Attributes:
        dropped: how many were dropped.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.dropped = 0
        self._check = check
        self._kept: deque[Any] = deque()
        self._stirred = trio.Event()

    def _put(self, notification: Any) -> None:
        if len(self._kept) == KEPT:
            self._kept.popleft()
            self.dropped += 1
        self._kept.append(notification)
        self._stir()

    def _stir(self) -> None:
        self._stirred.set()
        self._stirred = trio.Event()

    def __aiter__(self) -> "Notifications":
        return self

    async def __anext__(self) -> Any:
        await trio.lowlevel.checkpoint()
        while not self._kept:
            self._check()
            await self._stirred.wait()
        return self._kept.popleft()


class Send(Protocol):
    """Queues a request, and gives its id."""

    def __call__(self, *, timeout: float | None) -> t.RequestId:
        """Seconds to wait for an answer or for progress; None for ever."""


class Call:
    """A request of ours that somebody waits for.

    Attributes:
        id: its id.
        updates: progress, and how its task stands, in order; the oldest are dropped beyond `KEPT`.
        created: that it has become a task, if it has.
        task: how the task stands.
        outcome: how it ended, once it has.
        stirred: set and replaced whenever one of these changes, or the connection ends.
    """

    def __init__(self, id: t.RequestId) -> None:
        self.id = id
        self.updates: deque[ProgressReceived | t.Task] = deque(maxlen=KEPT)
        self.created: TaskCreated | None = None
        self.task: t.Task | None = None
        self.outcome: ResultReceived | ErrorReceived | RequestTimedOut | None = None
        self.stirred = trio.Event()

    def stir(self) -> None:
        """Wake whoever waits."""
        self.stirred.set()
        self.stirred = trio.Event()

    def result(self) -> Any:
        """What the outcome says."""
        match self.outcome:
            case ResultReceived(result=result):
                return result
            case ErrorReceived(error=error, violation=violation):
                raise PeerError(error, violation)
            case RequestTimedOut(request=request):
                raise RequestTimeout(f"{request.method} was not answered in time")


class Workshop:
    """Where the handlers of tasks are at work; shared by connections that share a `TaskBook`.

    Args:
        changed: called when one of them has changed something in the book.

    Attributes:
        scopes: what to cancel when a task is stopped, by its id.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.changed = changed
        self.scopes: dict[str, trio.CancelScope] = {}


class Pump(Generic[_C]):
    """A connection at work.

    Args:
        connection: ours; its clock is `trio.current_time`.
        transport: where the peer is. It is closed at the end of `run`.
        handlers: for requests and notifications of the peer's.
        context: makes the first argument of a handler, of the event, the handler's scope, and the
            id of the task that it works on, if it is one.
        workshop: where tasks are at work.
        task_nursery: where their handlers live on when the connection has ended; if left out, they
            end with it.
        observer: see `Observer`.
        initialize_timeout: seconds until the handshake must be over; None for ever.
        linger: seconds that requests being served have left once the peer has sent all it will.

    Attributes:
        mismatch: how the handshake failed, if it was over the revision.
        notifications: those that have no handler.
    """

    def __init__(
        self,
        connection: _C,
        transport: Transport,
        handlers: Handlers,
        context: Callable[[Incoming, trio.CancelScope, str | None], Any],
        workshop: Workshop,
        *,
        task_nursery: trio.Nursery | None = None,
        observer: Observer | None = None,
        initialize_timeout: float | None = None,
        linger: float = 0.0,
    ) -> None:
        self.connection = connection
        self.mismatch: VersionMismatch | None = None
        self.notifications = Notifications(self.check)
        self._transport = transport
        self._handlers = handlers
        self._context = context
        self._workshop = workshop
        self._task_nursery = task_nursery
        self._observer = observer
        self._tap = LineFramer(connection.limits.max_message_size)
        self._initialize_timeout = initialize_timeout
        self._linger = linger
        self._reason: str | None = None
        self._cause: BaseException | None = None
        self._calls: dict[t.RequestId, Call] = {}
        self._serving: dict[t.RequestId, trio.CancelScope] = {}
        self._heard = Notifications(self.check)
        self._scope = trio.CancelScope()
        self._reading = trio.CancelScope()
        self._alarm = trio.CancelScope()
        # What is unsent, each message with whether it is an automatic answer; and their sizes.
        self._outbox: deque[tuple[OutgoingMessage, bool]] = deque()
        self._unsent = 0
        self._owed = 0
        self._posted: dict[Any, None] = {}
        self._filled = trio.Event()
        # Set and replaced whenever there is less to wait for: less unsent, less being served.
        self._eased = trio.Event()
        self._turn = trio.Lock()

    # ---- the life of a connection

    async def run(self) -> None:
        """Carry messages until the conversation is over, and close the transport."""
        failure: BaseException | None = None
        if self._initialize_timeout is not None:
            self._scope.deadline = trio.current_time() + self._initialize_timeout
        try:
            with self._scope:
                async with trio.open_nursery() as self._nursery:
                    for task in (self._write, self._watch, self._hear):
                        self._nursery.start_soon(task)
                    await self._read()
                    self._end("the peer closed the connection")
                    await self.drain()
                    self._nursery.cancel_scope.cancel()
        except BaseException as error:
            failure = bare(error)
        if failure is not None and not isinstance(failure, trio.Cancelled):
            self._end(f"the session failed: {failure!r}", failure)
        elif trio.current_time() >= self._scope.deadline:
            self._end(f"not initialized within {self._initialize_timeout:g} seconds")
        self._end("the session was closed")
        try:
            with trio.move_on_after(PARTING), suppress(trio.BrokenResourceError):
                await self._transport.aclose()
        finally:
            if failure is not None:
                raise failure

    @property
    def ended(self) -> bool:
        """Whether the connection has ended."""
        return self._reason is not None

    async def drain(self) -> None:
        """Wait until everything is sent, for as long as the peer takes some of it."""
        while self._outbox and self._cause is None:
            with trio.move_on_after(PARTING) as scope:
                await self._eased.wait()
            if scope.cancelled_caught:
                return

    def _end(self, reason: str, cause: BaseException | None = None) -> None:
        """Nothing more comes of this connection: tell everybody who waits."""
        if self._reason is not None:
            return
        if cause is None and self._cause is not None:
            reason = str(self._cause) or str(self._cause.__cause__ or "the connection broke")
        self._cause = cause or self._cause
        self._reason = reason
        self.flush(owed=True)
        self._handle(self.connection.receive_eof())
        # Handlers first: they are to be cancelled, and not to see their own calls fail.
        for scope in self._serving.values():
            scope.cancel()
        for call in self._calls.values():
            call.stir()
        self.notifications._stir()
        self._reading.cancel()
        self._ease()

    def _ease(self) -> None:
        self._eased.set()
        self._eased = trio.Event()

    def check(self) -> None:
        """See that the connection has not ended.

        Raises:
            ConnectionLost: it has.
        """
        if self._reason is not None:
            raise ConnectionLost(self._reason) from self._cause

    # ---- input

    async def _read(self) -> None:
        with self._reading:
            try:
                if isinstance(self._transport, MessageChannel):
                    await self._read_messages(self._transport)
                else:
                    await self._read_stream(self._transport)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                self._cause = error
                return
            # The peer may have closed its sending half only: what it has asked for, it still gets.
            with trio.move_on_after(self._linger):
                while self._serving:
                    await self._eased.wait()

    async def _read_stream(self, stream: trio.abc.ReceiveStream) -> None:
        while data := await stream.receive_some(CHUNK):
            # Line by line, so that the observer sees what came of each, and so that a chunk of
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
            with trio.move_on_after(STALLED) as stalled:
                await self._eased.wait()
            if stalled.cancelled_caught:
                raise trio.BrokenResourceError("the peer does not read what it has asked for")

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            if self._observer is not None:
                self._observer(trio.current_time(), event)
            match event:
                case RequestReceived():
                    scope = self._serving[event.id] = trio.CancelScope()
                    if event.task is None or self.connection.task_book is None:
                        self._nursery.start_soon(self._serve, event, scope)
                    else:
                        nursery = self._task_nursery or self._nursery
                        nursery.start_soon(self._serve_task, event, scope)
                case ResultReceived() | ErrorReceived() | RequestTimedOut():
                    self._answered(event)
                case ProgressReceived():
                    self._updated(event.id, event)
                case TaskCreated() | TaskStatusChanged():
                    self._task_updated(event)
                case TaskCancelRequested():
                    if event.task.task_id in self._workshop.scopes:
                        self._workshop.scopes[event.task.task_id].cancel()
                case TaskBookFailed():
                    logger.error("the task book failed", exc_info=event.error)
                case NotificationReceived():
                    if event.method in self._handlers:
                        self._heard._put(event)
                    else:
                        self.notifications._put(event.notification)
                case RequestCancelled():
                    if event.id in self._serving:
                        self._serving[event.id].cancel()
                case ProtocolViolation():
                    logger.info("the peer broke %s: %s", event.rule, event.detail)
                case Initialized():
                    self._scope.deadline = math.inf
                case VersionMismatch():
                    self.mismatch = event
                case ConnectionClosed():
                    self._end(event.reason)
        self.flush(owed=True)

    def _answered(self, event: ResultReceived | ErrorReceived | RequestTimedOut) -> None:
        if event.id is None:
            assert isinstance(event, ErrorReceived)
            logger.warning("the peer reports an error: %s", event.error.message)
            return
        call = self._calls.pop(event.id, None)
        if call is not None:
            call.outcome = event
            call.stir()

    def _updated(self, id: t.RequestId, update: ProgressReceived | t.Task) -> None:
        call = self._calls.get(id)
        if call is not None:
            call.updates.append(update)
            call.stir()

    def _task_updated(self, event: TaskCreated | TaskStatusChanged) -> None:
        call = self._calls.get(event.id)
        if call is not None:
            call.task = event.task
            if isinstance(event, TaskCreated):
                call.created = event
            self._updated(event.id, event.task)

    # ---- output

    def flush(self, *, owed: bool = False) -> None:
        """Have the writer send what the connection has queued.

        Args:
            owed: these are answers that the connection has given by itself.
        """
        if self.connection.state is ConnectionState.CLOSED:
            return
        for message in self.connection.messages_to_send():
            if self._observer is not None:
                self._observer(trio.current_time(), MessageSent(message.text))
            self._outbox.append((message, owed))
            self._count(message, owed, 1)
        if self._outbox:
            self._filled.set()
        due = self.connection.next_deadline()
        if due is not None and due < self._alarm.deadline:
            self._alarm.deadline = due

    def _count(self, message: OutgoingMessage, owed: bool, sign: int) -> None:
        if owed:
            self._owed += sign * len(message.text)
        else:
            self._unsent += sign * len(message.text)

    async def room(self) -> None:
        """Wait until so little is unsent that more may be; first come, first served.

        Raises:
            ConnectionLost: the connection has ended.
        """
        if self._crowded:
            async with self._turn:
                while self._unsent >= ROOM and self._reason is None:
                    await self._eased.wait()
        self.check()

    @property
    def _crowded(self) -> bool:
        return self._unsent >= ROOM or self._turn.locked()

    async def _room_within(self, timeout: float | None) -> float | None:
        """Wait for room; gives what is left of the time."""
        begun = trio.current_time()
        with trio.move_on_after(math.inf if timeout is None else timeout) as waiting:
            await self.room()
        if waiting.cancelled_caught:
            raise RequestTimeout("the peer does not read: the request could not be sent in time")
        return None if timeout is None else timeout - (trio.current_time() - begun)

    def refresh(self) -> None:
        """Send what the connection has to tell by itself; later, if there is no room now."""
        if self._unsent < ROOM:
            self.flush()

    def post(self, notification: Any) -> None:
        """Tell the peer, now or when there is room, whichever comes first; equal ones once.

        Where the conversation does not allow it, nothing is sent.
        """
        if len(self._posted) == KEPT:
            del self._posted[next(iter(self._posted))]
        self._posted[notification] = None
        self._send_posted()

    def _send_posted(self) -> None:
        while self._posted and self._unsent < ROOM:
            notification = next(iter(self._posted))
            del self._posted[notification]
            if self.connection.may_send(notification.method):
                self.connection.send_notification(notification)
            self.flush()

    async def _write(self) -> None:
        while True:
            while not self._outbox:
                self._filled = trio.Event()
                await self._filled.wait()
            batch: list[tuple[OutgoingMessage, bool]] = []
            size = 0
            for message, owed in self._outbox:
                batch.append((message, owed))
                size += len(message.text)
                if size >= CHUNK:
                    break
            try:
                if isinstance(self._transport, MessageChannel):
                    for message, _ in batch:
                        await self._transport.send(message)
                else:
                    data = memoryview(b"".join([frame(message.text) for message, _ in batch]))
                    for start in range(0, len(data), CHUNK):
                        await self._transport.send_all(data[start : start + CHUNK])
                        self._ease()
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                # There may be something left to read, the peer's last words among it.
                self._cause = error
                self._reading.deadline = trio.current_time() + PARTING
                self._ease()
                return
            for message, owed in batch:
                self._outbox.popleft()
                self._count(message, owed, -1)
            self._ease()
            self._send_posted()
            self.refresh()

    async def _watch(self) -> None:
        while True:
            due = self.connection.next_deadline()
            with trio.CancelScope(deadline=math.inf if due is None else due) as self._alarm:
                await trio.sleep_forever()
            self._handle(self.connection.handle_deadlines())

    # ---- what we ask and tell

    async def request(
        self,
        send: Send,
        timeout: float | t.Missing | None,
        on_progress: Callable[[ProgressReceived], object] | None = None,
    ) -> Any:
        """Ask the peer something and wait for the result.

        If this is cancelled, or `on_progress` raises, the peer is told that nobody waits any more.

        Args:
            send: queues the request.
            timeout: seconds; the connection's own if left out. What passes until there is room for
                the request counts in.
            on_progress: called in this task, for each progress that the peer reports.

        Raises:
            PeerError: it was answered with an error.
            RequestTimeout: it was not answered in time.
            ConnectionLost: the connection has ended.
        """
        call = await self._send(send, timeout)
        try:
            while call.outcome is None:
                self.check()
                await call.stirred.wait()
                while call.updates:
                    update = call.updates.popleft()
                    if on_progress is not None and isinstance(update, ProgressReceived):
                        on_progress(update)
        except BaseException:
            self.give_up(call)
            raise
        return call.result()

    async def request_task(self, send: Send, timeout: float | t.Missing | None) -> Call:
        """Ask the peer something that is to become a task, and wait until it has.

        If this is cancelled, so is the task, as soon as its id is known.

        Returns:
            The request; it may have been answered at once.

        Raises:
            PeerError: it was answered with an error.
            RequestTimeout: it was not answered in time.
            ConnectionLost: the connection has ended.
        """
        call = await self._send(send, timeout)
        try:
            while call.created is None and call.outcome is None:
                self.check()
                await call.stirred.wait()
        except BaseException:
            self.give_up(call)
            raise
        if isinstance(call.outcome, (ErrorReceived, RequestTimedOut)):
            call.result()
        return call

    async def _send(self, send: Send, timeout: float | t.Missing | None) -> Call:
        if isinstance(timeout, t.Missing):
            timeout = self.connection.timeout
        if self._crowded:
            timeout = await self._room_within(timeout)
        self.check()
        call = Call(send(timeout=timeout))
        self._calls[call.id] = call
        self.flush()
        return call

    def give_up(self, call: Call) -> None:
        """Tell the peer that nobody waits for this any more, where there is a way to."""
        if call.id in self._calls:
            # Not for `initialize`, nor for a task where tasks cannot be cancelled.
            with suppress(LocalProtocolError):
                self.connection.cancel_request(call.id, "nobody waits for it any more")
            self.forget(call)

    def forget(self, call: Call) -> None:
        """Wait no more for a request that was given up."""
        self._calls.pop(call.id, None)
        self.flush()
        call.stir()

    async def tell(self, send: Callable[[], bool]) -> bool:
        """Tell the peer something once there is room.

        Args:
            send: queues it; gives whether it did.
        """
        await trio.lowlevel.checkpoint()
        await self.room()
        sent = send()
        self.flush()
        return sent

    # ---- what the peer asks and tells

    async def _serve(self, event: RequestReceived, scope: trio.CancelScope) -> None:
        try:
            with scope:
                outcome = await self._outcome(event, scope, None)
                await self.room()
                # Where the handler went on in spite of it, a cancelled request has no answer; its
                # id may even be in use again.
                if not scope.cancel_called:
                    self._answer(event, outcome)
        except* ConnectionLost:
            pass
        except* Exception:
            logger.exception("a handler of %s failed while it was cancelled", event.method)
        finally:
            if self._serving.get(event.id) is scope:
                del self._serving[event.id]
            self._ease()

    async def _serve_task(self, event: RequestReceived, scope: trio.CancelScope) -> None:
        task_id: str | None = None
        try:
            with scope:
                await self.room()
                task = self.connection.create_task(event.id)
                task_id = task.task_id
                # From here on the request is answered, and only the task can be stopped.
                del self._serving[event.id]
                if task.ttl is not None:
                    # TASK-77: there may be no connection any more that could tell.
                    scope.deadline = trio.current_time() + task.ttl / 1000
                self._workshop.scopes[task_id] = scope
                self.flush()
                outcome = await self._outcome(event, scope, task_id)
                self._settle(event, task_id, outcome)
        except* ConnectionLost:
            pass
        except* Exception:
            logger.exception("a task of %s failed", event.method)
        finally:
            if task_id is not None:
                del self._workshop.scopes[task_id]
                # Whatever has ended the handler, nobody works on the task any more.
                self._settle(event, task_id, t.Error(INTERNAL_ERROR, "The work was broken off"))
            else:
                del self._serving[event.id]
                if event.id in self.connection.incoming and not scope.cancel_called:
                    self.connection.send_internal_error(event.id)
            self.flush()
            self._ease()

    def _settle(self, event: RequestReceived, task_id: str, outcome: t.Result | t.Error) -> None:
        """Put the outcome of a task into the book, unless it has one."""
        book = self.connection.task_book
        assert book is not None
        try:
            record = book.record(task_id)
            if record is None or record.task.status in TERMINAL:
                return
            if not isinstance(outcome, t.Error):
                try:
                    book.complete(task_id, outcome)
                except (LocalProtocolError, StructureError):
                    outcome = self._internal_error(event)
            if isinstance(outcome, t.Error):
                book.fail(task_id, outcome)
        except Exception:
            logger.exception("the task book failed")
        self._workshop.changed()

    def update_task(self, task_id: str, message: str | None) -> None:
        """Say how a task stands, for people."""
        book = self.connection.task_book
        assert book is not None
        book.update(task_id, None, message)
        self._workshop.changed()

    async def _outcome(
        self, event: RequestReceived, scope: trio.CancelScope, task_id: str | None
    ) -> t.Result | t.Error:
        handler = self._handlers.get(event.method)
        if handler is None:
            return t.Error(METHOD_NOT_FOUND, f"Method not found: {event.method}")
        try:
            result: t.Result = await handler(self._context(event, scope, task_id), event.params)
        except Exception as group:
            match bare(group):
                case ToolError(text=text) if event.method == "tools/call":
                    return t.CallToolResult([t.TextContent(text)], is_error=True)
                case RequestError(error=error):
                    return error
            return self._internal_error(event)
        return result

    def _answer(self, event: RequestReceived, outcome: t.Result | t.Error) -> None:
        try:
            if isinstance(outcome, t.Error):
                self.connection.send_error(event.id, outcome.code, outcome.message, outcome.data)
            else:
                self.connection.send_result(event.id, outcome)
        except Exception:
            self._internal_error(event)
            self.connection.send_internal_error(event.id)
        self.flush()

    def _internal_error(self, event: RequestReceived) -> t.Error:
        # S05: what went wrong is for the log, and not for the peer.
        logger.exception("a handler of %s failed", event.method)
        return t.Error(INTERNAL_ERROR, "Internal error")

    async def _hear(self) -> None:
        with suppress(ConnectionLost):
            async for event in self._heard:
                try:
                    handler = self._handlers[event.method]
                    await handler(self._context(event, self._scope, None), event.params)
                except* Exception:
                    logger.exception("a handler of %s failed", event.method)
