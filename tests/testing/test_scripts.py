"""Peers that follow a script, and what they say when it is not followed."""

import pytest
import trio

from sansmcp import ErrorReceived, Implementation, RequestReceived
from sansmcp.testing import ScriptedClient, ScriptedServer, ScriptError, judge, pump
from sansmcp.testing.memory import connect_script
from sansmcp.trio import Server, open_session
from sansmcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitRequest,
    Error,
    InitializeRequest,
    ListRootsRequest,
    ListRootsResult,
    ListToolsRequest,
    ListToolsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    PingRequest,
    Request,
    Result,
    Root,
    RootsCapability,
    RootsListChangedNotification,
    ServerCapabilities,
    TextContent,
    Tool,
    ToolListChangedNotification,
    ToolsCapability,
)
from tests.support import error, make_client, make_server, names, notification, request, result

TOOLS = ServerCapabilities(tools=ToolsCapability(list_changed=True), logging={})
HI = CallToolResult([TextContent("hi")])


def scripted_server(**options):
    return ScriptedServer(capabilities=TOOLS, **options)


def started(script):
    """A client under test after the handshake, with whatever it was told."""
    client = make_client()
    client.initialize()
    return client, pump(client, script).client


def test_a_client_runs_against_a_script():
    server = scripted_server(instructions="Be nice.")
    server.expect(CallToolRequest, name="echo").reply(HI)
    client, _ = started(server)
    assert client.instructions == "Be nice."
    client.call_tool("echo", {"text": "hi"})
    [event] = pump(client, server).client
    assert event.result == HI
    server.finish()
    assert judge(server.transcript) == []


def test_a_server_runs_against_a_script():
    client = ScriptedClient(capabilities=ClientCapabilities(roots=RootsCapability()))
    client.request(CallToolRequest(CallToolRequestParams("echo", {}))).expect(
        CallToolResult, content=(TextContent("hi"),)
    )
    client.expect(ListRootsRequest).reply(ListRootsResult([Root("file:///a")]))
    server = make_server()

    def serve(event):
        match event:
            case RequestReceived(id=id):
                server.send_result(id, HI)
                server.list_roots()

    of_server = pump(client, server, on_server=serve).server
    client.finish()
    assert names(of_server) == ["Initialized", "RequestReceived", "ResultReceived"]
    assert judge(client.transcript) == []


def test_what_is_said_to_a_request_is_said_in_its_order():
    server = scripted_server()
    note = LoggingMessageNotification(LoggingMessageNotificationParams("info", "on it"))
    server.expect(CallToolRequest).progress(0.5, 1, "half").notify(note).reply(HI)
    client, _ = started(server)
    client.call_tool("echo", {}, progress=True)
    assert names(pump(client, server).client) == [
        "ProgressReceived",
        "NotificationReceived",
        "ResultReceived",
    ]


def test_a_request_may_be_refused():
    server = scripted_server()
    server.expect(CallToolRequest).error(-32602, "no such tool", {"name": "echo"})
    client, _ = started(server)
    client.call_tool("echo", {})
    [event] = pump(client, server).client
    assert event.error == Error(-32602, "no such tool", {"name": "echo"})


def test_an_answer_may_depend_on_the_request():
    server = scripted_server()
    server.expect(CallToolRequest).reply(
        lambda request: CallToolResult([TextContent(request.params.arguments["text"])])
    )
    client, _ = started(server)
    client.call_tool("echo", {"text": "ho"})
    [event] = pump(client, server).client
    assert event.result.content[0].text == "ho"


def test_an_answer_may_come_later():
    server = scripted_server()
    call = server.expect(CallToolRequest)
    server.request(ListRootsRequest()).expect(ListRootsResult, roots=lambda roots: len(roots) == 1)
    server.reply(call, HI)
    client, _ = started(server)
    client.call_tool("echo", {})
    [event] = pump(client, server).client
    assert isinstance(event, RequestReceived)
    client.send_result(event.id, ListRootsResult([Root("file:///a")]))
    assert names(pump(client, server).client) == ["ResultReceived"]
    server.finish()


def test_something_may_be_said_unasked():
    server = scripted_server()
    server.send(ToolListChangedNotification())
    _, events = started(server)
    assert names(events) == ["ResultReceived", "Initialized", "NotificationReceived"]


@pytest.mark.parametrize(
    "junk",
    [b"\xff", "no json", {"jsonrpc": "2.0"}, {"method": "ping"}, [1], None, request(1, "nonsense")],
)
def test_anything_may_be_said(junk):
    server = scripted_server()
    server.send(junk)
    _, events = started(server)
    [violation] = [event for event in events if hasattr(event, "rule")]
    expected = junk.encode() if isinstance(junk, str) else junk
    assert violation.message == expected


def test_wrong_answers_may_be_given():
    server = scripted_server()
    server.expect(CallToolRequest).reply({"content": "nonsense"})
    client, _ = started(server)
    client.call_tool("echo", {})
    assert names(pump(client, server).client) == ["ProtocolViolation:GEN-03", "ErrorReceived"]


@pytest.mark.parametrize("order", ["lc", "cl"])
def test_what_may_come_in_any_order_does(order):
    server = scripted_server()
    with server.any_order():
        server.expect(CallToolRequest).reply(HI)
        server.expect(ListToolsRequest).reply(ListToolsResult([]))
    server.expect(CallToolRequest, name="last").reply(HI)
    client, _ = started(server)
    for which in order:
        client.call_tool("t", {}) if which == "c" else client.list_tools()
        pump(client, server)
    client.call_tool("last", {})
    assert not server.finished
    pump(client, server)
    server.finish()


def test_what_may_come_at_any_time_need_not_come():
    server = scripted_server()
    server.whenever(ListToolsRequest).reply(ListToolsResult([]))
    server.whenever(RootsListChangedNotification)
    server.expect(CallToolRequest).reply(HI)
    client, _ = started(server)
    assert pump(client, server).client == []
    client.list_tools()
    client.send_notification(RootsListChangedNotification())
    client.list_tools()
    client.ping()
    client.call_tool("t", {})
    assert names(pump(client, server).client) == ["ResultReceived"] * 4
    server.finish()


def test_what_is_expected_comes_before_what_may_come_at_any_time():
    server = scripted_server()
    server.expect(PingRequest).error(-32603, "out of order")
    client, _ = started(server)
    client.ping()
    client.ping()
    assert names(pump(client, server).client) == ["ErrorReceived", "ResultReceived"]


def test_the_script_may_grow_while_it_runs():
    server = scripted_server()
    client, _ = started(server)
    server.finish()
    server.expect(CallToolRequest).reply(HI)
    assert not server.finished
    client.call_tool("t", {})
    pump(client, server)
    server.finish()


def test_methods_of_ones_own_have_names():
    client = ScriptedClient(handshake=False)
    client.request(Request("example/echo", {"a": 1})).expect(Result, extra={"b": 2})
    client.expect("example/told", a=1)
    assert client.data_to_send() == (
        b'{"jsonrpc":"2.0","method":"example/echo","params":{"a":1},"id":1}\n'
    )
    client.receive_message(b'{"jsonrpc":"2.0","id":1,"result":{"b":2}}')
    client.receive_message(b'{"jsonrpc":"2.0","method":"example/told","params":{"a":1}}')
    client.finish()


def test_answers_that_are_not_looked_at_may_be_anything():
    client = ScriptedClient()
    for method in ("tools/list", "nonsense"):
        client.request(Request(method))
    of_server = pump(client, make_server(), on_server=lambda event: None).server
    assert names(of_server) == ["Initialized", "RequestReceived", "ProtocolViolation:GEN-02"]
    client.finish()


def test_errors_may_be_expected():
    client = ScriptedClient()
    client.request(Request("nonsense")).expect_error(-32601)
    pump(client, make_server())
    client.finish()


def test_the_messages_of_a_batch_come_one_by_one():
    server = ScriptedServer(handshake=False)
    server.expect(PingRequest).reply(Result())
    server.expect("notifications/x")
    server.receive_data(
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"}]\n'
    )
    server.finish()


def test_without_a_handshake_the_script_is_empty():
    server = ScriptedServer(handshake=False)
    server.finish()
    server.expect(InitializeRequest, protocol_version="2025-11-25").error(-32603, "not today")
    _, events = started(server)
    assert isinstance(events[0], ErrorReceived)


# ---- when it is not followed


def test_another_message_shows_the_script_the_place_and_the_message():
    server = scripted_server()
    server.expect(CallToolRequest, name="echo").reply(HI)
    client, _ = started(server)
    client.call_tool("other", {})
    with pytest.raises(ScriptError) as caught:
        pump(client, server)
    assert str(caught.value).split("\n")[:10] == [
        "client said what is not in the script",
        "    tools/call #2 name=other arguments={}",
        "the script:",
        "    expect InitializeRequest",
        "        reply greet(request)",
        "    expect InitializedNotification",
        "  > expect CallToolRequest name='echo'",
        "  >     reply CallToolResult((TextContent('hi'),))",
        "what was said:",
        '    client: initialize #1 protocolVersion=2025-11-25 capabilities={"roots":{"listChanged":true'
        '},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}} '
        'clientInfo={"name":"test-client","version":"1.0"}',
    ]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (notification("notifications/cancelled", {"requestId": 1}), "notifications/cancelled"),
        (request(5, "tools/call", {"name": 7}), "params.name: expected a string, got 7"),
        (result(1, {}), "result #1"),
        (error(99, 1), "error #99"),
    ],
)
def test_what_is_not_expected_is_shown_with_what_is_wrong(message, shown):
    server = ScriptedServer(handshake=False)
    server.expect(CallToolRequest)
    client = ScriptedClient(handshake=False)
    client.send(message)
    with pytest.raises(ScriptError) as caught:
        pump(client, server)
    assert shown in str(caught.value).partition("the script:")[0]


def test_text_that_is_no_message_is_not_expected():
    server = ScriptedServer(handshake=False)
    with pytest.raises(ScriptError, match="no json"):
        server.receive_message("no json")


def test_after_its_end_nothing_is_expected():
    server = ScriptedServer(handshake=False)
    with pytest.raises(ScriptError, match=r"> \(its end\)"):
        server.receive_message(b'{"jsonrpc":"2.0","method":"notifications/x"}')


def test_a_wrong_answer_is_not_expected():
    client = ScriptedClient()
    client.request(Request("tools/list")).expect(ListToolsResult, tools=())
    server = make_server()

    def serve(event):
        if isinstance(event, RequestReceived):
            server.send_result(event.id, ListToolsResult([Tool("t", {"type": "object"})]))

    with pytest.raises(
        ScriptError, match=r"> expect ListToolsResult tools=\(\) as the answer to #2"
    ):
        pump(client, server, on_server=serve)


def test_a_script_that_is_not_at_its_end_says_so():
    server = scripted_server()
    with server.any_order():
        server.expect(CallToolRequest)
        server.expect(ListToolsRequest)
    client, _ = started(server)
    client.list_tools()
    pump(client, server)
    with pytest.raises(ScriptError) as caught:
        server.finish()
    assert "> in any order\n  >     expect CallToolRequest\nwhat was said" in str(caught.value)


def test_mistakes_in_a_script_are_found_when_it_is_written():
    server = scripted_server()
    with pytest.raises(TypeError, match="no request and no notification"):
        server.expect(TextContent)
    with pytest.raises(TypeError, match=r"CallToolRequest has no \['nme'\]"):
        server.expect(CallToolRequest, nme="echo")
    with pytest.raises(TypeError, match=r"Result has no \['roots'\]"):
        server.request(ListRootsRequest()).expect(Result, roots=())
    with server.any_order(), pytest.raises(ValueError, match="only what is expected"):
        server.send(ToolListChangedNotification())
    server.expect(ElicitRequest, url="https://example.com")


def test_progress_that_is_not_asked_for_is_a_mistake():
    server = scripted_server()
    server.expect(CallToolRequest).progress(1)
    client, _ = started(server)
    client.call_tool("t", {})
    with pytest.raises(ScriptError, match="asks for no progress"):
        pump(client, server)


def test_only_what_has_come_can_be_answered():
    server = ScriptedServer(handshake=False)
    server.reply(server.whenever(CallToolRequest), HI)
    with pytest.raises(ScriptError, match="nothing to answer"):
        server.finish()


# ---- over Trio


async def test_a_session_runs_against_a_script(autojump_clock):
    server = scripted_server()
    server.expect(CallToolRequest, name="echo").progress(1).reply(HI)
    seen: list[object] = []
    async with connect_script(server) as channel, open_session(channel) as session:
        assert await session.call_tool("echo", {}, on_progress=seen.append) == HI
    assert len(seen) == 1


async def test_a_server_on_trio_runs_against_a_script(autojump_clock):
    async def echo(context, arguments):
        return CallToolResult([TextContent(arguments["text"])])

    server = Server(Implementation("echo", "1.0"))
    server.add_tool(Tool("echo", {"type": "object"}), echo)
    client = ScriptedClient()
    client.request(CallToolRequest(CallToolRequestParams("echo", {"text": "hi"}))).expect(
        CallToolResult, content=(TextContent("hi"),)
    )
    async with connect_script(client) as channel:
        await server.serve(channel)
    assert judge(client.transcript) == []


async def test_a_session_that_leaves_the_script_fails_with_it(autojump_clock):
    server = scripted_server()
    server.expect(CallToolRequest, name="echo").reply(HI)
    with pytest.raises(ScriptError, match="tools/call #2 name=other"):
        async with connect_script(server) as channel, open_session(channel) as session:
            await session.call_tool("other", {})
    assert trio.current_time() < 60


async def test_a_session_that_stops_short_of_the_end_fails(autojump_clock):
    server = scripted_server()
    server.expect(CallToolRequest, name="echo").reply(HI)
    with pytest.raises(ScriptError, match="not at its end"):
        async with connect_script(server) as channel, open_session(channel):
            pass


async def test_what_fails_in_the_test_is_what_is_told(autojump_clock):
    server = scripted_server()
    server.expect(CallToolRequest, name="echo").reply(HI)
    with pytest.raises(ZeroDivisionError):
        async with connect_script(server) as channel, open_session(channel):
            raise ZeroDivisionError
