"""Initialization, version negotiation and the end of a connection (basic/lifecycle)."""

import itertools

import pytest

from sansmcp import (
    CLIENT,
    SERVER,
    ConnectionClosed,
    ConnectionState,
    ErrorReceived,
    Initialized,
    LocalProtocolError,
    NotificationReceived,
    ProtocolViolation,
    RequestReceived,
    RequestTimedOut,
    ResultReceived,
    VersionMismatch,
)
from sansmcp.lifecycle import PERMITTED, TRANSITIONS, LifecycleEvent, refusal
from sansmcp.types import (
    CallToolResult,
    InitializedNotification,
    InitializeRequest,
    InitializeRequestParams,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    PingRequest,
    RootsListChangedNotification,
    ToolListChangedNotification,
)

from .support import (
    CLIENT_CAN,
    CLIENT_INFO,
    SERVER_CAN,
    SERVER_INFO,
    error,
    feed,
    make_client,
    make_server,
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

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}
INITIALIZE_RESULT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "serverInfo": {"name": "s", "version": "1"},
}


@pytest.mark.rule("GEN-01", "LIFE-02", "LIFE-03", "LIFE-04")
def test_life_02_the_whole_handshake_state_by_state() -> None:
    client, server = make_client(), make_server(instructions="be kind")
    assert (client.state, server.state) == (ConnectionState.IDLE, ConnectionState.IDLE)

    id = client.initialize()
    assert (client.state, server.state) == (ConnectionState.INITIALIZING, ConnectionState.IDLE)
    [message] = client.messages_to_send()
    assert server.receive_message(message.text) == []
    assert server.state == ConnectionState.INITIALIZED
    [answer] = server.messages_to_send()
    assert answer.related_request == id

    assert client.receive_message(answer.text) == [
        ResultReceived(
            id,
            InitializeRequest(InitializeRequestParams("2025-11-25", CLIENT_CAN, CLIENT_INFO)),
            client_result := client_initialize_result(client, answer.text),
        ),
        Initialized("2025-11-25", SERVER_INFO, SERVER_CAN, "be kind"),
    ]
    assert client_result.instructions == "be kind"
    assert client.state is ConnectionState.READY
    assert sent(client) == [notification("notifications/initialized")]
    assert feed(server, notification("notifications/initialized")) == [
        Initialized("2025-11-25", CLIENT_INFO, CLIENT_CAN, None)
    ]
    assert server.state is ConnectionState.READY
    assert (client.revision, server.revision) == ("2025-11-25", "2025-11-25")
    assert (client.peer_info, server.peer_info) == (SERVER_INFO, CLIENT_INFO)
    assert (client.peer_capabilities, server.peer_capabilities) == (SERVER_CAN, CLIENT_CAN)
    assert client.instructions == "be kind"


def client_initialize_result(client, text):
    import json

    from sansmcp import structure
    from sansmcp.types import InitializeResult

    return structure(json.loads(text)["result"], InitializeResult)


@pytest.mark.rule("LIFE-08")
def test_life_08_the_newest_revision_is_asked_for() -> None:
    client = make_client(revisions=["2024-11-05", "2025-06-18", "2025-03-26"])
    client.initialize()
    assert sent(client)[0]["params"]["protocolVersion"] == "2025-06-18"


@pytest.mark.rule("LIFE-07")
@pytest.mark.parametrize("revisions", [[], ["1.0.0"], ["2025-11-25", "2025-11-25"]])
def test_life_07_only_known_revisions_can_be_offered(revisions: list[str]) -> None:
    with pytest.raises(ValueError, match="revisions"):
        make_client(revisions=revisions)
    with pytest.raises(ValueError, match="revisions"):
        make_server(revisions=revisions)


@pytest.mark.rule("LIFE-10", "LIFE-11", "LIFE-12", "H22", "X-02")
@pytest.mark.parametrize(
    ("requested", "supported", "answer"),
    [
        ("2025-06-18", ["2025-11-25", "2025-06-18"], "2025-06-18"),
        ("2024-11-05", ["2025-11-25", "2025-06-18"], "2025-11-25"),
        ("2099-01-01", ["2025-06-18", "2025-11-25"], "2025-11-25"),
        ("1.0.0", ["2025-03-26"], "2025-03-26"),
        ("", ["2025-03-26"], "2025-03-26"),
    ],
)
def test_life_10_the_server_echoes_or_offers_its_newest(requested, supported, answer) -> None:
    server = make_server(revisions=supported)
    feed(server, request(1, "initialize", {**INITIALIZE, "protocolVersion": requested}))
    assert sent(server)[0]["result"]["protocolVersion"] == answer


@pytest.mark.rule("LIFE-09")
def test_life_09_the_client_takes_any_revision_that_it_lists() -> None:
    client = make_client(revisions=["2025-11-25", "2025-03-26"])
    id = client.initialize()
    events = feed(client, result(id, {**INITIALIZE_RESULT, "protocolVersion": "2025-03-26"}))
    assert names(events) == ["ResultReceived", "Initialized"]
    assert client.revision == "2025-03-26"


@pytest.mark.rule("LIFE-13", "LIFE-22", "H23", "X-01")
@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", ""])
def test_life_13_a_revision_that_the_client_lacks_closes(version: str) -> None:
    client = make_client(revisions=["2025-11-25", "2025-06-18"])
    id = client.initialize()
    sent(client)
    events = feed(client, result(id, {**INITIALIZE_RESULT, "protocolVersion": version}))
    assert events[0] == VersionMismatch(("2025-11-25", "2025-06-18"), (version,))
    assert isinstance(events[1], ConnectionClosed) and events[1].unanswered == {}
    assert len(events) == 2
    assert client.state is ConnectionState.CLOSED
    assert sent(client) == []  # No `initialized`.


@pytest.mark.rule("LIFE-24", "LIFE-22", "X-02")
def test_life_24_a_refusal_that_lists_revisions_is_a_mismatch() -> None:
    client = make_client(revisions=["2025-11-25"])
    id = client.initialize()
    data = {"supported": ["2024-11-05", 7], "requested": "2025-11-25"}
    events = feed(client, error(id, -32602, "Unsupported protocol version", data=data))
    assert names(events) == ["ErrorReceived", "VersionMismatch", "ConnectionClosed"]
    assert events[1] == VersionMismatch(("2025-11-25",), ("2024-11-05",))


@pytest.mark.rule("LIFE-24")
def test_life_24_another_refusal_lets_the_client_try_again() -> None:
    client = make_client()
    id = client.initialize()
    assert names(feed(client, error(id, -32603))) == ["ErrorReceived"]
    assert client.state is ConnectionState.IDLE
    assert client.initialize() != id


EARLY = ["IDLE", "INITIALIZING", "INITIALIZED"]


def at(state: str, side: str):
    """A connection of one side in one state of the handshake."""
    if side == "client":
        client = make_client()
        if state != "IDLE":
            client.initialize()
        return client
    server = make_server()
    if state != "IDLE":
        feed(server, request("i", "initialize", INITIALIZE))
    return server


@pytest.mark.rule("LIFE-01", "LIFE-05", "S02", "S03")
@pytest.mark.parametrize("state", ["IDLE", "INITIALIZING"])
def test_life_05_before_the_answer_a_client_sends_nothing_but_pings(state: str) -> None:
    client = at(state, "client")
    sent(client)
    calls = [
        lambda: client.list_tools(),
        lambda: client.call_tool("x"),
        lambda: client.roots_list_changed(),
        lambda: client.send_notification(InitializedNotification()),
        lambda: client.read_resource("a:b"),
    ]
    for call in calls:
        with pytest.raises(LocalProtocolError) as caught:
            call()
        assert caught.value.rule in {"LIFE-01", "LIFE-04", "LIFE-05"}
    client.ping()
    assert [message["method"] for message in sent(client)] == ["ping"]


@pytest.mark.rule("LIFE-06", "S03", "X-16")
@pytest.mark.parametrize("state", ["IDLE", "INITIALIZED"])
def test_life_06_before_initialized_a_server_sends_pings_and_log_messages(state: str) -> None:
    server = at(state, "server")
    sent(server)
    for call in (
        lambda: server.list_roots(),
        lambda: server.tools_list_changed(),
        lambda: server.resource_updated("a:b"),
    ):
        with pytest.raises(LocalProtocolError) as caught:
            call()
        assert caught.value.rule == "LIFE-06"
    server.ping()
    server.log("info", "hello")
    assert [message["method"] for message in sent(server)] == ["ping", "notifications/message"]


@pytest.mark.rule("LIFE-01", "H21", "JRPC-14")
def test_life_01_requests_before_initialize_are_refused_and_ping_is_answered() -> None:
    server = make_server()
    events = feed(server, request(1, "tools/list"), request(2, "ping"))
    assert names(events) == ["ProtocolViolation:LIFE-01"]
    refused, pong = sent(server)
    assert refused["error"]["code"] == -32600
    assert "before initialize" in refused["error"]["message"]
    assert pong == result(2, {})


@pytest.mark.rule("LIFE-06")
@pytest.mark.parametrize("state", ["IDLE", "INITIALIZING"])
def test_life_06_early_requests_of_a_server_are_refused(state: str) -> None:
    client = at(state, "client")
    sent(client)
    events = feed(client, request(1, "roots/list"), request(2, "ping"))
    assert names(events) == ["ProtocolViolation:LIFE-06"]
    refused, pong = sent(client)
    assert refused["error"]["code"] == -32600
    assert pong == result(2, {})


@pytest.mark.rule("LIFE-06", "H26")
def test_life_06_early_notifications_of_a_server_are_delivered_and_reported() -> None:
    client = make_client()
    client.initialize()
    events = feed(client, *[notification("notifications/tools/list_changed")] * 2)
    assert names(events) == ["ProtocolViolation:LIFE-06", "NotificationReceived"] * 2
    assert events[1] == NotificationReceived(ToolListChangedNotification())
    log = notification("notifications/message", {"level": "info", "data": None})
    assert names(feed(client, log)) == ["NotificationReceived"]


@pytest.mark.rule("LIFE-01", "H24", "S24")
@pytest.mark.parametrize("ready", [False, True])
def test_life_01_a_second_initialize_is_refused_and_changes_nothing(ready: bool) -> None:
    server = ready_server() if ready else at("INITIALIZED", "server")
    before = (server.state, server.peer_info, server.revision)
    sent(server)
    other = {
        **INITIALIZE,
        "protocolVersion": "2024-11-05",
        "clientInfo": {"name": "x", "version": ""},
    }
    assert names(feed(server, request("again", "initialize", other))) == [
        "ProtocolViolation:LIFE-01"
    ]
    [refused] = sent(server)
    assert (refused["id"], refused["error"]["code"]) == ("again", -32600)
    assert (server.state, server.peer_info, server.revision) == before


@pytest.mark.rule("LIFE-01")
def test_life_01_a_client_initializes_once() -> None:
    client = make_client()
    client.initialize()
    with pytest.raises(LocalProtocolError):
        client.initialize()
    client = ready_client()
    with pytest.raises(LocalProtocolError):
        client.initialize()
    with pytest.raises(LocalProtocolError):
        client.send_notification(InitializedNotification())


@pytest.mark.rule("LIFE-04", "H25")
def test_life_04_a_pipelined_call_is_refused_and_nothing_is_lost() -> None:
    server = make_server()
    events = feed(
        server,
        request(1, "initialize", INITIALIZE),
        request(2, "tools/call", {"name": "x"}),
        notification("notifications/initialized"),
        request(3, "tools/call", {"name": "x"}),
    )
    assert names(events) == ["ProtocolViolation:LIFE-04", "Initialized", "RequestReceived"]
    initialized, refused = sent(server)
    assert initialized["id"] == 1 and "result" in initialized
    assert (refused["id"], refused["error"]["code"]) == (2, -32600)
    assert isinstance(events[2], RequestReceived) and events[2].id == 3


@pytest.mark.rule("LIFE-04")
def test_life_04_initialized_out_of_turn_is_reported_and_ignored() -> None:
    for server in (make_server(), ready_server()):
        state = server.state
        assert len(feed(server, notification("notifications/initialized"))) == 1
        assert server.state is state and sent(server) == []


@pytest.mark.rule("LIFE-02", "H22")
@pytest.mark.parametrize("missing", ["capabilities", "clientInfo", "protocolVersion"])
def test_life_02_a_malformed_initialize_is_refused_and_can_be_sent_again(missing: str) -> None:
    server = make_server()
    params = {key: value for key, value in INITIALIZE.items() if key != missing}
    assert names(feed(server, request(1, "initialize", params))) == ["ProtocolViolation:GEN-03"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32602 and missing in refused["error"]["message"]
    feed(server, request(2, "initialize", INITIALIZE), notification("notifications/initialized"))
    assert server.state is ConnectionState.READY


@pytest.mark.rule("LIFE-14")
@pytest.mark.parametrize(
    ("method", "params", "since"),
    [
        ("tasks/get", {"taskId": "t"}, "2025-11-25"),
        ("tasks/list", None, "2025-11-25"),
    ],
)
def test_life_14_what_the_revision_lacks_is_refused(method, params, since) -> None:
    server = ready_server(revisions=["2025-06-18"])
    assert names(feed(server, request(1, method, params))) == ["ProtocolViolation:LIFE-14"]
    assert sent(server)[0]["error"]["code"] == -32601


@pytest.mark.rule("LIFE-14")
def test_life_14_we_do_not_send_what_the_revision_lacks() -> None:
    from .test_elicitation_connection import FORM

    _, server = ready_pair({"revisions": ["2025-03-26"]})
    with pytest.raises(LocalProtocolError) as caught:
        server.elicit("name?", FORM)
    assert caught.value.rule == "LIFE-14"
    assert not server.may_send("elicitation/create")


@pytest.mark.rule("LIFE-23", "H35")
def test_life_23_end_of_file_ends_every_request_of_both_directions() -> None:
    client, server = ready_pair()
    calls = [client.call_tool("t") for _ in range(50)]
    pump(client, server)
    asked = [server.ping() for _ in range(50)]
    [closed] = client.receive_eof()
    assert isinstance(closed, ConnectionClosed)
    assert list(closed.unanswered) == calls and closed.unserved == {}
    [closed] = server.receive_data(b"")
    assert list(closed.unanswered) == asked and list(closed.unserved) == calls
    assert (client.state, server.state) == (ConnectionState.CLOSED,) * 2
    assert not client.outgoing and not server.incoming and not server.outgoing
    assert server.next_deadline() is None
    with pytest.raises(LocalProtocolError) as caught:
        server.send_result(calls[0], CallToolResult([]))
    assert caught.value.rule == "LIFE-23"
    with pytest.raises(LocalProtocolError):
        client.ping()
    assert client.receive_eof() == [] and feed(client, request(9, "ping")) == []


@pytest.mark.rule("LIFE-18", "H27", "X-15")
def test_life_18_a_timeout_of_initialize_closes_and_cancels_nothing() -> None:
    client = make_client(timeout=10)
    clock = client._clock
    id = client.initialize()
    sent(client)
    assert client.next_deadline() == clock() + 10
    clock.now += 10
    events = client.handle_deadlines()
    assert names(events) == ["RequestTimedOut", "ConnectionClosed"]
    assert isinstance(events[0], RequestTimedOut) and events[0].id == id
    assert sent(client) == [] and client.state is ConnectionState.CLOSED


@pytest.mark.rule("PING-01")
@pytest.mark.parametrize("state", EARLY)
@pytest.mark.parametrize("side", ["client", "server"])
def test_ping_01_is_answered_in_every_state(state: str, side: str) -> None:
    connection = at(state, side)
    sent(connection)
    assert feed(connection, request("p", "ping"), request("q", "ping", {"_meta": {"a": 1}})) == []
    assert sent(connection) == [result("p", {}), result("q", {})]


@pytest.mark.rule("PING-01", "PING-02")
def test_ping_01_the_answer_to_ours_is_an_event() -> None:
    client, server = ready_pair()
    id = client.ping()
    events, of_server = pump(client, server)
    assert isinstance(events[0], ResultReceived) and events[0].id == id
    assert events[0].request == PingRequest() and of_server == []


@pytest.mark.rule("LIFE-01")
def test_life_01_the_tables_agree_with_each_other() -> None:
    """Every state but READY and CLOSED says what each side may send, and is left by some event."""
    for state, side in itertools.product(ConnectionState, (CLIENT, SERVER)):
        bound = state not in (ConnectionState.READY, ConnectionState.CLOSED)
        assert ((state, side) in PERMITTED) == bound
        assert (refusal(state, side, "ping") is None) == (state is not ConnectionState.CLOSED)
    reached = {ConnectionState.IDLE, *TRANSITIONS.values()}
    assert reached == set(ConnectionState)
    for state in set(ConnectionState) - {ConnectionState.CLOSED}:
        assert TRANSITIONS[state, LifecycleEvent.CLOSE] is ConnectionState.CLOSED


@pytest.mark.rule("GEN-04", "LIFE-15")
def test_gen_04_unknown_capabilities_survive() -> None:
    server = make_server()
    capabilities = {"experimental": {"x": {"y": 1}}, "acme/teleport": {"range": 5}}
    feed(server, request(1, "initialize", {**INITIALIZE, "capabilities": capabilities}))
    assert server.peer_capabilities is not None
    assert server.peer_capabilities.experimental == {"x": {"y": 1}}
    assert server.peer_capabilities.extra == {"acme/teleport": {"range": 5}}


@pytest.mark.rule("LIFE-25")
def test_life_25_no_instructions_are_none() -> None:
    client = ready_client()
    assert client.instructions is None


def test_log_messages_and_pings_before_initialize_are_no_violation() -> None:
    client = make_client()
    client.initialize()
    server = make_server()
    server.log("info", "starting")
    server.ping()
    events, of_server = pump(client, server)
    assert not [event for event in events + of_server if isinstance(event, ProtocolViolation)]
    assert isinstance(events[0], NotificationReceived)
    assert events[0].notification == LoggingMessageNotification(
        LoggingMessageNotificationParams("info", "starting")
    )
    assert not isinstance(events[0].notification, RootsListChangedNotification)


def test_errors_to_pings_are_errors() -> None:
    client = ready_client()
    id = client.ping()
    [event] = feed(client, error(id, -32603, "tired"))
    assert isinstance(event, ErrorReceived) and event.error.message == "tired"
