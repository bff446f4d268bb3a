"""Tasks: requests that are answered later (basic/utilities/tasks)."""

from typing import ClassVar, Literal, TypeAlias

import attrs

from .base import JSONObject, Model, RequestMeta, items
from .jsonrpc import Cursor, PaginatedRequestParams, RequestId, Result, request_id

__all__ = [
    "CancelTaskRequest",
    "CancelTaskRequestParams",
    "CancelTaskResult",
    "CreateTaskResult",
    "GetTaskPayloadRequest",
    "GetTaskPayloadRequestParams",
    "GetTaskPayloadResult",
    "GetTaskRequest",
    "GetTaskRequestParams",
    "GetTaskResult",
    "ListTasksRequest",
    "ListTasksResult",
    "RelatedTaskMetadata",
    "Task",
    "TaskAugmentedRequestParams",
    "TaskMetadata",
    "TaskStatus",
    "TaskStatusNotification",
    "TaskStatusNotificationParams",
]

TaskStatus: TypeAlias = Literal["cancelled", "completed", "failed", "input_required", "working"]


@attrs.frozen(repr=False)
class TaskMetadata(Model):
    """Augments a request with a task; `ttl` asks for a lifetime in milliseconds."""

    ttl: int | None = None


@attrs.frozen(repr=False)
class TaskAugmentedRequestParams(Model):
    """The params of a request that may be augmented with a task."""

    task: TaskMetadata | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class RelatedTaskMetadata(Model):
    """Says which task a message belongs to (TASK-44)."""

    task_id: str


@attrs.frozen(repr=False)
class Task(Model):
    """The state of a task.

    Attributes:
        task_id: its name, given by the receiver.
        status: where it stands.
        created_at: when it was made, ISO 8601.
        last_updated_at: when it changed last, ISO 8601.
        ttl: milliseconds that it is kept after it was made; None, which is null, for ever.
        status_message: what there is to say about the status, for people.
        poll_interval: milliseconds to leave between two looks at it.
    """

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None


@attrs.frozen(repr=False)
class CreateTaskResult(Result):
    """A request was accepted as a task."""

    task: Task


@attrs.frozen(repr=False)
class GetTaskRequestParams(Model):
    """Names a task."""

    task_id: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class GetTaskRequest(Model):
    """How does a task stand?"""

    method: ClassVar[Literal["tasks/get"]] = "tasks/get"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: GetTaskRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class GetTaskResult(Result):
    """How a task stands; the attributes are those of `Task`."""

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None


@attrs.frozen(repr=False)
class GetTaskPayloadRequestParams(Model):
    """Names a task."""

    task_id: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class GetTaskPayloadRequest(Model):
    """What has come of a task? Answered once it has ended."""

    method: ClassVar[Literal["tasks/result"]] = "tasks/result"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: GetTaskPayloadRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class GetTaskPayloadResult(Result):
    """What has come of a task: the members of the wrapped request's result, in `extra`."""


@attrs.frozen(repr=False)
class ListTasksRequest(Model):
    """A client asks for a page of the tasks."""

    method: ClassVar[Literal["tasks/list"]] = "tasks/list"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: PaginatedRequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ListTasksResult(Result):
    """A page of the tasks."""

    tasks: tuple[Task, ...] = attrs.field(converter=items)
    next_cursor: Cursor | None = None


@attrs.frozen(repr=False)
class CancelTaskRequestParams(Model):
    """Names a task."""

    task_id: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class CancelTaskRequest(Model):
    """Stop a task."""

    method: ClassVar[Literal["tasks/cancel"]] = "tasks/cancel"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: CancelTaskRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class CancelTaskResult(Result):
    """A task that was stopped; the attributes are those of `Task`."""

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None


@attrs.frozen(repr=False)
class TaskStatusNotificationParams(Model):
    """How a task stands; the attributes are those of `Task`."""

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    status_message: str | None = None
    poll_interval: int | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class TaskStatusNotification(Model):
    """The status of a task has changed. Not to be relied on (TASK-18)."""

    method: ClassVar[Literal["notifications/tasks/status"]] = "notifications/tasks/status"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: TaskStatusNotificationParams
