"""A client at work: a `Driver` with the typed calls that the inspector makes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from sansmcp import (
    ClientConnection,
    Event,
    Implementation,
    NotificationReceived,
    ProgressReceived,
    RequestReceived,
    TaskCreated,
    TaskStatusChanged,
    VersionMismatch,
    __version__,
)
from sansmcp import types as t
from sansmcp.connection import DEFAULT_REVISIONS

from .driver import Closed, Driver
from .process import ServerProcess, spawn
from .timeline import Timeline, printable

__all__ = ["Inspection", "NoConversation", "inspection"]


class NoConversation(Exception):
    """There was no conversation, or it broke off. The message is one line for a person."""


class Inspection:
    """A client that talks to one server, and remembers what it was told.

    Attributes:
        connection: the client's end.
        progress: what was received so far.
        notifications: likewise.
        tools: what the server offers, once it was asked.
        tasks: how tasks stood, each time that was told.
    """

    def __init__(self, driver: Driver[ClientConnection]) -> None:
        self._driver = driver
        self.connection = driver.connection
        self.progress: list[ProgressReceived] = []
        self.notifications: list[Any] = []
        self.tasks: list[t.Task] = []
        self.tools: list[t.Tool] = []
        self.mismatch: VersionMismatch | None = None

    def hear(self, event: Event) -> None:
        """Remember an event."""
        if isinstance(event, ProgressReceived):
            self.progress.append(event)
        elif isinstance(event, NotificationReceived):
            self.notifications.append(event.notification)
        elif isinstance(event, (TaskCreated, TaskStatusChanged)):
            self.tasks.append(event.task)
        elif isinstance(event, VersionMismatch):
            self.mismatch = event

    async def ask(self, id: t.RequestId) -> Any:
        """Wait for the result of a request; see `Driver.answer`."""
        return await self._driver.answer(id)

    async def listed(self, ask: Callable[[str | None], t.RequestId], key: str) -> list[Any]:
        """All items of a list, page by page."""
        items: list[Any] = []
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            page = await self.ask(ask(cursor))
            items += getattr(page, key)
            cursor = page.next_cursor
            if cursor is None:
                return items
            if cursor in seen:
                raise NoConversation(f"the pages of {key} go round in a circle")
            seen.add(cursor)

    async def heard(self, kind: type) -> Any:
        """Wait until a notification of this kind has come; gives it."""
        while True:
            for notification in self.notifications:
                if isinstance(notification, kind):
                    return notification
            await trio.sleep(0.01)


async def _answer(driver: Driver[ClientConnection], event: RequestReceived) -> None:
    """What the inspector says when a server asks back."""
    params = event.params
    answers: dict[str, t.Result] = {
        "roots/list": t.ListRootsResult([t.Root("file:///tmp/inspected", "inspected")]),
        "sampling/createMessage": t.CreateMessageResult(
            "assistant", t.TextContent("13"), "inspector", "endTurn"
        ),
    }
    if event.method == "elicitation/create":
        form = isinstance(params, t.ElicitRequestFormParams)
        filled = _fill_in(params.requested_schema) if form else None
        driver.connection.send_result(event.id, t.ElicitResult("accept", filled))
    else:
        driver.connection.send_result(event.id, answers[event.method])


def _fill_in(schema: t.RequestedSchema) -> dict[str, Any]:
    """Something plausible in each required field that has no default."""
    filled: dict[str, Any] = {}
    for name in schema.required or ():
        field = schema.properties[name]
        if field.default is not None:
            continue
        match field:
            case t.StringSchema(format=format):
                examples = {
                    "email": "ada@example.com",
                    "uri": "https://example.com/",
                    "date": "1815-12-10",
                    "date-time": "1815-12-10T12:00:00Z",
                }
                text = examples.get(format or "", "Ada")
                filled[name] = text.ljust(field.min_length or 0, "a")[: field.max_length]
            case t.NumberSchema():
                filled[name] = field.minimum if field.minimum is not None else field.maximum or 1
            case t.BooleanSchema():
                filled[name] = True
            case t.TitledSingleSelectEnumSchema():
                filled[name] = field.one_of[0].const
            case t.UntitledSingleSelectEnumSchema() | t.LegacyTitledEnumSchema():
                filled[name] = field.enum[0]
            case t.UntitledMultiSelectEnumSchema():
                filled[name] = list(field.items.enum[: max(1, field.min_items or 1)])
            case t.TitledMultiSelectEnumSchema():
                options = field.items.any_of[: max(1, field.min_items or 1)]
                filled[name] = [option.const for option in options]
    return filled


@asynccontextmanager
async def inspection(
    command: list[str],
    timeline: Timeline,
    *,
    timeout: float,
    revision: str | None = None,
) -> AsyncIterator[Inspection]:
    """Start a server, initialize the conversation, and end both with the body.

    Args:
        command: the program and its arguments.
        timeline: is told of everything.
        timeout: seconds that an answer may take.
        revision: the only protocol revision to offer; None for all.

    Raises:
        StartFailed: the command cannot be started.
        NoConversation: the server does not answer, or ends too soon.
    """
    connection = ClientConnection(
        Implementation("sansmcp-inspect", __version__),
        capabilities=t.ClientCapabilities(
            roots=t.RootsCapability(list_changed=True),
            sampling=t.SamplingCapability(),
            elicitation=t.ElicitationCapability(form={}, url={}),
        ),
        clock=trio.current_time,
        timeout=timeout,
        max_timeout=timeout * 10,
        revisions=DEFAULT_REVISIONS if revision is None else [revision],
    )
    async with spawn(command, patience=1.0) as server:
        driver = Driver(connection, server.receive, server.send, _answer, tap=timeline.tap)
        inspected = Inspection(driver)

        def tell(event: Event) -> None:
            timeline.event(event)
            inspected.hear(event)

        driver.tell = tell
        async with trio.open_nursery() as nursery:
            nursery.start_soon(driver.run)
            try:
                await driver.answer(connection.initialize())
            except Closed as closed:
                if inspected.mismatch is not None:
                    ours = ", ".join(inspected.mismatch.supported)
                    theirs = ", ".join(inspected.mismatch.offered)
                    detail = f"no common revision: offered {ours}; the server has {theirs}"
                    raise NoConversation(detail) from None
                raise NoConversation(await _why(server, str(closed))) from None
            try:
                yield inspected
            except Closed as closed:
                raise NoConversation(await _why(server, str(closed))) from None
            nursery.cancel_scope.cancel()


async def _why(server: ServerProcess, reason: str) -> str:
    """Why a conversation ended, in one line."""
    with trio.move_on_after(0.5):
        await server.process.wait()
    status = server.process.returncode
    if status is None:
        text = f"the conversation ended: {reason}"
    elif status < 0:
        text = f"the server was ended by signal {-status}"
    else:
        text = f"the server ended with exit status {status}"
    if server.last_words:
        text += f"; its last words: {printable(server.last_words[-1])}"
    return text
