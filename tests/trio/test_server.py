"""The server object, over memory and a clock that jumps."""

from typing import Any

import pytest
import trio

from sansmcp import (
    SERVER,
    Catalog,
    Implementation,
    LocalProtocolError,
    NotificationMethod,
    RequestMethod,
)
from sansmcp import types as t
from sansmcp.trio import (
    Context,
    ElicitationRequired,
    RequestError,
    Server,
    ToolError,
    connect_memory,
    memory_pair,
)

from .features import OBJECT, echo, greet, make_server, read_clock, read_note, text
from .support import CLIENT, Peer, client_of

MANY = 50


def bare_server(**options: Any) -> Server:
    return Server(Implementation("test", "1"), **options)


def tool_server(handler: Any, **options: Any) -> Server:
    server = bare_server(**options)
    server.add_tool(t.Tool("x", OBJECT), handler)
    return server


# ---- what is offered


@pytest.mark.rule("S13", "TOOL-17")
def test_duplicates_are_refused():
    server = make_server()
    for add in (
        lambda: server.add_tool(t.Tool("echo", OBJECT), echo),
        lambda: server.add_resource(t.Resource("again", "features://clock"), read_clock),
        lambda: server.add_resource_template(
            t.ResourceTemplate("again", "features://note/{number}"), read_note
        ),
        lambda: server.add_prompt(t.Prompt("greet"), greet),
    ):
        with pytest.raises(LocalProtocolError, match="already"):
            add()
    with pytest.raises(ValueError, match="already"):
        server.add_completion(t.PromptReference("greet"), "name", None)  # type: ignore[arg-type]
    server.on(t.RootsListChangedNotification)(greet)
    with pytest.raises(ValueError, match="already"):
        server.on(t.RootsListChangedNotification)


def test_two_ways_to_serve_the_same_method_are_refused():
    with pytest.raises(ValueError, match="already"):
        make_server().on(t.CallToolRequest)
    server = bare_server()
    server.on(t.CallToolRequest)(echo)
    with pytest.raises(ValueError, match="by `on`"):
        server.add_tool(t.Tool("x", OBJECT), echo)
    assert not server.catalog.tools.items
    with pytest.raises(ValueError, match="the catalog answers the lists"):
        make_server().on(t.ListToolsRequest)
    server = bare_server()
    server.on(t.ListPromptsRequest)(echo)
    with pytest.raises(ValueError, match="the catalog is not in use"):
        server.add_tool(t.Tool("x", OBJECT), echo)


@pytest.mark.parametrize("kind", [t.InitializeRequest, t.PingRequest, t.SubscribeRequest])
def test_what_the_connection_answers_takes_no_handler(kind: Any):
    with pytest.raises(ValueError, match="by the connection itself"):
        bare_server().on(kind)


@pytest.mark.rule("COMP-01", "S15")
def test_capabilities_are_those_of_the_handlers():
    assert bare_server().capabilities == t.ServerCapabilities(logging={})
    assert make_server().capabilities == t.ServerCapabilities(
        logging={},
        completions={},
        tools=t.ToolsCapability(list_changed=True),
        prompts=t.PromptsCapability(list_changed=True),
        resources=t.ResourcesCapability(subscribe=True, list_changed=True),
        tasks=t.ServerTasksCapability(
            list={},
            cancel={},
            requests=t.ServerTasksRequestsCapability(t.ToolsTasksCapability(call={})),
        ),
    )
    server = bare_server()
    server.on(t.CallToolRequest)(echo)
    assert server.capabilities.tools == t.ToolsCapability(list_changed=True)
    own = t.ServerCapabilities(tools=t.ToolsCapability())
    assert make_server(capabilities=own).capabilities is own


async def test_lists_by_handlers():
    server = bare_server()

    @server.on(t.ListToolsRequest)
    async def tools(context: Context, params: t.PaginatedRequestParams | None) -> t.ListToolsResult:
        return t.ListToolsResult([t.Tool("own", OBJECT)])

    @server.on(t.CallToolRequest)
    async def call(context: Context, params: t.CallToolRequestParams) -> t.CallToolResult:
        return text(params.name)

    async with connect_memory(server) as session:
        assert [tool.name async for tool in session.tools()] == ["own"]
        assert await session.call_tool("whatever") == text("whatever")


async def test_declared_without_a_handler():
    server = bare_server(capabilities=t.ServerCapabilities(completions={}))
    async with client_of(server) as client:
        ref = {"type": "ref/prompt", "name": "x"}
        params = {"ref": ref, "argument": {"name": "a", "value": ""}}
        await client.request(1, "completion/complete", params)
        assert (await client.hear())["error"]["code"] == -32601


async def test_catalog_without_handlers():
    server = bare_server(catalog=Catalog(tools=[t.Tool("orphan", OBJECT)]))
    server.add_tool(t.Tool("x", OBJECT), echo)
    async with client_of(server) as client:
        await client.request(1, "tools/call", {"name": "orphan"})
        assert (await client.hear())["error"]["code"] == -32602


@pytest.mark.rule("COMP-05")
async def test_completion_of_what_is_not_there():
    async with client_of(make_server()) as client:
        for id, ref, argument in (
            (1, {"type": "ref/prompt", "name": "greet"}, "other"),
            (2, {"type": "ref/resource", "uri": "features://note/{number}"}, "number"),
            (3, {"type": "ref/prompt", "name": "nothing"}, "name"),
            (4, {"type": "ref/resource", "uri": "greet"}, "name"),
        ):
            params = {"ref": ref, "argument": {"name": argument, "value": ""}}
            await client.request(id, "completion/complete", params)
        answers = [await client.hear() for _ in range(4)]
        answers.sort(key=lambda answer: answer["id"])
        assert [answer.get("result") for answer in answers[:2]] == [
            {"completion": {"values": []}}
        ] * 2
        assert [answer["error"]["code"] for answer in answers[2:]] == [-32602, -32602]


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [
        ("a://{x}", "a://b", {"x": "b"}),
        ("a://{x}", "a://b/c", None),
        ("a://{x}", "a://b%2Fc%20d", {"x": "b/c d"}),
        ("a://{x}", "a://", None),
        ("a://{x}/{y}.txt", "a://1/2.txt.txt", {"x": "1", "y": "2.txt"}),
        ("a://{x}/{y}.txt", "a://1/.txt", None),
        ("a://{x}/{y}.txt", "a://1/2.md", None),
        ("a://{x}-{y}", "a://1-2-3", {"x": "1", "y": "2-3"}),
        ("a://{x}-{y}", "a://1", None),
        ("a://fixed", "a://fixed", {}),
        ("a://fixed", "a://fixed2", None),
        ("a://{x}", "b://b", None),
    ],
)
async def test_resource_templates(template: str, uri: str, variables: Any):
    server = bare_server()

    async def read(context: Context, uri: str, found: dict[str, str]) -> t.ReadResourceResult:
        return t.ReadResourceResult([t.TextResourceContents(uri, repr(found))])

    server.add_resource_template(t.ResourceTemplate("t", template), read)
    async with client_of(server) as client:
        await client.request(1, "resources/read", {"uri": uri})
        answer = await client.hear()
        if variables is None:
            assert answer["error"]["code"] == -32002
        else:
            assert answer["result"]["contents"][0]["text"] == repr(variables)


@pytest.mark.parametrize("template", ["a://{+x}", "a://{x}{y}", "a://{x", "a://{x,y}", "{x}/{x}"])
def test_resource_templates_that_cannot_be_matched(template: str):
    server = bare_server()
    with pytest.raises(ValueError, match="variable"):
        server.add_resource_template(t.ResourceTemplate("t", template), read_note)
    assert not server.catalog.resource_templates.items


# ---- handlers


@pytest.mark.rule("S05", "RES-12")
async def test_handler_that_crashes(caplog: pytest.LogCaptureFixture):
    async def crash(context: Context, arguments: Any) -> t.CallToolResult:
        raise ZeroDivisionError("the secret is 7")

    async with client_of(tool_server(crash)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        answer = await client.hear()
        assert answer["error"] == {"code": -32603, "message": "Internal error"}
        await client.request(2, "ping")
        assert (await client.hear())["result"] == {}
    assert "a handler of tools/call failed" in caplog.text
    assert "the secret is 7" in caplog.text


@pytest.mark.parametrize("error", [ToolError("cold"), RequestError(5, "no")])
async def test_handler_that_fails_inside_a_nursery(error: Exception):
    async def fail(context: Context, arguments: Any) -> t.CallToolResult:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            raise error

    async with client_of(tool_server(fail)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        answer = await client.hear()
        if isinstance(error, ToolError):
            block = {"type": "text", "text": "cold"}
            assert answer["result"] == {"content": [block], "isError": True}
        else:
            assert answer["error"] == {"code": 5, "message": "no"}


@pytest.mark.parametrize("result", [None, "text", t.Result(), t.CallToolResult([object()])])
async def test_handler_that_returns_no_result(result: Any, caplog: pytest.LogCaptureFixture):
    async def wrong(context: Context, arguments: Any) -> Any:
        return result

    async with client_of(tool_server(wrong)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        assert (await client.hear())["error"]["code"] == -32603
    assert "a handler of tools/call failed" in caplog.text


async def test_handler_that_lets_a_client_error_through():
    async def roots(context: Context, arguments: Any) -> t.CallToolResult:
        return text(await context.list_roots())

    async with client_of(tool_server(roots)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        asked = await client.hear()
        assert asked["method"] == "roots/list"
        error = {"code": 9, "message": "private"}
        await client.say({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        assert (await client.hear())["error"] == {"code": -32603, "message": "Internal error"}


@pytest.mark.rule("ELIC-27", "ELIC-28")
async def test_handler_that_requires_an_elicitation():
    page = t.ElicitRequestURLParams("Sign in", "e1", "https://example.com/in")

    async def locked(context: Context, arguments: Any) -> t.CallToolResult:
        raise ElicitationRequired([page])

    server = tool_server(locked)
    async with client_of(server) as client:
        await client.request(1, "tools/call", {"name": "x"})
        error = (await client.hear())["error"]
        assert error["code"] == -32042
        assert error["data"]["elicitations"][0]["elicitationId"] == "e1"
        assert await server.elicitation_complete("e1")
        notice = await client.hear()
        assert notice["method"] == "notifications/elicitation/complete"
        assert not await server.elicitation_complete("e1")


async def test_context_knows_the_client():
    async def who(context: Context, arguments: Any) -> t.CallToolResult:
        assert context.client_capabilities.roots == t.RootsCapability(list_changed=True)
        assert not context.cancelled
        return text((context.client_info.name, context.request_id, context.revision))

    async with client_of(tool_server(who)) as client:
        await client.request("seven", "tools/call", {"name": "x"})
        answer = await client.hear()
        expected = "('by-hand', 'seven', '2025-11-25')"
        assert answer["result"]["content"][0]["text"] == expected


async def test_context_asks_and_tells_anything():
    async def ask(context: Context, arguments: Any) -> t.CallToolResult:
        await context.notify(t.Notification("notifications/example", {"a": 1}))
        answer = await context.request(t.Request("example/ask", {"b": 2}), timeout=5)
        return text(answer.extra)

    rows = [
        RequestMethod("example/ask", frozenset({SERVER})),
        NotificationMethod("notifications/example", frozenset({SERVER})),
    ]
    async with client_of(tool_server(ask, extensions=rows)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        assert (await client.hear())["params"] == {"a": 1}
        asked = await client.hear()
        assert (asked["method"], asked["params"]) == ("example/ask", {"b": 2})
        await client.answer(asked["id"], {"c": 3})
        assert (await client.hear())["result"]["content"][0]["text"] == "{'c': 3}"


async def test_progress_only_where_it_is_wanted():
    async def count(context: Context, arguments: Any) -> t.CallToolResult:
        return text(await context.progress(1))

    async with client_of(tool_server(count)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        assert (await client.hear())["result"]["content"][0]["text"] == "False"
        await client.request(2, "tools/call", {"name": "x", "_meta": {"progressToken": ""}})
        assert (await client.hear())["params"] == {"progressToken": "", "progress": 1}
        assert (await client.hear())["result"]["content"][0]["text"] == "True"


@pytest.mark.rule("LOG-03")
async def test_log_messages_below_the_level_are_not_sent():
    async def log(context: Context, arguments: Any) -> t.CallToolResult:
        sent = [await context.log(level, None) for level in ("info", "error")]
        return text(sent)

    async with client_of(tool_server(log)) as client:
        await client.request(1, "logging/setLevel", {"level": "warning"})
        await client.hear()
        await client.request(2, "tools/call", {"name": "x"})
        assert (await client.hear())["params"] == {"level": "error", "data": None}
        assert (await client.hear())["result"]["content"][0]["text"] == "[False, True]"


# ---- cancellation


@pytest.mark.rule("S04", "H28", "CANC-06", "CANC-08")
@pytest.mark.parametrize("stubborn", [False, True])
async def test_cancelled_handler_has_no_answer(stubborn: bool, autojump_clock: Any):
    cancelled = []

    async def wait(context: Context, arguments: Any) -> t.CallToolResult:
        with trio.CancelScope(shield=stubborn):
            try:
                await trio.sleep(10)
            finally:
                cancelled.append(context.cancelled)
        return text("too late")

    async with client_of(tool_server(wait)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        await client.notify("notifications/cancelled", {"requestId": 1})
        await trio.sleep(20)
        await client.request(2, "ping")
        assert (await client.hear())["id"] == 2
    assert cancelled == [True]


async def test_handler_that_crashes_while_it_is_cancelled(caplog: pytest.LogCaptureFixture):
    async def crash(context: Context, arguments: Any) -> t.CallToolResult:
        try:
            await trio.sleep_forever()
        finally:
            raise ZeroDivisionError

    async with client_of(tool_server(crash)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        await client.notify("notifications/cancelled", {"requestId": 1})
        await client.request(2, "ping")
        assert (await client.hear())["id"] == 2
        await trio.testing.wait_all_tasks_blocked()
    assert "a handler of tools/call failed" in caplog.text


@pytest.mark.parametrize("end", ["cancelled", "closed"])
async def test_handler_whose_child_crashes_while_it_is_cancelled(
    end: str, caplog: pytest.LogCaptureFixture
):
    async def crash() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ZeroDivisionError

    async def call(context: Context, arguments: Any) -> t.CallToolResult:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crash)
            nursery.start_soon(trio.sleep_forever)
        raise AssertionError

    async with client_of(tool_server(call, linger=0)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        await trio.testing.wait_all_tasks_blocked()
        if end == "cancelled":
            await client.notify("notifications/cancelled", {"requestId": 1})
            await client.request(2, "ping")
            assert (await client.hear())["id"] == 2
    assert "a handler of tools/call failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


async def test_cancelled_in_the_same_breath():
    started = []

    async def wait(context: Context, arguments: Any) -> t.CallToolResult:
        await trio.lowlevel.checkpoint()
        started.append(1)
        return text("done")

    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tool_server(wait).serve, theirs)
        await ours.send_all(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
            b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n'
            b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}\n'
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n'
        )
        await ours.send_eof()
        received = b""
        async for data in ours:
            received += data
    assert received.count(b"\n") == 1
    assert started == []


@pytest.mark.rule("H35", "LIFE-23")
async def test_end_of_the_connection_cancels_every_handler(autojump_clock: Any):
    ended = []

    async def wait(context: Context, arguments: Any) -> t.CallToolResult:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())
        raise AssertionError

    async with client_of(tool_server(wait, linger=3)) as client:
        for id in range(MANY):
            await client.request(id, "tools/call", {"name": "x"})
        await client.channel.aclose()
    assert ended == [3.0] * MANY


async def test_handler_that_asks_while_the_connection_ends(autojump_clock: Any):
    errors = []

    async def roots(context: Context, arguments: Any) -> t.CallToolResult:
        try:
            await context.list_roots()
        except BaseException as error:
            errors.append(type(error))
            raise
        raise AssertionError

    async with client_of(tool_server(roots)) as client:
        await client.request(1, "tools/call", {"name": "x"})
        await client.hear()
        await client.channel.aclose()
    assert errors == [trio.Cancelled]


# ---- many clients


@pytest.mark.rule("S23", "TOOL-06")
async def test_what_is_added_and_removed_is_told_to_every_client():
    server = make_server()
    async with client_of(server) as one, client_of(server) as other:
        for change, method in (
            (lambda: server.remove_tool("echo"), "tools"),
            (lambda: server.add_tool(t.Tool("echo", OBJECT), echo), "tools"),
            (lambda: server.remove_prompt("greet"), "prompts"),
            (lambda: server.add_prompt(t.Prompt("greet"), greet), "prompts"),
            (lambda: server.remove_resource("features://clock"), "resources"),
            (
                lambda: server.add_resource(t.Resource("c", "features://clock"), read_clock),
                "resources",
            ),
            (lambda: server.remove_resource_template("features://note/{number}"), "resources"),
            (
                lambda: server.add_resource_template(t.ResourceTemplate("n", "n://{n}"), read_note),
                "resources",
            ),
        ):
            change()
            for client in (one, other):
                assert (await client.hear())["method"] == f"notifications/{method}/list_changed"


async def test_removed_tool_is_unknown():
    server = make_server()
    async with client_of(server) as client:
        server.remove_tool("echo")
        await client.hear()
        await client.request(1, "tools/call", {"name": "echo"})
        assert (await client.hear())["error"]["code"] == -32602
        with pytest.raises(KeyError):
            server.remove_tool("echo")


async def test_notifications_reach_every_client():
    server = make_server()
    async with client_of(server) as one, client_of(server) as other:
        await other.request(1, "resources/subscribe", {"uri": "features://clock"})
        await other.hear()
        await server.notify_resource_updated("features://clock")
        await server.notify_tools_changed()
        await server.notify_prompts_changed()
        await server.notify_resources_changed()
        changed = [f"notifications/{k}/list_changed" for k in ("tools", "prompts", "resources")]
        assert [(await one.hear())["method"] for _ in range(3)] == changed
        assert (await other.hear())["params"] == {"uri": "features://clock"}
        assert [(await other.hear())["method"] for _ in range(3)] == changed


async def test_nothing_is_told_before_the_handshake_is_over():
    server = make_server()
    ours, theirs = memory_pair()
    client = Peer(ours)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, theirs)
        await client.request(1, "initialize", CLIENT)
        await client.hear()
        await server.notify_tools_changed()
        server.remove_tool("echo")
        await client.notify("notifications/initialized")
        await client.request(2, "ping")
        assert (await client.hear())["id"] == 2
        await ours.aclose()


@pytest.mark.rule("ELIC-22")
async def test_completed_elicitation_is_told_to_its_client_only():
    async def page(context: Context, arguments: Any) -> t.CallToolResult:
        answer = await context.elicit_url("Sign in", "e7", "https://example.com/in")
        return text(answer.action)

    server = tool_server(page)
    async with client_of(server) as one, client_of(server) as other:
        await other.request(1, "tools/call", {"name": "x"})
        asked = await other.hear()
        await other.answer(asked["id"], {"action": "accept"})
        await other.hear()
        assert await server.elicitation_complete("e7")
        assert (await other.hear())["params"] == {"elicitationId": "e7"}
        await one.request(1, "ping")
        assert (await one.hear())["id"] == 1


@pytest.mark.rule("ROOT-02")
async def test_handler_of_a_notification_may_ask_back():
    server = make_server()
    roots: list[str] = []
    done = trio.Event()

    @server.on(t.RootsListChangedNotification)
    async def changed(context: Context, params: t.NotificationParams | None) -> None:
        roots.extend(root.uri for root in await context.list_roots())
        with pytest.raises(RuntimeError, match="no progress"):
            await context.progress(1)
        done.set()

    async with client_of(server) as client:
        await client.notify("notifications/roots/list_changed")
        await client.answer((await client.hear())["id"], {"roots": [{"uri": "file:///a"}]})
        await done.wait()
    assert roots == ["file:///a"]


# ---- clients that do not behave


@pytest.mark.rule("H48")
@pytest.mark.parametrize("trickle", [False, True])
async def test_client_that_never_initializes(trickle: bool, autojump_clock: Any):
    server = make_server(initialize_timeout=90)
    ours, theirs = trio.testing.memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, theirs)
        with trio.move_on_after(1000):
            if trickle:
                for _ in range(2):
                    await ours.send_all(b"{")
                    await trio.sleep(40)
            assert await ours.receive_some() == b""
    assert trio.current_time() == 90


async def test_initialized_client_may_be_silent(autojump_clock: Any):
    async with client_of(make_server(initialize_timeout=90)) as client:
        await trio.sleep(1000)
        await client.request(1, "ping")
        assert (await client.hear())["id"] == 1


@pytest.mark.rule("S26")
async def test_same_id_twice():
    async with client_of(make_server()) as client:
        await client.request(1, "tools/call", {"name": "wait"})
        await client.request(1, "tools/call", {"name": "echo"})
        assert (await client.hear())["error"]["code"] == -32600
        await client.notify("notifications/cancelled", {"requestId": 1})


async def test_serving_can_be_cancelled():
    ours, theirs = memory_pair()
    client = Peer(ours)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make_server().serve, theirs)
        await client.introduce()
        await client.request(1, "tools/call", {"name": "wait"})
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    with pytest.raises(trio.EndOfChannel):
        await ours.receive()
