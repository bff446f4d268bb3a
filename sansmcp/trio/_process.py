"""A server as a child process: how it is spoken to, and how it is ended."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, TypeAlias

import attrs
import trio

from ._pump import logger

__all__ = ["SAFE_ENVIRONMENT", "ServerProcess", "Shutdown", "Stderr", "read_stderr"]

#: Names of the environment variables that a server gets by default. All others may hold secrets
#: that are none of its business.
SAFE_ENVIRONMENT: Final = (
    (
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
    )
    if os.name == "posix"
    else (
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    )
)

#: What becomes of the server's stderr: it goes where ours goes, or nowhere, or to a function that is
#: called with each line, without its end. The server never waits for it.
Stderr: TypeAlias = Literal["inherit", "discard"] | Callable[[str], object]

_LONGEST_LINE: Final = 2**16
#: Seconds to wait, at the end of the server's output, for its exit status.
_LAST_BREATH: Final = 0.5


@attrs.frozen(kw_only=True)
class Shutdown:
    """How a server is ended (STDIO-08). Its stdin is closed first; most servers then go by themselves.

    Attributes:
        after_close: seconds until it is told to terminate (SIGTERM), it and the processes that it
            has started.
        after_terminate: seconds until they are killed (SIGKILL).
    """

    after_close: float = attrs.field(default=2.0, validator=attrs.validators.ge(0))
    after_terminate: float = attrs.field(default=2.0, validator=attrs.validators.ge(0))


class ServerProcess(trio.abc.Stream):
    """A server's stdin and stdout as one stream. To close it is to end the process."""

    def __init__(self, process: trio.Process, shutdown: Shutdown) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._shutdown = shutdown
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self._stdin.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stdin.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        data = await self._stdout.receive_some(max_bytes)
        if not data:
            with trio.move_on_after(_LAST_BREATH):
                await self._process.wait()
            status = self._process.returncode
            if status:
                how = f"exit status {status}" if status > 0 else f"signal {-status}"
                raise trio.BrokenResourceError(f"the server ended with {how}")
        return data

    async def aclose(self) -> None:
        # Shielded: whatever the reason to go, no process is left behind.
        with trio.CancelScope(shield=True):
            if not self._closed:
                self._closed = True
                async with trio.open_nursery() as nursery:
                    # A server that is about to write something cannot notice that it is to end.
                    nursery.start_soon(self._discard_output)
                    await self._shut_down()
                    nursery.cancel_scope.cancel()
                await self._stdout.aclose()
        await trio.lowlevel.checkpoint_if_cancelled()

    async def _discard_output(self) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for _ in self._stdout:
                pass

    async def _shut_down(self) -> None:
        await self._stdin.aclose()
        with trio.move_on_after(self._shutdown.after_close):
            await self._process.wait()
        if self._process.returncode is None:
            self._signal(signal.SIGTERM)
            with trio.move_on_after(self._shutdown.after_terminate):
                await self._process.wait()
        # Also where it has ended by itself: it may have left others behind.
        self._kill()
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if os.name != "posix":
            self._process.terminate()
            return
        # Raised where nobody is left; macOS says the latter where only zombies are.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _kill(self) -> None:
        if os.name == "posix":
            self._signal(signal.SIGKILL)
        else:
            self._process.kill()


async def read_stderr(stream: trio.abc.ReceiveStream, tell: Callable[[str], object]) -> None:
    """Hand on the lines, in pieces where they are too long, for as long as there are any."""
    rest = b""
    async with stream:
        async for data in stream:
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > _LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                _tell(tell, line)
        if rest:
            _tell(tell, rest)


def _tell(tell: Callable[[str], object], line: bytes) -> None:
    try:
        tell(line.rstrip(b"\r").decode(errors="replace"))
    except Exception:
        # It must not stop the reading: the server would stand still on a full pipe.
        logger.exception("the callback for a server's stderr failed")
