"""The revisions, each with its own rules: what is sent, what is tolerated, and batches."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings

import sansmcp.types as t
from sansmcp import (
    METHODS,
    Catalog,
    ClientConnection,
    ConnectionClosed,
    ConnectionState,
    Initialized,
    LocalProtocolError,
    ProtocolViolation,
    RequestCancelled,
    RequestReceived,
    ResultReceived,
    ServerConnection,
    VersionMismatch,
    structure,
    unstructure,
)
from sansmcp.revisions import LATEST_REVISION, REVISIONS, SINCE

from .conftest import cases, shared_path
from .schema_data import accepted_by
from .support import (
    error,
    feed,
    make_client,
    make_server,
    names,
    notification,
    pump,
    ready_pair,
    request,
    result,
    sent,
)
from .test_elicitation_connection import FORM
from .test_wire import examples, page_of, same

OLDEST_FIRST = sorted(REVISIONS)
OLDER = OLDEST_FIRST[:-1]
SCHEMA = {"type": "object"}


def schema_of(revision: str) -> tuple[str, dict[str, Any]]:
    loaded = json.loads(shared_path("spec", "schema", f"{revision}.json").read_text())
    key = "$defs" if "$defs" in loaded else "definitions"
    return key, loaded[key]


def definitions_of(revision: str) -> list[tuple[str, str]]:
    return [(revision, name) for name in sorted(schema_of(revision)[1])]


def pair_at(
    revision: str, client: Any = None, server: Any = None
) -> tuple[ClientConnection, ServerConnection]:
    """A pair that has negotiated a revision although both know the newest."""
    return ready_pair({"revisions": [revision], **(client or {})}, server)


# ---- types


def of_this_revision(type_: Any, value: Any) -> Any:
    """A request or notification of an older schema is shown without its envelope."""
    if isinstance(value, dict) and hasattr(type_, "jsonrpc"):
        value = {**value, "jsonrpc": "2.0"}
        if hasattr(type_, "id"):
            value.setdefault("id", 1)
    return value


UNIONS_OF_MESSAGES = {"ClientRequest", "ServerRequest", "ClientNotification", "ServerNotification"}


@pytest.mark.rule("GEN-03")
@pytest.mark.parametrize(
    ("revision", "name"),
    cases(lambda: [pair for revision in OLDER for pair in definitions_of(revision)], 2),
)
def test_every_definition_of_an_older_schema_round_trips(revision: str, name: str) -> None:
    key, defs = schema_of(revision)
    type_ = getattr(t, name)
    valid = jsonschema.Draft7Validator({"$ref": f"#/{key}/{name}", key: defs}).is_valid

    @settings(max_examples=settings().max_examples // 3)
    @given(accepted_by(defs[name], defs))
    def holds(value: Any) -> None:
        assert valid(value)
        target = type_
        if name == "JSONRPCMessage" and isinstance(value, list):
            target = tuple[t.JSONRPCMessage, ...]
        if name in UNIONS_OF_MESSAGES:
            rows: Any = METHODS.requests if name.endswith("Request") else METHODS.notifications
            row = rows[value["method"]]
            target = row.request if name.endswith("Request") else row.notification
        value = of_this_revision(target, value)
        obj = structure(value, target)
        if isinstance(obj, tuple):
            assert same([unstructure(item) for item in obj], value)
        elif isinstance(obj, (str, int, float)):
            assert same(obj, value)
        else:
            assert same(unstructure(obj), value)

    holds()


@pytest.mark.rule("GEN-03")
@pytest.mark.parametrize(
    "example",
    cases(lambda: [example for revision in OLDER for example in examples(revision)]),
    ids=page_of,
)
def test_every_message_of_an_older_specification_round_trips(example: dict[str, Any]) -> None:
    message = example["message"]
    if isinstance(message, list):
        back = [unstructure(item) for item in structure(message, t.JSONRPCBatchRequest)]
        assert back == message
    else:
        assert unstructure(structure(message, t.JSONRPCMessage)) == message


@pytest.mark.rule("LIFE-14")
def test_the_table_agrees_with_the_schemas() -> None:
    """`SINCE` says of every type and field just what the schemas say, from their differences."""
    from .test_types import members

    found: dict[str, Any] = {}
    schemas = {revision: schema_of(revision)[1] for revision in OLDEST_FIRST}
    for cls, since in SINCE.items():
        name = cls.__name__
        found[name] = since if isinstance(since, str) else dict(since)
    latest = schemas[LATEST_REVISION]
    for name, spec in latest.items():
        cls = getattr(t, name)
        if not isinstance(cls, type) or "properties" not in spec or name not in found:
            continue
        first = next(revision for revision in OLDEST_FIRST if name in schemas[revision])
        if isinstance(found[name], str):
            assert found[name] == first, name
            continue
        wire = {field.name: wire_of(cls, field.name) for field in fields_of(cls)}
        for field, came in found[name].items():
            has = [
                revision
                for revision in OLDEST_FIRST
                if wire[field] in schemas[revision].get(name, {}).get("properties", {})
            ]
            # A type that was factored out of another one says nothing about when its fields came.
            if first != LATEST_REVISION:
                assert has[0] == came, (name, field)
        if first != LATEST_REVISION:
            for field_name, wire_name in wire.items():
                has = [
                    revision
                    for revision in OLDEST_FIRST
                    if wire_name in schemas[revision].get(name, {}).get("properties", {})
                ]
                if has and has[0] > first and members(cls)[wire_name][2] is None:
                    assert field_name in found[name] or field_name in ("id", "params"), (
                        name,
                        field_name,
                    )


def fields_of(cls: Any) -> Any:
    import attrs

    return [field for field in attrs.fields(cls) if field.name != "extra"]


def wire_of(cls: Any, name: str) -> str:
    import attrs

    from sansmcp.wire import wire_name

    return wire_name(attrs.fields_dict(cls)[name])


# ---- negotiation


@pytest.mark.rule("LIFE-10", "LIFE-11", "LIFE-13", "LIFE-14")
@pytest.mark.parametrize("ours", OLDEST_FIRST)
@pytest.mark.parametrize("theirs", OLDEST_FIRST)
def test_two_vintages_talk_without_a_violation(ours: str, theirs: str) -> None:
    """All 16 pairings of a client and a server that know everything up to some revision."""
    known = {revision: [r for r in OLDEST_FIRST if r <= revision] for revision in OLDEST_FIRST}
    catalog = Catalog(
        tools=[
            t.Tool(
                "t", SCHEMA, title="T", output_schema=SCHEMA,
                annotations=t.ToolAnnotations(read_only_hint=True),
                execution=t.ToolExecution("optional"), icons=[t.Icon("https://a.example/")],
                meta={"a": 1},
            )
        ],
        prompts=[t.Prompt("p", title="P", icons=[t.Icon("https://a.example/")])],
        resources=[t.Resource("r", "a:b", title="R", icons=[t.Icon("https://a.example/")])],
    )  # fmt: skip
    client = make_client(revisions=known[ours])
    server = make_server(revisions=known[theirs], catalog=catalog)
    client.initialize()
    events = [*pump(client, server)]
    negotiated = min(ours, theirs)
    assert (client.revision, server.revision) == (negotiated, negotiated)
    assert isinstance(events[0][-1], Initialized)

    wire = b""
    for ask in (
        lambda: client.list_tools(),
        lambda: client.list_prompts(),
        lambda: client.list_resources(),
        lambda: client.call_tool("t", {"a": 1}, progress=True),
        lambda: client.get_prompt("p"),
        lambda: client.complete(t.PromptReference("p", title="P"), "a", "", context={"b": "c"}),
        lambda: client.set_logging_level("info"),
        lambda: client.subscribe("a:b"),
        lambda: client.ping(),
    ):
        ask()
        events[1] += server.receive_data(client.data_to_send())
    block = t.TextContent("x", annotations=t.Annotations(last_modified="2025-01-01"), meta={"a": 1})
    for event in list(server.incoming.values()):
        if event.method.method == "tools/call":
            server.send_progress(event.id, 1, 2, "half")
            server.send_result(event.id, t.CallToolResult([block], structured_content={"n": 1}))
        elif event.method.method == "prompts/get":
            server.send_result(event.id, t.GetPromptResult([t.PromptMessage("user", block)]))
        else:
            server.send_result(event.id, t.CompleteResult(t.Completion(["v"])))
    server.log("warning", "x")
    server.resource_updated("a:b")
    server.list_roots()
    server.create_message([t.SamplingMessage("user", [block], meta={"a": 1})], 5)
    if server.may_send("elicitation/create"):
        server.elicit("?", FORM)
    wire = server.data_to_send()
    events[0] += client.receive_data(wire)
    for request_ in list(client.incoming.values()):
        match request_.method.method:
            case "roots/list":
                client.send_result(request_.id, t.ListRootsResult([t.Root("file:///", meta={})]))
            case "sampling/createMessage":
                answer = t.CreateMessageResult("assistant", [t.TextContent("a")], "m")
                client.send_result(request_.id, answer)
            case _:
                client.send_result(request_.id, t.ElicitResult("accept", {"name": "Ada"}))
    more = pump(client, server)
    events[0] += more[0]
    events[1] += more[1]
    violations = [
        event for side in events for event in side if isinstance(event, ProtocolViolation)
    ]
    assert violations == []
    assert not client.outgoing
    assert not server.outgoing

    # And what went over the wire is what that revision's schema knows.
    _, defs = schema_of(negotiated)
    assert_known(negotiated, wire, defs)


def assert_known(revision: str, wire: bytes, defs: dict[str, Any]) -> None:
    unknown = {
        "2024-11-05": ("annotations\":{\"readOnly", "title", "icons", "lastModified", "structuredContent", "outputSchema", "execution", '"message":"half"', '"mode"', '"_meta":{"a":1}'),
        "2025-03-26": ("title", "icons", "lastModified", "structuredContent", "outputSchema", "execution", '"mode"', '"_meta":{"a":1}'),
        "2025-06-18": ("icons", "execution", '"mode"'),
        "2025-11-25": (),
    }[revision]  # fmt: skip
    for word in unknown:
        assert word.encode() not in wire, word


@pytest.mark.rule("LIFE-13")
def test_no_common_revision_names_both_lists() -> None:
    client = make_client(revisions=["2025-03-26"])
    server = make_server(revisions=["2025-06-18", "2025-11-25"])
    client.initialize()
    events, _ = pump(client, server)
    assert events[0] == VersionMismatch(("2025-03-26",), ("2025-11-25",))
    assert isinstance(events[1], ConnectionClosed)
    assert client.state is ConnectionState.CLOSED


# ---- what is not said to an older peer


@pytest.mark.rule("LIFE-14")
@pytest.mark.parametrize("revision", OLDER)
def test_life_14_what_would_lose_its_meaning_is_refused(revision: str) -> None:
    _, server = pair_at(revision)
    feed(server, request("c", "tools/call", {"name": "t"}))
    link = t.ResourceLink("n", "a:b")
    audio = t.AudioContent("", "audio/wav")
    refused: list[Any] = [
        lambda: server.create_message(
            [t.SamplingMessage("user", [t.TextContent("a"), t.TextContent("b")])], 5
        ),
        lambda: server.elicit_url("?", "e", "https://a.example/"),
        lambda: server.require_elicitations("c", []),
    ]
    if revision < "2025-06-18":
        refused += [
            lambda: server.send_result("c", t.CallToolResult([link])),
            lambda: server.send_result("c", t.CallToolResult([], structured_content={})),
            lambda: server.elicit("?", FORM),
        ]
    else:
        many = t.UntitledMultiSelectEnumSchema(t.UntitledEnumItems(["a"]))
        titled = t.TitledSingleSelectEnumSchema([t.EnumOption("a", "A")])
        refused += [
            lambda: server.elicit("?", t.RequestedSchema({"x": many})),
            lambda: server.elicit("?", t.RequestedSchema({"x": titled})),
        ]
    if revision < "2025-03-26":
        refused.append(lambda: server.send_result("c", t.CallToolResult([audio])))
    import warnings

    for call in refused:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(LocalProtocolError) as caught:
                call()
        assert caught.value.rule in ("LIFE-14", "ELIC-10", "ELIC-29", "TOOL-21")
        assert sent(server) == []
    assert "c" in server.incoming


@pytest.mark.rule("LIFE-14", "COMP-01")
def test_completion_has_no_capability_in_the_first_revision() -> None:
    bare = {"capabilities": t.ServerCapabilities()}
    client, server = pair_at("2024-11-05", None, bare)
    id = client.complete(t.PromptReference("p"), "a", "v")
    _, [event] = pump(client, server)
    assert isinstance(event, RequestReceived)
    server.send_result(id, t.CompleteResult(t.Completion([])))
    client, _ = pair_at("2025-03-26", None, bare)
    with pytest.raises(LocalProtocolError):
        client.complete(t.PromptReference("p"), "a", "v")


@pytest.mark.rule("ELIC-08", "LIFE-14")
def test_capabilities_are_told_in_the_words_of_the_revision_asked_for() -> None:
    for revision, there in (("2025-06-18", True), ("2025-03-26", False)):
        client = make_client(revisions=[revision])
        client.initialize()
        asked = sent(client)[0]["params"]["capabilities"]
        assert ("elicitation" in asked) == there
        assert asked.get("elicitation", {}) == {}
        assert asked["sampling"] == {}
        assert asked["roots"] == {"listChanged": True}
    pages_only = t.ClientCapabilities(elicitation=t.ElicitationCapability(url={}))
    client = make_client(revisions=["2025-06-18"], capabilities=pages_only)
    client.initialize()
    assert sent(client)[0]["params"]["capabilities"] == {}  # {} would have promised forms.


@pytest.mark.rule("LIFE-14")
@pytest.mark.parametrize("revision", OLDER)
def test_life_14_a_newer_shape_from_a_peer_is_tolerated_and_reported(revision: str) -> None:
    client, server = pair_at(revision)
    id = client.list_tools()
    sent(client)
    tool = {"name": "t", "inputSchema": SCHEMA, "icons": [{"src": "https://a.example/"}]}
    events = feed(client, result(id, {"tools": [tool]}))
    assert names(events) == ["ProtocolViolation:LIFE-14", "ResultReceived"]
    assert "icons" in events[0].detail
    id = client.call_tool("t")
    value = {"content": [{"type": "text", "text": "a", "_meta": {}}], "structuredContent": {}}
    expected = (
        ["ResultReceived"]
        if revision == "2025-06-18"
        else ["ProtocolViolation:LIFE-14", "ResultReceived"]
    )
    assert names(feed(client, result(id, value))) == expected
    call = request("c", "tools/call", {"name": "t", "task": {}})
    assert names(feed(server, call)) == ["ProtocolViolation:LIFE-14", "RequestReceived"]
    told = notification(
        "notifications/progress", {"progressToken": 1, "progress": 1, "message": "m"}
    )
    assert len(feed(client, told)) == (2 if revision == "2024-11-05" else 1)


@pytest.mark.rule("LIFE-14")
def test_the_object_that_was_sent_is_the_one_that_is_told() -> None:
    client, server = pair_at("2024-11-05")
    asked = t.CompleteRequest(
        t.CompleteRequestParams(
            t.PromptReference("p", title="P"),
            t.CompletionArgument("a", "v"),
            t.CompletionContext({"b": "c"}),
        )
    )
    id = client.send_request(asked)
    [message] = sent(client)
    assert message["params"] == {
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": "v"},
    }
    feed(server, message)
    [event] = feed(client, result(id, {"completion": {"values": []}}))
    assert isinstance(event, ResultReceived)
    assert event.request is asked


# ---- batches

BATCHES = "2025-03-26"
CALL = {"name": "t"}


@pytest.mark.rule("JRPC-15")
def test_a_batch_is_answered_by_one_batch_when_all_answers_are_there() -> None:
    _, server = pair_at(BATCHES)
    events = feed(
        server,
        [
            request("a", "tools/call", CALL),
            request("b", "ping"),
            notification("notifications/roots/list_changed"),
            request("c", "no/such"),
            request("d", "tools/call", CALL),
        ],
    )
    assert names(events) == [
        "RequestReceived",
        "NotificationReceived",
        "ProtocolViolation:GEN-02",
        "RequestReceived",
    ]
    assert sent(server) == []
    server.send_result("d", t.CallToolResult([]))
    feed(server, request("e", "ping"))
    assert sent(server) == [result("e", {})]  # Others need not wait.
    server.send_error("a", -32603, "x")
    [answers] = sent(server)
    assert [answer["id"] for answer in answers] == ["b", "c", "d", "a"]
    assert answers[1]["error"]["code"] == -32601
    assert not server.incoming


@pytest.mark.rule("JRPC-15", "CANC-08")
def test_a_cancelled_request_of_a_batch_is_not_waited_for() -> None:
    _, server = pair_at(BATCHES)
    feed(server, [request("a", "tools/call", CALL), request("b", "ping")])
    cancel = notification("notifications/cancelled", {"requestId": "a"})
    [event] = feed(server, cancel)
    assert isinstance(event, RequestCancelled)
    assert sent(server) == [[result("b", {})]]
    feed(server, [request("c", "tools/call", CALL)])
    feed(server, notification("notifications/cancelled", {"requestId": "c"}))
    assert sent(server) == []
    feed(
        server,
        [
            request("d", "tools/call", CALL),
            notification("notifications/cancelled", {"requestId": "d"}),
        ],
    )
    assert sent(server) == []


@pytest.mark.rule("JRPC-15", "H20", "R-04")
@pytest.mark.parametrize(
    ("batch", "codes"),
    [
        ([[]], [-32600]),
        ([[request("x", "ping")]], [-32600]),
        ([1, "x", None], [-32600] * 3),
        ([{"foo": 1}, request("x", "ping")], [-32600, None]),
        ([request(None, "ping")], [-32600]),
        ([request("x", "initialize", {})], [-32600]),
        ([notification("notifications/roots/list_changed")], []),
        ([notification("no/such")], []),
        ([result("nobody", {})], []),
    ],
)
def test_garbage_in_a_batch_costs_that_item_only(batch, codes) -> None:
    _, server = pair_at(BATCHES)
    feed(server, batch)
    answers = sent(server)
    assert len(answers) == bool(codes)
    if codes:
        assert [answer.get("error", {}).get("code") for answer in answers[0]] == codes


@pytest.mark.rule("JRPC-15", "H20", "R-05")
@pytest.mark.parametrize("revision", OLDEST_FIRST)
def test_an_array_is_refused_where_there_are_no_batches(revision: str) -> None:
    _, server = pair_at(revision)
    batch = [request("x", "ping")]
    if revision == BATCHES:
        batch = []
    assert names(feed(server, batch)) == ["ProtocolViolation:JRPC-15"]
    [refused] = sent(server)
    assert refused["error"]["code"] == -32600
    assert "id" not in refused
    fresh = make_server()
    assert names(feed(fresh, [request("x", "ping")])) == ["ProtocolViolation:JRPC-15"]


@pytest.mark.rule("JRPC-15")
def test_a_batch_of_answers_is_received() -> None:
    client, _ = pair_at(BATCHES)
    first, second = client.ping(), client.call_tool("t")
    sent(client)
    events = feed(client, [result(second, {"content": []}), error(first, 1), result("x", {})])
    assert names(events) == ["ResultReceived", "ErrorReceived", "ProtocolViolation:JRPC-06"]
    assert sent(client) == []


@pytest.mark.rule("JRPC-15")
def test_a_batch_is_sent_on_request_and_only_where_there_are_any() -> None:
    client, server = pair_at(BATCHES)
    client.ping()
    with client.batch():
        a = client.ping()
        client.roots_list_changed()
        b = client.call_tool("t")
    with client.batch():
        pass
    single, batch = sent(client)
    assert single["method"] == "ping"
    assert [message["method"] for message in batch] == [
        "ping",
        "notifications/roots/list_changed",
        "tools/call",
    ]
    feed(server, batch)
    server.send_result(b, t.CallToolResult([]))
    [answers] = sent(server)
    assert [event.id for event in feed(client, answers)] == [a, b]
    for revision in OLDEST_FIRST:
        if revision == BATCHES:
            continue
        client, _ = pair_at(revision)
        with pytest.raises(LocalProtocolError):
            client.batch().__enter__()
    with pytest.raises(LocalProtocolError):
        make_client().batch().__enter__()


def test_a_batch_whose_body_fails_still_sends_what_was_sent() -> None:
    client, _ = pair_at(BATCHES)
    batch = client.batch()
    batch.__enter__()
    client.ping()
    assert batch.__exit__(ValueError, ValueError(), None) is not True
    assert len(sent(client)) == 1
