"""Peers that flood, or do not read, or both: bounded memory, and nobody waits for ever."""

from typing import Any

import pytest
import trio

from sansmcp import Implementation, Limits, ProtocolViolation
from sansmcp import types as t
from sansmcp.trio import (
    ClientContext,
    Context,
    MessageReceived,
    MessageSent,
    RequestTimeout,
    Server,
    connect_memory,
    memory_pair,
)

from .conftest import Connect
from .features import OBJECT, make_server
from .support import Peer, client_of, session_with_peer

MIB = 2**20


class Meter:
    """Counts what a session has put on its way; an observer."""

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0

    def __call__(self, time: float, what: Any) -> None:
        if isinstance(what, MessageSent):
            self.sent += len(what.text)
        elif isinstance(what, MessageReceived):
            self.received += len(what.text)


async def test_calls_wait_for_room(autojump_clock: Any):
    meter = Meter()
    async with session_with_peer(observer=meter, max_timeout=None) as (session, _peer):
        for _ in range(100):
            with trio.move_on_after(1):
                await session.call_tool("x", {"pad": "x" * (MIB // 4)})
        assert MIB <= meter.sent < 1.5 * MIB


async def test_timeout_counts_the_wait_for_room(autojump_clock: Any):
    async with session_with_peer() as (session, _peer):
        with pytest.raises(RequestTimeout, match="not answered"):
            await session.call_tool("x", {"pad": "x" * 2 * MIB}, timeout=3)
        with pytest.raises(RequestTimeout, match="does not read"):
            await session.call_tool("x", timeout=4)
        assert trio.current_time() == 7
        with pytest.raises(RequestTimeout, match="does not read"):
            await session.ping()
        assert trio.current_time() == 67


async def test_room_is_given_in_turn(autojump_clock: Any):
    order: list[int] = []
    async with session_with_peer(timeout=None, max_timeout=None) as (session, peer):

        async def call(n: int) -> None:
            await trio.sleep(n)
            await session.call_tool("x", {"n": n, "pad": "x" * (MIB // 2)})

        async def serve() -> None:
            await trio.sleep(100)
            for _ in range(20):
                request = await peer.hear()
                order.append(request["params"]["arguments"]["n"])
                await peer.answer(request["id"], {"content": []})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            for n in range(20):
                nursery.start_soon(call, n)
    assert order == list(range(20))


async def test_handlers_wait_for_room(autojump_clock: Any):
    logged = 0

    async def chat(context: Context, arguments: Any) -> t.CallToolResult:
        nonlocal logged
        while True:
            await context.log("info", "x" * (MIB // 4))
            logged += 1

    server = Server(Implementation("chat", "1"))
    server.add_tool(t.Tool("x", OBJECT), chat)
    async with client_of(server) as client:
        await client.request(1, "tools/call", {"name": "x"})
        await trio.sleep(1)
        assert logged <= 5
        # It can still be cancelled, though nothing was read.
        await client.notify("notifications/cancelled", {"requestId": 1})
        await trio.sleep(1)
        for _ in range(logged):
            await client.hear()
        await client.request(2, "ping")
        assert (await client.hear())["id"] == 2


async def test_answers_of_handlers_wait_for_room(autojump_clock: Any):
    meter = Meter()
    async with client_of(make_server(), observer=meter) as client:
        for id in range(40):
            await client.request(id, "tools/call", {"name": "blob", "arguments": {"size": MIB}})
        await trio.sleep(1)
        # Everything was read, and served; but what is not read is not even written.
        assert meter.sent < 2.5 * MIB
        answers = {(await client.hear())["id"] for _ in range(40)}
        assert answers == set(range(40))


async def test_flood_of_what_is_answered_automatically(autojump_clock: Any):
    server = make_server()
    server.add_tool(t.Tool("large", OBJECT, description="x" * MIB), None)  # type: ignore[arg-type]
    meter = Meter()
    async with client_of(server, observer=meter) as client:
        asked = 0
        with trio.move_on_after(1):
            while asked < 1000:
                await client.request(asked, "tools/list")
                asked += 1
        assert asked < 25
        assert meter.sent < 20 * MIB
        for _ in range(asked):
            assert "result" in await client.hear()
        await client.request("last", "ping")
        assert (await client.hear())["id"] == "last"


async def test_peer_that_never_reads_what_it_has_asked_for(autojump_clock: Any):
    server = make_server()
    server.add_tool(t.Tool("large", OBJECT, description="x" * MIB), None)  # type: ignore[arg-type]

    async def ask(client: Peer) -> None:
        for id in range(1000):
            await client.request(id, "tools/list")

    async with client_of(server) as client:
        with pytest.raises(trio.BrokenResourceError):
            await ask(client)
    assert 30 <= trio.current_time() < 40


async def test_too_many_requests_at_once():
    server = make_server(limits=Limits(max_requests_in_flight=10))
    violations: list[Any] = []

    def observe(time: float, what: Any) -> None:
        if isinstance(what, ProtocolViolation):
            violations.append(what.rule)

    async with client_of(server, observer=observe) as client:
        for id in range(15):
            await client.request(id, "tools/call", {"name": "wait"})
        refused = [(await client.hear())["id"] for _ in range(5)]
        assert refused == [10, 11, 12, 13, 14]
        assert violations == ["LIMIT-01"] * 5
        for id in range(10):
            await client.notify("notifications/cancelled", {"requestId": id})
        await client.request("after", "tools/call", {"name": "echo"})
        assert (await client.hear())["id"] == "after"


async def test_updates_for_a_client_that_does_not_read(autojump_clock: Any):
    server = make_server()
    meter = Meter()
    async with client_of(server, observer=meter) as client:
        await client.request(1, "resources/subscribe", {"uri": "features://clock"})
        await client.hear()
        await client.request(2, "tools/call", {"name": "blob", "arguments": {"size": 2 * MIB}})
        await trio.sleep(1)
        sent = meter.sent
        for n in range(2000):
            await server.notify_resource_updated("features://clock")
            await server.notify_tools_changed()
            server.add_tool(t.Tool(f"new-{n}", OBJECT), None)  # type: ignore[arg-type]
        assert meter.sent == sent
        await client.hear()
        told = [(await client.hear())["method"] for _ in range(3)]
        assert sorted(set(told)) == [
            "notifications/resources/updated",
            "notifications/tools/list_changed",
        ]
        await client.request(3, "ping")
        assert (await client.hear())["id"] == 3


async def test_updates_of_many_resources_for_a_client_that_does_not_read(autojump_clock: Any):
    server = make_server()
    async with client_of(server) as client:
        await client.request(1, "resources/subscribe", {"uri": "features://"})
        await client.hear()
        await client.request(2, "tools/call", {"name": "blob", "arguments": {"size": 2 * MIB}})
        await trio.sleep(1)
        for n in range(1500):
            await server.notify_resource_updated(f"features://{n}")
        await client.hear()
        await client.request(3, "ping")
        told = []
        while "id" not in (message := await client.hear()):
            told.append(message["params"]["uri"])
        assert told == [f"features://{n}" for n in range(500, 1500)]


async def test_one_client_that_does_not_read_holds_up_no_other(autojump_clock: Any):
    server = make_server()
    async with client_of(server) as stuck, client_of(server) as other:
        await stuck.request(1, "tools/call", {"name": "blob", "arguments": {"size": 2 * MIB}})
        await trio.sleep(1)
        await server.notify_tools_changed()
        assert (await other.hear())["method"] == "notifications/tools/list_changed"


async def test_flood_of_garbage(autojump_clock: Any):
    server = make_server()
    ours, theirs = memory_pair()
    client = Peer(ours)
    meter = Meter()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: server.serve(theirs, observer=meter))
        with trio.move_on_after(1):
            while True:
                await client.say(b'{"jsonrpc":"2.0","id":"' + b"x" * 1000 + b'","method":"?"}')
        assert meter.sent < 18 * MIB
        nursery.cancel_scope.cancel()


@pytest.mark.rule("H44")
async def test_both_sides_send_a_lot_at_once(connect: Connect):
    async def model(
        context: ClientContext, params: t.CreateMessageRequestParams
    ) -> t.CreateMessageResult:
        return t.CreateMessageResult("assistant", t.TextContent("m" * MIB), "flood")

    sizes: list[int] = []
    async with connect(sampling=model) as session:

        async def call() -> None:
            result = await session.call_tool("flood", {"pad": "c" * MIB})
            (block,) = result.content
            assert isinstance(block, t.TextContent)
            sizes.append(len(block.text))

        with trio.fail_after(60):
            async with trio.open_nursery() as nursery:
                for _ in range(25):
                    nursery.start_soon(call)
    assert sizes == [2 * MIB] * 25


async def test_a_thousand_calls_at_once():
    async with connect_memory(make_server()) as session:
        done = 0

        async def call(n: int) -> None:
            nonlocal done
            result = await session.call_tool("echo", {"n": n})
            assert result.structured_content == {"n": n}
            done += 1

        async with trio.open_nursery() as nursery:
            for n in range(1000):
                nursery.start_soon(call, n)
    assert done == 1000
