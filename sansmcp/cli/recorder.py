"""The process that records and judges what `sansmcp trace` passes on.

It is a process of its own so that nothing of that can hold up the conversation. On its standard
input come chunks of what the two sides sent, each after a head; see `HEAD`.
"""

import os
import signal
import struct
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import attrs

from sansmcp import (
    CLIENT,
    MISSING,
    SERVER,
    Limits,
    Monitor,
    Observation,
    Side,
    StructureError,
    Transcript,
    Violation,
    decode_json,
    encode_json,
)

__all__ = ["CODES", "HEAD", "LOST", "MISSED", "Recorder", "main"]

#: Before each chunk: who sent it, when (seconds since 1970), and how many bytes it has. A chunk
#: without any is the end of that side.
HEAD: Final = struct.Struct("<BdI")
CODES: Final[dict[Side, int]] = {CLIENT: 0, SERVER: 1}
#: In the place of a side: so many bytes could not be recorded.
LOST: Final = 2
#: The member of a transcript's line that says how many bytes are missing before it.
MISSED: Final = "missed"
_SIDES: Final = {code: side for side, code in CODES.items()}
_MASKED: Final = "[redacted]"
#: Messages may be as long as their receiver allows, which is not for us to say.
_LIMITS: Final = Limits(max_message_size=256 * 2**20)


class Recorder:
    """Writes a transcript as it goes, and keeps the score.

    Args:
        path: the file of the transcript. Where it cannot be written that is said once, and the
            conversation is judged all the same.
        redact: members whose values are masked in the transcript, at any depth.
    """

    def __init__(self, path: Path, redact: Collection[str]) -> None:
        self._path = path
        self._redact = frozenset(redact)
        self._monitor = Monitor(from_start=True, limits=_LIMITS)
        self._messages = 0
        self._lost = self._gap = 0
        self._broken: dict[str, Violation] = {}
        self._file: int | None = None
        self._written = 0
        try:
            # A transcript tells all that was said: others are not to read it. A pipe that nobody
            # reads is no reason to wait.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
            self._file = os.open(path, flags, 0o600)
            os.set_blocking(self._file, True)
        except OSError as error:
            self._stop(error)

    def receive(self, code: int, time: float, data: bytes) -> None:
        """Take a chunk of what passed, or the news of one that was lost."""
        if code == LOST:
            missed = int.from_bytes(data, "little")
            self._lost += missed
            self._gap += missed
            # What is missing would be taken for a fault of somebody's.
            self._monitor = Monitor(gaps=True, limits=_LIMITS)
            return
        for seen in self._monitor.receive_data(_SIDES[code], data, time):
            self._observed(seen)

    def _observed(self, seen: Observation) -> None:
        self._messages += 1
        for violation in seen.violations:
            self._broken.setdefault(violation.rule.id, violation)
        if self._file is None:
            return
        line = Transcript()
        line.record(seen.side, _masked(seen, self._redact), seen.time)
        if self._gap:
            line.entries[0] = attrs.evolve(line.entries[0], extra={MISSED: self._gap})
            self._gap = 0
        try:
            self._write(self._file, line.to_ndjson())
        except OSError as error:
            # A line that is cut short would make the whole unreadable.
            with suppress(OSError):
                os.ftruncate(self._file, self._written)
            self._stop(error)

    def _write(self, file: int, line: bytes) -> None:
        rest = line
        while rest:
            rest = rest[os.write(file, rest) :]
        self._written += len(line)

    def close(self) -> None:
        """Nothing more will be recorded."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)

    def _stop(self, error: OSError) -> None:
        self.close()
        self._file = None
        tell(f"{self._path} is not recorded any further: {error.strerror}")

    def verdict(self) -> str:
        """What there is to say at the end, in one line."""
        where = f" in {self._path}" if self._file is not None else ""
        lost = f", {self._lost:,} bytes not recorded" if self._lost else ""
        binding = sorted(rule for rule, found in self._broken.items() if found.is_must)
        advisory = sorted(rule for rule, found in self._broken.items() if not found.is_must)
        broken = [
            f"{kind} broken: {', '.join(rules)}"
            for kind, rules in (("MUST", binding), ("SHOULD", advisory))
            if rules
        ]
        return f"{self._messages:,} messages{where}{lost}; " + (
            "; ".join(broken) or "no rule broken"
        )


def tell(text: str) -> None:
    """Say something to the person, if there is one."""
    with suppress(OSError, ValueError):
        print(f"sansmcp trace: {text}", file=sys.stderr, flush=True)


def _masked(seen: Observation, redact: frozenset[str]) -> bytes | str:
    """The text of a message, without what is to be kept secret."""
    if not redact:
        return seen.text
    if seen.message is MISSING:
        text = seen.text if isinstance(seen.text, str) else seen.text.decode("utf-8", "replace")
        # Where it ends nobody can say.
        return _MASKED if any(key in text for key in redact) else seen.text
    # The monitor keeps parts of the message; these are others.
    message = [decode_json(seen.text)]
    if not _mask(message, redact):
        return seen.text
    try:
        return encode_json(message[0])
    except StructureError:
        return _MASKED  # On the verge of what can be nested.


def _mask(value: Any, redact: frozenset[str]) -> bool:
    """Mask what is secret in an array or object, however deep; says whether there was anything."""
    found = False
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            for key in value.keys() & redact:
                value[key] = _MASKED
                found = True
            todo += value.values()
        elif isinstance(value, list):
            todo += value
    return found


def main(arguments: Sequence[str]) -> None:
    """Record until standard input ends: PATH, "quiet" or "", and the members to mask."""
    # An interrupt from the keyboard is for the server. We end when there is no more to record.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    path, quiet, *redact = arguments
    recorder = Recorder(Path(path), redact)
    source = sys.stdin.buffer
    while len(head := source.read(HEAD.size)) == HEAD.size:
        code, time, size = HEAD.unpack(head)
        recorder.receive(code, time, source.read(size))
    recorder.close()
    if not quiet:
        tell(recorder.verdict())


if __name__ == "__main__":
    main(sys.argv[1:])
