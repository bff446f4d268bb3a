"""What messages, prompts and results are made of (server/tools, server/resources)."""

from typing import ClassVar, Literal, TypeAlias

import attrs

from .base import JSONObject, Model, Priority, optional_items
from .lifecycle import Icon

__all__ = [
    "Annotations",
    "AudioContent",
    "BlobResourceContents",
    "ContentBlock",
    "EmbeddedResource",
    "ImageContent",
    "ResourceContents",
    "ResourceLink",
    "Role",
    "TextContent",
    "TextResourceContents",
]

Role: TypeAlias = Literal["assistant", "user"]


@attrs.frozen(repr=False)
class Annotations(Model):
    """Hints for whoever shows or uses what carries them (server/resources, Annotations).

    Attributes:
        audience: whom it is for.
        priority: from 0, least important, to 1, all but required.
        last_modified: when it was changed last, ISO 8601.
    """

    audience: tuple[Role, ...] | None = attrs.field(default=None, converter=optional_items)
    priority: Priority | None = None
    last_modified: str | None = None


@attrs.frozen(repr=False)
class ResourceContents(Model):
    """What is in a resource, whether text or bytes."""

    uri: str
    mime_type: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class TextResourceContents(Model):
    """A resource that really is text (RES-18)."""

    uri: str
    text: str
    mime_type: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class BlobResourceContents(Model):
    """A resource of bytes; `blob` is their base64 (RES-15)."""

    uri: str
    blob: str
    mime_type: str | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class TextContent(Model):
    """A text."""

    type: ClassVar[Literal["text"]] = "text"

    text: str
    annotations: Annotations | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ImageContent(Model):
    """An image; `data` is the base64 of its bytes (PROMPT-04)."""

    type: ClassVar[Literal["image"]] = "image"

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class AudioContent(Model):
    """A sound; `data` is the base64 of its bytes (PROMPT-05)."""

    type: ClassVar[Literal["audio"]] = "audio"

    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class ResourceLink(Model):
    """A resource that can be read, and need not be listed (TOOL-18).

    Attributes:
        name: its name, for programs.
        uri: where it is.
        title: its name, for people.
        description: what it is, for the model.
        mime_type: its type, if known.
        size: bytes of its contents before any encoding.
        icons: pictures of it.
        annotations: hints for its use.
    """

    type: ClassVar[Literal["resource_link"]] = "resource_link"

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
class EmbeddedResource(Model):
    """A resource with its contents (TOOL-19, PROMPT-06)."""

    type: ClassVar[Literal["resource"]] = "resource"

    resource: TextResourceContents | BlobResourceContents
    annotations: Annotations | None = None
    meta: JSONObject | None = attrs.field(default=None, kw_only=True)


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)
