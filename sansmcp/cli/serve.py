"""`sansmcp serve`: the demo server, over any transport."""

import signal
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

import click
import trio

from sansmcp.trio import Server, serve_stdio, serve_tcp, serve_unix, serve_websocket

from .demo import demo_server
from .targets import endpoint

__all__ = ["serve", "unless_told"]

#: Signals that ask us to end, where there are such.
_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP")


async def unless_told(run: Callable[[], Awaitable[bool]]) -> int:
    """Run something and give the exit status, also where a signal asks us to end.

    The signals would end us where we stand, and leave behind a server that does not go by itself,
    or the file of a socket.
    """
    told: list[int] = []
    token = trio.lowlevel.current_trio_token()
    with trio.CancelScope() as scope:

        def end(number: int, frame: object) -> None:
            told.append(number)
            token.run_sync_soon(scope.cancel)

        numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
        # One that is ignored, as `nohup` has it, stays so.
        numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, end) for number in numbers}
        try:
            return 0 if await run() else 1
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return 128 + told[0]


@click.command()
@click.option("--stdio", is_flag=True, help="Over standard input and output.")
@click.option("--tcp", metavar="HOST:PORT", help="Over TCP.")
@click.option("--unix", metavar="PATH", help="Over a Unix socket.")
@click.option("--ws", metavar="HOST:PORT", help="Over websockets.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="With --ws: pages from this origin may connect, as https://app.example.",
)
def serve(
    stdio: bool, tcp: str | None, unix: str | None, ws: str | None, origins: tuple[str, ...]
) -> None:
    """Serve the demo server, until interrupted.

    Port 0 is any that is free. The address is printed on standard error.
    """
    if sum([stdio, tcp is not None, unix is not None, ws is not None]) != 1:
        raise click.UsageError("give one of --stdio, --tcp, --unix and --ws")
    if origins and ws is None:
        raise click.UsageError("--origin goes with --ws")
    server = demo_server()
    try:
        if stdio:
            trio.run(serve_stdio, server)
            return
        status = trio.run(unless_told, partial(_listen, server, tcp, unix, ws, origins))
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        address = tcp or ws or unix
        raise click.UsageError(f"cannot listen at {address}: {error.strerror or error}") from None
    raise SystemExit(status)


async def _listen(
    server: Server, tcp: str | None, unix: str | None, ws: str | None, origins: tuple[str, ...]
) -> bool:
    if unix is not None:
        await serve_unix(server, unix, task_status=_Announcement(f"unix:{unix}"))
    host, port = endpoint(tcp or ws or "")
    shown = f"[{host}]" if ":" in host else host
    if tcp is not None:
        await serve_tcp(server, host, port, task_status=_Announcement(f"tcp://{shown}"))
    await serve_websocket(
        server, host, port, origins=origins, task_status=_Announcement(f"ws://{shown}")
    )


class _Announcement(trio.TaskStatus[Sequence[Any]]):
    """Says where it is that is listened."""

    def __init__(self, address: str) -> None:
        self._address = address

    def started(self, value: Sequence[Any] | None = None) -> None:
        port = "" if not value else f":{value[0].socket.getsockname()[1]}"
        if self._address.startswith("unix:"):
            port = ""
        click.echo(f"listening at {self._address}{port}", err=True)
