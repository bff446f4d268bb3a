"""Resources: what a server lets a client read (server/resources)."""

from typing import ClassVar, Literal

import attrs

from .base import JSONObject, Model, RequestMeta, items, optional_items
from .content import Annotations, BlobResourceContents, TextResourceContents
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
    "ListResourceTemplatesRequest",
    "ListResourceTemplatesResult",
    "ListResourcesRequest",
    "ListResourcesResult",
    "ReadResourceRequest",
    "ReadResourceRequestParams",
    "ReadResourceResult",
    "Resource",
    "ResourceListChangedNotification",
    "ResourceRequestParams",
    "ResourceTemplate",
    "ResourceUpdatedNotification",
    "ResourceUpdatedNotificationParams",
    "SubscribeRequest",
    "SubscribeRequestParams",
    "UnsubscribeRequest",
    "UnsubscribeRequestParams",
]


@attrs.frozen(repr=False)
class Resource(Model):
    """Something that can be read.

    Attributes:
        name: its name, for programs.
        uri: where it is; kept as it came.
        title: its name, for people.
        description: what it is, for the model.
        mime_type: its type, if known.
        size: bytes of its contents before any encoding.
        icons: pictures of it.
        annotations: hints for its use.
    """

    name: str
    uri: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    icons: tuple[Icon, ...] | None = attrs.field(default=None, converter=optional_items)
    annotations: Annotations | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ResourceTemplate(Model):
    """Resources whose URIs follow a pattern.

    Attributes:
        name: its name, for programs.
        uri_template: the pattern, RFC 6570.
        title: its name, for people.
        description: what it is for, for the model.
        mime_type: the type, if all that match share it (RES-17).
        icons: pictures of it.
        annotations: hints for its use.
    """

    name: str
    uri_template: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    icons: tuple[Icon, ...] | None = attrs.field(default=None, converter=optional_items)
    annotations: Annotations | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ListResourcesRequest(Model):
    """A client asks for a page of the resources."""

    method: ClassVar[Literal["resources/list"]] = "resources/list"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: PaginatedRequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ListResourcesResult(Result):
    """A page of the resources."""

    resources: tuple[Resource, ...] = attrs.field(converter=items)
    next_cursor: Cursor | None = None


@attrs.frozen(repr=False)
class ListResourceTemplatesRequest(Model):
    """A client asks for a page of the resource templates."""

    method: ClassVar[Literal["resources/templates/list"]] = "resources/templates/list"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: PaginatedRequestParams | None = None
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ListResourceTemplatesResult(Result):
    """A page of the resource templates."""

    resource_templates: tuple[ResourceTemplate, ...] = attrs.field(converter=items)
    next_cursor: Cursor | None = None


@attrs.frozen(repr=False)
class ResourceRequestParams(Model):
    """Names a resource."""

    uri: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ReadResourceRequestParams(Model):
    """Names the resource to read."""

    uri: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ReadResourceRequest(Model):
    """A client asks for the contents of a resource."""

    method: ClassVar[Literal["resources/read"]] = "resources/read"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: ReadResourceRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ReadResourceResult(Result):
    """The contents of a resource, or of several below it."""

    contents: tuple[TextResourceContents | BlobResourceContents, ...] = attrs.field(converter=items)


@attrs.frozen(repr=False)
class SubscribeRequestParams(Model):
    """Names the resource to be told about."""

    uri: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class SubscribeRequest(Model):
    """A client wants to be told when a resource changes."""

    method: ClassVar[Literal["resources/subscribe"]] = "resources/subscribe"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: SubscribeRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class UnsubscribeRequestParams(Model):
    """Names the resource to be told about no more."""

    uri: str
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class UnsubscribeRequest(Model):
    """A client wants to be told no more (RES-05)."""

    method: ClassVar[Literal["resources/unsubscribe"]] = "resources/unsubscribe"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: UnsubscribeRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class ResourceListChangedNotification(Model):
    """The resources have changed. Sent unprompted, where `listChanged` was declared."""

    method: ClassVar[Literal["notifications/resources/list_changed"]] = (
        "notifications/resources/list_changed"
    )
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: NotificationParams | None = None


@attrs.frozen(repr=False)
class ResourceUpdatedNotificationParams(Model):
    """Names the resource that has changed; it may lie below the one subscribed to."""

    uri: str
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ResourceUpdatedNotification(Model):
    """A resource has changed that the client is subscribed to (RES-06)."""

    method: ClassVar[Literal["notifications/resources/updated"]] = "notifications/resources/updated"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: ResourceUpdatedNotificationParams
