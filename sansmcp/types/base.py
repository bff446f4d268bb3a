"""What all types have in common."""

import enum
import reprlib
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, TypeAlias

import attrs

__all__ = [
    "DEFAULTS",
    "MISSING",
    "FormContent",
    "JSONObject",
    "JSONValue",
    "Missing",
    "Model",
    "Priority",
    "RequestMeta",
    "ToolSchema",
    "effective",
    "items",
    "optional_items",
]

#: Any JSON value: None, bool, int, float, str, a list of values, or a dict with string keys.
JSONValue: TypeAlias = Any
#: A JSON object as a dict. Fields of this type are passed through as they are.
JSONObject: TypeAlias = dict[str, Any]
#: The JSON Schema of an object, kept to the letter: `type` is "object", `properties` holds objects
#: and `required` strings. That much is checked, the rest is for a validator.
ToolSchema: TypeAlias = Annotated[dict[str, Any], "object schema"]
#: The fields of a form by name: texts, numbers, booleans and lists of texts (X-13).
FormContent: TypeAlias = Annotated[dict[str, Any], "form content"]
#: From 0, least important, to 1, most important.
Priority: TypeAlias = Annotated[float, "0 to 1"]
#: The `_meta` of a request. Its `progressToken`, if any, is a string or an integer.
RequestMeta: TypeAlias = Annotated[dict[str, Any], "request meta"]


class Missing(enum.Enum):
    """The type of `MISSING`."""

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> Literal[False]:
        return False


#: Stands for a member that is absent, where null means something else.
MISSING: Final = Missing.MISSING


# The items are of any type, for a type checker sees no type variable through an attrs converter.
def items(values: Iterable[Any]) -> tuple[Any, ...]:
    """A sequence as a tuple, so that frozen types can be hashed and compared."""
    if type(values) is tuple:
        return values
    if isinstance(values, (str, bytes, dict)):
        raise TypeError(f"expected a sequence of items, got a {type(values).__name__}")
    return tuple(values)


def optional_items(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    """The same for a field that may be absent."""
    return None if values is None else items(values)


class _Repr(reprlib.Repr):
    """Cuts what is long, and says how long it was."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxdict = self.maxlist = self.maxtuple = 4
        self.maxother = 60

    def repr_str(self, x: str, level: int) -> str:
        if len(x) <= 60:
            return repr(x)
        return f"{x[:40]!r}... ({len(x):,} characters)"

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, Model):
            return type(x).__name__ + "(...)" if level <= 0 else x._repr(level - 1)
        return super().repr_instance(x, level)


_short: Final = _Repr()


@attrs.frozen(repr=False)
class Model:
    """The base of every type.

    Types are frozen and slotted, compare by value, and can be hashed where their contents can. A
    field that is None is absent from the JSON, unless its description says that it is null.

    Attributes:
        extra: members that the schema does not know, by their name on the wire. They survive
            decoding and encoding.
    """

    extra: JSONObject = attrs.field(factory=dict, kw_only=True, hash=False)

    def __repr__(self) -> str:
        return self._repr(_short.maxlevel)

    def _repr(self, level: int) -> str:
        parts = []
        for field in sorted(attrs.fields(type(self)), key=lambda field: field.kw_only):
            value = getattr(self, field.name)
            required = field.default is attrs.NOTHING
            if not required and value in (None, MISSING, {}):
                continue
            shown = _short.repr1(value, level)
            parts.append(shown if required else f"{field.name}={shown}")
        return f"{type(self).__name__}({', '.join(parts)})"


#: What the protocol takes for granted where a member is absent: (class, field) -> value. The types
#: keep absent apart from written out, so it is not filled in (TOOL-12, SAMP-40, ELIC-13).
DEFAULTS: Final[dict[tuple[str, str], JSONValue]] = {
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


def effective(obj: Model, field: str) -> JSONValue:
    """The value of a field, or what the protocol takes for granted where it is absent.

    Args:
        obj: an object of one of the types.
        field: the name of one of its fields.
    """
    value = getattr(obj, field)
    return DEFAULTS.get((type(obj).__name__, field)) if value is None else value
