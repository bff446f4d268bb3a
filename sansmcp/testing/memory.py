"""Scripted peers at the other end of a Trio transport."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
import trio.testing

from sansmcp.trio import MessageChannel, memory_pair
from sansmcp.trio._background import background_nursery

from .scripts import ScriptedClient, ScriptedServer

__all__ = ["connect_script"]


@asynccontextmanager
async def connect_script(script: ScriptedClient | ScriptedServer) -> AsyncIterator[MessageChannel]:
    """A transport in memory, with a script at its other end as long as the block lasts.

    Hand it to `open_session` where the script is a server's, or to `Server.serve` where it is a
    client's. A client hangs up when its script is at its end; a server waits for its client to.

    Args:
        script: what the other end says, and expects.

    Raises:
        ScriptError: at the end of the block: what was said was not in the script, whatever came of
            it in the block; or the script did not come to its end.
    """
    ours, theirs = memory_pair()
    async with background_nursery() as nursery:
        nursery.start_soon(_follow, script, theirs)
        yield ours
        await ours.aclose()
        # What was sent is heard before anybody is judged by it.
        await trio.testing.wait_all_tasks_blocked()
    script.finish()


async def _follow(script: ScriptedClient | ScriptedServer, channel: MessageChannel) -> None:
    async with channel:
        try:
            while True:
                for message in script.messages_to_send():
                    await channel.send(message)
                if isinstance(script, ScriptedClient) and script.finished:
                    return
                script.receive_message(await channel.receive())
        except (trio.EndOfChannel, trio.BrokenResourceError):
            return
