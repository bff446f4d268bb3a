"""The tool loop of sampling (client/sampling)."""

from typing import Any

import pytest

from sansmcp import (
    ErrorReceived,
    LocalProtocolError,
    ProtocolViolation,
    RequestReceived,
    ResultReceived,
)
from sansmcp.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ImageContent,
    SamplingMessage,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)

from .support import feed, pump, ready_pair, request, result, sent

TOOLS = [Tool("t", {"type": "object"})]


def uses(*ids: str) -> SamplingMessage:
    return SamplingMessage("assistant", [ToolUseContent(id, "t", {}) for id in ids])


def results(*ids: str, **more: Any) -> SamplingMessage:
    return SamplingMessage("user", [ToolResultContent(id, []) for id in ids], **more)


def says(role: Any, text: str = "hi") -> SamplingMessage:
    return SamplingMessage(role, TextContent(text))


GOOD = [
    [],
    [says("user")],
    [says("assistant"), says("assistant")],
    [says("user"), uses("a"), results("a")],
    [says("user"), uses("a", "b"), results("b", "a"), says("assistant")],
    [uses("a"), results("a"), uses("b"), results("b")],
    [uses("a"), results("a"), uses("a"), results("a")],
    [SamplingMessage("assistant", [TextContent("let me see"), ToolUseContent("a", "t", {})]), results("a")],
    [SamplingMessage("assistant", ToolUseContent("a", "t", {})), SamplingMessage("user", ToolResultContent("a", []))],
]  # fmt: skip

BAD = [
    ([uses("a")], "SAMP-11"),  # Nobody has answered it.
    ([uses("a"), says("user")], "SAMP-11"),
    ([uses("a"), says("assistant"), results("a")], "SAMP-11"),
    ([uses("a", "b"), results("a")], "SAMP-11"),
    ([uses("a"), results("a", "b")], "SAMP-33"),
    ([results("a")], "SAMP-33"),
    ([uses("a"), results("a"), results("a")], "SAMP-33"),
    ([uses("a"), results("a", "a")], "SAMP-24"),
    ([uses("a", "a"), results("a")], "SAMP-11"),
    ([uses("a"), SamplingMessage("user", [ToolResultContent("a", []), TextContent("and")])], "SAMP-10"),
    ([uses("a"), SamplingMessage("user", [ImageContent("", "x/y"), ToolResultContent("a", [])])], "SAMP-10"),
    ([uses("a"), SamplingMessage("assistant", [ToolResultContent("a", [])])], "SAMP-10"),
    ([SamplingMessage("user", [ToolUseContent("a", "t", {})]), results("a")], "SAMP-11"),
]  # fmt: skip


@pytest.mark.rule("SAMP-10", "SAMP-11", "SAMP-24", "SAMP-33", "S18")
@pytest.mark.parametrize("messages", GOOD)
def test_samp_11_balanced_loops_pass_on_both_sides(messages: list[SamplingMessage]) -> None:
    client, server = ready_pair()
    server.create_message(messages, 5, tools=TOOLS)
    _, events = pump(client, server)
    assert events == []
    assert len(client.incoming) == 1


@pytest.mark.rule("SAMP-10", "SAMP-11", "SAMP-17", "SAMP-18", "SAMP-24", "SAMP-33", "S18")
@pytest.mark.parametrize(("messages", "rule"), BAD)
def test_samp_11_other_loops_are_refused_on_both_sides(messages, rule: str) -> None:
    client, server = ready_pair()
    with pytest.raises(LocalProtocolError) as caught:
        server.create_message(messages, 5, tools=TOOLS)
    assert caught.value.rule == rule
    assert sent(server) == []
    from sansmcp import unstructure

    params = {"messages": [unstructure(message) for message in messages], "maxTokens": 5}
    [event] = feed(client, request("s", "sampling/createMessage", params))
    assert isinstance(event, ProtocolViolation)
    assert event.rule == rule
    [refused] = sent(client)
    assert (refused["id"], refused["error"]["code"]) == ("s", -32602)


@pytest.mark.rule("SAMP-13", "SAMP-20", "S17")
@pytest.mark.parametrize(
    ("content", "options", "good"),
    [
        (TextContent("a"), {}, True),
        ([TextContent("a")], {}, True),
        ([TextContent("a"), TextContent("b")], {}, False),
        ([], {}, False),
        (ToolUseContent("a", "t", {}), {}, False),
        ([TextContent("a"), TextContent("b")], {"tools": TOOLS}, True),
        ([ToolUseContent("a", "t", {})], {"tools": TOOLS}, True),
        (ToolUseContent("a", "t", {}), {"tools": TOOLS, "tool_choice": ToolChoice("auto")}, True),
        (ToolUseContent("a", "t", {}), {"tools": TOOLS, "tool_choice": ToolChoice("none")}, False),
        (TextContent("a"), {"tools": TOOLS, "tool_choice": ToolChoice("none")}, True),
    ],
)
def test_s17_answers_suit_their_request_on_both_sides(content, options, good: bool) -> None:
    from sansmcp import unstructure

    answer = CreateMessageResult("assistant", content, "model")
    client, server = ready_pair()
    id = server.create_message([says("user")], 5, **options)
    [event], _ = pump(client, server)
    assert isinstance(event, RequestReceived)
    assert isinstance(event.params, CreateMessageRequestParams)
    if good:
        client.send_result(id, answer)
        _, [event] = pump(client, server)
        assert isinstance(event, ResultReceived)
        assert event.result == answer
        return
    with pytest.raises(LocalProtocolError) as caught:
        client.send_result(id, answer)
    assert caught.value.rule in ("SAMP-13", "SAMP-20")
    violation, failed = feed(server, result(id, unstructure(answer)))
    assert isinstance(violation, ProtocolViolation)
    assert violation.rule == caught.value.rule
    assert isinstance(failed, ErrorReceived)


@pytest.mark.rule("SAMP-16")
def test_samp_16_the_user_may_refuse() -> None:
    from sansmcp import USER_REJECTED

    client, server = ready_pair()
    id = server.create_message([says("user")], 5)
    pump(client, server)
    client.send_error(id, USER_REJECTED, "User rejected sampling request")
    _, [event] = pump(client, server)
    assert isinstance(event, ErrorReceived)
    assert event.error.code == -1


@pytest.mark.rule("SAMP-31", "SAMP-32")
def test_samp_31_meta_of_tool_blocks_survives() -> None:
    client, server = ready_pair()
    use = ToolUseContent("a", "t", {"x": 1}, meta={"cache": "y"})
    done = ToolResultContent("a", [TextContent("z")], meta={"cache": "z"})
    server.create_message(
        [SamplingMessage("assistant", [use]), SamplingMessage("user", [done])], 5, tools=TOOLS
    )
    [event], _ = pump(client, server)
    assert event.params.messages[0].content == (use,)
    assert event.params.messages[1].content == (done,)
