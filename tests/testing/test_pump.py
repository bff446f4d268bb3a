"""Two connections run against each other, in chunks of any size and in any order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansmcp import CLIENT, SERVER, Initialized, RequestReceived, ResultReceived, Side
from sansmcp.testing import NeverQuiet, Pumped, pump
from sansmcp.types import CallToolResult, TextContent
from tests.support import make_client, make_server, names, ready_pair


def conversation(**options) -> Pumped:
    """A handshake, three calls, and three answers."""
    client, server = make_client(), make_server()

    def on_client(event):
        if isinstance(event, Initialized):
            for text in "abc":
                client.call_tool("echo", {"text": text})

    def on_server(event):
        if isinstance(event, RequestReceived):
            text = str(event.params.arguments["text"])
            server.send_result(event.id, CallToolResult([TextContent(text)]))

    client.initialize()
    return pump(client, server, on_client=on_client, on_server=on_server, **options)


WHOLE = conversation()


def test_both_sides_are_told_what_happened_in_order():
    assert names(WHOLE.client)[:2] == ["ResultReceived", "Initialized"]
    assert [event.result.content[0].text for event in WHOLE.client[2:]] == ["a", "b", "c"]
    assert names(WHOLE.server) == ["Initialized", *["RequestReceived"] * 3]


def test_the_transcript_is_what_was_said():
    assert str(WHOLE.transcript).splitlines()[2:5] == [
        "client: notifications/initialized",
        'client: tools/call #2 name=echo arguments={"text":"a"}',
        'client: tools/call #3 name=echo arguments={"text":"b"}',
    ]
    assert [entry.time for entry in WHOLE.transcript] == [1000.0] * 9


@pytest.mark.parametrize(
    "how", [{"chunk_size": 1}, {"chunk_size": 7}, *({"seed": seed} for seed in range(30))]
)
def test_any_chunks_give_the_same_events(how):
    assert conversation(**how)[:2] == WHOLE[:2]


@given(st.lists(st.tuples(st.sampled_from(Side), st.integers(0, 400)), max_size=40))
def test_any_schedule_gives_the_same_events(schedule):
    assert conversation(schedule=schedule)[:2] == WHOLE[:2]


def test_the_same_seed_is_the_same_conversation():
    seen = set()
    for seed in range(20):
        one, again = racing(seed=seed), racing(seed=seed)
        assert one == again
        seen.add(one)
    assert len(seen) > 1


def racing(**options):
    """The order in which two sides hear of each other's requests."""
    client, server = ready_pair()
    order = []
    for _ in range(3):
        client.list_tools()
        server.list_roots()
    pump(
        client,
        server,
        on_client=lambda event: order.append("client"),
        on_server=lambda event: order.append("server"),
        **options,
    )
    return "".join(side[0] for side in order)


def test_a_schedule_says_who_is_heard():
    assert racing() == "sssccc"
    assert racing(schedule=[(SERVER, 10_000)]) == "cccsss"
    # A message has some 50 bytes.
    assert racing(schedule=[(SERVER, 1), (CLIENT, 100), (SERVER, 100)]) == "ssccsc"


def test_two_that_never_come_to_rest_are_stopped():
    client, server = ready_pair()
    client.ping()

    def again(event):
        if isinstance(event, ResultReceived):
            client.ping()

    with pytest.raises(NeverQuiet, match=r"client: ping #\d+"):
        pump(client, server, on_client=again, max_messages=100)


def test_a_transcript_goes_on():
    client, server = make_client(), make_server()
    client.initialize()
    transcript = pump(client, server).transcript
    client.ping()
    assert pump(client, server, transcript=transcript, max_messages=2).transcript is transcript
    assert len(transcript) == 5


class Echo:
    """Any object with two methods; it knows nothing of bytes."""

    def __init__(self, *said):
        self.said = list(said)
        self.heard = []

    def receive_message(self, text):
        self.heard.append(text)

    def messages_to_send(self):
        said, self.said = self.said, []
        return said


@pytest.mark.parametrize("how", [{}, {"seed": 3}, {"chunk_size": 1}, {"schedule": [(CLIENT, 1)]}])
def test_whatever_takes_and_gives_messages_can_be_pumped(how):
    one, other = Echo("1", b"2"), Echo("3")
    client, server, transcript = pump(one, other, **how)
    assert (client, server) == ([], [])
    assert (one.heard, other.heard) == ([b"3"], [b"1", b"2"])
    assert [entry.time for entry in transcript] == [None] * 3


@pytest.mark.parametrize("seed", range(10))
def test_a_connection_can_be_pumped_with_whatever_takes_messages(seed):
    server = make_server()
    client = Echo(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    _, _, transcript = pump(client, server, seed=seed)
    assert transcript == "client: ping #1\nserver: result #1"


def test_arguments_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="three ways"):
        pump(Echo(), Echo(), seed=1, chunk_size=1)
    with pytest.raises(ValueError, match="at least 1 byte"):
        pump(Echo(), Echo(), chunk_size=0)
