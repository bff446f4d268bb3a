"""A conversation that was recorded, as plain data: who said what, and when.

It is kept as NDJSON, one message a line, and shown as a script:

    client: tools/call #1 name=echo arguments={"text":"hi"}
    server: result #1 content=[{"type":"text","text":"hi"}]
"""

import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

from .errors import DecodeError, StructureError
from .methods import Side
from .types import MISSING, JSONObject, JSONValue, Missing
from .wire import decode_json, encode_json

__all__ = ["Transcript", "TranscriptEntry", "TranscriptError", "spoken"]

_Path: TypeAlias = str | os.PathLike[str]


class TranscriptError(ValueError):
    """What was read is no transcript.

    Attributes:
        line: which line of it, from 1 on.
        detail: what is wrong there.
    """

    def __init__(self, line: int, detail: str) -> None:
        super().__init__(f"line {line}: {detail}")
        self.line = line
        self.detail = detail


@attrs.frozen
class TranscriptEntry:
    """One message of a conversation.

    Attributes:
        sender: who said it.
        message: the JSON value; `MISSING` where what was said was not JSON.
        raw: what was said, where it was not JSON: a text, or bytes that are not UTF-8; else None.
        time: when, in seconds of whatever clock; None if that was not recorded.
        extra: members of the line that are not ours. They survive loading and saving.
    """

    sender: Side
    message: JSONValue | Missing = MISSING
    raw: str | bytes | None = None
    time: float | None = attrs.field(default=None, kw_only=True)
    extra: JSONObject = attrs.field(factory=dict, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if (self.message is MISSING) == (self.raw is None):
            raise ValueError("an entry has either a message or what was said instead of one")

    @property
    def text(self) -> bytes | str:
        """What to feed to `receive_message`: the JSON on one line, or what was no JSON."""
        return encode_json(self.message) if self.raw is None else self.raw

    def __str__(self) -> str:
        """The entry in the form of a script."""
        who = self.sender.value
        if isinstance(self.message, list) and self.message:
            of = len(self.message)
            return "\n".join(
                f"{who} ({number} of {of}): {spoken(item)}"
                for number, item in enumerate(self.message, 1)
            )
        return f"{who}: {spoken(self.message) if self.raw is None else _no_json(self.raw)}"


def _listed(entries: Iterable[TranscriptEntry]) -> list[TranscriptEntry]:
    return list(entries)


@attrs.define(eq=False)
class Transcript:
    '''A recorded conversation.

    A transcript is equal to another with the same entries, and to a text that is its script; so
    a test can say what is to be said:

        assert transcript == """
            client: ping #1
            server: result #1
        """

    Indentation, blank lines and blanks at the ends of lines do not count.

    Attributes:
        entries: its messages, in the order in which they were said.
    '''

    entries: list[TranscriptEntry] = attrs.field(factory=list, converter=_listed)

    def __iter__(self) -> Iterator[TranscriptEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Transcript):
            return self.entries == other.entries
        if isinstance(other, str):
            return script_lines(str(self)) == script_lines(other)
        return NotImplemented

    def __str__(self) -> str:
        return self.script()

    def script(self, *, times: bool = False) -> str:
        """The conversation for people, one message a line; see the module.

        Args:
            times: whether to begin a line with the time, in seconds, where it is known.
        """
        return "\n".join(
            f"{_moment(entry.time)}{entry}" if times else str(entry) for entry in self.entries
        )

    def record(self, sender: Side, text: bytes | str, time: float | None = None) -> None:
        """Add a message as it went over the transport.

        What is JSON is kept as a value, so its spelling is not: blanks, and a key that came twice.

        Args:
            sender: who said it.
            text: what was said, JSON or not.
            time: when, in seconds.
        """
        try:
            message = decode_json(text)
            # It will lie in a line of its own, deeper by a level, and may be read again from deeper
            # in the stack: what is on the verge of being too deep is kept as it is.
            decode_json(_DEEPER % (text.encode() if isinstance(text, str) else text))
        except (DecodeError, UnicodeEncodeError):
            self.entries.append(TranscriptEntry(sender, raw=_as_text(text), time=time))
        else:
            self.entries.append(TranscriptEntry(sender, message, time=time))

    # ---- NDJSON

    @classmethod
    def from_ndjson(cls, text: bytes | str) -> "Transcript":
        """Read what `to_ndjson` has written, or anything of that form.

        A line is an object with `from`, which is "client" or "server", and one of `message`, a JSON
        value, `text`, a text that is no JSON, and `base64`, bytes that are not even a text; with
        `time`, in seconds, if that is known. Blank lines are passed over.

        Raises:
            TranscriptError: it is something else; says in which line, and what.
        """
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        lines = enumerate(data.split(b"\n"), 1)
        return cls([_entry(number, line) for number, line in lines if line.strip()])

    def to_ndjson(self) -> bytes:
        """The transcript as text in UTF-8, one entry a line; see `from_ndjson`.

        Raises:
            StructureError: there is something in an entry that JSON cannot say.
        """
        return b"".join([encode_json(_line(entry)) + b"\n" for entry in self.entries])

    @classmethod
    def load(cls, path: _Path) -> "Transcript":
        """Read a transcript from a file.

        Raises:
            TranscriptError: it is none.
            OSError: the file cannot be read.
        """
        with open(path, "rb") as file:
            return cls.from_ndjson(file.read())

    def save(self, path: _Path) -> None:
        """Write the transcript to a file, in the place of what was there.

        Raises:
            OSError: the file cannot be written.
        """
        data = self.to_ndjson()
        with open(path, "wb") as file:
            file.write(data)


def script_lines(text: str) -> list[str]:
    """The lines of a script, without what does not count."""
    # Not `splitlines`: a text may hold other ends of lines than this one.
    return [line for line in (line.strip(" \t\r") for line in text.split("\n")) if line]


# ---- NDJSON

_DEEPER: Final = b"[" * 64 + b"%b" + b"]" * 64
_SIDES: Final = {side.value: side for side in Side}
_CONTENTS: Final = ("message", "text", "base64")


def _as_text(text: bytes | str) -> bytes | str:
    """As a str, if that can be written into JSON."""
    try:
        if isinstance(text, str):
            text.encode()
            return text
        return bytes(text).decode()
    except UnicodeDecodeError:
        return bytes(text)  # type: ignore[arg-type]
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")  # type: ignore[union-attr]


def _line(entry: TranscriptEntry) -> JSONObject:
    line: JSONObject = {"from": entry.sender.value}
    if entry.time is not None:
        line["time"] = entry.time
    raw = entry.raw
    if raw is None:
        line["message"] = entry.message
    elif isinstance(raw, str):
        line["text"] = raw
    else:
        line["base64"] = b64encode(raw).decode("ascii")
    return line | entry.extra


def _entry(number: int, text: bytes) -> TranscriptEntry:
    try:
        line = decode_json(text)
    except DecodeError as error:
        raise TranscriptError(number, f"no JSON: {error}") from None
    if not isinstance(line, dict):
        raise TranscriptError(number, "no JSON object")
    side = line.pop("from", None)
    sender = _SIDES.get(side) if isinstance(side, str) else None
    if sender is None:
        raise TranscriptError(number, 'the member "from" is neither "client" nor "server"')
    contents = [name for name in _CONTENTS if name in line]
    if len(contents) != 1:
        raise TranscriptError(number, 'expected one of "message", "text" and "base64"')
    [kind] = contents
    content = line.pop(kind)
    time = line.pop("time", None)
    if isinstance(time, bool) or not isinstance(time, (int, float, type(None))):
        raise TranscriptError(number, 'the member "time" is no number of seconds')
    if kind == "message":
        return TranscriptEntry(sender, content, time=time, extra=line)
    if not isinstance(content, str):
        raise TranscriptError(number, f'the member "{kind}" is no string')
    if kind == "text":
        return TranscriptEntry(sender, raw=content, time=time, extra=line)
    try:
        return TranscriptEntry(sender, raw=b64decode(content, validate=True), time=time, extra=line)
    except ValueError:
        raise TranscriptError(number, 'the member "base64" is no base64') from None


# ---- the script

# A text that is no number, no constant and no punctuation to anybody who reads it.
_BARE: Final = re.compile(r"[A-Za-z_/][\w./:@+-]*|\d{4}-\d\d-\d\d", re.ASCII)
_CONSTANTS: Final = frozenset({"true", "false", "null"})
# What else a line may begin with.
_KINDS: Final = frozenset({"result", "error", "message", "text", "bytes"})


def spoken(message: JSONValue) -> str:
    """A message in one line, for people; everything that it says is in it.

    What is no message of JSON-RPC 2.0 is shown as the JSON that it is.
    """
    if isinstance(message, dict) and message.get("jsonrpc") == "2.0":
        parts = _parts(message)
        if parts is not None:
            return " ".join(parts)
    return f"message {_json(message)}"


def _parts(message: JSONObject) -> list[str] | None:
    """What a line is made of; None if this is no message, or has members that none has."""
    named = [] if "id" not in message else [f"#{_value(message['id'])}"]
    match {key: value for key, value in message.items() if key not in ("jsonrpc", "id")}:
        case {"method": str(method), "params": dict(params), **more} if not more:
            return [_method(method), *named, *(_members(params) or ["{}"])]
        case {"method": str(method), **more} if not more:
            return [_method(method), *named]
        case {"result": dict(result), **more} if named and not more:
            return ["result", *named, *_members(result)]
        case {"error": {"code": int(code), "message": str(text), **data}, **more} if not more:
            return ["error", *named, _json(code), _json(text), *_members(data)]
    return None


def _method(name: str) -> str:
    return _json(name) if name in _KINDS else _value(name)


def _members(value: Mapping[Any, JSONValue]) -> list[str]:
    return [f"{_value(key)}={_value(inner)}" for key, inner in value.items()]


def _value(value: JSONValue) -> str:
    if isinstance(value, str) and value not in _CONSTANTS and _BARE.fullmatch(value):
        return value
    return _json(value)


def _json(value: JSONValue) -> str:
    try:
        return encode_json(value).decode()
    except StructureError as error:
        return f"<{error}>"


def _no_json(raw: str | bytes) -> str:
    return f"text {_json(raw)}" if isinstance(raw, str) else f"bytes {raw!r}"


def _moment(time: float | None) -> str:
    return "" if time is None else f"{time:9.3f} "
