"""Reads what was recorded of conversations, in the forms in which that is usually kept."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import attrs

from sansmcp import CLIENT, METHODS, SERVER, DecodeError, Side, Transcript, decode_json

from .recorder import MISSED

__all__ = ["NoRecording", "Recording", "read_recording"]


class NoRecording(Exception):
    """A text holds no conversation. The message is one line for a person."""


@attrs.frozen
class Recording:
    """A conversation, or what is left of it.

    Attributes:
        title: what to call it.
        transcript: who said what.
        gaps: whether messages are missing in it.
        left_out: how many messages a log had cut short, and which are left out for that.
    """

    title: str
    transcript: Transcript
    gaps: bool = False
    left_out: int = 0


#: How a line of a host's log says who sent what: Claude Desktop; VS Code, as it was and as it is.
_LOG_LINES: Final = (
    re.compile(
        r"(?P<time>\d{4}-\d\d-\d\dT\S+) \[(?P<a>[^\]]*)\] \[(?P<b>[^\]]*)\] "
        r"Message from (?P<side>client|server): (?P<text>.*?)(?: \{ metadata: \w+ \})?"
    ),
    re.compile(
        r"(?P<time>\d{4}-\d\d-\d\d \S+) \[\w+\] "
        r"\[(?P<side>Client Says|Server Says|editor -> server|server -> editor)\] (?P<text>.*)"
    ),
)
_SIDES: Final = {
    "client": CLIENT,
    "server": SERVER,
    "Client Says": CLIENT,
    "Server Says": SERVER,
    "editor -> server": CLIENT,
    "server -> editor": SERVER,
}
_LEVELS: Final = frozenset({"debug", "info", "warn", "warning", "error", "trace"})


def read_recording(text: str, title: str, side: Side | None = None) -> list[Recording]:
    """The conversations in a text.

    Args:
        text: a transcript (`sansmcp.Transcript`), the log of a host, or what one side has sent, one
            message a line.
        title: what to call it.
        side: whose messages they are, where they are those of one side; None to find it out.

    Raises:
        NoRecording: it is nothing of the kind.
        TranscriptError: it is a transcript, and something is wrong with it.
    """
    lines = text.split("\n")
    first = _decoded(next((line for line in lines if line.strip()), ""))
    if isinstance(first, dict) and "from" in first and "jsonrpc" not in first and side is None:
        transcript = Transcript.from_ndjson(text)
        return [Recording(title, transcript, any(MISSED in entry.extra for entry in transcript))]
    logged = list(_logged(lines))
    if logged:
        return _of_log(title, logged)
    if isinstance(first, (dict, list)):
        return [_of_one_side(title, lines, side)]
    raise NoRecording("neither a transcript, nor a log that is known, nor messages, one a line")


def _decoded(line: str) -> Any:
    try:
        return decode_json(line)
    except DecodeError:
        return None


# ---- logs of hosts


@attrs.frozen
class _Line:
    server: str
    side: Side
    text: str
    time: float | None


def _logged(lines: list[str]) -> Iterator[_Line]:
    for line in lines:
        for form in _LOG_LINES:
            match = form.fullmatch(line.rstrip())
            if match is not None:
                found = match.groupdict()
                names = [found.get(key) or "" for key in ("a", "b")]
                server = next((name for name in names if name not in _LEVELS), "")
                yield _Line(server, _SIDES[found["side"]], found["text"], _seconds(found["time"]))
                break


def _seconds(time: str) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _of_log(title: str, logged: list[_Line]) -> list[Recording]:
    """A log holds the conversations with several servers, and several with each."""
    recordings: list[Recording] = []
    current: dict[str, int] = {}  # The name of the server -> which recording is its last.
    for line in logged:
        message = _decoded(line.text)
        begins = isinstance(message, dict) and message.get("method") == "initialize"
        if line.server not in current or (begins and line.side is CLIENT):
            current[line.server] = len(recordings)
            recordings.append(Recording("", Transcript()))
        at = current[line.server]
        if message is None:
            # Logs cut long messages short. What is missing can be judged by nobody.
            recording = recordings[at]
            recordings[at] = attrs.evolve(recording, gaps=True, left_out=recording.left_out + 1)
        else:
            recordings[at].transcript.record(line.side, line.text, line.time)
    names = {at: name for name, at in current.items()}
    for number, recording in enumerate(recordings):
        name = f" {names[number]}" if names.get(number) else ""
        several = f" ({number + 1} of {len(recordings)})" if len(recordings) > 1 else ""
        recordings[number] = attrs.evolve(recording, title=f"{title}{name}{several}")
    return recordings


# ---- one side


def _of_one_side(title: str, lines: list[str], side: Side | None) -> Recording:
    said = [line for line in lines if line.strip()]
    side = side or _speaker([_decoded(line) for line in said])
    transcript = Transcript()
    for line in said:
        transcript.record(side, line)
    return Recording(f"{title}, the {side.value}'s side", transcript, gaps=True)


def _speaker(messages: list[Any]) -> Side:
    """Who says such things."""
    for message in messages:
        method = message.get("method") if isinstance(message, dict) else None
        if isinstance(method, str):
            row = METHODS.requests.get(method) or METHODS.notifications.get(method)
            if row is not None and len(row.senders) == 1:
                return next(iter(row.senders))
    # Who only ever answers, or says what both may, is rather a server.
    return SERVER
