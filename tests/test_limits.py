"""What happens past each bound is what `sansmcp.limits` says, and nothing else is lost."""

import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

import sansmcp.trio as trio_adapters
import sansmcp.types as t
from sansmcp import (
    ErrorReceived,
    Limits,
    LocalProtocolError,
    NotificationReceived,
    ProgressReceived,
    ProtocolViolation,
    RequestReceived,
    ResultReceived,
    TaskBook,
    TaskLimits,
    decode_json,
    limits,
    unstructure,
)
from sansmcp.limits import MAX_COLLIDING_IDS, MAX_DIGITS, MAX_NESTING

from .support import feed, notification, ready_client, ready_server, request, result, sent
from .test_tasks import TASK, World

#: What a test of this module is about -> the test.
TESTED: Final[dict[str, Callable[[], None]]] = {}


def about(limit: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def mark(test: Callable[[], None]) -> Callable[[], None]:
        TESTED[limit] = test
        return pytest.mark.rule("LIMIT-01")(test)

    return mark


def refused(connection: Any, message: Any, code: int) -> Any:
    """Feed a request that is too much; the id of the error."""
    [event] = feed(connection, message)
    assert isinstance(event, ProtocolViolation)
    assert event.rule == "LIMIT-01"
    [answer] = sent(connection)
    assert answer["error"]["code"] == code
    return answer.get("id")


def call(id: Any, **params: Any) -> Any:
    return request(id, "tools/call", {"name": "t", **params})


@about("max_message_size")
def test_limit_a_message_that_is_too_long_is_skipped() -> None:
    server = ready_server(limits=Limits(max_message_size=1000))
    long = json.dumps(call(1, arguments={"a": "x" * 2000}))
    events = feed(server, long, call(2))
    assert [type(event) for event in events] == [ProtocolViolation, RequestReceived]
    assert events[0].rule == "LIMIT-01"
    assert f"{len(long):,} bytes" in events[0].detail and "1,000" in events[0].detail
    assert sent(server) == []


@about("max_requests_in_flight")
def test_limit_requests_in_flight_are_counted_and_a_ping_finds_its_place() -> None:
    server = ready_server(limits=Limits(max_requests_in_flight=2))
    feed(server, call(1), call(2))
    assert refused(server, call(3), -32603) == 3
    assert feed(server, request("p", "ping")) == []
    assert sent(server) == [result("p", {})]
    server.send_result(1, t.CallToolResult([]))
    assert len(feed(server, call(3))) == 1
    client = ready_client(limits=Limits(max_requests_in_flight=1))
    client.ping()
    with pytest.raises(LocalProtocolError, match="LIMIT-01"):
        client.ping()


@about("max_size_in_flight")
def test_limit_the_bytes_of_the_requests_in_flight_are_counted() -> None:
    server = ready_server(limits=Limits(max_size_in_flight=5000))
    large = {"a": "x" * 3000}
    feed(server, call(1, arguments=large), call(2, arguments=large))
    assert refused(server, call(3), -32603) == 3
    feed(server, request("p", "ping"))
    assert sent(server) == [result("p", {})]
    server.send_result(1, t.CallToolResult([]))
    assert len(feed(server, call(3))) == 1


def test_limit_the_bytes_of_the_requests_of_a_batch_are_counted_one_by_one() -> None:
    server = ready_server(limits=Limits(max_size_in_flight=5000), revisions=["2025-03-26"])
    feed(server, [call(1, arguments={"a": "x" * 6000}), request("p", "ping")])
    assert refused(server, call(2), -32603) == 2
    server.send_result(1, t.CallToolResult([]))
    server.data_to_send()
    feed(server, [call(n) for n in range(3, 10)])
    assert 400 < server._them.requests.size < 700


@about("max_id_size")
def test_limit_ids_and_tokens_have_a_length_to_the_last_digit() -> None:
    server = ready_server(limits=Limits(max_id_size=1024))
    for longest in ("x" * 1024, 10**1024 - 1, -(10**1024) + 1):
        assert len(feed(server, call(longest))) == 1
        server.send_result(longest, t.CallToolResult([]))
        assert sent(server)[0]["id"] == longest
    for longer in ("x" * 1025, 10**1024, -(10**1024)):
        assert refused(server, call(longer), -32600) is None
        assert refused(server, call(1, _meta={"progressToken": longer}), -32602) == 1
    assert len(feed(server, call(1))) == 1


@about("max_remembered_requests")
def test_limit_old_requests_are_forgotten() -> None:
    server = ready_server(limits=Limits(max_remembered_requests=2))
    for n in range(4):
        feed(server, request(n, "ping"))
    late = [notification("notifications/cancelled", {"requestId": n}) for n in range(4)]
    assert [len(feed(server, message)) for message in late] == [1, 1, 0, 0]


@about("max_subscriptions")
def test_limit_subscriptions_are_counted() -> None:
    server = ready_server(limits=Limits(max_subscriptions=1))
    feed(server, request(1, "resources/subscribe", {"uri": "a:b"}))
    sent(server)
    assert refused(server, request(2, "resources/subscribe", {"uri": "a:c"}), -32603) == 2
    feed(server, request(3, "resources/subscribe", {"uri": "a:b"}))
    assert sent(server) == [result(3, {})]
    client = ready_client(limits=Limits(max_subscriptions=0))
    with pytest.raises(LocalProtocolError, match="LIMIT-01"):
        client.subscribe("a:b")


@about("max_subscriptions_size")
def test_limit_the_characters_of_all_subscriptions_are_counted() -> None:
    server = ready_server(limits=Limits(max_subscriptions_size=100))
    one, other = "a:" + "b" * 58, "a:" + "c" * 58
    feed(server, request(1, "resources/subscribe", {"uri": one}))
    sent(server)
    assert refused(server, request(2, "resources/subscribe", {"uri": other}), -32603) == 2
    feed(server, request(3, "resources/unsubscribe", {"uri": one}))
    feed(server, request(4, "resources/subscribe", {"uri": other}))
    assert sent(server) == [result(3, {}), result(4, {})]


@about("max_uri_size")
def test_limit_a_long_uri_is_not_subscribed_to() -> None:
    server = ready_server(limits=Limits(max_uri_size=10))
    assert refused(server, request(1, "resources/subscribe", {"uri": "a:" + "b" * 9}), -32603) == 1
    assert server.subscriptions == frozenset()


@about("max_batch_size")
def test_limit_a_large_batch_is_refused_as_a_whole() -> None:
    server = ready_server(limits=Limits(max_batch_size=2), revisions=["2025-03-26"])
    assert refused(server, [request(n, "ping") for n in range(3)], -32600) is None
    feed(server, [request(n, "ping") for n in range(2)])
    assert sent(server) == [[result(0, {}), result(1, {})]]


@about("max_elicitations")
def test_limit_old_elicitations_are_forgotten_and_their_completion_ignored() -> None:
    client = ready_client(limits=Limits(max_elicitations=1))
    for name in ("e", "f"):
        page = {"mode": "url", "message": "m", "url": "https://a.example/", "elicitationId": name}
        feed(client, request(name, "elicitation/create", page))
    done = [notification("notifications/elicitation/complete", {"elicitationId": n}) for n in "ef"]
    assert feed(client, done[0]) == []
    assert isinstance(feed(client, done[1])[0], NotificationReceived)


def _client_that_knows(limits: Limits, *tools: Any) -> Any:
    """A client that has been told of tools with a schema, one a page."""
    client = ready_client(limits=limits)
    for page, tool in enumerate(tools):
        id = client.list_tools(None if page == 0 else str(page))
        value = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, **tool}
        feed(client, result(id, {"tools": [value], "nextCursor": "x"}))
    return client


def _checks(client: Any, name: str) -> bool:
    """Whether it misses the structured content of this tool's result."""
    [*violations, answer] = feed(client, result(client.call_tool(name), {"content": []}))
    assert isinstance(answer, ResultReceived)
    return bool(violations)


@about("max_known_tools")
def test_limit_tools_beyond_the_limit_are_not_checked() -> None:
    client = _client_that_knows(Limits(max_known_tools=1), {"name": "t"}, {"name": "u"})
    assert _checks(client, "t") and not _checks(client, "u")


@about("max_known_tools_size")
def test_limit_tools_of_large_pages_are_not_checked() -> None:
    limits = Limits(max_known_tools_size=2000)
    client = _client_that_knows(limits, {"name": "t"}, {"name": "u", "description": "x" * 2000})
    assert _checks(client, "t") and not _checks(client, "u")
    feed(client, notification("notifications/tools/list_changed"))
    feed(client, result(client.list_tools(), {"tools": []}))
    assert client._conversation.state._known_tools < 200


STATUS = {
    "taskId": "x",
    "ttl": None,
    "createdAt": "2025-01-01T00:00:00Z",
    "lastUpdatedAt": "2025-01-01T00:00:00Z",
}


@about("max_known_tasks")
def test_limit_old_tasks_are_forgotten_and_may_go_back() -> None:
    client = ready_client(limits=Limits(max_known_tasks=1))

    def told(task_id: str, status: str) -> Any:
        task = {**STATUS, "taskId": task_id, "status": status}
        return type(feed(client, notification("notifications/tasks/status", task))[0])

    assert told("a", "completed") is NotificationReceived
    assert told("a", "working") is ProtocolViolation
    assert told("b", "completed") is NotificationReceived
    assert told("a", "working") is NotificationReceived


def test_limit_the_token_of_a_task_that_is_forgotten_goes_with_it() -> None:
    world = World(client={"limits": Limits(max_known_tasks=1)})
    first, _ = world.start(progress=True)
    second, _ = world.start(progress=True)
    tell = [
        notification("notifications/progress", {"progressToken": id, "progress": 1})
        for id in (first, second)
    ]
    [violation] = feed(world.client, tell[0])
    assert violation.rule == "PROG-14"
    assert isinstance(feed(world.client, tell[1])[0], ProgressReceived)


# ---- tasks


@about("per_context")
def test_limit_tasks_of_one_requestor_are_counted() -> None:
    world = World(limits=TaskLimits(per_context=1))
    world.start()
    assert "1 tasks of one requestor" in refused_task(world)
    world.book.create("somebody else", "tools/call")
    with pytest.raises(LocalProtocolError, match="LIMIT-01"):
        world.book.create("", "tools/call")


@about("total")
def test_limit_tasks_are_counted() -> None:
    world = World(limits=TaskLimits(total=1))
    world.book.create("somebody else", "tools/call")
    assert "1 tasks are the limit" in refused_task(world)


def refused_task(world: World) -> str:
    world.client.call_tool("t", {}, task=TASK)
    assert world.server.receive_data(world.client.data_to_send()) == []
    [event] = world.client.receive_data(world.server.data_to_send())
    assert isinstance(event, ErrorReceived)
    assert event.error.code == -32603
    return event.error.message


@about("max_ttl")
def test_limit_a_task_is_kept_no_longer_than_that() -> None:
    assert TaskBook(limits=TaskLimits(max_ttl=5)).create("", "ping", ttl=9).ttl == 5


@about("default_ttl")
def test_limit_a_task_is_kept_for_a_while_if_nobody_says_how_long() -> None:
    assert TaskBook(limits=TaskLimits(default_ttl=7)).create("", "ping").ttl == 7
    assert TaskBook(limits=TaskLimits(default_ttl=None, max_ttl=9)).create("", "ping").ttl == 9


@about("max_result_size")
def test_limit_the_outcome_of_a_task_has_a_size_and_the_task_goes_on() -> None:
    book = TaskBook(limits=TaskLimits(max_result_size=100))
    task = book.create("", "tools/call")
    with pytest.raises(LocalProtocolError, match="LIMIT-01"):
        book.complete(task.task_id, t.CallToolResult([t.TextContent("x" * 100)]))
    assert book.record(task.task_id).task.status == "working"  # type: ignore[union-attr]
    assert book.complete(task.task_id, t.CallToolResult([])).status == "completed"


@pytest.mark.parametrize("ttl", [-1, -(10**400), 10**18, 10**400])
def test_any_wish_for_a_ttl_can_be_lived_with(ttl: int) -> None:
    book = TaskBook(limits=TaskLimits(max_ttl=None))
    task = book.create("", "ping", ttl=ttl)
    assert task.ttl is not None
    assert (book.record(task.task_id) is None) == (ttl < 0)


# ---- what the reader of JSON and the interpreter bound


@about("MAX_NESTING")
def test_limit_nesting_is_read_up_to_a_depth_wherever_the_caller_stands() -> None:
    text = "[" * MAX_NESTING + "]" * MAX_NESTING

    def deep(calls: int) -> Any:
        return deep(calls - 1) if calls else decode_json(text)

    assert deep(sys.getrecursionlimit() // 2)
    server = ready_server()
    inner = "[" * (MAX_NESTING - 3) + "]" * (MAX_NESTING - 3)
    line = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":%s}}}'
    )
    assert isinstance(feed(server, line % inner)[0], RequestReceived)
    [violation] = feed(server, line % ("[" * 10**5 + "]" * 10**5))
    assert violation.rule == "JRPC-02"
    assert sent(server)[0]["error"]["code"] == -32700


@about("MAX_DIGITS")
def test_limit_integers_are_read_up_to_a_length() -> None:
    assert decode_json("9" * MAX_DIGITS) == 10**MAX_DIGITS - 1
    server = ready_server()
    [violation] = feed(server, '{"jsonrpc":"2.0","id":%s,"method":"ping"}' % ("9" * 4301))
    assert violation.rule == "JRPC-02"
    assert sent(server)[0]["error"]["code"] == -32700


@about("MAX_COLLIDING_IDS")
def test_limit_ids_that_share_a_hash_are_counted() -> None:
    modulus = sys.hash_info.modulus
    server = ready_server()
    ids = [modulus * n for n in range(1, 100)]
    assert {hash(id) for id in ids} == {0}
    for id in ids[:MAX_COLLIDING_IDS]:
        assert len(feed(server, call(id))) == 1
    too_many = ids[MAX_COLLIDING_IDS]
    assert refused(server, call(too_many), -32600) is None
    token = {"progressToken": too_many}
    assert refused(server, call("token", _meta=token), -32602) == "token"
    # Others are none the worse for it, however large.
    for other in (2**70, 2**100, 0, "x"):
        assert len(feed(server, call(other))) == 1
    # Nor is it over when they are answered, for they are remembered.
    server.send_result(ids[0], t.CallToolResult([]))
    sent(server)
    assert refused(server, call(too_many), -32600) is None


def test_limit_ids_that_share_a_hash_find_room_once_others_are_forgotten() -> None:
    modulus = sys.hash_info.modulus
    server = ready_server(limits=Limits(max_remembered_requests=3))
    for n in range(1, 200):
        feed(server, request(modulus * n, "ping"))
        assert sent(server) == [result(modulus * n, {})]
    assert len(server._them.requests._hashes) == 1


# ---- that is all of them


def test_every_bound_has_a_test() -> None:
    names = [field.name for cls in (Limits, TaskLimits) for field in attrs.fields(cls)]
    assert set(TESTED) == {*names, "MAX_NESTING", "MAX_DIGITS", "MAX_COLLIDING_IDS"}


@pytest.mark.parametrize("cls", [Limits, TaskLimits])
def test_every_bound_is_documented_where_it_stands(cls: Any) -> None:
    for field in attrs.fields(cls):
        assert f"\n    {field.name}: " in str(inspect.getdoc(cls))


def _rows(page: str) -> dict[str, str]:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", page, re.M)
    assert len(rows) == len(dict(rows))
    return dict(rows)


def test_the_page_has_every_bound_with_its_value() -> None:
    """Those of `Limits` and `TaskLimits` are generated; the rest is written by hand."""
    rows = _rows((Path(__file__).parents[1] / "docs" / "reference" / "limits.md").read_text())
    for name in limits.__all__:
        if isinstance(value := getattr(limits, name), int):
            assert rows.pop(name) == f"{value:,}"
    for cls in (Limits, TaskLimits):
        for field in attrs.fields(cls):
            del rows[field.name]
    for name, shown in rows.items():
        if "(" in name:
            function, _, argument = name.partition("(")
            of = getattr(trio_adapters, function)
            value = inspect.signature(of).parameters[argument.removesuffix("=)")].default
        else:
            module, _, constant = name.rpartition(".")
            value = getattr(importlib.import_module(module), constant)
        mebi = shown.endswith(" Mi")
        assert value == float(shown.removesuffix(" Mi").replace(",", "")) * (2**20 if mebi else 1)


def test_limit_a_task_is_looked_at_neither_too_often_nor_too_seldom() -> None:
    for interval, seconds in ((0, 0.02), (-5, 0.02), (10**30, 86_400), (500, 0.5)):
        world = World()
        _, task = world.start()
        news = {**unstructure(task), "pollInterval": interval}
        feed(world.client, notification("notifications/tasks/status", news))
        assert world.client.next_deadline() == world.clock.now + seconds
