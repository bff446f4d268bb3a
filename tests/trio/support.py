"""The other end, played by hand."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from sansmcp import OutgoingMessage
from sansmcp.trio import MessageChannel, Server, Session, memory_pair, open_session

CLIENT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"url": {}}},
    "clientInfo": {"name": "by-hand", "version": "0"},
}
SERVER = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "tools": {"listChanged": True},
        "logging": {},
        "resources": {"subscribe": True},
    },
    "serverInfo": {"name": "by-hand", "version": "0"},
}


class Peer:
    """Speaks JSON over one end of a memory pair, and keeps no rule by itself."""

    def __init__(self, channel: MessageChannel) -> None:
        self.channel = channel

    async def say(self, message: Any) -> None:
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        await self.channel.send(OutgoingMessage(text))

    async def request(self, id: Any, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        await self.say(message if params is None else {**message, "params": params})

    async def notify(self, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        await self.say(message if params is None else {**message, "params": params})

    async def answer(self, id: Any, result: Any) -> None:
        await self.say({"jsonrpc": "2.0", "id": id, "result": result})

    async def hear(self) -> Any:
        """The next message."""
        return json.loads(await self.channel.receive())

    async def hears_nothing(self) -> bool:
        """Whether nothing comes for a while."""
        with trio.move_on_after(1) as scope:
            await self.channel.receive()
        return scope.cancelled_caught

    async def welcome(self, **more: Any) -> None:
        """Play the server in the handshake."""
        request = await self.hear()
        await self.answer(request["id"], {**SERVER, **more})
        assert (await self.hear())["method"] == "notifications/initialized"

    async def introduce(self) -> Any:
        """Play the client in the handshake; gives the server's answer."""
        await self.request("init", "initialize", CLIENT)
        answer = await self.hear()
        await self.notify("notifications/initialized")
        await trio.testing.wait_all_tasks_blocked()
        return answer["result"]


@asynccontextmanager
async def session_with_peer(**options: Any) -> AsyncIterator[tuple[Session, Peer]]:
    """A session, and the server that it talks to, which the test plays."""
    ours, theirs = memory_pair()
    peer = Peer(theirs)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.welcome)
        async with open_session(ours, **options) as session:
            yield session, peer


@asynccontextmanager
async def client_of(server: Server, **options: Any) -> AsyncIterator[Peer]:
    """A client of a server, which the test plays; after the handshake."""
    ours, theirs = memory_pair()
    peer = Peer(ours)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.serve(theirs, **options))
        await peer.introduce()
        yield peer
        await ours.aclose()
