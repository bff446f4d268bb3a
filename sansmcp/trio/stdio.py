"""Standard input and output: a server as a child process, and a server that is one.

The source is the page basic/transports, section stdio, and for the end basic/lifecycle, section
Shutdown.
"""

import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, Unpack

import trio

from ._background import background_nursery
from ._process import SAFE_ENVIRONMENT, ServerProcess, Shutdown, Stderr, read_stderr
from .server import Server
from .session import ClientOptions, Session, open_session

__all__ = ["SAFE_ENVIRONMENT", "Shutdown", "connect_stdio", "serve_stdio"]

_STDERR: Final = {"inherit": None, "discard": subprocess.DEVNULL}


@asynccontextmanager
async def connect_stdio(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stderr: Stderr = "inherit",
    shutdown: Shutdown | None = None,
    **options: Unpack[ClientOptions],
) -> AsyncIterator[Session]:
    """Start a server, and have a session with it as long as the block lasts.

    The server gets a process group of its own (where there are any), so that an interrupt from the
    keyboard is ours alone, and that whatever it starts is ended with it.

    Args:
        command: the program and its arguments; no shell is involved.
        cwd: the directory to start it in; ours if left out.
        env: environment variables, in addition to those of `SAFE_ENVIRONMENT` and instead of them
            where they have the same name. Pass `os.environ` to give it all.
        stderr: see `Stderr`. What is written there is no sign of failure (STDIO-05).
        shutdown: how it is ended; `Shutdown()` if left out.
        options: see `ClientOptions`.

    Raises:
        OSError: the program cannot be started.
        SessionError: as `open_session`.
    """
    if isinstance(command, (str, bytes)):
        raise TypeError("command is a sequence: the program, and each of its arguments")
    inherited = {name: os.environ[name] for name in SAFE_ENVIRONMENT if name in os.environ}
    process = await trio.lowlevel.open_process(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=_STDERR[stderr] if isinstance(stderr, str) else subprocess.PIPE,
        cwd=cwd,
        env={**inherited, **(env or {})},
        start_new_session=os.name == "posix",
    )
    async with background_nursery() as nursery:
        if process.stderr is not None and callable(stderr):
            nursery.start_soon(read_stderr, process.stderr, stderr)
        async with open_session(
            ServerProcess(process, shutdown or Shutdown()), **options
        ) as session:
            yield session


async def serve_stdio(server: Server) -> None:
    """Serve the client that has started this process, until standard input ends.

    From now on, standard output is standard error and standard input is empty, for good, and so
    they are for child processes: what `print` writes cannot get between the messages (STDIO-06).

    Raises:
        RuntimeError: Trio cannot read standard input on this system (Windows).
    """
    if not hasattr(trio.lowlevel, "FdStream"):
        raise RuntimeError("Trio cannot serve over standard input and output on this system")
    # Copies that no child process inherits.
    wire_in, wire_out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    stream = trio.StapledStream(trio.lowlevel.FdStream(wire_out), trio.lowlevel.FdStream(wire_in))
    await server.serve(stream, initialize_timeout=None, task_context="")
