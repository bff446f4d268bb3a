"""Prints a conversation so that a person can follow it: who says what, to which id, and how fast."""

import json
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from sansmcp import Event, LineFramer, Oversized, ProtocolViolation, decode_json
from sansmcp.errors import DecodeError, shortened

__all__ = ["Timeline", "printable", "summary"]


class Timeline:
    """A conversation as it goes by.

    Args:
        console: where to print.
        as_json: one JSON object a line, for programs, and nothing else.
        clock: seconds.

    Attributes:
        violations: how many the server has committed.
    """

    def __init__(
        self,
        console: Console,
        *,
        as_json: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.violations = 0
        self._console = console
        self.as_json = as_json
        self._clock = clock
        self._start = clock()
        self._framers = {"client": LineFramer(2**30), "server": LineFramer(2**30)}
        # (who asked, id as JSON) -> when, and what.
        self._asked: dict[tuple[str, str], tuple[float, str]] = {}

    @property
    def width(self) -> int:
        """How many characters a line may have."""
        return self._console.width if self._console.is_terminal else 110

    # ---- what is told

    def heading(self, text: str) -> None:
        """A new part of the conversation begins."""
        if self.as_json:
            self._json({"heading": text})
        else:
            self._console.print()
            self._console.print(Text(text, style="bold"))

    def note(self, text: str, *, good: bool | None = None) -> None:
        """Something about the conversation, with a mark if it is a verdict."""
        if self.as_json:
            self._json({"note": text} | ({} if good is None else {"ok": good}))
            return
        mark, style = {None: (" ", "dim"), True: ("✓", "green"), False: ("✗", "bold red")}[good]
        line = Text(f"{'':9}{mark} {printable(' '.join(text.split()))}", style=style)
        if good is None:
            line.truncate(self.width, overflow="ellipsis")
        self._console.print(line, soft_wrap=True)

    def tap(self, direction: str, data: bytes) -> None:
        """The client has sent or received these bytes."""
        side = "client" if direction == "sent" else "server"
        for line in self._framers[side].receive_data(data):
            if not isinstance(line, Oversized):
                self._message(side, line)

    def event(self, event: Event) -> None:
        """The client's connection has reported this."""
        if isinstance(event, ProtocolViolation):
            self.violations += 1
            if self.as_json:
                self._json({"violation": event.rule, "detail": event.detail})
            else:
                self.note(f"violation of {event.rule}: {event.detail}", good=False)

    # ---- one message

    def _message(self, side: str, line: bytes) -> None:
        try:
            message = decode_json(line)
        except DecodeError:
            message = None
        if self.as_json:
            shown = (
                {"message": message}
                if isinstance(message, dict)
                else {"text": line.decode(errors="replace")}
            )
            self._json({"from": side, **shown})
            return
        now = self._clock() - self._start
        text = Text(f"{now:8.3f} ", style="dim")
        arrow = "client → server  " if side == "client" else "client ← server  "
        text.append(arrow, style="cyan" if side == "client" else "magenta")
        if not isinstance(message, dict):
            text.append(f"no message: {shortened(line.decode(errors='replace'))}", style="red")
            self._print(text, "")
            return
        said, took = self._said(side, message, now)
        text.append_text(said)
        id = "" if message.get("id") is None else f"#{shortened(message['id'])}"
        self._print(text, f"{took}{id:>5}")

    def _said(self, side: str, message: dict[str, Any], now: float) -> tuple[Text, str]:
        """What was said, and how long it took where it is an answer."""
        method = message.get("method")
        if isinstance(method, str):
            if "id" in message:
                self._asked[side, json.dumps(message["id"])] = now, method
            style = "bold" if "id" in message else "italic"
            name = printable(method.removeprefix("notifications/"))
            return Text.assemble((name, style), " ", summary(message)), ""
        asker = "server" if side == "client" else "client"
        asked = self._asked.pop((asker, json.dumps(message.get("id"))), None)
        took = f"{(now - asked[0]) * 1000:.0f} ms" if asked is not None else ""
        error = message.get("error")
        if error is not None:
            return Text.assemble(("└ error ", "red"), summary(message)), took
        return Text.assemble(("└ ", "dim"), summary(message)), took

    def _print(self, text: Text, right: str) -> None:
        room = self.width - len(right) - 1
        text.truncate(room, overflow="ellipsis", pad=True)
        text.append(f" {right}", style="yellow")
        text.rstrip()
        self._console.print(text, soft_wrap=True)

    def _json(self, value: dict[str, Any]) -> None:
        stamped = {"time": round(self._clock() - self._start, 6), **value}
        self._console.print(
            json.dumps(stamped, ensure_ascii=False), markup=False, highlight=False, soft_wrap=True
        )


# ---- a message in a few words

_NAMING = (
    "status",
    "name",
    "uri",
    "level",
    "protocolVersion",
    "requestId",
    "elicitationId",
    "taskId",
    "cursor",
)


def summary(message: dict[str, Any]) -> str:
    """What a message says, in a few words that are safe to print."""
    if "method" in message:
        words = _of_params(message.get("params") or {})
    elif isinstance(message.get("error"), dict):
        words = f"{message['error'].get('code')} {message['error'].get('message')}"
    else:
        words = _of_result(message.get("result"))
    return printable(words)


def printable(text: str) -> str:
    """The text without what would move a terminal's cursor, or worse."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _of_params(params: Any) -> str:
    if not isinstance(params, dict):
        return ""
    words = [str(params[key]) for key in _NAMING if key in params]
    if "progress" in params:
        total = f"/{params['total']}" if "total" in params else ""
        words.append(f"{params['progress']}{total}")
    for key in ("message", "reason", "data"):
        if key in params:
            words.append(_short(params[key]))
    if "ref" in params:
        ref, argument = params["ref"], params.get("argument", {})
        words.append(
            f"{ref.get('name') or ref.get('uri')} {argument.get('name')}={argument.get('value')!r}"
        )
    if params.get("mode") == "url":
        words.append(str(params.get("url")))
    if "arguments" in params:
        words.append(_short(params["arguments"]))
    if "messages" in params:
        words.append(_of_messages(params["messages"]))
    return " ".join(words)


def _of_result(result: Any) -> str:
    if not isinstance(result, dict):
        return _short(result)
    if "serverInfo" in result:
        info = result["serverInfo"]
        return f"{info.get('name')} {info.get('version')}, revision {result.get('protocolVersion')}"
    for key, noun in (
        ("tools", "tool"),
        ("prompts", "prompt"),
        ("resources", "resource"),
        ("resourceTemplates", "template"),
        ("roots", "root"),
    ):
        if isinstance(result.get(key), list):
            items = [
                item.get("name") or item.get("uri") or item.get("uriTemplate")
                for item in result[key]
            ]
            count = len(items)
            more = ", and more" if "nextCursor" in result else ""
            return f"{count} {noun}{'' if count == 1 else 's'}: {', '.join(map(str, items))}{more}"
    if "completion" in result:
        return ", ".join(map(str, result["completion"].get("values", [])))
    if "contents" in result:
        return _of_blocks(result["contents"])
    if "messages" in result:
        return _of_messages(result["messages"])
    if "action" in result:
        return (
            f"{result['action']} {_short(result['content']) if 'content' in result else ''}".strip()
        )
    task = result.get("task", result)
    if isinstance(task, dict) and "taskId" in task:
        return f"task {task['taskId']} {task.get('status')}: {task.get('statusMessage') or ''}"
    if isinstance(result.get("tasks"), list):
        return ", ".join(f"{task.get('taskId')} {task.get('status')}" for task in result["tasks"])
    if "content" in result:
        failed = "isError: " if result.get("isError") else ""
        structured = result.get("structuredContent")
        text = _of_blocks(result["content"]) if structured is None else _short(structured)
        return f"{failed}{text}"
    return "ok" if not result else _short(result)


def _of_messages(messages: Any) -> str:
    return "; ".join(f"{m.get('role')}: {_of_blocks(m.get('content'))}" for m in messages or [])


def _of_blocks(content: Any) -> str:
    blocks = content if isinstance(content, list) else [content]
    return " ".join(_of_block(block) for block in blocks)


def _of_block(block: Any) -> str:
    if not isinstance(block, dict):
        return _short(block)
    if "text" in block:
        return _short(block["text"])
    if block.get("type") == "resource":
        return _of_block(block.get("resource"))
    data = block.get("data") or block.get("blob")
    if data is not None:
        return f"[{block.get('mimeType') or block.get('type')}, {len(data):,} characters of base64]"
    return _short({key: value for key, value in block.items() if key != "type"})


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"
