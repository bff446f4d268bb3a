"""Tasks in sessions: calls that are answered later, in both directions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from sansmcp import (
    Implementation,
    LocalProtocolError,
    ProgressReceived,
    StructureError,
    TaskBook,
    TaskLimits,
)
from sansmcp import types as t
from sansmcp.tasks import MemoryTaskStorage, TaskRecord
from sansmcp.trio import (
    ClientContext,
    ConnectionLost,
    Context,
    PeerError,
    RequestError,
    RequestTimeout,
    Server,
    Session,
    TaskCancelled,
    ToolError,
    connect_memory,
    connect_tcp,
    connect_unix,
    memory_pair,
    open_session,
    serve_tcp,
    serve_unix,
)

from .conftest import port_of, serving
from .features import OBJECT, text
from .support import Peer, client_of, session_with_peer
from .test_transports import said


def book(**options: Any) -> TaskBook:
    """A book whose time of day is that of Trio's clock."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return TaskBook(wall_clock=lambda: start + timedelta(seconds=trio.current_time()), **options)


async def work(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    for step in range(1, 4):
        await trio.sleep(1)
        await context.progress(step, 3)
        if context.task_id is not None:
            await context.update_task(f"step {step}")
    return text("done")


async def wait(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    await trio.sleep_forever()
    raise AssertionError


async def crash(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    await trio.sleep(1)
    raise ZeroDivisionError("the secret is 7")


async def fail(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    raise ToolError("the oven is cold")


async def refuse(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    raise RequestError(7, "not today", {"a": 1})


async def wrong(context: Context, arguments: dict[str, Any]) -> Any:
    return "no result"


async def ask_user(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    answer = await context.elicit("Who?", t.RequestedSchema({"name": t.StringSchema()}))
    return text(answer.content)


async def slowly_ask_model(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    question = t.SamplingMessage("user", t.TextContent("Well?"))
    params = t.CreateMessageRequestParams([question], 10, task=t.TaskMetadata())
    handle = await context.request_as_task(t.CreateMessageRequest(params))
    return text((await handle.result()).content.text)


def make_server(tasks: TaskBook | None = None, **options: Any) -> Server:
    server = Server(
        Implementation("tasks", "1"), tasks=book() if tasks is None else tasks, **options
    )
    for handler in (work, wait, crash, fail, refuse, wrong, ask_user, slowly_ask_model):
        execution = t.ToolExecution("optional")
        server.add_tool(t.Tool(handler.__name__, OBJECT, execution=execution), handler)
    server.add_tool(t.Tool("plain", OBJECT), work)
    return server


# ---- from the client's side


async def test_task_from_its_creation_to_its_result(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        handle = await session.call_tool_as_task("work", ttl=60_000)
        assert trio.current_time() < 1
        assert handle.task is not None
        assert (handle.task.status, handle.task.ttl) == ("working", 60_000)
        assert said(await handle.result()) == "done"
        assert 3 <= trio.current_time() < 4
        assert said(await handle.result()) == "done"
        assert handle.task.status == "completed"


@pytest.mark.rule("TASK-17", "TASK-38", "TASK-39")
async def test_task_tells_how_it_goes(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        handle = await session.call_tool_as_task("work")
        told: list[Any] = []
        async for update in handle:
            if isinstance(update, ProgressReceived):
                told.append(update.progress)
            else:
                told.append((update.status, update.status_message))
        assert told == [
            ("working", None),
            1,
            ("working", "step 1"),
            2,
            ("working", "step 2"),
            3,
            ("working", "step 3"),
            ("completed", None),
        ]
        assert said(await handle.result()) == "done"


async def test_same_tool_without_a_task(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        assert said(await session.call_tool("work")) == "done"
        assert [task async for task in session.tasks()] == []


@pytest.mark.rule("TASK-40", "TASK-41", "TASK-65")
async def test_task_ends_as_the_plain_call_would(
    autojump_clock: Any, caplog: pytest.LogCaptureFixture
):
    async with connect_memory(make_server()) as session:
        failed = await (await session.call_tool_as_task("fail")).result()
        assert failed.is_error and said(failed) == "the oven is cold"
        handle = await session.call_tool_as_task("refuse")
        with pytest.raises(PeerError) as refused:
            await handle.result()
        assert (refused.value.code, refused.value.data) == (7, {"a": 1})
        for name in ("crash", "wrong"):
            handle = await session.call_tool_as_task(name)
            with pytest.raises(PeerError) as crashed:
                await handle.result()
            assert (crashed.value.code, crashed.value.message) == (-32603, "Internal error")
            assert handle.task is not None and handle.task.status == "failed"
    assert "the secret is 7" in caplog.text


@pytest.mark.rule("TASK-56", "CANC-04")
async def test_task_is_stopped(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        handle = await session.call_tool_as_task("wait")
        await handle.cancel()
        await handle.cancel()
        with pytest.raises(TaskCancelled):
            await handle.result()
        assert handle.task is not None
        assert (await session.get_task(handle.task.task_id)).status == "cancelled"
        with pytest.raises(PeerError):
            await session.cancel_task(handle.task.task_id)


async def test_waiting_for_a_task_may_be_cancelled(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        handle = await session.call_tool_as_task("work")
        with trio.move_on_after(0.5) as scope:
            await handle.result()
        assert scope.cancelled_caught
        assert said(await handle.result()) == "done"


async def test_several_wait_for_a_task(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        handle = await session.call_tool_as_task("work")
        results: list[str] = []

        async def follow() -> None:
            results.append(said(await handle.result()))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(follow)
            async for _ in handle:
                pass
        assert results == ["done"] * 3


@pytest.mark.rule("H50")
async def test_call_that_is_given_up_before_it_has_become_a_task(autojump_clock: Any):
    tasks: Any = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    ours, theirs = memory_pair()
    peer = Peer(theirs)
    capabilities = {"tools": {}, "tasks": tasks}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: peer.welcome(capabilities=capabilities))
        async with open_session(ours) as session:
            with trio.move_on_after(1) as scope:
                await session.call_tool_as_task("x")
            assert scope.cancelled_caught
            call = await peer.hear()
            assert call["params"]["task"] == {}
            assert await peer.hears_nothing()
            stamp = "2026-01-01T00:00:00Z"
            task = {
                "taskId": "t1",
                "status": "working",
                "createdAt": stamp,
                "lastUpdatedAt": stamp,
                "ttl": None,
            }
            await peer.answer(call["id"], {"task": task})
            cancel = await peer.hear()
            assert (cancel["method"], cancel["params"]) == ("tasks/cancel", {"taskId": "t1"})


async def test_creation_may_fail_or_take_too_long(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        with pytest.raises(PeerError, match="Unknown tool"):
            await session.call_tool_as_task("nothing")
        await anext(session.tools())
        with pytest.raises(LocalProtocolError):
            await session.call_tool_as_task("plain")
    async with session_with_peer() as (session, _peer):
        with pytest.raises(LocalProtocolError):
            await session.call_tool_as_task("x")
    async with connect_memory(make_server(book(limits=TaskLimits(per_context=1)))) as session:
        await session.call_tool_as_task("wait")
        with pytest.raises(PeerError, match="No room"):
            await session.call_tool_as_task("wait")


async def test_server_that_does_not_answer_in_time(autojump_clock: Any):
    server = make_server()
    ours, theirs = memory_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.serve, theirs)
        async with open_session(ours) as session:
            with pytest.raises(RequestTimeout):
                await session.call_tool_as_task("wait", timeout=0)


async def test_end_of_the_connection_ends_the_wait(autojump_clock: Any):
    async with connect_memory(make_server()) as session:
        handle = await session.call_tool_as_task("wait")
    with pytest.raises(ConnectionLost):
        await handle.result()
    with pytest.raises(ConnectionLost):
        await handle.cancel()


# ---- tasks of other sessions


@asynccontextmanager
async def two_sessions(server: Server, **options: Any) -> AsyncIterator[tuple[Session, Session]]:
    async with trio.open_nursery() as nursery:
        sessions = []
        for _ in range(2):
            ours, theirs = memory_pair()
            nursery.start_soon(partial(server.serve, theirs, **options))
            sessions.append(open_session(ours))
        async with sessions[0] as one, sessions[1] as other:
            yield one, other
        nursery.cancel_scope.cancel()


@pytest.mark.rule("TASK-72", "TASK-73", "H53")
async def test_clients_do_not_see_the_tasks_of_others(autojump_clock: Any):
    async with two_sessions(make_server()) as (one, other):
        handle = await one.call_tool_as_task("work")
        assert handle.task is not None
        assert [task.task_id async for task in one.tasks()] == [handle.task.task_id]
        assert [task async for task in other.tasks()] == []
        with pytest.raises(PeerError, match="not found"):
            await other.get_task(handle.task.task_id)


@pytest.mark.rule("TASK-67")
async def test_sessions_of_one_user_share_their_tasks(autojump_clock: Any):
    async with two_sessions(make_server(), task_context="ada") as (one, other):
        handle = await one.call_tool_as_task("work")
        assert handle.task is not None
        task_id = handle.task.task_id
        assert said(await other.task_result(task_id, t.CallToolResult)) == "done"
        with pytest.raises(StructureError):
            await other.task_result(task_id, t.ListRootsResult)
        waiting = await one.call_tool_as_task("wait")
        assert waiting.task is not None
        assert (await other.cancel_task(waiting.task.task_id)).status == "cancelled"
        with pytest.raises(PeerError, match="cancelled"):
            await waiting.result()


@pytest.mark.parametrize("kind", ["tcp", "unix"])
async def test_task_outlives_its_connection(kind: str, tmp_path: Path):
    released = trio.Event()
    tasks = TaskBook()

    async def hold(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        await released.wait()
        assert not await context.progress(1)
        assert not await context.log("info", "nobody hears this")
        return text("held")

    server = make_server(tasks)
    server.add_tool(t.Tool("hold", OBJECT, execution=t.ToolExecution("required")), hold)
    path = tmp_path / "socket"
    serve: Any = (
        serving(serve_unix, server, path)
        if kind == "unix"
        else serving(serve_tcp, server, "127.0.0.1", 0)
    )
    async with serve as listeners:

        def connect() -> Any:
            return connect_unix(path) if kind == "unix" else connect_tcp("127.0.0.1", port)

        port = 0 if kind == "unix" else port_of(listeners)
        async with connect() as session:
            handle = await session.call_tool_as_task("hold")
            assert handle.task is not None
            task_id = handle.task.task_id
        await trio.sleep(0.1)
        released.set()
        if kind == "unix":
            async with connect() as session:
                assert said(await session.task_result(task_id, t.CallToolResult)) == "held"
        else:
            with trio.fail_after(5):
                while (record := tasks.record(task_id)) and record.task.status != "completed":
                    await trio.sleep(0.01)
            async with connect() as session:
                with pytest.raises(PeerError, match="not found"):
                    await session.get_task(task_id)


async def test_task_is_not_left_working_when_its_handler_is_gone(autojump_clock: Any):
    tasks = book()
    async with connect_memory(make_server(tasks)) as session:
        handle = await session.call_tool_as_task("wait")
        assert handle.task is not None
    record = tasks.record(handle.task.task_id)
    assert record is not None and record.task.status == "failed"
    assert record.error is not None and record.error.message == "The work was broken off"


@pytest.mark.rule("TASK-77")
async def test_handler_of_an_expired_task_is_cancelled(autojump_clock: Any):
    ended: list[float] = []

    async def linger(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        try:
            await trio.sleep_forever()
        finally:
            ended.append(trio.current_time())
        raise AssertionError

    server = make_server()
    server.add_tool(t.Tool("linger", OBJECT, execution=t.ToolExecution("optional")), linger)
    async with connect_memory(server) as session:
        handle = await session.call_tool_as_task("linger", ttl=5000)
        with pytest.raises(PeerError, match=r"time is over|not found"):
            await handle.result()
        await trio.sleep(1)
    assert ended == [5.0]


# ---- the server asks


@pytest.mark.rule("TASK-28", "TASK-29")
async def test_task_needs_input(autojump_clock: Any):
    related: list[Any] = []

    async def user(context: ClientContext, params: t.ElicitRequestParams) -> t.ElicitResult:
        related.append((params.meta or {}).get("io.modelcontextprotocol/related-task"))
        await trio.sleep(2)
        return t.ElicitResult("accept", {"name": "Ada"})

    async with connect_memory(make_server(), elicitation=user) as session:
        handle = await session.call_tool_as_task("ask_user")
        assert handle.task is not None
        statuses = [update.status async for update in handle if isinstance(update, t.Task)]
        assert statuses == ["working", "input_required", "working", "completed"]
        assert said(await handle.result()) == "{'name': 'Ada'}"
        assert related == [{"taskId": handle.task.task_id}]


async def test_server_has_the_client_work_on_a_task(autojump_clock: Any):
    async def model(
        context: ClientContext, params: t.CreateMessageRequestParams
    ) -> t.CreateMessageResult:
        assert context.task_id is not None
        await trio.sleep(5)
        return t.CreateMessageResult("assistant", t.TextContent("13"), "abacus")

    async with connect_memory(make_server(), sampling=model, tasks=book()) as session:
        assert said(await session.call_tool("slowly_ask_model")) == "13"
    assert 5 <= trio.current_time() < 7


async def test_client_without_a_book_declares_no_tasks(autojump_clock: Any):
    async def model(context: Any, params: Any) -> Any:
        raise AssertionError

    async with connect_memory(make_server(), sampling=model) as session:
        with pytest.raises(PeerError):
            await session.call_tool("slowly_ask_model")


# ---- faults


def test_tasks_are_declared_where_there_is_a_book():
    assert make_server().capabilities.tasks is not None
    server = Server(Implementation("none", "1"))
    server.add_tool(t.Tool("x", OBJECT), work)
    assert server.capabilities.tasks is None


async def test_plain_request_has_no_task_to_update(autojump_clock: Any):
    async def update(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        with pytest.raises(RuntimeError, match="not become a task"):
            await context.update_task("x")
        return text("fine")

    server = make_server()
    server.add_tool(t.Tool("update", OBJECT), update)
    async with connect_memory(server) as session:
        assert said(await session.call_tool("update")) == "fine"


async def test_storage_that_fails(autojump_clock: Any, caplog: pytest.LogCaptureFixture):
    class Broken(MemoryTaskStorage):
        broken = False

        def put(self, record: TaskRecord) -> None:
            if self.broken:
                raise OSError("the disk is full")
            super().put(record)

        def get(self, task_id: str) -> TaskRecord | None:
            if self.broken:
                raise OSError("the disk is gone")
            return super().get(task_id)

    storage = Broken()
    server = make_server(book(storage=storage))
    async with client_of(server) as client:
        params = {"name": "work", "task": {}}
        await client.request(1, "tools/call", params)
        created = (await client.hear())["result"]["task"]
        storage.broken = True
        await trio.sleep(10)
        await client.request(2, "tools/call", params)
        while (answer := await client.hear()).get("id") != 2:
            pass
        assert answer["error"] == {"code": -32603, "message": "Internal error"}
        await client.request(3, "tasks/get", {"taskId": created["taskId"]})
        assert (await client.hear())["error"]["code"] == -32603
        await client.request(4, "ping")
        assert (await client.hear())["result"] == {}
    assert "the disk is" in caplog.text
