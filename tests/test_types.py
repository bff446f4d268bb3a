"""The types against the JSON Schema: nothing is missing, and nothing is made up."""

import json
import pickle
from collections.abc import Iterator
from copy import deepcopy
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

import attrs
import pytest

import sansmcp.types as t
from sansmcp import MISSING, StructureError, structure, unstructure
from sansmcp.types.base import Missing, Model
from sansmcp.wire import wire_name

from .conftest import cases, shared_path

pytestmark = pytest.mark.rule("GEN-03")

#: Fields whose type is plain JSON here, and is only checked on the way in (see `sansmcp.wire`).
CHECKED_JSON = {t.RequestMeta, t.ToolSchema, t.FormContent, t.JSONObject, t.Priority}
#: Types that the seed names and the schema has no definition for, or that are ours.
OURS = {
    # of older revisions
    "Annotated",
    "JSONRPCBatchRequest",
    "JSONRPCBatchResponse",
    "JSONRPCError",
    "ResourceReference",
    "DEFAULTS",
    "effective",
    "JSONObject",
    "JSONValue",
    "MISSING",
    "Missing",
    "Model",
    "FormContent",
    "Priority",
    "RequestMeta",
    "SamplingContent",
    "ToolSchema",
}


def schema() -> dict[str, Any]:
    path = shared_path("spec", "schema", "2025-11-25.json")
    loaded: dict[str, Any] = json.loads(path.read_text())["$defs"]
    return loaded


def definitions() -> list[Any]:
    return cases(lambda: sorted(schema()))


def is_union(type_: Any) -> bool:
    return get_origin(type_) in (Union, UnionType)


def members(cls: type[Model]) -> dict[str, tuple[Any, bool, Any]]:
    """Wire name -> (type, required, constant) of everything that a class has on the wire."""
    found: dict[str, tuple[Any, bool, Any]] = {}
    for field in attrs.fields(cls):
        if field.name == "extra":
            continue
        required = field.default is attrs.NOTHING or bool(field.metadata.get("required"))
        type_ = field.type
        if field.default is not attrs.NOTHING and is_union(type_):
            rest = tuple(arg for arg in get_args(type_) if arg not in (type(None), Missing))
            type_ = Union[rest]  # noqa: UP007
        found[wire_name(field)] = (type_, required, None)
    for base in cls.__mro__:
        for name, annotation in vars(base).get("__annotations__", {}).items():
            if str(annotation).startswith("typing.ClassVar"):
                found[name] = (None, True, getattr(cls, name))
    return found


def resolved(spec: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """A schema with its references followed and its `allOf` merged."""
    while "$ref" in spec:
        spec = defs[spec["$ref"].rpartition("/")[2]]
    if "allOf" in spec:
        merged: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        for part in spec["allOf"]:
            part = resolved(part, defs)
            for name, value in part.get("properties", {}).items():
                merged["properties"][name] = {**merged["properties"].get(name, {}), **value}
            merged["required"] += part.get("required", [])
        return merged
    return spec


def differences(type_: Any, spec: dict[str, Any], defs: dict[str, Any], at: str) -> Iterator[str]:
    """Everything in which a type of ours and a schema disagree."""
    if "$ref" in spec:
        name = spec["$ref"].rpartition("/")[2]
        if not hasattr(t, name):
            yield f"{at}: no type {name}"
        elif type_ != getattr(t, name) and not at.endswith("error"):
            yield f"{at}: {type_} is not {name}"
        return
    if type_ in CHECKED_JSON:
        if "properties" not in spec and spec.get("type") not in ("object", "number"):
            yield f"{at}: kept as JSON, but is no object"
        return
    if "allOf" in spec:
        spec = resolved(spec, defs)
    if "anyOf" in spec:
        options = list(get_args(type_))
        if len(spec["anyOf"]) > len(options):
            yield f"{at}: {len(spec['anyOf'])} alternatives, not {len(options)}"
        return
    if "enum" in spec:
        if get_origin(type_) is not Literal or sorted(get_args(type_)) != sorted(spec["enum"]):
            yield f"{at}: {type_} is not one of {spec['enum']}"
        return
    if isinstance(type_, type) and issubclass(type_, Model):
        yield from class_differences(type_, spec, defs, at)
        return
    kind = spec.get("type")
    if kind == "array":
        if get_origin(type_) is not tuple:
            yield f"{at}: {type_} is no tuple"
        else:
            yield from differences(get_args(type_)[0], spec["items"], defs, f"{at}[]")
    elif kind == "object" and get_origin(type_) is dict:
        inner = spec.get("additionalProperties", {})
        if isinstance(inner, dict) and inner:
            yield from differences(get_args(type_)[1], inner, defs, f"{at}.*")
    elif kind == "object":
        # A capability that may also be given as `true`.
        if t.JSONObject not in get_args(type_):
            yield f"{at}: {type_} is no object"
    elif kind is None:
        if type_ is not Any:
            yield f"{at}: {type_} is not any JSON"
    else:
        kinds = {
            "string": str,
            "integer": int,
            "number": float,
            "boolean": bool,
            "null": type(None),
        }
        expected = {kinds[one] for one in (kind if isinstance(kind, list) else [kind])}
        if set(get_args(type_) or (type_,)) != expected:
            yield f"{at}: {type_} is not {kind}"


def class_differences(
    cls: type[Model], spec: dict[str, Any], defs: dict[str, Any], at: str
) -> Iterator[str]:
    ours = members(cls)
    theirs = spec.get("properties", {})
    for name in sorted(ours.keys() - theirs.keys() - {"_meta"}):
        yield f"{at}.{name}: the schema has no such property"
    for name, inner in theirs.items():
        if name not in ours:
            yield f"{at}.{name}: missing"
            continue
        type_, required, constant = ours[name]
        if required != (name in spec.get("required", [])):
            yield f"{at}.{name}: required here is {required}"
        const = resolved(inner, defs).get("const")
        if constant is not None or (const is not None and get_origin(type_) is not Literal):
            if const != constant:
                yield f"{at}.{name}: {constant!r} is not the constant {const!r}"
            continue
        if const is not None:
            inner = {"enum": [const]}
        yield from differences(type_, inner, defs, f"{at}.{name}")


@pytest.mark.parametrize("name", definitions())
def test_every_definition_and_property_has_its_counterpart(name: str) -> None:
    defs = schema()
    spec, type_ = defs[name], getattr(t, name)
    if "$ref" in spec:
        assert type_ == getattr(t, spec["$ref"].rpartition("/")[2])
        return
    if "anyOf" in spec:
        expected: set[Any] = set()
        for option in spec["anyOf"]:
            alternative = getattr(t, option["$ref"].rpartition("/")[2])
            expected |= set(get_args(alternative)) if is_union(alternative) else {alternative}
        assert set(get_args(type_)) == expected
        return
    assert list(differences(type_, spec, defs, name)) == []


def test_there_are_145_definitions_and_nothing_made_up() -> None:
    defs = schema()
    assert len(defs) == 145
    reachable: set[type] = set()

    def walk(type_: Any) -> None:
        if isinstance(type_, type) and issubclass(type_, Model) and type_ not in reachable:
            reachable.add(type_)
            for inner, _, _ in members(type_).values():
                walk(inner)
        for arg in get_args(type_):
            walk(arg)

    for name in defs:
        walk(getattr(t, name))
    for name in t.__all__:
        if name in defs or name in OURS:
            continue
        # Anonymous in the schema: an object that stands inside a definition, or the params of one.
        assert getattr(t, name) in reachable, name


def test_the_walk_would_notice() -> None:
    """The walker is no rubber stamp: it sees what is missing, made up, optional or of a wrong type."""
    defs = schema()
    spec = deepcopy(defs["Tool"])
    spec["properties"]["colour"] = {"type": "string"}
    del spec["properties"]["title"]
    spec["required"].append("description")
    spec["properties"]["name"] = {"type": "integer"}
    found = sorted(line.partition(":")[0] for line in differences(t.Tool, spec, defs, "Tool"))
    assert found == ["Tool.colour", "Tool.description", "Tool.name", "Tool.title"]


# ---- the shape of the classes


def test_types_are_frozen_slotted_and_compare_by_value() -> None:
    classes = [
        value
        for name in t.__all__
        if isinstance(value := getattr(t, name), type) and issubclass(value, Model)
    ]
    assert len(classes) > 140
    for cls in classes:
        assert "__slots__" in vars(cls)
        assert cls.__doc__
    tool = t.Tool("a", {"type": "object"})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        tool.name = "b"  # type: ignore[misc]
    assert not hasattr(tool, "__dict__")
    assert tool == t.Tool("a", {"type": "object"}) != t.Tool("a", {"type": "object"}, title="A")
    assert deepcopy(tool) == pickle.loads(pickle.dumps(tool)) == tool


def test_constants_are_literals_so_that_a_type_checker_can_tell_a_union_apart() -> None:
    seen = 0
    for name in t.__all__:
        cls = getattr(t, name)
        if isinstance(cls, type) and issubclass(cls, Model):
            for field, annotation in vars(cls).get("__annotations__", {}).items():
                if get_origin(annotation) is ClassVar:
                    assert annotation == ClassVar[Literal[getattr(cls, field)]], (name, field)
                    seen += 1
    assert seen > 80

    def text_of(block: t.ContentBlock) -> str:
        return block.text if block.type == "text" else ""

    assert text_of(t.TextContent("a")) == "a"


def test_types_can_be_hashed_where_their_contents_can() -> None:
    one = t.CallToolResult([t.TextContent("a"), t.ImageContent("", "image/png")])
    other = t.CallToolResult((t.TextContent("a"), t.ImageContent("", "image/png")))
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other, t.CallToolResult([])}) == 2
    with pytest.raises(TypeError):
        hash(t.CallToolResult([], structured_content={}))


def test_sequences_are_tuples_whatever_was_given() -> None:
    for given in (["a"], ("a",), iter(["a"]), {"a": 1}.keys()):
        assert t.Completion(given).values == ("a",)
    with pytest.raises(TypeError):
        t.Completion("abc")
    content = t.TextContent("x")
    assert t.SamplingMessage("user", content).content is content
    assert t.SamplingMessage("user", [content]).content == (content,)


def test_arguments_come_in_the_natural_order() -> None:
    built = [
        t.Implementation("name", "1.0"),
        t.Tool("name", {"type": "object"}),
        t.CallToolRequestParams("name", {}),
        t.TextContent("text"),
        t.ImageContent("", "image/png"),
        t.PromptMessage("user", t.TextContent("x")),
        t.InitializeRequestParams("2025-11-25", t.ClientCapabilities(), t.Implementation("n", "v")),
        t.CreateMessageRequestParams([], 5),
        t.CreateMessageResult("assistant", t.TextContent("x"), "model"),
        t.ProgressNotificationParams("token", 1, 2, "message"),
        t.ElicitRequestFormParams("message", t.RequestedSchema({})),
        t.ElicitRequestURLParams("message", "id", "https://example.com/"),
        t.Resource("name", "a:b"),
        t.Root("file:///a", "name"),
        t.Error(1, "message", None),
        t.CallToolRequest(t.CallToolRequestParams("echo", {"text": "hi"})),
    ]
    for one in built:
        value = unstructure(one)
        if isinstance(one, t.CallToolRequest):
            value["id"] = 1
        assert unstructure(structure(value, type(one))) == value


# ---- what JSON says and what it does not


@pytest.mark.rule("TASK-35", "H38")
def test_a_task_without_ttl_is_refused_and_null_is_for_ever() -> None:
    value = {
        "taskId": "t",
        "status": "working",
        "createdAt": "2025-11-25T10:30:00Z",
        "lastUpdatedAt": "2025-11-25T10:30:00Z",
    }
    with pytest.raises(StructureError, match="ttl"):
        structure(value, t.Task)
    for ttl in (None, 0, 60000):
        task = structure({**value, "ttl": ttl}, t.Task)
        assert task.ttl == ttl
        assert unstructure(task) == {**value, "ttl": ttl}


@pytest.mark.rule("H38", "LOG-19")
def test_null_and_absent_are_kept_apart() -> None:
    error = {"code": 1, "message": "m"}
    assert structure(error, t.Error).data is MISSING
    assert structure({**error, "data": None}, t.Error).data is None
    for value in (error, {**error, "data": None}, {**error, "data": {"a": None}}):
        assert unstructure(structure(value, t.Error)) == value
    with pytest.raises(StructureError, match="data: required"):
        structure({"level": "info"}, t.LoggingMessageNotificationParams)
    null = structure({"level": "info", "data": None}, t.LoggingMessageNotificationParams)
    assert null.data is None
    assert unstructure(null) == {"level": "info", "data": None}
    assert not MISSING
    assert repr(MISSING) == "MISSING"


@pytest.mark.rule("TOOL-12", "SAMP-40")
def test_absent_members_have_the_defaults_that_the_schema_gives() -> None:
    defaults = t.DEFAULTS
    assert defaults == {
        ("ToolAnnotations", "read_only_hint"): False,
        ("ToolAnnotations", "destructive_hint"): True,
        ("ToolAnnotations", "idempotent_hint"): False,
        ("ToolAnnotations", "open_world_hint"): True,
        ("ToolExecution", "task_support"): "forbidden",
        ("CallToolResult", "is_error"): False,
        ("ToolResultContent", "is_error"): False,
        ("CreateMessageRequestParams", "include_context"): "none",
        ("ToolChoice", "mode"): "auto",
        ("ElicitRequestFormParams", "mode"): "form",
    }
    for class_name, field in defaults:
        assert field in attrs.fields_dict(getattr(t, class_name))
    assert t.effective(t.ToolAnnotations(), "destructive_hint") is True
    assert t.effective(t.ToolAnnotations(destructive_hint=False), "destructive_hint") is False
    assert t.effective(t.ToolAnnotations(), "title") is None


@pytest.mark.rule("LIFE-15", "X-07", "TASK-02")
def test_x_07_a_task_capability_may_be_true() -> None:
    value = {"tasks": {"list": True, "cancel": {}, "requests": {"tools": {"call": True}}}}
    assert unstructure(structure(value, t.ServerCapabilities)) == value
    everything: tuple[object, ...] = (False, 1, "yes", None, [])
    for wrong in everything:
        with pytest.raises(StructureError):
            structure({"tasks": {"list": wrong}}, t.ServerCapabilities)


# ---- reprs


def test_reprs_are_short_enough_to_read() -> None:
    assert repr(t.TextContent("hi")) == "TextContent('hi')"
    assert repr(t.Tool("a", {"type": "object"}, title="A")) == (
        "Tool('a', {'type': 'object'}, title='A')"
    )
    long = repr(t.ImageContent("A" * 10_240, "image/png"))
    assert "10,240 characters" in long
    assert len(long) < 150
    many = t.CallToolResult(
        [t.TextContent("x" * 5000)] * 500,
        structured_content={f"k{n}": ["y" * 900] * 90 for n in range(900)},
        extra={"z" * 9000: "z" * 9000},
    )
    assert len(repr(many)) < 2500
    deep: Any = "end"
    for _ in range(500):
        deep = [deep]
    assert len(repr(t.CallToolRequestParams("t", {"a": deep}))) < 300
    assert "42" in repr(t.CallToolRequest(t.CallToolRequestParams("t"), id=42))
