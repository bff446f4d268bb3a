"""Tasks: the state table, and the book in which their receiver keeps them (basic/utilities/tasks).

A task is a request that is answered later. It is a durable thing: it outlives the connection that
asked for it, and may outlive the process. So the book belongs to no connection; several may share
one, and what it holds lies in a `TaskStorage` that an application can write itself, over a database.

The book keeps the rules of a task's life. What is said about tasks on the wire is the business of
`sansmcp.hosting` (the receiver's side) and `sansmcp.following` (the requestor's).
"""

import secrets
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Final, Protocol

import attrs

from .checks import check
from .errors import LocalProtocolError, StructureError, shortened
from .limits import TaskLimits
from .methods import METHODS
from .types import CallToolResult, Error, JSONObject, Result, Task, TaskStatus
from .types.base import Model
from .wire import decode_json, encode_json, structure, unstructure

__all__ = [
    "TASK_TRANSITIONS",
    "TERMINAL",
    "MemoryTaskStorage",
    "TaskBook",
    "TaskRecord",
    "TaskStorage",
]

#: Status -> what it may become (TASK-26, TASK-27).
TASK_TRANSITIONS: Final[Mapping[TaskStatus, frozenset[TaskStatus]]] = {
    "working": frozenset({"input_required", "completed", "failed", "cancelled"}),
    "input_required": frozenset({"working", "completed", "failed", "cancelled"}),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}

#: The statuses that are final.
TERMINAL: Final = frozenset(status for status, after in TASK_TRANSITIONS.items() if not after)

#: Milliseconds that are longer than anything lasts, where there is no `max_ttl`: a wish is an
#: integer of any size, and not every one can be added to a time.
_AGES: Final = 10**15


@attrs.frozen(repr=False)
class TaskRecord(Model):
    """A task as its receiver keeps it; JSON like every other type, so that it can be stored.

    Attributes:
        task: what the requestor may see.
        method: the method of the request that became a task.
        context: the authorization context that it belongs to.
        number: grows with every task of a book; lists are in its order.
        expires: POSIX time in seconds at which it may be deleted; None never.
        result: the JSON of the result, once there is one.
        error: the error that the request ended in, once it has.
    """

    task: Task
    method: str
    context: str
    number: int
    expires: float | None = None
    result: JSONObject | None = None
    error: Error | None = None


class TaskStorage(Protocol):
    """Where a `TaskBook` keeps its records. A task is written before anybody is told of it."""

    def get(self, task_id: str) -> TaskRecord | None:
        """The record of a task, or None."""

    def put(self, record: TaskRecord) -> None:
        """Keep a record, in the place of the one with its task id if there is one."""

    def remove(self, task_id: str) -> None:
        """Keep it no more; nothing happens if it was not kept."""

    def page(self, context: str, after: int, size: int) -> list[TaskRecord]:
        """The first records of a context whose number is greater than `after`, in order."""

    def count(self, context: str | None) -> int:
        """How many records there are, of a context or in all."""

    def last_number(self) -> int:
        """The greatest number that was ever given, or 0."""

    def first_to_expire(self) -> TaskRecord | None:
        """The record with the earliest `expires`, or None if none has one."""


class MemoryTaskStorage:
    """Records in memory. All operations take constant or logarithmic time in the number of tasks."""

    def __init__(self) -> None:
        self._records: dict[str, TaskRecord] = {}
        # Context -> (number, task id), in order. Removed ones are swept out when they are many.
        self._order: dict[str, list[tuple[int, str]]] = {}
        self._counts: dict[str, int] = {}
        # (expires, task id); an entry may be out of date.
        self._expiries: list[tuple[float, str]] = []
        self._last_number = 0

    def __iter__(self) -> Iterator[TaskRecord]:
        return iter(self._records.values())

    def get(self, task_id: str) -> TaskRecord | None:
        """See `TaskStorage`."""
        return self._records.get(task_id)

    def put(self, record: TaskRecord) -> None:
        """See `TaskStorage`."""
        task_id = record.task.task_id
        old = self._records.get(task_id)
        self._records[task_id] = record
        if old is None:
            self._order.setdefault(record.context, []).append((record.number, task_id))
            self._counts[record.context] = self._counts.get(record.context, 0) + 1
            self._last_number = max(self._last_number, record.number)
        if record.expires is not None and (old is None or old.expires != record.expires):
            heappush(self._expiries, (record.expires, task_id))

    def remove(self, task_id: str) -> None:
        """See `TaskStorage`."""
        record = self._records.pop(task_id, None)
        if record is None:
            return
        context = record.context
        self._counts[context] -= 1
        order = self._order[context]
        if not self._counts[context]:
            del self._order[context], self._counts[context]
        elif len(order) > 2 * self._counts[context] + 16:
            order[:] = [entry for entry in order if entry[1] in self._records]
        if len(self._expiries) > 2 * len(self._records) + 16:
            self._expiries = [
                (kept.expires, kept.task.task_id)
                for kept in self._records.values()
                if kept.expires is not None
            ]
            heapify(self._expiries)

    def page(self, context: str, after: int, size: int) -> list[TaskRecord]:
        """See `TaskStorage`."""
        order = self._order.get(context, [])
        first = bisect_right(order, after, key=lambda entry: entry[0])
        found: list[TaskRecord] = []
        for _, task_id in islice(order, first, None):
            record = self._records.get(task_id)
            if record is not None:
                found.append(record)
            if len(found) == size:
                break
        return found

    def count(self, context: str | None) -> int:
        """See `TaskStorage`."""
        return len(self._records) if context is None else self._counts.get(context, 0)

    def last_number(self) -> int:
        """See `TaskStorage`."""
        return self._last_number

    def first_to_expire(self) -> TaskRecord | None:
        """See `TaskStorage`."""
        while self._expiries:
            expires, task_id = self._expiries[0]
            record = self._records.get(task_id)
            if record is not None and record.expires == expires:
                return record
            heappop(self._expiries)
        return None


@attrs.frozen(repr=False)
class _SavedBook(Model):
    """What `TaskBook.save` writes."""

    version: int
    tasks: tuple[TaskRecord, ...]


class TaskBook:
    """The tasks of a receiver.

    Give it to the connections that are to share it. Work on a task is reported here: `update`,
    `complete`, `fail`; the connections then tell whoever waits, when they are next asked for what
    they have to send.

    Args:
        storage: where the records lie; in memory if left out.
        limits: how many tasks there may be, how long, and how large.
        new_id: makes a task id; at least 128 random bits, for who has an id has the task (TASK-69).
        wall_clock: the time of day, aware of its zone.
        page_size: tasks on one page of `tasks/list`.

    Attributes:
        version: grows with every change that was made through this book.
    """

    def __init__(
        self,
        *,
        storage: TaskStorage | None = None,
        limits: TaskLimits | None = None,
        new_id: Callable[[], str] = lambda: secrets.token_urlsafe(24),
        wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        page_size: int = 100,
    ) -> None:
        self.limits = limits or TaskLimits()
        self.version = 0
        # The tasks of the last changes, the newest last; the connections read along.
        self._changes: deque[str] = deque(maxlen=10_000)
        self._storage: TaskStorage = MemoryTaskStorage() if storage is None else storage
        self._new_id = new_id
        self._wall_clock = wall_clock
        self._page_size = page_size

    # ---- looking

    def record(self, task_id: str, context: str | None = None) -> TaskRecord | None:
        """A task, if there is one of this id; with a context, only if it belongs to that.

        Another context's task does not exist (TASK-72), nor does one whose time is over (TASK-36).
        """
        record = self._storage.get(task_id)
        if record is None or (context is not None and record.context != context):
            return None
        if record.expires is not None and record.expires <= self._now().timestamp():
            return None
        return record

    def room_for(self, context: str) -> str | None:
        """Why there is no room for one more task of this context, or None."""
        if self._storage.count(context) >= self.limits.per_context:
            return f"{self.limits.per_context:,} tasks of one requestor are the limit"
        if self._storage.count(None) >= self.limits.total:
            return f"{self.limits.total:,} tasks are the limit"
        return None

    def page(self, context: str, cursor: str | None) -> tuple[list[Task], str | None] | None:
        """A page of the context's tasks, and the next cursor; None for a cursor that is not ours.

        TASK-51 to TASK-54, TASK-62, TASK-73.
        """
        after = 0
        if cursor is not None:
            if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
                return None
            after = int(cursor)
            if str(after) != cursor or not 0 < after <= self._storage.last_number():
                return None
        records = self._storage.page(context, after, self._page_size + 1)
        more = len(records) > self._page_size
        records = records[: self._page_size]
        now = self._now().timestamp()
        tasks = [r.task for r in records if r.expires is None or r.expires > now]
        return tasks, str(records[-1].number) if more else None

    def changed_since(self, version: int) -> set[str] | None:
        """The tasks that have changed since then; None if that is too long ago to say."""
        count = self.version - version
        if count > len(self._changes):
            return None
        return set(islice(reversed(self._changes), count))

    def changed(self, task_id: str) -> None:
        """Have the connections look at a task again.

        To be called where something else than this book has changed what lies in the storage.
        """
        self._changes.append(task_id)
        self.version += 1

    # ---- living

    def create(
        self,
        context: str,
        method: str,
        *,
        ttl: int | None = None,
        poll_interval: int | None = None,
        status_message: str | None = None,
    ) -> Task:
        """Begin a task (TASK-23 to TASK-25).

        Args:
            context: the authorization context that it belongs to.
            method: the method of the request that becomes a task.
            ttl: milliseconds that it is to be kept; None for the default. The limit holds.
            poll_interval: milliseconds that the requestor should leave between two looks.
            status_message: what there is to say, for people.

        Raises:
            LocalProtocolError: there are too many tasks.
        """
        full = self.room_for(context)
        if full is not None:
            raise LocalProtocolError(full, rule="LIMIT-01")
        wish = self.limits.default_ttl if ttl is None else ttl
        longest = self.limits.max_ttl
        kept = longest if wish is None else min(max(wish, 0), _AGES if longest is None else longest)
        now = self._now()
        stamp = _stamp(now)
        task = Task(self._new_id(), "working", stamp, stamp, kept, status_message, poll_interval)
        if self._storage.get(task.task_id) is not None:
            raise LocalProtocolError("new_id gave an id that is in use", rule="TASK-24")
        expires = None if kept is None else now.timestamp() + kept / 1000
        self._put(TaskRecord(task, method, context, self._storage.last_number() + 1, expires))
        return task

    def update(
        self, task_id: str, status: TaskStatus | None = None, message: str | None = None
    ) -> Task:
        """Say how a task stands.

        Args:
            task_id: the task.
            status: "working" or "input_required"; None to leave it. (`complete`, `fail` and
                `cancel` end it.)
            message: what there is to say, for people; None for nothing.

        Raises:
            LocalProtocolError: there is no such task, or it has ended (TASK-27), or `status` would
                end it.
        """
        record = self._living(task_id)
        status = record.task.status if status is None else status
        if status in TERMINAL or status not in TASK_TRANSITIONS:
            detail = f"{status!r} is set by complete(), fail() or cancel()"
            raise LocalProtocolError(detail, rule="TASK-26")
        return self._move(record, status, message)

    def complete(self, task_id: str, result: Result) -> Task:
        """The request has its result: just what the plain request would have been answered with.

        A tool's result that says `isError` makes the task failed, and is kept all the same
        (TASK-65). A task that was cancelled meanwhile stays cancelled, and nothing is raised
        (TASK-58).

        Raises:
            LocalProtocolError: there is no such task, it has its outcome already, the result is of
                the wrong type for the task's method, breaks a rule by itself (a key of `_meta`, say),
                or is larger than the limit.
        """
        record = self._living(task_id, cancelled_is_fine=True)
        if record.task.status == "cancelled":
            return record.task
        expected = _result_type(record)
        if not isinstance(result, expected):
            raise LocalProtocolError(
                f"the result of {record.method} is a {expected.__name__}, "
                f"not a {type(result).__name__}",
                rule="TASK-40",
            )
        value = unstructure(result)
        for broken in check(result):
            raise LocalProtocolError(broken.detail, rule=broken.rule)
        self._check_size(value)
        failed = isinstance(result, CallToolResult) and result.is_error
        message = "The tool reported an error" if failed else None
        record = attrs.evolve(record, result=value)
        return self._move(record, "failed" if failed else "completed", message)

    def fail(self, task_id: str, error: Error) -> Task:
        """The request has ended in an error: just what the plain request would have got (TASK-41).

        Raises:
            LocalProtocolError: there is no such task, or it has its outcome already.
        """
        record = self._living(task_id, cancelled_is_fine=True)
        if record.task.status == "cancelled":
            return record.task
        self._check_size(unstructure(error))
        return self._move(attrs.evolve(record, error=error), "failed", error.message)

    def cancel(self, task_id: str, message: str | None = None) -> Task:
        """Stop a task (TASK-57).

        Raises:
            LocalProtocolError: there is no such task, or it has ended (TASK-55).
        """
        return self._move(self._living(task_id), "cancelled", message)

    def expire(self) -> list[Task]:
        """Delete the tasks whose time is over; gives them, the earliest first (TASK-77)."""
        now = self._now().timestamp()
        gone: list[Task] = []
        while (record := self._storage.first_to_expire()) is not None:
            assert record.expires is not None
            if record.expires > now:
                break
            self._storage.remove(record.task.task_id)
            self.changed(record.task.task_id)
            gone.append(record.task)
        return gone

    def seconds_to_expiry(self) -> float | None:
        """How long until `expire` has something to do; 0 if it has now, None if it never will."""
        record = self._storage.first_to_expire()
        if record is None or record.expires is None:
            return None
        return max(0.0, record.expires - self._now().timestamp())

    # ---- saving

    def save(self) -> str:
        """Everything in a book in memory, as JSON on one line.

        Raises:
            TypeError: the book has a storage of its own, which saves by itself.
        """
        if not isinstance(self._storage, MemoryTaskStorage):
            raise TypeError("a book with a storage of its own is saved by that")
        return encode_json(unstructure(_SavedBook(1, tuple(self._storage)))).decode()

    def load(self, text: str | bytes) -> None:
        """Take over what another book in memory has saved.

        Nothing is taken over if anything in it is wrong.

        Raises:
            DecodeError: it is not JSON.
            StructureError: it is not what `save` writes.
            LocalProtocolError: there is a task of the same id already.
        """
        saved = structure(decode_json(text), _SavedBook)
        if saved.version != 1:
            raise StructureError("version", f"expected 1, got {saved.version}")
        records = saved.tasks
        for index, record in enumerate(records):
            if record.result is not None:
                at = f"tasks[{index}].result"
                for broken in check(structure(record.result, _result_type(record), at=at)):
                    raise StructureError(at, broken.detail)
        ids = [record.task.task_id for record in records]
        for task_id in ids:
            if self._storage.get(task_id) is not None:
                raise LocalProtocolError(f"there is a task {shortened(task_id)} already")
        if len(set(ids)) != len(ids):
            raise LocalProtocolError("a task stands there twice")
        last = self._storage.last_number()
        for record in sorted(records, key=lambda record: record.number):
            last += 1
            self._put(attrs.evolve(record, number=last))

    # ---- inside

    def _now(self) -> datetime:
        return self._wall_clock()

    def _living(self, task_id: str, *, cancelled_is_fine: bool = False) -> TaskRecord:
        record = self.record(task_id)
        if record is None:
            detail = f"there is no task {shortened(task_id)}; its time may be over"
            raise LocalProtocolError(detail, rule="TASK-61")
        status = record.task.status
        if status in TERMINAL and not (cancelled_is_fine and status == "cancelled"):
            raise LocalProtocolError(f"the task is {status} already", rule="TASK-27")
        return record

    def _check_size(self, value: JSONObject) -> None:
        size = len(encode_json(value))
        limit = self.limits.max_result_size
        if size > limit:
            detail = f"an outcome of {size:,} bytes; {limit:,} are the limit"
            raise LocalProtocolError(detail, rule="LIMIT-01")

    def _move(self, record: TaskRecord, status: TaskStatus, message: str | None) -> Task:
        task = attrs.evolve(
            record.task,
            status=status,
            status_message=message,
            last_updated_at=_stamp(self._now()),
        )
        self._put(attrs.evolve(record, task=task))
        return task

    def _put(self, record: TaskRecord) -> None:
        self._storage.put(record)
        self.changed(record.task.task_id)


def _result_type(record: TaskRecord) -> type[Result]:
    """What a request that became this task is answered with."""
    row = METHODS.requests.get(record.method)
    return Result if row is None else row.result


def _stamp(time: datetime) -> str:
    """ISO 8601 in UTC, to the millisecond (TASK-32, TASK-33)."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
