"""The protocol's revisions: which there are, and what each has that the ones before it had not.

A revision is named by its date; being dates, names compare as text: the later revision is the
greater one. What sets revisions apart is data: `REVISIONS` holds their traits, `SINCE` the types and
the fields that came with one (the methods say it themselves, in `sansmcp.methods`). The next
revision is a change of these tables.

The source is the changelog of each revision, and the differences between their schemas.
"""

import operator
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from . import types as t
from .types.base import Model

__all__ = ["LATEST_REVISION", "REVISIONS", "SINCE", "Revision", "TooNew", "adapted", "newer"]

_A, _B, _C, _D = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"


@attrs.frozen
class Revision:
    """One dated revision of the protocol, and the traits in which revisions differ.

    Attributes:
        name: the date that peers exchange as `protocolVersion`.
        gates_completion: `completion/complete` needs the `completions` capability. (The first
            revision had the method and no capability for it.)
        batches: a message may be an array of messages.
        url_elicitation: a request may be refused until the user has visited a page (-32042).
    """

    name: str
    gates_completion: bool = True
    batches: bool = False
    url_elicitation: bool = False


#: Every revision that opens with `initialize`, by name, oldest first.
REVISIONS: Final[dict[str, Revision]] = {
    revision.name: revision
    for revision in (
        Revision(_A, gates_completion=False),
        Revision(_B, batches=True),
        Revision(_C),
        Revision(_D, url_elicitation=True),
    )
}

LATEST_REVISION: Final = _D

_TITLED: Final = {"title": _C}
_META: Final = {"meta": _C}
_ICONS: Final = {"icons": _D}

#: Type -> the revision that it came with, or field -> revision for the fields that came later than
#: their type. What is not here was there from the first revision on.
SINCE: Final[Mapping[type[Model], str | Mapping[str, str]]] = {
    t.Annotations: {"last_modified": _C},
    t.AudioContent: _B,
    t.BlobResourceContents: _META,
    t.CallToolRequestParams: {"task": _D},
    t.CallToolResult: {"structured_content": _C},
    t.ClientCapabilities: {"elicitation": _C, "tasks": _D},
    t.CompleteRequestParams: {"context": _C},
    t.CreateMessageRequestParams: {"task": _D, "tools": _D, "tool_choice": _D},
    t.ElicitRequestFormParams: {"mode": _D, "task": _D},
    t.ElicitRequestURLParams: _D,
    t.ElicitationCapability: {"form": _D, "url": _D},
    t.EmbeddedResource: _META,
    t.ImageContent: _META,
    t.Implementation: {**_TITLED, **_ICONS, "description": _D, "website_url": _D},
    t.LegacyTitledEnumSchema: {"default": _D},
    t.NumberSchema: {"default": _D},
    t.ProgressNotificationParams: {"message": _B},
    t.Prompt: {**_TITLED, **_META, **_ICONS},
    t.PromptArgument: _TITLED,
    t.PromptReference: _TITLED,
    t.RequestedSchema: {"schema_uri": _D},
    t.Resource: {**_TITLED, **_META, **_ICONS},
    t.ResourceLink: _C,
    t.ResourceTemplate: {**_TITLED, **_META, **_ICONS},
    t.Root: _META,
    t.SamplingCapability: {"context": _D, "tools": _D},
    t.SamplingMessage: {"meta": _D},
    t.ServerCapabilities: {"completions": _B, "tasks": _D},
    t.StringSchema: {"default": _D},
    t.TextContent: _META,
    t.TextResourceContents: _META,
    t.TitledMultiSelectEnumSchema: _D,
    t.TitledSingleSelectEnumSchema: _D,
    t.Tool: {**_TITLED, **_META, **_ICONS, "annotations": _B, "output_schema": _C, "execution": _D},
    t.ToolResultContent: _D,
    t.ToolUseContent: _D,
    t.UntitledMultiSelectEnumSchema: _D,
    t.UntitledSingleSelectEnumSchema: {"default": _D},
}

# Without these a message would mean something else. All other fields of `SINCE` are decoration, or
# say what an older peer takes for granted.
_MEANING: Final = frozenset(
    {
        (t.CallToolRequestParams, "task"),
        (t.CreateMessageRequestParams, "task"),
        (t.CreateMessageRequestParams, "tools"),
        (t.CreateMessageRequestParams, "tool_choice"),
        (t.ElicitRequestFormParams, "task"),
    }
)


class TooNew(Exception):
    """Something cannot be said in a revision. The message says what."""


def adapted(obj: Any, revision: str) -> Any:
    """What we mean to send, without the decoration that the revision does not have.

    Raises:
        TooNew: it would not mean the same without what the revision does not have.
    """
    if isinstance(obj, tuple):
        older_items = tuple([adapted(item, revision) for item in obj])
        return older_items if any(map(operator.is_not, older_items, obj)) else obj
    if isinstance(obj, dict):
        # Plain JSON is left alone; the fields of a form are types of ours.
        if not any(isinstance(value, Model) for value in obj.values()):
            return obj
        return {key: adapted(value, revision) for key, value in obj.items()}
    if not isinstance(obj, Model):
        return obj
    changes: dict[str, Any] = {}
    for path, field in _newer_here(obj, revision):
        if field is None or (type(obj), field) in _MEANING:
            raise TooNew(f"{path} is not in revision {revision}")
        changes[field] = _older(obj, field, revision)
    for field in attrs.fields(type(obj)):
        value = getattr(obj, field.name)
        if field.name in changes or field.name == "extra" or not isinstance(value, _WALKED):
            continue
        older = adapted(value, revision)
        if older is not value:
            if isinstance(value, t.ElicitationCapability) and value.form is None:
                older = None  # Without modes it would mean form mode (ELIC-08).
            changes[field.name] = older
    return attrs.evolve(obj, **changes) if changes else obj


_WALKED: Final = (Model, tuple, dict)


def _older(obj: Model, field: str, revision: str) -> Any:
    """What stands in the place of a field that the revision does not have."""
    if field == "content":
        # One block needs no list. Several cannot be said.
        if len(obj.content) != 1:  # type: ignore[attr-defined]
            raise TooNew(f"content of several blocks is not in revision {revision}")
        return adapted(obj.content[0], revision)  # type: ignore[attr-defined]
    if field == "structured_content" and not obj.content:  # type: ignore[attr-defined]
        # TOOL-21: it is repeated in the content, so that older clients lose nothing.
        raise TooNew(f"structuredContent without content is not in revision {revision}")
    return None


def _newer_here(obj: Model, revision: str) -> Iterator[tuple[str, str | None]]:
    """What in an object itself is newer than a revision: its name, and the field; None for all."""
    cls = type(obj)
    since = SINCE.get(cls, "")
    if isinstance(since, str):
        if since > revision:
            yield cls.__name__, None
    else:
        for field, came in since.items():
            if came > revision and getattr(obj, field) is not None:
                yield f"{cls.__name__}.{field}", field
    if (
        isinstance(obj, (t.SamplingMessage, t.CreateMessageResult))
        and isinstance(obj.content, tuple)
        and revision < _D
    ):
        yield f"{cls.__name__}.content as a list", "content"
    if isinstance(obj, t.ClientCapabilities) and revision < _D:
        # An older peer takes `elicitation` for forms, and this client has none.
        asks = obj.elicitation
        if asks is not None and asks.url is not None and asks.form is None:
            yield "ClientCapabilities.elicitation for pages only", "elicitation"
    if isinstance(obj, t.ElicitResult) and revision < _D:
        for name, value in (obj.content or {}).items():
            if isinstance(value, (list, tuple)):
                yield f"the list in the field {name!r:.60}", None


def newer(obj: Any, revision: str) -> str | None:
    """The first thing in what we received that is newer than the revision, or None."""
    if isinstance(obj, Model):
        for path, _ in _newer_here(obj, revision):
            return path
        inner: Any = [getattr(obj, f.name) for f in attrs.fields(type(obj)) if f.name != "extra"]
    elif isinstance(obj, tuple):
        inner = obj
    elif isinstance(obj, dict):
        inner = [value for value in obj.values() if isinstance(value, Model)]
    else:
        return None
    for value in inner:
        found = newer(value, revision)
        if found is not None:
            return found
    return None
