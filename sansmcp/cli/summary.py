"""A message in a few words, whatever is in it."""

import json
from collections.abc import Callable
from typing import Any, Final

__all__ = ["json_text", "printable", "summary"]

#: Members of params that are shown as they are, in this order.
_NAMING: Final = ("status", "name", "uri", "level", "protocolVersion")
#: Likewise, but of a long one the beginning: nobody thought it up, and it is there to be told apart.
_IDS: Final = ("elicitationId", "taskId")
#: Members of params that are shown as texts.
_TELLING: Final = ("statusMessage", "message", "reason", "data")
#: Members of results that are lists, and what one of their items is.
_LISTS: Final = {
    "tools": "tool",
    "prompts": "prompt",
    "resources": "resource",
    "resourceTemplates": "template",
    "roots": "root",
}
#: Characters of anything, and of an id.
_LONGEST: Final = 200
_LONGEST_ID: Final = 12


def summary(message: dict[str, Any]) -> str:
    """What a JSON-RPC message says, in a few words that are safe to print.

    It needs not be a message that the protocol knows; what it does not is shown as JSON.
    """
    describe: Callable[[Any], str]
    if "method" in message:
        describe, said = _of_params, message.get("params")
    elif "error" in message:
        describe, said = _of_error, message["error"]
    else:
        describe, said = _of_result, message.get("result")
    try:
        words = describe(said)
    except (AttributeError, KeyError, RecursionError, TypeError):
        # The message is not built as it should be, which is for others to report.
        words = _short(said)
    return printable(words)


def printable(text: str) -> str:
    """The text without what would move a terminal's cursor, or worse."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def json_text(value: Any, **options: Any) -> str:
    """A JSON value as text, with the options of `json.dumps`; or that it cannot be written so."""
    try:
        return json.dumps(value, **options)
    except RecursionError:
        return '"[deeply nested]"'


def _of_params(params: Any) -> str:
    if params is None:
        return ""
    words = [_short(params[key]) for key in _NAMING if key in params]
    if "requestId" in params:
        words.append(f"#{_short(params['requestId'], _LONGEST_ID)}")
    if "cursor" in params:
        words.append(f"cursor {_short(params['cursor'], _LONGEST_ID)}")
    words += [_short(params[key], _LONGEST_ID) for key in _IDS if key in params]
    if "progress" in params:
        total = f"/{params['total']}" if "total" in params else ""
        words.append(f"{params['progress']}{total}")
    words += [_short(params[key]) for key in _TELLING if key in params]
    if "ref" in params:
        ref, argument = params["ref"], params["argument"]
        words.append(f"{ref.get('name') or ref['uri']} {argument['name']}={argument['value']!r}")
    if params.get("mode") == "url":
        words.append(str(params["url"]))
    if "arguments" in params:
        words.append(_short(params["arguments"]))
    if "messages" in params:
        words.append(_of_messages(params["messages"]))
    if "task" in params:
        words.append("as a task")
    return " ".join(words)


def _of_error(error: Any) -> str:
    return f"{error['code']} {_short(error['message'])}"


def _of_result(result: Any) -> str:
    if result == {}:
        return "ok"
    if "serverInfo" in result:
        info = result["serverInfo"]
        return f"{info['name']} {info['version']}, revision {result['protocolVersion']}"
    for key, noun in _LISTS.items():
        if key in result:
            return _of_list(result, key, noun)
    if "tasks" in result:
        return ", ".join(_of_task(task) for task in result["tasks"]) or "no tasks"
    if "taskId" in result or "task" in result:
        return _of_task(result.get("task", result))
    if "completion" in result:
        return ", ".join(map(str, result["completion"]["values"])) or "nothing"
    if "contents" in result:
        return _of_blocks(result["contents"])
    if "messages" in result:
        return _of_messages(result["messages"])
    if "action" in result:
        content = f" {_short(result['content'])}" if "content" in result else ""
        return f"{result['action']}{content}"
    if "structuredContent" in result:
        return _short(result["structuredContent"])
    if "content" in result:
        failed = "isError: " if result.get("isError") else ""
        return f"{failed}{_of_blocks(result['content'])}"
    return _short(result)


def _of_list(result: dict[str, Any], key: str, noun: str) -> str:
    names = [
        str(item.get("name") or item.get("uri") or item.get("uriTemplate")) for item in result[key]
    ]
    count = f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"
    more = " (and more)" if "nextCursor" in result else ""
    return f"{count}{more}{': ' if names else ''}{', '.join(names)}"


def _of_task(task: dict[str, Any]) -> str:
    said = f": {_short(task['statusMessage'])}" if "statusMessage" in task else ""
    return f"task {_short(task['taskId'], _LONGEST_ID)} {task['status']}{said}"


def _of_messages(messages: Any) -> str:
    return "; ".join(f"{one['role']}: {_of_blocks(one['content'])}" for one in messages)


def _of_blocks(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    return " ".join(_of_block(block) for block in blocks)


def _of_block(block: Any) -> str:
    if "text" in block:
        return _short(block["text"])
    if block.get("type") == "resource":
        return _of_block(block["resource"])
    data = block.get("data") or block.get("blob")
    if data is not None:
        return f"[{block.get('mimeType') or block.get('type')}, {len(data):,} characters of base64]"
    return _short({key: value for key, value in block.items() if key != "type"})


def _short(value: Any, longest: int = _LONGEST) -> str:
    text = value if isinstance(value, str) else json_text(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
