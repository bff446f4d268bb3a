"""One suite that every transport passes."""

from typing import Any

import pytest
import trio

from sansmcp import Implementation, LocalProtocolError
from sansmcp import types as t
from sansmcp.trio import ClientContext, ConnectionLost, PeerError, RequestTimeout

from .conftest import Connect


def said(result: t.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, t.TextContent)
    return block.text


async def test_session_is_initialized_on_entry(connect: Connect):
    async with connect() as session:
        assert session.peer_info == Implementation("features", "1.0")
        assert session.revision == "2025-11-25"
        assert session.instructions == "Try it all."
        assert session.peer_capabilities.tools == t.ToolsCapability(list_changed=True)
        await session.ping()


async def test_tools(connect: Connect):
    async with connect() as session:
        arguments = {"text": "\u2028 \x00 ü 🎈", "n": 2**70, "nested": {"a": [1, None]}}
        result = await session.call_tool("echo", arguments)
        assert result.structured_content == arguments
        assert "echo" in [tool.name async for tool in session.tools()]
        failed = await session.call_tool("fail")
        assert failed.is_error and said(failed) == "the oven is cold"


@pytest.mark.rule("S05", "S11")
async def test_errors_of_a_server_reach_the_caller(connect: Connect):
    async with connect() as session:
        with pytest.raises(PeerError) as refused:
            await session.call_tool("refuse")
        error = refused.value
        assert (error.code, error.message, error.data) == (7, "Not today", {"try": "tomorrow"})
        with pytest.raises(PeerError) as crashed:
            await session.call_tool("crash")
        assert (crashed.value.code, crashed.value.message) == (-32603, "Internal error")
        with pytest.raises(PeerError) as unknown:
            await session.call_tool("nothing")
        assert unknown.value.code == -32602
        await session.ping()


async def test_resources(connect: Connect):
    async with connect() as session:
        assert [r.uri async for r in session.resources()] == ["features://clock"]
        assert [r.name async for r in session.resource_templates()] == ["note"]
        (clock,) = (await session.read_resource("features://clock")).contents
        (note,) = (await session.read_resource("features://note/a%2Fb")).contents
        assert [c.text for c in (clock, note)] == ["noon", "note a/b"]  # type: ignore[union-attr]
        with pytest.raises(PeerError) as unknown:
            await session.read_resource("features://nothing")
        assert (unknown.value.code, unknown.value.data) == (-32002, {"uri": "features://nothing"})


async def test_subscription(connect: Connect):
    async with connect() as session:
        await session.call_tool("tick")
        await session.subscribe("features://clock")
        await session.call_tool("tick")
        with trio.fail_after(5):
            update = await anext(session.notifications)
        assert isinstance(update, t.ResourceUpdatedNotification)
        await session.unsubscribe("features://clock")
        await session.call_tool("tick")
        await session.call_tool("grow", {"name": "last"})
        with trio.fail_after(5):
            assert isinstance(await anext(session.notifications), t.ToolListChangedNotification)


async def test_prompts_and_completion(connect: Connect):
    async with connect() as session:
        assert [prompt.name async for prompt in session.prompts()] == ["greet"]
        result = await session.get_prompt("greet", {"name": "Ada"})
        assert result.messages == (t.PromptMessage("user", t.TextContent("Hi Ada")),)
        completion = await session.complete(t.PromptReference("greet"), "name", "A")
        assert completion.values == ("Ada", "Alan")


async def test_progress_and_log_messages(connect: Connect):
    progress: list[Any] = []
    async with connect() as session:
        await session.set_logging_level("info")
        await session.call_tool(
            "count", {"to": 4}, on_progress=lambda p: progress.append((p.progress, p.message))
        )
        assert progress == [(n, f"step {n}") for n in (1, 2, 3, 4)]
        with trio.fail_after(5):
            logged = [(await anext(session.notifications)).params.data for _ in range(2)]
        assert logged == [2, 4]


@pytest.mark.rule("S30", "S04")
async def test_cancelling_a_call_cancels_its_handler(connect: Connect):
    async with connect() as session:
        with trio.move_on_after(0.2) as scope:
            await session.call_tool("wait")
        assert scope.cancelled_caught
        assert said(await session.call_tool("was_cancelled")) == "True"


@pytest.mark.rule("LIFE-18", "H34")
async def test_timeout(connect: Connect):
    async with connect() as session:
        with pytest.raises(RequestTimeout, match="tools/call was not answered in time"):
            await session.call_tool("wait", timeout=0.2)
        await session.ping()


async def test_call_as_a_task(connect: Connect):
    async with connect() as session:
        handle = await session.call_tool_as_task("work")
        assert handle.task is not None and handle.task.status == "working"
        with trio.fail_after(10):
            assert said(await handle.result()) == "a task: True"
            assert said(await session.call_tool("work")) == "a task: False"
        assert (await session.get_task(handle.task.task_id)).status == "completed"


async def test_server_asks_back(connect: Connect):
    async def model(
        context: ClientContext, params: t.CreateMessageRequestParams
    ) -> t.CreateMessageResult:
        return t.CreateMessageResult("assistant", t.TextContent("13"), "abacus")

    async def user(context: ClientContext, params: t.ElicitRequestParams) -> t.ElicitResult:
        return t.ElicitResult("accept", {"name": "Ada"})

    async def roots(context: ClientContext, params: t.RequestParams | None) -> t.ListRootsResult:
        return t.ListRootsResult([t.Root("file:///tmp")])

    async with connect(sampling=model, elicitation=user, roots=roots) as session:
        assert said(await session.call_tool("ask_model")) == "13"
        assert said(await session.call_tool("ask_user")) == "accept {'name': 'Ada'}"
        assert said(await session.call_tool("where")) == "['file:///tmp']"


async def test_large_messages_and_many_calls_at_once(connect: Connect):
    async with connect() as session:
        assert len(said(await session.call_tool("blob", {"size": 3_000_000}))) == 3_000_000
        results: dict[int, t.CallToolResult] = {}

        async def call(n: int) -> None:
            results[n] = await session.call_tool("echo", {"n": n, "pad": "x" * 20_000})

        async with trio.open_nursery() as nursery:
            for n in range(200):
                nursery.start_soon(call, n)
        assert all(results[n].structured_content["n"] == n for n in range(200))  # type: ignore[index]


@pytest.mark.rule("H46")
async def test_sessions_close_in_any_order(connect: Connect):
    first, second = connect(), connect()
    one = await first.__aenter__()
    other = await second.__aenter__()
    await first.__aexit__(None, None, None)
    await other.ping()
    await second.__aexit__(None, None, None)
    with pytest.raises(ConnectionLost, match="the session was closed"):
        await one.ping()


async def test_exceptions_of_the_body_come_out_bare(connect: Connect):
    cause = KeyError("cause")
    with pytest.raises(ValueError, match="mine") as caught:
        async with connect():
            raise ValueError("mine") from cause
    assert caught.value.__cause__ is cause


@pytest.mark.rule("S02")
async def test_what_was_not_declared_is_refused_locally(connect: Connect):
    async with connect() as session:
        with pytest.raises(LocalProtocolError):
            await session.roots_list_changed()
        await session.ping()
