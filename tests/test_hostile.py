"""Whatever a peer sends: nothing raises, nothing hangs, and the next good message is read as usual."""

import json
import random
from typing import Any

import pytest

from sansmcp import ConnectionState, Limits, ProtocolViolation, TaskBook

from .conftest import shared_path
from .support import (
    Clock,
    feed,
    make_client,
    make_server,
    notification,
    ready_client,
    ready_server,
    request,
    result,
    sent,
)

ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, 2**70, "", "x", "\u2028", "x" * 3000, [], {}, [[]], [None],
    {"": None}, {"_meta": 5}, {"type": "text"}, "initialize", "2025-11-25", "notifications/cancelled",
    {"progressToken": []}, {"io.modelcontextprotocol/related-task": {"taskId": 5}},
]  # fmt: skip


def messages() -> list[Any]:
    found = []
    for name in ("everything-2025-11-25", "everything-tasks-2025-11-25"):
        path = shared_path("transcripts", f"{name}.ndjson")
        found += [json.loads(line)["message"] for line in path.read_bytes().split(b"\n") if line]
    path = shared_path("spec", "examples", "messages-2025-11-25.jsonl")
    found += [json.loads(line)["message"] for line in path.read_bytes().split(b"\n") if line]
    return found


def mutated(value: Any, rng: random.Random) -> Any:
    """The value with something in it replaced, dropped or added."""
    if rng.random() < 0.12 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(ODD)
    if isinstance(value, list):
        copy = list(value)
        index = rng.randrange(len(copy))
        copy[index] = mutated(copy[index], rng)
        return copy
    changed = dict(value)
    key = rng.choice(list(changed))
    match rng.randrange(4):
        case 0:
            del changed[key]
        case 1:
            changed[rng.choice(["id", "method", "params", "result", "error", "_meta", "x"])] = (
                rng.choice(ODD)
            )
        case _:
            changed[key] = mutated(changed[key], rng)
    return changed


def connections() -> list[Any]:
    """One of each side in each state, some with requests of their own under way."""
    early = make_client()
    early.initialize()
    asked = make_server()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    feed(asked, request("i", "initialize", params))
    busy_client = ready_client(tasks=TaskBook())
    for _ in range(3):
        busy_client.call_tool("t", progress=True)
        busy_client.list_tools()
        busy_client.subscribe("a:b")
    busy_server = ready_server(tasks=TaskBook())
    busy_server.list_roots()
    busy_server.ping()
    batches = ready_server(revisions=["2025-03-26"])
    return [make_client(), make_server(), early, asked, busy_client, busy_server, batches]


@pytest.mark.rule("JRPC-02", "GEN-03", "S29")
@pytest.mark.parametrize("seed", range(8))
def test_mutated_messages_raise_nothing_and_lose_nothing(seed: int) -> None:
    rng = random.Random(seed)
    corpus = messages()
    for connection in connections():
        for _ in range(400):
            message = rng.choice(corpus)
            for _ in range(rng.randrange(1, 4)):
                message = mutated(message, rng)
            text = json.dumps(message).encode()
            if rng.random() < 0.1:
                cut = rng.randrange(len(text) + 1)
                text = text[:cut] + bytes([rng.randrange(256)]) + text[cut + 1 :]
            connection.receive_data(text.replace(b"\n", b" ") + b"\n")
            connection.data_to_send()
            connection.handle_deadlines()
        if connection.state is not ConnectionState.CLOSED:
            assert feed(connection, request("still there?", "ping")) == []
            assert sent(connection) == [result("still there?", {})]
        connection.receive_eof()
        assert connection.next_deadline() is None


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_give_the_same_events_in_any_chunks(seed: int) -> None:
    rng = random.Random(seed)
    corpus = messages()
    lines = [json.dumps(mutated(rng.choice(corpus), rng)).encode() for _ in range(60)]
    noise = bytes(rng.randrange(256) for _ in range(200))
    data = b"\n".join([*lines, noise]) + b"\n"
    whole = ready_server(limits=Limits(max_message_size=2000))
    expected = whole.receive_data(data)
    answers = whole.data_to_send()
    parts = ready_server(limits=Limits(max_message_size=2000))
    events: list[Any] = []
    while data:
        size = rng.randrange(1, 50)
        events += parts.receive_data(data[:size])
        data = data[size:]
    assert repr(events) == repr(expected)
    assert parts.data_to_send() == answers


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
