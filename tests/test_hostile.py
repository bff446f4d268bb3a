"""Whatever a peer sends: nothing raises, nothing hangs, and the next good message is read as usual."""

import json
import sys
import time
from typing import Any

import pytest

from benchmarks.hostile import ATTACKS, Attack, cost_of
from sansmcp import (
    Limits,
    LocalProtocolError,
    ProtocolViolation,
    StructureError,
    TaskLimits,
    structure,
    unstructure,
)
from sansmcp.types import CallToolResult, ClientCapabilities, CompleteRequestParams, Error

from .support import (
    Clock,
    error,
    feed,
    make_client,
    make_server,
    names,
    notification,
    pump,
    ready_client,
    ready_server,
    request,
    result,
    sent,
)
from .test_limits import STATUS
from .test_tasks import DONE, TASK, World

#: Small ones, so that a short attack gets past them.
SMALL = Limits(
    max_message_size=2 * 2**20,
    max_requests_in_flight=20,
    max_size_in_flight=200_000,
    max_remembered_requests=20,
    max_subscriptions=20,
    max_elicitations=10,
    max_known_tools=10,
    max_known_tasks=10,
)
SMALL_BOOK = TaskLimits(per_context=20)


@pytest.mark.rule("LIMIT-01")
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.about for attack in ATTACKS])
def test_limit_an_attack_costs_no_more_the_longer_it_lasts(attack: Attack) -> None:
    few = max(100 // attack.weight, 1)
    many = 4 * few

    def seconds(count: int) -> float:
        return cost_of(attack, count, SMALL, SMALL_BOOK, memory=False).seconds / count

    short = cost_of(attack, few, SMALL, SMALL_BOOK)
    long = cost_of(attack, many, SMALL, SMALL_BOOK)
    assert short.alive and long.alive
    # What is kept is full by then, and grows no more.
    assert long.kept < short.kept + 50_000
    if attack.whole:
        # What one call is given, it gives back: events and answers, all at once.
        assert long.peak < 2000 * many
    else:
        assert long.peak < 8 * 2**20 + 20 * long.size / many
    # Did each message look through those before it, this would be 4. A busy machine is none once.
    assert any(seconds(many) < 2 * seconds(few) + 20e-6 for _ in range(5))


# ---- floods: what is kept is bounded


def test_limit_a_flood_of_requests_that_nobody_answers() -> None:
    server = ready_server(limits=Limits(max_requests_in_flight=100))
    events = feed(server, *[request(n, "tools/call", {"name": "t"}) for n in range(1000)])
    assert len(server.incoming) == 100
    assert sum(isinstance(event, ProtocolViolation) for event in events) == 900
    refused = sent(server)
    assert len(refused) == 900
    assert {message["error"]["code"] for message in refused} == {-32603}
    assert feed(server, notification("notifications/cancelled", {"requestId": 5})) != []
    assert len(feed(server, request("x", "tools/call", {"name": "t"}))) == 1
    assert len(server.incoming) == 100


def test_limit_unknown_cancellations_progress_and_answers_leave_nothing_behind() -> None:
    client = ready_client()
    for n in range(5000):
        feed(client, notification("notifications/cancelled", {"requestId": n}))
        feed(client, notification("notifications/progress", {"progressToken": n, "progress": n}))
        feed(client, result(f"no-{n}", {}))
    assert not client.outgoing
    assert not client.incoming
    requests = client._us.requests
    assert len(requests._finished) <= client.limits.max_remembered_requests
    assert len(requests._retired_tokens) <= client.limits.max_remembered_requests


def test_limit_finished_requests_are_remembered_up_to_a_number() -> None:
    server = ready_server(limits=Limits(max_remembered_requests=50))
    for n in range(1000):
        feed(server, request(n, "ping"))
    assert len(server._them.requests._finished) == 50


def test_limit_elicitations_tools_and_tasks_that_a_peer_makes_up() -> None:
    limits = Limits(max_elicitations=10, max_known_tools=10, max_known_tasks=10)
    client = ready_client(limits=limits)
    page = {"mode": "url", "message": "m", "url": "https://a.example/"}
    for n in range(100):
        feed(client, request(n, "elicitation/create", {**page, "elicitationId": f"e{n}"}))
        id = client.list_tools(cursor=str(n))
        tool = {"name": f"t{n}", "inputSchema": {"type": "object"}}
        feed(client, result(id, {"tools": [tool]}))
        task = {
            "taskId": f"task{n}", "status": "working", "ttl": None,
            "createdAt": "2025-01-01T00:00:00Z", "lastUpdatedAt": "2025-01-01T00:00:00Z",
        }  # fmt: skip
        feed(client, notification("notifications/tasks/status", task))
    state = client._conversation.state
    assert len(state.elicitations) == 10
    assert len(state.tools) == 10
    assert len(state.tasks) == 10


def test_limit_long_things_are_shortened_in_what_is_said_about_them() -> None:
    server = ready_server()
    long = "x" * 100_000
    for message in (
        request("a", long),
        request("b", "tools/call", {long: 1, "name": 5}),
        request("c", "resources/unsubscribe", {"uri": long}),
        request("d", "logging/setLevel", {"level": long}),
        notification(long),
        notification("notifications/progress", {"progressToken": long, "progress": 1}),
        notification("notifications/cancelled", {"requestId": long}),
        result(long, {}),
    ):
        for event in feed(server, message):
            if isinstance(event, ProtocolViolation):
                assert len(event.detail) < 400
        assert len(server.data_to_send()) < 600


def test_a_clock_that_stands_still_or_jumps_is_no_trouble() -> None:
    clock = Clock()
    client = ready_client(clock=clock)
    client.call_tool("t", timeout=5)
    for _ in range(3):
        assert client.handle_deadlines() == []
    clock.now -= 1000
    assert client.handle_deadlines() == []
    clock.now += 10**9
    assert len(client.handle_deadlines()) == 1
    assert client.next_deadline() is None


# ---- what fuzzing has found, and what was found on the way


@pytest.mark.rule("JRPC-15", "CANC-08")
@pytest.mark.parametrize("method", ["ping", "tools/call"])
def test_a_batch_may_cancel_what_it_asks(method: str) -> None:
    server = ready_server(revisions=["2025-03-26"])
    params = {"name": "t"} if method == "tools/call" else {}
    cancel = notification("notifications/cancelled", {"requestId": 1})
    events = feed(server, [request(1, method, params), cancel, request(2, "ping")])
    assert names(events) == ["RequestReceived", "RequestCancelled"] * (method == "tools/call")
    answered = [1, 2] if method == "ping" else [2]
    assert sent(server) == [[result(id, {}) for id in answered]]
    assert not server._batch_of and not server.incoming


@pytest.mark.rule("JRPC-05")
@pytest.mark.parametrize("order", [1, -1])
def test_an_id_that_is_used_again_may_become_a_task_again(order: int) -> None:
    world = World()
    tasks = []
    for _ in range(2):
        feed(world.server, request("same", "tools/call", {"name": "t", "task": {}}))
        tasks.append(world.server.create_task("same"))
    sent(world.server)
    for task in tasks[::order]:
        world.book.complete(task.task_id, DONE)
        [told] = sent(world.server)
        assert told["params"]["taskId"] == task.task_id
    assert not world.server._host._made and not world.server._host._task_ids


@pytest.mark.rule("TASK-24")
def test_task_24_two_requests_do_not_become_one_task() -> None:
    world = World()
    first, task = world.start(progress=True)
    second = world.client.call_tool("t", {}, task=TASK, progress=True)
    made = feed(world.client, result(second, {"task": unstructure(task)}))
    assert names(made) == ["ProtocolViolation:TASK-24", "TaskCreated"]
    progress = {"progressToken": second, "progress": 1}
    assert names(feed(world.client, notification("notifications/progress", progress))) == [
        "ProtocolViolation:PROG-14"
    ]
    ended = {**unstructure(task), "status": "completed"}
    feed(world.client, notification("notifications/tasks/status", ended))
    assert not world.client._us.requests._by_token
    assert set(world.client.tasks) == {first, second}


def test_limit_the_token_of_a_task_with_a_long_id_is_not_kept() -> None:
    client = World().client
    id = client.call_tool("t", {}, task=TASK, progress=True)
    task = {**STATUS, "status": "working", "taskId": "x" * 2000}
    assert names(feed(client, result(id, {"task": task}))) == ["TaskCreated"]
    assert not client._us.requests._by_token


def test_limit_news_of_a_task_put_off_the_next_look_and_leave_nothing_behind() -> None:
    world = World()
    _, task = world.start()
    told = {**unstructure(task), "pollInterval": 86_400_000}
    for n in range(1000):
        news = notification("notifications/tasks/status", {**told, "statusMessage": str(n)})
        assert names(feed(world.client, news)) == ["TaskStatusChanged"]
    assert len(world.client._follower._polls) < 100
    assert world.client.next_deadline() == world.clock.now + 86_400


@pytest.mark.rule("TASK-14")
def test_task_14_there_is_one_look_at_a_task_at_a_time() -> None:
    world = World(client={"timeout": None, "max_timeout": None})
    _, task = world.start()
    told = {**unstructure(task), "pollInterval": 1000}
    for n in range(20):
        world.clock.now += 2
        world.client.handle_deadlines()
        news = notification("notifications/tasks/status", {**told, "statusMessage": str(n)})
        feed(world.client, news)
    assert [message["method"] for message in sent(world.client)] == ["tasks/get"]
    [id] = world.client.outgoing
    feed(world.client, result(id, told))
    world.clock.now += 2
    world.client.handle_deadlines()
    assert [message["method"] for message in sent(world.client)] == ["tasks/get"]


@pytest.mark.rule("RES-05", "RES-06")
@pytest.mark.parametrize("how", ["refused", "given up"])
def test_an_unsubscription_that_failed_leaves_the_subscription(how: str) -> None:
    client = ready_client()
    feed(client, result(client.subscribe("a:b"), {}))
    id = client.unsubscribe("a:b")
    if how == "refused":
        feed(client, error(id, -32603))
    else:
        client.cancel_request(id)
    assert not client._conversation.state.leaving
    updated = notification("notifications/resources/updated", {"uri": "a:b"})
    assert names(feed(client, updated)) == ["NotificationReceived"]
    feed(client, result(client.unsubscribe("a:b"), {}))
    assert names(feed(client, updated))[0] == "ProtocolViolation:RES-06"


def test_limit_what_was_asked_is_not_kept_for_as_long_as_its_task() -> None:
    world = World()
    _, task = world.start()
    [(request, _)] = world.server._host._made.values()
    assert request.request is None
    world.book.complete(task.task_id, DONE)
    pump(world.client, world.server)
    for connection in (world.client, world.server):
        tasks = connection._conversation.state.tasks
        assert [known.request for known in tasks.values()] == [None] * len(tasks)


@pytest.mark.parametrize("make", [make_client, make_server, ready_client, ready_server])
def test_limit_a_long_name_of_a_method_is_shortened_in_every_state(make: Any) -> None:
    connection = make()
    connection.data_to_send()
    name = "x" * 10**6
    for message in (request(1, name), notification(name), notification(name, []), request("x", "")):
        for event in feed(connection, message):
            assert len(event.detail) < 400
    assert len(connection.data_to_send()) < 1000


@pytest.mark.parametrize("wrong", [5, "x", [], None, {"content": 5}, {"content": [], "_meta": 5}])
def test_a_saved_book_with_an_unusable_outcome_is_refused(wrong: Any) -> None:
    world = World()
    task = world.book.create("", "tools/call")
    world.book.complete(task.task_id, DONE)
    saved = json.loads(world.book.save())
    saved["tasks"][0]["result"] = wrong
    book = world.new_book()
    with pytest.raises(StructureError):
        book.load(json.dumps(saved))
    assert book.record(task.task_id) is None


def test_limit_giving_up_waiting_for_a_task_takes_the_same_time_however_many_wait() -> None:
    world = World()
    task = world.book.create("", "tools/call")

    def cost(waiting: int) -> float:
        ask = [request(n, "tasks/result", {"taskId": task.task_id}) for n in range(waiting)]
        give_up = [
            notification("notifications/cancelled", {"requestId": n}) for n in range(waiting)
        ]
        _, server = world.pair()
        feed(server, *ask)
        start = time.process_time()
        feed(server, *give_up[::-1])
        return (time.process_time() - start) / waiting

    # Were all that wait looked through each time, it would be twenty times as much.
    assert any(cost(8000) < 4 * cost(400) for _ in range(5))


@pytest.mark.rule("META-02", "TASK-40")
def test_an_outcome_that_cannot_be_sent_is_refused_when_it_is_kept() -> None:
    world = World()
    task = world.book.create("", "tools/call")
    for wrong in ({"no key": 1}, {"a/": 1, "/": 2}, {"\ufeff": 1}):
        with pytest.raises(LocalProtocolError, match="META-02"):
            world.book.complete(task.task_id, CallToolResult([], meta=wrong))
    world.book.complete(task.task_id, DONE)
    saved = json.loads(world.book.save())
    saved["tasks"][0]["result"]["_meta"] = {"no key": 1}
    with pytest.raises(StructureError, match=r"tasks\[0\].result"):
        world.new_book().load(json.dumps(saved))


@pytest.mark.rule("ELIC-10")
def test_an_outcome_that_is_not_for_this_peer_is_an_internal_error_and_told() -> None:
    """URL elicitation is required, and the client has not declared that it can."""
    world = World(client={"capabilities": ClientCapabilities()})
    task = world.book.create("", "tools/call")
    feed(world.server, request(1, "tasks/result", {"taskId": task.task_id}))
    world.book.fail(task.task_id, Error(-32042, "See a page"))
    assert [answer["error"]["code"] for answer in sent(world.server)] == [-32603]
    events = feed(world.server, request(2, "tasks/result", {"taskId": task.task_id}))
    assert names(events) == ["TaskBookFailed", "TaskBookFailed"]
    assert [event.id for event in events] == [1, 2]
    assert [answer["error"]["code"] for answer in sent(world.server)] == [-32603]


@pytest.mark.rule("GEN-03")
@pytest.mark.parametrize("large", [2**1024 - 1, -(2**1024), 10**400])
def test_gen_03_a_number_that_no_float_comes_near_is_refused(large: int) -> None:
    """1e400 is refused as no JSON; its digits written out are no better."""
    assert float(structure(int(sys.float_info.max), float)) == sys.float_info.max
    with pytest.raises(StructureError, match="expected a number"):
        structure(large, float)
    client = ready_client()
    id = client.call_tool("t", progress=True)
    progress = {"progressToken": id, "progress": large}
    assert names(feed(client, notification("notifications/progress", progress))) == [
        "ProtocolViolation:GEN-03"
    ]
    world = World()
    world.book.create("", "tools/call")
    saved = json.loads(world.book.save())
    saved["tasks"][0]["expires"] = large
    with pytest.raises(StructureError, match="expires"):
        world.new_book().load(json.dumps(saved))


@pytest.mark.rule("JRPC-14", "TASK-41")
def test_jrpc_14_nothing_is_said_about_an_error_when_it_is_too_late() -> None:
    """Where warnings are errors, one more would be raised each time that the peer may be told."""
    world = World()
    task = world.book.create("", "tools/call")
    feed(world.server, request(1, "tasks/result", {"taskId": task.task_id}))
    world.book.fail(task.task_id, Error(7, "a\nb"))
    assert sent(world.server)[0]["error"] == {"code": 7, "message": "a\nb"}


@pytest.mark.parametrize("odd", ["\n", "\r", "\x1b[2J", "\u2028", "\u202e", "\x00"])
def test_what_is_said_about_a_message_can_go_into_a_log(odd: str) -> None:
    """No line of a peer's and no control character of its is in the details of a violation."""
    name = f"a{odd}FAKE: all is well"
    for connection in (ready_server(), make_server(), ready_client(), make_client()):
        for message in (
            request(1, name),
            request(2, "completion/complete", {"context": {"arguments": {name: 5}}}),
            request(name, "tools/call", {"name": 5, name: 5, "_meta": {name: 5}}),
            request(3, "initialize", {"protocolVersion": name, name: 1}),
            notification(name),
            notification("notifications/cancelled", {"requestId": name}),
            notification("notifications/progress", {"progressToken": name, "progress": name}),
            notification("notifications/resources/updated", {"uri": name}),
            result(name, {name: name}),
            error(name, -32603, name),
        ):
            for event in feed(connection, message):
                if isinstance(event, ProtocolViolation):
                    assert event.detail.isprintable()
    with pytest.raises(StructureError) as caught:
        structure(
            {
                "ref": {"type": "ref/prompt", "name": "x"},
                "argument": {"name": "a", "value": "b"},
                "context": {"arguments": {name: 5}},
            },
            CompleteRequestParams,
        )
    assert str(caught.value).isprintable()
