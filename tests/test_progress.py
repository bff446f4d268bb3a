"""Progress (basic/utilities/progress), timeouts and deadlines (basic/lifecycle, Timeouts)."""

import pytest

from sansmcp import (
    LocalProtocolError,
    ProgressReceived,
    ProtocolViolation,
    RequestReceived,
    RequestTimedOut,
)
from sansmcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ProgressNotification,
    ProgressNotificationParams,
)

from .support import (
    Clock,
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


def call(token):
    return {"name": "t", "_meta": {"progressToken": token}}


def progress(token, value, **more):
    return notification(
        "notifications/progress", {"progressToken": token, "progress": value, **more}
    )


def calling(client, **options):
    return client.send_request(CallToolRequest(CallToolRequestParams("t")), **options)


@pytest.mark.rule("PROG-01", "PROG-03", "PROG-05", "PROG-12")
def test_prog_03_progress_reaches_the_request_that_asked_for_it() -> None:
    client, server = ready_pair()
    id = calling(client, progress=True)
    _, [event] = pump(client, server)
    assert isinstance(event, RequestReceived) and event.progress_token == id
    assert server.send_progress(id, 0.5)
    assert server.send_progress(id, 1, 2, "half")
    asked = client_request = CallToolRequest(CallToolRequestParams("t"))
    assert pump(client, server)[0] == [
        ProgressReceived(id, asked, 0.5),
        ProgressReceived(id, client_request, 1, 2, "half"),
    ]


@pytest.mark.rule("PROG-08", "S10")
def test_prog_08_nobody_reports_progress_that_was_not_asked_for() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    [message] = sent(client)
    assert "_meta" not in message["params"]
    feed(server, message)
    assert server.send_progress(id, 1) is False
    assert sent(server) == []


@pytest.mark.rule("PROG-01", "H31")
@pytest.mark.parametrize("token", [0, "", -1, "0", 2**70, "🦀"])
def test_prog_01_tokens_are_strings_or_integers(token) -> None:
    server = ready_server()
    [event] = feed(server, request(9, "tools/call", call(token)))
    assert isinstance(event, RequestReceived) and event.progress_token == token
    server.send_progress(9, 1)
    assert sent(server) == [progress(token, 1)]
    params = CallToolRequestParams("t", meta={"progressToken": token})
    client = ready_client()
    id = client.send_request(CallToolRequest(params))
    assert [e.id for e in feed(client, progress(token, 0))] == [id]


@pytest.mark.rule("PROG-01")
@pytest.mark.parametrize("token", [1.5, True, None, [], {}])
def test_prog_01_other_tokens_are_refused(token) -> None:
    server = ready_server()
    assert names(feed(server, request(9, "tools/call", call(token)))) == [
        "ProtocolViolation:GEN-03"
    ]
    assert sent(server)[0]["error"]["code"] == -32602
    client = ready_client()
    params = CallToolRequestParams("t", meta={"progressToken": token})
    with pytest.raises(LocalProtocolError):
        client.send_request(CallToolRequest(params))


@pytest.mark.rule("PROG-02")
def test_prog_02_a_token_belongs_to_one_active_request() -> None:
    server = ready_server()
    feed(server, request(1, "tools/call", call("a")))
    assert names(feed(server, request(2, "tools/call", call("a")))) == ["ProtocolViolation:PROG-02"]
    [refused] = sent(server)
    assert (refused["id"], refused["error"]["code"]) == (2, -32602)
    server.send_result(1, CallToolResult([]))
    assert names(feed(server, request(3, "tools/call", call("a")))) == ["RequestReceived"]

    client = ready_client()
    taken = CallToolRequest(CallToolRequestParams("t", meta={"progressToken": "x"}))
    client.send_request(taken)
    with pytest.raises(LocalProtocolError) as caught:
        client.send_request(taken)
    assert caught.value.rule == "PROG-02"


@pytest.mark.rule("PROG-04", "H31", "S07", "X-18")
def test_prog_04_values_grow() -> None:
    client, server = ready_pair()
    id = calling(client, progress=True)
    pump(client, server)
    values = [0.1, 0.2, 0.2, 0.1, 0.3]
    seen = names(feed(client, *[progress(id, value) for value in values]))
    good, bad = "ProgressReceived", "ProtocolViolation:PROG-04"
    assert seen == [good, good, bad, bad, good]
    server.send_progress(id, 5)
    for value in (5, 4.9, -1, 0):
        with pytest.raises(LocalProtocolError) as caught:
            server.send_progress(id, value)
        assert caught.value.rule == "PROG-04"
    server.send_progress(id, 5.1)
    assert [m["params"]["progress"] for m in sent(server)] == [5, 5.1]


@pytest.mark.rule("H31", "PROG-05", "PROG-06")
def test_h31_total_below_progress_and_message_only_are_delivered() -> None:
    client = ready_client()
    id = calling(client, progress=True)
    [first] = feed(client, progress(id, 3, total=2))
    [second] = feed(client, progress(id, 4, message="nearly"))
    assert isinstance(first, ProgressReceived) and first.total == 2
    assert isinstance(second, ProgressReceived) and second.message == "nearly"


@pytest.mark.rule("PROG-07")
def test_prog_07_unknown_tokens_are_reported_and_refused() -> None:
    client = ready_client()
    id = calling(client, progress=True)
    for token in ("x", str(id), id + 1):
        assert names(feed(client, progress(token, 1))) == ["ProtocolViolation:PROG-07"]
    server = ready_server()
    params = ProgressNotificationParams("x", 1)
    with pytest.raises(LocalProtocolError) as caught:
        server.send_notification(ProgressNotification(params))
    assert caught.value.rule == "PROG-07"


@pytest.mark.rule("PROG-14", "H32", "S08")
def test_prog_14_nothing_after_the_answer() -> None:
    client, server = ready_pair()
    id = calling(client, progress=True)
    pump(client, server)
    events = feed(client, progress(id, 1), result(id, {"content": []}), progress(id, 2))
    assert names(events) == ["ProgressReceived", "ResultReceived", "ProtocolViolation:PROG-14"]
    server.send_result(id, CallToolResult([]))
    with pytest.raises(LocalProtocolError):
        server.send_progress(id, 1)
    with pytest.raises(LocalProtocolError) as caught:
        server.send_notification(ProgressNotification(ProgressNotificationParams(id, 1)))
    assert caught.value.rule == "PROG-14"


@pytest.mark.rule("PROG-03")
def test_prog_03_a_client_reports_progress_to_a_server() -> None:
    client, server = ready_pair()
    from sansmcp.types import ListRootsRequest

    id = server.send_request(ListRootsRequest(), progress=True)
    pump(client, server)
    client.send_progress(id, 1, 3)
    _, [event] = pump(client, server)
    assert event == ProgressReceived(id, ListRootsRequest(), 1, 3)


@pytest.mark.rule("LIFE-17", "LIFE-18", "LIFE-19", "S30", "H34", "TOOL-35")
def test_life_18_a_timeout_cancels_once_and_drops_the_late_answer() -> None:
    client = ready_client(timeout=30)
    clock = client._clock
    id = calling(client)
    sent(client)
    assert client.next_deadline() == clock() + 30
    clock.now += 29.9
    assert client.handle_deadlines() == []
    clock.now += 0.1
    assert client.handle_deadlines() == [
        RequestTimedOut(id, CallToolRequest(CallToolRequestParams("t")))
    ]
    [cancelled] = sent(client)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == id
    assert client.next_deadline() is None and client.handle_deadlines() == []
    assert feed(client, result(id, {"content": []})) == []
    assert client.late_answers == 1


@pytest.mark.rule("LIFE-19")
def test_life_19_timeouts_are_for_each_request_with_defaults() -> None:
    client = ready_client(timeout=60, max_timeout=600)
    now = client._clock()
    calling(client, timeout=None)
    assert client.next_deadline() is None
    short = calling(client, timeout=1)
    assert client.outgoing[short].deadline == now + 1 == client.next_deadline()
    capped = calling(client, timeout=90, max_timeout=20)
    assert client.outgoing[capped].deadline == now + 20


@pytest.mark.rule("LIFE-20", "LIFE-21", "H33", "S09")
def test_life_21_progress_moves_the_deadline_but_never_past_the_maximum() -> None:
    client = ready_client()
    clock = client._clock
    start = clock()
    id = calling(client, timeout=10, max_timeout=30, progress=True)
    sent(client)
    value = 0
    events: list[object] = []
    while clock() < start + 60 and not events:
        clock.now += 5
        value += 1
        events = client.handle_deadlines()
        if not events:
            feed(client, progress(id, value))
    assert names(events) == ["RequestTimedOut"] and clock() == start + 30
    assert [m["method"] for m in sent(client)] == ["notifications/cancelled"]


@pytest.mark.rule("LIFE-20")
def test_life_20_progress_need_not_restart_the_clock() -> None:
    client = ready_client()
    clock = client._clock
    id = calling(client, timeout=10, max_timeout=10, progress=True)
    clock.now += 9
    feed(client, progress(id, 1))
    clock.now += 1
    assert names(client.handle_deadlines()) == ["RequestTimedOut"]


@pytest.mark.rule("LIFE-18")
def test_deadlines_come_in_order_and_answered_requests_have_none() -> None:
    client = ready_client()
    clock = client._clock
    ids = [calling(client, timeout=seconds) for seconds in (30, 10, 20, 5)]
    feed(client, result(ids[3], {"content": []}))
    assert client.next_deadline() == clock() + 10
    clock.now += 100
    assert [event.id for event in client.handle_deadlines()] == [ids[1], ids[2], ids[0]]


def test_deadlines_of_answered_requests_are_not_kept() -> None:
    client = ready_client()
    waiting = calling(client, timeout=50)
    for _ in range(2000):
        id = calling(client, timeout=3600)
        feed(client, result(id, {"content": []}))
    assert len(client._us.requests._deadlines) < 200
    assert client.next_deadline() == client.outgoing[waiting].deadline


@pytest.mark.rule("LIFE-18")
def test_a_ping_that_times_out_before_the_handshake_is_dropped_quietly() -> None:
    from .support import make_client

    client = make_client()
    id = client.ping(timeout=1)
    sent(client)
    client._clock.now += 1
    assert [event.id for event in client.handle_deadlines()] == [id]
    assert sent(client) == [] and not client.outgoing
    assert feed(client, result(id, {})) == []


def test_the_clock_is_the_only_source_of_time() -> None:
    clock = Clock()
    client, server = ready_pair({"clock": clock}, {"clock": clock})
    calling(client, timeout=5)
    events = pump(client, server)
    assert not [e for e in events[0] if isinstance(e, ProtocolViolation)]
    assert client.handle_deadlines() == []


@pytest.mark.rule("LIFE-19", "LIFE-21")
@pytest.mark.parametrize(
    ("timeout", "max_timeout", "first", "last"),
    [
        ("default", "default", 60, 600),
        (5, "default", 5, 600),
        (3600, "default", 3600, 3600),
        (None, "default", None, None),
        ("default", 20, 20, 20),
        (None, 20, 20, 20),
        (30, 20, 20, 20),
        ("default", None, 60, None),
        (0, 0, 0, 0),
    ],
)
def test_life_19_what_the_caller_says_beats_the_defaults(timeout, max_timeout, first, last) -> None:
    client = ready_client(timeout=60, max_timeout=600)
    options = {"timeout": timeout, "max_timeout": max_timeout}
    id = calling(client, **{k: v for k, v in options.items() if v != "default"})
    entry = client.outgoing[id]
    now = client._clock()
    assert (None if entry.deadline is None else entry.deadline - now) == first
    if first is not None:
        assert (None if entry.latest is None else entry.latest - now) == last


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("-inf")])
def test_a_timeout_is_a_number_of_seconds(seconds: float) -> None:
    client = ready_client()
    for options in ({"timeout": seconds}, {"max_timeout": seconds}):
        with pytest.raises(ValueError, match="seconds"):
            calling(client, **options)
        with pytest.raises(ValueError, match="seconds"):
            ready_client(**options)
    assert not client.outgoing
