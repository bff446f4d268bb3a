"""A client's session, over memory and a clock that jumps."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from sansmcp import (
    CLIENT,
    SERVER,
    NotificationMethod,
    NotificationReceived,
    OutgoingMessage,
    ProgressReceived,
    RequestMethod,
    ResultReceived,
)
from sansmcp import types as t
from sansmcp.trio import (
    ClientContext,
    ConnectionLost,
    MessageChannel,
    MessageReceived,
    MessageSent,
    PeerError,
    RequestError,
    RequestTimeout,
    SessionError,
    VersionMismatchError,
    connect_memory,
    memory_pair,
    open_session,
)

from .features import make_server
from .support import SERVER as WELCOME
from .support import Peer, session_with_peer

MANY = 50


# ---- the handshake


@asynccontextmanager
async def opening(**options: Any) -> AsyncIterator[Peer]:
    """A session that is being opened beside the block; it must fail to."""
    ours, theirs = memory_pair()
    async with trio.open_nursery() as nursery:

        async def open_it() -> None:
            async with open_session(ours, **options):
                raise AssertionError("the session was opened")

        nursery.start_soon(open_it)
        yield Peer(theirs)


async def failure_to_open(answer: Any, **options: Any) -> SessionError:
    with pytest.RaisesGroup(pytest.RaisesExc(SessionError)) as caught:
        async with opening(**options) as peer:
            request = await peer.hear()
            if answer is None:
                await peer.channel.aclose()
            else:
                await peer.say({"jsonrpc": "2.0", "id": request["id"], **answer})
    error = caught.value.exceptions[0]
    assert isinstance(error, SessionError)
    return error


@pytest.mark.rule("LIFE-13", "H23")
async def test_no_common_revision(autojump_clock: Any):
    error = await failure_to_open({"result": {**WELCOME, "protocolVersion": "2099-01-01"}})
    assert isinstance(error, VersionMismatchError)
    assert error.offered == ("2099-01-01",)
    assert "2025-11-25" in error.supported
    assert error.__cause__ is None


async def test_server_refuses_the_handshake(autojump_clock: Any):
    error = await failure_to_open({"error": {"code": -32000, "message": "closed on Mondays"}})
    assert isinstance(error, PeerError)
    assert (error.code, error.message) == (-32000, "closed on Mondays")


async def test_server_leaves_during_the_handshake(autojump_clock: Any):
    error = await failure_to_open(None)
    assert isinstance(error, ConnectionLost)
    assert error.reason == "the peer closed the connection"


@pytest.mark.rule("H27")
async def test_server_never_answers_initialize(autojump_clock: Any):
    with pytest.RaisesGroup(RequestTimeout):
        async with opening(timeout=5) as peer:
            await peer.hear()
            with pytest.raises(trio.EndOfChannel):
                await peer.channel.receive()
    assert trio.current_time() == 5


@pytest.mark.rule("CANC-03")
async def test_initialize_is_not_cancelled_on_the_wire(autojump_clock: Any):
    async with opening() as peer:
        peer_scope = trio.lowlevel.current_task().child_nurseries[-1].cancel_scope
        await peer.hear()
        peer_scope.cancel()
        with trio.CancelScope(shield=True), pytest.raises(trio.EndOfChannel):
            await peer.channel.receive()


async def test_wrong_options_close_the_transport(autojump_clock: Any):
    ours, theirs = memory_pair()
    with pytest.raises(ValueError, match="unknown revisions"):
        async with open_session(ours, revisions=["1.0"]):
            pass
    with pytest.raises(trio.EndOfChannel):
        await theirs.receive()


# ---- the end


async def collect(call: Any, errors: list[BaseException]) -> None:
    try:
        await call()
    except Exception as error:
        errors.append(error)


@pytest.mark.rule("LIFE-23", "H35")
async def test_end_of_the_connection_ends_every_call(autojump_clock: Any):
    errors: list[BaseException] = []
    async with session_with_peer() as (session, peer):
        async with trio.open_nursery() as nursery:
            for _ in range(MANY):
                nursery.start_soon(collect, lambda: session.call_tool("x"), errors)
            for _ in range(MANY):
                await peer.hear()
            await peer.channel.aclose()
        with pytest.raises(ConnectionLost, match="the peer closed the connection"):
            await session.ping()
        with pytest.raises(ConnectionLost):
            await session.notify(t.RootsListChangedNotification())
    assert [(type(e), str(e)) for e in errors] == [
        (ConnectionLost, "the peer closed the connection")
    ] * MANY
    # Each has its own, so that tracebacks do not mix.
    assert len({id(error) for error in errors}) == MANY


async def test_a_broken_transport_is_the_cause(autojump_clock: Any):
    class Loose(MessageChannel):
        async def send(self, value: OutgoingMessage) -> None:
            await trio.sleep_forever()

        async def receive(self) -> bytes:
            raise trio.BrokenResourceError("the cable is loose")

        async def aclose(self) -> None:
            pass

    with pytest.raises(ConnectionLost, match="the cable is loose") as caught:
        async with open_session(Loose()):
            pass
    assert isinstance(caught.value.__cause__, trio.BrokenResourceError)


async def test_closing_ends_calls_of_other_tasks(autojump_clock: Any):
    errors: list[BaseException] = []
    async with trio.open_nursery() as nursery, connect_memory(make_server()) as session:
        nursery.start_soon(collect, lambda: session.call_tool("wait"), errors)
        await trio.testing.wait_all_tasks_blocked()
    assert [str(error) for error in errors] == ["the session was closed"]


async def test_what_was_said_last_is_sent(autojump_clock: Any):
    ours, theirs = memory_pair()
    peer = Peer(theirs)
    heard = []
    async with trio.open_nursery() as nursery:

        async def server() -> None:
            await peer.welcome()
            await trio.sleep(1)
            heard.append(await peer.hear())

        nursery.start_soon(server)
        capabilities = t.ClientCapabilities(roots=t.RootsCapability(list_changed=True))
        async with open_session(ours, capabilities=capabilities) as session:
            await session.roots_list_changed()
    assert heard[0]["method"] == "notifications/roots/list_changed"


async def test_closing_does_not_wait_for_a_peer_that_does_not_read(autojump_clock: Any):
    async with session_with_peer() as (session, _peer):
        with trio.move_on_after(1):
            await session.call_tool("x")
    assert trio.current_time() < 10


@pytest.mark.rule("H45")
async def test_cancelling_all_of_it_comes_out_bare(autojump_clock: Any):
    with trio.move_on_after(1) as scope:
        async with session_with_peer() as (session, _peer):
            await session.call_tool("x")
    assert scope.cancelled_caught
    assert trio.current_time() == 1


# ---- calls


@pytest.mark.rule("H45", "S30", "CANC-02")
async def test_cancelled_call_returns_at_once_though_the_peer_does_not_read(autojump_clock: Any):
    async with session_with_peer() as (session, peer):
        with trio.move_on_after(1) as scope:
            await session.call_tool("x")
        assert scope.cancelled_caught
        assert trio.current_time() == 1
        assert (await peer.hear())["method"] == "tools/call"
        assert (await peer.hear())["method"] == "notifications/cancelled"
        # The answer crosses, and nobody minds.
        await peer.answer(2, {"content": []})

        async def answer() -> None:
            await peer.answer((await peer.hear())["id"], {})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            await session.ping()
        assert session.connection.late_answers == 1


async def test_answer_and_cancellation_at_once(autojump_clock: Any):
    async with session_with_peer() as (session, peer):
        with trio.CancelScope() as scope:

            async def answer() -> None:
                await peer.answer((await peer.hear())["id"], {"content": []})
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(answer)
                result = await session.call_tool("x")
        assert result.content == ()


async def test_timeout_of_a_single_call(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        with pytest.raises(RequestTimeout):
            await session.call_tool("wait", timeout=3)
        assert trio.current_time() == 3


async def test_failing_progress_callback_gives_up_the_call(autojump_clock: Any):
    def fail(progress: ProgressReceived) -> None:
        raise KeyError(progress.progress)

    async with session_with_peer() as (session, peer):

        async def serve() -> None:
            call = await peer.hear()
            token = call["params"]["_meta"]["progressToken"]
            await peer.notify("notifications/progress", {"progressToken": token, "progress": 1})
            cancelled = await peer.hear()
            assert cancelled["params"]["requestId"] == call["id"]

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            with pytest.raises(KeyError):
                await session.call_tool("x", on_progress=fail)


@pytest.mark.rule("H32")
async def test_progress_comes_before_the_answer(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        seen: list[float] = []
        await session.call_tool("count", {"to": 20}, on_progress=lambda p: seen.append(p.progress))
        assert seen == list(range(1, 21))


async def test_pages_that_go_round_in_a_circle(autojump_clock: Any):
    async with session_with_peer() as (session, peer):

        async def serve() -> None:
            for cursor in ("a", "b", "a"):
                await peer.answer((await peer.hear())["id"], {"tools": [], "nextCursor": cursor})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            with pytest.raises(SessionError, match="circle"):
                [tool async for tool in session.tools()]


@pytest.mark.rule("H13", "H36")
async def test_answer_that_cannot_be_used(autojump_clock: Any):
    async with session_with_peer() as (session, peer):

        async def serve() -> None:
            await peer.answer((await peer.hear())["id"], {"content": [{"type": "smell"}]})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            with pytest.raises(PeerError, match=r"content\[0\]") as caught:
                await session.call_tool("x")
        assert caught.value.violation is not None


# ---- what the server tells


async def test_notifications_are_kept_up_to_a_number(autojump_clock: Any):
    async with session_with_peer() as (session, peer):
        for n in range(1500):
            await peer.notify("notifications/message", {"level": "info", "data": n})
        await peer.channel.aclose()
        await trio.testing.wait_all_tasks_blocked()
        data = [(await anext(session.notifications)).params.data for _ in range(1000)]
        with pytest.raises(ConnectionLost):
            await anext(session.notifications)
        assert data == list(range(500, 1500))
        assert session.notifications.dropped == 500


@pytest.mark.rule("H16")
async def test_failing_notification_handler(autojump_clock: Any, caplog: pytest.LogCaptureFixture):
    seen = []

    async def changed(context: ClientContext, params: t.NotificationParams | None) -> None:
        seen.append(context.request_id)
        raise KeyError("oh")

    handlers = {t.ToolListChangedNotification: changed}
    async with session_with_peer(handlers=handlers) as (session, peer):
        for _ in range(2):
            await peer.notify("notifications/tools/list_changed")
        await peer.notify("notifications/message", {"level": "info", "data": "after"})
        await anext(session.notifications)
        await trio.testing.wait_all_tasks_blocked()
    assert seen == [None, None]
    assert caplog.text.count("a handler of notifications/tools/list_changed failed") == 2


async def test_notification_handler_may_use_the_session(autojump_clock: Any):
    names: list[str] = []
    refreshed = trio.Event()

    async def changed(context: ClientContext, params: t.NotificationParams | None) -> None:
        names.extend([tool.name async for tool in context.session.tools()])
        refreshed.set()

    handlers = {t.ToolListChangedNotification: changed}
    async with connect_memory(make_server(), handlers=handlers) as session:
        await session.call_tool("grow", {"name": "new"})
        await refreshed.wait()
    assert "new" in names


@pytest.mark.rule("S06", "H15")
async def test_error_without_an_id_is_logged(autojump_clock: Any, caplog: pytest.LogCaptureFixture):
    async with session_with_peer() as (_session, peer):
        await peer.say({"jsonrpc": "2.0", "error": {"code": 1, "message": "confused"}})
        await trio.testing.wait_all_tasks_blocked()
    assert "the peer reports an error: confused" in caplog.text


# ---- what the server asks


@pytest.mark.rule("S05")
async def test_failing_handler(autojump_clock: Any, caplog: pytest.LogCaptureFixture):
    async def roots(context: ClientContext, params: t.RequestParams | None) -> t.ListRootsResult:
        raise KeyError("secret")

    async with session_with_peer(roots=roots) as (_session, peer):
        await peer.request(7, "roots/list")
        answer = await peer.hear()
        assert answer["error"] == {"code": -32603, "message": "Internal error"}
    assert "secret" in caplog.text


async def test_handler_refuses(autojump_clock: Any):
    async def roots(context: ClientContext, params: t.RequestParams | None) -> t.ListRootsResult:
        raise RequestError(3, "no roots today", None)

    async with session_with_peer(roots=roots) as (_session, peer):
        await peer.request(7, "roots/list")
        answer = await peer.hear()
        assert answer["error"] == {"code": 3, "message": "no roots today", "data": None}


@pytest.mark.rule("CANC-06", "CANC-08")
async def test_server_gives_up_its_request(autojump_clock: Any):
    cancelled = []

    async def roots(context: ClientContext, params: t.RequestParams | None) -> t.ListRootsResult:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.append(context.cancelled)
        raise AssertionError

    async with session_with_peer(roots=roots) as (_session, peer):
        await peer.request(7, "roots/list")
        await peer.notify("notifications/cancelled", {"requestId": 7})
        assert await peer.hears_nothing()
        assert cancelled == [True]


@pytest.mark.rule("H17")
async def test_methods_outside_the_specification(autojump_clock: Any):
    async def add(context: ClientContext, params: dict[str, Any]) -> t.Result:
        return t.Result(extra={"sum": sum(params["terms"])})

    rows = [
        RequestMethod("example/add", frozenset({CLIENT, SERVER})),
        NotificationMethod("notifications/example", frozenset({SERVER})),
    ]
    async with session_with_peer(extensions=rows, handlers={"example/add": add}) as (session, peer):
        await peer.request(1, "example/add", {"terms": [1, 2]})
        assert (await peer.hear())["result"] == {"sum": 3}
        await peer.notify("notifications/example", {"a": 1})
        assert (await anext(session.notifications)).params == {"a": 1}

        async def serve() -> None:
            await peer.answer((await peer.hear())["id"], {"sum": 5})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            result = await session.request(t.Request("example/add", {"terms": [5]}))
        assert result.extra == {"sum": 5}


# ---- the observer


async def test_observer_sees_messages_and_what_came_of_them_in_order(autojump_clock: Any):
    seen: list[Any] = []
    async with session_with_peer(
        observer=lambda time, what: seen.append((time, what)), roots=None
    ) as (session, peer):
        seen.clear()

        async def serve() -> None:
            call = await peer.hear()
            await trio.sleep(2)
            await peer.notify("notifications/message", {"level": "info", "data": 1})
            await peer.answer(call["id"], {"content": []})

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            await session.call_tool("x")
        assert [(time, type(what)) for time, what in seen] == [
            (0, MessageSent),
            (2, MessageReceived),
            (2, NotificationReceived),
            (2, MessageReceived),
            (2, ResultReceived),
        ]


async def test_observer_sees_messages_one_by_one_on_a_stream(autojump_clock: Any):
    seen: list[Any] = []
    ours, theirs = trio.testing.memory_stream_pair()

    async def serve() -> None:
        await theirs.receive_some()
        notice = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n'
        await theirs.send_all(b"not JSON\n" + notice + notice[:20])
        await theirs.send_all(notice[20:])
        await theirs.send_eof()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        with pytest.raises(ConnectionLost):
            async with open_session(ours, observer=lambda time, what: seen.append(what)):
                pass
    names = [type(what).__name__ for what in seen]
    assert names == [
        "MessageSent",
        *("MessageReceived", "ProtocolViolation"),
        *("MessageReceived", "NotificationReceived"),
        *("MessageReceived", "NotificationReceived"),
        "ConnectionClosed",
    ]


async def test_failing_observer_ends_the_session(autojump_clock: Any):
    def observe(time: float, what: Any) -> None:
        if isinstance(what, NotificationReceived):
            raise KeyError("observer")

    with pytest.RaisesGroup(pytest.RaisesExc(KeyError, match="observer")):
        async with session_with_peer(observer=observe) as (session, peer):
            await peer.notify("notifications/message", {"level": "info", "data": 1})
            with pytest.raises(ConnectionLost, match="the session failed") as caught:
                await session.ping()
            assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.rule("H01")
async def test_violations_are_logged(autojump_clock: Any, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "sansmcp.trio")
    async with session_with_peer() as (_session, peer):
        await peer.say(b"Server v1.2 listening")
        await trio.testing.wait_all_tasks_blocked()
    assert "the peer broke JRPC-02" in caplog.text
