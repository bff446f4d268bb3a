"""Tasks in both directions (basic/utilities/tasks)."""

import itertools
import re
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

import sansmcp.types as t
from sansmcp import (
    TASK_TRANSITIONS,
    Catalog,
    ConnectionClosed,
    DecodeError,
    ErrorReceived,
    LocalProtocolError,
    NotificationReceived,
    ProgressReceived,
    ProtocolViolation,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
    StructureError,
    TaskBook,
    TaskBookFailed,
    TaskCancelRequested,
    TaskCreated,
    TaskExpired,
    TaskLimits,
    TaskStatusChanged,
    unstructure,
)
from sansmcp.tasks import TERMINAL, MemoryTaskStorage
from sansmcp.testing import VirtualClock

from .support import (
    CLIENT_CAN,
    SERVER_CAN,
    error,
    feed,
    names,
    notification,
    pump,
    ready_pair,
    request,
    result,
    sent,
)

RELATED = "io.modelcontextprotocol/related-task"
SERVER_TASKS = t.ServerTasksCapability(
    list={},
    cancel={},
    requests=t.ServerTasksRequestsCapability(tools=t.ToolsTasksCapability(call={})),
)
CLIENT_TASKS = t.ClientTasksCapability(
    list={},
    cancel={},
    requests=t.ClientTasksRequestsCapability(
        sampling=t.SamplingTasksCapability(create_message={}),
        elicitation=t.ElicitationTasksCapability(create={}),
    ),
)
DONE = t.CallToolResult([t.TextContent("done")], meta={"own": 1})
TASK = t.TaskMetadata()


class World:
    """A client and a server with tasks, one clock for all of it, and ids that can be foretold."""

    def __init__(self, **options: Any) -> None:
        self.clock = VirtualClock(1000.0, datetime(2025, 11, 25, 10, 30, tzinfo=UTC))
        self.ids = (f"task-{n}" for n in itertools.count(1))
        limits = options.pop("limits", None)
        self.book = self.new_book(limits=limits)
        self.client_book = self.new_book()
        self.client, self.server = self.pair(**options)

    def new_book(self, **options: Any) -> TaskBook:
        return TaskBook(new_id=lambda: next(self.ids), wall_clock=self.clock.wall_clock, **options)

    def pair(self, client: Any = None, server: Any = None, context: str = "") -> tuple[Any, Any]:
        return ready_pair(
            {
                "capabilities": attrs.evolve(CLIENT_CAN, tasks=CLIENT_TASKS),
                "clock": self.clock,
                "tasks": self.client_book,
                **(client or {}),
            },
            {
                "capabilities": attrs.evolve(SERVER_CAN, tasks=SERVER_TASKS),
                "clock": self.clock,
                "tasks": self.book,
                "task_context": context,
                **(server or {}),
            },
        )

    def start(self, **options: Any) -> tuple[Any, t.Task]:
        """A call that has become a task, and both sides know it."""
        id = self.client.call_tool("t", {}, task=TASK, **options)
        _, [event] = pump(self.client, self.server)
        assert isinstance(event, RequestReceived)
        task = self.server.create_task(event.id)
        events, _ = pump(self.client, self.server)
        assert events == [TaskCreated(id, self.client_request(**options), task)]
        return id, task

    def client_request(self, **options: Any) -> t.CallToolRequest:
        return t.CallToolRequest(t.CallToolRequestParams("t", {}, TASK))

    def wait(self, seconds: float) -> tuple[list[Any], list[Any]]:
        """Time passes; both sides do what is due, and talk."""
        self.clock.now += seconds
        of_client = self.client.handle_deadlines()
        of_server = self.server.handle_deadlines()
        more = pump(self.client, self.server)
        return of_client + more[0], of_server + more[1]


def no_violations(*events: list[Any]) -> None:
    assert [
        event for event in itertools.chain(*events) if isinstance(event, ProtocolViolation)
    ] == []


# ---- the table


@pytest.mark.rule("TASK-25", "TASK-26", "TASK-27")
@pytest.mark.parametrize("before", TASK_TRANSITIONS)
@pytest.mark.parametrize("after", TASK_TRANSITIONS)
def test_task_26_only_the_legal_moves(before: str, after: str) -> None:
    def put(book: TaskBook, status: str) -> None:
        if status == "completed":
            book.complete("task-1", DONE)
        elif status == "failed":
            book.fail("task-1", t.Error(1, "m"))
        elif status == "cancelled":
            book.cancel("task-1")
        else:
            book.update("task-1", status)  # type: ignore[arg-type]

    book = World().book
    task = book.create("", "tools/call")
    assert task.status == "working"
    put(book, before)
    legal = after in TASK_TRANSITIONS[before] or (after == before and before not in TERMINAL)  # type: ignore[index]
    # A task that was cancelled takes its outcome without a word, and stays cancelled (TASK-58).
    silent = before == "cancelled" and after in ("completed", "failed")
    if legal or silent:
        put(book, after)
    else:
        with pytest.raises(LocalProtocolError) as caught:
            put(book, after)
        assert caught.value.rule == "TASK-27"
    record = book.record("task-1")
    assert record is not None
    assert record.task.status == (after if legal else before)


@pytest.mark.rule("TASK-26")
def test_task_26_ends_have_their_own_calls() -> None:
    book = World().book
    book.create("", "tools/call")
    for status in ("completed", "failed", "cancelled", "paused"):
        with pytest.raises(LocalProtocolError):
            book.update("task-1", status)  # type: ignore[arg-type]


# ---- the whole life, seen on the wire


@pytest.mark.rule(
    "TASK-12",
    "TASK-22",
    "TASK-32",
    "TASK-33",
    "TASK-35",
    "TASK-38",
    "TASK-39",
    "TASK-40",
    "TASK-44",
    "TASK-48",
    "TASK-49",
    "TASK-50",
    "X-05",
)
def test_task_38_a_task_from_creation_to_its_result_as_the_wire_has_it() -> None:
    w = World()
    id = w.client.call_tool("t", {}, task=t.TaskMetadata(60_000))
    [asked] = sent(w.client)
    assert asked["params"] == {"name": "t", "arguments": {}, "task": {"ttl": 60_000}}
    [event] = feed(w.server, asked)
    assert event.task == t.TaskMetadata(60_000)
    w.server.create_task(id, poll_interval=500, status_message="begun")
    shown = {
        "taskId": "task-1",
        "status": "working",
        "createdAt": "2025-11-25T10:30:00.000Z",
        "lastUpdatedAt": "2025-11-25T10:30:00.000Z",
        "ttl": 60_000,
        "statusMessage": "begun",
        "pollInterval": 500,
    }
    related = {RELATED: {"taskId": "task-1"}}
    [created] = sent(w.server)
    assert created["result"] == {"task": shown, "_meta": related}
    [event] = feed(w.client, created)
    assert isinstance(event, TaskCreated)

    w.clock.now += 1
    w.client.handle_deadlines()
    [look] = sent(w.client)
    assert (look["method"], look["params"]) == ("tasks/get", {"taskId": "task-1"})
    feed(w.server, look)
    assert sent(w.server)[0]["result"] == shown
    w.book.complete("task-1", DONE)
    [told] = sent(w.server)
    assert told["method"] == "notifications/tasks/status"
    later = {**shown, "status": "completed", "lastUpdatedAt": "2025-11-25T10:30:01.000Z"}
    del later["statusMessage"]
    assert told["params"] == later
    assert names(feed(w.client, told)) == ["TaskStatusChanged"]
    [fetch] = sent(w.client)
    assert (fetch["method"], fetch["params"]) == ("tasks/result", {"taskId": "task-1"})
    feed(w.server, fetch)
    [answer] = sent(w.server)
    assert answer["result"] == {
        "content": [{"type": "text", "text": "done"}],
        "_meta": {"own": 1, **related},
    }
    [event] = feed(w.client, answer)
    assert isinstance(event, ResultReceived)
    assert event.id == id
    assert event.result == t.CallToolResult([t.TextContent("done")], meta={"own": 1, **related})
    assert w.client.tasks == {}


@pytest.mark.rule("TASK-14", "TASK-15", "TASK-16", "TASK-18", "TASK-19", "TASK-42")
def test_task_15_polling_needs_no_notifications() -> None:
    w = World(server={"notify_task_status": False})
    id, task = w.start()
    for _ in range(3):
        assert w.wait(1) == ([], [])
    w.book.update(task.task_id, message="half way")
    [event], _ = w.wait(1)
    assert isinstance(event, TaskStatusChanged)
    assert event.task.status_message == "half way"
    w.book.complete(task.task_id, DONE)
    events, of_server = w.wait(1)
    assert names(events) == ["TaskStatusChanged", "ResultReceived"]
    assert (events[1].id, of_server) == (id, [])


@pytest.mark.rule("TASK-14")
def test_task_14_the_pace_is_the_peers() -> None:
    w = World()
    w.client.call_tool("t", {}, task=TASK, timeout=None)
    _, [event] = pump(w.client, w.server)
    w.server.create_task(event.id, poll_interval=5000)
    pump(w.client, w.server)
    assert w.client.next_deadline() == w.clock.now + 5
    w.clock.now += 4.9
    w.client.handle_deadlines()
    assert sent(w.client) == []
    w.clock.now += 0.1
    w.client.handle_deadlines()
    assert [message["method"] for message in sent(w.client)] == ["tasks/get"]


@pytest.mark.rule("PROG-09", "PROG-10", "PROG-11", "H51", "TASK-44")
def test_prog_09_the_token_lives_as_long_as_the_task() -> None:
    w = World()
    id = w.client.call_tool("t", {}, task=TASK, progress=True)
    pump(w.client, w.server)
    w.server.send_progress(id, 1)
    task = w.server.create_task(id)
    pump(w.client, w.server)
    w.server.send_progress(id, 2, 5, "on")
    [message] = sent(w.server)
    assert message["params"]["progressToken"] == id
    assert message["params"]["_meta"] == {RELATED: {"taskId": task.task_id}}
    [event] = feed(w.client, message)
    assert isinstance(event, ProgressReceived)
    assert event.id == id
    w.book.complete(task.task_id, DONE)
    with pytest.raises(LocalProtocolError):
        w.server.send_progress(id, 3)
    pump(w.client, w.server)
    late = notification("notifications/progress", {"progressToken": id, "progress": 9})
    assert names(feed(w.client, late)) == ["ProtocolViolation:PROG-14"]


@pytest.mark.rule("TASK-28", "TASK-29", "TASK-30", "TASK-31", "TASK-44")
def test_task_28_asking_the_requestor_back() -> None:
    w = World()
    id, task = w.start()
    asked = w.server.send_request(t.ListRootsRequest(), related_task=task.task_id)
    record = w.book.record(task.task_id)
    assert record is not None
    assert record.task.status == "input_required"
    out = sent(w.server)
    assert out[0]["params"]["_meta"] == {RELATED: {"taskId": task.task_id}}
    events = feed(w.client, *out)
    assert names(events) == ["RequestReceived", "TaskStatusChanged"]
    # TASK-30: the client waits in tasks/result at once.
    assert [message["method"] for message in sent_and_fed(w.client, w.server)] == ["tasks/result"]
    w.client.send_result(asked, t.ListRootsResult([]))
    [answer] = sent(w.client)
    assert answer["result"]["_meta"] == {RELATED: {"taskId": task.task_id}}
    assert names(feed(w.server, answer)) == ["ResultReceived"]
    record = w.book.record(task.task_id)
    assert record is not None
    assert record.task.status == "working"
    w.book.complete(task.task_id, DONE)
    events, _ = pump(w.client, w.server)
    assert [type(event) for event in events][-1] is ResultReceived
    assert events[-1].id == id
    no_violations(events)


def sent_and_fed(one: Any, other: Any) -> list[Any]:
    messages = sent(one)
    feed(other, *messages)
    return messages


@pytest.mark.rule("TASK-29")
def test_task_29_only_for_a_task_that_runs() -> None:
    w = World()
    with pytest.raises(LocalProtocolError):
        w.server.send_request(t.ListRootsRequest(), related_task="nope")
    _, task = w.start()
    w.book.cancel(task.task_id)
    with pytest.raises(LocalProtocolError):
        w.server.send_request(t.ListRootsRequest(), related_task=task.task_id)
    bare = ready_pair()[1]
    with pytest.raises(LocalProtocolError) as caught:
        bare.send_request(t.ListRootsRequest(), related_task="x")
    assert caught.value.rule == "TASK-01"


# ---- outcomes


@pytest.mark.rule("TASK-41", "TASK-65", "TASK-66", "X-26")
def test_task_41_errors_and_failed_results_are_kept_apart() -> None:
    w = World()
    id, task = w.start()
    w.book.fail(task.task_id, t.Error(-32099, "broken", {"why": None}))
    events, _ = pump(w.client, w.server)
    assert [type(event) for event in events] == [TaskStatusChanged, ErrorReceived]
    assert events[0].task.status == "failed"
    assert events[0].task.status_message == "broken"
    assert events[1] == ErrorReceived(
        id, w.client_request(), t.Error(-32099, "broken", {"why": None})
    )
    id, task = w.start()
    failed = t.CallToolResult([t.TextContent("no luck")], is_error=True)
    w.book.complete(task.task_id, failed)
    events, _ = pump(w.client, w.server)
    assert events[0].task.status == "failed"
    assert events[0].task.status_message
    assert isinstance(events[1], ResultReceived)
    assert attrs.evolve(events[1].result, meta=None) == failed


@pytest.mark.rule("TASK-40")
def test_task_40_the_outcome_is_of_the_requests_own_kind() -> None:
    w = World()
    id, task = w.start()
    for wrong in (t.Result(), t.ListRootsResult([])):
        with pytest.raises(LocalProtocolError) as caught:
            w.book.complete(task.task_id, wrong)
        assert caught.value.rule == "TASK-40"
    for broken in (t.CallToolResult([t.TextContent(5)]),):  # type: ignore[arg-type]
        with pytest.raises(StructureError):
            w.book.complete(task.task_id, broken)
    w.book.complete(task.task_id, DONE)
    with pytest.raises(LocalProtocolError):
        w.book.complete(task.task_id, DONE)
    assert w.client.tasks.keys() == {id}


@pytest.mark.rule("TASK-04", "TASK-20")
def test_tasks_of_the_client_for_the_server() -> None:
    """A server as requestor: sampling and elicitation as tasks."""
    w = World()
    params = t.CreateMessageRequestParams(
        [t.SamplingMessage("user", t.TextContent("?"))], 5, task=TASK
    )
    id = w.server.send_request(t.CreateMessageRequest(params))
    [event], _ = pump(w.client, w.server)
    assert event.task == TASK
    task = w.client.create_task(event.id)
    w.client_book.complete(
        task.task_id, t.CreateMessageResult("assistant", t.TextContent("!"), "m")
    )
    _, events = pump(w.client, w.server)
    assert names(events)[0] == "TaskCreated"
    assert isinstance(events[-1], ResultReceived)
    assert events[-1].id == id
    assert isinstance(events[-1].result, t.CreateMessageResult)
    assert events[-1].result.content == t.TextContent("!")
    form = t.ElicitRequestFormParams("?", t.RequestedSchema({}), task=TASK)
    id = w.server.send_request(t.ElicitRequest(form))
    [event], _ = pump(w.client, w.server)
    task = w.client.create_task(event.id)
    w.client_book.complete(task.task_id, t.ElicitResult("decline"))
    _, events = pump(w.client, w.server)
    assert isinstance(events[-1].result, t.ElicitResult)


# ---- tasks/result, tasks/cancel, tasks/list by hand


@pytest.mark.rule("TASK-42", "TASK-43", "H49")
def test_h49_every_waiter_is_answered_but_the_one_that_gave_up() -> None:
    w = World(client={"notify_task_status": True})
    _, task = w.start()
    waits = [request(f"w{n}", "tasks/result", {"taskId": task.task_id}) for n in range(3)]
    feed(w.server, *waits)
    assert sent(w.server) == []
    feed(w.server, notification("notifications/cancelled", {"requestId": "w1"}))
    record = w.book.record(task.task_id)
    assert record is not None
    assert record.task.status == "working"
    other_client, other_server = w.pair()
    feed(other_server, request("far", "tasks/result", {"taskId": task.task_id}))
    w.book.complete(task.task_id, DONE)
    answered = [message.get("id") for message in sent(w.server)]
    assert [id for id in answered if id is not None] == ["w0", "w2"]
    assert [message["id"] for message in sent(other_server)] == ["far"]
    feed(w.server, request("again", "tasks/result", {"taskId": task.task_id}))
    assert sent(w.server)[0]["result"]["content"] == [{"type": "text", "text": "done"}]
    assert other_client.tasks == {}


@pytest.mark.rule("TASK-55", "TASK-61", "TASK-72", "TASK-67", "H53")
def test_h53_a_task_that_is_not_yours_does_not_exist() -> None:
    w = World(context="ada")
    _, task = w.start()
    _, stranger = w.pair(context="eve")
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        feed(stranger, request(f"{method} theirs", method, {"taskId": task.task_id}))
        feed(stranger, request(f"{method} none", method, {"taskId": "x" * len(task.task_id)}))
        theirs, none = sent(stranger)
        assert theirs["error"]["code"] == none["error"]["code"] == -32602
        hidden = theirs["error"]["message"].replace(task.task_id, "x" * len(task.task_id))
        assert hidden == none["error"]["message"]
    feed(stranger, request("list", "tasks/list"))
    assert sent(stranger)[0]["result"] == {"tasks": []}
    w.book.complete(task.task_id, DONE)
    sent(w.server)
    feed(w.server, request("c", "tasks/cancel", {"taskId": task.task_id}))
    assert sent(w.server)[0]["error"]["code"] == -32602


@pytest.mark.rule("TASK-56", "TASK-57", "TASK-58", "CANC-04", "H54", "X-08")
def test_task_57_a_cancelled_task_stays_cancelled() -> None:
    w = World()
    id, task = w.start()
    w.client.cancel_request(id)
    [message] = sent(w.client)
    assert (message["method"], message["params"]) == ("tasks/cancel", {"taskId": task.task_id})
    [event] = feed(w.server, message)
    assert isinstance(event, TaskCancelRequested)
    assert event.task.status == "cancelled"
    [answer, told] = sent(w.server)
    assert answer["result"]["status"] == "cancelled"
    assert told["method"] == "notifications/tasks/status"
    [event] = feed(w.client, answer)
    assert isinstance(event, TaskStatusChanged)
    assert w.book.complete(task.task_id, DONE).status == "cancelled"
    assert w.book.fail(task.task_id, t.Error(1, "m")).status == "cancelled"
    feed(w.server, request("r", "tasks/result", {"taskId": task.task_id}))
    assert sent(w.server)[0]["error"]["code"] == -32600
    assert w.client.tasks == {}
    with pytest.raises(LocalProtocolError):
        w.client.cancel_request(id)


@pytest.mark.rule("CANC-04", "X-09", "H50")
@pytest.mark.parametrize("by", ["caller", "timeout"])
def test_h50_a_request_given_up_early_is_stopped_as_soon_as_it_is_a_task(by: str) -> None:
    w = World()
    id = w.client.call_tool("t", {}, task=TASK, timeout=10)
    sent_and_fed(w.client, w.server)
    if by == "caller":
        w.client.cancel_request(id)
    else:
        w.clock.now += 10
        assert w.client.handle_deadlines() == [RequestTimedOut(id, w.client_request())]
    assert sent(w.client) == []  # No notifications/cancelled for what is to become a task.
    task = w.server.create_task(id)
    events, of_server = pump(w.client, w.server)
    assert [type(event) for event in of_server] == [TaskCancelRequested]
    assert of_server[0].task.task_id == task.task_id
    assert not [event for event in events if isinstance(event, (TaskCreated, ResultReceived))]
    assert not w.client.outgoing
    no_violations(events, of_server)


@pytest.mark.rule("CANC-04")
def test_canc_04_a_notification_does_not_cancel_what_is_to_become_a_task() -> None:
    w = World()
    feed(w.server, request("c", "tools/call", {"name": "t", "task": {}}))
    cancel = notification("notifications/cancelled", {"requestId": "c"})
    assert names(feed(w.server, cancel)) == ["ProtocolViolation:CANC-04"]
    w.server.create_task("c")


@pytest.mark.rule(
    "TASK-51", "TASK-52", "TASK-53", "TASK-54", "TASK-62", "TASK-73", "X-10", "PAGE-01"
)
def test_task_51_pages_of_tasks() -> None:
    w = World()
    w.book._page_size = 3
    made = [w.book.create("", "tools/call").task_id for _ in range(8)]
    w.book.create("other", "tools/call")
    seen, cursor, n = [], None, 0
    while True:
        n += 1
        params: Any = None if cursor is None else {"cursor": cursor}
        feed(w.server, request(f"l{n}", "tasks/list", params))
        page = sent(w.server)[-1]["result"]
        assert "_meta" not in page
        seen += [task["taskId"] for task in page["tasks"]]
        if "nextCursor" not in page:
            break
        cursor = page["nextCursor"]
    assert seen == made
    assert n == 3
    for n, bad in enumerate(["", "0", "x", "-1", "99", "01", "9" * 4000]):
        feed(w.server, request(f"bad{n}", "tasks/list", {"cursor": bad}))
        assert sent(w.server)[-1]["error"]["code"] == -32602


@pytest.mark.rule("TASK-45", "TASK-46", "TASK-47", "TASK-48")
def test_task_45_the_parameter_alone_decides() -> None:
    w = World()
    _, task = w.start()
    meta = {RELATED: {"taskId": "another"}}
    feed(w.server, request("g", "tasks/get", {"taskId": task.task_id, "_meta": meta}))
    [answer] = sent(w.server)
    assert answer["result"]["taskId"] == task.task_id
    assert "_meta" not in answer["result"]


# ---- who may, and which tools


@pytest.mark.rule("TASK-01", "TASK-02", "TASK-03", "TASK-04", "TASK-05", "TASK-06")
def test_task_06_no_tasks_where_none_were_declared() -> None:
    client, server = ready_pair()
    with pytest.raises(LocalProtocolError) as caught:
        client.call_tool("t", {}, task=TASK)
    assert caught.value.rule == "TASK-06"
    params = t.CreateMessageRequestParams([], 5, task=TASK)
    with pytest.raises(LocalProtocolError) as caught:
        server.send_request(t.CreateMessageRequest(params))
    assert caught.value.rule == "TASK-04"
    list_only = attrs.evolve(SERVER_CAN, tasks=t.ServerTasksCapability(list={}))
    client, server = ready_pair(None, {"capabilities": list_only, "tasks": TaskBook()})
    with pytest.raises(LocalProtocolError):
        client.call_tool("t", {}, task=TASK)
    client.send_request(t.ListTasksRequest())
    with pytest.raises(LocalProtocolError):
        client.send_request(t.CancelTaskRequest(t.CancelTaskRequestParams("x")))


@pytest.mark.rule("TASK-20")
def test_task_20_who_has_not_declared_it_answers_plainly() -> None:
    _, server = ready_pair()
    [event] = feed(server, request("c", "tools/call", {"name": "t", "task": {"ttl": 5}}))
    assert isinstance(event, RequestReceived)
    assert event.task is None
    with pytest.raises(LocalProtocolError):
        server.create_task("c")
    server.send_result("c", DONE)


@pytest.mark.rule("TASK-07", "TASK-08", "TASK-09", "TASK-10", "TASK-11", "S28", "X-03")
@pytest.mark.parametrize("support", [None, "forbidden", "optional", "required"])
@pytest.mark.parametrize("as_task", [False, True])
def test_task_11_a_tools_task_support_holds_on_both_sides(support: Any, as_task: bool) -> None:
    execution = None if support is None else t.ToolExecution(support)
    tool = t.Tool("t", {"type": "object"}, execution=execution)
    w = World(server={"catalog": Catalog(tools=[tool])})
    good = {None: not as_task, "forbidden": not as_task, "required": as_task}.get(support, True)
    params: Any = {"name": "t", "task": {}} if as_task else {"name": "t"}
    events = feed(w.server, request("raw", "tools/call", params))
    if good:
        assert names(events) == ["RequestReceived"]
    else:
        assert events == []
        assert sent(w.server)[0]["error"]["code"] == -32601
    w.client.list_tools()
    pump(w.client, w.server)
    if good:
        w.client.call_tool("t", task=TASK if as_task else None)
    else:
        with pytest.raises(LocalProtocolError) as caught:
            w.client.call_tool("t", task=TASK if as_task else None)
        assert caught.value.rule == ("TASK-07" if as_task else "TASK-10")


@pytest.mark.rule("TASK-38", "JRPC-08")
def test_task_38_a_task_is_not_answered_plainly_nor_a_plain_request_with_a_task() -> None:
    w = World()
    feed(w.server, request("c", "tools/call", {"name": "t", "task": {}}))
    with pytest.raises(LocalProtocolError):
        w.server.send_result("c", DONE)
    feed(w.server, request("p", "tools/call", {"name": "t"}))
    with pytest.raises(LocalProtocolError) as caught:
        w.server.create_task("p")
    assert caught.value.rule == "TASK-38"
    w.server.send_error("c", -32603, "no")


@pytest.mark.rule("TASK-21", "X-03")
def test_task_21_a_receiver_may_insist_on_tasks() -> None:
    w = World(client={"task_only": ["sampling/createMessage"]})
    plain = t.CreateMessageRequestParams([], 5)
    id = w.server.send_request(t.CreateMessageRequest(plain))
    of_client, [event] = pump(w.client, w.server)
    assert of_client == []
    assert isinstance(event, ErrorReceived)
    assert (event.id, event.error.code) == (id, -32600)
    w.server.send_request(t.CreateMessageRequest(attrs.evolve(plain, task=TASK)))
    assert names(pump(w.client, w.server)[0]) == ["RequestReceived"]


@pytest.mark.rule("TASK-63")
def test_task_63_a_storage_that_fails_loses_nothing_else() -> None:
    class Failing(MemoryTaskStorage):
        broken = False

        def get(self, task_id: str) -> Any:
            if self.broken:
                raise OSError("disk on fire")
            return super().get(task_id)

    storage = Failing()
    book = TaskBook(storage=storage)
    w = World(server={"tasks": book})
    w.client.call_tool("t", {}, task=TASK)
    _, [event] = pump(w.client, w.server)
    task = w.server.create_task(event.id)
    w.server.data_to_send()
    feed(w.server, request("w", "tasks/result", {"taskId": task.task_id}))
    storage.broken = True
    events = feed(
        w.server,
        *[request(m, f"tasks/{m}", {"taskId": task.task_id}) for m in ("get", "result", "cancel")],
        request("p", "ping"),
    )
    assert [type(event) for event in events] == [TaskBookFailed] * 3
    assert str(events[0].error) == "disk on fire"
    answers = sent(w.server)
    assert [answer.get("error") for answer in answers[:3]] == [
        {"code": -32603, "message": "Internal error"}
    ] * 3
    assert answers[3] == result("p", {})
    storage.broken = False
    book.complete(task.task_id, DONE)
    storage.broken = True
    with pytest.raises(OSError, match="fire"):
        w.server.data_to_send()
    storage.broken = False
    assert [message.get("id") for message in sent(w.server)] == [None, "w"]


# ---- what the peer may get wrong


@pytest.mark.rule("TASK-26", "TASK-27", "H52")
def test_h52_a_status_never_goes_backwards() -> None:
    w = World(server={"notify_task_status": False})
    _, task = w.start()
    shown = unstructure(task)

    def told(status: str) -> Any:
        return notification("notifications/tasks/status", {**shown, "status": status})

    assert names(feed(w.client, told("completed"))) == ["TaskStatusChanged"]
    assert names(feed(w.client, told("working"))) == ["ProtocolViolation:TASK-27"]
    assert names(feed(w.client, told("failed"))) == ["ProtocolViolation:TASK-27"]
    assert w.client.tasks[next(iter(w.client.tasks))].status == "completed"
    unknown = {**shown, "taskId": "elsewhere"}
    events = feed(w.client, notification("notifications/tasks/status", unknown))
    assert [type(event) for event in events] == [NotificationReceived]


@pytest.mark.rule("TASK-61")
def test_a_task_that_the_peer_has_forgotten_ends_in_an_error() -> None:
    w = World(server={"notify_task_status": False})
    id, _ = w.start()
    w.clock.now += 1
    w.client.handle_deadlines()
    [look] = sent(w.client)
    [event] = feed(w.client, error(look["id"], -32602, "Task not found"))
    assert isinstance(event, ErrorReceived)
    assert event.id == id
    assert w.client.tasks == {}


def test_a_plain_answer_to_a_request_for_a_task_is_taken() -> None:
    w = World()
    id = w.client.call_tool("t", {}, task=TASK)
    sent(w.client)
    [event] = feed(w.client, result(id, {"content": []}))
    assert isinstance(event, ResultReceived)


def test_an_outcome_of_the_wrong_kind_ends_in_an_error() -> None:
    w = World(server={"notify_task_status": False})
    id, task = w.start()
    done = {**unstructure(task), "status": "completed"}
    feed(w.client, notification("notifications/tasks/status", done))
    [fetch] = sent(w.client)
    violation, failed = feed(w.client, result(fetch["id"], {"content": "x"}))
    assert (violation.rule, failed.id) == ("TASK-40", id)
    assert failed.violation == violation


def test_a_closed_connection_names_the_tasks_that_it_followed() -> None:
    w = World()
    id, _ = w.start()
    [closed] = w.client.receive_eof()
    assert isinstance(closed, ConnectionClosed)
    assert id in closed.unanswered
    assert w.client.next_deadline() is None


@pytest.mark.rule("TASK-13")
def test_task_13_an_immediate_response() -> None:
    w = World()
    w.client.call_tool("t", {}, task=TASK)
    _, [event] = pump(w.client, w.server)
    w.server.create_task(event.id, immediate_response="I am on it")
    [event], _ = pump(w.client, w.server)
    assert event.immediate_response == "I am on it"


# ---- the book


@pytest.mark.rule("TASK-34", "TASK-35", "TASK-36", "TASK-77", "H55")
def test_h55_a_task_expires_and_its_waiters_are_told() -> None:
    w = World(client={"notify_task_status": False})
    id = w.client.call_tool("t", {}, task=t.TaskMetadata(5_000))
    _, [event] = pump(w.client, w.server)
    task = w.server.create_task(event.id, poll_interval=60_000)
    pump(w.client, w.server)
    feed(w.server, request("w", "tasks/result", {"taskId": task.task_id}))
    assert w.server.next_deadline() == w.clock.now + 5
    w.clock.now += 5
    assert w.server.handle_deadlines() == [TaskExpired(task)]
    [late] = sent(w.server)
    assert (late["id"], late["error"]["code"]) == ("w", -32602)
    feed(w.server, request("g", "tasks/get", {"taskId": task.task_id}))
    assert sent(w.server)[0]["error"]["code"] == -32602
    with pytest.raises(LocalProtocolError) as caught:
        w.book.complete(task.task_id, DONE)
    assert caught.value.rule == "TASK-61"
    assert w.server.next_deadline() is None
    assert id in w.client.tasks


@pytest.mark.rule("TASK-34", "TASK-76")
@pytest.mark.parametrize(
    ("asked", "limits", "kept"),
    [
        (None, {"default_ttl": 7, "max_ttl": 9}, 7),
        (None, {"default_ttl": None, "max_ttl": 9}, 9),
        (None, {"default_ttl": None, "max_ttl": None}, None),
        (8, {"default_ttl": 7, "max_ttl": 9}, 8),
        (99, {"default_ttl": 7, "max_ttl": 9}, 9),
        (99, {"default_ttl": 7, "max_ttl": None}, 99),
        (0, {}, 0),
    ],
)
def test_task_34_how_long_a_task_is_kept(asked: Any, limits: Any, kept: Any) -> None:
    book = World(limits=TaskLimits(**limits)).book
    assert book.create("", "tools/call", ttl=asked).ttl == kept


@pytest.mark.rule("TASK-75")
def test_task_75_there_is_an_end_to_tasks() -> None:
    w = World(limits=TaskLimits(per_context=2, total=3))
    for _ in range(2):
        w.start()
    w.client.call_tool("t", {}, task=TASK)
    of_client, of_server = pump(w.client, w.server)
    assert of_server == []
    [event] = [event for event in of_client if isinstance(event, ErrorReceived)]
    assert event.error.code == -32603
    assert "No room for a task: 2 tasks" in event.error.message
    w.book.create("other", "tools/call")
    with pytest.raises(LocalProtocolError) as caught:
        w.book.create("third", "tools/call")
    assert caught.value.rule == "LIMIT-01"
    # A plain call is none the worse for it.
    w.client.call_tool("t")
    assert names(pump(w.client, w.server)[1]) == ["RequestReceived"]


def test_limit_the_size_of_an_outcome() -> None:
    w = World(limits=TaskLimits(max_result_size=100))
    _, task = w.start()
    with pytest.raises(LocalProtocolError) as caught:
        w.book.complete(task.task_id, t.CallToolResult([t.TextContent("x" * 100)]))
    assert caught.value.rule == "LIMIT-01"
    with pytest.raises(LocalProtocolError):
        w.book.fail(task.task_id, t.Error(1, "x" * 100))
    w.book.complete(task.task_id, t.CallToolResult([]))


@pytest.mark.rule("TASK-23", "TASK-24", "TASK-69")
def test_task_69_ids_cannot_be_guessed() -> None:
    book = TaskBook()
    ids = {book.create("", "tools/call").task_id for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{32}", id) for id in ids)  # 192 bits.
    same = TaskBook(new_id=lambda: "x")
    same.create("", "tools/call")
    with pytest.raises(LocalProtocolError) as caught:
        same.create("", "tools/call")
    assert caught.value.rule == "TASK-24"


def test_a_saved_book_goes_on_where_it_was() -> None:
    w = World()
    _, running = w.start()
    _, done = w.start()
    w.book.complete(done.task_id, DONE)
    expired = w.book.create("", "tools/call", ttl=1)
    text = w.book.save()
    w.clock.now += 1
    book = w.new_book()
    book.load(text)
    for task_id in (running.task_id, done.task_id):
        assert book.record(task_id) == w.book.record(task_id)
    assert book.record(expired.task_id) is None
    assert [task.task_id for task in book.expire()] == [expired.task_id]
    book.complete(running.task_id, DONE)
    page = book.page("", None)
    assert page is not None
    assert [task.task_id for task in page[0]] == [running.task_id, done.task_id]
    with pytest.raises(LocalProtocolError):
        book.load(text)  # They are there already.


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version":2,"tasks":[]}',
        '{"version":1}',
        '{"version":1,"tasks":[{}]}',
        '{"version":1,"tasks":[null]}',
        "\ud800",
    ],
)
def test_what_is_no_saved_book_is_refused_and_changes_nothing(text: str) -> None:
    book = World().book
    with pytest.raises((DecodeError, StructureError)):
        book.load(text)
    assert book.page("", None) == ([], None)


def test_a_book_of_ten_thousand_tasks_is_no_slower_than_a_small_one() -> None:
    """Counted in steps of the storage, not in time."""
    w = World(limits=TaskLimits(per_context=20_000, total=20_000))
    for n in range(10_000):
        w.book.create(f"c{n % 7}", "tools/call", ttl=n + 1)
    storage: Any = w.book._storage
    assert storage.count(None) == 10_000
    w.clock.now += 5
    assert len(w.book.expire()) == 5_000
    assert storage.count(None) == 5_000
    assert len(storage._expiries) <= 2 * 5_000 + 16
    w.clock.now += 100
    w.book.expire()
    assert storage._order == {}
    assert storage._counts == {}
    assert w.book.seconds_to_expiry() is None


@pytest.mark.rule("TASK-63")
def test_task_63_a_storage_that_fails_while_we_receive_loses_nothing() -> None:
    class Failing(MemoryTaskStorage):
        broken = False

        def count(self, context: str | None) -> int:
            if self.broken:
                raise OSError("disk on fire")
            return super().count(context)

        def get(self, task_id: str) -> Any:
            if self.broken:
                raise OSError("disk on fire")
            return super().get(task_id)

    storage = Failing()
    w = World(server={"tasks": TaskBook(storage=storage)})
    w.client.call_tool("t", {}, task=TASK)
    _, [event] = pump(w.client, w.server)
    task = w.server.create_task(event.id)
    asked = w.server.send_request(t.ListRootsRequest(), related_task=task.task_id)
    sent(w.server)
    storage.broken = True
    call = request("c", "tools/call", {"name": "t", "task": {}})
    events = feed(w.server, call, result(asked, {"roots": []}), request("p", "ping"))
    assert names(events) == ["TaskBookFailed", "ResultReceived", "TaskBookFailed"]
    storage.broken = False
    answers = {message["id"]: message for message in sent(w.server) if "id" in message}
    assert answers["c"]["error"] == {"code": -32603, "message": "Internal error"}
    assert answers["p"] == result("p", {})
