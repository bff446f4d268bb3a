"""Tools: what a server lets a model do (server/tools)."""

from typing import ClassVar, Literal

import attrs

from .base import JSONObject, Model, RequestMeta, ToolSchema, items, optional_items
from .content import ContentBlock
from .jsonrpc import (
    Cursor,
    NotificationParams,
    PaginatedRequestParams,
    RequestId,
    Result,
    request_id,
)
from .lifecycle import Icon
from .tasks import TaskMetadata

__all__ = [
    "CallToolRequest",
    "CallToolRequestParams",
    "CallToolResult",
    "ListToolsRequest",
    "ListToolsResult",
    "Tool",
    "ToolAnnotations",
    "ToolExecution",
    "ToolListChangedNotification",
]


@attrs.frozen(repr=False)
class ToolAnnotations(Model):
    """Hints about a tool. Untrusted, unless the server is trusted (TOOL-10).

    Attributes:
        title: its name, for people.
        read_only_hint: it changes nothing; False where absent.
        destructive_hint: it may destroy; True where absent.
        idempotent_hint: doing it twice is doing it once; False where absent.
        open_world_hint: it deals with an open world; True where absent.
    """

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


@attrs.frozen(repr=False)
class ToolExecution(Model):
    """How a tool may be called; `task_support` is "forbidden" where absent."""

    task_support: Literal["forbidden", "optional", "required"] | None = None


@attrs.frozen(repr=False)
class Tool(Model):
    """Something that can be called.

    Attributes:
        name: its name, for programs; case-sensitive.
        input_schema: JSON Schema of its arguments, an object schema; kept to the letter.
        title: its name, for people.
        description: what it does, for the model.
        output_schema: JSON Schema of its structured content, an object schema, if it has any.
        annotations: hints about it.
        execution: how it may be called.
        icons: pictures of it.
    """

    name: str
    input_schema: ToolSchema
    title: str | None = None
    description: str | None = None
    output_schema: ToolSchema | None = None
    annotations: ToolAnnotations | None = None
    execution: ToolExecution | None = None
    icons: tuple[Icon, ...] | None = attrs.field(default=None, converter=optional_items)
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ListToolsRequest(Model):
    """A client asks for a page of the tools."""

    method: ClassVar[Literal["tools/list"]] = "tools/list"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: PaginatedRequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ListToolsResult(Result):
    """A page of the tools."""

    tools: tuple[Tool, ...] = attrs.field(converter=items)
    next_cursor: Cursor | None = None


@attrs.frozen(repr=False)
class CallToolRequestParams(Model):
    """Names a tool, and says what to do it with."""

    name: str
    arguments: JSONObject | None = None
    task: TaskMetadata | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class CallToolRequest(Model):
    """A client calls a tool."""

    method: ClassVar[Literal["tools/call"]] = "tools/call"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: CallToolRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class CallToolResult(Result):
    """What a tool has to say.

    Attributes:
        content: for the model to read.
        structured_content: for programs; fits the tool's `output_schema`, if it has one (TOOL-22).
        is_error: the tool failed, and `content` says how (TOOL-26); False where absent.
    """

    content: tuple[ContentBlock, ...] = attrs.field(converter=items)
    structured_content: JSONObject | None = None
    is_error: bool | None = None


@attrs.frozen(repr=False)
class ToolListChangedNotification(Model):
    """The tools have changed. Sent unprompted, where `listChanged` was declared."""

    method: ClassVar[Literal["notifications/tools/list_changed"]] = (
        "notifications/tools/list_changed"
    )
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: NotificationParams | None = None
