"""The envelopes of JSON-RPC 2.0, and what every message is made of (basic/index)."""

from typing import Any, ClassVar, Literal, TypeAlias

import attrs

from .base import MISSING, JSONObject, JSONValue, Missing, Model, RequestMeta

__all__ = [
    "Cursor",
    "EmptyResult",
    "Error",
    "JSONRPCErrorResponse",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "JSONRPCResultResponse",
    "Notification",
    "NotificationParams",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "ProgressToken",
    "Request",
    "RequestId",
    "RequestParams",
    "Result",
]

#: Names a request: a string or an integer of any size. `7` and `"7"` are two ids.
RequestId: TypeAlias = str | int
#: Names the request that progress belongs to; as `RequestId`.
ProgressToken: TypeAlias = str | int
#: Where a page of a list begins. Opaque: hand it back as it came (server/utilities/pagination).
Cursor: TypeAlias = str


def request_id() -> Any:
    """The field for the id of a request or of an answer.

    A connection gives a request its id when it sends it, so there is none before; on the wire it is
    required.
    """
    return attrs.field(default=None, kw_only=True, metadata={"required": True})


@attrs.frozen(repr=False)
class Request(Model):
    """A request without its envelope; what is sent for a method outside the specification."""

    method: str
    params: JSONObject | None = None


@attrs.frozen(repr=False)
class Notification(Model):
    """A notification without its envelope; for a method outside the specification."""

    method: str
    params: JSONObject | None = None


@attrs.frozen(repr=False)
class Result(Model):
    """A result with nothing in it but what every result may have."""

    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


EmptyResult: TypeAlias = Result


@attrs.frozen(repr=False)
class RequestParams(Model):
    """Params with nothing in them but what every request's params may have."""

    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class NotificationParams(Model):
    """Params with nothing in them but what every notification's params may have."""

    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class PaginatedRequestParams(Model):
    """The params of a request for a page of a list."""

    cursor: Cursor | None = None
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class PaginatedRequest(Model):
    """A request for a page of a list, whichever list it is."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    method: str
    params: PaginatedRequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class PaginatedResult(Result):
    """What a page of any list has: the cursor of the next one, unless it is the last."""

    next_cursor: Cursor | None = None


@attrs.frozen(repr=False)
class Error(Model):
    """What went wrong with a request.

    Attributes:
        code: an integer; see `sansmcp.errors`.
        message: one short sentence.
        data: any JSON value with the details. None is null; `MISSING` is absent.
    """

    code: int
    message: str
    data: JSONValue | Missing = MISSING


@attrs.frozen(repr=False)
class JSONRPCRequest(Model):
    """A request of any method, in its envelope."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    method: str
    params: JSONObject | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class JSONRPCNotification(Model):
    """A notification of any method, in its envelope."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    method: str
    params: JSONObject | None = None


@attrs.frozen(repr=False)
class JSONRPCResultResponse(Model):
    """The answer to a request that succeeded, in its envelope."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    result: Result
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class JSONRPCErrorResponse(Model):
    """The answer to a request that failed, in its envelope; without `id` if that was unreadable."""

    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    error: Error
    id: RequestId | None = attrs.field(default=None, kw_only=True)


JSONRPCResponse: TypeAlias = JSONRPCResultResponse | JSONRPCErrorResponse
JSONRPCMessage: TypeAlias = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse
