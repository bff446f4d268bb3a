"""Prints a conversation so that a person can follow it: who says what, to which id, and how fast."""

from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any, Final

import trio
from rich.console import Console
from rich.text import Text

from sansmcp import Event, ProtocolViolation, decode_json
from sansmcp.errors import DecodeError, shortened
from sansmcp.trio import MessageReceived, MessageSent

from .summary import json_text, printable, summary

__all__ = ["Timeline"]

#: What a line of a message is made of, beside what is said: `   0.123 client → server  ...   #7`.
_ARROWS: Final = {"client": ("→", "cyan"), "server": ("←", "magenta")}
#: How far what is said about a message is indented.
_MARGIN: Final = 9
#: For outputs that do not know these characters.
_PLAIN: Final = str.maketrans("→←└✓✗…", "><`+x~")


class Timeline:
    """A conversation as it goes by, seen from the client.

    Args:
        console: where to print.
        as_json: one JSON object a line, for programs, and nothing else.
        clock: the clock of the session that is observed, in seconds; it begins now.

    Attributes:
        violations: how many the server has committed.
        as_json: as it was passed.
    """

    def __init__(
        self,
        console: Console,
        *,
        as_json: bool = False,
        clock: Callable[[], float] = trio.current_time,
    ) -> None:
        self.violations = 0
        self.as_json = as_json
        self._console = console
        self._clock = clock
        self._start = clock()
        self._unicode = console.encoding.lower().startswith("utf")
        # Who asked and under which id -> when.
        self._asked: dict[tuple[str, str | int], float] = {}

    # ---- what is told

    def heading(self, text: str) -> None:
        """A new part of the conversation begins."""
        if self.as_json:
            self._json(self._clock(), {"heading": text})
        else:
            self._line(Text())
            self._line(Text(printable(text), style="bold"))

    def note(self, text: str) -> None:
        """Something about the server, cut to one line."""
        if self.as_json:
            self._json(self._clock(), {"note": text})
            return
        line = Text(f"{'':{_MARGIN}}  {_one_line(text)}", style="dim")
        line.truncate(self._console.width, overflow="ellipsis")
        self._line(line)

    def verdict(self, text: str, *, good: bool) -> None:
        """Whether something was as it should be."""
        if self.as_json:
            self._json(self._clock(), {"note": text, "ok": good})
            return
        mark, style = ("✓", "green") if good else ("✗", "bold red")
        for number, line in enumerate(self._wrapped(_one_line(text))):
            self._line(Text(f"{'':{_MARGIN}}{' ' if number else mark} {line}", style=style))

    def observe(self, time: float, seen: MessageSent | MessageReceived | Event) -> None:
        """A message goes by, or the client's connection reports something."""
        match seen:
            case MessageSent(text=text):
                self._message(time, "client", text)
            case MessageReceived(text=text):
                self._message(time, "server", text)
            case ProtocolViolation(rule=rule, detail=detail):
                self.violations += 1
                if self.as_json:
                    self._json(time, {"violation": rule, "detail": detail})
                else:
                    self.verdict(f"violation of {rule}: {detail}", good=False)

    # ---- one message

    def _message(self, time: float, side: str, text: bytes | str) -> None:
        try:
            message = decode_json(text)
        except DecodeError:
            message = None
        said = text if isinstance(text, str) else text.decode(errors="replace")
        if self.as_json:
            known = {"text": said} if message is None else {"message": message}
            self._json(time, {"from": side, **known})
            return
        # A batch is several messages (2025-03-26).
        for one in message if isinstance(message, list) else [message]:
            arrow, style = _ARROWS[side]
            line = Text()
            line.append(f"{time - self._start:8.3f} ", style="dim")
            line.append(f"client {arrow} server  ", style=style)
            if isinstance(one, dict):
                self._said(line, time, side, one)
            else:
                line.append(f"no message: {shortened(said)}", style="red")
                self._line(self._fitted(line, ""))

    def _said(self, line: Text, time: float, side: str, message: dict[str, Any]) -> None:
        method, id = message.get("method"), message.get("id")
        took = ""
        if isinstance(method, str):
            name = printable(method.removeprefix("notifications/"))
            line.append(name, style="italic" if id is None else "bold")
            line.append(f" {summary(message)}")
            if isinstance(id, (str, int)):
                self._asked[side, id] = time
        else:
            asker = "server" if side == "client" else "client"
            asked = self._asked.pop((asker, id), None) if isinstance(id, (str, int)) else None
            took = "" if asked is None else _duration(time - asked)
            line.append("└ ", style="dim")
            if "error" in message:
                line.append("error ", style="red")
            line.append(summary(message))
        self._line(self._fitted(line, f"{took}{'' if id is None else f'#{shortened(id)}':>5}"))

    # ---- how it is printed

    def _fitted(self, line: Text, right: str) -> Text:
        """The line, cut so that there is room for what stands at its right end."""
        room = self._console.width - len(right) - 1
        line.truncate(max(room, 1), overflow="ellipsis", pad=bool(right.strip()))
        if right.strip():
            line.append(f" {right}", style="yellow")
        line.rstrip()
        return line

    def _wrapped(self, text: str) -> Iterator[str]:
        yield from wrap(text, max(self._console.width - _MARGIN - 2, 20), break_on_hyphens=False)

    def _line(self, line: Text) -> None:
        if not self._unicode:
            line.plain = line.plain.translate(_PLAIN).encode("ascii", "replace").decode()
        self._console.print(line, soft_wrap=True)

    def _json(self, time: float, value: dict[str, Any]) -> None:
        stamped = {"time": round(time - self._start, 6), **value}
        self._console.out(json_text(stamped), highlight=False)


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.1f} s"
