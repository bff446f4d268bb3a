"""Roots: where a server may work (client/roots)."""

from typing import ClassVar, Literal

import attrs

from .base import JSONObject, Model, items
from .jsonrpc import NotificationParams, RequestId, RequestParams, Result, request_id

__all__ = [
    "ListRootsRequest",
    "ListRootsResult",
    "Root",
    "RootsListChangedNotification",
]


@attrs.frozen(repr=False)
class Root(Model):
    """A place where the server may work; `uri` is a file: URI (ROOT-03)."""

    uri: str
    name: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ListRootsRequest(Model):
    """A server asks for the roots."""

    method: ClassVar[Literal["roots/list"]] = "roots/list"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: RequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ListRootsResult(Result):
    """The roots."""

    roots: tuple[Root, ...] = attrs.field(converter=items)


@attrs.frozen(repr=False)
class RootsListChangedNotification(Model):
    """The roots have changed (ROOT-02)."""

    method: ClassVar[Literal["notifications/roots/list_changed"]] = (
        "notifications/roots/list_changed"
    )
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: NotificationParams | None = None
