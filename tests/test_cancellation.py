"""Cancellation, and every way in which it can cross an answer (basic/utilities/cancellation)."""

import itertools

import pytest

from sansmcp import (
    ErrorReceived,
    Limits,
    LocalProtocolError,
    ProtocolViolation,
    RequestCancelled,
    ResultReceived,
)
from sansmcp.types import CallToolRequest, CallToolRequestParams, CallToolResult, TextContent

from .support import (
    error,
    feed,
    make_client,
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

CALL = request(5, "tools/call", {"name": "t"})


def cancel(id, **more):
    return notification("notifications/cancelled", {"requestId": id, **more})


@pytest.mark.rule("CANC-05", "CANC-06", "CANC-12", "CANC-15", "HTTP-27", "S30")
def test_canc_06_a_cancellation_reaches_the_other_side() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    client.cancel_request(id, "changed my mind")
    [message] = sent(client)
    assert message == cancel(id, reason="changed my mind")
    assert feed(server, message) == [
        RequestCancelled(id, CallToolRequest(CallToolRequestParams("t"), id=id), "changed my mind")
    ]
    assert not server.incoming and not client.outgoing


@pytest.mark.rule("CANC-07", "CANC-08", "H28", "S04")
def test_canc_08_the_answer_to_a_cancelled_request_is_refused() -> None:
    server = ready_server()
    feed(
        server, request(5, "tools/call", {"name": "t", "_meta": {"progressToken": "p"}}), cancel(5)
    )
    for late in (
        lambda: server.send_result(5, CallToolResult([])),
        lambda: server.send_error(5, -32603, "x"),
        lambda: server.send_progress(5, 1),
    ):
        with pytest.raises(LocalProtocolError) as caught:
            late()
        assert caught.value.rule == "CANC-08"
    assert sent(server) == []


@pytest.mark.rule("CANC-01", "CANC-02", "CANC-16")
def test_canc_01_only_our_own_request_in_flight_can_be_cancelled() -> None:
    client, server = ready_pair()
    id = client.ping()
    asked = server.list_roots()
    pump(client, server)
    given_up = client.call_tool("t")
    client.cancel_request(given_up)
    sent(client)
    for unknown, rule in (
        (id, "CANC-02"),
        (given_up, "CANC-02"),
        (99, "CANC-01"),
        ("1", "CANC-01"),
    ):
        with pytest.raises(LocalProtocolError) as caught:
            client.cancel_request(unknown)
        assert caught.value.rule == rule
    assert asked in client.incoming and sent(client) == []


@pytest.mark.rule("CANC-03")
def test_canc_03_initialize_is_never_cancelled() -> None:
    client = make_client()
    id = client.initialize()
    with pytest.raises(LocalProtocolError) as caught:
        client.cancel_request(id)
    assert caught.value.rule in ("CANC-03", "LIFE-05")
    assert id in client.outgoing


@pytest.mark.rule("CANC-09", "CANC-14", "CANC-05", "H30", "X-20")
@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"requestId": 99}, "CANC-01"),
        ({"requestId": "5"}, "CANC-01"),
        ({}, "CANC-05"),
        ({"reason": "x"}, "CANC-05"),
        ({"requestId": None}, "CANC-14"),
        ({"requestId": 5.0}, "CANC-14"),
        ({"requestId": []}, "CANC-14"),
        ({"requestId": 5, "reason": 7}, "CANC-14"),
        (None, "CANC-05"),
    ],
)
def test_canc_14_bad_cancellations_are_reported_and_ignored(params, rule) -> None:
    server = ready_server()
    feed(server, CALL)
    events = feed(server, notification("notifications/cancelled", params))
    assert names(events) == [f"ProtocolViolation:{rule}"]
    assert list(server.incoming) == [5] and sent(server) == []


@pytest.mark.rule("CANC-03", "H30")
def test_canc_03_a_cancel_of_initialize_is_ignored() -> None:
    server = ready_server()
    # The id of the handshake, answered though it is.
    assert names(feed(server, cancel("handshake"))) == ["ProtocolViolation:CANC-03"]
    assert server.state.name == "READY" and sent(server) == []


@pytest.mark.rule("CANC-11", "H29")
def test_canc_11_an_answer_that_crosses_the_cancellation_is_dropped_without_noise() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    client.cancel_request(id)
    server.send_result(id, CallToolResult([TextContent("too late")]))
    assert pump(client, server) == ([], [])
    assert client.late_answers == 1
    # And an error likewise; but the same answer twice is a fault.
    id = client.call_tool("t")
    pump(client, server)
    client.cancel_request(id)
    assert feed(client, error(id, -32603)) == []
    assert names(feed(client, error(id, -32603))) == ["ProtocolViolation:JRPC-06"]
    assert client.late_answers == 2


@pytest.mark.rule("CANC-10", "CANC-11")
@pytest.mark.parametrize("order", list(itertools.permutations(["answer", "cancel", "progress"])))
def test_canc_11_every_interleaving_is_quiet(order) -> None:
    client, server = ready_pair()
    id = client.send_request(CallToolRequest(CallToolRequestParams("t")), progress=True)
    pump(client, server)
    for step in order:
        if step == "answer":
            server.send_result(id, CallToolResult([]))
        elif step == "cancel":
            client.cancel_request(id)
        elif id in server.incoming:
            server.send_progress(id, 1)
    of_client, of_server = pump(client, server)
    assert not [e for e in of_client + of_server if isinstance(e, ProtocolViolation)]
    assert not [e for e in of_client if isinstance(e, (ResultReceived, ErrorReceived))]
    assert not client.outgoing and not server.incoming


@pytest.mark.rule("CANC-11")
def test_canc_11_in_the_direction_from_the_server_too() -> None:
    client, server = ready_pair()
    id = server.list_roots()
    of_client, _ = pump(client, server)
    server.cancel_request(id, "enough")
    from sansmcp.types import ListRootsResult

    client.send_result(id, ListRootsResult([]))
    of_client, of_server = pump(client, server)
    assert (of_client, of_server) == ([], [])


@pytest.mark.rule("CANC-09")
def test_what_is_remembered_of_finished_requests_is_bounded() -> None:
    client = ready_client(limits=Limits(max_remembered_requests=10))
    ids = [client.call_tool("t") for _ in range(12)]
    for id in ids:
        client.cancel_request(id)
    assert feed(client, result(ids[-1], {"content": []})) == []
    # So long ago that it is forgotten: reported as an answer to nothing, and nothing else.
    assert names(feed(client, result(ids[0], {"content": []}))) == ["ProtocolViolation:JRPC-06"]
