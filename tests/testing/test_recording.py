"""Conversations that are recorded, judged, and played again."""

from typing import Any

import pytest
import trio

from sansmcp import (
    CLIENT,
    SERVER,
    ClientConnection,
    Limits,
    Monitor,
    RequestReceived,
    Transcript,
    structure,
)
from sansmcp.testing import judge, observer, pump, record, replay
from sansmcp.trio import Server, memory_pair, open_session
from sansmcp.types import (
    CallToolResult,
    ClientCapabilities,
    Implementation,
    ListRootsResult,
    Root,
    TextContent,
    Tool,
)
from tests.conftest import shared_path
from tests.support import make_client, make_server, names


@pytest.mark.parametrize("in_bytes", [True, False])
def test_a_connection_is_recorded_from_its_own_side(in_bytes):
    client, server = make_client(), make_server()
    transcript = record(server)
    client.initialize()
    if in_bytes:
        pump_bytes(client, server)
    else:
        pump(Messages(client), Messages(server))
    assert [str(entry).split(" ")[:2] for entry in transcript] == [
        ["client:", "initialize"],
        ["server:", "result"],
        ["client:", "notifications/initialized"],
    ]
    assert {entry.time for entry in transcript} == {1000.0}


def pump_bytes(client, server):
    """The handshake in small pieces."""
    for sender, receiver in [(client, server), (server, client), (client, server)]:
        data = sender.data_to_send()
        for at in range(0, len(data), 7):
            receiver.receive_data(data[at : at + 7])


class Messages:
    """A connection that knows nothing of bytes."""

    def __init__(self, connection):
        self.receive_message = connection.receive_message
        self.messages_to_send = connection.messages_to_send


def test_what_is_recorded_is_not_changed():
    plain, recorded = make_server(), make_server()
    transcript = record(recorded)
    junk = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\nno json\n{"half":'
    assert recorded.receive_data(junk) == plain.receive_data(junk)
    assert recorded.data_to_send() == plain.data_to_send()
    assert recorded.receive_data(b"") == plain.receive_data(b"")
    assert [entry.text for entry in transcript][1:] == [
        "no json",
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error: '
        b'invalid character (byte 4)"}}',
        '{"half":',
    ]


def test_a_line_that_is_too_long_is_not_kept():
    server = make_server(limits=Limits(max_message_size=50))
    transcript = record(server)
    server.receive_data(b"x" * 100 + b"\n")
    assert len(transcript) == 0


async def test_sessions_are_recorded_on_both_sides():
    async def echo(context, arguments):
        return CallToolResult([TextContent("hi")])

    server = Server(Implementation("s", "1"))
    server.add_tool(Tool("echo", {"type": "object"}), echo)
    of_client, of_server = Transcript(), Transcript()
    ours, theirs = memory_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.serve(theirs, observer=observer(of_server, SERVER)))
        async with open_session(ours, observer=observer(of_client)) as session:
            await session.call_tool("echo", {})
    assert str(of_client) == str(of_server)
    assert [str(entry)[:20] for entry in of_client][-2:] == [
        "client: tools/call #",
        "server: result #2 co",
    ]
    assert all(entry.time is not None for entry in of_client)


def test_both_sides_are_judged():
    transcript = Transcript()
    transcript.record(SERVER, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    transcript.record(CLIENT, b"[]")
    assert [(v.side, v.rule.id) for v in judge(transcript, Monitor(from_start=True))] == [
        (SERVER, "LIFE-06"),
        (CLIENT, "JRPC-15"),
    ]
    assert judge(Transcript()) == []


# ---- replay


def call_echo(client):
    """What our client's application does."""

    def on_event(event):
        if type(event).__name__ == "Initialized":
            client.call_tool("echo", {"text": "hi"}, progress=True)
        elif isinstance(event, RequestReceived):
            client.send_result(event.id, ListRootsResult([Root("file:///a")]))

    return on_event


def answer_echo(server, text="hi"):
    """What our server's application does: it asks for the roots before it answers."""
    calls = []

    def on_event(event):
        if isinstance(event, RequestReceived):
            calls.append(event.id)
            server.send_progress(event.id, 1)
            server.list_roots()
        elif type(event).__name__ == "ResultReceived":
            server.send_result(calls.pop(), CallToolResult([TextContent(text)]))

    return on_event


def recorded_conversation():
    client, server = make_client(), make_server()
    client.ping()  # So that the ids are others than those of a fresh client.
    server.ping()
    pump(client, server)
    client.initialize()
    said = pump(client, server, on_client=call_echo(client), on_server=answer_echo(server))
    assert judge(said.transcript) == []
    return said.transcript


def test_a_server_that_does_as_recorded_shows_no_difference():
    server = make_server()
    played = replay(recorded_conversation(), server, on_event=answer_echo(server))
    assert played.differences == []
    assert str(played) == "as recorded"
    assert names(played.events) == ["Initialized", "RequestReceived", "ResultReceived"]


def test_a_client_that_does_as_recorded_shows_no_difference():
    client = make_client()
    client.initialize()
    played = replay(recorded_conversation(), client, on_event=call_echo(client))
    assert played.differences == []
    assert "ProgressReceived" in names(played.events)
    assert not client.outgoing


def test_what_is_said_otherwise_is_shown_with_what_was_expected():
    server = make_server()
    played = replay(recorded_conversation(), server, on_event=answer_echo(server, "ho"))
    [difference] = played.differences
    assert str(difference) == (
        "at message 8 of the recording\n"
        '  - server: result #3 content=[{"type":"text","text":"hi"}]\n'
        '  + server: result #3 content=[{"type":"text","text":"ho"}]'
    )


def test_what_is_not_said_is_missed():
    recorded = recorded_conversation()
    played = replay(recorded, make_server(), on_event=lambda event: None)
    assert [(str(d.expected)[:20], d.actual) for d in played.differences] == [
        ("server: notification", None),
        ("server: roots/list #", None),
        ("server: result #3 co", None),
    ]


def talkative(server):
    """As `answer_echo`, and says more than it was asked."""
    answer = answer_echo(server)

    def on_event(event):
        server.log("info", "!")
        answer(event)

    return on_event


def test_what_is_said_beside_is_shown():
    server = make_server()
    played = replay(recorded_conversation(), server, on_event=talkative(server))
    assert [(d.expected, str(d.actual)) for d in played.differences] == [
        (None, 'server: notifications/message level=info data="!"')
    ] * 3


def test_what_does_not_matter_is_passed_over():
    server = make_server()
    played = replay(
        recorded_conversation(),
        server,
        on_event=talkative(server),
        ignore=lambda message: message.get("method") == "notifications/message",
    )
    assert played.differences == []


def test_a_recorded_server_can_be_replayed_to_an_object_of_another_make():
    class Parrot:
        """Answers everything with an empty result."""

        def __init__(self):
            self.out = []

        def receive_message(self, text):
            self.out.append(b'{"jsonrpc":"2.0","id":1,"result":{}}')

        def messages_to_send(self):
            out, self.out = self.out, []
            return out

    recorded = Transcript()
    recorded.record(CLIENT, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    recorded.record(SERVER, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert replay(recorded, Parrot(), SERVER).differences == []


def test_the_recorded_conversation_of_real_peers_replays_to_a_client():
    """The client's own requests are those of the recording, as far as it is asked back."""
    recorded = Transcript.load(shared_path("transcripts", "everything-tasks-2025-11-25.ndjson"))
    hello: Any = recorded.entries[0].message
    client = ClientConnection(
        structure(hello["params"]["clientInfo"], Implementation),
        capabilities=structure(hello["params"]["capabilities"], ClientCapabilities),
    )
    client.initialize()
    played = replay(recorded, client)
    first = min(difference.index for difference in played.differences)
    # It says hello as recorded, and then lists no tools, for nobody has told it to.
    assert str(recorded.entries[first]) == "client: tools/list #1"
