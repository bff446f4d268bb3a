"""Two connections that make, poll, list, cancel, expire and drop tasks at random.

The invariants of the design hold after every step: no violation, no request forgotten, no status
that goes backwards, no task answered twice, nothing kept beyond the limits.
"""

import itertools
from typing import Any

import attrs
import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import sansmcp.types as t
from sansmcp import (
    ErrorReceived,
    LocalProtocolError,
    ProtocolViolation,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
    TaskBook,
    TaskCreated,
    TaskLimits,
    TaskStatusChanged,
)
from sansmcp.tasks import TASK_TRANSITIONS, TERMINAL

from .support import CLIENT_CAN, SERVER_CAN, Clock, ready_pair
from .test_tasks import CLIENT_TASKS, SERVER_TASKS

RESULTS = {
    "tools/call": t.CallToolResult([t.TextContent("done")]),
    "sampling/createMessage": t.CreateMessageResult("assistant", t.TextContent("!"), "m"),
    "elicitation/create": t.ElicitResult("decline"),
}


class End:
    """One side: its connection, its book, and what it has been told."""

    def __init__(self, connection: Any, book: TaskBook) -> None:
        self.connection = connection
        self.book = book
        self.inbox = b""
        self.asked: set[Any] = set()  # Requests of ours that have not ended.
        self.given_up: set[Any] = set()
        self.statuses: dict[Any, str] = {}
        self.to_serve: dict[Any, RequestReceived] = {}
        self.tasks: list[str] = []


class TaskMachine(RuleBasedStateMachine):
    @initialize()
    def connect(self) -> None:
        self.clock = Clock()
        ids = itertools.count(1)

        def book() -> TaskBook:
            return TaskBook(
                limits=TaskLimits(per_context=5, total=5, default_ttl=20_000),
                new_id=lambda: f"task-{next(ids)}",
                wall_clock=self.clock.wall_clock,
                page_size=2,
            )

        books = book(), book()
        client, server = ready_pair(
            {
                "capabilities": attrs.evolve(CLIENT_CAN, tasks=CLIENT_TASKS),
                "clock": self.clock,
                "tasks": books[0],
            },
            {
                "capabilities": attrs.evolve(SERVER_CAN, tasks=SERVER_TASKS),
                "clock": self.clock,
                "tasks": books[1],
            },
        )
        self.ends = [End(client, books[0]), End(server, books[1])]

    # ---- events

    def take(self, end: End, events: list[Any]) -> None:
        for event in events:
            assert not isinstance(event, ProtocolViolation), event
            match event:
                case RequestReceived(id=id):
                    end.to_serve[id] = event
                case ResultReceived(id=id) | ErrorReceived(id=id) | RequestTimedOut(id=id):
                    # Each request ends once, and none that was given up.
                    assert id in end.asked, event
                    assert id not in end.given_up, event
                    end.asked.remove(id)
                case TaskCreated(id=id, task=task) | TaskStatusChanged(id=id, task=task):
                    old = end.statuses.get(id, task.status)
                    assert task.status == old or task.status in TASK_TRANSITIONS[old]  # type: ignore[index]
                    end.statuses[id] = task.status
                case _:
                    pass

    # ---- steps

    which = st.sampled_from([0, 1])

    @rule(
        which=which,
        kind=st.sampled_from(["task", "task", "plain"]),
        timeout=st.sampled_from([None, 3, 50]),
        elicit=st.booleans(),
    )
    def ask(self, which: int, kind: str, timeout: Any, elicit: bool) -> None:
        end = self.ends[which]
        task = t.TaskMetadata(10_000) if kind == "task" else None
        request: Any
        if which == 0:
            request = t.CallToolRequest(t.CallToolRequestParams("t", {}, task))
        elif elicit:
            request = t.ElicitRequest(
                t.ElicitRequestFormParams("?", t.RequestedSchema({}), task=task)
            )
        else:
            request = t.CreateMessageRequest(t.CreateMessageRequestParams([], 5, task=task))
        end.asked.add(end.connection.send_request(request, timeout=timeout))

    @rule(which=which, size=st.integers(1, 2000))
    def carry(self, which: int, size: int) -> None:
        """Some bytes reach one side; the rest is still on its way."""
        end, other = self.ends[which], self.ends[1 - which]
        end.inbox += other.connection.data_to_send()
        part, end.inbox = end.inbox[:size], end.inbox[size:]
        if part:
            self.take(end, end.connection.receive_data(part))

    @rule(seconds=st.sampled_from([0.01, 0.5, 1.0, 4.0, 11.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds
        for end in self.ends:
            self.take(end, end.connection.handle_deadlines())

    @rule(which=which, data=st.data(), how=st.sampled_from(["accept", "answer", "fail"]))
    def serve(self, which: int, data: Any, how: str) -> None:
        end = self.ends[which]
        end.to_serve = {id: e for id, e in end.to_serve.items() if id in end.connection.incoming}
        if not end.to_serve:
            return
        event = end.to_serve.pop(data.draw(st.sampled_from(sorted(end.to_serve))))
        if how == "fail":
            end.connection.send_error(event.id, -32000, "no")
        elif event.task is None:
            end.connection.send_result(event.id, RESULTS[event.method])
        else:
            try:
                end.tasks.append(end.connection.create_task(event.id, poll_interval=700).task_id)
            except LocalProtocolError:
                assert end.book.room_for("") is not None
                end.connection.send_error(event.id, -32603, "no room")

    @rule(
        which=which,
        data=st.data(),
        how=st.sampled_from(["work", "need", "complete", "fail", "cancel", "ask back"]),
    )
    def work(self, which: int, data: Any, how: str) -> None:
        end = self.ends[which]
        if not end.tasks:
            return
        task_id = data.draw(st.sampled_from(end.tasks))
        record = end.book.record(task_id)
        over = record is None or record.task.status in TERMINAL
        try:
            if how == "work":
                end.book.update(task_id, "working", "at it")
            elif how == "need":
                end.book.update(task_id, "input_required")
            elif how == "complete" and record is not None:
                end.book.complete(task_id, RESULTS[record.method])
            elif how == "fail":
                end.book.fail(task_id, t.Error(7, "broken"))
            elif how == "cancel":
                end.book.cancel(task_id)
            elif how == "ask back":
                id = end.connection.send_request(t.PingRequest(), related_task=task_id)
                end.asked.add(id)
        except LocalProtocolError:
            assert over

    @rule(which=which, data=st.data())
    def give_up(self, which: int, data: Any) -> None:
        end = self.ends[which]
        candidates = sorted(end.asked - end.given_up)
        if not candidates:
            return
        id = data.draw(st.sampled_from(candidates))
        try:
            end.connection.cancel_request(id)
        except LocalProtocolError:
            # It has ended, and the news is on its way.
            assert id not in end.connection.outgoing
        else:
            end.given_up.add(id)
            end.asked.remove(id)

    @rule(
        which=which,
        method=st.sampled_from(["get", "list", "result", "cancel"]),
        n=st.integers(1, 12),
    )
    def ask_about_a_task(self, which: int, method: str, n: int) -> None:
        end = self.ends[which]
        task_id = f"task-{n}"
        requests: dict[str, Any] = {
            "get": t.GetTaskRequest(t.GetTaskRequestParams(task_id)),
            "list": t.ListTasksRequest(),
            "result": t.GetTaskPayloadRequest(t.GetTaskPayloadRequestParams(task_id)),
            "cancel": t.CancelTaskRequest(t.CancelTaskRequestParams(task_id)),
        }
        end.asked.add(end.connection.send_request(requests[method], timeout=None))

    @rule()
    def forget_ended(self) -> None:
        for end in self.ends:
            end.tasks = [task_id for task_id in end.tasks if end.book.record(task_id) is not None]

    # ---- what always holds

    @invariant()
    @precondition(lambda self: hasattr(self, "ends"))
    def nothing_grows(self) -> None:
        for end in self.ends:
            host, follower = end.connection._host, end.connection._follower
            assert end.book._storage.count(None) <= 5
            assert len(host._made) <= 5
            assert all(host._waiting.values()) or not host._waiting
            assert len(follower._by_request) <= len(end.asked) + len(end.given_up)

    def teardown(self) -> None:
        """Let everything come to its end: then nobody waits for anything any more."""
        if not hasattr(self, "ends"):
            return
        for _ in range(60):
            self.clock.now += 1
            for end, other in (self.ends, self.ends[::-1]):
                for event in list(end.to_serve.values()):
                    if event.id in end.connection.incoming:
                        end.connection.send_error(event.id, -32000, "closing")
                end.to_serve.clear()
                self.take(end, end.connection.handle_deadlines())
                end.inbox += other.connection.data_to_send()
                data, end.inbox = end.inbox, b""
                if data:
                    self.take(end, end.connection.receive_data(data))
        for end in self.ends:
            assert not end.asked
            assert not end.connection.outgoing
            assert not end.connection.incoming
            assert not end.connection.tasks
            assert not end.connection._host._waiting
            assert not end.connection._host._made


TestTasks = TaskMachine.TestCase
TestTasks.settings = settings(max_examples=settings().max_examples, stateful_step_count=50)
