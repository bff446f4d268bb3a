"""The receiver's side of tasks: requests of the peer's that we answer later (basic/utilities/tasks).

A `TaskHost` belongs to one connection; the tasks themselves are in the `TaskBook`. Who waits in
`tasks/result` waits here, and is answered when the connection is next asked for what it has to send.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from . import types as t
from .checks import MODEL_IMMEDIATE_RESPONSE, RELATED_TASK
from .errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, LocalProtocolError, shortened
from .events import Event, TaskBookFailed, TaskCancelRequested, TaskExpired
from .requests import RequestInFlight
from .tasks import TERMINAL, TaskBook, TaskRecord

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["TaskHost"]

_FIELDS: Final = (
    "task_id",
    "status",
    "created_at",
    "last_updated_at",
    "ttl",
    "status_message",
    "poll_interval",
)


def _fields(task: t.Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in _FIELDS}


class TaskHost:
    """Answers `tasks/*` for one connection, from a book.

    Args:
        connection: the connection.
        book: the tasks.
        context: the authorization context of the peer.
        notify: whether to tell the peer of every change of a task that was made here (TASK-17).
    """

    def __init__(
        self, connection: "Connection", book: TaskBook, context: str, *, notify: bool
    ) -> None:
        self._connection = connection
        self._book = book
        self._context = context
        self._notify = notify
        self._seen = book.version
        # Task id -> the requests that wait for its outcome.
        self._waiting: dict[str, dict[t.RequestId, None]] = {}
        # Tasks that were made here and have not ended: id -> (their request, the task as last told).
        self._made: dict[str, tuple[RequestInFlight, t.Task]] = {}
        #: What the storage has raised while something of the peer's was received.
        self.failures: list[Event] = []
        self._task_ids: dict[t.RequestId, str] = {}
        # Our request to the peer -> the task for whose sake it was made.
        self._asked_for: dict[t.RequestId, str] = {}
        self._questions: Counter[str] = Counter()
        self.automatic: dict[str, Callable[[RequestInFlight], list[Event]]] = {
            "tasks/get": partial(self._guarded, self._get),
            "tasks/result": partial(self._guarded, self._result),
            "tasks/list": partial(self._guarded, self._list),
            "tasks/cancel": partial(self._guarded, self._cancel),
        }

    # ---- the application's side

    def refuses(self, request: RequestInFlight) -> bool:
        """Refuse a request that is to become a task and for which there is no room."""
        if request.task is None:
            return False
        try:
            full = self._book.room_for(self._context)
        except Exception as error:
            self.failures.append(TaskBookFailed(request.id, error))
            self._connection.send_internal_error(request.id)
            return True
        if full is None:
            return False
        self._connection.send_error(request.id, INTERNAL_ERROR, f"No room for a task: {full}")
        return True

    def create(
        self,
        request: RequestInFlight,
        ttl: int | None,
        poll_interval: int | None,
        status_message: str | None,
        immediate_response: str | None,
    ) -> t.Task:
        """Accept a request as a task."""
        assert request.task is not None
        task = self._book.create(
            self._context,
            request.method.method,
            ttl=request.task.ttl if ttl is None else ttl,
            poll_interval=poll_interval,
            status_message=status_message,
        )
        meta = None
        if immediate_response is not None:
            meta = {MODEL_IMMEDIATE_RESPONSE: immediate_response}
        self._connection.reply(request.id, t.CreateTaskResult(task, meta=meta))
        # What was asked is the application's now. Here it would lie for as long as the task.
        request.request = None
        self._made[task.task_id] = request, task
        self._task_ids[request.id] = task.task_id
        return task

    def request_of(self, task_id: str) -> RequestInFlight | None:
        """The request that became a task, if it was made here and has not ended."""
        made = self._made.get(task_id)
        return None if made is None else made[0]

    def task_of(self, id: t.RequestId) -> str | None:
        """The task that a request has become, if it was made here and has not ended."""
        return self._task_ids.get(id)

    def ask(self, id: t.RequestId, task_id: str) -> None:
        """We have asked the peer something for the sake of a task (TASK-28)."""
        self._asked_for[id] = task_id
        self._questions[task_id] += 1
        record = self._book.record(task_id, self._context)
        if record is not None and record.task.status == "working":
            self._book.update(task_id, "input_required", record.task.status_message)

    def forget(self, id: t.RequestId, request: Any) -> None:
        """The peer has given up a request; if it waited for a task, it waits no more (TASK-43)."""
        if isinstance(request, t.GetTaskPayloadRequest):
            ids = self._waiting.get(request.params.task_id, {})
            ids.pop(id, None)
            if not ids:
                self._waiting.pop(request.params.task_id, None)

    def answered(self, id: t.RequestId) -> None:
        """What we asked was answered, or will not be: when that was all, work goes on (TASK-31)."""
        task_id = self._asked_for.pop(id, None)
        if task_id is None:
            return
        self._questions[task_id] -= 1
        if self._questions[task_id]:
            return
        del self._questions[task_id]
        try:
            record = self._book.record(task_id, self._context)
            if record is not None and record.task.status == "input_required":
                self._book.update(task_id, "working", record.task.status_message)
        except Exception as error:
            self.failures.append(TaskBookFailed(id, error))

    def check(self, task_id: str) -> None:
        """Raise if there is no such task of the peer's that still runs."""
        record = self._book.record(task_id, self._context)
        if record is None or record.task.status in TERMINAL:
            detail = f"there is no task {shortened(task_id)} of this peer's that runs"
            raise LocalProtocolError(detail, rule="TASK-44")

    # ---- the peer's side

    def _guarded(
        self, serve: Callable[[RequestInFlight], list[Event]], request: RequestInFlight
    ) -> list[Event]:
        """Serve a request from a storage that may fail, as a database does.

        Such a failure is ours and not the peer's, and no reason to lose what else has arrived.
        """
        try:
            return serve(request)
        except Exception as error:
            if request.id in self._connection.incoming:
                self._connection.send_internal_error(request.id)
            return [TaskBookFailed(request.id, error)]

    def _known(self, request: RequestInFlight) -> TaskRecord | None:
        """The task that a request names; or the request is refused (TASK-61)."""
        task_id = request.request.params.task_id
        record = self._book.record(task_id, self._context)
        if record is None:
            message = f"Task not found: {shortened(task_id)}"
            self._connection.send_error(request.id, INVALID_PARAMS, message)
        return record

    def _get(self, request: RequestInFlight) -> list[Event]:
        record = self._known(request)
        if record is not None:
            self._connection.reply(request.id, t.GetTaskResult(**_fields(record.task)))
        return []

    def _result(self, request: RequestInFlight) -> list[Event]:
        record = self._known(request)
        if record is not None and not self._answer(request.id, record):
            self._waiting.setdefault(record.task.task_id, {})[request.id] = None
        return []

    def _list(self, request: RequestInFlight) -> list[Event]:
        params = request.request.params
        cursor = None if params is None else params.cursor
        page = self._book.page(self._context, cursor)
        if page is None:
            message = f"Invalid cursor: {shortened(cursor)}"
            self._connection.send_error(request.id, INVALID_PARAMS, message)
        else:
            tasks, next_cursor = page
            self._connection.reply(request.id, t.ListTasksResult(tasks, next_cursor))
        return []

    def _cancel(self, request: RequestInFlight) -> list[Event]:
        record = self._known(request)
        if record is None:
            return []
        if record.task.status in TERMINAL:
            message = f"Cannot cancel a task that is {record.task.status} already"
            self._connection.send_error(request.id, INVALID_PARAMS, message)
            return []
        task = self._book.cancel(record.task.task_id, "The task was cancelled by request.")
        self._connection.reply(request.id, t.CancelTaskResult(**_fields(task)))
        return [TaskCancelRequested(task)]

    def _answer(self, id: t.RequestId, record: TaskRecord) -> bool:
        """Answer `tasks/result` if the task has ended; says whether it has."""
        if record.task.status not in TERMINAL:
            return False
        try:
            self._answer_with(id, record)
        except LocalProtocolError as error:
            # It was kept before anybody knew who would ask; this peer cannot be told.
            self._connection.send_internal_error(id)
            self.failures.append(TaskBookFailed(id, error))
        return True

    def _answer_with(self, id: t.RequestId, record: TaskRecord) -> None:
        task = record.task
        if record.result is not None:
            related = {RELATED_TASK: {"taskId": task.task_id}}
            meta = {**record.result.get("_meta", {}), **related}
            extra = {key: value for key, value in record.result.items() if key != "_meta"}
            self._connection.reply(id, t.GetTaskPayloadResult(meta=meta, extra=extra))
        elif record.error is not None:
            self._connection.reply_error(id, record.error)
        else:
            # a task that was cancelled has no outcome to give.
            self._connection.send_error(id, INVALID_REQUEST, "The task was cancelled")

    # ---- what goes by itself

    def settle(self) -> None:
        """Tell what has changed in the book since the last time."""
        if self._book.version == self._seen:
            return
        version = self._book.version
        changed = self._book.changed_since(self._seen)
        # The status first: who hears of the outcome asks no more.
        for task_id in list(self._made) if changed is None else changed & self._made.keys():
            self._tell_status(task_id)
        for task_id in self._waiting.keys() if changed is None else changed & self._waiting.keys():
            self._tell_waiting(task_id)
        self._waiting = {task_id: ids for task_id, ids in self._waiting.items() if ids}
        # Only now: if the storage has failed in the middle, the rest is due the next time.
        self._seen = version

    def _tell_waiting(self, task_id: str) -> None:
        """Answer those who wait for a task, if it has ended or is gone."""
        record = self._book.record(task_id, self._context)
        ids = self._waiting[task_id]
        if record is not None and record.task.status not in TERMINAL:
            return
        for id in ids:
            if id not in self._connection.incoming:
                continue  # It was cancelled meanwhile; the task is none the worse for it (TASK-43).
            if record is None:
                message = f"Task not found: {shortened(task_id)}; its time is over"
                self._connection.send_error(id, INVALID_PARAMS, message)
            else:
                self._answer(id, record)
        ids.clear()

    def _tell_status(self, task_id: str) -> None:
        """Tell the peer how a task stands that was made here."""
        request, told = self._made[task_id]
        record = self._book.record(task_id, self._context)
        if record is None or record.task.status in TERMINAL:
            del self._made[task_id]
            # A peer may have used the id again, for a task that came later and may end earlier.
            if self._task_ids.get(request.id) == task_id:
                del self._task_ids[request.id]
            self._connection.retire_token(request)
        else:
            self._made[task_id] = request, record.task
        if record is not None and record.task != told and self._notify:
            params = t.TaskStatusNotificationParams(**_fields(record.task))
            self._connection.send_notification(t.TaskStatusNotification(params))

    def next_deadline(self, now: float) -> float | None:
        """When a task of the book expires, by the connection's clock."""
        seconds = self._book.seconds_to_expiry()
        return None if seconds is None else now + seconds

    def expire(self) -> list[Event]:
        """Delete what has expired."""
        return [TaskExpired(task) for task in self._book.expire()]
