"""THE table: every request and every notification of the protocol, one row each.

Everything that depends on a method is looked up here: who may send it, the types of its params and
its result, the capability that gates it, the revisions that have it. The source is the schema
reference and the pages of each feature; the capability column of `tasks/*` is inferred.
"""

import enum
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import attrs

from . import types as t
from .revisions import LATEST_REVISION, REVISIONS

__all__ = [
    "CLIENT",
    "METHODS",
    "SERVER",
    "MethodTable",
    "NotificationMethod",
    "RequestMethod",
    "Side",
]


class Side(enum.Enum):
    """One of the two ends of a conversation."""

    CLIENT = "client"
    SERVER = "server"

    # As there is one of each, its identity will do. Enum hashes the name, in Python.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.name


CLIENT: Final = Side.CLIENT
SERVER: Final = Side.SERVER
_BOTH: Final = frozenset(Side)
_CLIENT: Final = frozenset({CLIENT})
_SERVER: Final = frozenset({SERVER})


@attrs.frozen(eq=False)
class RequestMethod:
    """A row for a request.

    Attributes:
        method: the name on the wire.
        senders: the sides that may send it.
        request: the class of the request as a whole.
        params: the type of its `params`, or None for a method of no schema, whose params are any
            JSON object.
        result: the class of its result.
        params_required: whether `params` may be left out.
        capability: what the *receiver* must have declared, dotted (`resources.subscribe`), or None.
        since: the first revision that has it.
        task: the receiver's capability that allows the request to be augmented with a task, dotted,
            or None where it cannot be.
    """

    method: str
    senders: frozenset[Side]
    request: type[Any] = t.Request
    params: Any = None
    result: type[t.Result] = t.Result
    capability: str | None = None
    since: str = "2024-11-05"
    task: str | None = None
    params_required: bool = attrs.field(init=False)

    @params_required.default
    def _(self) -> bool:
        return _params_required(self.request)


@attrs.frozen(eq=False)
class NotificationMethod:
    """A row for a notification.

    Attributes:
        method: the name on the wire.
        senders: the sides that may send it.
        notification: the class of the notification as a whole.
        params: the class of its `params`, or None for a method of no schema, whose params are any
            JSON object.
        params_required: whether `params` may be left out.
        capability: what must have been declared for it to be sent, dotted, or None.
        capability_of_receiver: whether it is the receiver that must have declared it, and not the
            sender.
        since: the first revision that has it.
    """

    method: str
    senders: frozenset[Side]
    notification: type[Any] = t.Notification
    params: type[Any] | None = None
    capability: str | None = None
    since: str = "2024-11-05"
    capability_of_receiver: bool = False
    params_required: bool = attrs.field(init=False)

    @params_required.default
    def _(self) -> bool:
        return _params_required(self.notification)


def _params_required(message: type[Any]) -> bool:
    return bool(attrs.fields_dict(message)["params"].default is attrs.NOTHING)


_C, _D = "2025-06-18", "2025-11-25"

# fmt: off
_REQUESTS: Final = (
    RequestMethod("initialize", _CLIENT, t.InitializeRequest, t.InitializeRequestParams, t.InitializeResult),
    RequestMethod("ping", _BOTH, t.PingRequest, t.RequestParams),
    RequestMethod("resources/list", _CLIENT, t.ListResourcesRequest, t.PaginatedRequestParams, t.ListResourcesResult, "resources"),
    RequestMethod("resources/templates/list", _CLIENT, t.ListResourceTemplatesRequest, t.PaginatedRequestParams, t.ListResourceTemplatesResult, "resources"),
    RequestMethod("resources/read", _CLIENT, t.ReadResourceRequest, t.ReadResourceRequestParams, t.ReadResourceResult, "resources"),
    RequestMethod("resources/subscribe", _CLIENT, t.SubscribeRequest, t.SubscribeRequestParams, t.Result, "resources.subscribe"),
    RequestMethod("resources/unsubscribe", _CLIENT, t.UnsubscribeRequest, t.UnsubscribeRequestParams, t.Result, "resources.subscribe"),
    RequestMethod("prompts/list", _CLIENT, t.ListPromptsRequest, t.PaginatedRequestParams, t.ListPromptsResult, "prompts"),
    RequestMethod("prompts/get", _CLIENT, t.GetPromptRequest, t.GetPromptRequestParams, t.GetPromptResult, "prompts"),
    RequestMethod("tools/list", _CLIENT, t.ListToolsRequest, t.PaginatedRequestParams, t.ListToolsResult, "tools"),
    RequestMethod("tools/call", _CLIENT, t.CallToolRequest, t.CallToolRequestParams, t.CallToolResult, "tools", task="tasks.requests.tools.call"),
    RequestMethod("completion/complete", _CLIENT, t.CompleteRequest, t.CompleteRequestParams, t.CompleteResult, "completions"),
    RequestMethod("logging/setLevel", _CLIENT, t.SetLevelRequest, t.SetLevelRequestParams, t.Result, "logging"),
    RequestMethod("roots/list", _SERVER, t.ListRootsRequest, t.RequestParams, t.ListRootsResult, "roots"),
    RequestMethod("sampling/createMessage", _SERVER, t.CreateMessageRequest, t.CreateMessageRequestParams, t.CreateMessageResult, "sampling", task="tasks.requests.sampling.createMessage"),
    RequestMethod("elicitation/create", _SERVER, t.ElicitRequest, t.ElicitRequestParams, t.ElicitResult, "elicitation", _C, task="tasks.requests.elicitation.create"),
    RequestMethod("tasks/get", _BOTH, t.GetTaskRequest, t.GetTaskRequestParams, t.GetTaskResult, "tasks", _D),
    RequestMethod("tasks/result", _BOTH, t.GetTaskPayloadRequest, t.GetTaskPayloadRequestParams, t.GetTaskPayloadResult, "tasks", _D),
    RequestMethod("tasks/list", _BOTH, t.ListTasksRequest, t.PaginatedRequestParams, t.ListTasksResult, "tasks.list", _D),
    RequestMethod("tasks/cancel", _BOTH, t.CancelTaskRequest, t.CancelTaskRequestParams, t.CancelTaskResult, "tasks.cancel", _D),
)

_NOTIFICATIONS: Final = (
    NotificationMethod("notifications/initialized", _CLIENT, t.InitializedNotification, t.NotificationParams),
    NotificationMethod("notifications/cancelled", _BOTH, t.CancelledNotification, t.CancelledNotificationParams),
    NotificationMethod("notifications/progress", _BOTH, t.ProgressNotification, t.ProgressNotificationParams),
    NotificationMethod("notifications/message", _SERVER, t.LoggingMessageNotification, t.LoggingMessageNotificationParams, "logging"),
    NotificationMethod("notifications/resources/list_changed", _SERVER, t.ResourceListChangedNotification, t.NotificationParams, "resources.listChanged"),
    NotificationMethod("notifications/resources/updated", _SERVER, t.ResourceUpdatedNotification, t.ResourceUpdatedNotificationParams, "resources.subscribe"),
    NotificationMethod("notifications/prompts/list_changed", _SERVER, t.PromptListChangedNotification, t.NotificationParams, "prompts.listChanged"),
    NotificationMethod("notifications/tools/list_changed", _SERVER, t.ToolListChangedNotification, t.NotificationParams, "tools.listChanged"),
    NotificationMethod("notifications/roots/list_changed", _CLIENT, t.RootsListChangedNotification, t.NotificationParams, "roots.listChanged"),
    NotificationMethod("notifications/elicitation/complete", _SERVER, t.ElicitationCompleteNotification, t.ElicitationCompleteNotificationParams, "elicitation.url", _D, capability_of_receiver=True),
    NotificationMethod("notifications/tasks/status", _BOTH, t.TaskStatusNotification, t.TaskStatusNotificationParams, None, _D),
)
# fmt: on

_Row = TypeVar("_Row", RequestMethod, NotificationMethod)


def _by_name(rows: Iterable[_Row], extensions: Iterable[_Row]) -> Mapping[str, _Row]:
    table = {row.method: row for row in rows}
    for row in extensions:
        if row.method in table:
            raise ValueError(f"the method {row.method!r} is registered already")
        if row.since not in REVISIONS:
            raise ValueError(f"{row.method!r} names an unknown revision {row.since!r}")
        table[row.method] = row
    return table


class MethodTable:
    """The methods that a connection knows: those of the protocol, and an application's own.

    Args:
        extensions: rows for methods outside the specification. The smallest is
            `RequestMethod("example/echo", frozenset({CLIENT}))`: its params are any JSON object
            and arrive in a `Request`, its result is a `Result`.

    Raises:
        ValueError: an extension has the name of a method that is there already.
    """

    def __init__(self, extensions: Iterable[RequestMethod | NotificationMethod] = ()) -> None:
        rows = tuple(extensions)
        self.requests: Mapping[str, RequestMethod] = _by_name(
            _REQUESTS, (row for row in rows if isinstance(row, RequestMethod))
        )
        self.notifications: Mapping[str, NotificationMethod] = _by_name(
            _NOTIFICATIONS, (row for row in rows if isinstance(row, NotificationMethod))
        )


#: The methods of the specification and nothing else.
METHODS: Final = MethodTable()

assert LATEST_REVISION == _D
