"""A server as a child process, spoken to over its standard input and output (basic/transports)."""

import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio

__all__ = ["ServerProcess", "StartFailed", "spawn"]

_LINE_KEPT = 500


class StartFailed(Exception):
    """The command could not be started."""


class ServerProcess:
    """A running server. Its stderr is read all the time, so that it never blocks the server.

    Attributes:
        process: the process itself, with `stdin` and `stdout` as Trio streams.
        last_words: the last lines of its stderr.
    """

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.last_words: deque[str] = deque(maxlen=5)

    async def receive(self) -> bytes | bytearray:
        """Read some of what the server writes; nothing at the end."""
        assert self.process.stdout is not None
        return await self.process.stdout.receive_some(65536)

    async def send(self, data: bytes) -> None:
        """Write all of it to the server."""
        assert self.process.stdin is not None
        await self.process.stdin.send_all(data)

    async def read_stderr(self) -> None:
        """Keep the last lines of stderr, until it ends."""
        assert self.process.stderr is not None
        rest = b""
        async for data in self.process.stderr:
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_LINE_KEPT:]
            self._keep(lines)
        self._keep([rest])

    def _keep(self, lines: list[bytes]) -> None:
        for line in lines:
            if line.strip():
                self.last_words.append(line[-_LINE_KEPT:].decode(errors="replace").strip())


@asynccontextmanager
async def spawn(command: Sequence[str], *, patience: float = 2.0) -> AsyncIterator[ServerProcess]:
    """Start a server, and see that nothing of it is left behind, whatever happens in the body.

    On the way out its stdin is closed; if it does not end it gets SIGTERM and then SIGKILL, after
    `patience` seconds each (STDIO-08). So do the processes that it has started itself.

    Raises:
        StartFailed: there is no such command, or it cannot be run.
    """
    # A process group of its own, where there are any, so that its children can be ended with it.
    grouped = os.name == "posix"
    try:
        process = await trio.lowlevel.open_process(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=grouped,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise StartFailed(f"cannot start {command[0]!r}: {reason}") from error
    server = ServerProcess(process)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.read_stderr)
        try:
            yield server
        finally:
            with trio.CancelScope(shield=True):
                await _end(process, patience, grouped)
            # A grandchild that has left the group may hold stderr open for ever.
            nursery.cancel_scope.deadline = trio.current_time() + 0.2


async def _end(process: trio.Process, patience: float, grouped: bool) -> None:
    if process.stdin is not None:
        await process.stdin.aclose()
    for number in (None, signal.SIGTERM, None if os.name == "nt" else signal.SIGKILL):
        if number is not None:
            _signal(process, number, grouped)
        with trio.move_on_after(patience):
            await process.wait()
            break
    if process.returncode is None:
        process.kill()
        await process.wait()
    if grouped:
        # What it has left behind.
        _signal(process, signal.SIGKILL, grouped)
    if process.stdout is not None:
        await process.stdout.aclose()


def _signal(process: trio.Process, number: signal.Signals, grouped: bool) -> None:
    try:
        if grouped:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    except (ProcessLookupError, PermissionError):
        pass
