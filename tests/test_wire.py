"""JSON text, and JSON values to types and back."""

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, get_args
from uuid import UUID

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sansmcp.types as t
from sansmcp import DecodeError, StructureError, decode_json, encode_json, structure, unstructure
from sansmcp.types.base import Model

from .conftest import cases, shared_path
from .schema_data import accepted_by
from .test_types import definitions, schema

# ---- JSON


@pytest.mark.rule("JRPC-01", "H03", "H08", "H09")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", ""),
        (b"{", ""),
        (b"1 2", ""),
        (b"NaN", ""),
        (b"-Infinity", ""),
        (b"1e999", "range"),
        (b"01", ""),
        (b"[1,]", ""),
        (b"'a'", ""),
        (b"\xef\xbb\xbf1", "byte order mark"),
        ("\ufeff1", "byte order mark"),
        (b'"\xff"', "UTF-8"),
        (b'"\xc0\x80"', "UTF-8"),
        (b'"\xed\xa0\x80"', "UTF-8"),
        (b'"\\ud800"', "surrogate"),
        (b'{"a":"\\uD83D"}', "surrogate"),
        (b'"\\ud800\\u0041"', "surrogate"),
        (b'"\\ud800 and more of the text"', "surrogate"),
        (b'"\\udc00"', "surrogate"),
        ('"\\ud800"', "surrogate"),
        (b'"\\ud8', "truncated"),
        ('"\ud800"', "surrogate"),
        (b'"\x00"', ""),
        (b'"\x0c"', ""),
        (b'"\n"', ""),
        (b"9" * 5000, "range"),
        (b"[" * 10_000 + b"]" * 10_000, "deep"),
        (b'{"a":' * 100_000, "deep"),
    ],
)
def test_jrpc_01_text_that_is_not_strict_json_is_refused_with_a_reason(text, reason) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_json(text)
    assert reason in str(caught.value)
    assert 0 < len(str(caught.value)) < 200


@pytest.mark.rule("JRPC-01", "H03", "H10")
@pytest.mark.parametrize(
    "value",
    [
        "\u2028\u2029\x85",
        "\x00\x1f\x7f",
        "🦀",
        2**70,
        -(2**53) - 1,
        10**4000,
        1.5,
        -0.0,
        "",
        None,
        True,
    ],
)
def test_jrpc_01_texts_and_numbers_survive(value) -> None:
    text = encode_json([value])
    assert b"\n" not in text
    assert decode_json(text) == [value]
    assert type(decode_json(text)[0]) is type(value)
    for other in (text.decode(), bytearray(text), memoryview(text)):
        assert decode_json(other) == [value]


@pytest.mark.rule("H03")
def test_h03_blanks_and_escapes_are_as_json_has_them() -> None:
    assert decode_json(b' \t\r\n{"a":"\\u0000\\ud83e\\udd80"}\r') == {"a": "\x00🦀"}
    # Which of two equal keys counts is left open by JSON; here it is the last.
    assert decode_json(b'{"a":1,"a":2}') == {"a": 2}


def cycle() -> list[Any]:
    values: list[Any] = []
    values.append(values)
    return values


@pytest.mark.rule("GEN-03")
@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, {"a": [1, {"b": math.nan}], "c": None}, "\ud800", object(),
     {None: 1}, cycle(), {"a": (1, math.inf)}],
)  # fmt: skip
def test_gen_03_what_json_cannot_say_is_not_sent(value) -> None:
    with pytest.raises(StructureError):
        encode_json(value)


@pytest.mark.rule("GEN-03")
@pytest.mark.parametrize(
    ("foreign", "says"),
    [
        (datetime(2025, 11, 25, tzinfo=UTC), "a datetime"),
        (b"bytes", "a bytes"),
        ({1, 2}, "a set"),
        (Decimal("1.5"), "a Decimal"),
        (UUID(int=0), "a UUID"),
        (t.TextContent("not unstructured"), "a TextContent"),
        ({1: "a"}, "a string as key"),
        ({1.5: "a"}, "a string as key"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
    ids=repr,
)
def test_gen_03_nothing_foreign_is_turned_into_json_in_silence(foreign: Any, says: str) -> None:
    for value in (foreign, [foreign], {"a": [None, {"b": foreign}], "c": (1, 2)}):
        with pytest.raises(StructureError) as caught:
            encode_json(value)
        assert says in caught.value.detail
    assert caught.value.path == "a[1].b"


def test_a_tuple_is_written_as_an_array() -> None:
    assert encode_json({"a": (1, (None, "b"))}) == b'{"a":[1,[null,"b"]]}'


@pytest.mark.rule("GEN-03")
def test_gen_03_integers_end_somewhere() -> None:
    with pytest.raises(StructureError):
        encode_json(10**5000)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
))  # fmt: skip
def test_any_json_survives(value) -> None:
    text = encode_json(value)
    assert decode_json(text) == value == json.loads(text)


# ---- types: whatever the schema accepts


def same(one: Any, other: Any) -> bool:
    """Equality that keeps `true`, `1` and `"1"` apart, and lets `5` be `5.0`."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def spec_of(name: str) -> dict[str, Any]:
    defs = schema()
    return {"$ref": f"#/$defs/{name}", "$defs": defs}


@pytest.mark.rule("GEN-03", "GEN-04", "H19", "S12")
@pytest.mark.parametrize("name", definitions())
def test_gen_03_what_the_schema_accepts_comes_back_as_it_was(name: str) -> None:
    defs = schema()
    valid = jsonschema.Draft202012Validator(spec_of(name)).is_valid

    @given(accepted_by(defs[name], defs))
    def holds(value: Any) -> None:
        assert valid(value)
        obj = structure(value, getattr(t, name))
        back = unstructure_as(obj)
        assert same(back, value)
        assert structure(back, getattr(t, name)) == obj

    holds()


def unstructure_as(obj: Any) -> Any:
    return unstructure(obj) if isinstance(obj, Model) else obj


def mutations(value: Any) -> list[Any]:
    """The value with one thing in it changed, for every place in it and several changes."""
    changed: list[Any] = []
    if isinstance(value, dict):
        for key in value:
            changed.append({k: v for k, v in value.items() if k != key})
            changed += [{**value, key: inner} for inner in mutations(value[key])]
    if isinstance(value, list):
        for index in range(len(value)):
            changed += [[*value[:index], m, *value[index + 1 :]] for m in mutations(value[index])]
    return [*changed, None, True, 0, 1.5, "surprise", [], {}, [None], {"type": "surprise"}]


#: Where we are more lenient than the JSON Schema, and say so.
LENIENT = {
    "ElicitResult": "X-13: the content of a form may be any number",
    "ClientResult": "a union with Result, which takes any object",
    "ServerResult": "a union with Result, which takes any object",
    "ClientCapabilities": "X-07: true for a task capability",
    "ServerCapabilities": "X-07: true for a task capability",
    "ClientRequest": "X-07",
    "InitializeRequest": "X-07",
    "InitializeRequestParams": "X-07",
    "InitializeResult": "X-07",
}


@pytest.mark.rule("GEN-03", "H36")
@pytest.mark.parametrize("name", definitions())
def test_gen_03_what_the_schema_refuses_is_refused_with_the_path(name: str) -> None:
    spec = spec_of(name)
    validator = jsonschema.Draft202012Validator(spec)
    refused = 0
    example = smallest(name)
    for value in mutations(example):
        if validator.is_valid(value):
            continue
        if name in LENIENT and accepted(value, name):
            continue
        with pytest.raises(StructureError) as caught:
            structure(value, getattr(t, name))
        refused += 1
        error = caught.value
        assert error.detail
        assert str(error) == (f"{error.path}: {error.detail}" if error.path else error.detail)
    assert refused > 0


def accepted(value: Any, name: str) -> bool:
    try:
        structure(value, getattr(t, name))
    except StructureError:
        return False
    return True


def smallest(name: str) -> Any:
    """An example of a definition with all its properties, from the schema."""
    return example_of(schema()[name], schema(), 0)


def example_of(spec: dict[str, Any], defs: dict[str, Any], depth: int) -> Any:
    if "$ref" in spec:
        return example_of(defs[spec["$ref"].rpartition("/")[2]], defs, depth)
    if "const" in spec:
        return spec["const"]
    if "enum" in spec:
        return spec["enum"][0]
    if "anyOf" in spec:
        return example_of(spec["anyOf"][0], defs, depth)
    if "allOf" in spec:
        merged: dict[str, Any] = {}
        for part in spec["allOf"]:
            merged.update(example_of(part, defs, depth))
        return merged
    kind = spec.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        made = {
            key: example_of(inner, defs, depth + 1)
            for key, inner in spec.get("properties", {}).items()
            if depth < 4 or key in spec.get("required", [])
        }
        extra = spec.get("additionalProperties")
        if isinstance(extra, dict) and extra and not made:
            made["key"] = example_of(extra, defs, depth + 1)
        return made
    if kind == "array":
        return [example_of(spec["items"], defs, depth + 1)]
    return {"string": "a", "integer": 1, "number": 0.5, "boolean": True}.get(str(kind), "any")


# ---- paths


@pytest.mark.rule("H36", "GEN-03")
@pytest.mark.parametrize(
    ("type_", "value", "path", "says"),
    [
        (t.Tool, [], "", "expected an object, got an array"),
        (t.Tool, {"inputSchema": {"type": "object"}}, "name", "required"),
        (t.Tool, {"name": "t", "inputSchema": {}}, "inputSchema.type", "required"),
        (t.Tool, {"name": "t", "inputSchema": {"type": "array"}}, "inputSchema.type", "'array'"),
        (t.Tool, {"name": "t", "inputSchema": {"type": "object", "properties": {"a": 1}}}, "inputSchema.properties.a", "1"),
        (t.Tool, {"name": "t", "inputSchema": {"type": "object", "required": [1]}}, "inputSchema.required[0]", "1"),
        (t.CallToolRequest, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"name": "t"}}, "method", "'tools/call'"),
        (t.CallToolRequest, {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "t"}}, "id", "required"),
        (t.CallToolRequest, {"jsonrpc": "2.0", "id": 1.0, "method": "tools/call", "params": {"name": "t"}}, "id", "1.0"),
        (t.CallToolRequest, {"jsonrpc": "2.0", "id": True, "method": "tools/call", "params": {"name": "t"}}, "id", "true"),
        (t.CreateMessageRequestParams, {"maxTokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": ""}, {"type": 5}]}]}, "messages[0].content[1].type", "5"),
        (t.CreateMessageRequestParams, {"maxTokens": True, "messages": []}, "maxTokens", "true"),
        (t.CreateMessageRequestParams, {"maxTokens": "1", "messages": []}, "maxTokens", "'1'"),
        (t.ElicitRequestParams, {"mode": "voice"}, "mode", "'voice'"),
        (t.ElicitRequestFormParams, {"message": "", "requestedSchema": {"type": "object", "properties": {"x": {"type": "object"}}}}, "requestedSchema.properties.x.type", "'object'"),
        (t.ContentBlock, {}, "type", "required"),
        (t.ContentBlock, {"type": ["text"]}, "type", "an array"),
        (t.PromptReference, {"type": "ref/resource", "name": "x"}, "type", "'ref/prompt'"),
        (t.ReadResourceResult, {"contents": [{"uri": "a:b"}]}, "contents[0]", "text or blob"),
        (t.Annotations, {"priority": 2}, "priority", "0 to 1"),
        (t.Annotations, {"priority": True}, "priority", "true"),
        (t.Annotations, {"audience": "user"}, "audience", "an array"),
        (t.GetPromptRequestParams, {"name": "p", "arguments": {"a": 1}}, "arguments.a", "1"),
        (t.Task, {"taskId": "t", "status": "paused"}, "status", "'paused'"),
        (t.ClientRequest, {"method": "no/such"}, "method", "'no/such'"),
        (list[t.Tool], [{"name": 1}], "[0].name", "1"),
    ],
)  # fmt: skip
def test_gen_03_errors_name_the_place(type_, value, path, says) -> None:
    with pytest.raises(StructureError) as caught:
        structure(value, type_)
    assert caught.value.path == path
    assert says in caught.value.detail
    with pytest.raises(StructureError) as caught:
        structure(value, type_, at="params")
    assert caught.value.path == f"params{'' if path.startswith('[') or not path else '.'}{path}"


def test_errors_are_bounded_whatever_is_wrong() -> None:
    huge = "k" * 10**6
    for value in ({huge: 1}, {"a": huge}, {"a": {huge: huge}}, {"a": 10**4000}):
        with pytest.raises(StructureError) as caught:
            structure({"name": "p", "arguments": {"x": value, huge: 5}}, t.GetPromptRequestParams)
        assert len(str(caught.value)) < 300


# ---- numbers, texts and truth


@pytest.mark.rule("H10", "JRPC-03", "PROG-01")
def test_true_is_no_number_and_one_is_no_text() -> None:
    assert structure(5.0, int) == 5
    assert type(structure(5.0, int)) is int
    for type_, wrong in (
        (int, True), (int, 1.5), (int, "1"), (float, True), (float, "1"), (float, None),
        (str, 1), (bool, 1), (bool, "true"), (t.RequestId, 1.0), (t.RequestId, True),
        (t.RequestId, None), (t.ProgressToken, 0.5),
    ):  # fmt: skip
        with pytest.raises(StructureError):
            structure(wrong, type_)
    for value in (2**53 + 1, 2**70, -(10**1000), 0):
        assert structure(value, t.RequestId) == value
        resource = structure({"name": "n", "uri": "u", "size": value}, t.Resource)
        assert resource.size == value


@pytest.mark.rule("SAMP-20")
def test_sampling_content_comes_back_as_it_came() -> None:
    block = {"type": "text", "text": "a"}
    for content in (block, [block], [], [block, block]):
        value = {"role": "user", "content": content}
        assert unstructure(structure(value, t.SamplingMessage)) == value
    with pytest.raises(StructureError, match="content"):
        structure({"role": "user", "content": "a"}, t.SamplingMessage)


@pytest.mark.rule("GEN-03")
def test_our_own_objects_are_checked_too() -> None:
    wrong: list[tuple[Any, str]] = [
        (t.TextContent(5), "text"),  # type: ignore[arg-type]
        (t.TextContent("a", annotations="x"), "annotations"),  # type: ignore[arg-type]
        (t.CallToolResult([t.TextContent("a"), "b"]), "content[1]"),
        (t.CallToolResult([t.Root("file:///")]), "content[0]"),
        (t.CallToolRequestParams("t", "x"), "arguments"),  # type: ignore[arg-type]
        (t.CallToolRequest(t.GetPromptRequestParams("t")), "params"),  # type: ignore[arg-type]
        (t.ProgressNotificationParams("t", math.nan), "progress"),
        (t.ProgressNotificationParams(1.5, 1), "progressToken"),  # type: ignore[arg-type]
        (t.Annotations(priority=2), "priority"),
        (t.PromptMessage("dog", t.TextContent("a")), "role"),  # type: ignore[arg-type]
        (t.Tool("t", {"type": "string"}), "inputSchema.type"),
        (t.Tool("t", None), "inputSchema"),  # type: ignore[arg-type]
        (t.TextContent("a", extra={"text": "b"}), "text"),
        (t.TextContent("a", extra={"type": "b"}), "type"),
        (t.TextContent("a", extra=[1]), "extra"),  # type: ignore[arg-type]
        (t.GetPromptRequestParams("p", {"a": 1}), "arguments.a"),  # type: ignore[dict-item]
        (t.RequestedSchema({"a": t.Root("x")}), "properties.a"),  # type: ignore[dict-item]
    ]
    for obj, path in wrong:
        with pytest.raises(StructureError) as caught:
            unstructure(obj)
        assert caught.value.path == path


def test_json_fields_are_handed_on_and_not_copied() -> None:
    arguments = {"deep": [{"a": 1}]}
    params = structure({"name": "t", "arguments": arguments}, t.CallToolRequestParams)
    assert params.arguments is arguments
    assert unstructure(params)["arguments"] is arguments


# ---- what the specification itself shows


def examples(revision: str) -> list[dict[str, Any]]:
    path = shared_path("spec", "examples", f"messages-{revision}.jsonl")
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def page_of(example: Any) -> str:
    return str(example["page"]) if example else "absent"


@pytest.mark.rule("GEN-03")
@pytest.mark.parametrize("example", cases(lambda: examples("2025-11-25")), ids=page_of)
def test_every_message_of_the_specification_comes_back_as_it_was(example: dict[str, Any]) -> None:
    message = example["message"]
    assert unstructure(structure(message, t.JSONRPCMessage)) == message
    method = message.get("method")
    if isinstance(method, str) and method != "some_method":
        messages = get_args(t.ClientRequest | t.ServerRequest)
        messages += get_args(t.ClientNotification | t.ServerNotification)
        [cls] = {cls for cls in messages if cls.method == method}
        assert unstructure(structure(message, cls)) == message


def newer_examples() -> list[tuple[str, Any]]:
    root = shared_path("spec", "examples", "2026-07-28")
    return [
        (folder.name, json.loads(path.read_text()))
        for folder in sorted(root.iterdir())
        if hasattr(t, folder.name)
        for path in sorted(folder.glob("*.json"))
    ]


#: Shown by the newer revision in a form that this one does not have.
NEWER = {
    "CallToolResult": "structuredContent may be an array",
    "CreateMessageRequest": "embedded: without jsonrpc and id",
    "ElicitRequest": "embedded",
    "ListRootsRequest": "embedded",
    "ElicitRequestURLParams": "without elicitationId",
    "Tool": "outputSchema of any root type",
}


@pytest.mark.rule("GEN-04")
@pytest.mark.parametrize(("name", "value"), cases(newer_examples, 2))
def test_the_newer_revisions_examples_come_back_as_they_were(name: str, value: Any) -> None:
    if name in NEWER and not accepted(value, name):
        pytest.skip(f"newer than this revision: {NEWER[name]}")
    assert unstructure(structure(value, getattr(t, name))) == value
