"""Rules that one message can break by itself, and what is merely advised against."""

from typing import Any

import pytest

from sansmcp import (
    CapabilityError,
    Catalog,
    ErrorReceived,
    LocalProtocolError,
    ProtocolWarning,
    RequestReceived,
    ResultReceived,
    errors,
    lint,
)
from sansmcp import types as t
from sansmcp.checks import (
    MODEL_IMMEDIATE_RESPONSE,
    PROGRESS_TOKEN,
    RELATED_TASK,
    check,
    is_reserved_meta_key,
    meta_key_problem,
    tool_name_problem,
)

from .support import (
    feed,
    names,
    pump,
    ready_client,
    ready_pair,
    ready_server,
    request,
    result,
    sent,
)

PNG = "iVBORw0KGgo="


def rules_of(part: Any) -> list[str]:
    return [broken.rule for broken in check(part)]


# ---- _meta


@pytest.mark.rule("META-02", "META-03", "META-06", "META-07")
@pytest.mark.parametrize(
    "key",
    [
        "progressToken",
        "a",
        "A9",
        "a-b_c.d",
        "com.example/key",
        "a/",
        "",
        "x-y.z1/k",
        "com.example/",
        "a9.b-c/1",
    ],
)
def test_meta_02_good_keys(key: str) -> None:
    assert meta_key_problem(key) is None


@pytest.mark.rule("META-02", "META-03", "META-06")
@pytest.mark.parametrize(
    "key",
    [
        "/a",
        "1a/b",
        "a-/b",
        "-a/b",
        "a..b/c",
        ".a/b",
        "a./b",
        "a b/c",
        "a/b/c",
        "-a",
        "a-",
        "_a",
        "a.",
        "ä",
        "a b",
        "é/x",
        "a\n",
    ],
)
def test_meta_02_bad_keys(key: str) -> None:
    assert meta_key_problem(key) is not None


@pytest.mark.rule("META-05")
@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("io.modelcontextprotocol/related-task", True),
        ("com.mcp.tools/x", True),
        ("dev.mcp/x", True),
        ("com.example.mcp/x", False),
        ("mcp/x", False),
        ("mcp.dev/x", False),
        ("progressToken", False),
    ],
)
def test_meta_05_reserved_prefixes(key: str, reserved: bool) -> None:
    assert is_reserved_meta_key(key) is reserved


@pytest.mark.rule("META-08")
def test_meta_08_the_keys_of_this_revision() -> None:
    assert (PROGRESS_TOKEN, RELATED_TASK, MODEL_IMMEDIATE_RESPONSE) == (
        "progressToken",
        "io.modelcontextprotocol/related-task",
        "io.modelcontextprotocol/model-immediate-response",
    )


@pytest.mark.rule("META-01", "META-02")
def test_meta_02_bad_keys_are_refused_from_us_and_reported_from_them() -> None:
    client, server = ready_pair()
    with pytest.raises(LocalProtocolError) as caught:
        client.send_request(t.PingRequest(t.RequestParams(meta={"-bad": 1})))
    assert caught.value.rule == "META-02"
    call = request("m", "tools/call", {"name": "t", "_meta": {"-bad": 1}})
    assert names(feed(server, call)) == ["ProtocolViolation:META-02", "RequestReceived"]
    server.send_result("m", t.CallToolResult([]))
    # Reserved keys that nobody knows yet are handed through untouched.
    later = {"io.modelcontextprotocol/tomorrow": {"a": [None]}}
    [event] = feed(server, request("n", "tools/call", {"name": "t", "_meta": later}))
    assert isinstance(event, RequestReceived)
    assert event.params.meta == later


@pytest.mark.rule("X-22")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
def test_x_22_meta_is_allowed_on_every_params(method: str) -> None:
    from sansmcp import METHODS, structure, unstructure

    params = {"taskId": "t", "_meta": {"a": 1}}
    assert unstructure(structure(params, METHODS.requests[method].params)) == params
    complete = {"elicitationId": "e", "_meta": {"a": 1}}
    row = METHODS.notifications["notifications/elicitation/complete"]
    assert unstructure(structure(complete, row.params)) == complete


# ---- base64


@pytest.mark.rule("PROMPT-04", "PROMPT-05", "RES-15", "PROMPT-06")
@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (t.CallToolResult([t.ImageContent("%%%", "image/png")]), "PROMPT-04"),
        (t.CallToolResult([t.TextContent("a"), t.AudioContent("a", "audio/wav")]), "PROMPT-05"),
        (t.GetPromptResult([t.PromptMessage("user", t.ImageContent("a b=", "x/y"))]), "PROMPT-04"),
        (t.ReadResourceResult([t.BlobResourceContents("a:b", "====")]), "RES-15"),
        (t.CallToolResult([t.EmbeddedResource(t.BlobResourceContents("a:b", "é"))]), "RES-15"),
        (t.CreateMessageRequestParams([t.SamplingMessage("user", t.ImageContent("a", "x/y"))], 1), "PROMPT-04"),
        (t.CreateMessageResult("assistant", t.AudioContent("-", "x/y"), "m"), "PROMPT-05"),
        (
            t.CreateMessageRequestParams(
                [t.SamplingMessage("user", [t.ToolResultContent("u", [t.ImageContent("a", "x/y")])])], 1
            ),
            "PROMPT-04",
        ),
    ],
)  # fmt: skip
def test_prompt_04_data_are_base64_wherever_they_occur(part: Any, rule: str) -> None:
    assert rules_of(part) == [rule]


@pytest.mark.rule("PROMPT-04", "RES-15", "RES-18")
@pytest.mark.parametrize("data", ["", PNG, "AA==", "AAA=", "AAAA"])
def test_prompt_04_good_base64_is_no_problem(data: str) -> None:
    assert rules_of(t.CallToolResult([t.ImageContent(data, "image/png")])) == []
    assert rules_of(t.ReadResourceResult([t.BlobResourceContents("a:b", data)])) == []


@pytest.mark.rule("PROMPT-04", "PROMPT-05", "RES-15")
@pytest.mark.parametrize(
    "data",
    ["A", "AA", "AA=", "AAA", "=", "====", "A===", "AAAA=", "AAAA==", "AAAA====", "AA==AA==",
     "AAAA\n", " AAAA", "AA-_", "AA\0A"],
)  # fmt: skip
def test_prompt_04_padding_is_exact_on_every_python(data: str) -> None:
    assert rules_of(t.CallToolResult([t.ImageContent(data, "image/png")])) == ["PROMPT-04"]
    assert rules_of(t.CallToolResult([t.AudioContent(data, "audio/wav")])) == ["PROMPT-05"]
    assert rules_of(t.ReadResourceResult([t.BlobResourceContents("a:b", data)])) == ["RES-15"]


@pytest.mark.rule("PROMPT-04", "RES-15")
def test_prompt_04_bad_data_are_refused_from_us_and_reported_from_them() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    with pytest.raises(LocalProtocolError):
        server.send_result(id, t.CallToolResult([t.ImageContent("%", "image/png")]))
    assert id in server.incoming
    value = {"content": [{"type": "image", "data": "%", "mimeType": "image/png"}]}
    assert names(feed(client, result(id, value))) == [
        "ProtocolViolation:PROMPT-04",
        "ResultReceived",
    ]


# ---- roots, annotations, schemas


@pytest.mark.rule("ROOT-03")
def test_root_03_roots_are_file_uris() -> None:
    client, server = ready_pair()
    id = server.list_roots()
    pump(client, server)
    for uri in ("https://example.com/", "/etc", "file:/etc", ""):
        with pytest.raises(LocalProtocolError) as caught:
            client.send_result(id, t.ListRootsResult([t.Root("file:///ok"), t.Root(uri)]))
        assert caught.value.rule == "ROOT-03"
    sent(client)
    value = {"roots": [{"uri": "https://example.com/"}]}
    assert names(feed(server, result(id, value))) == ["ProtocolViolation:ROOT-03", "ResultReceived"]


@pytest.mark.rule("RES-19", "SAMP-40")
def test_res_19_priorities_are_from_0_to_1() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    for priority in (-0.1, 1.1, float("nan")):
        block = t.TextContent("a", annotations=t.Annotations(priority=priority))
        with pytest.raises(LocalProtocolError):
            server.send_result(id, t.CallToolResult([block]))
        with pytest.raises(LocalProtocolError):
            server.create_message(
                [], 1, model_preferences=t.ModelPreferences(cost_priority=priority)
            )
    for priority in (0, 1, 0.5):
        block = t.TextContent("a", annotations=t.Annotations(priority=priority))
        assert rules_of(t.CallToolResult([block])) == []


@pytest.mark.rule("TOOL-08")
@pytest.mark.parametrize("schema", [None, {}, {"type": "string"}, {"type": ["object"]}, [], True])
def test_tool_08_the_input_schema_is_that_of_an_object(schema: Any) -> None:
    server = ready_server()
    feed(server, request(1, "tools/list"))
    with pytest.raises(LocalProtocolError):
        server.send_result(1, t.ListToolsResult([t.Tool("t", schema)]))
    with pytest.raises(LocalProtocolError) as caught:
        Catalog(tools=[t.Tool("t", schema)])
    assert caught.value.rule == "TOOL-08"


# ---- advice


@pytest.mark.rule("TOOL-13", "TOOL-15", "TOOL-16")
@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True), ("getUser", True), ("DATA_EXPORT_v2", True), ("admin.tools-list", True),
        ("x" * 128, True), ("x" * 129, False), ("", False), ("a b", False), ("a,b", False),
        ("a/b", False), ("ä", False), ("a\n", False),
    ],
)  # fmt: skip
def test_tool_13_names(name: str, good: bool) -> None:
    assert (tool_name_problem(name) is None) is good
    found = [broken.rule for broken in lint(t.ListToolsResult([t.Tool(name, {"type": "object"})]))]
    assert found == ([] if good else ["TOOL-15"])


@pytest.mark.rule("ICON-14")
def test_icon_14_sizes() -> None:
    good = t.Icon("https://a.example/i.png", sizes=["48x48", "any", "1x1"])
    assert list(lint(t.ListPromptsResult([t.Prompt("p", icons=[good])]))) == []
    for size in ("48", "48X48", "x", "0x0", "48x48 ", "ANY", ""):
        bad = t.Icon("https://a.example/i.png", sizes=[size])
        for page in (
            t.ListPromptsResult([t.Prompt("p", icons=[bad])]),
            t.ListToolsResult([t.Tool("t", {"type": "object"}, icons=[bad])]),
            t.ListResourcesResult([t.Resource("r", "a:b", icons=[bad])]),
            t.ListResourceTemplatesResult([t.ResourceTemplate("r", "a:b", icons=[bad])]),
        ):
            assert [broken.rule for broken in lint(page)] == ["ICON-14"]


@pytest.mark.rule("TOOL-21", "PROMPT-06", "X-23", "SAMP-08", "JRPC-14")
def test_x_23_what_is_unwise_is_warned_of_and_sent() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    prompt = client.get_prompt("p")
    pump(client, server)
    bare = t.EmbeddedResource(t.TextResourceContents("a:b", "text"))
    with pytest.warns(ProtocolWarning, match="PROMPT-06"):
        server.send_result(prompt, t.GetPromptResult([t.PromptMessage("user", bare)]))
    with pytest.warns(ProtocolWarning, match="TOOL-21"):
        server.send_result(id, t.CallToolResult([], structured_content={}))
    with pytest.warns(ProtocolWarning, match="SAMP-08"):
        server.create_message([], 1, include_context="allServers")
    other = client.call_tool("t")
    pump(client, server)
    with pytest.warns(ProtocolWarning, match="JRPC-14"):
        server.send_error(other, 1, "Traceback:\n  file x")
    events, _ = pump(client, server)
    assert isinstance(events[-1], ErrorReceived)


@pytest.mark.filterwarnings("error::sansmcp.ProtocolWarning")
def test_a_warning_turned_into_an_error_changes_nothing() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    with pytest.raises(ProtocolWarning):
        server.send_result(id, t.CallToolResult([], structured_content={}))
    assert id in server.incoming
    assert sent(server) == []


# ---- errors of the protocol, and those of a tool


@pytest.mark.rule("S05", "RES-12", "PROMPT-09", "COMP-07", "LOG-06", "ROOT-05", "TOOL-27")
def test_s05_a_failure_of_ours_is_neutral_on_the_wire() -> None:
    client, server = ready_pair()
    ids = [
        client.call_tool("t"),
        client.read_resource("a:b"),
        client.get_prompt("p"),
        client.complete(t.PromptReference("p"), "a", "v"),
    ]
    pump(client, server)
    for id in ids:
        server.send_internal_error(id)
    events, _ = pump(client, server)
    assert [event.error for event in events] == [t.Error(-32603, "Internal error")] * 4
    asked = server.list_roots()
    pump(client, server)
    client.send_internal_error(asked)
    _, [event] = pump(client, server)
    assert event.error == t.Error(-32603, "Internal error")


@pytest.mark.rule("TOOL-26")
def test_tool_26_a_tool_that_fails_says_so_in_a_result() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    server.send_result(id, t.CallToolResult([t.TextContent("no luck")], is_error=True))
    [event], _ = pump(client, server)
    assert isinstance(event, ResultReceived)
    assert event.result == t.CallToolResult([t.TextContent("no luck")], is_error=True)


@pytest.mark.rule("JRPC-16")
def test_jrpc_16_the_codes() -> None:
    assert {name: getattr(errors, name) for name in errors.__all__ if name.isupper()} == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "RESOURCE_NOT_FOUND": -32002,
        "URL_ELICITATION_REQUIRED": -32042,
        "USER_REJECTED": -1,
    }


@pytest.mark.rule("LIFE-22", "LIFE-15")
def test_life_22_a_missing_capability_has_an_exception_of_its_own() -> None:
    client = ready_pair(None, {"capabilities": t.ServerCapabilities()})[0]
    with pytest.raises(CapabilityError):
        client.list_tools()
    with pytest.raises(CapabilityError):
        ready_client(capabilities=t.ClientCapabilities()).roots_list_changed()


@pytest.mark.rule("X-06", "JRPC-08")
def test_x_06_a_result_is_checked_against_its_own_method() -> None:
    client, server = ready_pair()
    id = client.list_tools()
    pump(client, server)
    for other in (t.Result(), t.CallToolResult([]), t.ListPromptsResult([])):
        with pytest.raises(LocalProtocolError) as caught:
            server.send_result(id, other)
        assert caught.value.rule == "JRPC-08"


@pytest.mark.rule("PROMPT-04", "PROMPT-05", "PROMPT-06")
@pytest.mark.parametrize(
    ("mime_type", "good"),
    [
        ("image/png", True),
        ("application/vnd.example+json", True),
        ("text/plain; charset=utf-8", True),
        ("no mime at all", False),
        ("", False),
        ("image", False),
        ("image/", False),
        ("/png", False),
        ("image/png/x", False),
        ("im age/png", False),
    ],
)
def test_prompt_04_mime_types(mime_type: str, good: bool) -> None:
    resource = t.TextResourceContents("a:b", "x", mime_type)
    for block, rule in (
        (t.ImageContent("", mime_type), "PROMPT-04"),
        (t.AudioContent("", mime_type), "PROMPT-05"),
        (t.EmbeddedResource(resource), "PROMPT-06"),
    ):
        assert rules_of(t.CallToolResult([block])) == ([] if good else [rule])


@pytest.mark.rule("META-02")
def test_meta_02_keys_are_looked_at_on_every_item_of_a_list() -> None:
    bad = {"-bad/ key!": 1}
    for page in (
        t.ListToolsResult([t.Tool("t", {"type": "object"}, meta=bad)]),
        t.ListPromptsResult([t.Prompt("p", meta=bad)]),
        t.ListResourcesResult([t.Resource("r", "a:b", meta=bad)]),
        t.ListResourceTemplatesResult([t.ResourceTemplate("r", "a:{b}", meta=bad)]),
        t.ListRootsResult([t.Root("file:///", meta=bad)]),
    ):
        assert rules_of(page) == ["META-02"]
