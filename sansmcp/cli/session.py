"""A session with a server that is being looked at."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import trio

from sansmcp import Event, Implementation, NotificationReceived, __version__
from sansmcp import types as t
from sansmcp.connection import DEFAULT_REVISIONS
from sansmcp.elicitation import check_result, with_defaults
from sansmcp.trio import (
    ClientContext,
    ConnectionLost,
    MessageReceived,
    MessageSent,
    Session,
    VersionMismatchError,
)

from .targets import Command, Target, connect
from .timeline import Timeline

__all__ = ["Inspection", "NoConversation", "inspection"]

_T = TypeVar("_T")

_CAPABILITIES: Final = t.ClientCapabilities(
    roots=t.RootsCapability(list_changed=True),
    sampling=t.SamplingCapability(),
    elicitation=t.ElicitationCapability(form={}, url={}),
)
#: How much longer than an answer may take, something that is made of many may take.
_MANY: Final = 10
#: Events that are remembered.
_KEPT: Final = 1000
#: Characters that the inspector writes into a field at most.
_LONGEST: Final = 1000
#: Characters that are kept of a line of the server's stderr.
_LINE_KEPT: Final = 500


class NoConversation(Exception):
    """There was no conversation, or it broke off. The message is one line for a person."""


class Inspection:
    """A session, and what was seen of it.

    Attributes:
        session: the session.
        events: the last of what its connection has reported, oldest first.
        timeout: seconds that an answer may take.
    """

    def __init__(self, session: Session, events: deque[Event], timeout: float) -> None:
        self.session = session
        self.events = events
        self.timeout = timeout

    async def listed(self, items: AsyncIterator[_T]) -> list[_T]:
        """All items of a list, page by page.

        Raises:
            NoConversation: there is no end of it in reasonable time.
        """
        with trio.move_on_after(self.timeout * _MANY):
            return [item async for item in items]
        raise NoConversation("the pages of a list do not come to an end")

    def told(self, kind: type[_T]) -> list[_T]:
        """The notifications of this kind among the events."""
        heard = [one.notification for one in self.events if isinstance(one, NotificationReceived)]
        return [notification for notification in heard if isinstance(notification, kind)]

    async def called(
        self, name: str, arguments: dict[str, Any], *, as_task: bool
    ) -> t.CallToolResult:
        """Call a tool, one way or the other, and see what progress it makes.

        Raises:
            NoConversation: a task does not come to an end in reasonable time.
            SessionError: as `Session.call_tool`.
        """
        if not as_task:
            return await self.session.call_tool(name, arguments, on_progress=lambda progress: None)
        handle = await self.session.call_tool_as_task(name, arguments)
        with trio.move_on_after(self.timeout * _MANY):
            return await handle.result()
        await handle.cancel()
        raise NoConversation(f"the task of {name} does not come to an end")

    async def next(self, kind: type[_T]) -> _T:
        """Wait for a notification of this kind.

        Raises:
            NoConversation: none comes within the time that an answer may take.
        """
        with trio.move_on_after(self.timeout):
            async for notification in self.session.notifications:
                if isinstance(notification, kind):
                    return notification
        raise NoConversation(f"no {kind.__name__} came")


# ---- what the inspector says when a server asks back


async def _sample(context: ClientContext, params: t.CreateMessageRequestParams) -> Any:
    return t.CreateMessageResult("assistant", t.TextContent("13"), "inspector", "endTurn")


async def _elicit(context: ClientContext, params: t.ElicitRequestParams) -> t.ElicitResult:
    form = params.requested_schema if isinstance(params, t.ElicitRequestFormParams) else None
    filled = None if form is None else _fill_in(form)
    answer = with_defaults(params, t.ElicitResult("accept", filled))
    # A form that asks for more than something plausible is not ours to fill in.
    return answer if not any(check_result(params, answer)) else t.ElicitResult("decline")


async def _roots(context: ClientContext, params: t.RequestParams | None) -> t.ListRootsResult:
    return t.ListRootsResult([t.Root("file:///tmp/inspected", "inspected")])


def _fill_in(schema: t.RequestedSchema) -> dict[str, Any]:
    """Something plausible in each required field that has no default."""
    required = {name: schema.properties.get(name) for name in schema.required or ()}
    return {
        name: _plausible(field)
        for name, field in required.items()
        if field is not None and field.default is None
    }


_EXAMPLES: Final = {
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "date": "1815-12-10",
    "date-time": "1815-12-10T12:00:00Z",
}


def _plausible(field: t.PrimitiveSchemaDefinition) -> Any:
    match field:
        case t.StringSchema():
            text = _EXAMPLES.get(field.format or "", "Ada")
            return text.ljust(min(field.min_length or 0, _LONGEST), "a")[: field.max_length]
        case t.NumberSchema():
            return field.minimum if field.minimum is not None else field.maximum or 1
        case t.BooleanSchema():
            return True
        case t.TitledSingleSelectEnumSchema():
            return next((option.const for option in field.one_of), "")
        case t.UntitledSingleSelectEnumSchema() | t.LegacyTitledEnumSchema():
            return next(iter(field.enum), "")
        case t.UntitledMultiSelectEnumSchema():
            return list(field.items.enum[: field.min_items or 1])
        case t.TitledMultiSelectEnumSchema():
            return [option.const for option in field.items.any_of[: field.min_items or 1]]


@asynccontextmanager
async def inspection(
    target: Target, timeline: Timeline, *, timeout: float, revision: str | None
) -> AsyncIterator[Inspection]:
    """Have a session with a server that the timeline shows.

    Args:
        target: where the server is.
        timeline: is told of everything that passes.
        timeout: seconds that an answer may take.
        revision: the only protocol revision to offer; None for all.

    Raises:
        NoConversation: the command cannot be started or the address not be reached, the parties
            have no revision in common, or the server ends too soon.
        SessionError: as `open_session`, and what the body raises.
    """
    events: deque[Event] = deque(maxlen=_KEPT)
    last_words: deque[str] = deque(maxlen=1)

    def observe(time: float, seen: MessageSent | MessageReceived | Event) -> None:
        timeline.observe(time, seen)
        if not isinstance(seen, (MessageSent, MessageReceived)):
            events.append(seen)

    def listen(line: str) -> None:
        if line.strip():
            last_words.append(line.strip()[-_LINE_KEPT:])

    started = False
    try:
        async with connect(
            target,
            stderr=listen,
            info=Implementation("sansmcp-inspect", __version__),
            sampling=_sample,
            elicitation=_elicit,
            roots=_roots,
            capabilities=_CAPABILITIES,
            observer=observe,
            revisions=DEFAULT_REVISIONS if revision is None else [revision],
            timeout=timeout,
            max_timeout=timeout * _MANY,
        ) as session:
            started = True
            yield Inspection(session, events, timeout)
    except OSError as error:
        if started:
            raise
        reason = error.strerror or str(error)
        what = "start" if isinstance(target, Command) else "connect to"
        raise NoConversation(f"cannot {what} {target}: {reason}") from error
    except VersionMismatchError as error:
        ours, theirs = ", ".join(error.supported), ", ".join(error.offered)
        detail = f"no common revision: offered {ours}; the server has {theirs or 'none'}"
        raise NoConversation(detail) from error
    except ConnectionLost as lost:
        if not isinstance(lost.__cause__, Exception | None):
            # It was not the server: an interrupt from the keyboard, or our own output was closed.
            raise lost.__cause__ from None
        said = f"; its last words: {last_words[0]}" if last_words else ""
        raise NoConversation(f"{lost.reason}{said}") from lost
