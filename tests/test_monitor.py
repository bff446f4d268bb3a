"""A monitor sees both sides of a conversation, and says who broke which rule."""

import json
import random
from typing import Any

import pytest

import sansmcp.types as t
from sansmcp import (
    CLIENT,
    MISSING,
    REVISIONS,
    SERVER,
    ClientConnection,
    ConnectionState,
    Limits,
    Monitor,
    ProgressReceived,
    ProtocolViolation,
    RequestReceived,
    ResultReceived,
    Side,
    TaskBook,
)

from .conftest import shared_path
from .fuzz.corpus import changed, messages
from .support import (
    CLIENT_INFO,
    Clock,
    error,
    make_client,
    make_server,
    notification,
    ready_pair,
    request,
    result,
)

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True},
        "logging": {},
        "tasks": {"requests": {"tools": {"call": {}}}},
    },
    "serverInfo": {"name": "s", "version": "1"},
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "c", "version": "1"},
}
HANDSHAKE = [
    (CLIENT, request("init", "initialize", INITIALIZE)),
    (SERVER, result("init", GREETING)),
    (CLIENT, notification("notifications/initialized")),
]


def watch(monitor: Monitor, *messages: tuple[Side, Any]) -> list[tuple[str, Side]]:
    """Feed the monitor; gives the rules that were broken, and by whom."""
    found = []
    for side, message in messages:
        text = message if isinstance(message, (bytes, str)) else json.dumps(message)
        for violation in monitor.receive_message(side, text).violations:
            found.append((violation.rule.id, violation.side))
    return found


def judged(*messages: tuple[Side, Any], **options: Any) -> list[tuple[str, Side]]:
    return watch(Monitor(**options), *HANDSHAKE, *messages)


def recorded(name: str) -> list[tuple[Side, Any]]:
    lines = shared_path("transcripts", f"{name}.ndjson").read_bytes().split(b"\n")
    entries = [json.loads(line) for line in lines if line]
    return [(Side(entry["from"]), entry["message"]) for entry in entries]


# ---- what it tells


def test_both_sides_events_and_the_state() -> None:
    monitor = Monitor()
    assert watch(monitor, *HANDSHAKE) == []
    assert monitor.state is ConnectionState.READY
    assert monitor.revision == "2025-11-25"
    assert monitor.info(CLIENT) == t.Implementation("c", "1")
    assert monitor.capabilities(SERVER).logging == {}
    call = request(1, "tools/call", {"name": "echo", "_meta": {"progressToken": 1}})
    [asked] = monitor.receive_message(CLIENT, json.dumps(call)).events
    assert isinstance(asked, RequestReceived)
    assert (asked.params.name, asked.revision) == ("echo", "2025-11-25")
    assert list(monitor.in_flight(CLIENT)) == [1]
    progress = notification("notifications/progress", {"progressToken": 1, "progress": 1})
    [told] = monitor.receive_message(SERVER, json.dumps(progress)).events
    assert isinstance(told, ProgressReceived)
    answer = monitor.receive_message(SERVER, json.dumps(result(1, {"content": []})), time=5.0)
    assert [type(event) for event in answer.events] == [ResultReceived]
    assert (answer.number, answer.side, answer.time) == (6, SERVER, 5.0)
    assert answer.message == result(1, {"content": []})
    assert not monitor.in_flight(CLIENT)


def test_a_violation_says_who_and_which_rule_and_where_to_read() -> None:
    monitor = Monitor()
    watch(monitor, *HANDSHAKE)
    [violation] = monitor.receive_message(SERVER, json.dumps(result(9, {}))).violations
    assert (violation.number, violation.side) == (4, SERVER)
    assert violation.rule.id == "JRPC-06"
    assert violation.is_must
    assert violation.rule.url.startswith("https://")
    assert "9" in violation.detail


def test_each_side_is_held_to_the_rules_that_bind_it() -> None:
    assert judged((SERVER, request(1, "roots/list"))) == [("ROOT-17", SERVER)]
    assert judged((CLIENT, request(1, "prompts/list"))) == [("LIFE-15", CLIENT)]
    assert judged((SERVER, request(1, "tools/list"))) == [("GEN-02", SERVER)]
    assert judged((CLIENT, b"{")) == [("JRPC-02", CLIENT)]
    assert judged((SERVER, "no message")) == [("JRPC-02", SERVER)]


def test_a_stream_is_cut_into_messages_whatever_the_chunks() -> None:
    data = b"".join(json.dumps(message).encode() + b"\n" for _, message in HANDSHAKE[:1])
    whole, parts = Monitor(), Monitor()
    expected = whole.receive_data(CLIENT, data)
    found = [one for byte in data for one in parts.receive_data(CLIENT, bytes([byte]))]
    assert found == expected != []


def test_the_end_of_both_sides_is_the_end() -> None:
    monitor = Monitor()
    watch(monitor, *HANDSHAKE)
    assert monitor.receive_data(CLIENT, b"") == []
    states = [monitor.state]
    assert monitor.receive_eof(SERVER) is None
    states.append(monitor.state)
    assert states == [ConnectionState.READY, ConnectionState.CLOSED]


@pytest.mark.rule("STDIO-02")
def test_a_message_cut_short_by_the_end_is_reported() -> None:
    monitor = Monitor(from_start=True)
    monitor.receive_data(SERVER, b'{"jsonrpc"')
    [seen] = monitor.receive_data(SERVER, b"")
    assert [violation.rule.id for violation in seen.violations] == ["STDIO-02"]


def test_limit_a_message_that_is_too_long_is_nobodys_fault() -> None:
    monitor = Monitor(limits=Limits(max_message_size=100))
    [seen] = monitor.receive_data(CLIENT, b"x" * 1000 + b"\n")
    [violation] = seen.violations
    assert violation.rule.id == "LIMIT-01"
    assert not violation.is_must
    assert monitor.receive_message(CLIENT, "x" * 1000).violations[0].rule.id == "LIMIT-01"


# ---- who answers what is not in order, and how


def test_an_answer_to_a_request_that_breaks_a_rule_is_no_fault() -> None:
    bad = request(1, "tools/call", {"name": 5, "_meta": {"progressToken": "p"}})
    progress = notification("notifications/progress", {"progressToken": "p", "progress": 1})
    cancel = notification("notifications/cancelled", {"requestId": 1})
    for answer in (error(1, -32602), error(1, -32603), result(1, {"content": []})):
        messages = [(CLIENT, bad), (SERVER, progress), (CLIENT, cancel), (SERVER, answer)]
        assert judged(*messages) == [("GEN-03", CLIENT)]
        assert judged(*messages, (SERVER, answer))[1:] == [("JRPC-06", SERVER)]  # Twice.


@pytest.mark.rule("JRPC-05")
def test_jrpc_05_two_answers_to_an_id_that_was_used_twice_are_the_askers_fault() -> None:
    call = (CLIENT, request(1, "ping"))
    answer = (SERVER, result(1, {}))
    assert judged(call, call, answer, answer) == [("JRPC-05", CLIENT)]
    # As many answers are due as there were requests, whatever was wrong with these.
    bad = (CLIENT, request(1, "tools/call", {"name": 5}))
    refusal = (SERVER, error(1, -32602))
    twice = [("GEN-03", CLIENT), ("GEN-03", CLIENT)]
    assert judged(bad, bad, refusal, refusal) == twice
    assert judged(bad, bad, refusal, refusal, refusal) == [*twice, ("JRPC-06", SERVER)]


def test_what_was_forgotten_is_not_judged() -> None:
    limits = Limits(max_remembered_requests=2)
    bad = [
        (CLIENT, request(n, "tools/call", {"name": 5, "_meta": {"progressToken": f"p{n}"}}))
        for n in range(3)
    ]
    progress = notification("notifications/progress", {"progressToken": "p0", "progress": 1})
    late: list[tuple[Side, Any]] = [
        (SERVER, progress),
        (CLIENT, notification("notifications/cancelled", {"requestId": 0})),
        (SERVER, error(0, -32602)),
    ]
    assert judged(*bad, *late, limits=limits) == [("GEN-03", CLIENT)] * 3
    unknown = (SERVER, error("never asked", -32602))
    assert judged(*bad, unknown) == [("GEN-03", CLIENT)] * 3 + [("JRPC-06", SERVER)]


@pytest.mark.parametrize(
    ("rule", "asker", "asked", "broken", "code"),
    [
        ("LOG-05", CLIENT, request(1, "logging/setLevel", {"level": "loud"}), "GEN-03", -32602),
        ("ROOT-04", SERVER, request(1, "roots/list"), "ROOT-17", -32601),
        (
            "ELIC-43",
            SERVER,
            request(
                1,
                "elicitation/create",
                {"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "e"},
            ),
            "ELIC-10",
            -32602,
        ),
        (
            "COMP-04",
            CLIENT,
            request(
                1,
                "completion/complete",
                {
                    "ref": {"type": "ref/prompt", "name": "p"},
                    "argument": {"name": "a", "value": ""},
                },
            ),
            "LIFE-15",
            -32601,
        ),
    ],
)
def test_a_refusal_has_the_code_that_is_due(
    rule: str, asker: Side, asked: Any, broken: str, code: int
) -> None:
    other = SERVER if asker is CLIENT else CLIENT
    fault = (broken, asker)
    assert judged((asker, asked), (other, error(1, code))) == [fault]
    assert judged((asker, asked), (other, error(1, -32000))) == [fault, (rule, other)]
    assert judged((asker, asked), (other, result(1, {}))) == [fault, (rule, other)]


@pytest.mark.rule("TASK-08", "TASK-11")
@pytest.mark.parametrize(
    ("support", "task", "broken", "rule"),
    [("required", None, "TASK-10", "TASK-11"), ("forbidden", {}, "TASK-07", "TASK-08")],
)
def test_task_11_a_call_that_must_or_must_not_be_a_task_is_refused(
    support: str, task: Any, broken: str, rule: str
) -> None:
    tool = {**TOOL, "execution": {"taskSupport": support}}
    params = {"name": "echo"} if task is None else {"name": "echo", "task": task}
    before = [
        (CLIENT, request(0, "tools/list")),
        (SERVER, result(0, {"tools": [tool]})),
        (CLIENT, request(1, "tools/call", params)),
    ]
    failed = result(1, {"content": [], "isError": True})
    assert judged(*before, (SERVER, error(1, -32601))) == [(broken, CLIENT)]
    assert judged(*before, (SERVER, failed)) == [(broken, CLIENT), (rule, SERVER)]
    assert judged(*before, (SERVER, error(1, -32603))) == [(broken, CLIENT), (rule, SERVER)]


@pytest.mark.rule("TOOL-27", "S11")
def test_tool_27_an_unknown_tool_is_refused_with_an_error() -> None:
    listed = [
        (CLIENT, request(0, "tools/list")),
        (SERVER, result(0, {"tools": [TOOL]})),
    ]
    call = (CLIENT, request(1, "tools/call", {"name": "nope"}))
    failed = (SERVER, result(1, {"content": [], "isError": True}))
    assert judged(*listed, call, failed) == [("TOOL-27", SERVER)]
    assert judged(*listed, call, (SERVER, error(1, -32602))) == []
    # There is such a tool after all, or there may be.
    assert judged(*listed, call, (SERVER, result(1, {"content": []}))) == []
    changed = (SERVER, notification("notifications/tools/list_changed"))
    assert judged(*listed, changed, call, failed) == []
    more = (SERVER, result(0, {"tools": [TOOL], "nextCursor": "2"}))
    assert judged(listed[0], more, call, failed) == []


# ---- crossing messages


@pytest.mark.rule("CANC-10", "CANC-11")
def test_canc_10_what_crosses_a_cancellation_is_no_fault() -> None:
    call = (CLIENT, request(1, "tools/call", {"name": "e", "_meta": {"progressToken": 1}}))
    cancel = (CLIENT, notification("notifications/cancelled", {"requestId": 1}))
    progress = (SERVER, notification("notifications/progress", {"progressToken": 1, "progress": 1}))
    answer = (SERVER, result(1, {"content": []}))
    assert judged(call, cancel, progress, answer) == []
    assert judged(call, progress, answer, cancel) == []
    assert judged(call, cancel, answer, answer) == [("JRPC-06", SERVER)]


# ---- coming in the middle


@pytest.mark.parametrize("name", ["everything-2025-11-25", "everything-tasks-2025-11-25"])
def test_joining_anywhere_in_a_recorded_conversation_raises_no_false_alarm(name: str) -> None:
    messages = recorded(name)
    true = {"everything-2025-11-25": {"TOOL-27"}, "everything-tasks-2025-11-25": {"ELIC-64"}}
    for start in range(len(messages)):
        rules = {rule for rule, _ in watch(Monitor(), *messages[start:])}
        assert rules <= true[name], start


@pytest.mark.parametrize(
    "message",
    [
        (SERVER, result(7, {"content": []})),
        (CLIENT, result(7, {"roots": []})),
        (SERVER, error(7, -32000)),
        (SERVER, notification("notifications/progress", {"progressToken": 3, "progress": 1})),
        (CLIENT, notification("notifications/cancelled", {"requestId": 7})),
        (CLIENT, notification("notifications/initialized")),
        (CLIENT, request(8, "tools/list")),
        (CLIENT, request(8, "tools/call", {"name": "x", "task": {"ttl": 1}})),
        (CLIENT, request(8, "resources/unsubscribe", {"uri": "a://b"})),
        (SERVER, notification("notifications/resources/updated", {"uri": "a://b"})),
        (SERVER, notification("notifications/elicitation/complete", {"elicitationId": "e"})),
        (SERVER, request(8, "roots/list")),
        (
            SERVER,
            request(
                8,
                "elicitation/create",
                {"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "e"},
            ),
        ),
        (
            SERVER,
            request(
                8,
                "sampling/createMessage",
                {"messages": [], "maxTokens": 1, "tools": [TOOL], "includeContext": "allServers"},
            ),
        ),
        (CLIENT, [request(8, "ping"), request(9, "tools/list")]),
    ],
)
def test_what_was_not_seen_is_not_judged(message: tuple[Side, Any]) -> None:
    monitor = Monitor()
    assert watch(monitor, message) == []
    assert monitor.joined
    # And what is wrong by itself is seen all the same.
    assert watch(monitor, (CLIENT, request(99, "tools/call", {}))) == [("GEN-03", CLIENT)]


@pytest.mark.rule("LIFE-01")
def test_life_01_who_has_seen_the_start_judges_it() -> None:
    assert watch(Monitor(from_start=True), (CLIENT, request(8, "tools/list"))) == [
        ("LIFE-01", CLIENT)
    ]


def test_pings_and_log_messages_may_come_before_the_handshake() -> None:
    monitor = Monitor()
    log = notification("notifications/message", {"level": "info", "data": 1})
    early = [(CLIENT, request(1, "ping")), (SERVER, result(1, {})), (SERVER, log)]
    assert watch(monitor, *early, *HANDSHAKE) == []
    assert not monitor.joined


def test_a_greeting_whose_question_was_missed_is_learnt_from() -> None:
    monitor = Monitor()
    assert watch(monitor, *HANDSHAKE[1:]) == []
    assert (monitor.joined, monitor.revision) == (True, "2025-11-25")
    assert monitor.info(SERVER) == t.Implementation("s", "1")
    assert monitor.info(CLIENT) is None
    assert watch(monitor, (CLIENT, request(1, "prompts/list"))) == [("LIFE-15", CLIENT)]


def test_a_handshake_in_the_middle_begins_another_conversation() -> None:
    monitor = Monitor()
    assert watch(monitor, (CLIENT, request(8, "tools/list")), *HANDSHAKE) == []
    assert not monitor.joined
    assert watch(monitor, (SERVER, result(8, {"tools": []}))) == [("JRPC-06", SERVER)]


def test_the_rest_of_a_line_in_the_middle_of_a_stream_is_not_judged() -> None:
    monitor = Monitor()
    [rest, ping] = monitor.receive_data(
        SERVER, b'lo"}}\n' + json.dumps(request(1, "ping")).encode() + b"\n"
    )
    assert (rest.message, rest.violations) == (MISSING, ())
    assert ping.violations == ()
    [garbage] = monitor.receive_data(SERVER, b"garbage\n")
    assert [violation.rule.id for violation in garbage.violations] == ["JRPC-02"]


@pytest.mark.rule("LIFE-13")
def test_a_revision_that_is_not_known_here_is_not_judged() -> None:
    greeting = result("init", {**GREETING, "protocolVersion": "2099-01-01"})
    later = [(CLIENT, request(1, "nope")), (SERVER, result(5, {}))]
    assert watch(Monitor(), HANDSHAKE[0], (SERVER, greeting), *later) == []


@pytest.mark.parametrize("name", ["everything-2025-11-25", "everything-tasks-2025-11-25"])
def test_pieces_of_a_recorded_conversation_raise_no_false_alarm(name: str) -> None:
    recording = recorded(name)
    true = {"ELIC-64", "TOOL-27"}
    pieces = [[one for one in recording if one[0] is side] for side in (CLIENT, SERVER)]
    rng = random.Random(1)
    pieces += [[one for one in recording if rng.random() < 0.7] for _ in range(50)]
    for piece in pieces:
        monitor = Monitor(gaps=True)
        assert {rule for rule, _ in watch(monitor, *piece)} <= true
        # What is wrong by itself is seen all the same.
        assert watch(monitor, (CLIENT, request("z", "tools/call", {}))) == [("GEN-03", CLIENT)]


def test_nothing_missed_and_pieces_missing_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="not both"):
        Monitor(from_start=True, gaps=True)


# ---- batches


@pytest.mark.rule("JRPC-15")
def test_jrpc_15_batches_are_judged_item_by_item_where_they_exist() -> None:
    old = {"protocolVersion": "2025-03-26"}
    monitor = Monitor()
    watch(
        monitor,
        (CLIENT, request("init", "initialize", {**INITIALIZE, **old})),
        (SERVER, result("init", {**GREETING, **old})),
        HANDSHAKE[2],
    )
    batch = [request(1, "ping"), request(2, "tools/call", {}), [request(3, "ping")]]
    assert watch(monitor, (CLIENT, batch)) == [("GEN-03", CLIENT), ("JRPC-15", CLIENT)]
    assert watch(monitor, (SERVER, [result(1, {}), error(2, -32602)])) == []
    assert judged((CLIENT, [request(1, "ping")])) == [("JRPC-15", CLIENT)]


# ---- everything that our own connections say is legal


@pytest.mark.parametrize("revision", sorted(REVISIONS))
def test_two_of_our_connections_break_no_rule(revision: str) -> None:
    clock = Clock()
    client = make_client(clock=clock, revisions=[revision])
    server = make_server(clock=clock, tasks=TaskBook() if revision == "2025-11-25" else None)
    monitor = Monitor(from_start=True)
    client.initialize()
    for _ in range(10):
        for seen in monitor.receive_data(CLIENT, client.data_to_send() or b"\n"):
            assert seen.violations == ()
            server.receive_message(seen.text)
        for seen in monitor.receive_data(SERVER, server.data_to_send() or b"\n"):
            assert seen.violations == ()
            client.receive_message(seen.text)
        if client.state is ConnectionState.READY and not client.outgoing:
            client.ping()
            client.list_tools()


def test_the_events_are_those_of_the_connections() -> None:
    client, server = ready_pair()
    monitor = Monitor()
    watch(monitor, *HANDSHAKE)
    client.call_tool("echo", {"a": 1})
    text = client.data_to_send()
    assert [repr(event.request) for event in server.receive_data(text)] == [
        repr(event.request)
        for seen in monitor.receive_data(CLIENT, text)
        for event in seen.events
        if isinstance(event, RequestReceived)
    ]


# ---- whatever it is fed


def test_nothing_raises_and_nothing_is_kept_without_bound() -> None:
    limits = Limits(max_remembered_requests=20, max_requests_in_flight=20, max_known_tasks=20)
    odd: Any
    for odd in ({"method": []}, {"method": {}, "id": {}}, {"id": []}, [], [[]], None, {}):
        watch(Monitor(), (CLIENT, odd), (SERVER, odd))
    monitor = Monitor(limits=limits)
    watch(monitor, *HANDSHAKE)
    rng, corpus = random.Random(0), messages()
    for number in range(3000):
        message = changed(changed(rng.choice(corpus), rng), rng)
        seen = monitor.receive_message(rng.choice([CLIENT, SERVER]), json.dumps(message))
        assert seen.number == number + 4
    for n in range(200):
        watch(
            monitor,
            (CLIENT, request(f"r{n}", "tools/call", {"name": 5, "_meta": {"progressToken": n}})),
        )
        watch(monitor, (CLIENT, request("the same", "tools/call", {"name": n})))
    assert sum(map(len, monitor._due.values())) <= 20
    assert len(monitor._due_tokens) <= 20
    assert len(monitor.in_flight(CLIENT)) <= 20


def test_a_client_connection_can_be_watched_from_its_first_byte() -> None:
    client = ClientConnection(CLIENT_INFO)
    client.initialize()
    [seen] = Monitor(from_start=True).receive_data(CLIENT, client.data_to_send())
    assert not [event for event in seen.events if isinstance(event, ProtocolViolation)]
