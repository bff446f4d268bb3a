"""Completion: how an argument could go on (server/utilities/completion)."""

from typing import ClassVar, Literal

import attrs

from .base import Model, RequestMeta, items
from .jsonrpc import RequestId, Result, request_id
from .prompts import PromptReference

__all__ = [
    "CompleteRequest",
    "CompleteRequestParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "ResourceTemplateReference",
]


@attrs.frozen(repr=False)
class ResourceTemplateReference(Model):
    """Names a resource, or the template of some, to complete a variable of it."""

    type: ClassVar[Literal["ref/resource"]] = "ref/resource"

    uri: str


@attrs.frozen(repr=False)
class CompletionArgument(Model):
    """The argument, and what was typed of it so far."""

    name: str
    value: str


@attrs.frozen(repr=False)
class CompletionContext(Model):
    """The arguments that are settled already (COMP-02)."""

    arguments: dict[str, str] | None = None


@attrs.frozen(repr=False)
class CompleteRequestParams(Model):
    """What is to be completed."""

    ref: PromptReference | ResourceTemplateReference
    argument: CompletionArgument
    context: CompletionContext | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class CompleteRequest(Model):
    """A client asks how an argument could go on."""

    method: ClassVar[Literal["completion/complete"]] = "completion/complete"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: CompleteRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class Completion(Model):
    """How it could go on.

    Attributes:
        values: a hundred at most, the best first (COMP-03).
        total: how many there are in all.
        has_more: whether there are more than these.
    """

    values: tuple[str, ...] = attrs.field(converter=items)
    total: int | None = None
    has_more: bool | None = None


@attrs.frozen(repr=False)
class CompleteResult(Result):
    """How an argument could go on."""

    completion: Completion
