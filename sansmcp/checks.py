"""The rules that one message can break by itself, whatever went before.

`check` finds broken MUSTs in params and results, `lint` what the specification merely advises
against. Both look things up by class, so that a message with nothing to check costs one look.

A `Broken` without a code is tolerated in what we receive: it is reported and the message delivered.
In what we send it is refused like any other.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from . import types as t
from .errors import shortened
from .rules import Broken

__all__ = [
    "MODEL_IMMEDIATE_RESPONSE",
    "PROGRESS_TOKEN",
    "RELATED_TASK",
    "check",
    "is_reserved_meta_key",
    "lint",
    "meta_key_problem",
    "tool_name_problem",
]

# The keys of `_meta` that this revision defines (META-08).
PROGRESS_TOKEN: Final = "progressToken"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
MODEL_IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"

_KNOWN: Final = frozenset({PROGRESS_TOKEN, RELATED_TASK, MODEL_IMMEDIATE_RESPONSE})

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")


# The type and the subtype of RFC 6838; what parameters follow is not looked at.
_MIME_TYPE: Final = re.compile(
    r"[A-Za-z0-9][\w!#$&^.+-]{0,126}/[A-Za-z0-9][\w!#$&^.+-]{0,126}\s*(;|$)", re.ASCII
)


def meta_key_problem(key: str) -> str | None:
    """What is wrong with a key of `_meta`, or None (basic/index, META-02, META-03, META-06).

    An optional prefix of dot-separated labels and a slash, then a name, which may be empty.
    """
    if key in _KNOWN:
        return None
    prefix, slash, name = key.rpartition("/")
    if slash and _PREFIX.fullmatch(prefix) is None:
        return "its prefix is not made of labels with dots between them"
    if _NAME.fullmatch(name) is None:
        return "its name does not begin and end with a letter or a digit"
    return None


def is_reserved_meta_key(key: str) -> bool:
    """Whether the prefix of a key is reserved for the protocol (META-05).

    It is where the second label is `modelcontextprotocol` or `mcp`.
    """
    labels = key.rpartition("/")[0].split(".")
    return len(labels) > 1 and labels[1] in ("modelcontextprotocol", "mcp")


def tool_name_problem(name: str) -> str | None:
    """What the specification advises against in a tool's name, or None (TOOL-13 to TOOL-16)."""
    if not 1 <= len(name) <= 128:
        return f"has {len(name):,} characters, not 1 to 128"
    if re.fullmatch(r"[A-Za-z0-9_.-]+", name) is None:
        return "has characters other than A-Z, a-z, 0-9, _, - and ."
    return None


# ---- MUST


def _check_meta(part: Any) -> Iterator[Broken]:
    for key in part.meta:
        problem = meta_key_problem(key)
        if problem is not None:
            yield Broken("META-02", f"the _meta key {shortened(key)}: {problem}", None)


def _check_base64(rule: str, text: str, what: str) -> Iterator[Broken]:
    try:
        b64decode(text, validate=True)
        # Before Python 3.13 the decoder lets padding pass that nothing asks for.
        good = len(text) % 4 == 0 and not text.endswith("===")
    except ValueError:
        good = False
    if not good:
        yield Broken(rule, f"the data of {what} are not base64", None)


def _check_mime_type(rule: str, mime_type: str) -> Iterator[Broken]:
    if _MIME_TYPE.match(mime_type) is None:
        yield Broken(rule, f"{shortened(mime_type)} is no MIME type", None)


def _check_items(key: str) -> Callable[[Any], Iterator[Broken]]:
    """The `_meta` of what is on a page of a list."""

    def check_items(page: Any) -> Iterator[Broken]:
        for item in getattr(page, key):
            if item.meta:
                yield from _check_meta(item)

    return check_items


def _check_block(block: Any) -> Iterator[Broken]:
    if isinstance(block, t.ImageContent):
        yield from _check_base64("PROMPT-04", block.data, "an image")
        yield from _check_mime_type("PROMPT-04", block.mime_type)
    elif isinstance(block, t.AudioContent):
        yield from _check_base64("PROMPT-05", block.data, "a sound")
        yield from _check_mime_type("PROMPT-05", block.mime_type)
    elif isinstance(block, t.EmbeddedResource):
        yield from _check_contents(block.resource)
        if block.resource.mime_type is not None:
            yield from _check_mime_type("PROMPT-06", block.resource.mime_type)
    elif isinstance(block, t.ToolResultContent):
        for inner in block.content:
            yield from _check_block(inner)
    if block.meta:
        yield from _check_meta(block)


def _check_contents(contents: Any) -> Iterator[Broken]:
    if isinstance(contents, t.BlobResourceContents):
        yield from _check_base64("RES-15", contents.blob, "a resource")
    if contents.meta:
        yield from _check_meta(contents)


def _check_call_result(result: t.CallToolResult) -> Iterable[Broken]:
    for block in result.content:
        # By far the most common block has nothing to check.
        if block.__class__ is not t.TextContent or block.meta:
            return [broken for block in result.content for broken in _check_block(block)]
    return ()


def _check_prompt(result: t.GetPromptResult) -> Iterator[Broken]:
    for message in result.messages:
        yield from _check_block(message.content)


def _check_sampling_content(content: t.SamplingContent) -> Iterator[Broken]:
    for block in content if isinstance(content, tuple) else (content,):
        yield from _check_block(block)


def _check_sampling(params: t.CreateMessageRequestParams) -> Iterator[Broken]:
    for message in params.messages:
        yield from _check_sampling_content(message.content)
        if message.meta:
            yield from _check_meta(message)


def _check_read(result: t.ReadResourceResult) -> Iterator[Broken]:
    for contents in result.contents:
        yield from _check_contents(contents)


def _check_roots(result: t.ListRootsResult) -> Iterator[Broken]:
    for root in result.roots:
        if not root.uri.startswith("file://"):
            yield Broken("ROOT-03", f"the root {shortened(root.uri)} is no file:// URI", None)
        if root.meta:
            yield from _check_meta(root)


def _check_completion(result: t.CompleteResult) -> Iterator[Broken]:
    count = len(result.completion.values)
    if count > 100:
        yield Broken("COMP-03", f"{count:,} values, and 100 are the limit", None)


_CHECKS: Final[Mapping[type, Callable[[Any], Iterable[Broken]]]] = {
    t.CallToolResult: _check_call_result,
    t.GetPromptResult: _check_prompt,
    t.CreateMessageRequestParams: _check_sampling,
    t.CreateMessageResult: lambda result: _check_sampling_content(result.content),
    t.ReadResourceResult: _check_read,
    t.ListRootsResult: _check_roots,
    t.CompleteResult: _check_completion,
    t.ListToolsResult: _check_items("tools"),
    t.ListPromptsResult: _check_items("prompts"),
    t.ListResourcesResult: _check_items("resources"),
    t.ListResourceTemplatesResult: _check_items("resource_templates"),
}


def check(part: Any) -> Iterable[Broken]:
    """The MUSTs that the params or the result of a message break by themselves."""
    found = _CHECKS.get(part.__class__)
    meta = getattr(part, "meta", None)
    if found is None:
        return _check_meta(part) if meta else ()
    return (*found(part), *_check_meta(part)) if meta else found(part)


# ---- SHOULD


def _lint_tools(result: t.ListToolsResult) -> Iterator[Broken]:
    for tool in result.tools:
        problem = tool_name_problem(tool.name)
        if problem is not None:
            yield Broken("TOOL-15", f"the tool name {shortened(tool.name)} {problem}", None)
        yield from _lint_icons(tool)


def _lint_icons(item: Any) -> Iterator[Broken]:
    for icon in item.icons or ():
        for size in icon.sizes or ():
            if size != "any" and re.fullmatch(r"[1-9][0-9]*x[1-9][0-9]*", size) is None:
                detail = f"the icon size {shortened(size)} is neither WxH nor any"
                yield Broken("ICON-14", detail, None)


def _lint_items(key: str) -> Callable[[Any], Iterator[Broken]]:
    def lint_items(result: Any) -> Iterator[Broken]:
        for item in getattr(result, key):
            yield from _lint_icons(item)

    return lint_items


def _lint_call_result(result: t.CallToolResult) -> Iterable[Broken]:
    kinds = set(map(type, result.content))
    found = []
    if result.structured_content is not None and t.TextContent not in kinds:
        detail = "structuredContent without a text block that says the same"
        found.append(Broken("TOOL-21", detail, None))
    if t.EmbeddedResource in kinds:
        for block in result.content:
            found += _lint_embedded(block)
    return found


def _lint_prompt(result: t.GetPromptResult) -> Iterator[Broken]:
    for message in result.messages:
        yield from _lint_embedded(message.content)


def _lint_embedded(block: Any) -> Iterator[Broken]:
    if isinstance(block, t.EmbeddedResource) and block.resource.mime_type is None:
        uri = shortened(block.resource.uri)
        yield Broken("PROMPT-06", f"the embedded resource {uri} has no mimeType", None)


def _lint_sampling(params: t.CreateMessageRequestParams) -> Iterator[Broken]:
    if params.include_context not in (None, "none"):
        detail = f"includeContext {params.include_context!r} is on its way out"
        yield Broken("SAMP-08", detail, None)


def _lint_error(error: t.Error) -> Iterator[Broken]:
    if "\n" in str(error.message) or len(str(error.message)) > 500:
        yield Broken("JRPC-14", "an error message is one short sentence", None)


_LINTS: Final[Mapping[type, Callable[[Any], Iterable[Broken]]]] = {
    t.ListToolsResult: _lint_tools,
    t.ListPromptsResult: _lint_items("prompts"),
    t.ListResourcesResult: _lint_items("resources"),
    t.ListResourceTemplatesResult: _lint_items("resource_templates"),
    t.CallToolResult: _lint_call_result,
    t.GetPromptResult: _lint_prompt,
    t.CreateMessageRequestParams: _lint_sampling,
    t.Error: _lint_error,
}


def lint(part: Any) -> Iterable[Broken]:
    """What the specification advises against in the params or the result of a message."""
    found = _LINTS.get(part.__class__)
    return () if found is None else found(part)
