"""Elicitation: a server asks the user (client/elicitation)."""

from typing import ClassVar, Literal, TypeAlias

import attrs

from .base import FormContent, JSONObject, Model, RequestMeta, items, optional_items
from .jsonrpc import RequestId, Result, request_id
from .tasks import TaskMetadata

__all__ = [
    "BooleanSchema",
    "ElicitRequest",
    "ElicitRequestFormParams",
    "ElicitRequestParams",
    "ElicitRequestURLParams",
    "ElicitResult",
    "ElicitationCompleteNotification",
    "ElicitationCompleteNotificationParams",
    "EnumOption",
    "EnumSchema",
    "LegacyTitledEnumSchema",
    "MultiSelectEnumSchema",
    "NumberSchema",
    "PrimitiveSchemaDefinition",
    "RequestedSchema",
    "SingleSelectEnumSchema",
    "StringSchema",
    "TitledEnumItems",
    "TitledMultiSelectEnumSchema",
    "TitledSingleSelectEnumSchema",
    "URLElicitationRequiredError",
    "URLElicitationRequiredErrorData",
    "URLElicitationRequiredErrorDetail",
    "UntitledEnumItems",
    "UntitledMultiSelectEnumSchema",
    "UntitledSingleSelectEnumSchema",
]


@attrs.frozen(repr=False)
class StringSchema(Model):
    """A field for a text; lengths in characters."""

    type: ClassVar[Literal["string"]] = "string"

    title: str | None = None
    description: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    format: Literal["date", "date-time", "email", "uri"] | None = None
    default: str | None = None


@attrs.frozen(repr=False)
class NumberSchema(Model):
    """A field for a number."""

    type: Literal["integer", "number"]
    title: str | None = None
    description: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: float | None = None


@attrs.frozen(repr=False)
class BooleanSchema(Model):
    """A field for yes or no."""

    type: ClassVar[Literal["boolean"]] = "boolean"

    title: str | None = None
    description: str | None = None
    default: bool | None = None


@attrs.frozen(repr=False)
class EnumOption(Model):
    """A choice: `const` is what is sent, `title` what is shown."""

    const: str
    title: str


@attrs.frozen(repr=False)
class UntitledSingleSelectEnumSchema(Model):
    """A field for one of some values."""

    type: ClassVar[Literal["string"]] = "string"

    enum: tuple[str, ...] = attrs.field(converter=items)
    title: str | None = None
    description: str | None = None
    default: str | None = None


@attrs.frozen(repr=False)
class TitledSingleSelectEnumSchema(Model):
    """A field for one of some values that have titles."""

    type: ClassVar[Literal["string"]] = "string"

    one_of: tuple[EnumOption, ...] = attrs.field(converter=items)
    title: str | None = None
    description: str | None = None
    default: str | None = None


@attrs.frozen(repr=False)
class UntitledEnumItems(Model):
    """The values of an `UntitledMultiSelectEnumSchema`."""

    type: ClassVar[Literal["string"]] = "string"

    enum: tuple[str, ...] = attrs.field(converter=items)


@attrs.frozen(repr=False)
class UntitledMultiSelectEnumSchema(Model):
    """A field for any of some values."""

    type: ClassVar[Literal["array"]] = "array"

    items: UntitledEnumItems
    title: str | None = None
    description: str | None = None
    min_items: int | None = None
    max_items: int | None = None
    default: tuple[str, ...] | None = attrs.field(default=None, converter=optional_items)


@attrs.frozen(repr=False)
class TitledEnumItems(Model):
    """The values of a `TitledMultiSelectEnumSchema`."""

    any_of: tuple[EnumOption, ...] = attrs.field(converter=items)


@attrs.frozen(repr=False)
class TitledMultiSelectEnumSchema(Model):
    """A field for any of some values that have titles."""

    type: ClassVar[Literal["array"]] = "array"

    items: TitledEnumItems
    title: str | None = None
    description: str | None = None
    min_items: int | None = None
    max_items: int | None = None
    default: tuple[str, ...] | None = attrs.field(default=None, converter=optional_items)


@attrs.frozen(repr=False)
class LegacyTitledEnumSchema(Model):
    """A field for one of some values, with titles in the old form."""

    type: ClassVar[Literal["string"]] = "string"

    enum: tuple[str, ...] = attrs.field(converter=items)
    title: str | None = None
    description: str | None = None
    enum_names: tuple[str, ...] | None = attrs.field(default=None, converter=optional_items)
    default: str | None = None


SingleSelectEnumSchema: TypeAlias = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema


MultiSelectEnumSchema: TypeAlias = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema


EnumSchema: TypeAlias = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema


PrimitiveSchemaDefinition: TypeAlias = StringSchema | NumberSchema | BooleanSchema | EnumSchema


@attrs.frozen(repr=False)
class RequestedSchema(Model):
    """The form: flat, with fields of the primitive kinds only (ELIC-15).

    Attributes:
        properties: the fields by name.
        required: the names of those that must be filled in.
        schema_uri: the dialect of JSON Schema, 2020-12 where absent.
    """

    type: ClassVar[Literal["object"]] = "object"

    properties: dict[str, PrimitiveSchemaDefinition]
    required: tuple[str, ...] | None = attrs.field(default=None, converter=optional_items)
    schema_uri: str | None = attrs.field(default=None, metadata={"wire": "$schema"})


@attrs.frozen(repr=False)
class ElicitRequestFormParams(Model):
    """A form for the user. `mode` is "form" or absent, which is the same (ELIC-13)."""

    message: str
    requested_schema: RequestedSchema
    mode: Literal["form"] | None = None
    task: TaskMetadata | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ElicitRequestURLParams(Model):
    """A page for the user to visit.

    Attributes:
        message: why, for the user.
        elicitation_id: names it in `ElicitationCompleteNotification`; opaque (ELIC-20).
        url: where to go. Show all of it, and ask, before going there (ELIC-55, ELIC-56).
        task: to augment the request with a task.
    """

    mode: ClassVar[Literal["url"]] = "url"

    message: str
    elicitation_id: str
    url: str
    task: TaskMetadata | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


ElicitRequestParams: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams


@attrs.frozen(repr=False)
class ElicitRequest(Model):
    """A server asks the user."""

    method: ClassVar[Literal["elicitation/create"]] = "elicitation/create"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: ElicitRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ElicitResult(Result):
    """What the user did.

    Attributes:
        action: "accept", "decline" (said no) or "cancel" (looked away).
        content: what was filled in, by field; present only for an accepted form (ELIC-31).
    """

    action: Literal["accept", "cancel", "decline"]
    content: FormContent | None = None


@attrs.frozen(repr=False)
class ElicitationCompleteNotificationParams(Model):
    """Names the elicitation."""

    elicitation_id: str
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ElicitationCompleteNotification(Model):
    """The user is done with the page (ELIC-21)."""

    method: ClassVar[Literal["notifications/elicitation/complete"]] = (
        "notifications/elicitation/complete"
    )
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: ElicitationCompleteNotificationParams


@attrs.frozen(repr=False)
class URLElicitationRequiredErrorData(Model):
    """The pages that the user has to visit first (ELIC-29)."""

    elicitations: tuple[ElicitRequestURLParams, ...] = attrs.field(converter=items)


@attrs.frozen(repr=False)
class URLElicitationRequiredErrorDetail(Model):
    """The error that says so; its code is always -32042."""

    code: ClassVar[Literal[-32042]] = -32042

    message: str
    data: URLElicitationRequiredErrorData


@attrs.frozen(repr=False)
class URLElicitationRequiredError(Model):
    """The answer to a request that needs the user to visit a page first."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    error: URLElicitationRequiredErrorDetail
    id: RequestId | None = attrs.field(default=None, kw_only=True)
