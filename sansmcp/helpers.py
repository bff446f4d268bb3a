"""Small decisions that the specification describes and leaves to the application.

Nothing in the library calls these; they save an application from writing them again.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from .types import (
    CallToolResult,
    Icon,
    JSONObject,
    ModelPreferences,
    Prompt,
    Resource,
    ResourceTemplate,
    Root,
    TextContent,
    Tool,
)

__all__ = [
    "choose_icon",
    "dialect_of",
    "display_name",
    "is_safe_icon_uri",
    "is_within_roots",
    "match_model",
    "same_origin",
    "structured_result",
]

_DEFAULT_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def structured_result(value: JSONObject, **fields: Any) -> CallToolResult:
    """A tool's result of structured content, repeated as JSON text for the model (TOOL-21).

    Args:
        value: the structured content.
        fields: further fields of `CallToolResult`.

    Raises:
        ValueError: a number in it is not finite.
        TypeError: something in it is not JSON.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return CallToolResult([TextContent(text)], structured_content=value, **fields)


def display_name(item: Tool | Prompt | Resource | ResourceTemplate) -> str:
    """The name to show to people: the title, a tool's annotated title, the name (META-09)."""
    if item.title is not None:
        return item.title
    if isinstance(item, Tool) and item.annotations is not None and item.annotations.title:
        return item.annotations.title
    return item.name


def dialect_of(schema: JSONObject) -> str:
    """The dialect of a JSON Schema: what `$schema` says, else 2020-12 (JSCH-01)."""
    named = schema.get("$schema")
    return named if isinstance(named, str) else _DEFAULT_DIALECT


def is_safe_icon_uri(uri: str) -> bool:
    """Whether an icon may be fetched from here: https: and data: only (ICON-04, X-12)."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    return parts.scheme == "data" or (parts.scheme == "https" and bool(parts.hostname))


def same_origin(one: str, other: str) -> bool:
    """Whether two URLs have the same scheme, host and port (ICON-09)."""

    def origin(url: str) -> tuple[str, str | None, int | None]:
        parts = urlsplit(url)
        port = _PORTS.get(parts.scheme) if parts.port is None else parts.port
        return parts.scheme, parts.hostname, port

    try:
        return origin(one) == origin(other) and origin(one)[1] is not None
    except ValueError:
        return False


def choose_icon(
    icons: Iterable[Icon], *, size: int | None = None, theme: str | None = None
) -> Icon | None:
    """The safe icon that fits best, or None (ICON-13).

    Args:
        icons: what there is; without sizes an icon fits any, without a theme any.
        size: how wide it will be shown, in pixels.
        theme: "light" or "dark".
    """
    fitting = [icon for icon in icons if is_safe_icon_uri(icon.src)]
    if theme is not None:
        fitting = [icon for icon in fitting if icon.theme in (None, theme)]
    if not fitting:
        return None

    def distance(icon: Icon) -> float:
        if size is None or not icon.sizes or "any" in icon.sizes:
            return 0.0
        # What the server says is not to be trusted, nor the number of its digits.
        found = (re.fullmatch(r"([0-9]{1,9})x[0-9]{1,9}", one) for one in icon.sizes)
        widths = [int(match[1]) for match in found if match]
        # Too small looks worse than too large.
        return min((w - size if w >= size else (size - w) * 4 for w in widths), default=1e9)

    return min(fitting, key=distance)


def is_within_roots(uri: str, roots: Iterable[Root]) -> bool:
    """Whether a file: URI lies in one of the roots, or is one (ROOT-11, ROOT-12).

    Percent escapes and `..` are resolved first; links on the disk are not known here. A path with a
    backslash or a control character is in no root: which file it names depends on who reads it.
    """
    path = _file_path(uri)
    if path is None:
        return False
    for root in roots:
        base = _file_path(root.uri)
        if base is not None and (path == base or path.startswith(base.rstrip("/") + "/")):
            return True
    return False


def _file_path(uri: str) -> str | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    # Bytes that are not UTF-8 stay apart, or two files would have one path.
    path = unquote(parts.path, errors="surrogateescape")
    # `urlsplit` drops raw tabs and newlines, so it is the URI that is looked at.
    if re.search(r"[\x00-\x1f\\]|%[01]|%5c", uri, re.IGNORECASE):
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return posixpath.normpath(path) if path.startswith("/") else None


def match_model(preferences: ModelPreferences | None, models: Sequence[str]) -> str | None:
    """The first model that a hint fits, hints taken in order; None if none does (SAMP-35 to 38).

    Args:
        preferences: what the server would like; a hint fits a model whose name contains it.
        models: the names of the models that there are, the favourite first.
    """
    if preferences is None:
        return None
    for hint in preferences.hints or ():
        for model in models:
            if hint.name and hint.name in model:
                return model
    return None
