"""Nothing is used that was not negotiated (basic/lifecycle, Operation)."""

from typing import Any

import pytest

from sansmcp import (
    LocalProtocolError,
    NotificationReceived,
    ProtocolViolation,
)
from sansmcp.methods import METHODS, SERVER
from sansmcp.types import (
    ClientCapabilities,
    ElicitationCapability,
    ModelPreferences,
    PromptReference,
    PromptsCapability,
    ResourcesCapability,
    RootsCapability,
    SamplingCapability,
    SamplingMessage,
    ServerCapabilities,
    TextContent,
    ToolChoice,
    ToolsCapability,
)

from .support import (
    feed,
    names,
    notification,
    ready_client,
    ready_pair,
    ready_server,
    request,
    sent,
)
from .test_elicitation_connection import FORM

HELLO = [SamplingMessage("user", TextContent("hi"))]

CLIENT_CALLS = {
    "tools": [lambda c: c.list_tools(), lambda c: c.call_tool("t")],
    "prompts": [lambda c: c.list_prompts(), lambda c: c.get_prompt("p")],
    "resources": [
        lambda c: c.list_resources(),
        lambda c: c.list_resource_templates(),
        lambda c: c.read_resource("a:b"),
    ],
    "resources.subscribe": [lambda c: c.subscribe("a:b")],
    "completions": [lambda c: c.complete(PromptReference("p"), "a", "v")],
    "logging": [lambda c: c.set_logging_level("info")],
}
SERVER_HAS: dict[str, Any] = {
    "tools": {"tools": ToolsCapability()},
    "prompts": {"prompts": PromptsCapability()},
    "resources": {"resources": ResourcesCapability()},
    "resources.subscribe": {"resources": ResourcesCapability(subscribe=True)},
    "completions": {"completions": {}},
    "logging": {"logging": {}},
}


@pytest.mark.rule("LIFE-15", "LOG-02", "RES-04", "PROMPT-12", "S02", "LIFE-22")
@pytest.mark.parametrize("capability", CLIENT_CALLS)
def test_life_15_a_client_asks_for_nothing_that_was_not_declared(capability: str) -> None:
    client = ready_pair(None, {"capabilities": ServerCapabilities()})[0]
    for call in CLIENT_CALLS[capability]:
        with pytest.raises(LocalProtocolError) as caught:
            call(client)
        assert caught.value.rule in ("LIFE-15", "LOG-01") and capability in str(caught.value)
        assert client.data_to_send() == b"" and not client.outgoing
    declared = ServerCapabilities(**SERVER_HAS[capability])
    client = ready_pair(None, {"capabilities": declared})[0]
    for call in CLIENT_CALLS[capability]:
        call(client)
    assert sent(client)


SERVER_CALLS = {
    "roots": [lambda s: s.list_roots()],
    "sampling": [lambda s: s.create_message(HELLO, 5)],
    "elicitation": [lambda s: s.elicit("?", FORM)],
}


@pytest.mark.rule("LIFE-15", "ROOT-17", "S01", "SAMP-07", "ELIC-07", "ROOT-01")
@pytest.mark.parametrize("capability", SERVER_CALLS)
def test_life_15_a_server_asks_for_nothing_that_was_not_declared(capability: str) -> None:
    server = ready_pair({"capabilities": ClientCapabilities()})[1]
    for call in SERVER_CALLS[capability]:
        with pytest.raises(LocalProtocolError) as caught:
            call(server)
        assert caught.value.rule in ("LIFE-15", "ROOT-17")
        assert server.data_to_send() == b"" and not server.outgoing


@pytest.mark.rule(
    "LIFE-15", "TOOL-05", "RES-01", "PROMPT-01", "COMP-01", "COMP-04", "LOG-01", "GEN-02"
)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", None),
        ("tools/call", {"name": "t"}),
        ("prompts/list", None),
        ("prompts/get", {"name": "p"}),
        ("resources/list", None),
        ("resources/templates/list", None),
        ("resources/read", {"uri": "a:b"}),
        ("resources/subscribe", {"uri": "a:b"}),
        ("resources/unsubscribe", {"uri": "a:b"}),
        ("completion/complete", {}),
        ("logging/setLevel", {"level": "info"}),
        ("tasks/list", None),
        ("tasks/get", {"taskId": "t"}),
    ],
)
def test_life_15_a_server_refuses_what_it_did_not_declare(method, params) -> None:
    server = ready_server(capabilities=ServerCapabilities())
    [event] = feed(server, request(1, method, params))
    assert isinstance(event, ProtocolViolation)
    [refused] = sent(server)
    assert (refused["id"], refused["error"]["code"]) == (1, -32601)


@pytest.mark.rule("ROOT-04", "S22", "X-19", "LIFE-15", "S01")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("roots/list", None),
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("elicitation/create", {"message": "", "requestedSchema": {}}),
        ("tasks/list", None),
    ],
)
def test_root_04_a_client_refuses_what_it_did_not_declare(method, params) -> None:
    client = ready_client(capabilities=ClientCapabilities())
    sent(client)
    [event] = feed(client, request(1, method, params))
    assert isinstance(event, ProtocolViolation)
    assert sent(client)[0]["error"]["code"] == -32601


@pytest.mark.rule("TOOL-06", "RES-02", "PROMPT-02", "ROOT-02", "LIFE-15", "LOG-01", "S01", "S15")
def test_life_15_notifications_need_their_capability() -> None:
    bare = ServerCapabilities(
        tools=ToolsCapability(),
        prompts=PromptsCapability(list_changed=False),
        resources=ResourcesCapability(),
    )
    client, server = ready_pair(
        {"capabilities": ClientCapabilities(roots=RootsCapability())}, {"capabilities": bare}
    )
    calls = [
        lambda: server.tools_list_changed(),
        lambda: server.prompts_list_changed(),
        lambda: server.resources_list_changed(),
        lambda: server.resource_updated("a:b"),
        lambda: server.log("emergency", "fire"),
        lambda: client.roots_list_changed(),
        lambda: server.elicitation_complete("e"),
    ]
    for call in calls:
        with pytest.raises(LocalProtocolError) as caught:
            call()
        assert caught.value.rule in ("LIFE-15", "LOG-01")
    assert client.data_to_send() + server.data_to_send() == b""


@pytest.mark.rule("TOOL-07", "RES-03", "PROMPT-03", "ROOT-02", "ROOT-18")
def test_list_changes_are_sent_unprompted_where_declared() -> None:
    client, server = ready_pair()
    server.tools_list_changed()
    server.prompts_list_changed()
    server.resources_list_changed()
    client.roots_list_changed()
    events = client.receive_data(server.data_to_send())
    assert names(events) == ["NotificationReceived"] * 3
    assert names(server.receive_data(client.data_to_send())) == ["NotificationReceived"]


@pytest.mark.rule("LIFE-15", "S01")
def test_life_15_undeclared_notifications_are_reported_and_delivered() -> None:
    client = ready_pair(None, {"capabilities": ServerCapabilities()})[0]
    events = feed(
        client,
        notification("notifications/tools/list_changed"),
        notification("notifications/message", {"level": "info", "data": "x"}),
    )
    assert names(events) == [
        "ProtocolViolation:LIFE-15",
        "NotificationReceived",
        "ProtocolViolation:LOG-01",
        "NotificationReceived",
    ]
    server = ready_pair({"capabilities": ClientCapabilities()})[1]
    events = feed(server, notification("notifications/roots/list_changed"))
    assert isinstance(events[0], ProtocolViolation) and isinstance(events[1], NotificationReceived)


_DECLARED = pytest.mark.parametrize(
    ("declared", "form", "url"),
    [
        (ElicitationCapability(), True, False),
        (ElicitationCapability(form={}), True, False),
        (ElicitationCapability(url={}), False, True),
        (ElicitationCapability(form={}, url={}), True, True),
        (ElicitationCapability(extra={"voice": {}}), True, False),
    ],
)


@pytest.mark.rule("ELIC-08", "ELIC-10", "LIFE-14")
@_DECLARED
def test_elic_10_an_older_revision_has_no_modes_to_declare(declared, form, url) -> None:
    client, server = ready_pair(
        {"capabilities": ClientCapabilities(elicitation=declared), "revisions": ["2025-06-18"]}
    )
    form_mode = declared.form is not None or declared.url is None
    assert (server.peer_capabilities.elicitation is not None) is form_mode
    with pytest.raises(LocalProtocolError):
        server.elicit_url("?", "e", "https://example.com/")
    params = {"mode": "url", "message": "?", "elicitationId": "e", "url": "https://example.com/"}
    events = feed(client, request(1, "elicitation/create", params))
    assert "RequestReceived" not in names(events)
    assert sent(client)[-1]["error"]["code"] in (-32602, -32601)


@pytest.mark.rule("ELIC-08", "ELIC-09", "ELIC-10", "ELIC-43", "S19")
@_DECLARED
def test_elic_10_only_declared_modes_are_used(declared, form, url) -> None:
    client, server = ready_pair({"capabilities": ClientCapabilities(elicitation=declared)})
    attempts = [
        (form, lambda: server.elicit("?", FORM)),
        (url, lambda: server.elicit_url("?", "e", "https://example.com/")),
    ]
    for allowed, attempt in attempts:
        if allowed:
            attempt()
            continue
        with pytest.raises(LocalProtocolError) as caught:
            attempt()
        assert caught.value.rule == "ELIC-10"
    sent(client)
    on_wire = {
        "form": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
        "url": {"mode": "url", "message": "?", "elicitationId": "e", "url": "https://example.com/"},
    }
    for allowed, mode in ((form, "form"), (url, "url")):
        events = feed(client, request(mode, "elicitation/create", on_wire[mode]))
        if allowed:
            assert names(events) == ["RequestReceived"]
        else:
            assert names(events) == ["ProtocolViolation:ELIC-10"]
            assert sent(client)[-1]["error"]["code"] == -32602


@pytest.mark.filterwarnings("ignore::sansmcp.ProtocolWarning")
@pytest.mark.rule("SAMP-05", "SAMP-06", "SAMP-09", "SAMP-30", "S16", "X-19")
def test_samp_06_tools_and_context_need_their_own_capability() -> None:
    client, server = ready_pair({"capabilities": ClientCapabilities(sampling=SamplingCapability())})
    for more, rule in (
        ({"tools": []}, "SAMP-06"),
        ({"tool_choice": ToolChoice(mode="none")}, "SAMP-06"),
        ({"include_context": "thisServer"}, "SAMP-09"),
        ({"include_context": "allServers"}, "SAMP-09"),
    ):
        with pytest.raises(LocalProtocolError) as caught:
            server.create_message(HELLO, 5, **more)
        assert caught.value.rule == rule
    server.create_message(
        HELLO, 5, include_context="none", model_preferences=ModelPreferences(speed_priority=1)
    )
    sent(client)
    params = {"messages": [], "maxTokens": 1}
    asked: tuple[dict[str, Any], ...] = (
        {"tools": []},
        {"toolChoice": {}},
        {"includeContext": "allServers"},
    )
    for extra in asked:
        events = feed(client, request(1, "sampling/createMessage", {**params, **extra}))
        assert isinstance(events[0], ProtocolViolation)
        assert sent(client)[0]["error"]["code"] == -32602


@pytest.mark.rule("LIFE-14", "LIFE-15")
def test_may_send_agrees_with_sending() -> None:
    client, server = ready_pair(None, {"capabilities": ServerCapabilities(logging={})})
    assert client.may_send("ping") and client.may_send("logging/setLevel")
    assert not client.may_send("tools/list") and not client.may_send("no/such")
    assert not client.may_send("initialize") and not client.may_send("notifications/message")
    assert server.may_send("notifications/message") and server.may_send("roots/list")
    assert not server.may_send("notifications/tools/list_changed")


@pytest.mark.rule("LIFE-15")
def test_life_15_every_gated_method_names_a_capability_that_can_be_declared() -> None:
    """The table's dotted names are names that the capability types produce."""
    from sansmcp.state import declared_in

    from .support import CLIENT_CAN, SERVER_CAN

    known = (
        declared_in(CLIENT_CAN) | declared_in(SERVER_CAN) | {"tasks", "tasks.list", "tasks.cancel"}
    )
    rows: list[Any] = [*METHODS.requests.values(), *METHODS.notifications.values()]
    assert {row.capability for row in rows if row.capability} <= known
    assert METHODS.requests["roots/list"].senders == {SERVER}
