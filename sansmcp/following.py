"""The requestor's side of tasks: requests of ours that the peer answers later.

A `TaskFollower` belongs to one connection. It polls a task at the pace that the peer suggests, asks
for the outcome once the task has ended or needs input (the peer then has a request to ask on,
TASK-30), and hands over what comes of it as the answer to the request that became the task. These
requests are made because the application asked for a task, and for nothing else.
"""

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final

import attrs

from . import types as t
from .checks import MODEL_IMMEDIATE_RESPONSE
from .conversation import standard_error
from .errors import INTERNAL_ERROR, LocalProtocolError, StructureError
from .events import (
    ErrorReceived,
    Event,
    ProtocolViolation,
    RequestTimedOut,
    ResultReceived,
    TaskCreated,
    TaskStatusChanged,
)
from .limits import MAX_POLL_INTERVAL, MIN_POLL_INTERVAL
from .requests import RequestInFlight
from .tasks import TERMINAL
from .wire import structure, unstructure

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["TaskFollower"]

#: Milliseconds between two looks at a task, where the peer suggests nothing.
_POLL_INTERVAL: Final = 1000


@attrs.define(eq=False)
class _Followed:
    """A request of ours that became a task.

    Attributes:
        request: the request.
        task: how the task stood last.
        poll_at: when to look at it next, by the connection's clock; None while a look is under way.
        look_id: our `tasks/get`, while it is under way.
        result_id: our `tasks/result`, once there is one.
        unwanted: whether the application has given it up.
    """

    request: RequestInFlight
    task: t.Task
    poll_at: float | None = None
    look_id: t.RequestId | None = None
    result_id: t.RequestId | None = None
    unwanted: bool = False


class TaskFollower:
    """Follows the tasks that the requests of one connection have become."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._by_task: dict[str, _Followed] = {}
        self._by_request: dict[t.RequestId, _Followed] = {}
        # Our requests about tasks, and the task that each is about.
        self._asking: dict[t.RequestId, _Followed] = {}
        self._polls: list[tuple[float, int, _Followed]] = []
        self._sequence = 0
        # Requests that were given up before they became a task.
        self._unwanted: dict[t.RequestId, None] = {}

    @property
    def idle(self) -> bool:
        """Whether nothing is followed, and nothing that was asked about tasks is open."""
        return not (self._by_task or self._by_request or self._asking or self._unwanted)

    @property
    def tasks(self) -> dict[t.RequestId, t.Task]:
        """How the tasks stand that have not ended, by the id of our request."""
        return {id: followed.task for id, followed in self._by_request.items()}

    @property
    def unanswered(self) -> dict[t.RequestId, Any]:
        """The requests whose task has not ended, by id."""
        return {id: followed.request.request for id, followed in self._by_request.items()}

    # ---- what the application wants

    def give_up(self, id: t.RequestId, request: RequestInFlight | None) -> bool:
        """Stop the task that a request has become, or will become; False if it is none."""
        followed = self._by_request.get(id)
        if followed is not None:
            self._check_cancel()
            self._drop(followed)
            followed.unwanted = True
            self._ask(
                followed, t.CancelTaskRequest(t.CancelTaskRequestParams(followed.task.task_id))
            )
            return True
        if request is None or request.task is None:
            return False
        self._check_cancel()
        request.deadline = None  # Nobody waits for it but us, who want to know its task.
        self._unwanted[id] = None
        return True

    def _check_cancel(self) -> None:
        if not self._connection.may_send("tasks/cancel"):
            raise LocalProtocolError(
                "the peer has not declared tasks.cancel, and a task is stopped in no other way",
                rule="CANC-04",
            )

    # ---- what arrives

    def hear(self, event: Event, request: RequestInFlight | None) -> list[Event] | None:
        """What an event means for the tasks; None if nothing, and it is the application's."""
        match event:
            case ResultReceived(id=id) if id in self._asking:
                return self._told(self._asking.pop(id), id, event)
            case ErrorReceived(id=id) | RequestTimedOut(id=id) if id in self._asking:
                return self._failed(self._asking.pop(id), id, event)
            case ResultReceived(id=id, result=t.CreateTaskResult() as result) if (
                request is not None
            ):
                return self._created(id, request, result)
            case ResultReceived(id=id) | ErrorReceived(id=id) if id in self._unwanted:
                # It became no task, and nobody wants to know.
                del self._unwanted[id]
                return []
        return None

    def hear_status(self, params: t.TaskStatusNotificationParams) -> list[Event] | None:
        """The peer says how a task stands; None if it is none that we follow."""
        followed = self._by_task.get(params.task_id)
        return None if followed is None else self._update(followed, params)

    def _created(
        self, id: t.RequestId, request: RequestInFlight, result: t.CreateTaskResult
    ) -> list[Event]:
        followed = _Followed(request, result.task)
        if id in self._unwanted:
            del self._unwanted[id]
            followed.unwanted = True
            self._ask(followed, t.CancelTaskRequest(t.CancelTaskRequestParams(result.task.task_id)))
            return []
        self._by_task[result.task.task_id] = followed
        self._by_request[id] = followed
        response = (result.meta or {}).get(MODEL_IMMEDIATE_RESPONSE)
        text = response if isinstance(response, str) else None
        self._go_on(followed)
        return [TaskCreated(id, request.request, result.task, text)]

    def _told(self, followed: _Followed, id: t.RequestId, event: ResultReceived) -> list[Event]:
        if id == followed.look_id:
            followed.look_id = None
        if id == followed.result_id:
            return self._outcome(followed, event)
        if followed.unwanted:
            result = event.result
            if isinstance(result, t.CancelTaskResult):
                return [TaskStatusChanged(followed.request.id, _task_of(result))]
            return []
        return self._update(followed, event.result)

    def _failed(
        self, followed: _Followed, id: t.RequestId, event: ErrorReceived | RequestTimedOut
    ) -> list[Event]:
        if id == followed.look_id:
            followed.look_id = None
        if followed.unwanted or followed.request.id not in self._by_request:
            return []
        if isinstance(event, RequestTimedOut):
            # A look that was not answered; the task is none the worse for it.
            self._poll_later(followed)
            return []
        if id != followed.result_id and followed.result_id is not None:
            return []  # The outcome is on its way, and says more.
        self._drop(followed)
        request = followed.request
        return [ErrorReceived(request.id, request.request, event.error, event.violation)]

    def _outcome(self, followed: _Followed, event: ResultReceived) -> list[Event]:
        self._drop(followed)
        request = followed.request
        if followed.unwanted:
            return []
        value = unstructure(event.result)
        try:
            result = structure(value, request.method.result, at="result")
        except StructureError as error:
            violation = ProtocolViolation("TASK-40", str(error), value)
            failure = standard_error(INTERNAL_ERROR, f"unusable answer: {error}")
            return [violation, ErrorReceived(request.id, request.request, failure, violation)]
        return [ResultReceived(request.id, request.request, result)]

    def _update(self, followed: _Followed, told: Any) -> list[Event]:
        task = _task_of(told)
        if task.task_id != followed.task.task_id:
            self._poll_later(followed)
            detail = "the answer to tasks/get is about another task"
            return [ProtocolViolation("TASK-45", detail, unstructure(told))]
        if followed.task.status in TERMINAL and followed.result_id is not None:
            return []
        changed = task.status != followed.task.status
        changed |= task.status_message != followed.task.status_message
        followed.task = task
        self._go_on(followed)
        return [TaskStatusChanged(followed.request.id, task)] if changed else []

    # ---- what we do about it

    def _go_on(self, followed: _Followed) -> None:
        task = followed.task
        if (task.status in TERMINAL or task.status == "input_required") and (
            followed.result_id is None
        ):
            params = t.GetTaskPayloadRequestParams(task.task_id)
            request = t.GetTaskPayloadRequest(params)
            # It waits as long as the task does.
            followed.result_id = self._ask(followed, request, timeout=None)
        if task.status in TERMINAL and followed.result_id is not None:
            followed.poll_at = None  # There is nothing left to see but the outcome.
        else:
            self._poll_later(followed)

    def _poll_later(self, followed: _Followed) -> None:
        interval = followed.task.poll_interval
        interval = _POLL_INTERVAL if interval is None else max(interval, MIN_POLL_INTERVAL)
        interval = min(interval, MAX_POLL_INTERVAL)
        followed.poll_at = self._connection.now() + interval / 1000
        if len(self._polls) > 2 * len(self._by_request) + 64:
            # Each time that a peer tells how a task stands, the next look is put off.
            self._polls = [
                (one.poll_at, number, one)
                for number, one in enumerate(self._by_request.values())
                if one.poll_at is not None
            ]
            self._sequence = len(self._by_request)
            heapify(self._polls)
        self._sequence += 1
        heappush(self._polls, (followed.poll_at, self._sequence, followed))

    def _ask(self, followed: _Followed, request: Any, **options: Any) -> t.RequestId | None:
        """Send a request about a task; None if there is no room for one now."""
        try:
            id = self._connection.send_request(request, **options)
        except LocalProtocolError:
            return None
        self._asking[id] = followed
        return id

    def _drop(self, followed: _Followed) -> None:
        if self._by_task.get(followed.task.task_id) is followed:
            del self._by_task[followed.task.task_id]
        self._by_request.pop(followed.request.id, None)
        followed.poll_at = None

    def next_deadline(self) -> float | None:
        """When to look at a task next, by the connection's clock."""
        while self._polls:
            at, _, followed = self._polls[0]
            if followed.poll_at == at:
                return at
            heappop(self._polls)
        return None

    def poll(self, now: float) -> None:
        """Look at the tasks whose time has come (TASK-14 to TASK-16)."""
        while (at := self.next_deadline()) is not None and at <= now:
            _, _, followed = heappop(self._polls)
            followed.poll_at = None
            if followed.look_id is not None:
                continue  # One look at a time; when it is answered, the next is due.
            params = t.GetTaskRequestParams(followed.task.task_id)
            followed.look_id = self._ask(followed, t.GetTaskRequest(params))
            if followed.look_id is None:
                self._poll_later(followed)


def _task_of(told: Any) -> t.Task:
    """The task in what has its fields."""
    return t.Task(
        told.task_id,
        told.status,
        told.created_at,
        told.last_updated_at,
        told.ttl,
        told.status_message,
        told.poll_interval,
    )
