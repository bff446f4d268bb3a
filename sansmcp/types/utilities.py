"""Log messages, progress and cancellation (server/utilities/logging, basic/utilities)."""

from typing import ClassVar, Literal, TypeAlias

import attrs

from .base import JSONObject, JSONValue, Model, RequestMeta
from .jsonrpc import ProgressToken, RequestId, request_id

__all__ = [
    "CancelledNotification",
    "CancelledNotificationParams",
    "LoggingLevel",
    "LoggingMessageNotification",
    "LoggingMessageNotificationParams",
    "ProgressNotification",
    "ProgressNotificationParams",
    "SetLevelRequest",
    "SetLevelRequestParams",
]

#: From "debug", the least severe, to "emergency".
LoggingLevel: TypeAlias = Literal[
    "alert", "critical", "debug", "emergency", "error", "info", "notice", "warning"
]


@attrs.frozen(repr=False)
class SetLevelRequestParams(Model):
    """The least severe level that the client wants to see."""

    level: LoggingLevel
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class SetLevelRequest(Model):
    """A client says which log messages it wants."""

    method: ClassVar[Literal["logging/setLevel"]] = "logging/setLevel"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: SetLevelRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class LoggingMessageNotificationParams(Model):
    """A log message.

    Attributes:
        level: how severe it is.
        data: any JSON value; None is null.
        logger: the part of the server that speaks.
    """

    level: LoggingLevel
    data: JSONValue
    logger: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class LoggingMessageNotification(Model):
    """A server logs something."""

    method: ClassVar[Literal["notifications/message"]] = "notifications/message"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: LoggingMessageNotificationParams


@attrs.frozen(repr=False)
class ProgressNotificationParams(Model):
    """How far a request has come.

    Attributes:
        progress_token: the token that came with the request.
        progress: how far; it grows with every notification (PROG-04).
        total: how far it goes, in the same unit, if known.
        message: what there is to say, for people.
    """

    progress_token: ProgressToken
    progress: float
    total: float | None = None
    message: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ProgressNotification(Model):
    """A request makes progress."""

    method: ClassVar[Literal["notifications/progress"]] = "notifications/progress"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: ProgressNotificationParams


@attrs.frozen(repr=False)
class CancelledNotificationParams(Model):
    """Which request is given up, and why. `request_id` is required here (X-20)."""

    request_id: RequestId | None = None
    reason: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class CancelledNotification(Model):
    """The sender of a request gives it up."""

    method: ClassVar[Literal["notifications/cancelled"]] = "notifications/cancelled"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: CancelledNotificationParams
