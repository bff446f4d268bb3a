"""Log levels, subscriptions, lists, and what a catalog does (server/*, server/utilities/*)."""

from typing import Any

import pytest

from sansmcp import (
    Catalog,
    ErrorReceived,
    Limits,
    LocalProtocolError,
    LogLevelChanged,
    NotificationReceived,
    ProtocolViolation,
    RequestReceived,
    ResourceSubscribed,
    ResourceUnsubscribed,
    ResultReceived,
)
from sansmcp.state import LOGGING_LEVELS
from sansmcp.types import (
    CallToolResult,
    CompleteResult,
    Completion,
    Error,
    GetPromptResult,
    ListResourcesResult,
    ListToolsResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    Prompt,
    PromptArgument,
    PromptReference,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    ResourceTemplateReference,
    ServerCapabilities,
    TextContent,
    TextResourceContents,
    Tool,
    ToolsCapability,
)

from .support import (
    error,
    feed,
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

# ---- logging


@pytest.mark.rule("LOG-03", "LOG-04", "S15")
@pytest.mark.parametrize("threshold", LOGGING_LEVELS)
def test_log_03_nothing_below_the_level_is_sent(threshold) -> None:
    client, server = ready_pair()
    assert all(server.log(level, "before") for level in LOGGING_LEVELS)
    assert server.logging_level is None
    client.set_logging_level(threshold)
    of_client, of_server = pump(client, server)
    assert of_server == [LogLevelChanged(threshold)] and server.logging_level == threshold
    assert isinstance(of_client[-1], ResultReceived)
    went = [level for level in LOGGING_LEVELS if server.log(level, {"at": level}, "unit")]
    assert went == list(LOGGING_LEVELS[LOGGING_LEVELS.index(threshold) :])
    of_client, _ = pump(client, server)
    assert [event.params.level for event in of_client] == went
    assert of_client[0] == NotificationReceived(
        LoggingMessageNotification(
            LoggingMessageNotificationParams(threshold, {"at": threshold}, "unit")
        )
    )


@pytest.mark.rule("LOG-05", "S15")
@pytest.mark.parametrize("level", ["loud", "", None, 3, "INFO"])
def test_log_05_an_invalid_level_is_refused(level) -> None:
    server = ready_server()
    [event] = feed(server, request(1, "logging/setLevel", {"level": level}))
    assert isinstance(event, ProtocolViolation) and "params.level" in event.detail
    assert sent(server)[0]["error"]["code"] == -32602
    assert server.logging_level is None


@pytest.mark.rule("LOG-19", "H38")
@pytest.mark.parametrize("data", [None, 0, "", [], {}, {"a": [None]}])
def test_log_19_data_is_any_json_and_null_is_not_absent(data) -> None:
    client, server = ready_pair()
    server.log("info", data)
    [message] = sent(server)
    assert message["params"] == {"level": "info", "data": data}
    [event] = feed(client, message)
    assert isinstance(event, NotificationReceived) and event.params.data == data
    assert names(feed(client, notification("notifications/message", {"level": "info"}))) == [
        "ProtocolViolation:GEN-03"
    ]


# ---- subscriptions


@pytest.mark.rule("RES-04", "RES-06")
def test_res_06_updates_go_to_those_who_subscribed() -> None:
    client, server = ready_pair()
    assert server.resource_updated("file:///a") is False and sent(server) == []
    client.subscribe("file:///a")
    client.subscribe("file:///dir/")
    _, of_server = pump(client, server)
    assert of_server == [ResourceSubscribed("file:///a"), ResourceSubscribed("file:///dir/")]
    assert server.subscriptions == {"file:///a", "file:///dir/"}
    wanted = ["file:///a", "file:///a/b", "file:///dir/x/y", "file:///dir/"]
    unwanted = ["file:///ab", "file:///b", "file:///", "", "/" * 10_000, "file:///di"]
    assert [uri for uri in wanted + unwanted if server.resource_updated(uri)] == wanted
    of_client, _ = pump(client, server)
    assert [event.params.uri for event in of_client] == wanted

    client.unsubscribe("file:///a")
    _, of_server = pump(client, server)
    assert of_server == [ResourceUnsubscribed("file:///a")]
    assert server.resource_updated("file:///a") is False


@pytest.mark.rule("RES-05", "X-21")
def test_res_05_unsubscribing_follows_subscribing() -> None:
    client, server = ready_pair()
    with pytest.raises(LocalProtocolError) as caught:
        client.unsubscribe("file:///a")
    assert caught.value.rule == "RES-05"
    events = feed(server, request("x", "resources/unsubscribe", {"uri": "file:///a"}))
    assert names(events) == ["ProtocolViolation:RES-05", "ResourceUnsubscribed"]
    assert sent(server) == [result("x", {})]


@pytest.mark.rule("RES-06")
def test_res_06_an_update_that_crosses_the_unsubscription_is_no_violation() -> None:
    client, server = ready_pair()
    client.subscribe("a:b")
    pump(client, server)
    client.unsubscribe("a:b")
    server.resource_updated("a:b")
    of_client, of_server = pump(client, server)
    assert names(of_client) == ["NotificationReceived", "ResultReceived"]
    updated = notification("notifications/resources/updated", {"uri": "a:b"})
    assert names(feed(client, updated)) == ["ProtocolViolation:RES-06", "NotificationReceived"]
    assert names(of_server) == ["ResourceUnsubscribed"]


@pytest.mark.rule("RES-06")
def test_res_06_a_refused_subscription_is_none() -> None:
    client = ready_client()
    id = client.subscribe("a:b")
    feed(client, error(id, -32002))
    with pytest.raises(LocalProtocolError):
        client.unsubscribe("a:b")


def test_limit_subscriptions() -> None:
    client, server = ready_pair(None, {"limits": Limits(max_subscriptions=2)})
    for uri in ("a:1", "a:2", "a:3", "a:1"):
        client.subscribe(uri)
    of_client, of_server = pump(client, server)
    kinds = [type(event) for event in of_client]
    assert kinds == [ResultReceived, ResultReceived, ErrorReceived, ResultReceived]
    assert "ProtocolViolation:LIMIT-01" in names(of_server) and len(server.subscriptions) == 2


# ---- the catalog


def tools(count: int) -> list[Tool]:
    return [Tool(f"tool-{n}", {"type": "object"}) for n in range(count)]


CATALOG_KINDS: dict[str, tuple[str, Any]] = {
    "tools/list": ("tools", lambda n: Tool(f"x{n}", {"type": "object"})),
    "prompts/list": ("prompts", lambda n: Prompt(f"x{n}")),
    "resources/list": ("resources", lambda n: Resource(f"x{n}", f"a:{n}")),
    "resources/templates/list": (
        "resource_templates",
        lambda n: ResourceTemplate("t", f"a:{n}/{{x}}"),
    ),
}


@pytest.mark.rule("PAGE-01", "PAGE-02", "PAGE-03", "PAGE-06", "PAGE-07", "PAGE-08", "PAGE-09")
@pytest.mark.parametrize("method", CATALOG_KINDS)
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_page_03_pages_cover_the_list_once_and_in_order(method, size) -> None:
    kind, make = CATALOG_KINDS[method]
    items = [make(n) for n in range(7)]
    server = ready_server(catalog=Catalog(**{kind: items}, page_size=size))
    seen, cursor, id = [], None, 0
    while True:
        id += 1
        params: Any = None if cursor is None else {"cursor": cursor}
        assert feed(server, request(id, method, params)) == []
        [answer] = sent(server)
        key = "resourceTemplates" if kind == "resource_templates" else kind
        page = answer["result"][key]
        assert 0 < len(page) <= size
        seen += page
        if "nextCursor" not in answer["result"]:
            break
        cursor = answer["result"]["nextCursor"]
    from sansmcp import unstructure

    assert seen == [unstructure(item) for item in items]


@pytest.mark.rule("PAGE-05")
@pytest.mark.parametrize(
    "cursor", ["", "0", "-1", "x", "07", " 1", "1 ", "99", "\uff11", "1.0", "9" * 5000]
)
def test_page_05_a_cursor_that_is_not_ours_is_refused(cursor) -> None:
    server = ready_server(catalog=Catalog(tools=tools(3), page_size=1))
    assert feed(server, request(1, "tools/list", {"cursor": cursor})) == []
    assert sent(server)[0]["error"]["code"] == -32602


@pytest.mark.rule("PAGE-03", "PAGE-04")
def test_page_03_pages_stay_put_while_the_list_changes() -> None:
    catalog: Any = Catalog(tools=tools(4), page_size=2)
    page, cursor = catalog.tools.page(None, 2)
    assert [tool.name for tool in page] == ["tool-0", "tool-1"]
    catalog.tools.remove("tool-1")
    catalog.tools.add(Tool("late", {"type": "object"}))
    rest, end = catalog.tools.page(cursor, 5)
    assert [tool.name for tool in rest] == ["tool-2", "tool-3", "late"] and end is None


@pytest.mark.rule("PAGE-08", "PAGE-09", "H37")
@pytest.mark.parametrize("cursor", ["", " ", "\u2028", "eyJhIjoxfQ==", "x" * 10_000])
def test_page_08_a_client_hands_cursors_back_as_they_came(cursor) -> None:
    client = ready_client()
    id = client.list_tools()
    sent(client)
    [event] = feed(client, result(id, {"tools": [], "nextCursor": cursor}))
    assert isinstance(event.result, ListToolsResult) and event.result.next_cursor == cursor
    client.list_tools(event.result.next_cursor)
    assert sent(client)[0]["params"] == {"cursor": cursor}


@pytest.mark.rule("TOOL-17", "S13")
def test_tool_17_two_of_one_name_are_refused() -> None:
    catalog = Catalog(tools=tools(1))
    with pytest.raises(LocalProtocolError) as caught:
        catalog.tools.add(tools(1)[0])
    assert caught.value.rule == "TOOL-17"
    catalog.tools.add(Tool("TOOL-0", {"type": "object"}))  # TOOL-14: case matters.
    with pytest.raises(LocalProtocolError):
        Catalog(prompts=[Prompt("p"), Prompt("p")])
    with pytest.raises(LocalProtocolError):
        Catalog(resources=[Resource("a", "u:1"), Resource("b", "u:1")])
    with pytest.raises(ValueError, match="page_size"):
        Catalog(page_size=0)
    with pytest.raises(KeyError):
        catalog.tools.remove("nope")


@pytest.mark.rule("TOOL-27", "TOOL-14", "S11")
def test_tool_27_an_unknown_tool_is_an_error_of_the_protocol() -> None:
    server = ready_server(catalog=Catalog(tools=tools(1)))
    for id, name in enumerate(["nope", "TOOL-0", "", "x" * 10_000]):
        assert feed(server, request(id, "tools/call", {"name": name})) == []
        [refused] = sent(server)
        assert refused["error"]["code"] == -32602 and "nknown tool" in refused["error"]["message"]
    assert names(feed(server, request("known", "tools/call", {"name": "tool-0"}))) == [
        "RequestReceived"
    ]


@pytest.mark.rule("PROMPT-07", "PROMPT-08", "PROMPT-10", "S14")
def test_prompt_08_a_prompt_needs_its_required_arguments() -> None:
    prompt = Prompt("p", arguments=[PromptArgument("a", required=True), PromptArgument("b")])
    server = ready_server(catalog=Catalog(prompts=[prompt]))
    bad = [{"name": "q"}, {"name": "p"}, {"name": "p", "arguments": {"b": "x"}}]
    for id, params in enumerate(bad):
        assert feed(server, request(f"bad {id}", "prompts/get", params)) == []
        assert sent(server)[0]["error"]["code"] == -32602
    good = {"name": "p", "arguments": {"a": ""}}
    assert names(feed(server, request(1, "prompts/get", good))) == ["RequestReceived"]
    server.send_result(1, GetPromptResult([]))


@pytest.mark.rule("S23", "TOOL-06", "RES-02", "PROMPT-02")
def test_s23_a_changed_catalog_is_told_to_every_client_once() -> None:
    catalog = Catalog(tools=tools(1))
    pairs = [ready_pair(None, {"catalog": catalog}) for _ in range(2)]
    quiet = ready_pair(
        None, {"catalog": catalog, "capabilities": ServerCapabilities(tools=ToolsCapability())}
    )
    catalog.tools.add(Tool("new", {"type": "object"}))
    catalog.tools.add(Tool("newer", {"type": "object"}))
    catalog.resource_templates.add(ResourceTemplate("t", "a:{b}"))
    for _, server in pairs:
        assert [message["method"] for message in sent(server)] == [
            "notifications/tools/list_changed",
            "notifications/resources/list_changed",
        ]
        assert sent(server) == []
    assert sent(quiet[1]) == []
    catalog.prompts.add(Prompt("p"))
    catalog.tools.remove("new")
    assert len(pairs[0][1].messages_to_send()) == 2


def test_a_catalog_that_changes_before_the_handshake_needs_no_telling() -> None:
    from .support import make_server

    catalog = Catalog()
    server = make_server(catalog=catalog)
    catalog.tools.add(tools(1)[0])
    assert server.data_to_send() == b""


# ---- structured output

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def validate(schema, value):
    return None if isinstance(value.get("n"), int) else "n is no integer"


@pytest.mark.rule("TOOL-22", "X-28")
def test_tool_22_a_server_keeps_its_own_output_schema() -> None:
    tool = Tool("t", {"type": "object"}, output_schema=SCHEMA)
    server = ready_server(catalog=Catalog(tools=[tool]), validate=validate)
    feed(server, request(1, "tools/call", {"name": "t"}))
    text = TextContent("n")
    for bad in (CallToolResult([]), CallToolResult([text], structured_content={"n": "x"})):
        with pytest.raises(LocalProtocolError) as caught:
            server.send_result(1, bad)
        assert caught.value.rule == "TOOL-22"
    server.send_result(1, CallToolResult([text], structured_content={"n": 1}))
    feed(server, request(2, "tools/call", {"name": "t"}))
    server.send_result(2, CallToolResult([TextContent("broken")], is_error=True))


@pytest.mark.rule("TOOL-23")
def test_tool_23_a_client_checks_what_it_knows_of() -> None:
    client = ready_client(validate=validate)
    listed = client.list_tools()
    feed(
        client,
        result(
            listed,
            {"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}]},
        ),
    )
    id = client.call_tool("t")
    assert names(feed(client, result(id, {"content": [], "structuredContent": {"n": 1}}))) == [
        "ResultReceived"
    ]
    id = client.call_tool("t")
    assert names(feed(client, result(id, {"content": [], "structuredContent": {"n": "x"}}))) == [
        "ProtocolViolation:TOOL-22",
        "ErrorReceived",
    ]
    id = client.call_tool("t")
    assert names(feed(client, result(id, {"content": []}))) == [
        "ProtocolViolation:TOOL-22",
        "ResultReceived",
    ]
    id = client.call_tool("unlisted")
    assert names(feed(client, result(id, {"content": []}))) == ["ResultReceived"]


# ---- plain exchanges of every kind


@pytest.mark.rule("COMP-02", "COMP-03", "COMP-06", "RES-11", "RES-15", "RES-18")
def test_every_request_of_a_client_reaches_the_server_and_comes_back_typed() -> None:
    client, server = ready_pair()
    exchanges = [
        (lambda: client.list_tools("c"), ListToolsResult(tools(2), next_cursor="d")),
        (lambda: client.call_tool("t", {"a": 1}), CallToolResult([TextContent("x")])),
        (
            lambda: client.read_resource("a:b"),
            ReadResourceResult([TextResourceContents("a:b", "text")]),
        ),
        (lambda: client.get_prompt("p", {"a": "b"}), GetPromptResult([])),
        (
            lambda: client.complete(PromptReference("p"), "a", "v", context={"b": "w"}),
            CompleteResult(Completion(["one"], has_more=True)),
        ),
        (
            lambda: client.complete(ResourceTemplateReference("a:{b}"), "b", ""),
            CompleteResult(Completion([])),
        ),
    ]
    for ask, answer in exchanges:
        id = ask()
        _, [event] = pump(client, server)
        assert isinstance(event, RequestReceived) and event.id == id
        assert event.revision == "2025-11-25" and event.peer_capabilities == client._capabilities
        server.send_result(id, answer)
        [back], _ = pump(client, server)
        assert isinstance(back, ResultReceived) and back.result == answer


@pytest.mark.rule("RES-11")
def test_res_11_an_unknown_resource_has_a_code_of_its_own() -> None:
    client, server = ready_pair()
    id = client.read_resource("a:b")
    pump(client, server)
    server.send_error(id, -32002, "Resource not found", {"uri": "a:b"})
    [event], _ = pump(client, server)
    assert isinstance(event, ErrorReceived)
    assert event.error == Error(-32002, "Resource not found", {"uri": "a:b"})


@pytest.mark.rule("COMP-03")
def test_comp_03_more_than_a_hundred_values_are_refused_and_reported() -> None:
    client, server = ready_pair()
    id = client.complete(PromptReference("p"), "a", "")
    pump(client, server)
    with pytest.raises(LocalProtocolError) as caught:
        server.send_result(id, CompleteResult(Completion([str(n) for n in range(101)])))
    assert caught.value.rule == "COMP-03"
    values = {"completion": {"values": [str(n) for n in range(101)]}}
    assert names(feed(client, result(id, values))) == [
        "ProtocolViolation:COMP-03",
        "ResultReceived",
    ]


@pytest.mark.rule("H37")
def test_h37_null_members_are_refused_with_their_path() -> None:
    client = ready_client()
    for value, path in (
        ({"tools": [], "nextCursor": None}, "result.nextCursor"),
        ({"tools": None}, "result.tools"),
        ({"tools": [{"name": "t", "inputSchema": None}]}, "result.tools[0].inputSchema"),
    ):
        id = client.list_tools()
        violation, _ = feed(client, result(id, value))
        assert isinstance(violation, ProtocolViolation) and path in violation.detail


@pytest.mark.rule("H39", "H40")
def test_h39_schemas_and_uris_are_kept_to_the_letter() -> None:
    schema = {
        "type": "object",
        "$ref": "#/$defs/a",
        "anyOf": [{}, True],
        "additionalProperties": False,
        "properties": {f"p{n}": {"type": ["string", "null"]} for n in range(500)},
    }
    client = ready_client()
    id = client.list_tools()
    [event] = feed(client, result(id, {"tools": [{"name": "t", "inputSchema": schema}]}))
    assert (
        isinstance(event.result, ListToolsResult) and event.result.tools[0].input_schema == schema
    )
    uris = ["../a b", "файл:///ä", "http://x/%7e/./..", ""]
    resources = [{"name": "n", "uri": uri, "size": 2**60 + n} for n, uri in enumerate(uris)]
    id = client.list_resources()
    [event] = feed(client, result(id, {"resources": resources}))
    assert isinstance(event.result, ListResourcesResult)
    assert [r.uri for r in event.result.resources] == uris
    assert [r.size for r in event.result.resources] == [2**60 + n for n in range(4)]


@pytest.mark.rule("TOOL-23")
def test_tool_23_a_validator_that_raises_is_an_answer_that_does_not_fit() -> None:
    def fragile(schema: Any, value: Any) -> str | None:
        raise RecursionError

    client = ready_client(validate=fragile)
    listed = client.list_tools()
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
    feed(client, result(listed, {"tools": [tool]}))
    id = client.call_tool("t")
    events = feed(client, result(id, {"content": [], "structuredContent": {}}))
    assert names(events) == ["ProtocolViolation:TOOL-22", "ErrorReceived"]
    assert not client.outgoing


@pytest.mark.filterwarnings("error::sansmcp.ProtocolWarning")
def test_what_is_answered_by_itself_warns_of_nothing() -> None:
    server = ready_server(catalog=Catalog(tools=[Tool("bad name", {"type": "object"})]))
    assert feed(server, request(1, "tools/list")) == []
    assert len(sent(server)) == 1
