"""JSON-RPC: what is a message, ids, and answers (basic/index)."""

import json

import pytest

from sansmcp import (
    CLIENT,
    SERVER,
    ErrorReceived,
    Limits,
    LocalProtocolError,
    NotificationMethod,
    NotificationReceived,
    ProtocolViolation,
    RequestMethod,
    RequestReceived,
    ResultReceived,
)
from sansmcp.types import (
    CallToolResult,
    Error,
    Notification,
    PingRequest,
    Request,
    Result,
    TextContent,
)

from .support import (
    error,
    feed,
    names,
    notification,
    pump,
    ready_client,
    ready_pair,
    ready_server,
    request,
    result,
    sent,
)

CALL = {"name": "t"}


@pytest.mark.rule("JRPC-01", "JRPC-02", "JRPC-09", "H04", "H05", "H08", "H09", "S29", "X-17")
@pytest.mark.parametrize(
    ("line", "rule", "says"),
    [
        (
            b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
            "JRPC-02",
            "byte order mark",
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', "JRPC-01", ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}', "JRPC-02", ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', "JRPC-02", ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}', "JRPC-02", ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":-Infinity}}', "JRPC-02", ""),
        (b"[" * 10_000 + b"]" * 10_000, "JRPC-02", ""),
        (b'{"a":' * 100_000, "JRPC-02", ""),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"', "JRPC-02", ""),
        (b"hello", "JRPC-02", ""),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', "JRPC-02", ""),
    ],
)
def test_jrpc_01_what_is_not_json_costs_that_message_only(line, rule, says) -> None:
    server = ready_server()
    events = feed(server, line, request(2, "ping"), request(3, "tools/call", CALL))
    assert names(events) == [f"ProtocolViolation:{rule}", "RequestReceived"]
    violation = events[0]
    assert isinstance(violation, ProtocolViolation)
    assert says in violation.detail and violation.message == line
    refused, pong = sent(server)
    assert refused["error"]["code"] == -32700 and "id" not in refused
    assert pong == result(2, {})


@pytest.mark.rule("H01", "JRPC-09")
def test_h01_a_client_does_not_answer_stray_output_of_a_server() -> None:
    client = ready_client()
    sent(client)
    lines = [b"Server v1.2 listening", b"\xff", b"[]", b"17", b"{}", b'"hi"']
    events = feed(client, *lines, request(1, "ping"))
    assert len(events) == 6 and all(isinstance(event, ProtocolViolation) for event in events)
    assert all(event.reply is None for event in events)
    assert sent(client) == [result(1, {})]


@pytest.mark.rule("JRPC-15", "H20")
@pytest.mark.parametrize("value", [[], [request(1, "ping")], [[]], [1, 2]])
def test_jrpc_15_an_array_is_refused_once(value) -> None:
    server = ready_server()
    assert names(feed(server, value)) == ["ProtocolViolation:JRPC-15"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600 and "id" not in refused


@pytest.mark.rule("JRPC-02")
@pytest.mark.parametrize("value", [1, None, True, {}, {"jsonrpc": "2.0"}, {"foo": 1}])
def test_jrpc_02_other_values_are_no_messages(value) -> None:
    server = ready_server()
    assert names(feed(server, value)) == ["ProtocolViolation:JRPC-02"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600 and "id" not in refused


@pytest.mark.rule("JRPC-02", "H18")
@pytest.mark.parametrize("version", [None, "1.0", 2.0, 2, "2"])
@pytest.mark.parametrize("side", ["client", "server"])
def test_jrpc_02_the_version_is_exactly_2_0(version, side) -> None:
    connection = ready_server() if side == "server" else ready_client()
    sent(connection)
    message = request("q", "ping")
    if version is None:
        del message["jsonrpc"]
    else:
        message["jsonrpc"] = version
    assert names(feed(connection, message)) == ["ProtocolViolation:JRPC-02"]
    [refused] = sent(connection)
    assert (refused["id"], refused["error"]["code"]) == ("q", -32600)
    del message["id"]
    assert names(feed(connection, message)) == ["ProtocolViolation:JRPC-02"]
    assert sent(connection) == []


@pytest.mark.rule("JRPC-02", "H13")
def test_h13_an_answer_of_the_wrong_version_ends_its_request() -> None:
    client = ready_client()
    id = client.ping()
    events = feed(client, {"id": id, "result": {}})
    assert names(events) == ["ProtocolViolation:JRPC-02", "ErrorReceived"]
    assert not client.outgoing


IDS = [0, "", -1, "1", 1, 2**53 + 1, 2**70, -(2**70), "🦀", " ", "\u2028", "x" * 1024, 10**1000]


@pytest.mark.rule("JRPC-03", "JRPC-06", "H10", "S27")
def test_jrpc_06_ids_are_echoed_exactly_and_kept_apart() -> None:
    server = ready_server()
    events = feed(server, *[request(id, "tools/call", CALL) for id in IDS])
    assert [event.id for event in events if isinstance(event, RequestReceived)] == IDS
    for id in reversed(IDS):
        server.send_result(id, CallToolResult([TextContent(str(type(id)))]))
    answers = sent(server)
    assert [answer["id"] for answer in answers] == IDS[::-1]
    assert [type(answer["id"]) for answer in answers] == [type(id) for id in IDS[::-1]]


@pytest.mark.rule("JRPC-03", "JRPC-04", "H11")
@pytest.mark.parametrize("id", [None, True, False, 1.5, 1.0, [], {}, ["a"]])
@pytest.mark.parametrize("side", ["client", "server"])
def test_jrpc_03_other_ids_are_refused_without_id(id, side) -> None:
    connection = ready_server() if side == "server" else ready_client()
    sent(connection)
    rule = "JRPC-04" if id is None else "JRPC-03"
    assert names(feed(connection, request(id, "ping"))) == [f"ProtocolViolation:{rule}"]
    [refused] = sent(connection)
    assert refused["error"]["code"] == -32600 and "id" not in refused


@pytest.mark.parametrize("id", ["x" * 1025, 10**1100])
def test_limit_ids_beyond_the_limit_are_refused(id) -> None:
    server = ready_server(limits=Limits(max_id_size=1024))
    assert names(feed(server, request(id, "ping"))) == ["ProtocolViolation:LIMIT-01"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600 and "id" not in refused
    token = request(1, "tools/call", {**CALL, "_meta": {"progressToken": id}})
    assert names(feed(server, token)) == ["ProtocolViolation:LIMIT-01"]
    assert sent(server)[0]["error"]["code"] == -32602


@pytest.mark.rule("H12", "GEN-03")
@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({**request(1, "tools/call"), "params": None}, "params"),
        ({**request(1, "tools/call"), "params": []}, "params"),
        ({**request(1, "tools/call"), "params": "x"}, "params"),
        ({**request(1, "tools/list"), "params": []}, "params"),
        ({**request(1, "ping"), "params": None}, "params"),
        (request(1, "tools/call"), "params.name"),
        (request(1, "tools/call", {"name": 5}), "params.name"),
        (request(1, "tools/call", {"name": "t", "arguments": []}), "params.arguments"),
        (request(1, "tools/call", {"name": "t", "_meta": {"progressToken": 1.5}}), "progressToken"),
        (request(1, "tools/list", {"cursor": 3}), "params.cursor"),
        (request(1, "completion/complete", {"ref": {"type": "ref/x"}}), "params."),
    ],
)
def test_gen_03_params_that_do_not_fit_are_refused_with_the_path(message, says) -> None:
    server = ready_server()
    assert names(feed(server, message)) == ["ProtocolViolation:GEN-03"]
    [refused] = sent(server)
    assert (refused["id"], refused["error"]["code"]) == (1, -32602)
    assert says in refused["error"]["message"]
    assert not server.incoming


@pytest.mark.rule("H12")
def test_h12_optional_params_may_be_missing() -> None:
    server = ready_server()
    [event] = feed(server, request(1, "tools/list"))
    assert isinstance(event, RequestReceived) and event.params is None


@pytest.mark.rule("H17", "GEN-02")
def test_gen_02_an_unknown_method_is_refused() -> None:
    for connection in (ready_server(), ready_client()):
        sent(connection)
        for id, method in enumerate(["no/such", "", "x" * 10_000, "tools/call "]):
            events = feed(connection, request(id, method))
            assert names(events) == ["ProtocolViolation:GEN-02"]
            [refused] = sent(connection)
            assert (refused["id"], refused["error"]["code"]) == (id, -32601)
            assert len(refused["error"]["message"]) < 400


@pytest.mark.rule("JRPC-02")
@pytest.mark.parametrize("method", [None, 5, [], {}])
def test_jrpc_02_a_method_is_a_string(method) -> None:
    server = ready_server()
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    assert names(feed(server, message)) == ["ProtocolViolation:JRPC-02"]
    assert sent(server)[0]["error"]["code"] == -32600
    del message["id"]
    assert len(feed(server, message)) == 1 and sent(server) == []


@pytest.mark.rule("GEN-02")
@pytest.mark.parametrize(
    ("side", "method", "params"),
    [
        ("server", "roots/list", None),
        ("server", "sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("client", "tools/list", None),
        ("client", "initialize", None),
    ],
)
def test_gen_02_methods_of_the_other_side_are_refused(side, method, params) -> None:
    connection = ready_server() if side == "server" else ready_client()
    sent(connection)
    [event] = feed(connection, request(1, method, params))
    assert isinstance(event, ProtocolViolation)
    assert sent(connection)[0]["error"]["code"] in (-32601, -32600)


@pytest.mark.rule("JRPC-12", "H16")
@pytest.mark.parametrize(
    "message",
    [
        notification("notifications/no_such"),
        notification("notifications/message"),
        notification("notifications/message", {"level": "loud", "data": 1}),
        notification("notifications/progress", {"progress": 1}),
        notification("tools/call", CALL),
        {**notification("notifications/cancelled"), "params": []},
        notification("notifications/roots/list_changed"),
        notification("notifications/tools/list_changed"),
    ],
)
@pytest.mark.parametrize("side", ["client", "server"])
def test_jrpc_12_a_notification_is_never_answered(message, side) -> None:
    connection = ready_server() if side == "server" else ready_client()
    sent(connection)
    feed(connection, message)
    assert sent(connection) == []


@pytest.mark.rule("H16")
def test_h16_bad_notifications_are_reported() -> None:
    client = ready_client()
    bad = notification("notifications/message", {"level": "loud", "data": 1})
    [event] = feed(client, bad)
    assert isinstance(event, ProtocolViolation) and "params.level" in event.detail
    assert names(feed(client, notification("x"))) == ["ProtocolViolation:GEN-02"]


@pytest.mark.rule("JRPC-05", "S26")
def test_jrpc_05_an_id_in_flight_is_refused_and_the_first_keeps_its_answer() -> None:
    server = ready_server()
    events = feed(server, request(7, "tools/call", CALL), request(7, "tools/call", CALL))
    assert names(events) == ["RequestReceived", "ProtocolViolation:JRPC-05"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600
    server.send_result(7, CallToolResult([]))
    assert sent(server) == [result(7, {"content": []})]


@pytest.mark.rule("JRPC-05")
def test_jrpc_05_an_id_used_before_is_reported_and_served() -> None:
    server = ready_server()
    feed(server, request(7, "tools/call", CALL))
    server.send_result(7, CallToolResult([]))
    events = feed(server, request(7, "tools/call", CALL))
    assert names(events) == ["ProtocolViolation:JRPC-05", "RequestReceived"]
    server.send_result(7, CallToolResult([]))


@pytest.mark.rule("JRPC-05")
def test_jrpc_05_our_ids_are_never_used_twice() -> None:
    client, server = ready_pair()
    ids = []
    for _ in range(20):
        ids.append(client.ping())
        with pytest.raises(LocalProtocolError):
            client.get_prompt("p", {"a": 5})
        ids.append(client.call_tool("t"))
        client.cancel_request(ids[-1])
        pump(client, server)
    assert len(set(ids)) == len(ids)


@pytest.mark.rule("JRPC-06", "JRPC-08")
def test_jrpc_06_each_request_is_answered_once() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    with pytest.raises(LocalProtocolError) as caught:
        server.send_result(id, Result())
    assert caught.value.rule == "JRPC-08" and "CallToolResult" in str(caught.value)
    server.send_result(id, CallToolResult([]))
    for answer in (
        lambda: server.send_result(id, CallToolResult([])),
        lambda: server.send_error(id, -32603, "x"),
        lambda: server.send_result(99, CallToolResult([])),
        lambda: server.send_result(str(id), CallToolResult([])),
        lambda: server.send_progress(id, 1),
    ):
        with pytest.raises(LocalProtocolError) as caught:
            answer()
        assert caught.value.rule == "JRPC-06"
    assert len(sent(server)) == 1


@pytest.mark.rule("JRPC-06", "H14")
def test_h14_answers_to_nothing_are_reported_and_change_nothing() -> None:
    client = ready_client()
    ids = [client.ping() for _ in range(3)]
    third = ids[2]
    assert names(feed(client, result(999, {}))) == ["ProtocolViolation:JRPC-06"]
    assert names(feed(client, result(str(third), {}))) == ["ProtocolViolation:JRPC-06"]
    assert names(feed(client, error("nope", -32603))) == ["ProtocolViolation:JRPC-06"]
    assert names(feed(client, result(1.0, {}))) == ["ProtocolViolation:JRPC-06"]
    assert list(client.outgoing) == ids
    assert names(feed(client, result(third, {}))) == ["ResultReceived"]
    assert names(feed(client, result(third, {}))) == ["ProtocolViolation:JRPC-06"]
    assert list(client.outgoing) == ids[:2]


@pytest.mark.rule("JRPC-07", "JRPC-08", "JRPC-10", "JRPC-11", "H13")
@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"result": {}, "error": {"code": 1, "message": "m"}}, "JRPC-07"),
        ({}, "JRPC-07"),
        ({"result": None}, "GEN-03"),
        ({"result": []}, "GEN-03"),
        ({"result": "x"}, "GEN-03"),
        ({"result": {"_meta": 5}}, "GEN-03"),
        ({"error": None}, "JRPC-10"),
        ({"error": "x"}, "JRPC-10"),
        ({"error": {"message": "m"}}, "JRPC-10"),
        ({"error": {"code": 1}}, "JRPC-10"),
        ({"error": {"code": "x", "message": "m"}}, "JRPC-10"),
        ({"error": {"code": 1.5, "message": "m"}}, "JRPC-10"),
        ({"error": {"code": True, "message": "m"}}, "JRPC-10"),
        ({"error": {"code": 1, "message": None}}, "JRPC-10"),
    ],
)
def test_h13_an_unusable_answer_ends_its_request(members, rule) -> None:
    client = ready_client()
    id = client.ping()
    sent(client)
    violation, failed = feed(client, {"jsonrpc": "2.0", "id": id, **members})
    assert isinstance(violation, ProtocolViolation) and violation.rule == rule
    assert isinstance(failed, ErrorReceived) and failed.id == id
    assert failed.violation == violation and failed.request == PingRequest()
    assert not client.outgoing and sent(client) == []


@pytest.mark.rule("H15", "S06", "X-17", "JRPC-09")
@pytest.mark.parametrize("members", [{}, {"id": None}])
def test_h15_an_error_without_id_is_an_event(members) -> None:
    for connection in (ready_client(), ready_server()):
        sent(connection)
        id = connection.ping()
        sent(connection)
        message = {"jsonrpc": "2.0", **members, "error": {"code": -32700, "message": "what?"}}
        assert feed(connection, message) == [ErrorReceived(None, None, Error(-32700, "what?"))]
        assert list(connection.outgoing) == [id] and sent(connection) == []


@pytest.mark.rule("H36")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "hologram"}]},
            "result.content[1].type",
        ),
        ({"content": [{"type": "text", "text": 5}]}, "result.content[0].text"),
        ({"content": "x"}, "result.content"),
        ({}, "result.content"),
        ({"content": [], "isError": None}, "result.isError"),
        ({"content": [], "structuredContent": None}, "result.structuredContent"),
        (
            {"content": [{"type": "text", "text": "", "annotations": {"audience": ["dog"]}}]},
            "result.content[0].annotations.audience[0]",
        ),
    ],
)
def test_h36_a_result_that_does_not_fit_ends_in_an_error_with_the_path(value, path) -> None:
    client = ready_client()
    id = client.call_tool("t")
    violation, failed = feed(client, result(id, value))
    assert isinstance(violation, ProtocolViolation) and path in violation.detail
    assert isinstance(failed, ErrorReceived) and path in failed.error.message
    assert names(feed(client, request(5, "ping"))) == []


@pytest.mark.rule("H38", "S12")
def test_h38_error_data_null_and_absent_are_kept_apart() -> None:
    from sansmcp import MISSING

    client, server = ready_pair()
    for data, shown in ((None, {"data": None}), (MISSING, {}), ([1], {"data": [1]})):
        id = client.ping()
        [event] = feed(client, error(id, 5, "m", **shown))
        assert isinstance(event, ErrorReceived)
        assert event.error.data == data
        call = client.call_tool("t")
        server.receive_data(client.data_to_send())
        server.send_error(call, 5, "m", data)
        assert {k: v for k, v in sent(server)[-1]["error"].items() if k == "data"} == shown


ECHO = RequestMethod("example/echo", frozenset({CLIENT, SERVER}))
NOTE = NotificationMethod("notifications/example/note", frozenset({SERVER}))


@pytest.mark.rule("H17")
def test_h17_an_extension_method_is_delivered_and_answered() -> None:
    options = {"extensions": [ECHO, NOTE]}
    client, server = ready_pair(options, options)
    id = client.send_request(Request("example/echo", {"a": [1]}))
    bare = client.send_request(Request("example/echo"))
    _, events = pump(client, server)
    first, second = events
    assert isinstance(first, RequestReceived) and isinstance(second, RequestReceived)
    assert (first.method, first.params) == ("example/echo", {"a": [1]})
    assert (second.id, second.params) == (bare, None)
    server.send_result(id, Result(extra={"b": 2}))
    server.send_notification(Notification("notifications/example/note", {"c": 3}))
    events, _ = pump(client, server)
    assert isinstance(events[0], ResultReceived) and events[0].result.extra == {"b": 2}
    assert events[1] == NotificationReceived(Notification("notifications/example/note", {"c": 3}))
    with pytest.raises(LocalProtocolError):
        client.send_request(Request("example/other"))
    with pytest.raises(LocalProtocolError):
        client.send_notification(Notification("notifications/example/note"))


def test_h17_extensions_cannot_shadow_a_method() -> None:
    with pytest.raises(ValueError, match="ping"):
        ready_client(extensions=[RequestMethod("ping", frozenset({CLIENT}))])


@pytest.mark.rule("H19", "S12", "JRPC-08")
def test_h19_unknown_members_survive_in_both_directions() -> None:
    client, _server = ready_pair()
    message = request(
        1,
        "tools/call",
        {"name": "t", "arguments": {"a": None}, "future": [1], "_meta": {"k": {"v": None}}},
    )
    message["trace"] = "t-1"
    [event] = feed(ready_server(), message)
    assert isinstance(event, RequestReceived)
    assert event.request.extra == {"trace": "t-1"} and event.params.extra == {"future": [1]}
    assert event.params.meta == {"k": {"v": None}}
    id = client.call_tool("t")
    value = {
        "content": [{"type": "text", "text": "x", "shade": 1, "annotations": {"mood": "blue"}}],
        "tomorrow": {"a": 1},
    }
    [event] = feed(client, result(id, value))
    assert isinstance(event, ResultReceived)
    from sansmcp import unstructure

    assert unstructure(event.result) == value


@pytest.mark.rule("GEN-03")
def test_gen_03_what_we_send_is_checked_before_anything_changes() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    next_id = id + 1
    calls = [
        lambda: client.call_tool(5),
        lambda: client.call_tool("t", {"x": float("nan")}),
        lambda: client.call_tool("t", {"x": float("inf")}),
        lambda: client.call_tool("t", {"x": "\ud800"}),
        lambda: client.call_tool("t", {"x": object()}),
        lambda: client.call_tool("t", []),
        lambda: client.send_request("tools/call"),
        lambda: client.send_request(CallToolResult([])),
        lambda: client.send_notification(PingRequest()),
        lambda: client.list_tools(cursor=3),
    ]
    for call in calls:
        with pytest.raises(LocalProtocolError):
            call()
        assert client.data_to_send() == b"" and not set(client.outgoing) - {id}
    answers = [
        lambda: server.send_result(id, CallToolResult([{"type": "text"}])),
        lambda: server.send_result(id, CallToolResult([], meta={"x": float("nan")})),
        lambda: server.send_result(id, None),
        lambda: server.send_error(id, "x", "m"),
        lambda: server.send_error(id, 1, "m", object()),
        lambda: server.send_error(id, 1, None),
    ]
    for answer in answers:
        with pytest.raises(LocalProtocolError):
            answer()
        assert server.data_to_send() == b"" and id in server.incoming
    assert client.ping() == next_id
    server.send_result(id, CallToolResult([]))


@pytest.mark.rule("JRPC-13")
def test_jrpc_13_notifications_have_no_id() -> None:
    server = ready_server()
    server.tools_list_changed()
    assert sent(server) == [notification("notifications/tools/list_changed")]


def test_chunks_do_not_matter() -> None:
    lines = [
        json.dumps(request(1, "tools/call", {"name": "é\u2028🦀", "arguments": {"x": "\x00"}})),
        "",
        "{broken",
        json.dumps(request("2", "ping"), ensure_ascii=False) + "\r",
        json.dumps(notification("notifications/cancelled", {"requestId": 1})),
    ]
    data = "\n".join(lines).encode() + b"\n"
    whole = ready_server()
    expected = whole.receive_data(data)
    for size in (1, 2, 3, 7, 64):
        server = ready_server()
        events = []
        for start in range(0, len(data), size):
            events += server.receive_data(data[start : start + size])
        assert events == expected
        assert sent(server)[:1] != []


@pytest.mark.rule("H07", "STDIO-02")
def test_h07_end_of_file_in_the_middle_of_a_line() -> None:
    client = ready_client()
    id = client.ping()
    client.receive_data(b'{"jsonrpc":"2.0","id":')
    events = client.receive_eof()
    assert names(events) == ["ProtocolViolation:STDIO-02", "ConnectionClosed"]
    assert list(events[1].unanswered) == [id]
    assert events[0].message == b'{"jsonrpc":"2.0","id":'


@pytest.mark.rule("H06")
def test_h06_an_oversized_line_is_skipped_and_the_next_is_read() -> None:
    server = ready_server(limits=Limits(max_message_size=1000))
    big = json.dumps(request(1, "tools/call", {"name": "x" * 2000}))
    events = feed(server, big, request(2, "tools/call", CALL))
    assert names(events) == ["ProtocolViolation:LIMIT-01", "RequestReceived"]
    assert "1,000" in events[0].detail and events[0].message is None
    [event] = server.receive_message(big)
    assert isinstance(event, ProtocolViolation) and "2,0" in event.detail


def test_receive_message_takes_text_and_bytes() -> None:
    server = ready_server()
    text = json.dumps(request("é", "ping"), ensure_ascii=False)
    assert server.receive_message(text) == []
    assert server.receive_message(text.encode().replace("é".encode(), b"e")) == []
    assert [m["id"] for m in sent(server)] == ["é", "e"]
    # Whole messages need no newline, and may hold some between tokens.
    assert server.receive_message(json.dumps(request(1, "ping"), indent=1)) == []
    assert names(server.receive_message("\ud800")) == ["ProtocolViolation:JRPC-02"]


def test_messages_to_send_and_data_to_send_drain_one_queue() -> None:
    client, server = ready_pair()
    server.receive_data(json.dumps(request("a", "tools/call", CALL)).encode() + b"\n")
    server.list_roots(related_request="a")
    server.log("info", 1, related_request="a")
    server.tools_list_changed()
    server.send_result("a", CallToolResult([]))
    messages = server.messages_to_send()
    assert [message.related_request for message in messages] == ["a", "a", None, "a"]
    assert all(b"\n" not in message.text for message in messages)
    assert server.data_to_send() == b"" and server.messages_to_send() == []
    assert client.data_to_send() == b""
