"""What a hostile peer costs: time and memory for each kind of flood, and whether they are bounded.

    python -m benchmarks.hostile [FACTOR]

Each attack is run against one connection with the default limits, which is asked for what it has to
send after each chunk, as an application would. FACTOR makes all of them larger or smaller.
`tests/test_hostile.py` runs the same attacks with small limits, and fails where what is kept grows
with the attack, or the time for a message with the number of messages before it.
"""

import gc
import itertools
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Final

import attrs

import sansmcp.types as t
from sansmcp import (
    ClientConnection,
    Event,
    Implementation,
    Limits,
    RequestReceived,
    ServerConnection,
    TaskBook,
    TaskLimits,
    unstructure,
)

__all__ = ["ATTACKS", "Attack", "Cost", "cost_of"]

MIB: Final = 2**20


# ---- who is attacked

_CAN: Final = t.ServerCapabilities(
    logging={},
    tools=t.ToolsCapability(list_changed=True),
    resources=t.ResourcesCapability(subscribe=True),
    tasks=t.ServerTasksCapability(
        list={},
        cancel={},
        requests=t.ServerTasksRequestsCapability(tools=t.ToolsTasksCapability(call={})),
    ),
)


def _ids() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"task-{next(numbers)}"


def server(limits: Limits, tasks: TaskLimits, revision: str = "2025-11-25") -> ServerConnection:
    made = ServerConnection(
        Implementation("server", "1"),
        capabilities=_CAN if revision >= "2025-11-25" else attrs.evolve(_CAN, tasks=None),
        limits=limits,
        revisions=[revision],
        tasks=TaskBook(limits=tasks, new_id=_ids()) if revision >= "2025-11-25" else None,
    )
    params = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    made.receive_data(_line(id="i", method="initialize", params=params))
    made.receive_data(_line(method="notifications/initialized"))
    made.data_to_send()
    return made


def waited_for(limits: Limits, tasks: TaskLimits) -> ServerConnection:
    """With a task that is at work."""
    made = server(limits, tasks)
    assert made.task_book is not None
    made.task_book.create("", "tools/call")
    return made


def old_server(limits: Limits, tasks: TaskLimits) -> ServerConnection:
    return server(limits, tasks, "2025-03-26")


def client(limits: Limits, tasks: TaskLimits) -> ClientConnection:
    made = ClientConnection(Implementation("client", "1"), limits=limits, timeout=None)
    id = made.initialize()
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": unstructure(_CAN),
        "serverInfo": {"name": "s", "version": "1"},
    }
    made.receive_data(_line(id=id, result=result))
    made.data_to_send()
    return made


def follower(limits: Limits, tasks: TaskLimits) -> ClientConnection:
    """With a call that has become a task."""
    made = client(limits, tasks)
    id = made.call_tool("t", task=t.TaskMetadata(), progress=True)
    made.receive_data(_line(id=id, result={"task": _task(0)}))
    return made


def _line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


# ---- what its application does


def nothing(connection: Any, events: list[Event]) -> None:
    """It serves nobody."""


def answers(connection: Any, events: list[Event]) -> None:
    """It answers every request."""
    for event in events:
        if isinstance(event, RequestReceived):
            connection.send_result(event.id, t.CallToolResult([]))


def makes_tasks(connection: Any, events: list[Event]) -> None:
    """It makes a task of every request."""
    for event in events:
        if isinstance(event, RequestReceived):
            connection.create_task(event.id)


def lists_tools(connection: Any, events: list[Event]) -> None:
    """It asks for one more page of tools."""
    if not connection.outgoing:
        connection.list_tools("more")


def calls_as_task(connection: Any, events: list[Event]) -> None:
    """It calls a tool once more, as a task."""
    connection.call_tool("t", task=t.TaskMetadata(), progress=True)


# ---- the attacks


@attrs.frozen
class Attack:
    """A way to do harm.

    Attributes:
        about: what it is.
        count: how many messages or chunks it has at full size.
        chunks: given a count, the bytes.
        connect: who is attacked.
        react: what the application does after each chunk.
        whole: whether all of it arrives in one chunk.
        weight: how many small messages one of its messages is worth; for tests that make it small.
    """

    about: str
    count: int
    chunks: Callable[[int], Iterator[bytes]]
    connect: Callable[[Limits, TaskLimits], Any] = server
    react: Callable[[Any, list[Event]], None] = nothing
    whole: bool = False
    weight: int = 1


def _same(text: bytes) -> Callable[[int], Iterator[bytes]]:
    return lambda count: (text for _ in range(count))


def _each(make: Callable[[int], bytes]) -> Callable[[int], Iterator[bytes]]:
    return lambda count: (make(n) for n in range(count))


def _call(n: Any, **params: Any) -> bytes:
    return _line(id=n, method="tools/call", params={"name": "t", **params})


def _raw_call(n: int, arguments: str) -> bytes:
    text = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{%s}}}'
    return (text % (n, arguments)).encode() + b"\n"


def _task(n: int, **more: Any) -> dict[str, Any]:
    stamp = "2025-11-25T10:30:00Z"
    task = {"taskId": f"task-{n}", "status": "working", "ttl": None}
    return {**task, "createdAt": stamp, "lastUpdatedAt": stamp, **more}


def _page(n: int) -> bytes:
    tool = {"inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "x": "y" * 5000}}
    # Ids of ours are 1, 2, 3 and so on; 1 was `initialize`.
    return _line(id=n + 1, result={"tools": [{"name": f"t{n}", **tool}], "nextCursor": "more"})


def _news(n: int) -> bytes:
    return _line(
        method="notifications/tasks/status",
        params=_task(0, statusMessage=str(n), pollInterval=86_400_000),
    )


def _made_and_failed(n: int) -> bytes:
    # Each call is followed by a `tasks/result` of the library's.
    made = _line(id=2 * n + 2, result={"task": _task(n, status="failed")})
    return made + _line(id=2 * n + 3, error={"code": -32603, "message": "no"})


_MODULUS: Final = sys.hash_info.modulus
_LOG: Final = {"level": "info", "data": "x" * 100}

ATTACKS: Final = (
    Attack("a line without an end", 16_000, _same(b"x" * 65536), weight=2),
    Attack("tiny messages in one chunk", 1_000_000, _same(b"1\n"), whole=True),
    Attack("pings in one chunk", 100_000, _each(lambda n: _line(id=n, method="ping")), whole=True),
    Attack("nested 100,000 deep", 1_000, _same(b"[" * 10**5 + b"]" * 10**5 + b"\n"), weight=60),
    Attack(
        "integers of a million digits",
        100,
        _each(lambda n: _raw_call(n, '"a":' + "9" * 10**6)),
        weight=60,
    ),
    Attack(
        "integers of 4,000 digits, and exponents",
        20_000,
        _each(lambda n: _raw_call(n, f'"a":{"9" * 4000},"b":1e308,"c":-1E-999')),
        react=answers,
        weight=4,
    ),
    Attack("exponents that are too large", 100_000, _each(lambda n: _raw_call(n, '"a":1e999'))),
    Attack(
        "a key 10,000 times",
        1_000,
        _each(lambda n: _raw_call(n, ",".join(['"a":1'] * 10**4))),
        react=answers,
        weight=20,
    ),
    Attack(
        "10,000 keys",
        1_000,
        _each(lambda n: _raw_call(n, ",".join(f'"{key}":1' for key in range(10**4)))),
        react=answers,
        weight=50,
    ),
    Attack("requests that are never answered", 100_000, _each(_call)),
    Attack(
        "large requests that are never answered",
        2_000,
        _each(lambda n: _call(n, arguments={"a": "x" * 10**5})),
        weight=10,
    ),
    Attack("requests with ids that were used", 100_000, _each(lambda n: _call(n % 5)), react=answers),
    Attack("ids that share a hash", 100_000, _each(lambda n: _call((n + 1) * _MODULUS))),
    Attack("ids of 1 MiB", 500, _each(lambda n: _call("x" * MIB + str(n))), weight=60),
    Attack("ids of 1,000 characters", 50_000, _each(lambda n: _call(f"{n:01000}")), react=answers),
    Attack("methods with names of 1 MiB", 500, _same(_line(id=1, method="x" * MIB)), weight=60),
    Attack("notifications of unknown methods", 100_000, _each(lambda n: _line(method=f"x/{n}"))),
    Attack("log messages", 100_000, _same(_line(method="notifications/message", params=_LOG)), client),
    Attack(
        "cancellations of unknown requests",
        100_000,
        _each(lambda n: _line(method="notifications/cancelled", params={"requestId": n})),
    ),
    Attack(
        "progress with unknown tokens",
        100_000,
        _each(
            lambda n: _line(
                method="notifications/progress", params={"progressToken": n, "progress": n}
            )
        ),
    ),
    Attack("results for nothing", 100_000, _each(lambda n: _line(id=n, result={})), client),
    Attack(
        "error responses to everything",
        100_000,
        _each(lambda n: _line(id=n, error={"code": -32603, "message": "no"})),
        client,
    ),
    Attack(
        "subscriptions",
        100_000,
        _each(lambda n: _line(id=n, method="resources/subscribe", params={"uri": f"a:{n:0500}"})),
    ),
    Attack(
        "subscriptions that come and go",
        100_000,
        _each(
            lambda n: _line(
                id=n,
                method=f"resources/{'un' * (n % 2)}subscribe",
                params={"uri": f"a:{n // 2:0500}"},
            )
        ),
    ),
    Attack(
        "tasks without end",
        20_000,
        _each(lambda n: _call(n, task={}, arguments={"a": "x" * 1000})),
        react=makes_tasks,
    ),
    Attack(
        "waiting for a task, and giving up",
        50_000,
        _each(
            lambda n: (
                _line(id=n, method="tasks/result", params={"taskId": "task-0"})
                + _line(method="notifications/cancelled", params={"requestId": n})
            )
        ),
        waited_for,
    ),
    Attack(
        "every call becomes a task that fails",
        20_000,
        _each(_made_and_failed),
        client,
        calls_as_task,
    ),
    Attack("news of a task", 100_000, _each(_news), follower),
    Attack(
        "news of tasks that nobody asked for",
        100_000,
        _each(lambda n: _line(method="notifications/tasks/status", params=_task(n))),
        client,
    ),
    Attack("pages of tools without end", 20_000, _each(_page), client, lists_tools),
    Attack(
        "batches of pings",
        1_000,
        _each(
            lambda n: json.dumps(
                [{"jsonrpc": "2.0", "id": n * 100 + i, "method": "ping"} for i in range(100)]
            ).encode()
            + b"\n"
        ),
        old_server,
        weight=50,
    ),
)  # fmt: skip


# ---- what they cost


@attrs.frozen
class Cost:
    """What an attack has cost.

    Attributes:
        seconds: of processor time.
        size: bytes that were sent.
        kept: bytes that the connection held afterwards.
        peak: bytes that were held at once, what was being received among them.
        alive: whether a ping was answered afterwards.
    """

    seconds: float
    size: int
    kept: int
    peak: int
    alive: bool


def cost_of(
    attack: Attack,
    count: int,
    limits: Limits | None = None,
    tasks: TaskLimits | None = None,
    *,
    memory: bool = True,
) -> Cost:
    """Run an attack; `memory` says whether to trace memory, for which time is then no measure."""
    connection = attack.connect(limits or Limits(), tasks or TaskLimits())
    size, seconds = 0, 0.0
    chunks = attack.chunks(count)
    if attack.whole:
        chunks = iter([b"".join(chunks)])
    attack.react(connection, [])
    connection.data_to_send()
    gc.collect()
    if memory:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for chunk in chunks:
        size += len(chunk)
        start = time.process_time()
        events = connection.receive_data(chunk)
        attack.react(connection, events)
        connection.data_to_send()
        seconds += time.process_time() - start
        del events
    del chunk
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    if memory:
        tracemalloc.stop()
    connection.receive_data(b"\n")
    connection.data_to_send()
    connection.receive_data(_line(id="ping", method="ping"))
    alive = json.loads(connection.data_to_send() or b"null") == {
        "jsonrpc": "2.0",
        "id": "ping",
        "result": {},
    }
    return Cost(seconds, size, max(kept - before, 0), peak - before, alive)


def main() -> None:
    factor = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(
        "| attack | messages | MB sent | µs a message | at a quarter | MB kept | MB at once | ping |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|---|")
    for attack in ATTACKS:
        count = max(int(attack.count * factor), 4)
        whole = cost_of(attack, count, memory=False)
        part = cost_of(attack, count // 4, memory=False)
        traced = cost_of(attack, count)
        print(
            f"| {attack.about} | {count:,} | {whole.size / 1e6:,.1f} | "
            f"{whole.seconds / count * 1e6:,.1f} | {part.seconds / (count // 4) * 1e6:,.1f} | "
            f"{traced.kept / 1e6:,.2f} | {traced.peak / 1e6:,.1f} | "
            f"{'answered' if whole.alive else 'NOT ANSWERED'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
