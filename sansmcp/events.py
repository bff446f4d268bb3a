"""What `receive_data()` returns: one event for each thing that happened, in order.

Events are frozen attrs classes, made for `match`. They are values: two connections that are fed the
same bytes at the same times give equal events.
"""

from typing import Any, TypeAlias

import attrs

from .types import (
    ClientCapabilities,
    Error,
    Implementation,
    JSONRPCErrorResponse,
    JSONValue,
    LoggingLevel,
    ProgressToken,
    RequestId,
    Result,
    ServerCapabilities,
    Task,
    TaskMetadata,
)

__all__ = [
    "ConnectionClosed",
    "ErrorReceived",
    "Event",
    "Initialized",
    "LogLevelChanged",
    "NotificationReceived",
    "ProgressReceived",
    "ProtocolViolation",
    "RequestCancelled",
    "RequestReceived",
    "RequestTimedOut",
    "ResourceSubscribed",
    "ResourceUnsubscribed",
    "ResultReceived",
    "TaskBookFailed",
    "TaskCancelRequested",
    "TaskCreated",
    "TaskExpired",
    "TaskStatusChanged",
    "VersionMismatch",
]

Capabilities: TypeAlias = ClientCapabilities | ServerCapabilities


@attrs.frozen
class Initialized:
    """The handshake is over, and the connection is READY (basic/lifecycle).

    On a client: the server's answer arrived, and `notifications/initialized` is queued. On a
    server: the client's `notifications/initialized` arrived.

    Attributes:
        revision: the negotiated protocol revision.
        peer_info: who the peer says it is.
        peer_capabilities: what the peer has declared.
        instructions: the server's advice for the model, on a client; else None.
    """

    revision: str
    peer_info: Implementation
    peer_capabilities: Capabilities
    instructions: str | None = None


@attrs.frozen
class VersionMismatch:
    """No common revision: the connection is CLOSED, and `ConnectionClosed` follows (LIFE-13).

    Attributes:
        supported: the revisions that we accept, newest first.
        offered: the revisions that the peer named: its answer, or the list in its refusal.
    """

    supported: tuple[str, ...]
    offered: tuple[str, ...]


@attrs.frozen
class RequestReceived:
    """The peer asks us something. Answer it once, with `send_result` or `send_error`.

    Attributes:
        id: the request's id, for the answer.
        request: the typed request, such as `CallToolRequest`; a `Request` for a method that the
            application registered.
        revision: the revision that is in force for this request.
        peer_capabilities: the peer's capabilities that are in force for it.
        task: set if the peer wants it to become a task, and we have declared that it may: answer it
            with `create_task`. None for a plain request.
    """

    id: RequestId
    request: Any
    revision: str
    peer_capabilities: Capabilities
    task: TaskMetadata | None = None

    @property
    def method(self) -> str:
        """The method's name, such as `tools/call`."""
        return str(self.request.method)

    @property
    def params(self) -> Any:
        """The request's params; None where they were left out."""
        return self.request.params

    @property
    def progress_token(self) -> ProgressToken | None:
        """The token for `send_progress`; None if the peer wants no progress."""
        return progress_token_of(self.request.params)


def progress_token_of(params: Any) -> ProgressToken | None:
    """The token that a request's params carry in `_meta`, or None."""
    if params is None:
        return None
    meta = params.get("_meta") if isinstance(params, dict) else params.meta
    return meta.get("progressToken") if isinstance(meta, dict) else None


@attrs.frozen
class ResultReceived:
    """A request of ours was answered.

    Attributes:
        id: the id that `send_request` returned.
        request: the request as it was sent.
        result: the result, of the type that belongs to the request's method.
    """

    id: RequestId
    request: Any
    result: Result


@attrs.frozen
class ErrorReceived:
    """A request of ours failed; or the peer reports an error that names no request (S06).

    Attributes:
        id: the id of our request; None for an error without one.
        request: the request as it was sent; None for an error without id.
        error: the peer's error. Where `violation` is set it is our account of an answer that could
            not be read, with code -32603.
        violation: the fault in the answer that ended this request, if that is why it failed.
    """

    id: RequestId | None
    request: Any
    error: Error
    violation: "ProtocolViolation | None" = None


@attrs.frozen
class NotificationReceived:
    """The peer tells us something.

    Attributes:
        notification: the typed notification, such as `ToolListChangedNotification`.
    """

    notification: Any

    @property
    def method(self) -> str:
        """The method's name, such as `notifications/message`."""
        return str(self.notification.method)

    @property
    def params(self) -> Any:
        """The notification's params; None where they were left out."""
        return self.notification.params


@attrs.frozen
class ProgressReceived:
    """The peer made progress with a request of ours (basic/utilities/progress).

    Attributes:
        id: the id of the request, not its token.
        request: the request as it was sent.
        progress: how far; greater than any value before.
        total: how far it goes, in the unit of `progress`, if the peer knows.
        message: a text for people, or None.
    """

    id: RequestId
    request: Any
    progress: float
    total: float | None = None
    message: str | None = None


@attrs.frozen
class RequestCancelled:
    """The peer gave up on a request of theirs: stop working on it, and do not answer it.

    Attributes:
        id: the id of the request.
        request: the request.
        reason: why, for logs and people, or None.
    """

    id: RequestId
    request: Any
    reason: str | None = None


@attrs.frozen
class RequestTimedOut:
    """A request of ours was not answered in time; the peer was told so (LIFE-18).

    Attributes:
        id: the id of the request.
        request: the request as it was sent.
    """

    id: RequestId
    request: Any


@attrs.frozen
class LogLevelChanged:
    """The client set the least severe level that it wants to see; the core filters by it.

    Attributes:
        level: the new level (server/utilities/logging).
    """

    level: LoggingLevel


@attrs.frozen
class ResourceSubscribed:
    """The client wants to hear of updates of a resource; the core keeps the subscription.

    Attributes:
        uri: the resource, as the client wrote it (server/resources, Subscriptions).
    """

    uri: str


@attrs.frozen
class ResourceUnsubscribed:
    """The client wants to hear no more of a resource.

    Attributes:
        uri: the resource, as the client wrote it.
    """

    uri: str


@attrs.frozen
class TaskCreated:
    """A request of ours has become a task at the peer's.

    The task is followed by itself. What comes of it arrives as `ResultReceived` or `ErrorReceived`
    with the id of the request, as if it had been plain.

    Attributes:
        id: the id of our request.
        request: the request as it was sent.
        task: how the task stands.
        immediate_response: what to tell the model in the meantime, if the peer says (TASK-13).
    """

    id: RequestId
    request: Any
    task: Task
    immediate_response: str | None = None


@attrs.frozen
class TaskStatusChanged:
    """A task of the peer's, that a request of ours has become, stands differently now.

    Attributes:
        id: the id of our request.
        task: how the task stands.
    """

    id: RequestId
    task: Task


@attrs.frozen
class TaskCancelRequested:
    """The peer has stopped a task of ours: it is cancelled already. Stop working on it (TASK-56).

    Attributes:
        task: the task.
    """

    task: Task


@attrs.frozen
class TaskExpired:
    """The time of a task of ours is over; it is gone (TASK-77). Stop working on it.

    Attributes:
        task: the task as it was.
    """

    task: Task


@attrs.frozen
class TaskBookFailed:
    """A `TaskBook` could not serve the peer: its storage raised, or holds what cannot be told here.

    A request of the peer's is answered with -32603 then (TASK-63).

    Attributes:
        id: the id of the peer's request that could not be served, or of ours whose answer was to
            set a task to work again.
        error: what was raised.
    """

    id: RequestId
    error: Exception


@attrs.frozen
class ProtocolViolation:
    """The peer broke a rule. Nothing else is lost: the next message is read as usual.

    Attributes:
        rule: the id of the rule, a key of `sansmcp.RULES`.
        detail: what was wrong, in one sentence.
        message: what the peer sent: the JSON value, or the bytes if they were not JSON; None for
            what was not kept (a line beyond the size limit).
        reply: the error that was sent back, or None if the rules want no answer.
    """

    rule: str
    detail: str
    message: JSONValue = None
    reply: JSONRPCErrorResponse | None = None


@attrs.frozen
class ConnectionClosed:
    """The conversation is over; no event follows.

    Attributes:
        unanswered: our requests that got no answer and never will on this connection, by id, in the
            order in which they were sent. Among them are those that have become a task of the
            peer's which has not ended; the task may live on.
        unserved: the peer's requests that we had not answered, by id. Stop working on them.
        reason: what ended it, in one sentence.
    """

    unanswered: dict[RequestId, Any]
    unserved: dict[RequestId, Any]
    reason: str


Event: TypeAlias = (
    Initialized
    | VersionMismatch
    | RequestReceived
    | ResultReceived
    | ErrorReceived
    | NotificationReceived
    | ProgressReceived
    | RequestCancelled
    | RequestTimedOut
    | LogLevelChanged
    | ResourceSubscribed
    | ResourceUnsubscribed
    | TaskCreated
    | TaskStatusChanged
    | TaskCancelRequested
    | TaskExpired
    | TaskBookFailed
    | ProtocolViolation
    | ConnectionClosed
)
