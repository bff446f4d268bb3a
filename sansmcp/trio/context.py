"""What a handler gets to work with: who asks, and the ways to talk back while it serves."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import trio

from sansmcp import (
    ClientConnection,
    Connection,
    RequestReceived,
    ServerConnection,
)
from sansmcp import types as t

from ._pump import Incoming, Pump
from .task import TaskHandle

if TYPE_CHECKING:
    from .session import Session

__all__ = ["ClientContext", "Context"]

_Timeout = float | t.Missing | None
_C = TypeVar("_C", bound=Connection)


class _Context(Generic[_C]):
    """What a client's handlers and a server's have in common.

    All that waits is a checkpoint, and is cancelled with the request that is being served. It
    raises `ConnectionLost` if the connection ends, and `LocalProtocolError` for what the protocol
    does not allow.
    """

    def __init__(
        self,
        pump: Pump[_C],
        event: Incoming,
        scope: trio.CancelScope,
        task_id: str | None,
    ) -> None:
        self._pump = pump
        self._scope = scope
        self._request = event if isinstance(event, RequestReceived) else None
        self._task_id = task_id

    @property
    def request_id(self) -> t.RequestId | None:
        """The id of the request that is being served; None for a notification."""
        return None if self._request is None else self._request.id

    @property
    def task_id(self) -> str | None:
        """The id of the task that the request has become; None for a plain one."""
        return self._task_id

    @property
    def revision(self) -> str:
        """The protocol revision that is in force."""
        revision = self._pump.connection.revision
        assert revision is not None
        return revision

    @property
    def cancelled(self) -> bool:
        """Whether the peer has given up on the request, or stopped the task.

        Its handler is being cancelled then.
        """
        return self._scope.cancel_called

    @property
    def _related(self) -> dict[str, Any]:
        """What our messages say of the request that they are sent for."""
        if self._task_id is not None:
            return {"related_task": self._task_id}
        return {"related_request": self.request_id}

    async def _tell(self, send: Callable[[], bool]) -> bool:
        if self._task_id is not None and self._pump.ended:
            # A task goes on without the connection that it began on.
            await trio.lowlevel.checkpoint()
            return False
        return await self._pump.tell(send)

    async def update_task(self, message: str | None) -> None:
        """Say how the task stands, for people.

        Args:
            message: what there is to say; None for nothing.

        Raises:
            RuntimeError: the request is a plain one.
            LocalProtocolError: the task has ended.
        """
        if self._task_id is None:
            raise RuntimeError("the request has not become a task")
        await trio.lowlevel.checkpoint()
        self._pump.update_task(self._task_id, message)

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """Tell how far the request has come (basic/utilities/progress).

        Args:
            progress: how far; more than the last time (PROG-04).
            total: how far it goes, in the same unit, if known.
            message: a text for people.

        Returns:
            Whether it was sent: not if the peer has not asked for progress.
        """
        if self._request is None:
            raise RuntimeError("there is no progress with a notification")
        send = partial(
            self._pump.connection.send_progress, self._request.id, progress, total, message
        )
        return await self._tell(send)

    async def request(self, request: Any, *, timeout: _Timeout = t.MISSING) -> Any:
        """Ask the peer something while it waits for this handler.

        Args:
            request: a request of `sansmcp.types`, or a `Request` for a method of `extensions`.
            timeout: seconds to wait for an answer; the connection's own if left out.

        Returns:
            The result, of the type that belongs to the request's method.

        Raises:
            PeerError: it was answered with an error.
            RequestTimeout: it was not answered in time.
        """
        send = partial(
            self._pump.connection.send_request,
            request,
            **self._related,
        )
        return await self._pump.request(send, timeout)

    async def request_as_task(
        self, request: Any, *, timeout: _Timeout = t.MISSING
    ) -> TaskHandle[Any]:
        """Ask the peer something that it is to work on as a task.

        Args:
            request: its params carry `task`, a `TaskMetadata`.
            timeout: seconds until it must have become one.
        """
        send = partial(
            self._pump.connection.send_request,
            request,
            progress=True,
            **self._related,
        )
        return TaskHandle(self._pump, await self._pump.request_task(send, timeout))

    async def notify(self, notification: Any) -> bool:
        """Tell the peer something; whether it was sent (see `Connection.send_notification`)."""
        send = partial(
            self._pump.connection.send_notification,
            notification,
            **self._related,
        )
        return await self._tell(send)


class ClientContext(_Context[ClientConnection]):
    """What a client's handler gets as its first argument.

    Attributes:
        session: the session with the server that asks.
    """

    def __init__(
        self,
        session: "Session",
        pump: Pump[ClientConnection],
        event: Incoming,
        scope: trio.CancelScope,
        task_id: str | None,
    ) -> None:
        super().__init__(pump, event, scope, task_id)
        self.session = session


class Context(_Context[ServerConnection]):
    """What a server's handler gets as its first argument."""

    @property
    def client_info(self) -> t.Implementation:
        """Who the client says it is."""
        info = self._pump.connection.peer_info
        assert info is not None
        return info

    @property
    def client_capabilities(self) -> t.ClientCapabilities:
        """What the client has declared; it can be asked for nothing else."""
        capabilities = self._pump.connection.peer_capabilities
        assert capabilities is not None
        return capabilities

    async def log(
        self, level: t.LoggingLevel, data: t.JSONValue, logger: str | None = None
    ) -> bool:
        """Send a log message (server/utilities/logging).

        Args:
            level: how severe it is.
            data: any JSON value, a text most of the time.
            logger: the name of the part that speaks, or None.

        Returns:
            Whether it was sent: not if it is below the level that the client has set.
        """
        return await self._tell(
            partial(self._pump.connection.log, level, data, logger, **self._related)
        )

    async def create_message(
        self,
        messages: Iterable[t.SamplingMessage],
        max_tokens: int,
        *,
        timeout: _Timeout = t.MISSING,
        **more: Any,
    ) -> t.CreateMessageResult:
        """Ask the client's model (client/sampling).

        Args:
            messages: the conversation so far.
            max_tokens: how many tokens the answer may have at most.
            timeout: as for `request`, which also says what is raised.
            more: the further fields of `CreateMessageRequestParams`, by name.
        """
        send = partial(
            self._pump.connection.create_message,
            messages,
            max_tokens,
            **self._related,
            **more,
        )
        return cast(t.CreateMessageResult, await self._pump.request(send, timeout))

    async def elicit(
        self, message: str, requested_schema: t.RequestedSchema, *, timeout: _Timeout = t.MISSING
    ) -> t.ElicitResult:
        """Ask the user to fill in a form (client/elicitation).

        Args:
            message: what is asked and why, for the user.
            requested_schema: the fields of the form.
            timeout: as for `request`, which also says what is raised. People take their time.
        """
        send = partial(
            self._pump.connection.elicit,
            message,
            requested_schema,
            **self._related,
        )
        return cast(t.ElicitResult, await self._pump.request(send, timeout))

    async def elicit_url(
        self, message: str, elicitation_id: str, url: str, *, timeout: _Timeout = t.MISSING
    ) -> t.ElicitResult:
        """Ask the user to visit a page (client/elicitation).

        That the user agreed to does not mean that they are done: `Server.elicitation_complete`
        tells the client when they are.

        Args:
            message: what is asked and why, for the user.
            elicitation_id: unique on this server (ELIC-19).
            url: where to go.
            timeout: as for `request`, which also says what is raised.
        """
        send = partial(
            self._pump.connection.elicit_url,
            message,
            elicitation_id,
            url,
            **self._related,
        )
        return cast(t.ElicitResult, await self._pump.request(send, timeout))

    async def list_roots(self, *, timeout: _Timeout = t.MISSING) -> tuple[t.Root, ...]:
        """Ask where the server may work (client/roots).

        Args:
            timeout: as for `request`, which also says what is raised.
        """
        send = partial(self._pump.connection.list_roots, **self._related)
        result: t.ListRootsResult = await self._pump.request(send, timeout)
        return result.roots
