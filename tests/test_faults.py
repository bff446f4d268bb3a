"""Faults that were found by people who tried to break the core, one test for the kind of each."""

from typing import Any

import pytest

from sansmcp import (
    CLIENT,
    CapabilityError,
    Catalog,
    Limits,
    LocalProtocolError,
    ProtocolViolation,
    RequestMethod,
    ServerConnection,
    StructureError,
)
from sansmcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    Request,
    RootsListChangedNotification,
    ServerCapabilities,
    TaskMetadata,
    Tool,
)

from .support import (
    SERVER_INFO,
    feed,
    make_server,
    names,
    notification,
    pump,
    ready_pair,
    ready_server,
    request,
    result,
    sent,
)
from .test_tasks import World

INIT: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}
TASK = {
    "taskId": "x",
    "status": "working",
    "ttl": None,
    "createdAt": "2025-01-01T00:00:00Z",
    "lastUpdatedAt": "2025-01-01T00:00:00Z",
}


def test_capabilities_cost_no_more_to_keep_than_they_were_long() -> None:
    server = make_server()
    many = {"k" * 40_000: {str(n): 1 for n in range(5_000)}, "elicitation.url": {}, "roots": {}}
    feed(server, request(1, "initialize", {**INIT, "capabilities": many}))
    assert server._them.declared == {"roots"}


@pytest.mark.parametrize("value", [None, 5, True, 1.5, "task", ["task"]])
def test_a_result_that_is_no_object_ends_a_request_for_a_task(value: Any) -> None:
    w = World()
    id = w.client.call_tool("t", task=TaskMetadata())
    events = feed(w.client, result(id, value))
    assert names(events) == ["ProtocolViolation:GEN-03", "ErrorReceived"]


@pytest.mark.parametrize("interval", [10**400, 0, -5])
def test_any_poll_interval_can_be_lived_with(interval: int) -> None:
    w = World()
    id = w.client.call_tool("t", task=TaskMetadata(), timeout=None)
    feed(w.client, result(id, {"task": {**TASK, "pollInterval": interval}}))
    assert w.clock.now < (w.client.next_deadline() or 0) <= w.clock.now + 24 * 3600


@pytest.mark.parametrize("token", [[1], {}, True, 1.5])
def test_a_token_in_params_of_no_schema_is_checked_too(token: Any) -> None:
    options = {"extensions": [RequestMethod("x/y", frozenset({CLIENT}))]}
    client, server = ready_pair(options, options)
    message = request("a", "x/y", {"_meta": {"progressToken": token}})
    assert names(feed(server, message)) == ["ProtocolViolation:PROG-01"]
    assert sent(server)[0]["error"]["code"] == -32602
    with pytest.raises(LocalProtocolError):
        client.send_request(Request("x/y", {"_meta": {"progressToken": token}}))
    with pytest.raises(LocalProtocolError):
        client.send_request(Request("x/y", {"_meta": 5}), progress=True)


def test_waiters_that_gave_up_leave_nothing_behind() -> None:
    w = World()
    _, task = w.start()
    for n in range(100):
        feed(
            w.server,
            request(f"w{n}", "tasks/result", {"taskId": task.task_id}),
            notification("notifications/cancelled", {"requestId": f"w{n}"}),
        )
    assert w.server._host._waiting == {}


def test_limit_a_batch_has_an_end() -> None:
    server = ready_server(revisions=["2025-03-26"], limits=Limits(max_batch_size=10))
    assert names(feed(server, [1] * 11)) == ["ProtocolViolation:LIMIT-01"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600
    assert len(feed(server, [1] * 10)) == 10


def test_limit_the_uri_of_a_subscription() -> None:
    server = ready_server(limits=Limits(max_uri_size=100))
    call = request("s", "resources/subscribe", {"uri": "a:" + "x" * 100})
    assert names(feed(server, call)) == ["ProtocolViolation:LIMIT-01"]
    assert server.subscriptions == frozenset()


def test_what_could_not_be_sent_is_refused_when_it_is_made() -> None:
    odd = ServerCapabilities(experimental={"x": {"y": float("nan")}})
    with pytest.raises(StructureError):
        make_server(capabilities=odd)
    with pytest.raises(TypeError):
        make_server(instructions=5)
    with pytest.raises(LocalProtocolError):
        Catalog(tools=[Tool("t", {"type": "object", "x": float("nan")})])


def test_the_envelope_is_ours_whatever_a_request_carries_along() -> None:
    options = {"extensions": [RequestMethod("x/y", frozenset({CLIENT}))]}
    client, _ = ready_pair(options, options)
    forwarded = CallToolRequest(CallToolRequestParams("t"), id=99)
    id = client.send_request(forwarded)
    other = client.send_request(Request("x/y", {}, extra={"id": 77, "jsonrpc": "1.0"}))
    first, second = sent(client)
    assert (first["id"], second["id"], second["jsonrpc"]) == (id, other, "2.0")
    with pytest.raises(LocalProtocolError):
        client.send_notification(RootsListChangedNotification(extra={"id": 5}))


@pytest.mark.rule("LOG-01", "S15")
def test_log_01_a_server_without_logging_is_silent_from_the_beginning() -> None:
    server = ServerConnection(SERVER_INFO)
    with pytest.raises(CapabilityError):
        server.log("info", "x")
    assert sent(server) == []


def test_a_duplicate_id_takes_no_place_in_a_batch() -> None:
    server = ready_server(revisions=["2025-03-26"])
    feed(server, [request(n, "tools/call", {"name": "t"}) for n in (7, 8)])
    feed(server, request(7, "ping"))
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600
    server.send_result(7, CallToolResult([]))
    server.send_result(8, CallToolResult([]))
    [answers] = sent(server)
    assert [answer["id"] for answer in answers] == [7, 8]


@pytest.mark.rule("RES-05")
def test_res_05_unsubscribing_twice_is_refused_here_and_a_cancelled_one_is_no_fault() -> None:
    client, server = ready_pair()
    client.subscribe("a:b")
    pump(client, server)
    id = client.unsubscribe("a:b")
    with pytest.raises(LocalProtocolError):
        client.unsubscribe("a:b")
    client.cancel_request(id)
    events = pump(client, server)
    assert not [e for side in events for e in side if isinstance(e, ProtocolViolation)]
    client.subscribe("a:b")
    client.unsubscribe("a:b")
    events = pump(client, server)
    assert not [e for side in events for e in side if isinstance(e, ProtocolViolation)]


@pytest.mark.rule("CANC-11")
def test_canc_11_a_great_many_cancellations_may_cross_their_answers() -> None:
    client, server = ready_pair()
    ids = [client.call_tool("t") for _ in range(1500)]
    for event in server.receive_data(client.data_to_send()):
        server.send_result(event.id, CallToolResult([]))
    for id in ids:
        client.cancel_request(id)
    assert pump(client, server) == ([], [])


@pytest.mark.rule("TOOL-22")
def test_tool_22_what_was_known_of_a_tool_is_forgotten_when_the_tools_change() -> None:
    tool = Tool("t", {"type": "object"}, output_schema={"type": "object"})
    catalog = Catalog(tools=[tool])
    client, server = ready_pair(None, {"catalog": catalog})
    client.list_tools()
    pump(client, server)
    catalog.tools.remove("t")
    catalog.tools.add(Tool("t", {"type": "object"}))
    pump(client, server)
    id = client.call_tool("t")
    pump(client, server)
    server.send_result(id, CallToolResult([]))
    assert names(pump(client, server)[0]) == ["ResultReceived"]


@pytest.mark.rule("PROG-02")
def test_prog_02_the_token_of_a_request_that_was_given_up_is_not_used_again() -> None:
    client, _ = ready_pair()
    call = CallToolRequest(CallToolRequestParams("t", meta={"progressToken": "p"}))
    client.cancel_request(client.send_request(call))
    with pytest.raises(LocalProtocolError) as caught:
        client.send_request(call)
    assert caught.value.rule == "PROG-02"


@pytest.mark.rule("LIFE-23")
def test_life_23_a_closed_connection_says_nothing_any_more() -> None:
    server = ready_server()
    server.receive_eof()
    assert feed(server, "garbage", request(1, "ping")) == []
    assert sent(server) == []


def test_an_answer_about_another_task_is_reported() -> None:
    w = World(server={"notify_task_status": False})
    _, task = w.start()
    w.clock.now += 1
    w.client.handle_deadlines()
    [look] = sent(w.client)
    events = feed(w.client, result(look["id"], {**TASK, "taskId": "B"}))
    assert names(events) == ["ProtocolViolation:TASK-45"]
    assert [kept.task_id for kept in w.client.tasks.values()] == [task.task_id]


def test_content_that_is_no_object_is_refused_and_not_merged() -> None:
    from .test_elicitation_connection import FORM

    client, server = ready_pair()
    id = server.elicit("?", FORM)
    pump(client, server)
    with pytest.raises(LocalProtocolError):
        client.send_result(id, ElicitResult("accept", 5))  # type: ignore[arg-type]
    assert id in client.incoming


def test_choices_are_checked_in_linear_time() -> None:
    """Counted in comparisons, not in time."""
    from sansmcp.elicitation import check_request
    from sansmcp.types import (
        ElicitRequestFormParams,
        RequestedSchema,
        UntitledEnumItems,
        UntitledMultiSelectEnumSchema,
    )

    class Counted(str):
        compared = 0
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, str(other))

        __hash__ = str.__hash__

    values = [Counted(n) for n in range(2000)]
    field = UntitledMultiSelectEnumSchema(
        UntitledEnumItems(values), default=[str(values[-1])] * 2000
    )
    assert list(check_request(ElicitRequestFormParams("?", RequestedSchema({"f": field})))) == []
    assert Counted.compared < 20_000


def test_a_task_that_changes_after_its_connection_has_closed_is_told_to_nobody() -> None:
    w = World()
    _, task = w.start()
    w.server.receive_eof()
    w.book.update(task.task_id, message="still at it")
    assert w.server.data_to_send() == b""
    w.book.cancel(task.task_id)
    assert w.server.messages_to_send() == []
