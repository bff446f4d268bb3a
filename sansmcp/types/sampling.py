"""Sampling: a server asks the client's model (client/sampling)."""

from collections.abc import Iterable
from typing import ClassVar, Literal, TypeAlias

import attrs

from .base import JSONObject, Model, Priority, RequestMeta, items, optional_items
from .content import AudioContent, ContentBlock, ImageContent, Role, TextContent
from .jsonrpc import RequestId, Result, request_id
from .tasks import TaskMetadata
from .tools import Tool

__all__ = [
    "CreateMessageRequest",
    "CreateMessageRequestParams",
    "CreateMessageResult",
    "ModelHint",
    "ModelPreferences",
    "SamplingContent",
    "SamplingMessage",
    "SamplingMessageContentBlock",
    "ToolChoice",
    "ToolResultContent",
    "ToolUseContent",
]


@attrs.frozen(repr=False)
class ToolUseContent(Model):
    """The model wants to use a tool."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"

    id: str
    name: str
    input: JSONObject
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ToolResultContent(Model):
    """What came of the use of a tool."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"

    tool_use_id: str
    content: tuple[ContentBlock, ...] = attrs.field(converter=items)
    structured_content: JSONObject | None = None
    is_error: bool | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


SamplingMessageContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)


#: One block, or a sequence of them; it comes back as it came.
SamplingContent: TypeAlias = SamplingMessageContentBlock | tuple[SamplingMessageContentBlock, ...]


def _blocks(
    content: SamplingMessageContentBlock | Iterable[SamplingMessageContentBlock],
) -> SamplingContent:
    return content if isinstance(content, Model) else items(content)


@attrs.frozen(repr=False)
class SamplingMessage(Model):
    """A message of the conversation with the model, and who speaks."""

    role: Role
    content: SamplingContent = attrs.field(converter=_blocks)
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ModelHint(Model):
    """The name of a model or a part of it (SAMP-38)."""

    name: str | None = None


@attrs.frozen(repr=False)
class ModelPreferences(Model):
    """What the server would like the model to be. Advice, no more (SAMP-26).

    Attributes:
        hints: names, the first that fits wins.
        cost_priority: from 0, never mind the cost, to 1.
        speed_priority: from 0, never mind the speed, to 1.
        intelligence_priority: from 0, never mind the wits, to 1.
    """

    hints: tuple[ModelHint, ...] | None = attrs.field(default=None, converter=optional_items)
    cost_priority: Priority | None = None
    speed_priority: Priority | None = None
    intelligence_priority: Priority | None = None


@attrs.frozen(repr=False)
class ToolChoice(Model):
    """Whether the model uses tools; "auto" where absent."""

    mode: Literal["auto", "none", "required"] | None = None


@attrs.frozen(repr=False)
class CreateMessageRequestParams(Model):
    """What the model is asked.

    Attributes:
        messages: the conversation so far.
        max_tokens: how many tokens the answer may have.
        model_preferences: which model would be best.
        system_prompt: what comes before the conversation.
        include_context: whose context to add; "none" where absent. Anything else is on its way out
            (SAMP-08) and needs the capability `sampling.context`.
        temperature: how much chance to let in.
        stop_sequences: texts that end the answer.
        metadata: anything for the provider of the model.
        tools: what the model may use; needs the capability `sampling.tools`.
        tool_choice: whether it uses them; needs the same.
        task: to augment the request with a task.
    """

    messages: tuple[SamplingMessage, ...] = attrs.field(converter=items)
    max_tokens: int
    model_preferences: ModelPreferences | None = None
    system_prompt: str | None = None
    include_context: Literal["allServers", "none", "thisServer"] | None = None
    temperature: float | None = None
    stop_sequences: tuple[str, ...] | None = attrs.field(default=None, converter=optional_items)
    metadata: JSONObject | None = None
    tools: tuple[Tool, ...] | None = attrs.field(default=None, converter=optional_items)
    tool_choice: ToolChoice | None = None
    task: TaskMetadata | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class CreateMessageRequest(Model):
    """A server asks the client's model."""

    method: ClassVar[Literal["sampling/createMessage"]] = "sampling/createMessage"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: CreateMessageRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class CreateMessageResult(Result):
    """What the model answered.

    Attributes:
        role: who speaks.
        content: one block, or a sequence of them if tools were offered.
        model: its name.
        stop_reason: "endTurn", "stopSequence", "maxTokens", "toolUse", or another text.
    """

    role: Role
    content: SamplingContent = attrs.field(converter=_blocks)
    model: str
    stop_reason: str | None = None
