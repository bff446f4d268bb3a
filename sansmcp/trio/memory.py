"""A connected pair in one process, for tests: no bytes, no files, no time of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Unpack

import trio

from sansmcp import OutgoingMessage

from ._background import background_nursery
from .server import Server
from .session import ClientOptions, Session, open_session
from .transport import MessageChannel

__all__ = ["connect_memory", "memory_pair"]


class _MemoryChannel(MessageChannel):
    def __init__(
        self, sends: trio.MemorySendChannel[bytes], receives: trio.MemoryReceiveChannel[bytes]
    ) -> None:
        self._sends = sends
        self._receives = receives

    async def send(self, value: OutgoingMessage) -> None:
        await self._sends.send(value.text)

    async def receive(self) -> bytes:
        return await self._receives.receive()

    async def aclose(self) -> None:
        self._sends.close()
        self._receives.close()
        await trio.lowlevel.checkpoint()


def memory_pair() -> tuple[MessageChannel, MessageChannel]:
    """Two ends of a connection in memory.

    Nothing is buffered on the way: a message is sent when the other end takes it, so that a peer
    that does not read is felt at once.
    """
    to_one: tuple[trio.MemorySendChannel[bytes], trio.MemoryReceiveChannel[bytes]]
    to_other: tuple[trio.MemorySendChannel[bytes], trio.MemoryReceiveChannel[bytes]]
    to_one, to_other = trio.open_memory_channel(0), trio.open_memory_channel(0)
    return _MemoryChannel(to_other[0], to_one[1]), _MemoryChannel(to_one[0], to_other[1])


@asynccontextmanager
async def connect_memory(
    server: Server, **options: Unpack[ClientOptions]
) -> AsyncIterator[Session]:
    """A session with a server of the same process, which serves it as long as the block lasts.

    Args:
        server: it may have other connections.
        options: see `ClientOptions`.
    """
    ours, theirs = memory_pair()
    async with background_nursery() as nursery:
        nursery.start_soon(server.serve, theirs)
        async with open_session(ours, **options) as session:
            yield session
