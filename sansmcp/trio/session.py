"""A client's session: one awaitable for every method, over any transport."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypedDict, TypeVar, Unpack, cast

import trio

from sansmcp import (
    ClientConnection,
    Implementation,
    Limits,
    NotificationMethod,
    ProgressReceived,
    RequestMethod,
    TaskBook,
    __version__,
    structure,
    unstructure,
)
from sansmcp import types as t
from sansmcp.features import SchemaValidator

from ._background import background_nursery
from ._pump import Handler, Notifications, Pump, Workshop
from .context import ClientContext
from .errors import ConnectionLost, SessionError, VersionMismatchError
from .task import TaskHandle
from .transport import Observer, Transport

__all__ = ["ClientOptions", "ConnectionOptions", "Session", "open_session"]

_Timeout = float | t.Missing | None
_R = TypeVar("_R", bound=t.Result)

#: Called for each progress that the server reports, in the task that waits for the result. If it
#: raises, the request is cancelled and the exception is the caller's.
OnProgress: TypeAlias = Callable[[ProgressReceived], object]
Sampling: TypeAlias = Callable[
    [ClientContext, t.CreateMessageRequestParams], Awaitable[t.CreateMessageResult]
]
Elicitation: TypeAlias = Callable[[ClientContext, t.ElicitRequestParams], Awaitable[t.ElicitResult]]
Roots: TypeAlias = Callable[[ClientContext, t.RequestParams | None], Awaitable[t.ListRootsResult]]


class ConnectionOptions(TypedDict, total=False):
    """Keyword arguments that are the connection's: see `sansmcp.ClientConnection`."""

    revisions: Iterable[str]
    limits: Limits | None
    timeout: float | None
    max_timeout: float | None
    extensions: Iterable[RequestMethod | NotificationMethod]
    validate: SchemaValidator | None
    tasks: TaskBook | None
    notify_task_status: bool


class ClientOptions(ConnectionOptions, total=False):
    """Keyword arguments of all `connect_...` functions: those of `open_session`, which see."""

    info: Implementation | None
    sampling: Sampling | None
    elicitation: Elicitation | None
    roots: Roots | None
    handlers: Mapping[Any, Handler]
    capabilities: t.ClientCapabilities | None
    task_only: Iterable[str]
    task_context: str | None
    observer: Observer | None


class Session:
    """A conversation with a server, initialized already. Got from `open_session` and its kin.

    Its methods wait for the server's answer. `timeout` is always in seconds: how long to wait for
    an answer, or for progress; None for ever; the session's own, 60, if left out. To cancel the
    scope around a call tells the server, and returns at once.

    They raise:

    - `PeerError`: the server answered with an error;
    - `RequestTimeout`: it did not answer in time;
    - `ConnectionLost`: the connection has ended;
    - `sansmcp.LocalProtocolError`: the protocol does not allow it, such as a request for what the
      server has not declared. Nothing was sent then.

    Attributes:
        connection: the state of the conversation; send through the session, not through this.
        notifications: what the server tells and no handler takes.
    """

    def __init__(self, pump: Pump[ClientConnection]) -> None:
        self._pump = pump
        self.connection: Final = pump.connection
        self.notifications: Final[Notifications] = pump.notifications

    # ---- what was agreed on

    @property
    def peer_info(self) -> Implementation:
        """Who the server says it is."""
        info = self.connection.peer_info
        assert info is not None
        return info

    @property
    def peer_capabilities(self) -> t.ServerCapabilities:
        """What the server offers."""
        capabilities = self.connection.peer_capabilities
        assert capabilities is not None
        return capabilities

    @property
    def instructions(self) -> str | None:
        """The server's advice for the model, or None."""
        return self.connection.instructions

    @property
    def revision(self) -> str:
        """The protocol revision that is in force, such as "2025-11-25"."""
        revision = self.connection.revision
        assert revision is not None
        return revision

    # ---- any request, any notification

    async def request(
        self,
        request: Any,
        *,
        timeout: _Timeout = t.MISSING,
        max_timeout: _Timeout = t.MISSING,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """Ask the server something.

        Args:
            request: a request of `sansmcp.types`, or a `Request` for a method of `extensions`.
            timeout: see the class.
            max_timeout: seconds to wait in all, whatever progress arrives (LIFE-21).
            on_progress: see `OnProgress`.

        Returns:
            The result, of the type that belongs to the request's method.
        """
        send = partial(
            self.connection.send_request,
            request,
            max_timeout=max_timeout,
            progress=on_progress is not None,
        )
        return await self._pump.request(send, timeout, on_progress)

    async def notify(self, notification: Any) -> None:
        """Tell the server something: a notification of `sansmcp.types`, or a `Notification`."""
        await self._pump.tell(partial(self.connection.send_notification, notification))

    async def ping(self, *, timeout: _Timeout = t.MISSING) -> None:
        """See whether the server is there (basic/utilities/ping)."""
        await self._pump.request(partial(self.connection.ping), timeout)

    # ---- tools

    async def call_tool(
        self,
        name: str,
        arguments: t.JSONObject | None = None,
        *,
        timeout: _Timeout = t.MISSING,
        max_timeout: _Timeout = t.MISSING,
        on_progress: OnProgress | None = None,
    ) -> t.CallToolResult:
        """Call a tool (server/tools). A tool that failed gives a result with `is_error`.

        Args:
            name: the tool's name.
            arguments: what to do it with.
            timeout: see the class.
            max_timeout: seconds to wait in all, whatever progress arrives (LIFE-21).
            on_progress: see `OnProgress`.
        """
        request = t.CallToolRequest(t.CallToolRequestParams(name, arguments))
        result = await self.request(
            request, timeout=timeout, max_timeout=max_timeout, on_progress=on_progress
        )
        return cast(t.CallToolResult, result)

    async def list_tools(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.ListToolsResult:
        """A page of the tools; `cursor` is the `next_cursor` of the page before."""
        send = partial(self.connection.list_tools, cursor)
        return cast(t.ListToolsResult, await self._pump.request(send, timeout))

    def tools(self) -> AsyncIterator[t.Tool]:
        """All tools, page by page."""
        return _Items(self.list_tools, "tools")

    # ---- tasks

    async def call_tool_as_task(
        self,
        name: str,
        arguments: t.JSONObject | None = None,
        *,
        ttl: int | None = None,
        timeout: _Timeout = t.MISSING,
    ) -> TaskHandle[t.CallToolResult]:
        """Call a tool that is to work on as a task; returns when it has become one.

        If this is cancelled, so is the task.

        Args:
            name: the tool's name.
            arguments: what to do it with.
            ttl: milliseconds that the task should be kept; the server's choice if left out.
            timeout: seconds until it must have become a task. Its result is not under any.
        """
        task = t.TaskMetadata(ttl)
        request = t.CallToolRequest(t.CallToolRequestParams(name, arguments, task))
        return await self.request_as_task(request, timeout=timeout)

    async def request_as_task(
        self, request: Any, *, timeout: _Timeout = t.MISSING
    ) -> TaskHandle[Any]:
        """Ask the server something that it is to work on as a task.

        Args:
            request: its params carry `task`, a `TaskMetadata`.
            timeout: seconds until it must have become one.
        """
        send = partial(self.connection.send_request, request, progress=True)
        return TaskHandle(self._pump, await self._pump.request_task(send, timeout))

    async def list_tasks(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.ListTasksResult:
        """A page of our tasks at the server's; `cursor` is the `next_cursor` of the page before."""
        params = None if cursor is None else t.PaginatedRequestParams(cursor)
        return cast(
            t.ListTasksResult, await self.request(t.ListTasksRequest(params), timeout=timeout)
        )

    def tasks(self) -> AsyncIterator[t.Task]:
        """All our tasks at the server's, page by page; those of earlier sessions among them."""
        return _Items(self.list_tasks, "tasks")

    async def get_task(self, task_id: str, *, timeout: _Timeout = t.MISSING) -> t.GetTaskResult:
        """How a task stands, such as one of an earlier session."""
        request = t.GetTaskRequest(t.GetTaskRequestParams(task_id))
        return cast(t.GetTaskResult, await self.request(request, timeout=timeout))

    async def task_result(
        self, task_id: str, type_: type[_R], *, timeout: _Timeout = t.MISSING
    ) -> _R:
        """Wait for the result of a task, such as one of an earlier session.

        Args:
            task_id: the task.
            type_: the type of result that belongs to its request, such as `CallToolResult`.
            timeout: see the class. The server answers when the task has ended.

        Raises:
            StructureError: the result is not of this type.
        """
        request = t.GetTaskPayloadRequest(t.GetTaskPayloadRequestParams(task_id))
        result = await self.request(request, timeout=timeout)
        return structure(unstructure(result), type_, at="result")

    async def cancel_task(
        self, task_id: str, *, timeout: _Timeout = t.MISSING
    ) -> t.CancelTaskResult:
        """Stop a task, such as one of an earlier session."""
        request = t.CancelTaskRequest(t.CancelTaskRequestParams(task_id))
        return cast(t.CancelTaskResult, await self.request(request, timeout=timeout))

    # ---- resources

    async def list_resources(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.ListResourcesResult:
        """A page of the resources; `cursor` is the `next_cursor` of the page before."""
        send = partial(self.connection.list_resources, cursor)
        return cast(t.ListResourcesResult, await self._pump.request(send, timeout))

    def resources(self) -> AsyncIterator[t.Resource]:
        """All resources, page by page."""
        return _Items(self.list_resources, "resources")

    async def list_resource_templates(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.ListResourceTemplatesResult:
        """A page of the templates; `cursor` is the `next_cursor` of the page before."""
        send = partial(self.connection.list_resource_templates, cursor)
        return cast(t.ListResourceTemplatesResult, await self._pump.request(send, timeout))

    def resource_templates(self) -> AsyncIterator[t.ResourceTemplate]:
        """All resource templates, page by page."""
        return _Items(self.list_resource_templates, "resource_templates")

    async def read_resource(
        self, uri: str, *, timeout: _Timeout = t.MISSING
    ) -> t.ReadResourceResult:
        """The contents of a resource (server/resources)."""
        send = partial(self.connection.read_resource, uri)
        return cast(t.ReadResourceResult, await self._pump.request(send, timeout))

    async def subscribe(self, uri: str, *, timeout: _Timeout = t.MISSING) -> None:
        """Be told when a resource changes: a `ResourceUpdatedNotification`."""
        send = partial(self.connection.subscribe, uri)
        await self._pump.request(send, timeout)

    async def unsubscribe(self, uri: str, *, timeout: _Timeout = t.MISSING) -> None:
        """Be told no more."""
        send = partial(self.connection.unsubscribe, uri)
        await self._pump.request(send, timeout)

    # ---- prompts, completion, logging, roots

    async def list_prompts(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.ListPromptsResult:
        """A page of the prompts; `cursor` is the `next_cursor` of the page before."""
        send = partial(self.connection.list_prompts, cursor)
        return cast(t.ListPromptsResult, await self._pump.request(send, timeout))

    def prompts(self) -> AsyncIterator[t.Prompt]:
        """All prompts, page by page."""
        return _Items(self.list_prompts, "prompts")

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: _Timeout = t.MISSING,
    ) -> t.GetPromptResult:
        """A prompt, filled in with the arguments (server/prompts)."""
        send = partial(self.connection.get_prompt, name, arguments)
        return cast(t.GetPromptResult, await self._pump.request(send, timeout))

    async def complete(
        self,
        ref: t.PromptReference | t.ResourceTemplateReference,
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        timeout: _Timeout = t.MISSING,
    ) -> t.Completion:
        """How an argument could go on (server/utilities/completion).

        Args:
            ref: the prompt or the resource template.
            argument: the name of the argument.
            value: what was typed so far.
            context: the arguments that are settled already (COMP-02).
            timeout: see the class.
        """
        send = partial(self.connection.complete, ref, argument, value, context=context)
        result: t.CompleteResult = await self._pump.request(send, timeout)
        return result.completion

    async def set_logging_level(
        self, level: t.LoggingLevel, *, timeout: _Timeout = t.MISSING
    ) -> None:
        """Ask for log messages of this level and the more severe ones, and no others (LOG-02)."""
        send = partial(self.connection.set_logging_level, level)
        await self._pump.request(send, timeout)

    async def roots_list_changed(self) -> None:
        """Tell the server that the roots have changed (ROOT-02)."""
        await self.notify(t.RootsListChangedNotification())


def _tasks(sampling: object, elicitation: object) -> t.ClientTasksCapability:
    """What can become a task here."""
    return t.ClientTasksCapability(
        list={},
        cancel={},
        requests=t.ClientTasksRequestsCapability(
            sampling=t.SamplingTasksCapability(create_message={}) if sampling else None,
            elicitation=t.ElicitationTasksCapability(create={}) if elicitation else None,
        ),
    )


class _Items(AsyncIterator[Any]):
    """The items of a list, whose pages are asked for when their time has come."""

    def __init__(self, ask: Callable[[str | None], Awaitable[Any]], key: str) -> None:
        self._ask = ask
        self._key = key
        self._page: Iterator[Any] = iter(())
        self._cursor: str | None = None
        self._seen: set[str | None] = set()

    async def __anext__(self) -> Any:
        while True:
            for item in self._page:
                return item
            if self._seen and self._cursor is None:
                raise StopAsyncIteration
            if self._cursor in self._seen:
                raise SessionError("the pages of this list go round in a circle")
            self._seen.add(self._cursor)
            page = await self._ask(self._cursor)
            self._page = iter(getattr(page, self._key))
            self._cursor = page.next_cursor


@asynccontextmanager
async def open_session(
    transport: Transport,
    *,
    info: Implementation | None = None,
    sampling: Sampling | None = None,
    elicitation: Elicitation | None = None,
    roots: Roots | None = None,
    handlers: Mapping[Any, Handler] = MappingProxyType({}),
    capabilities: t.ClientCapabilities | None = None,
    task_only: Iterable[str] = (),
    task_context: str | None = None,
    observer: Observer | None = None,
    **options: Unpack[ConnectionOptions],
) -> AsyncIterator[Session]:
    """A session with the server at the other end of a transport, as long as the block lasts.

    The handshake is over when the block begins. When it ends, what is queued is sent, unless the
    block failed, and the transport is closed. Sessions may be closed in any order.

    A handler is `async def handler(context, params)`, with a `ClientContext`. That of a request
    returns the result, or raises `RequestError`. Those that are given declare the capabilities that
    go with them. With a `TaskBook` as `tasks`, the server can have sampling and elicitation done as
    tasks: the handlers are the same.

    Args:
        transport: a stream or a channel of messages. It is closed in any case.
        info: who we are; this library if left out.
        sampling: answers `CreateMessageRequest`.
        elicitation: answers `ElicitRequest`. What is declared is form mode; URL mode takes somebody
            who can open a page, so it has to be declared by `capabilities`.
        roots: answers `ListRootsRequest`.
        handlers: for other requests, and for notifications, by their type or the name of the
            method. Notifications are handled one after another; those that have no handler go to
            `Session.notifications`.
        capabilities: what we can do for a server, instead of what the handlers say.
        task_only: methods whose plain requests are refused, such as "sampling/createMessage"
            (TASK-21).
        task_context: whose tasks the server may see of those in the book that is given as `tasks`;
            its own and no others if left out.
        observer: is told of everything that passes, see `Observer`.
        options: the connection's own, see `ConnectionOptions`.

    Raises:
        VersionMismatchError: there is no protocol revision in common.
        PeerError: the server refuses the conversation.
        RequestTimeout: it does not answer `initialize` in time.
        ConnectionLost: the connection ended before the handshake did.
    """
    by_method: dict[str, Handler] = {
        key if isinstance(key, str) else key.method: handler for key, handler in handlers.items()
    }
    named = {
        "sampling/createMessage": sampling,
        "elicitation/create": elicitation,
        "roots/list": roots,
    }
    by_method |= {method: handler for method, handler in named.items() if handler is not None}
    async with transport, background_nursery() as nursery:
        connection = ClientConnection(
            info or Implementation("sansmcp", __version__),
            capabilities=capabilities
            or t.ClientCapabilities(
                sampling=t.SamplingCapability() if sampling else None,
                elicitation=t.ElicitationCapability(form={}) if elicitation else None,
                roots=t.RootsCapability(list_changed=True) if roots else None,
                tasks=_tasks(sampling, elicitation) if options.get("tasks") else None,
            ),
            clock=trio.current_time,
            task_only=task_only,
            task_context=secrets.token_urlsafe() if task_context is None else task_context,
            **options,
        )
        pump = Pump(
            connection,
            transport,
            by_method,
            lambda *of: ClientContext(session, pump, *of),
            Workshop(lambda: pump.refresh()),
            observer=observer,
        )
        session = Session(pump)
        nursery.start_soon(pump.run)
        try:
            await pump.request(connection.initialize, t.MISSING)
        except ConnectionLost:
            if pump.mismatch is None:
                raise
            mismatch = pump.mismatch
            raise VersionMismatchError(mismatch.supported, mismatch.offered) from None
        yield session
        if not pump.ended:
            await pump.drain()
