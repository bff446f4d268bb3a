"""Where a server is: a command, or an address."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import attrs
import click

from sansmcp.trio import (
    Session,
    Shutdown,
    connect_stdio,
    connect_tcp,
    connect_unix,
    connect_websocket,
)

__all__ = ["Address", "Command", "Target", "connect", "endpoint", "target_of"]


@attrs.frozen
class Command:
    """A server that is started, and spoken to over stdio.

    Attributes:
        words: the program and its arguments.
    """

    words: tuple[str, ...]

    def __str__(self) -> str:
        return repr(self.words[0])


@attrs.frozen
class Address:
    """A server that is there.

    Attributes:
        scheme: "tcp", "unix", "ws" or "wss".
        host: its host; empty for a Unix socket.
        port: its port; 0 for a Unix socket.
        path: the file of a Unix socket; the whole URL of a websocket.
    """

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.scheme == "tcp":
            host = f"[{self.host}]" if ":" in self.host else self.host
            return f"tcp://{host}:{self.port}"
        return f"unix:{self.path}" if self.scheme == "unix" else self.path


Target: TypeAlias = Command | Address


def target_of(words: Sequence[str]) -> Target:
    """The target that the words of a command line name.

    One word that begins with `tcp://`, `unix:`, `ws://` or `wss://` is an address, and all else is a
    command.

    Raises:
        click.UsageError: an address is incomplete.
    """
    if len(words) != 1:
        return Command(tuple(words))
    [word] = words
    scheme, colon, rest = word.partition(":")
    if not colon or scheme not in ("tcp", "unix", "ws", "wss"):
        return Command((word,))
    if scheme == "unix":
        path = rest.removeprefix("//")
        if not path:
            raise click.UsageError("expected unix:PATH")
        return Address("unix", path=path)
    host, port = _host_and_port(word)
    if scheme == "tcp":
        if port is None:
            raise click.UsageError(f"expected tcp://HOST:PORT, got {word}")
        return Address("tcp", host, port)
    return Address(scheme, host, port or (443 if scheme == "wss" else 80), word)


def endpoint(value: str) -> tuple[str, int]:
    """The host and the port in `HOST:PORT`, `[::1]:PORT` or `PORT`, which is on 127.0.0.1.

    Raises:
        click.UsageError: it is none of these.
    """
    host, port = ("127.0.0.1", value) if value.isdecimal() else ("", "")
    if not port:
        host, number = _host_and_port(f"tcp://{value}")
        port = "" if number is None else str(number)
    if not port or int(port) > 65535:
        raise click.UsageError(f"expected HOST:PORT, got {value}")
    return host, int(port)


def _host_and_port(url: str) -> tuple[str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise click.UsageError(f"{url}: {error}") from None
    if not parts.hostname:
        raise click.UsageError(f"no host in {url}")
    return parts.hostname, port


def connect(
    target: Target, stderr: Any = "inherit", env: Mapping[str, str] = os.environ, **options: Any
) -> AbstractAsyncContextManager[Session]:
    """A session with the server, as long as the block lasts.

    Args:
        target: where it is.
        stderr: what to do with what a command says to people; see `sansmcp.trio.connect_stdio`.
        env: the environment of a command. Ours as a whole, as a shell has it: it is what a person
            has asked us to run.
        options: see `sansmcp.trio.ClientOptions`.
    """
    if isinstance(target, Command):
        shutdown = Shutdown(after_close=1, after_terminate=1)
        return connect_stdio(target.words, env=env, stderr=stderr, shutdown=shutdown, **options)
    if target.scheme == "tcp":
        return connect_tcp(target.host, target.port, **options)
    if target.scheme == "unix":
        return connect_unix(target.path, **options)
    return connect_websocket(target.path, **options)
