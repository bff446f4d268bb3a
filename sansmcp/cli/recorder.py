"""The process that records and judges what `sansmcp trace` passes on.

It is a process of its own so that nothing of that can hold up the conversation. On its standard
input come chunks of what the two sides sent, each after a head; see `HEAD`.
"""

import json
import os
import signal
import struct
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from sansmcp import (
    CLIENT,
    MISSING,
    SERVER,
    Limits,
    Monitor,
    Observation,
    Side,
    Transcript,
    Violation,
)

__all__ = ["CODES", "HEAD", "LOST", "Recorder", "main"]

#: Before each chunk: who sent it, when (seconds since 1970), and how many bytes it has. A chunk
#: without any is the end of that side.
HEAD: Final = struct.Struct("<BdI")
CODES: Final[dict[Side, int]] = {CLIENT: 0, SERVER: 1}
#: In the place of a side: so many bytes could not be recorded.
LOST: Final = 2
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
        self._lost = 0
        self._broken: dict[str, Violation] = {}
        self._file: BinaryIO | None = None
        try:
            # A transcript tells all that was said: others are not to read it.
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            self._file = open(handle, "wb", buffering=0)  # noqa: SIM115
        except OSError as error:
            self._stop(error)

    def receive(self, code: int, time: float, data: bytes) -> None:
        """Take a chunk of what passed, or the news of one that was lost."""
        if code == LOST:
            self._lost += int.from_bytes(data, "little")
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
        try:
            self._file.write(line.to_ndjson())
        except OSError as error:
            self._stop(error)

    def close(self) -> None:
        """Nothing more will be recorded."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

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


def _masked(seen: Observation, redact: Collection[str]) -> bytes | str:
    """The text of a message, without what is to be kept secret."""
    if not redact:
        return seen.text
    if seen.message is MISSING:
        text = seen.text if isinstance(seen.text, str) else seen.text.decode("utf-8", "replace")
        # Where it ends nobody can say.
        return _MASKED if any(key in text for key in redact) else seen.text
    masked, changed = _mask(seen.message, redact)
    return json.dumps(masked, ensure_ascii=False) if changed else seen.text


def _mask(value: Any, redact: Collection[str]) -> tuple[Any, bool]:
    """The value with what is secret masked, and whether there was anything."""
    if isinstance(value, dict):
        items = [
            (key, (_MASKED, True) if key in redact else _mask(inner, redact))
            for key, inner in value.items()
        ]
        return {key: made for key, (made, _) in items}, any(changed for _, (_, changed) in items)
    if isinstance(value, list):
        made = [_mask(inner, redact) for inner in value]
        return [inner for inner, _ in made], any(changed for _, changed in made)
    return value, False


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
