"""Elicitation between two connections (client/elicitation)."""

import pytest

from sansmcp import (
    ErrorReceived,
    LocalProtocolError,
    NotificationReceived,
    ProtocolViolation,
    RequestReceived,
    ResultReceived,
)
from sansmcp.types import (
    BooleanSchema,
    CallToolRequest,
    CallToolRequestParams,
    ClientCapabilities,
    ElicitationCompleteNotification,
    ElicitationCompleteNotificationParams,
    ElicitRequestURLParams,
    ElicitResult,
    NumberSchema,
    RequestedSchema,
    StringSchema,
)

from .support import error, feed, names, notification, pump, ready_pair, request, result, sent

FORM = RequestedSchema(
    {
        "name": StringSchema(min_length=2),
        "age": NumberSchema("integer", minimum=0, default=18),
        "news": BooleanSchema(default=False),
    },
    required=["name"],
)


@pytest.mark.rule("ELIC-11", "ELIC-12", "ELIC-13", "ELIC-14", "X-04")
def test_elic_12_mode_is_sent_to_those_who_know_it_and_may_be_missing() -> None:
    client, server = ready_pair()
    server.elicit("who?", FORM)
    [message] = sent(server)
    assert message["params"]["mode"] == "form"
    del message["params"]["mode"]
    [event] = feed(client, message)
    assert isinstance(event, RequestReceived) and event.params.mode is None
    _old_client, old_server = ready_pair({"revisions": ["2025-06-18"]})
    old_server.elicit("who?", FORM)
    assert "mode" not in sent(old_server)[0]["params"]


@pytest.mark.rule("ELIC-63", "ELIC-64", "ELIC-31", "S21", "ELIC-16")
def test_elic_63_answers_fit_the_form_and_defaults_are_filled_in() -> None:
    client, server = ready_pair()
    id = server.elicit("who?", FORM)
    pump(client, server)
    for wrong in (
        ElicitResult("accept"),
        ElicitResult("accept", {"age": 3}),
        ElicitResult("accept", {"name": "A"}),
        ElicitResult("accept", {"name": "Ada", "age": -1}),
        ElicitResult("accept", {"name": "Ada", "age": True}),
        ElicitResult("decline", {"name": "Ada"}),
    ):
        with pytest.raises(LocalProtocolError) as caught:
            client.send_result(id, wrong)
        assert caught.value.rule in ("ELIC-63", "ELIC-64", "ELIC-31")
    client.send_result(id, ElicitResult("accept", {"name": "Ada"}))
    _, [event] = pump(client, server)
    assert isinstance(event, ResultReceived)
    assert event.result == ElicitResult("accept", {"name": "Ada", "age": 18, "news": False})


@pytest.mark.rule("ELIC-64", "S21")
@pytest.mark.parametrize(
    "content", [None, {}, {"name": 5}, {"name": "A"}, {"name": "Ada", "news": "yes"}]
)
def test_elic_64_a_server_does_not_take_content_that_does_not_fit(content) -> None:
    _client, server = ready_pair()
    id = server.elicit("who?", FORM)
    sent(server)
    value = {"action": "accept"} if content is None else {"action": "accept", "content": content}
    violation, failed = feed(server, result(id, value))
    assert isinstance(violation, ProtocolViolation) and violation.rule.startswith("ELIC-")
    assert isinstance(failed, ErrorReceived) and failed.violation == violation


@pytest.mark.rule("ELIC-15", "S20")
@pytest.mark.parametrize(
    "field",
    [
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"type": "object"}},
        {"$ref": "#/x"},
        {"type": "null"},
        {"anyOf": [{"type": "string"}]},
    ],
)
def test_elic_15_forms_are_flat(field) -> None:
    client, _ = ready_pair()
    params = {"message": "?", "requestedSchema": {"type": "object", "properties": {"f": field}}}
    [event] = feed(client, request(1, "elicitation/create", params))
    assert isinstance(event, ProtocolViolation)
    assert sent(client)[0]["error"]["code"] == -32602


@pytest.mark.rule("ELIC-17", "ELIC-18", "ELIC-20", "ELIC-56")
def test_elic_17_url_mode_carries_the_whole_address_and_the_opaque_id() -> None:
    client, server = ready_pair()
    server.elicit_url("sign in", " id/é ", "https://example.com/a?b=c#d")
    [event] = client.receive_data(server.data_to_send())
    assert isinstance(event, RequestReceived)
    assert event.params == ElicitRequestURLParams(
        "sign in", " id/é ", "https://example.com/a?b=c#d"
    )
    for url in ("", "no url", "/relative", "https://"):
        with pytest.raises(LocalProtocolError) as caught:
            server.elicit_url("sign in", "e2", url)
        assert caught.value.rule == "ELIC-18"


@pytest.mark.rule("ELIC-21", "ELIC-23", "ELIC-24", "ELIC-25")
def test_elic_24_completions_count_once_and_only_for_known_elicitations() -> None:
    client, server = ready_pair()
    id = server.elicit_url("sign in", "e-1", "https://example.com/")
    pump(client, server)
    client.send_result(id, ElicitResult("accept"))
    pump(client, server)
    server.elicitation_complete("e-1")
    done = ElicitationCompleteNotification(ElicitationCompleteNotificationParams("e-1"))
    assert pump(client, server)[0] == [NotificationReceived(done)]
    for unknown in ("e-1", "e-2", ""):
        with pytest.raises(LocalProtocolError) as caught:
            server.elicitation_complete(unknown)
        assert caught.value.rule == "ELIC-23"
        told = notification("notifications/elicitation/complete", {"elicitationId": unknown})
        assert feed(client, told) == []


@pytest.mark.rule("ELIC-27", "ELIC-29", "ELIC-30", "ELIC-42")
def test_elic_27_a_request_can_wait_for_a_page() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    page = ElicitRequestURLParams("sign in", "e-9", "https://example.com/")
    server.require_elicitations(id, [page])
    [event], _ = pump(client, server)
    assert isinstance(event, ErrorReceived) and event.error.code == -32042
    assert event.error.data == {
        "elicitations": [
            {
                "mode": "url",
                "message": "sign in",
                "elicitationId": "e-9",
                "url": "https://example.com/",
            }
        ]
    }
    assert event.request == CallToolRequest(CallToolRequestParams("t"))
    server.elicitation_complete("e-9")
    assert names(pump(client, server)[0]) == ["NotificationReceived"]


@pytest.mark.rule("ELIC-28", "ELIC-29", "ELIC-30", "X-29")
def test_elic_28_the_code_is_for_nothing_else() -> None:
    client, server = ready_pair()
    id = client.call_tool("t")
    pump(client, server)
    page = {"mode": "url", "message": "m", "elicitationId": "e", "url": "https://a.example/"}
    form = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}
    everything: tuple[object, ...] = (
        None,
        {},
        [],
        {"elicitations": []},
        {"elicitations": [form]},
        {"elicitations": 1},
    )
    for data in everything:
        with pytest.raises(LocalProtocolError) as caught:
            server.send_error(id, -32042, "m", data)
        assert caught.value.rule in ("ELIC-29", "ELIC-30")
        other = client.ping()
        events = feed(client, error(other, -32042, data=data))
        assert names(events)[0].startswith("ProtocolViolation:ELIC-")
        assert isinstance(events[-1], ErrorReceived)
    server.send_error(id, -32042, "m", {"elicitations": [{**page, "task": {}, "_meta": {"a": 1}}]})


@pytest.mark.rule("ELIC-10")
def test_elic_10_a_client_without_url_mode_is_sent_to_no_page() -> None:
    client, server = ready_pair({"capabilities": ClientCapabilities()})
    id = client.call_tool("t")
    pump(client, server)
    with pytest.raises(LocalProtocolError) as caught:
        server.require_elicitations(id, [ElicitRequestURLParams("m", "e", "https://a.example/")])
    assert caught.value.rule == "ELIC-10" and id in server.incoming


@pytest.mark.rule("X-11")
def test_x_11_pattern_is_accepted_on_input() -> None:
    client, _ = ready_pair()
    field = {"type": "string", "pattern": "^a"}
    params = {"message": "?", "requestedSchema": {"type": "object", "properties": {"f": field}}}
    [event] = feed(client, request(1, "elicitation/create", params))
    assert isinstance(event, RequestReceived)
    assert event.params.requested_schema.properties["f"].extra == {"pattern": "^a"}


@pytest.mark.rule("X-13")
def test_x_13_answers_may_be_any_number() -> None:
    client, server = ready_pair()
    schema = RequestedSchema({"x": NumberSchema("number")})
    id = server.elicit("?", schema)
    pump(client, server)
    client.send_result(id, ElicitResult("accept", {"x": 1.5}))
    _, [event] = pump(client, server)
    assert isinstance(event.result, ElicitResult) and event.result.content == {"x": 1.5}
