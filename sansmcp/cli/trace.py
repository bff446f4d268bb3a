"""`sansmcp trace`: a server's command that records what passes between a host and that server."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Final

import click

from sansmcp import CLIENT, SERVER, Side

from .recorder import CODES, HEAD, LOST, tell

__all__ = ["trace"]

#: Bytes that wait for the recorder at most. What comes when there are more is not recorded.
_BACKLOG: Final = 64 * 2**20
_CHUNK: Final = 65536
#: Seconds that are waited for the rest of a server's output once it has ended, for a child of its
#: may keep that open; and for the recorder to finish.
_GRACE: Final = 2.0
_RECORDER_GRACE: Final = 30.0
#: What is passed on to the server.
_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")


class Tap:
    """Hands what passes to the recorder, without ever waiting for it.

    Args:
        output: the file of the transcript.
        redact: members whose values are masked in it.
        quiet: whether to say nothing at the end.
    """

    def __init__(self, output: Path, redact: Sequence[str], *, quiet: bool) -> None:
        source, self._sink = os.pipe()
        command = [sys.executable, "-m", "sansmcp.cli.recorder"]
        self._recorder = subprocess.Popen(
            [*command, str(output), "quiet" if quiet else "", *redact],
            stdin=source,
            # Our standard output is the wire.
            stdout=subprocess.DEVNULL,
            start_new_session=os.name == "posix",
        )
        os.close(source)
        os.set_blocking(self._sink, False)
        self._waiting = bytearray()
        self._lost = 0
        self._ended = False
        self._changed = threading.Condition()
        self._flusher = threading.Thread(target=self._flush, daemon=True)
        self._flusher.start()

    def tell(self, side: Side, data: bytes) -> None:
        """Record a chunk of what a side sends; an empty one is its end."""
        with self._changed:
            if self._ended:
                return
            if len(self._waiting) > _BACKLOG:
                self._lost += len(data)
                return
            self._tell_lost()
            chunk = HEAD.pack(CODES[side], time.time(), len(data)) + data
            if not self._waiting:
                # As a rule there is room in the pipe, and that is all.
                chunk = chunk[self._write(chunk) :]
            if chunk:
                self._waiting += chunk
                self._changed.notify()

    def _tell_lost(self) -> None:
        if self._lost:
            told = self._lost.to_bytes(8, "little")
            self._waiting += HEAD.pack(LOST, time.time(), len(told)) + told
            self._lost = 0

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._sink, data)
        except BlockingIOError:
            return 0
        except OSError:
            # The recorder has gone. The conversation goes on.
            self._ended = True
            self._waiting.clear()
            tell("the recorder has failed; nothing more is recorded")
            return len(data)

    def _flush(self) -> None:
        """Write what could not be written at once."""
        while True:
            with self._changed:
                while not self._waiting:
                    if self._ended:
                        return
                    self._changed.wait()
            select.select([], [self._sink], [])
            with self._changed:
                del self._waiting[: self._write(self._waiting[: 2**20])]

    def close(self) -> None:
        """Nothing more will pass; wait until all is recorded, but not for ever."""
        with self._changed:
            if not self._ended:
                self._tell_lost()
            self._ended = True
            self._changed.notify()
        self._flusher.join(_RECORDER_GRACE)
        os.close(self._sink)
        with suppress(subprocess.TimeoutExpired):
            self._recorder.wait(_RECORDER_GRACE)


def _carry(source: int, sink: int, side: Side, tap: Tap, hang_up: Callable[[], None]) -> None:
    """Pass on the bytes of one side until it ends, or nobody takes them."""
    with suppress(OSError):
        while data := _read(source):
            # First, so that the transcript has a question before its answer.
            tap.tell(side, data)
            _write(sink, data)
    tap.tell(side, b"")
    with suppress(OSError):
        hang_up()


# Whoever started us may have made these files ones that do not wait.


def _read(handle: int) -> bytes:
    while True:
        try:
            return os.read(handle, _CHUNK)
        except BlockingIOError:
            select.select([handle], [], [])


def _write(handle: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(handle, data) :]
        except BlockingIOError:
            select.select([], [handle], [])


def _hang_up(handle: int) -> None:
    """Close a standard file for good, and leave its number to nobody else."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, handle)
    os.close(nothing)


def pass_through(command: Sequence[str], tap: Tap) -> int:
    """Run a server with our standard files; gives its status, negative where a signal ended it."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    _pass_on_signals(server)
    assert server.stdin is not None and server.stdout is not None
    threads = [
        _started(_carry, 0, server.stdin.fileno(), CLIENT, tap, partial(_let_go, server.stdin, 0)),
        _started(
            _carry, server.stdout.fileno(), 1, SERVER, tap, partial(_let_go, server.stdout, 1)
        ),
    ]
    status = server.wait()
    threads[1].join(_GRACE)
    return status


def _started(target: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def _let_go(pipe: IO[bytes], handle: int) -> None:
    """One end of a direction is gone: the other end is to see that."""
    pipe.close()
    _hang_up(handle)


def _pass_on_signals(server: "subprocess.Popen[bytes]") -> None:
    def pass_on(number: int, frame: object) -> None:
        if number == signal.SIGINT and _from_keyboard():
            return  # The server has got it as well.
        with suppress(OSError):
            server.send_signal(number)

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)


def _from_keyboard() -> bool:
    """Whether an interrupt is sent to our whole group by the terminal that we are in front of."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _end_as(status: int) -> None:
    """End as the server has ended: with its status, or by the same signal."""
    if status < 0:
        with suppress(OSError, ValueError):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
        status = 128 - status
    # Without what would wait for the host to say something more.
    sys.stderr.flush()
    os._exit(status)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The transcript; mcp-DATE-TIME.ndjson in this folder if left out.",
)
@click.option("--redact", multiple=True, metavar="KEY", help="Mask the values of this member.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing at the end.")
def trace(
    command: tuple[str, ...], output: Path | None, redact: tuple[str, ...], quiet: bool
) -> None:
    """Stand between a host and a server, and record what they say.

    Configure a host with `sansmcp trace -o FILE -- COMMAND ARGS...` in the place of COMMAND ARGS...
    Every byte is passed on as it is, in both directions, and the server's end is ours. Nothing that
    happens to the recording disturbs the conversation.

    `sansmcp check FILE` tells who broke which rule, and `--format html` draws a picture.
    """
    if output is None:
        output = Path(f"mcp-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}.ndjson")
    tap = Tap(output.absolute(), redact, quiet=quiet)
    try:
        status = pass_through(command, tap)
    except OSError as error:
        tap.close()
        click.echo(f"sansmcp trace: {command[0]}: {error.strerror}", err=True)
        raise SystemExit(127 if isinstance(error, FileNotFoundError) else 126) from None
    tap.close()
    _end_as(status)
