"""The client's end of a conversation."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import types as t
from .connection import DEFAULT_REVISIONS, Connection
from .elicitation import with_defaults
from .events import Event, Initialized, ResultReceived
from .features import SchemaValidator
from .limits import Limits
from .methods import CLIENT, NotificationMethod, RequestMethod
from .tasks import TaskBook

__all__ = ["ClientConnection"]

_Timeout = float | None | t.Missing


class ClientConnection(Connection):
    """A client's end: it initializes, calls tools, reads resources, and may be asked back.

    The handshake is begun with `initialize()`; the rest of it is done here, and ends in the event
    `Initialized`, in `VersionMismatch`, or in an `ErrorReceived` for the request.

    Args:
        info: who we are.
        capabilities: what we can do for a server. It can ask for nothing else.
        revisions: the protocol revisions that we offer and accept; the newest is asked for.
        clock: the only source of time, in seconds.
        limits: what the server may make us keep.
        timeout: seconds that a request waits for an answer or for progress, unless it says
            otherwise; None for ever.
        max_timeout: seconds that a request waits in all.
        extensions: methods outside the specification (see `MethodTable`).
        validate: checks structured content against the tool's `outputSchema`: given the schema and
            the value it says what is wrong, or None (TOOL-23). Results that fail end in
            `ErrorReceived`.
        tasks: where requests are kept that become tasks; the capabilities have to declare which may.
            None where none does, or where the application answers `tasks/*` itself.
        task_context: whose tasks the peer may see: the authorization context that it belongs to.
        task_only: methods whose plain requests are refused, such as "sampling/createMessage"
            (TASK-21).
        notify_task_status: whether the peer is told when a task of its changes (TASK-17).

    Raises:
        ValueError: `revisions` is empty or names an unknown one.
    """

    _side = CLIENT

    def __init__(
        self,
        info: t.Implementation,
        *,
        capabilities: t.ClientCapabilities | None = None,
        revisions: Iterable[str] = DEFAULT_REVISIONS,
        clock: Callable[[], float] = time.monotonic,
        limits: Limits | None = None,
        timeout: float | None = 60.0,
        max_timeout: float | None = 600.0,
        extensions: Iterable[RequestMethod | NotificationMethod] = (),
        validate: SchemaValidator | None = None,
        tasks: TaskBook | None = None,
        task_context: str = "",
        notify_task_status: bool = True,
        task_only: Iterable[str] = (),
    ) -> None:
        super().__init__(
            info,
            capabilities=capabilities or t.ClientCapabilities(),
            revisions=revisions,
            clock=clock,
            limits=limits,
            timeout=timeout,
            max_timeout=max_timeout,
            extensions=extensions,
            validate=validate,
            tasks=tasks,
            task_context=task_context,
            notify_task_status=notify_task_status,
            task_only=task_only,
        )

    @property
    def peer_capabilities(self) -> t.ServerCapabilities | None:
        """What the server has declared; None before it has."""
        capabilities: t.ServerCapabilities | None = self._them.capabilities
        return capabilities

    # ---- automatic

    def _result_received(self, event: ResultReceived) -> list[Event]:
        if not isinstance(event.request, t.InitializeRequest):
            return []
        self.send_notification(t.InitializedNotification())
        server = self._them
        assert self.revision is not None and server.info is not None
        return [Initialized(self.revision, server.info, server.capabilities, self.instructions)]

    # ---- sending

    def initialize(self, *, timeout: _Timeout = t.MISSING) -> t.RequestId:
        """Begin the conversation (LIFE-02); the outcome is an event, see the class.

        Raises:
            LocalProtocolError: it was begun already.
        """
        params = t.InitializeRequestParams(
            self._conversation.revisions[0], self._capabilities, self._info
        )
        return self.send_request(t.InitializeRequest(params), timeout=timeout)

    def send_result(self, id: t.RequestId, result: t.Result) -> None:
        """Answer a request of the server's.

        The accepted form of an elicitation is completed with the defaults of its schema, and has to
        fit it then (ELIC-63, S21).

        Args:
            id: the request's id.
            result: the result type of the request's method, such as `ElicitResult`.

        Raises:
            LocalProtocolError: no request of this id waits for an answer (it was answered, or
                cancelled), or this is no answer to it.
        """
        request = self.incoming.get(id)
        if request is not None and isinstance(result, t.ElicitResult):
            result = with_defaults(request.request.params, result)
        super().send_result(id, result)

    def list_tools(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.RequestId:
        """Ask for a page of the tools; `cursor` is the `next_cursor` of the page before."""
        return self.send_request(t.ListToolsRequest(_page(cursor)), timeout=timeout)

    def call_tool(
        self,
        name: str,
        arguments: t.JSONObject | None = None,
        *,
        timeout: _Timeout = t.MISSING,
        max_timeout: _Timeout = t.MISSING,
        progress: bool = False,
        task: t.TaskMetadata | None = None,
    ) -> t.RequestId:
        """Call a tool (server/tools); its answer is a `CallToolResult`.

        Args:
            name: the name of the tool.
            arguments: what to do it with.
            timeout: as for `send_request`.
            max_timeout: likewise.
            progress: likewise.
            task: to have it run as a task; `TaskMetadata()` will do.
        """
        return self.send_request(
            t.CallToolRequest(t.CallToolRequestParams(name, arguments, task)),
            timeout=timeout,
            max_timeout=max_timeout,
            progress=progress,
        )

    def list_resources(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.RequestId:
        """Ask for a page of the resources; `cursor` is the `next_cursor` of the page before."""
        return self.send_request(t.ListResourcesRequest(_page(cursor)), timeout=timeout)

    def list_resource_templates(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.RequestId:
        """Ask for a page of the templates; `cursor` is the `next_cursor` of the page before."""
        return self.send_request(t.ListResourceTemplatesRequest(_page(cursor)), timeout=timeout)

    def read_resource(self, uri: str, *, timeout: _Timeout = t.MISSING) -> t.RequestId:
        """Ask for the contents of a resource (server/resources)."""
        params = t.ReadResourceRequestParams(uri)
        return self.send_request(t.ReadResourceRequest(params), timeout=timeout)

    def subscribe(self, uri: str, *, timeout: _Timeout = t.MISSING) -> t.RequestId:
        """Ask to be told when a resource changes: `ResourceUpdatedNotification`."""
        params = t.SubscribeRequestParams(uri)
        return self.send_request(t.SubscribeRequest(params), timeout=timeout)

    def unsubscribe(self, uri: str, *, timeout: _Timeout = t.MISSING) -> t.RequestId:
        """Ask to be told no more.

        Raises:
            LocalProtocolError: also where there is no subscription to it (RES-05).
        """
        params = t.UnsubscribeRequestParams(uri)
        return self.send_request(t.UnsubscribeRequest(params), timeout=timeout)

    def list_prompts(
        self, cursor: str | None = None, *, timeout: _Timeout = t.MISSING
    ) -> t.RequestId:
        """Ask for a page of the prompts; `cursor` is the `next_cursor` of the page before."""
        return self.send_request(t.ListPromptsRequest(_page(cursor)), timeout=timeout)

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout: _Timeout = t.MISSING,
    ) -> t.RequestId:
        """Ask for a prompt, filled in with the arguments (server/prompts)."""
        params = t.GetPromptRequestParams(name, None if arguments is None else dict(arguments))
        return self.send_request(t.GetPromptRequest(params), timeout=timeout)

    def complete(
        self,
        ref: t.PromptReference | t.ResourceTemplateReference,
        argument: str,
        value: str,
        *,
        context: Mapping[str, str] | None = None,
        timeout: _Timeout = t.MISSING,
    ) -> t.RequestId:
        """Ask how an argument could go on (server/utilities/completion).

        Args:
            ref: the prompt or the resource template.
            argument: the name of the argument.
            value: what was typed so far.
            context: the arguments that are settled already (COMP-02).
            timeout: as for `send_request`.
        """
        settled = None if context is None else t.CompletionContext(dict(context))
        params = t.CompleteRequestParams(ref, t.CompletionArgument(argument, value), settled)
        return self.send_request(t.CompleteRequest(params), timeout=timeout)

    def set_logging_level(
        self, level: t.LoggingLevel, *, timeout: _Timeout = t.MISSING
    ) -> t.RequestId:
        """Ask for log messages of this level and the more severe ones, and no others (LOG-02)."""
        params = t.SetLevelRequestParams(level)
        return self.send_request(t.SetLevelRequest(params), timeout=timeout)

    def roots_list_changed(self) -> None:
        """Tell the server that the roots have changed (ROOT-02)."""
        self.send_notification(t.RootsListChangedNotification())


def _page(cursor: str | None) -> Any:
    return None if cursor is None else t.PaginatedRequestParams(cursor)
