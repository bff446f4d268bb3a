"""Prompts: what a server offers a user to begin with (server/prompts)."""

from typing import ClassVar, Literal

import attrs

from .base import JSONObject, Model, RequestMeta, items, optional_items
from .content import ContentBlock, Role
from .jsonrpc import (
    Cursor,
    NotificationParams,
    PaginatedRequestParams,
    RequestId,
    Result,
    request_id,
)
from .lifecycle import Icon

__all__ = [
    "GetPromptRequest",
    "GetPromptRequestParams",
    "GetPromptResult",
    "ListPromptsRequest",
    "ListPromptsResult",
    "Prompt",
    "PromptArgument",
    "PromptListChangedNotification",
    "PromptMessage",
    "PromptReference",
]


@attrs.frozen(repr=False)
class PromptArgument(Model):
    """A gap in a prompt; `required` if it has to be filled."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


@attrs.frozen(repr=False)
class Prompt(Model):
    """A prompt or a template of one."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: tuple[PromptArgument, ...] | None = attrs.field(
        default=None, converter=optional_items
    )
    icons: tuple[Icon, ...] | None = attrs.field(default=None, converter=optional_items)
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ListPromptsRequest(Model):
    """A client asks for a page of the prompts."""

    method: ClassVar[Literal["prompts/list"]] = "prompts/list"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: PaginatedRequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ListPromptsResult(Result):
    """A page of the prompts."""

    prompts: tuple[Prompt, ...] = attrs.field(converter=items)
    next_cursor: Cursor | None = None


@attrs.frozen(repr=False)
class GetPromptRequestParams(Model):
    """Names a prompt, and fills its gaps."""

    name: str
    arguments: dict[str, str] | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class GetPromptRequest(Model):
    """A client asks for a prompt."""

    method: ClassVar[Literal["prompts/get"]] = "prompts/get"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: GetPromptRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class PromptMessage(Model):
    """A message of a prompt, and who speaks."""

    role: Role
    content: ContentBlock


@attrs.frozen(repr=False)
class GetPromptResult(Result):
    """A prompt, filled in."""

    messages: tuple[PromptMessage, ...] = attrs.field(converter=items)
    description: str | None = None


@attrs.frozen(repr=False)
class PromptReference(Model):
    """Names a prompt, to complete an argument of it."""

    type: ClassVar[Literal["ref/prompt"]] = "ref/prompt"

    name: str
    title: str | None = None


@attrs.frozen(repr=False)
class PromptListChangedNotification(Model):
    """The prompts have changed. Sent unprompted, where `listChanged` was declared."""

    method: ClassVar[Literal["notifications/prompts/list_changed"]] = (
        "notifications/prompts/list_changed"
    )
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: NotificationParams | None = None
