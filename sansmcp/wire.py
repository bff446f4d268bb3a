"""JSON text to values, and values to types: the only way in and out.

JSON is msgspec's business, and which function belongs to which type is cattrs'. The functions for
the types themselves are generated here, one pair for each class, when the class is first used: they
check every value, say where a wrong one is, and keep what the schema does not know. Values that are
JSON already (`arguments`, `structured_content`, `_meta`) are passed through and not walked.

The source of the shapes is the schema (GEN-03). `true` is no number, a number is no text, and `1.0`
is no id; elsewhere an integer may be written `5.0`, as JSON Schema has it.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import UnionType
from typing import Any, ClassVar, Final, Literal, TypeVar, Union, get_args, get_origin, overload

import attrs
import cattrs
import msgspec

from . import types as t
from .errors import DecodeError, StructureError, shortened
from .types.base import Missing, Model

__all__ = ["converter", "decode_json", "encode_json", "structure", "unstructure"]

_T = TypeVar("_T")
_Hook = Callable[[Any], Any]

# ---- JSON

_decoder: Final = msgspec.json.Decoder()
_encoder: Final = msgspec.json.Encoder()


def decode_json(text: bytes | bytearray | memoryview | str) -> t.JSONValue:
    """Read strict JSON: UTF-8, no byte order mark, no NaN, no infinity, no lone surrogate.

    Integers of any size up to 4,300 digits are exact. Of a key that comes twice the last counts.

    Raises:
        DecodeError: the text is not that; the reason is short.
    """
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise DecodeError("nested too deeply") from None
    except ValueError as error:
        raise DecodeError(_reason(text, error)) from None


_HALF_A_PAIR: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}[^\\]")


def _reason(text: bytes | bytearray | memoryview | str, error: ValueError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a lone surrogate"
    raw = text.encode() if isinstance(text, str) else bytes(text)
    if raw.startswith(b"\xef\xbb\xbf"):
        return "a byte order mark before the message"
    reason = str(error).removeprefix("JSON is malformed: ")
    # Where a text ends soon after half a pair, msgspec looks for the other half beyond its end.
    if "surrogate" in reason or ("truncated" in reason and _HALF_A_PAIR.search(raw, len(raw) - 12)):
        return "a lone surrogate"
    return reason


def encode_json(value: t.JSONValue) -> bytes:
    """Write JSON on one line, in UTF-8.

    The value is made of None, bool, int, float, str, list, tuple, and dict with str keys. What
    msgspec would turn into one of them on its own is refused: a datetime, bytes, a set, a dict with
    other keys, an object of `sansmcp.types` that was not unstructured.

    Raises:
        StructureError: there is something in it that JSON cannot say: NaN, an infinity, a lone
            surrogate, an object of a foreign type, a cycle. Where the path is known, it is given.
    """
    try:
        text = _encoder.encode(value)
        # msgspec writes NaN as null, and turns much that is not JSON into something that is. Reading
        # it again shows that, and costs less than to look at every value.
        differs = _decoder.decode(text) != value
    except RecursionError:
        raise StructureError("", "nested too deeply, or a cycle") from None
    except UnicodeEncodeError:
        raise StructureError("", "a text with a lone surrogate cannot be sent") from None
    except (TypeError, ValueError) as error:
        raise StructureError("", str(error)) from None
    if differs:
        _refuse_foreign(value)
    return text


def _refuse_foreign(value: t.JSONValue) -> None:
    """Find what is not JSON, if anything: a tuple is, though it comes back as a list.

    Without recursion, for the value may be as deep as msgspec allows.
    """
    todo: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]
    while todo:
        value, trail = todo.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise _on(trail, f"expected a string as key, got {shortened(key)}")
                todo.append((inner, (trail, key)))
        elif isinstance(value, (list, tuple)):
            todo += [(inner, (trail, f"[{index}]")) for index, inner in enumerate(value)]
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise _on(trail, f"{value} is no JSON number")
        elif value is not None and not isinstance(value, (str, int)):
            raise _on(trail, f"expected a JSON value, got {shortened(value)}")


def _on(trail: tuple[Any, ...], detail: str) -> StructureError:
    """An error at the end of a trail, which is a pair of the trail so far and the last key."""
    error = StructureError("", detail)
    while trail:
        trail, key = trail
        error = error.below(key)
    return error


# ---- types

#: The converter that holds a function for every type. To have one for a type of your own, derive it
#: from `sansmcp.types.Model`, or register hooks as usual with cattrs.
converter: Final = cattrs.Converter()


@overload
def structure(value: t.JSONValue, type_: type[_T], *, at: str = "") -> _T: ...


@overload
def structure(value: t.JSONValue, type_: Any, *, at: str = "") -> Any: ...


def structure(value: t.JSONValue, type_: Any, *, at: str = "") -> Any:
    """Make a typed object of a JSON value.

    Args:
        value: what `decode_json` gave.
        type_: a class, an alias or a union of `sansmcp.types`, or `list[...]` of one.
        at: where the value stands, for the path in an error.

    Raises:
        StructureError: it does not fit; says where and why.
    """
    try:
        return _hook_in(type_)(value)
    except StructureError as error:
        raise (error.below(at) if at else error) from None


def unstructure(obj: Any) -> t.JSONValue:
    """Make a JSON value of a typed object, and check the object's own fields by the way.

    Raises:
        StructureError: a field holds what its type does not allow; says where and why.
    """
    return _hook_of_class(obj.__class__)(obj)


def _expected(what: str, value: object) -> StructureError:
    return StructureError("", f"expected {what}, got {shortened(value)}")


def wire_name(field: "attrs.Attribute[Any]") -> str:
    """The name of a field on the wire: `_meta`, `$schema`, else its own in camelCase."""
    named = field.metadata.get("wire")
    if named is not None:
        return str(named)
    if field.name == "meta":
        return "_meta"
    first, *others = field.name.split("_")
    return first + "".join(other.capitalize() for other in others)


# -- values that are no objects of ours. Each pair: from JSON, and to JSON.


def _text(value: Any) -> str:
    if value.__class__ is str or isinstance(value, str):
        return value
    raise _expected("a string", value)


def _flag(value: Any) -> bool:
    if value.__class__ is bool:
        return value
    raise _expected("true or false", value)


def _integer(value: Any) -> int:
    if value.__class__ is int:
        return value
    if value.__class__ is float and value.is_integer():
        return int(value)
    raise _expected("an integer", value)


_LARGEST: Final = int(sys.float_info.max)


def _number(value: Any) -> float:
    # An integer that no float comes near could not be reckoned with, whatever is done with it.
    if (value.__class__ is int and -_LARGEST <= value <= _LARGEST) or (
        value.__class__ is float and math.isfinite(value)
    ):
        number: float = value
        return number
    raise _expected("a number", value)


def _priority(value: Any) -> float:
    if 0 <= (number := _number(value)) <= 1:
        return number
    raise _expected("a number from 0 to 1", value)


def _request_id(value: Any) -> t.RequestId:
    if value.__class__ is int or value.__class__ is str:
        return value
    raise _expected("a string or an integer", value)


def _json(value: Any) -> Any:
    return value


def _object(value: Any) -> t.JSONObject:
    if value.__class__ is dict or isinstance(value, dict):
        return value
    raise _expected("an object", value)


_NOTHING: Final[t.JSONObject] = {}
_NONE: Final[list[str]] = []


def _request_meta(value: Any) -> t.RequestMeta:
    meta = _object(value)
    if "progressToken" in meta:
        _at("progressToken", _request_id, meta["progressToken"])
    return meta


def _is_plain(schema: t.JSONObject) -> bool:
    """Whether nothing is wrong with the schema of a tool. Lists of tools are mostly schemas."""
    properties, required = schema.get("properties", _NOTHING), schema.get("required", _NONE)
    if properties.__class__ is not dict or required.__class__ is not list:
        return False
    for inner in properties.values():
        if inner.__class__ is not dict:
            return False
    for inner in required:
        if inner.__class__ is not str:
            return False
    return schema.get("type") == "object" and "$schema" not in schema


def _tool_schema(value: Any) -> t.ToolSchema:
    schema = _object(value)
    if _is_plain(schema):
        return schema
    if "type" not in schema:
        raise StructureError("type", "required, and missing")
    if schema["type"] != "object":
        raise StructureError("type", f'expected "object", got {shortened(schema["type"])}')
    if "$schema" in schema:
        _at("$schema", _text, schema["$schema"])
    if "properties" in schema:
        _at("properties", _properties, schema["properties"])
    if "required" in schema:
        _at("required", _names, schema["required"])
    return schema


def _properties(value: Any) -> None:
    for key, inner in _object(value).items():
        _at(key, _object, inner)


def _names(value: Any) -> None:
    if not isinstance(value, (list, tuple)):
        raise _expected("an array", value)
    for index, inner in enumerate(value):
        _at(f"[{index}]", _text, inner)


def _form_value(value: Any) -> Any:
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return _array(_text, value)
    if isinstance(value, (int, float)):
        return _number(value)
    raise _expected("a string, a number, true or false, or an array of strings", value)


def _form_content(value: Any) -> t.FormContent:
    content = _object(value)
    for key, inner in content.items():
        _at(key, _form_value, inner)
    return content


def _at(key: str, hook: Callable[[Any], Any], value: Any) -> Any:
    try:
        return hook(value)
    except StructureError as error:
        raise error.below(key) from None


def _mapping(hook: _Hook, value: Any) -> dict[str, Any]:
    made = {}
    for key, inner in _object(value).items():
        if not isinstance(key, str):
            raise _expected("a string as key", key)
        made[key] = _at(key, hook, inner)
    return made


def _array(hook: _Hook, value: Any, make: type[tuple[Any, ...]] | type[list[Any]] = tuple) -> Any:
    if not isinstance(value, (list, tuple)):
        raise _expected("an array", value)
    try:
        return make(map(hook, value))
    except StructureError:
        # Only now does it matter where. Nothing is changed by looking again.
        for index, inner in enumerate(value):
            _at(f"[{index}]", hook, inner)
        raise


def _literal(type_: Any) -> _Hook:
    allowed = get_args(type_)
    shown = ", ".join(shortened(one) for one in allowed)

    def hook(value: Any) -> Any:
        if value.__class__ is str and value in allowed:
            return value
        raise _expected(f"one of {shown}", value)

    return hook


# -- unions: which class a value is meant to be


def _tag_of(classes: Iterable[type[Model]]) -> str | None:
    """The member that is a constant of each class, each time another, if there is such a member."""
    for tag in ("type", "method"):
        constants = [getattr(cls, tag, None) for cls in classes]
        if all(isinstance(one, str) for one in constants) and len(set(constants)) == len(constants):
            return tag
    return None


def _tagged_in(tag: str, classes: Iterable[Any]) -> _Hook:
    """Chooses by the member `tag`."""
    hooks = {str(getattr(cls, tag)): _hook_in(cls) for cls in classes}
    shown = ", ".join(map(repr, hooks))

    def hook(value: Any) -> Any:
        try:
            found = hooks[value[tag]]
        except (KeyError, TypeError):
            value = _object(value)
            if tag not in value:
                raise StructureError(tag, "required, and missing") from None
            wrong = f"expected one of {shown}, got {shortened(value[tag])}"
            raise StructureError(tag, wrong) from None
        return found(value)

    return hook


def _by_mode(value: t.JSONObject) -> type[Model]:
    mode = value.get("mode", "form")
    if mode == "form":
        return t.ElicitRequestFormParams
    if mode == "url":
        return t.ElicitRequestURLParams
    raise StructureError("mode", f"expected one of 'form', 'url', got {shortened(mode)}")


def _by_contents(value: t.JSONObject) -> type[Model]:
    if "text" in value:
        return t.TextResourceContents
    if "blob" in value:
        return t.BlobResourceContents
    raise StructureError("", "expected text or blob in the contents of a resource")


def _by_schema(classes: frozenset[type[Model]], value: t.JSONObject) -> type[Model]:
    if "type" not in value:
        raise StructureError("type", "required, and missing")
    kind = value["type"]
    cls: type[Model] | None = None
    if kind == "string":
        if "oneOf" in value:
            cls = t.TitledSingleSelectEnumSchema
        elif "enum" not in value:
            cls = t.StringSchema
        elif "enumNames" in value or t.UntitledSingleSelectEnumSchema not in classes:
            cls = t.LegacyTitledEnumSchema
        else:
            cls = t.UntitledSingleSelectEnumSchema
    elif kind == "array":
        items = value.get("items")
        titled = isinstance(items, dict) and "anyOf" in items
        cls = t.TitledMultiSelectEnumSchema if titled else t.UntitledMultiSelectEnumSchema
    elif kind == "boolean":
        cls = t.BooleanSchema
    elif kind in ("number", "integer"):
        cls = t.NumberSchema
    if cls not in classes:
        raise StructureError("type", f"expected a primitive kind, got {shortened(kind)}")
    return cls


def _by_members(value: t.JSONObject) -> type[Model]:
    if "method" in value:
        return t.JSONRPCRequest if "id" in value else t.JSONRPCNotification
    return t.JSONRPCErrorResponse if "error" in value else t.JSONRPCResultResponse


def _by_required(classes: Iterable[type[Model]]) -> Callable[[t.JSONObject], type[Model]]:
    """Results have no tag: the first whose required members are there, else a bare `Result`."""
    required = {
        cls: {wire_name(field) for field in attrs.fields(cls) if _required(field)}
        for cls in classes
    }

    def choose(value: t.JSONObject) -> type[Model]:
        for cls, names in required.items():
            if names and value.keys() >= names:
                return cls
        return t.Result

    return choose


def _chooser(classes: tuple[type[Model], ...]) -> Callable[[t.JSONObject], type[Model]]:
    """How the members of a union are told apart."""
    members = frozenset(classes)
    if members <= set(get_args(t.PrimitiveSchemaDefinition)):
        return partial(_by_schema, members)
    if members == set(get_args(t.ElicitRequestParams)):
        return _by_mode
    if members == {t.TextResourceContents, t.BlobResourceContents}:
        return _by_contents
    if members <= set(get_args(t.JSONRPCMessage)):
        return _by_members
    if t.Result in members:
        return _by_required(classes)
    raise TypeError(f"nothing tells the members of {classes} apart")


def _union_in(type_: Any) -> _Hook:
    classes = get_args(type_)
    tag = _tag_of(classes)
    if tag is not None:
        return _tagged_in(tag, classes)
    choose = _chooser(classes)
    hooks = {cls: _hook_in(cls) for cls in classes}

    def hook(value: Any) -> Any:
        return hooks[choose(_object(value))](value)

    return hook


def _union_out(type_: Any) -> _Hook:
    classes = get_args(type_)
    hooks = {cls: converter.get_unstructure_hook(cls) for cls in classes}
    shown = ", ".join(cls.__name__ for cls in classes)

    def hook(value: Any) -> Any:
        found = hooks.get(value.__class__)
        if found is None:
            raise _expected(f"one of {shown}", value)
        return found(value)

    return hook


def _blocks_in(type_: Any) -> _Hook:
    """One block or an array of them."""
    block = _hook_in(t.SamplingMessageContentBlock)
    return lambda value: _array(block, value) if isinstance(value, list) else block(value)


def _blocks_out(type_: Any) -> _Hook:
    block = _hook_out(t.SamplingMessageContentBlock)
    return lambda value: _array(block, value, list) if isinstance(value, tuple) else block(value)


def _model_out(cls: type[Model]) -> _Hook:
    exact = converter.get_unstructure_hook(cls)

    def hook(value: Any) -> Any:
        if value.__class__ is cls:
            return exact(value)
        if isinstance(value, cls):
            return unstructure(value)
        raise _expected(cls.__name__, value)

    return hook


_LEAVES: Final[Mapping[Any, _Hook]] = {
    str: _text,
    bool: _flag,
    int: _integer,
    float: _number,
    Any: _json,
    t.JSONObject: _object,
    t.RequestId: _request_id,
    t.Priority: _priority,
    t.RequestMeta: _request_meta,
    t.ToolSchema: _tool_schema,
    t.FormContent: _form_content,
}


def _is_union(type_: Any) -> bool:
    return get_origin(type_) in (Union, UnionType)


def _without(type_: Any, *left_out: Any) -> Any:
    """A union without some of its members."""
    kept = [arg for arg in get_args(type_) if arg not in left_out]
    return Union[tuple(kept)]  # noqa: UP007


def _hook(type_: Any, outwards: bool) -> _Hook:
    """The function that checks and converts values of this type, one way or the other."""
    leaf = _LEAVES.get(type_)
    if leaf is not None:
        return leaf
    origin = get_origin(type_)
    if origin is Literal:
        return _literal(type_)
    if origin in (tuple, list):
        inner = (_hook_out if outwards else _hook_in)(get_args(type_)[0])
        make: Any = tuple if origin is tuple and not outwards else list
        return partial(_array, inner, make=make)
    if origin is dict:
        return partial(_mapping, _hook(get_args(type_)[1], outwards))
    if type_ == t.SamplingContent:
        return (_blocks_out if outwards else _blocks_in)(type_)
    if _is_union(type_):
        args = get_args(type_)
        if type(None) in args:
            some = _hook(_without(type_, type(None)), outwards)
            return lambda value: None if value is None else some(value)
        if Literal[True] in args:
            # a capability that should be an object; `true` says as much.
            some = _hook(_without(type_, Literal[True]), outwards)
            return lambda value: value if value is True else some(value)
        return (_union_out if outwards else _union_in)(type_)
    if outwards:
        return _model_out(type_) if _is_model(type_) else converter.get_unstructure_hook(type_)
    hook: Any = converter.get_structure_hook(type_)
    # Those that are generated below need not be told the type; others may.
    return hook if getattr(hook, "__defaults__", None) else lambda value: hook(value, type_)


@cache
def _hook_of_class(cls: type[Any]) -> _Hook:
    return converter.get_unstructure_hook(cls)


@cache
def _hook_in(type_: Any) -> _Hook:
    return _hook(type_, outwards=False)


@cache
def _hook_out(type_: Any) -> _Hook:
    return _hook(type_, outwards=True)


# -- classes: a function each way, generated when it is first needed


def _required(field: "attrs.Attribute[Any]") -> bool:
    return field.default is attrs.NOTHING or bool(field.metadata.get("required"))


def _field_type(field: "attrs.Attribute[Any]") -> Any:
    """The type of a field's values where it is present. None is absent, unless it is required."""
    type_ = field.type
    if field.default is not attrs.NOTHING and _is_union(type_):
        type_ = _without(type_, type(None), Missing)
    return type_


def _constants(cls: type[Model]) -> dict[str, str | int]:
    """The members that are the same in every object of the class."""
    return {
        name: getattr(cls, name)
        for base in reversed(cls.__mro__)
        for name, annotation in vars(base).get("__annotations__", {}).items()
        if get_origin(annotation) is ClassVar
    }


def _fields(cls: type[Model]) -> list["attrs.Attribute[Any]"]:
    return [field for field in attrs.fields(cls) if field.name != "extra"]


def _wire_names(cls: type[Model]) -> frozenset[str]:
    return frozenset([*_constants(cls), *map(wire_name, _fields(cls))])


#: What passes these hooks as it is, if it is of exactly this class: then they need not be called.
_EXACT: Final[Mapping[_Hook, str]] = {_text: "str", _flag: "bool", _integer: "int", _object: "dict"}


def _structure_hook(cls: type[Model]) -> Callable[[Any, Any], Any]:
    """Generate the function that makes an object of `cls` of a JSON value.

    It reads the members one by one and keeps in `at` which one it is at, so that an error can say
    so; on the way of a good value that costs next to nothing.
    """
    names: dict[str, Any] = {
        "cls": cls,
        "new": cls.__new__,
        "bad": _expected,
        "StructureError": StructureError,
        "shortened": shortened,
        "wire_names": _wire_names(cls),
    }
    lines = [
        "def structure(value, _=None):",
        "    if value.__class__ is not dict: raise bad('an object', value)",
        "    known = 0",
        "    at = ''",
        "    try:",
    ]
    for name, constant in _constants(cls).items():
        wrong = f"expected {shortened(constant)}, got "
        lines += [
            f"        at = {name!r}",
            f"        if value[at] != {constant!r}:",
            f"            raise StructureError('', {wrong!r} + shortened(value[at]))",
            "        known += 1",
        ]
    # An object is put together slot by slot. Its `__init__` would do the same, and convert what is
    # converted already; that makes a tenth of what it costs to receive a small message.
    build = ["    obj = new(cls)"]
    for number, field in enumerate(_fields(cls)):
        hook = _hook_in(_field_type(field))
        names[f"h{number}"] = hook
        names[f"d{number}"] = field.default
        names[f"s{number}"] = getattr(cls, field.name).__set__
        wire, v = wire_name(field), f"v{number}"
        if hook is _json:
            read = [f"{v} = value[at]"]
        elif hook in _EXACT:
            read = [
                f"{v} = value[at]",
                f"if {v}.__class__ is not {_EXACT[hook]}: {v} = h{number}({v})",
            ]
        else:
            read = [f"{v} = h{number}(value[at])"]
        read = [f"at = {wire!r}", *read, "known += 1"]
        if _required(field):
            lines += [f"        {line}" for line in read]
        else:
            lines += [
                f"        if {wire!r} in value:",
                *(f"            {line}" for line in read),
                f"        else: {v} = d{number}",
            ]
        build.append(f"    s{number}(obj, v{number})")
    names["set_extra"] = getattr(cls, "extra").__set__  # noqa: B009
    lines += [
        "    except KeyError: raise StructureError(at, 'required, and missing') from None",
        "    except StructureError as error: raise error.below(at) from None",
        *build,
        "    if known == len(value): set_extra(obj, {})",
        "    else: set_extra(obj, {key: value[key] for key in value if key not in wire_names})",
        "    return obj",
    ]
    exec("\n".join(lines), names)
    hook_: Callable[[Any, Any], Any] = names["structure"]
    return hook_


def _unstructure_hook(cls: type[Model]) -> Callable[[Any], Any]:
    """Generate the function that makes a JSON value of an object of `cls`."""
    names: dict[str, Any] = {
        "StructureError": StructureError,
        "merge": _merge_extra,
        "wire_names": _wire_names(cls),
    }
    lines = ["def unstructure(obj):", "    at = ''"]
    add = lines.append
    constants = ", ".join(f"{name!r}: {value!r}" for name, value in _constants(cls).items())
    add(f"    value = {{{constants}}}")
    add("    try:")
    for number, field in enumerate(_fields(cls)):
        wire = wire_name(field)
        hook = _hook_out(_field_type(field))
        names[f"h{number}"] = hook
        names[f"d{number}"] = field.default
        convert = f"h{number}(v)"
        if hook is _json:
            convert = "v"
        elif hook in _EXACT:
            convert = f"v if v.__class__ is {_EXACT[hook]} else {convert}"
        indent = "        "
        add(f"{indent}v = obj.{field.name}")
        if field.default is not attrs.NOTHING:
            add(f"{indent}if v is not d{number}:")
            indent += "    "
        add(f"{indent}at = {wire!r}")
        add(f"{indent}value[at] = {convert}")
    lines += [
        "    except StructureError as error: raise error.below(at) from None",
        "    if obj.extra: merge(value, obj.extra, wire_names)",
        "    return value",
    ]
    exec("\n".join(lines), names)
    hook_: Callable[[Any], Any] = names["unstructure"]
    return hook_


def _merge_extra(value: t.JSONObject, extra: Any, wire_names: frozenset[str]) -> None:
    for key, inner in _at("extra", _object, extra).items():
        if key in wire_names:
            raise StructureError(key, "stands in `extra`, but is a field of its own")
        value[key] = inner


def _is_model(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Model)


converter.register_structure_hook_factory(_is_model, _structure_hook)
converter.register_unstructure_hook_factory(_is_model, _unstructure_hook)
