"""The official SDK: its client against our server and our client against its server, over stdio."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types
import pytest
import trio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError

from sansmcp import ProtocolViolation
from sansmcp import types as t
from sansmcp.trio import (
    ClientContext,
    PeerError,
    RequestTimeout,
    Session,
    connect_stdio,
)

from .conftest import FEATURES, REPOSITORY
from .test_transports import said

pytestmark = [
    # What this revision has, the newest version of the SDK deprecates.
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

SDK_SERVER = [sys.executable, "-W", "ignore", "-m", "tests.trio.sdk_server"]


# ---- our client, its server


async def model(context: ClientContext, params: t.CreateMessageRequestParams) -> Any:
    return t.CreateMessageResult("assistant", t.TextContent("13"), "abacus")


async def user(context: ClientContext, params: t.ElicitRequestParams) -> t.ElicitResult:
    if isinstance(params, t.ElicitRequestURLParams):
        return t.ElicitResult("accept")
    return t.ElicitResult("accept", {"name": "Ada"})


async def roots(context: ClientContext, params: t.RequestParams | None) -> t.ListRootsResult:
    return t.ListRootsResult([t.Root("file:///tmp")])


@asynccontextmanager
async def with_sdk_server(violations: list[ProtocolViolation]) -> AsyncIterator[Session]:
    def observe(time: float, what: Any) -> None:
        if isinstance(what, ProtocolViolation):
            violations.append(what)

    async with connect_stdio(
        SDK_SERVER,
        cwd=REPOSITORY,
        stderr="discard",
        observer=observe,
        sampling=model,
        elicitation=user,
        roots=roots,
        capabilities=t.ClientCapabilities(
            sampling=t.SamplingCapability(),
            elicitation=t.ElicitationCapability(form={}, url={}),
            roots=t.RootsCapability(list_changed=True),
        ),
    ) as session:
        yield session


async def test_everything_that_their_server_has():
    violations: list[ProtocolViolation] = []
    async with with_sdk_server(violations) as session:
        assert session.peer_info.name == "sdk"
        assert session.instructions == "Made by others."
        await session.ping()

        result = await session.call_tool("add", {"a": 2, "b": 3})
        assert result.structured_content == {"result": 5}
        assert (await session.call_tool("fail")).is_error
        assert "add" in [tool.name async for tool in session.tools()]

        seen: list[Any] = []
        await session.call_tool("count", {"to": 3}, on_progress=lambda p: seen.append(p.message))
        assert seen == ["step 1", "step 2", "step 3"]
        logged = [(await anext(session.notifications)).params.data for _ in range(3)]
        assert logged == ["at 1", "at 2", "at 3"]

        with pytest.raises(RequestTimeout):
            await session.call_tool("wait", timeout=0.3)
        with trio.move_on_after(0.3) as scope:
            await session.call_tool("wait")
        assert scope.cancelled_caught

        assert said(await session.call_tool("ask_user")) == "accept name='Ada'"
        assert said(await session.call_tool("ask_page")) == "accept"
        assert isinstance(await anext(session.notifications), t.ElicitationCompleteNotification)
        assert said(await session.call_tool("ask_model")) == "13"
        assert said(await session.call_tool("where")) == "file:///tmp"

        assert [r.uri async for r in session.resources()] == ["clock://now"]
        assert [r.uri_template async for r in session.resource_templates()] == ["note://{n}"]
        (note,) = (await session.read_resource("note://7")).contents
        assert note.text == "note 7"  # type: ignore[union-attr]
        with pytest.raises(PeerError):
            await session.read_resource("nothing://here")

        assert [prompt.name async for prompt in session.prompts()] == ["greet"]
        (message,) = (await session.get_prompt("greet", {"name": "Ada"})).messages
        assert message.content == t.TextContent("Greet Ada")
        completion = await session.complete(t.PromptReference("greet"), "name", "A")
        assert completion.values == ("Ada", "Alan")
    # It sends log messages and does not declare that it will.
    assert [violation.rule for violation in violations] == ["LOG-01"] * 3


# ---- their client, our server


async def sdk_model(context: Any, params: Any) -> mcp_types.CreateMessageResult:
    content = mcp_types.TextContent(type="text", text="13")
    return mcp_types.CreateMessageResult(role="assistant", content=content, model="abacus")


async def sdk_user(context: Any, params: Any) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})


async def sdk_roots(context: Any) -> mcp_types.ListRootsResult:
    return mcp_types.ListRootsResult(roots=[mcp_types.Root(uri="file:///tmp")])  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_everything_that_our_server_has(mode: str):
    logged: list[Any] = []
    heard: list[Any] = []

    async def hear_log(params: Any) -> None:
        logged.append(params.data)

    async def hear(message: Any) -> None:
        heard.append(type(message).__name__)

    parameters = StdioServerParameters(command=FEATURES[0], args=FEATURES[1:], cwd=REPOSITORY)
    async with Client(
        parameters,
        mode=mode,
        sampling_callback=sdk_model,
        elicitation_callback=sdk_user,
        list_roots_callback=sdk_roots,
        logging_callback=hear_log,
        message_handler=hear,
    ) as client:
        assert client.server_info is not None and client.server_info.name == "features"
        assert client.instructions == "Try it all."
        await client.send_ping()

        def text(result: mcp_types.CallToolResult) -> str:
            (block,) = result.content
            assert isinstance(block, mcp_types.TextContent)
            return block.text

        result = await client.call_tool("echo", {"a": [1, None]})
        assert result.structured_content == {"a": [1, None]}
        assert (await client.call_tool("fail")).is_error
        for name, code in (("refuse", 7), ("crash", -32603), ("nothing", -32602)):
            with pytest.raises(MCPError) as refused:
                await client.call_tool(name)
            assert refused.value.code == code
        assert "echo" in [tool.name for tool in (await client.list_tools()).tools]

        await client.set_logging_level("warning")
        seen: list[Any] = []

        async def hear_progress(progress: float, total: float | None, message: str | None) -> None:
            seen.append(message)

        await client.call_tool("count", {"to": 4}, progress_callback=hear_progress)
        assert seen == [f"step {n}" for n in (1, 2, 3, 4)]

        with trio.move_on_after(0.5):
            await client.call_tool("wait")
        assert text(await client.call_tool("was_cancelled")) == "True"

        assert text(await client.call_tool("ask_user")) == "accept {'name': 'Ada'}"
        assert text(await client.call_tool("ask_model")) == "13"
        assert text(await client.call_tool("where")) == "['file:///tmp']"

        (clock,) = (await client.read_resource("features://clock")).contents
        assert isinstance(clock, mcp_types.TextResourceContents) and clock.text == "noon"
        (note,) = (await client.read_resource("features://note/7")).contents
        assert isinstance(note, mcp_types.TextResourceContents) and note.text == "note 7"
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.name == "note"
        await client.subscribe_resource("features://clock")
        await client.call_tool("tick")
        await client.call_tool("grow", {"name": "new"})

        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert isinstance(prompt.messages[0].content, mcp_types.TextContent)
        assert prompt.messages[0].content.text == "Hi Ada"
        completion = await client.complete(
            mcp_types.PromptReference(type="ref/prompt", name="greet"),
            {"name": "name", "value": "A"},
        )
        assert completion.completion.values == ["Ada", "Alan"]
        await client.send_roots_list_changed()
        await client.send_ping()
    assert logged == [2, 4]
    assert {"ResourceUpdatedNotification", "ToolListChangedNotification"} <= set(heard)
