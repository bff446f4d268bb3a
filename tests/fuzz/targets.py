"""What is fed, and what has to hold whatever is fed.

`receive` takes a head of two bytes, which choose one of `SCENARIOS` and seed the chunks and what
the application does in between, and then a stream. `monitor` takes the same, and the head says how
much is known and who says which line. `load` takes a text for `TaskBook.load`. Each raises `AssertionError`, or whatever was raised, where something does not hold.
"""

import itertools
import json
import random
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs

import sansmcp.types as t
from sansmcp import (
    CLIENT,
    RULES,
    SERVER,
    ConnectionState,
    DecodeError,
    Event,
    Limits,
    LocalProtocolError,
    Monitor,
    ProtocolViolation,
    RequestReceived,
    Side,
    StructureError,
    TaskBook,
    TaskBookFailed,
    TaskLimits,
    unstructure,
)
from sansmcp.tasks import MemoryTaskStorage
from sansmcp.wire import encode_json
from tests.support import (
    CLIENT_CAN,
    SERVER_CAN,
    Clock,
    feed,
    make_client,
    make_server,
    notification,
    ready_pair,
    ready_server,
    request,
    sent,
)
from tests.test_tasks import CLIENT_TASKS, SERVER_TASKS

from .corpus import REVISIONS

__all__ = ["SCENARIOS", "TARGETS", "load", "monitor", "receive"]

#: Small ones, so that a short stream gets past them.
LIMITS: Final = Limits(
    max_message_size=4096,
    max_requests_in_flight=6,
    max_remembered_requests=6,
    max_subscriptions=3,
    max_uri_size=60,
    max_batch_size=5,
    max_elicitations=2,
    max_known_tools=3,
    max_known_tasks=3,
)
TASK_LIMITS: Final = TaskLimits(per_context=6, total=8, max_result_size=2000)

RESULTS: Final[dict[str, t.Result]] = {
    "tools/call": t.CallToolResult([t.TextContent("done")]),
    "tools/list": t.ListToolsResult([]),
    "prompts/list": t.ListPromptsResult([]),
    "prompts/get": t.GetPromptResult([]),
    "resources/list": t.ListResourcesResult([]),
    "resources/templates/list": t.ListResourceTemplatesResult([]),
    "resources/read": t.ReadResourceResult([]),
    "completion/complete": t.CompleteResult(t.Completion([])),
    "roots/list": t.ListRootsResult([]),
    "sampling/createMessage": t.CreateMessageResult("assistant", t.TextContent("!"), "m"),
    "elicitation/create": t.ElicitResult("decline"),
}


# ---- where a stream may come in

_CAN: Final[dict[str, tuple[Any, Any]]] = {
    "client": (CLIENT_CAN, CLIENT_TASKS),
    "server": (SERVER_CAN, SERVER_TASKS),
}


def _book(clock: Clock) -> TaskBook:
    ids = (f"task-{n}" for n in itertools.count(1))
    start = datetime(2025, 11, 25, 10, 30, tzinfo=UTC)
    return TaskBook(
        limits=TASK_LIMITS,
        new_id=lambda: next(ids),
        wall_clock=lambda: start + timedelta(seconds=clock.now - 1000),
        page_size=2,
    )


def _options(side: str, clock: Clock, *, tasks: bool, **options: Any) -> dict[str, Any]:
    """What a connection of one side is made with."""
    made: dict[str, Any] = {"clock": clock, "limits": LIMITS, **options}
    if tasks:
        can, declared = _CAN[side]
        made |= {"capabilities": attrs.evolve(can, tasks=declared), "tasks": _book(clock)}
    return made


def _ready(side: str, *, tasks: bool = False, **options: Any) -> Callable[[Clock], Any]:
    """After the handshake, with requests of its own under way."""

    def make(clock: Clock) -> Any:
        both = [_options(side, clock, tasks=tasks, **options) for side in ("client", "server")]
        connection = ready_pair(*both)[side == "server"]
        if side == "server":
            connection.list_roots()
            connection.ping()
        else:
            connection.call_tool("t", progress=True, task=t.TaskMetadata() if tasks else None)
            connection.list_tools()
            connection.subscribe("a:b")
            connection.read_resource("a:b")
        if tasks:
            book = connection.task_book
            book.complete(book.create("", "tools/call").task_id, RESULTS["tools/call"])
            book.cancel(book.create("", "tools/call").task_id)
            book.create("somebody else's", "tools/call")
        return connection

    return make


def _initializing(clock: Clock) -> Any:
    client = _idle("client")(clock)
    client.initialize()
    return client


def _initialized(clock: Clock) -> Any:
    server = _idle("server")(clock)
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": unstructure(CLIENT_CAN),
        "clientInfo": {"name": "c", "version": "1"},
    }
    feed(server, request("i", "initialize", params))
    return server


def _closed(clock: Clock) -> Any:
    server = _ready("server")(clock)
    server.receive_eof()
    return server


def _idle(side: str) -> Callable[[Clock], Any]:
    make = make_server if side == "server" else make_client
    return lambda clock: make(**_options(side, clock, tasks=False))


#: Name -> what makes a connection of one side in one state.
SCENARIOS: Final[dict[str, Callable[[Clock], Any]]] = {
    "client idle": _idle("client"),
    "server idle": _idle("server"),
    "client initializing": _initializing,
    "server initialized": _initialized,
    "server closed": _closed,
    "client with tasks": _ready("client", tasks=True),
    "server with tasks": _ready("server", tasks=True),
    **{
        f"{side} of {revision}": _ready(side, revisions=[revision])
        for side in ("client", "server")
        for revision in REVISIONS
    },
}
_MAKE: Final = list(SCENARIOS.values())


# ---- what an application might do


class Application:
    """Uses a connection at random, as the seed has it."""

    def __init__(self, connection: Any, clock: Clock, seed: int) -> None:
        self.connection = connection
        self.clock = clock
        self.rng = random.Random(seed)
        self.asked: list[RequestReceived] = []

    def act(self, events: list[Event]) -> list[Event]:
        """React to events, and then do something of one's own; gives what comes of that."""
        self.asked += [event for event in events if isinstance(event, RequestReceived)]
        for action in self.rng.sample(_ACTIONS, 3):
            # That is all that it may raise; and it says that nothing was done.
            with suppress(LocalProtocolError):
                action(self)
        if self.rng.random() < 0.3:
            self.clock.now += self.rng.choice([0.1, 5.0, 70.0, 4000.0])
            return list(self.connection.handle_deadlines())
        return []

    def _answer(self) -> None:
        if not self.asked:
            return
        event = self.asked.pop(self.rng.randrange(len(self.asked)))
        book = self.connection.task_book
        match self.rng.randrange(5):
            case 0:
                self.connection.send_error(event.id, 7, "No")
            case 1:
                self.asked.append(event)
                self.connection.send_progress(event.id, self.rng.randrange(9))
            case _ if event.task is not None and book is not None:
                self.connection.create_task(event.id, ttl=self.rng.choice([None, 0, 9_000]))
            case _:
                self.connection.send_result(event.id, RESULTS.get(event.method, t.Result()))

    def _ask(self) -> None:
        c, pick = self.connection, self.rng.choice
        task = t.TaskMetadata() if c.task_book is not None else None
        if hasattr(c, "call_tool"):
            pick(
                [
                    lambda: c.call_tool("t", progress=True, task=task),
                    lambda: c.list_tools(pick([None, "next"])),
                    lambda: c.subscribe(pick(["a:b", "a:c"])),
                    lambda: c.unsubscribe(pick(["a:b", "a:c"])),
                    lambda: c.get_prompt("p"),
                    lambda: c.set_logging_level("error"),
                    c.ping,
                ]
            )()
        else:
            asking = [t.SamplingMessage("user", t.TextContent("?"))]
            pick(
                [
                    lambda: c.create_message(asking, 9, **({} if task is None else {"task": task})),
                    lambda: c.elicit("Who?", t.RequestedSchema({"a": t.StringSchema()})),
                    lambda: c.elicit_url("See", pick(["e", "f"]), "https://a.example/"),
                    c.list_roots,
                    c.ping,
                ]
            )()

    def _tell(self) -> None:
        c = self.connection
        if hasattr(c, "log"):
            self.rng.choice(
                [
                    lambda: c.log("error", "oh"),
                    lambda: c.resource_updated("a:b/c"),
                    c.tools_list_changed,
                    lambda: c.elicitation_complete("e"),
                ]
            )()
        else:
            c.roots_list_changed()

    def _give_up(self) -> None:
        ids = [*self.connection.outgoing, *self.connection.tasks]
        if ids:
            self.connection.cancel_request(self.rng.choice(ids))

    def _work(self) -> None:
        book = self.connection.task_book
        tasks = [] if book is None else book.page("", None)[0]
        if tasks:
            task_id = self.rng.choice(tasks).task_id
            match self.rng.randrange(4):
                case 0:
                    book.fail(task_id, t.Error(7, "No"))
                case 1:
                    book.update(task_id, "input_required", "?")
                case 2:
                    book.cancel(task_id)
                case _:
                    record = book.record(task_id)
                    book.complete(task_id, RESULTS.get(record.method, t.Result()))


_ACTIONS: Final = [
    Application._answer,
    Application._answer,
    Application._ask,
    Application._tell,
    Application._give_up,
    Application._work,
]


# ---- what has to hold


_Sizes = dict[str, tuple[int, int]]


def _sizes_of(state: Any, limits: Limits) -> _Sizes:
    """What is kept of a conversation: how much, and the most that it may be."""
    found = {
        "subscriptions": (len(state.subscriptions), limits.max_subscriptions),
        "subscriptions that end": (len(state.leaving), limits.max_requests_in_flight),
        "elicitations": (len(state.elicitations), limits.max_elicitations),
        "tools": (len(state.tools), limits.max_known_tools),
        "tasks": (len(state.tasks), limits.max_known_tasks),
    }
    for party in (state.client, state.server):
        table, side = party.requests, party.side.value
        room = limits.max_requests_in_flight + 1  # There is always room for a ping.
        tokens = room + limits.max_known_tasks
        deadlines = 2 * room + 65
        found |= {
            f"requests of the {side}": (len(table), room),
            f"finished of the {side}": (len(table._finished), limits.max_remembered_requests),
            f"tokens of the {side}": (len(table._by_token), tokens),
            f"old tokens of the {side}": (
                len(table._retired_tokens),
                limits.max_remembered_requests,
            ),
            f"deadlines of the {side}": (len(table._deadlines), deadlines),
        }
    return found


def _sizes(connection: Any) -> _Sizes:
    """What a connection keeps beyond that."""
    limits = connection.limits
    found = {
        "bytes of a line": (connection._framer.buffered, limits.max_message_size),
        "requests of batches": (len(connection._batch_of), limits.max_requests_in_flight),
    }
    follower, host = connection._follower, connection._host
    found["looks at tasks"] = (len(follower._polls), 2 * len(follower._by_request) + 65)
    found["questions about tasks"] = (len(follower._asking), limits.max_requests_in_flight)
    found["unwanted"] = (len(follower._unwanted), limits.max_requests_in_flight)
    if host is not None:
        waiting = sum(len(ids) for ids in host._waiting.values())
        found["waiting for tasks"] = (waiting, limits.max_requests_in_flight)
        found["tasks made here"] = (len(host._made), host._book.limits.total)
        found["asked for tasks"] = (len(host._asked_for), limits.max_requests_in_flight)
    return found


def check_sizes(connection: Any) -> None:
    _within(_sizes_of(connection._conversation.state, connection.limits) | _sizes(connection))


def _within(sizes: _Sizes) -> None:
    for what, (size, most) in sizes.items():
        assert size <= most, f"{what}: {size}, and {most} at the most"


def check_events(events: list[Event]) -> None:
    """What events carry is sound: it can be written, and read again as the same."""
    for event in events:
        assert repr(event)
        assert not isinstance(event, TaskBookFailed), event.error
        if isinstance(event, ProtocolViolation):
            # It can go into a log as it is: it is short, and has no lines of the peer's in it.
            assert len(event.detail) < 400 and event.detail.isprintable(), event.detail
            if isinstance(event.message, (dict, list)):
                encode_json(event.message)
        for name in ("request", "result", "notification", "error", "task", "reply"):
            part = getattr(event, name, None)
            if isinstance(part, t.Result | t.Error | t.Task) or hasattr(part, "extra"):
                encode_json(unstructure(part))


def check_alive(connection: Any) -> None:
    """The next message is read as usual, and answered."""
    connection.receive_data(b"\n")
    connection.data_to_send()
    ping = request("still there?", "ping")
    events = feed(connection, ping)
    if connection.state is ConnectionState.CLOSED:
        assert events == []
        assert connection.data_to_send() == b""
    else:
        (answer,) = sent(connection)
        assert answer == {"jsonrpc": "2.0", "id": "still there?", "result": {}}, answer


def receive(data: bytes) -> None:
    """A stream, into a connection in one of the states."""
    if len(data) < 3:
        return
    seed, stream = data[1], data[2:]
    scenario = _MAKE[data[0] % len(_MAKE)]

    def make(clock: Clock) -> Any:
        connection = scenario(clock)
        # A peer answers what it has heard, and a record has things in the order of the wire.
        connection.data_to_send()
        return connection

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _any_chunks(make, seed, stream)
        _with_an_application(make, seed, stream)


def _any_chunks(make: Callable[[Clock], Any], seed: int, stream: bytes) -> None:
    whole, parts, single = (make(Clock()) for _ in range(3))
    expected = whole.receive_data(stream)
    check_events(expected)
    check_sizes(whole)
    rng = random.Random(seed)
    events: list[Event] = []
    start = 0
    while start < len(stream):
        size = rng.choice([1, 3, 20, 400])
        events += parts.receive_data(stream[start : start + size])
        start += size
    assert events == expected
    said = whole.data_to_send()
    assert parts.data_to_send() == said
    lines = [line.strip(b" \t\r") for line in stream.split(b"\n")[:-1]]
    if all(len(line) <= LIMITS.max_message_size for line in stream.split(b"\n")):
        events = [event for line in lines if line for event in single.receive_message(line)]
        assert events == expected
        assert b"".join(m.text + b"\n" for m in single.messages_to_send()) == said
    check_alive(whole)
    whole.receive_eof()
    assert whole.next_deadline() is None


def _with_an_application(make: Callable[[Clock], Any], seed: int, stream: bytes) -> None:
    clock = Clock()
    connection = make(clock)
    application = Application(connection, clock, seed)
    for line in stream.split(b"\n"):
        events = connection.receive_data(line + b"\n")
        check_events(events)
        check_events(application.act(events))
        check_sizes(connection)
        for text in connection.data_to_send().splitlines():
            assert text
    connection.next_deadline()
    check_alive(connection)
    connection.receive_eof()
    assert not connection.outgoing and not connection.incoming


def load(data: bytes) -> None:
    """A text, as a saved book of tasks: it is refused, or it can be worked with."""
    clock = Clock()
    book = _book(clock)
    try:
        book.load(data)
    except (DecodeError, StructureError, LocalProtocolError):
        assert book.save() == _book(clock).save()
        return
    saved = book.save()
    again = _book(clock)
    again.load(saved)
    assert again.save() == saved
    assert isinstance(book._storage, MemoryTaskStorage)
    contexts = {record.context for record in book._storage}
    for context in contexts:
        can = attrs.evolve(SERVER_CAN, tasks=SERVER_TASKS)
        server = ready_server(tasks=book, capabilities=can, task_context=context, clock=clock)
        tasks = [record.task for record in book._storage]
        asked: list[Any] = [("tasks/list", {})]
        asked += [("tasks/get", {"taskId": task.task_id}) for task in tasks]
        asked += [("tasks/result", {"taskId": task.task_id}) for task in tasks]
        asked += [("tasks/cancel", {"taskId": task.task_id}) for task in tasks]
        events = [
            event
            for id, (method, params) in enumerate(asked)
            for event in feed(server, request(id, method, params))
        ]
        # This one error is not for every peer.
        if all(e is None or e.code != -32042 for e in (r.error for r in book._storage)):
            check_events(events)
        answers = {answer["id"] for answer in sent(server)}
        assert answers == set(range(len(asked)))
        feed(server, notification("notifications/cancelled", {"requestId": 0}))
    book.seconds_to_expiry()
    clock.now += 1e5
    book.expire()
    for record in list(book._storage):
        if record.task.status not in ("completed", "failed", "cancelled"):
            with suppress(LocalProtocolError):  # It may have expired.
                book.complete(record.task.task_id, RESULTS.get(record.method, t.Result()))


def monitor(data: bytes) -> None:
    """What two parties say, seen from outside."""
    if len(data) < 3:
        return
    from_start, seed, stream = bool(data[0] % 2), data[1], data[2:]
    whole, parts = (Monitor(from_start=from_start, limits=LIMITS) for _ in range(2))
    rng = random.Random(seed)
    side = rng.choice(list(Side))
    for line in stream.split(b"\n"):
        if rng.random() < 0.7:  # Often enough it is the other's turn.
            side = CLIENT if side is SERVER else SERVER
        [*seen] = whole.receive_data(side, line + b"\n")
        cut = rng.randrange(len(line) + 1)
        again = [
            *parts.receive_data(side, line[:cut] or b" "),
            *parts.receive_data(side, line[cut:] + b"\n"),
        ]
        assert again == seen
        for observation in seen:
            check_events(list(observation.events))
            assert all(violation.rule.id in RULES for violation in observation.violations)
        check_monitor(whole)
    greeting = request("late", "ping")
    [observation] = whole.receive_data(SERVER, b"\n" + json.dumps(greeting).encode() + b"\n")
    assert observation.message == greeting
    for side in Side:
        whole.receive_eof(side)
    assert whole.state is ConnectionState.CLOSED


def check_monitor(monitor: Monitor) -> None:
    assert monitor._due_count == sum(map(len, monitor._due.values()))
    assert monitor._due_count <= LIMITS.max_remembered_requests
    assert len(monitor._due_tokens) <= LIMITS.max_remembered_requests
    for side in Side:
        assert len(monitor.in_flight(side)) <= LIMITS.max_requests_in_flight + 1
    _within(_sizes_of(monitor._conversation.state, LIMITS))


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "receive": receive,
    "monitor": monitor,
    "load": load,
}
