"""Runs a connection over a pair of byte streams, on Trio.

One task reads, one writes, one watches the deadlines, and each request of the peer's is served in a
task of its own, in a cancel scope that the peer's cancellation cancels. Nothing here knows a rule
of the protocol.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import trio

from sansmcp import (
    ClientConnection,
    ConnectionClosed,
    ErrorReceived,
    Event,
    RequestCancelled,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
    ServerConnection,
    TaskCancelRequested,
    TaskExpired,
)

__all__ = ["Closed", "Driver", "RequestFailed"]

C = TypeVar("C", ClientConnection, ServerConnection)


class RequestFailed(Exception):
    """A request of ours ended without a result. `event` says how."""

    def __init__(self, event: ErrorReceived | RequestTimedOut) -> None:
        if isinstance(event, ErrorReceived):
            super().__init__(f"error {event.error.code}: {event.error.message}")
        else:
            super().__init__(f"no answer to {event.request.method} in time")
        self.event = event


class Closed(Exception):
    """The connection ended while somebody waited for an answer."""


class Driver(Generic[C]):
    """A connection at work.

    Args:
        connection: the client's or the server's end. Its clock is `trio.current_time`.
        receive: reads up to some bytes; `b""` at the end of the stream.
        send: writes all the bytes.
        serve: answers a request of the peer's.
        tap: told of every piece of bytes, with "received" or "sent".

    Attributes:
        tell: told of every event, in order.
        closed: how the connection ended; None while it lasts.
    """

    def __init__(
        self,
        connection: C,
        receive: Callable[[], Awaitable[bytes | bytearray]],
        send: Callable[[bytes], Awaitable[None]],
        serve: Callable[["Driver[C]", RequestReceived], Awaitable[None]],
        tap: Callable[[str, bytes], None] = lambda direction, data: None,
    ) -> None:
        self.connection: C = connection
        self._receive = receive
        self._send = send
        self._serve: Callable[[Driver[C], RequestReceived], Awaitable[None]] = serve
        self.tell: Callable[[Event], None] = lambda event: None
        self._tap = tap
        self._answers: dict[Any, trio.Event] = {}
        self._outcomes: dict[Any, Event] = {}
        self._scopes: dict[Any, trio.CancelScope] = {}
        self._stirred = trio.Event()
        self._of_task: dict[str, Any] = {}
        self.closed: ConnectionClosed | None = None

    async def run(self) -> None:
        """Drive the connection until the stream ends; the requests being served are cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            nursery.start_soon(self._write)
            nursery.start_soon(self._watch)
            while self.closed is None:
                try:
                    data = bytes(await self._receive())
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    data = b""
                self._tap("received", data)
                self._handle(self.connection.receive_data(data))
            nursery.cancel_scope.cancel()

    async def answer(self, id: Any) -> Any:
        """Wait for the result of a request of ours.

        If this is cancelled, the request is cancelled too, and the peer is told.

        Raises:
            RequestFailed: it was answered with an error, or not in time.
            Closed: the connection ended.
        """
        arrived = self._answers[id] = trio.Event()
        self.flush()
        try:
            if self.closed is None:
                await arrived.wait()
        except trio.Cancelled:
            ours = id in self.connection.outgoing or id in self.connection.tasks
            if ours and self.connection.may_send("notifications/cancelled"):
                self.connection.cancel_request(id, "the caller gave up")
                self.flush()
            raise
        finally:
            del self._answers[id]
        outcome = self._outcomes.pop(id, None)
        if isinstance(outcome, ResultReceived):
            return outcome.result
        if isinstance(outcome, (ErrorReceived, RequestTimedOut)):
            raise RequestFailed(outcome)
        raise Closed("the connection ended" if self.closed is None else self.closed.reason)

    def create_task(self, event: RequestReceived, **options: Any) -> str:
        """Accept the request that is being served as a task; gives its id.

        If the task is cancelled, or expires, so is the scope in which it is served.
        """
        task_id = self.connection.create_task(event.id, **options).task_id
        self._of_task[task_id] = event.id
        self.flush()
        return task_id

    def flush(self) -> None:
        """Have the writer look at the queue, and the watch at the deadlines."""
        self._stirred.set()
        self._stirred = trio.Event()

    def _handle(self, events: list[Event]) -> None:
        for event in events:
            self.tell(event)
            match event:
                case RequestReceived():
                    self._nursery.start_soon(self._serve_one, event)
                case RequestCancelled(id=id) if id in self._scopes:
                    self._scopes[id].cancel()
                case TaskCancelRequested(task=task) | TaskExpired(task=task):
                    scope = self._scopes.get(self._of_task.pop(task.task_id, None))
                    if scope is not None:
                        scope.cancel()
                case ResultReceived(id=id) | ErrorReceived(id=id) | RequestTimedOut(id=id):
                    if id in self._answers:
                        self._outcomes[id] = event
                        self._answers[id].set()
                case ConnectionClosed():
                    self.closed = event
                    for arrived in self._answers.values():
                        arrived.set()
        self.flush()

    async def _serve_one(self, event: RequestReceived) -> None:
        with trio.CancelScope() as scope:
            self._scopes[event.id] = scope
            try:
                await self._serve(self, event)
            except Exception:
                if event.id in self.connection.incoming:
                    self.connection.send_internal_error(event.id)
                else:
                    raise
            finally:
                del self._scopes[event.id]
        self.flush()

    async def _write(self) -> None:
        while True:
            stirred = self._stirred
            data = self.connection.data_to_send()
            if data:
                self._tap("sent", data)
                try:
                    await self._send(data)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return  # The reader will see the end of the stream.
            else:
                await stirred.wait()

    async def _watch(self) -> None:
        while True:
            stirred = self._stirred
            due = self.connection.next_deadline()
            with trio.move_on_at(math.inf if due is None else due):
                await stirred.wait()
            events = self.connection.handle_deadlines()
            if events:
                self._handle(events)
