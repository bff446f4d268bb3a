"""Connections: a `Conversation` seen from one of its ends.

A connection adds to the rulebook what depends on who we are: bytes are cut into messages and
messages put on a queue, and what a well-behaved peer answers by itself is answered (`ping`, the
handshake, errors for what cannot be read, log levels and subscriptions). It does no I/O and reads
the time only from the clock that it was given.
"""

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import attrs

from . import types as t
from .checks import lint
from .conversation import Batch, Conversation, Observed
from .errors import INTERNAL_ERROR, INVALID_REQUEST, LocalProtocolError, ProtocolWarning
from .events import (
    ConnectionClosed,
    ErrorReceived,
    Event,
    NotificationReceived,
    ProtocolViolation,
    RequestCancelled,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
)
from .features import SchemaValidator
from .following import TaskFollower
from .framing import LineFramer, Oversized
from .hosting import TaskHost
from .lifecycle import ConnectionState
from .limits import Limits
from .methods import CLIENT, MethodTable, NotificationMethod, RequestMethod, Side
from .requests import RequestInFlight, RequestStatus
from .revisions import REVISIONS
from .tasks import TaskBook
from .wire import encode_json, unstructure

__all__ = ["Connection", "OutgoingMessage"]

DEFAULT_REVISIONS: Final = tuple(sorted(REVISIONS, reverse=True))


@attrs.frozen
class OutgoingMessage:
    """A message for the peer, for transports that carry whole messages.

    Attributes:
        text: the JSON text, UTF-8, in one line without a newline.
        related_request: the id of the *peer's* request that it answers or serves, or None. HTTP
            sends such a message on that request's stream (HTTP-22, HTTP-33).
    """

    text: bytes
    related_request: t.RequestId | None = None


class _BatchOfAnswers:
    """The answers to the requests of one batch, until all are there (2025-03-26 only)."""

    def __init__(self) -> None:
        self.waiting: set[t.RequestId | None] = {None}  # None: the batch itself is being read.
        self.texts: list[bytes] = []

    def done(
        self, id: t.RequestId | None, text: bytes | None, queue: deque[OutgoingMessage]
    ) -> None:
        """A request needs no more waiting for; `text` is its answer, if it has one."""
        if text is not None:
            self.texts.append(text)
        if text is None or id is not None:
            self.waiting.discard(id)
        if not self.waiting and self.texts:
            queue.append(OutgoingMessage(b"[" + b",".join(self.texts) + b"]"))


class Connection:
    """What a client's and a server's connection have in common. Not made by itself.

    Feed it with `receive_data` (or `receive_message`), send what `data_to_send` (or
    `messages_to_send`) gives, and call `handle_deadlines` when `next_deadline` has come. The
    methods that send return at once: they put a message on the queue, or raise
    `LocalProtocolError` and change nothing.

    Attributes:
        limits: the bounds in force.
    """

    _side: ClassVar[Side]

    def __init__(
        self,
        info: t.Implementation,
        *,
        capabilities: Any,
        revisions: Iterable[str],
        clock: Callable[[], float],
        limits: Limits | None,
        timeout: float | None,
        max_timeout: float | None,
        extensions: Iterable[RequestMethod | NotificationMethod],
        validate: SchemaValidator | None,
        tasks: TaskBook | None,
        task_context: str,
        notify_task_status: bool,
        task_only: Iterable[str],
    ) -> None:
        offered = tuple(revisions)
        if not offered:
            raise ValueError("revisions is empty: name at least one")
        unknown = [name for name in offered if name not in REVISIONS]
        if unknown:
            # LIFE-07: nobody may ask for what they cannot do.
            raise ValueError(f"unknown revisions {unknown}; known are {list(DEFAULT_REVISIONS)}")
        if len(set(offered)) != len(offered):
            raise ValueError("revisions names one twice")
        _check_seconds(timeout, max_timeout)
        self.limits = limits or Limits()
        self._info = info
        self._capabilities = capabilities
        self._clock = clock
        self._timeout = timeout
        self._max_timeout = max_timeout
        self._default_waits = (_shorter(timeout, max_timeout), max_timeout)
        self._conversation = Conversation(
            revisions=tuple(sorted(offered, reverse=True)),
            methods=MethodTable(extensions),
            limits=self.limits,
            clock=clock,
            validate=validate,
        )
        state = self._conversation.state
        self._us = state.client if self._side is CLIENT else state.server
        self._them = self._us.other
        # What we say of ourselves is said without being asked, when there is nobody to tell of a
        # mistake in it.
        encode_json([unstructure(info), unstructure(self._capabilities)])
        self._us.introduce(info, self._capabilities, self._conversation.revisions[0])
        self._framer = LineFramer(self.limits.max_message_size)
        self._queue: deque[OutgoingMessage] = deque()
        # Our requests that are to become tasks and are not answered yet.
        self._augmented: dict[t.RequestId | None, RequestInFlight] = {}
        self._next_id = 1
        # Requests that came in a batch, and the batch of their answers; and the one that is being
        # received.
        self._batch_of: dict[t.RequestId, _BatchOfAnswers] = {}
        self._answers: _BatchOfAnswers | None = None
        # The method of a request -> how we answer it without the application.
        self._automatic: dict[str, Callable[[RequestInFlight], list[Event]]] = {"ping": self._pong}
        self._task_book = tasks
        self._task_only = frozenset(task_only)
        self._follower = TaskFollower(self)
        self._host: TaskHost | None = None
        if tasks is not None:
            self._host = TaskHost(self, tasks, task_context, notify=notify_task_status)
            self._automatic |= self._host.automatic

    # ---- state

    @property
    def state(self) -> ConnectionState:
        """How far the conversation has come (basic/lifecycle)."""
        return self._conversation.state.lifecycle

    @property
    def revision(self) -> str | None:
        """The negotiated protocol revision, such as "2025-11-25"; None before that."""
        revision = self._conversation.state.revision
        return None if revision is None else revision.name

    @property
    def peer_info(self) -> t.Implementation | None:
        """Who the peer says it is; None before it has."""
        return self._them.info

    @property
    def instructions(self) -> str | None:
        """The server's advice for the model, or None (LIFE-25)."""
        return self._conversation.state.instructions

    @property
    def outgoing(self) -> Mapping[t.RequestId, RequestInFlight]:
        """Our requests that the peer has not answered, by id, oldest first. A live view."""
        return self._us.requests.view

    @property
    def incoming(self) -> Mapping[t.RequestId, RequestInFlight]:
        """The peer's requests that we have not answered, by id, oldest first. A live view."""
        return self._them.requests.view

    @property
    def tasks(self) -> dict[t.RequestId, t.Task]:
        """How the tasks stand that our requests have become, by the id of the request."""
        return self._follower.tasks

    @property
    def task_book(self) -> TaskBook | None:
        """Where our tasks are kept: what was passed as `tasks`."""
        return self._task_book

    @property
    def timeout(self) -> float | None:
        """Seconds that a request of ours waits unless it says otherwise; None for ever."""
        return self._timeout

    @property
    def late_answers(self) -> int:
        """How many answers came after we had given up on their requests; they were dropped."""
        return self._conversation.state.late_answers

    # ---- input

    def receive_data(self, data: bytes) -> list[Event]:
        """Take bytes from a stream in which a newline ends each message.

        Args:
            data: what was read, cut anywhere. `b""` means end of file, as with `socket.recv`.

        Returns:
            What happened, in order. Any chunking of the same bytes gives the same events.

        Raises:
            Nothing, whatever the bytes are.
        """
        if not data:
            return self.receive_eof()
        events: list[Event] = []
        for line in self._framer.receive_data(data):
            if isinstance(line, Oversized):
                events.append(self._oversized(line.size))
            else:
                events += self._events(self._conversation.receive(self._them, line))
        return events

    def receive_message(self, text: bytes | str) -> list[Event]:
        """Take one whole message, from a transport that keeps messages apart.

        Returns:
            What happened, in order.

        Raises:
            Nothing, whatever the text is.
        """
        size = len(text) if not isinstance(text, str) else _utf8_size(text)
        if size > self.limits.max_message_size:
            return [self._oversized(size)]
        return self._events(self._conversation.receive(self._them, text))

    def receive_eof(self) -> list[Event]:
        """The peer will send nothing more: the connection is CLOSED.

        Returns:
            `ConnectionClosed`, which names what was left unanswered; before it a
            `ProtocolViolation` if the stream ended in the middle of a message. Nothing if the
            connection was closed already.
        """
        if self.state is ConnectionState.CLOSED:
            return []
        events: list[Event] = []
        rest = self._framer.receive_eof()
        if isinstance(rest, Oversized):
            events.append(self._oversized(rest.size))
        elif rest is not None:
            detail = f"the stream ended in the middle of a message, after {len(rest):,} bytes"
            events.append(ProtocolViolation("STDIO-02", detail, rest))
        return events + self._events(self._conversation.close(self._side, "end of file"))

    def _oversized(self, size: int) -> ProtocolViolation:
        limit = self.limits.max_message_size
        detail = f"a message of {size:,} bytes or more; at most {limit:,} are taken"
        return ProtocolViolation("LIMIT-01", detail)

    def _events(self, observed: list[Observed]) -> list[Event]:
        events: list[Event] = []
        for item in observed:
            if isinstance(item, Batch):
                events += self._batch_received(item)
                continue
            if isinstance(item, RequestInFlight):
                automatic = self._automatic.get(item.method.method)
                if automatic is not None:
                    events += automatic(item)
                else:
                    events += self._deliver(item)
                continue
            followed = self._about_tasks(item)
            if followed is not None:
                events += followed
                continue
            events.append(item)
            if isinstance(item, ProtocolViolation) and item.reply is not None:
                text = encode_json(unstructure(item.reply))
                if self._answers is None:
                    self._queue.append(OutgoingMessage(text, item.reply.id))
                else:
                    self._answers.done(None, text, self._queue)
            elif isinstance(item, ResultReceived):
                events += self._result_received(item)
            elif isinstance(item, RequestCancelled):
                if self._host is not None:
                    self._host.forget(item.id, item.request)
                if item.id in self._batch_of:
                    self._batch_of.pop(item.id).done(item.id, None, self._queue)
        if self._host is not None and self._host.failures:
            events += self._host.failures
            self._host.failures = []
        return events

    def _about_tasks(self, event: Event) -> list[Event] | None:
        """What an event means for the tasks; None if nothing, and it is the application's."""
        if self._host is None and not self._augmented and self._follower.idle:
            return None  # With no tasks at all, nothing is looked at.
        match event:
            case ResultReceived(id=id) | ErrorReceived(id=id) | RequestTimedOut(id=id):
                if self._host is not None and id is not None:
                    self._host.answered(id)
                return self._follower.hear(event, self._augmented.pop(id, None))
            case NotificationReceived(notification=t.TaskStatusNotification(params=params)):
                return self._follower.hear_status(params)
            case ConnectionClosed(unanswered=unanswered):
                unanswered.update(self._follower.unanswered)
        return None

    def _batch_received(self, batch: Batch) -> list[Event]:
        """Handle what is in a batch; its answers are sent as one batch when all are there."""
        answers = self._answers = _BatchOfAnswers()
        events: list[Event] = []
        for items in batch.items:
            for item in items:
                if isinstance(item, RequestInFlight):
                    answers.waiting.add(item.id)
                    self._batch_of[item.id] = answers
            events += self._events(items)
        self._answers = None
        answers.done(None, None, self._queue)
        return events

    def _answer(self, text: bytes, id: t.RequestId | None) -> None:
        """Queue the answer to a request; or put it with the others that belong to its batch."""
        answers = self._answers if id is None else self._batch_of.pop(id, self._answers)
        if answers is None:
            self._queue.append(OutgoingMessage(text, id))
        else:
            answers.done(id, text, self._queue)

    def _deliver(self, request: RequestInFlight) -> list[Event]:
        """Give a request to the application, if nothing about tasks speaks against it."""
        method = request.method
        if request.task is None and method.method in self._task_only:
            # TASK-21, X-03. (A tool says so itself, and its calls are refused with another code.)
            message = f"{method.method} is served as a task only"
            self.send_error(request.id, INVALID_REQUEST, message)
            return []
        if self._host is not None and self._host.refuses(request):
            return []
        return [self._request_received(request)]

    def _request_received(self, request: RequestInFlight) -> RequestReceived:
        revision = self._conversation.state.revision
        assert revision is not None
        return RequestReceived(
            request.id, request.request, revision.name, self._them.capabilities, request.task
        )

    def _result_received(self, event: ResultReceived) -> list[Event]:
        return []

    def _pong(self, request: RequestInFlight) -> list[Event]:
        self.reply(request.id, t.Result())
        return []

    # ---- output

    def data_to_send(self) -> bytes:
        """Everything that is queued, framed for a stream: one message a line. Empties the queue.

        Raises:
            Only what the storage of a `TaskBook` raises. Nothing is lost then: call it again.
        """
        self._before_draining()
        queue = self._queue
        if len(queue) == 1:
            return queue.popleft().text + b"\n"
        lines = [message.text for message in queue]
        queue.clear()
        lines.append(b"")  # A newline ends the last one too.
        return b"\n".join(lines)

    def messages_to_send(self) -> list[OutgoingMessage]:
        """Everything that is queued, message by message, in order. Empties the queue."""
        self._before_draining()
        messages = list(self._queue)
        self._queue.clear()
        return messages

    def _before_draining(self) -> None:
        """Queue what is due because something has changed that several connections share."""
        if self._host is not None and self.state is not ConnectionState.CLOSED:
            self._host.settle()

    # ---- time

    def next_deadline(self) -> float | None:
        """When to call `handle_deadlines`, by the connection's clock; None if nothing is due."""
        if self.state is ConnectionState.CLOSED:
            return None
        due = [self._us.requests.next_deadline(), self._follower.next_deadline()]
        if self._host is not None:
            due.append(self._host.next_deadline(self._clock()))
        return min((time for time in due if time is not None), default=None)

    def now(self) -> float:
        """What the connection's clock says, in its seconds."""
        return self._clock()

    def handle_deadlines(self) -> list[Event]:
        """Give up on the requests whose time has come, and tell the peer (LIFE-18).

        A request that times out is cancelled on the wire, except `initialize`: without an answer to
        that there is no conversation, so the connection closes (X-15).

        Returns:
            A `RequestTimedOut` for each, in the order of their deadlines.
        """
        events: list[Event] = []
        now = self._clock()
        for request in self._us.requests.expired(now):
            timed_out = RequestTimedOut(request.id, request.request)
            followed = self._about_tasks(timed_out)
            events += [timed_out] if followed is None else followed
            if request.task is not None:
                # CANC-04: what is to become a task is not cancelled. Should it become one after
                # all, it is stopped then.
                if self.may_send("tasks/cancel"):
                    self._augmented[request.id] = request
                    self._follower.give_up(request.id, request)
                else:
                    self._us.requests.finish(request, RequestStatus.ABANDONED)
            elif request.method.method == "initialize":
                self._us.requests.finish(request, RequestStatus.ABANDONED)
                reason = "initialize was not answered in time"
                events += self._events(self._conversation.close(self._side, reason))
            elif self.may_send("notifications/cancelled"):
                self.cancel_request(request.id, "the request timed out")
            else:
                # A ping before the handshake: nothing but pings may be sent.
                self._us.requests.finish(request, RequestStatus.ABANDONED)
        if self.state is ConnectionState.READY:
            self._follower.poll(now)
        if self._host is not None:
            events += self._host.expire()
        return events

    # ---- sending

    def may_send(self, method: str) -> bool:
        """Whether a request or a notification of this method may be sent now.

        It says no where the state does not allow it, where the negotiated revision has no such
        method, and where the capability was not declared (LIFE-14, LIFE-15).
        """
        return self._conversation.may_send(self._us, method)

    def send_request(
        self,
        request: Any,
        *,
        timeout: float | t.Missing | None = t.MISSING,
        max_timeout: float | t.Missing | None = t.MISSING,
        progress: bool = False,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
    ) -> t.RequestId:
        """Ask the peer something.

        Where the params carry `task`, the request becomes a task of the peer's, which is followed
        by itself (`TaskCreated`, `TaskStatusChanged`); the answer is that of the plain request.

        Args:
            request: a request of `sansmcp.types`, or a `Request` for a method of `extensions`.
            timeout: seconds to wait for an answer, or for progress; None for ever. The connection's
                `timeout` if left out.
            max_timeout: seconds to wait in all, whatever progress arrives (LIFE-21); None for ever.
                The connection's `max_timeout` if left out, or `timeout` if that is longer. Equal
                to `timeout`, progress moves nothing.
            progress: whether to ask for progress; the request's id is then the token, unless the
                params carry one already.
            related_request: the id of the peer's request for whose sake we ask, if any. It is for
                the transport (`OutgoingMessage.related_request`).
            related_task: the task of ours for whose sake we ask, if any. While the answer is
                awaited, a task that is working needs input (TASK-28, TASK-29, TASK-31).

        Returns:
            The id of the request, by which events name it.

        Raises:
            LocalProtocolError: the request is not allowed now, or not like this.
            ValueError: a timeout is negative or NaN.
        """
        timeout, max_timeout = self._waits(timeout, max_timeout)
        id = self._next_id
        params = getattr(request, "params", None)
        _advise(params)
        if related_task is not None:
            self._hosting().check(related_task)
        text = self._conversation.send_request(
            self._us,
            request,
            id,
            progress=progress,
            timeout=timeout,
            max_timeout=max_timeout,
            related_task=related_task,
        )
        self._next_id += 1
        self._queue.append(OutgoingMessage(text, related_request))
        if getattr(params, "task", None) is not None:
            self._augmented[id] = self.outgoing[id]
        if related_task is not None:
            self._hosting().ask(id, related_task)
        return id

    def _waits(
        self, timeout: float | t.Missing | None, max_timeout: float | t.Missing | None
    ) -> tuple[float | None, float | None]:
        """How long a request waits, and in all; what the caller says beats the defaults."""
        if timeout is max_timeout is t.MISSING:
            return self._default_waits
        if isinstance(max_timeout, t.Missing):
            max_timeout = self._max_timeout
            if not isinstance(timeout, t.Missing) and max_timeout is not None:
                # Whoever waits for ever, or longer than the default allows, means it.
                max_timeout = None if timeout is None else max(timeout, max_timeout)
        elif timeout is None or (isinstance(timeout, t.Missing) and self._timeout is None):
            timeout = max_timeout
        timeout = self._timeout if isinstance(timeout, t.Missing) else timeout
        _check_seconds(timeout, max_timeout)
        return _shorter(timeout, max_timeout), max_timeout

    def _hosting(self) -> TaskHost:
        if self._host is None:
            detail = "this connection has no tasks; pass a TaskBook as `tasks`"
            raise LocalProtocolError(detail, rule="TASK-01")
        return self._host

    def create_task(
        self,
        id: t.RequestId,
        *,
        ttl: int | None = None,
        poll_interval: int | None = None,
        status_message: str | None = None,
        immediate_response: str | None = None,
    ) -> t.Task:
        """Accept a request of the peer's as a task (TASK-38, TASK-39).

        From now on the task is kept in the connection's `TaskBook`: report there how it goes, and
        its outcome. The peer is told by the connections themselves.

        Args:
            id: the request's id; its `RequestReceived.task` is set.
            ttl: milliseconds that the task is to be kept; what the peer asked for if left out. The
                book's limits hold.
            poll_interval: milliseconds that the peer should leave between two looks.
            status_message: what there is to say, for people.
            immediate_response: what to tell the model in the meantime (TASK-13, provisional).

        Raises:
            LocalProtocolError: no request of this id waits for an answer, it is a plain one, or the
                book has no room.
        """
        host = self._hosting()
        request = self._conversation.to_answer(self._us, id)
        if request.task is None:
            detail = "the peer asked for no task; answer with send_result"
            raise LocalProtocolError(detail, rule="TASK-38")
        return host.create(request, ttl, poll_interval, status_message, immediate_response)

    def retire_token(self, request: RequestInFlight) -> None:
        """No more progress is reported for a request that became a task (PROG-11)."""
        self._them.requests.retire_token(request, RequestStatus.ANSWERED)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Send what the body of the `with` statement sends as one batch (2025-03-26 only).

        Raises:
            LocalProtocolError: the negotiated revision has no batches. Nothing was sent.
        """
        revision = self._conversation.state.revision
        if revision is None or not revision.batches:
            name = "none yet" if revision is None else revision.name
            detail = f"batches are not in the negotiated revision ({name})"
            raise LocalProtocolError(detail, rule="JRPC-15")
        before = len(self._queue)
        try:
            yield
        finally:
            sent = [self._queue.pop() for _ in range(len(self._queue) - before)][::-1]
            if sent:
                text = b"[" + b",".join(message.text for message in sent) + b"]"
                # It goes where its messages would have gone, if they all would have gone there.
                related = {message.related_request for message in sent}
                one = related.pop() if len(related) == 1 else None
                self._queue.append(OutgoingMessage(text, one))

    def send_notification(
        self,
        notification: Any,
        *,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
    ) -> bool:
        """Tell the peer something.

        Args:
            notification: a notification of `sansmcp.types`, or a `Notification` for a method of
                `extensions`.
            related_request: the id of the peer's request for whose sake we tell it, if any. It is
                for the transport.
            related_task: the id of the task that it belongs to, if any (TASK-44).

        Returns:
            Whether it was queued. It is not where the peer has not asked for it: a log message
            below its level, an update of a resource that it is not subscribed to.

        Raises:
            LocalProtocolError: the notification is not allowed now, or not like this.
        """
        text = self._conversation.send_notification(
            self._us, notification, related_task=related_task
        )
        if text is None:
            return False
        self._queue.append(OutgoingMessage(text, related_request))
        return True

    def send_result(self, id: t.RequestId, result: t.Result) -> None:
        """Answer a request of the peer's.

        Args:
            id: the request's id.
            result: the result type of the request's method, such as `CallToolResult`.

        Raises:
            LocalProtocolError: no request of this id waits for an answer (it was answered, or
                cancelled), or this is no answer to it.
        """
        _advise(result)
        self.reply(id, result)

    def reply(self, id: t.RequestId, result: t.Result) -> None:
        """`send_result` without a word about what is unwise: for what is answered by itself."""
        self._answer(self._conversation.send_result(self._us, id, result), id)

    def send_error(
        self, id: t.RequestId, code: int, message: str, data: t.JSONValue = t.MISSING
    ) -> None:
        """Refuse a request of the peer's.

        Args:
            id: the request's id.
            code: one of the codes of `sansmcp.errors`, or a code of the application's own.
            message: one short sentence (JRPC-14).
            data: any JSON value with the details; None is sent as null.

        Raises:
            LocalProtocolError: no request of this id waits for an answer.
        """
        error = t.Error(code, message, data)
        _advise(error)
        self.reply_error(id, error)

    def reply_error(self, id: t.RequestId, error: t.Error) -> None:
        """`send_error` without a word about what is unwise."""
        self._answer(self._conversation.send_error(self._us, id, error), id)

    def send_internal_error(self, id: t.RequestId) -> None:
        """Answer a request whose handling failed: -32603, and not a word about why.

        What went wrong is for our own log. A peer that learns the text of an exception learns too
        much (S05, RES-12, PROMPT-09, COMP-07, LOG-06, ROOT-05).

        Raises:
            LocalProtocolError: no request of this id waits for an answer.
        """
        self.send_error(id, INTERNAL_ERROR, "Internal error")

    def send_progress(
        self,
        id: t.RequestId,
        progress: float,
        total: float | None = None,
        message: str | None = None,
    ) -> bool:
        """Report progress with a request of the peer's.

        Args:
            id: the request's id.
            progress: how far; more than the last time.
            total: how far it goes, in the same unit, if known.
            message: a text for people.

        Returns:
            Whether it was queued: not if the peer has not asked for progress.

        Raises:
            LocalProtocolError: there is no such request (it was answered, or cancelled), or the
                value does not grow (PROG-04, PROG-07, PROG-14).
        """
        if self._host is not None:
            self._host.settle()  # PROG-11: what has ended makes no progress.
        task_id = None if self._host is None else self._host.task_of(id)
        request = None if self._host is None or task_id is None else self._host.request_of(task_id)
        if request is None:
            request = self._conversation.to_answer(self._us, id)
        if request.progress_token is None:
            return False
        params = t.ProgressNotificationParams(request.progress_token, progress, total, message)
        return self.send_notification(
            t.ProgressNotification(params), related_request=id, related_task=task_id
        )

    def cancel_request(self, id: t.RequestId, reason: str | None = None) -> None:
        """Give up on a request of ours. Its answer, should it still come, is dropped.

        What has become a task, or is about to, is stopped with `tasks/cancel` (CANC-04, X-09).

        Args:
            id: what `send_request` returned.
            reason: why, for the peer's log.

        Raises:
            LocalProtocolError: it is `initialize` (CANC-03), or no request of ours in flight
                (CANC-01, CANC-02).
        """
        if self._follower.give_up(id, self._us.requests.get(id)):
            return
        params = t.CancelledNotificationParams(id, reason)
        self.send_notification(t.CancelledNotification(params))

    def ping(self, *, timeout: float | t.Missing | None = t.MISSING) -> t.RequestId:
        """Ask whether the peer is there; the answer is an empty `ResultReceived` (PING-01)."""
        return self.send_request(t.PingRequest(), timeout=timeout)


def _advise(part: Any) -> None:
    """Warn of what is legal and unwise. Before anything changes: a warning may be an error."""
    for broken in lint(part):
        warnings.warn(f"{broken.detail} [{broken.rule}]", ProtocolWarning, stacklevel=3)


def _shorter(timeout: float | None, max_timeout: float | None) -> float | None:
    """How long a request waits at first: for ever, or no longer than it waits in all."""
    return timeout if timeout is None or max_timeout is None else min(timeout, max_timeout)


def _check_seconds(*values: float | None) -> None:
    for value in values:
        if value is not None and not value >= 0:
            raise ValueError(f"a timeout is a number of seconds from 0 on, or None; not {value}")


def _utf8_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
