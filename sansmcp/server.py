"""The server's end of a conversation."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from . import types as t
from .catalog import Catalog, Shelf
from .connection import DEFAULT_REVISIONS, Connection
from .errors import INVALID_PARAMS, METHOD_NOT_FOUND, URL_ELICITATION_REQUIRED, shortened
from .events import Event, LogLevelChanged, ResourceSubscribed, ResourceUnsubscribed
from .features import SchemaValidator
from .lifecycle import choose_revision
from .limits import Limits
from .methods import SERVER, NotificationMethod, RequestMethod
from .requests import RequestInFlight
from .tasks import TaskBook
from .wire import unstructure

__all__ = ["ServerConnection"]

_Timeout = float | None | t.Missing


class ServerConnection(Connection):
    """A server's end: it is initialized, serves requests, and may ask back.

    The handshake, `ping`, log levels and subscriptions are done here. With a `catalog`, so are the
    lists; calls of tools and prompts that are not in it, and prompts without a required argument,
    are refused (-32602); and the client is told when the catalog has changed, where that was
    declared (`listChanged`).

    Args:
        info: who we are.
        capabilities: what we offer. A client can ask for nothing else.
        instructions: advice for the client's model, or None.
        revisions: the protocol revisions that we have. The client's is chosen if it is among them,
            else the newest (LIFE-10 to LIFE-12).
        catalog: what we offer by name, or None where the application answers the lists itself.
        clock: the only source of time, in seconds.
        limits: what the client may make us keep.
        timeout: seconds that a request of ours waits for an answer or for progress, unless it says
            otherwise; None for ever.
        max_timeout: seconds that a request of ours waits in all.
        extensions: methods outside the specification (see `MethodTable`).
        validate: checks our structured content against the tool's `outputSchema`: given the schema
            and the value it says what is wrong, or None (TOOL-22).
        tasks: where requests are kept that become tasks; the capabilities have to declare which may.
            None where none does, or where the application answers `tasks/*` itself.
        task_context: whose tasks the peer may see: the authorization context that it belongs to.
        notify_task_status: whether the peer is told when a task of its changes (TASK-17).

    Raises:
        ValueError: `revisions` is empty or names an unknown one.
    """

    _side = SERVER

    def __init__(
        self,
        info: t.Implementation,
        *,
        capabilities: t.ServerCapabilities | None = None,
        instructions: str | None = None,
        revisions: Iterable[str] = DEFAULT_REVISIONS,
        catalog: Catalog | None = None,
        clock: Callable[[], float] = time.monotonic,
        limits: Limits | None = None,
        timeout: float | None = 60.0,
        max_timeout: float | None = 600.0,
        extensions: Iterable[RequestMethod | NotificationMethod] = (),
        validate: SchemaValidator | None = None,
        tasks: TaskBook | None = None,
        task_context: str = "",
        notify_task_status: bool = True,
    ) -> None:
        super().__init__(
            info,
            capabilities=capabilities or t.ServerCapabilities(),
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
            task_only=(),
        )
        if instructions is not None and not isinstance(instructions, str):
            raise TypeError("instructions is a text, or None")
        self._instructions = instructions
        self._catalog = catalog
        self._automatic |= {
            "initialize": self._initialize,
            "logging/setLevel": self._set_level,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
        }
        if catalog is not None:
            self._automatic |= {
                "tools/list": self._list_tools,
                "prompts/list": self._list_prompts,
                "resources/list": self._list_resources,
                "resources/templates/list": self._list_resource_templates,
                "tools/call": self._call_tool,
                "prompts/get": self._get_prompt,
            }
            self._seen = self._catalog_versions(catalog)

    @property
    def peer_capabilities(self) -> t.ClientCapabilities | None:
        """What the client has declared; None before it has."""
        capabilities: t.ClientCapabilities | None = self._them.capabilities
        return capabilities

    @property
    def subscriptions(self) -> frozenset[str]:
        """The URIs of the resources that the client is subscribed to."""
        return frozenset(self._conversation.state.subscriptions)

    @property
    def logging_level(self) -> t.LoggingLevel | None:
        """The least severe level that the client wants; None where it has not said (LOG-04)."""
        return self._conversation.state.log_level

    # ---- automatic

    def _initialize(self, request: RequestInFlight) -> list[Event]:
        params: t.InitializeRequestParams = request.request.params
        revision = choose_revision(params.protocol_version, self._conversation.revisions)
        result = t.InitializeResult(revision, self._capabilities, self._info, self._instructions)
        self.reply(request.id, result)
        return []

    def _set_level(self, request: RequestInFlight) -> list[Event]:
        self.reply(request.id, t.Result())
        return [LogLevelChanged(request.request.params.level)]

    def _subscribe(self, request: RequestInFlight) -> list[Event]:
        self.reply(request.id, t.Result())
        return [ResourceSubscribed(request.request.params.uri)]

    def _unsubscribe(self, request: RequestInFlight) -> list[Event]:
        self.reply(request.id, t.Result())
        return [ResourceUnsubscribed(request.request.params.uri)]

    def _list_tools(self, request: RequestInFlight) -> list[Event]:
        return self._list(request, self._shelves.tools, t.ListToolsResult)

    def _list_prompts(self, request: RequestInFlight) -> list[Event]:
        return self._list(request, self._shelves.prompts, t.ListPromptsResult)

    def _list_resources(self, request: RequestInFlight) -> list[Event]:
        return self._list(request, self._shelves.resources, t.ListResourcesResult)

    def _list_resource_templates(self, request: RequestInFlight) -> list[Event]:
        return self._list(request, self._shelves.resource_templates, t.ListResourceTemplatesResult)

    @property
    def _shelves(self) -> Catalog:
        assert self._catalog is not None
        return self._catalog

    def _list(
        self, request: RequestInFlight, shelf: Shelf[Any], result: Callable[..., t.Result]
    ) -> list[Event]:
        params = request.request.params
        cursor = None if params is None else params.cursor
        page = shelf.page(cursor, self._shelves.page_size)
        if page is None:
            # PAGE-05. A cursor is ours or it is nothing.
            self.send_error(request.id, INVALID_PARAMS, f"Invalid cursor: {shortened(cursor)}")
        else:
            items, next_cursor = page
            self.reply(request.id, result(items, next_cursor=next_cursor))
        return []

    def _call_tool(self, request: RequestInFlight) -> list[Event]:
        name = request.request.params.name
        tool = self._shelves.tools.items.get(name)
        if tool is None:
            # TOOL-27: an unknown tool is an error of the protocol, not a result with isError.
            self.send_error(request.id, INVALID_PARAMS, f"Unknown tool: {shortened(name)}")
            return []
        self._conversation.state.learn_tool(tool)
        if "tasks.requests.tools.call" in self._us.declared:
            support = tool.execution.task_support if tool.execution is not None else None
            if request.task is None and support == "required":
                # TASK-11
                message = f"The tool {shortened(name)} has to be called as a task"
                self.send_error(request.id, METHOD_NOT_FOUND, message)
                return []
            if request.task is not None and support in (None, "forbidden"):
                # TASK-08
                message = f"The tool {shortened(name)} cannot be called as a task"
                self.send_error(request.id, METHOD_NOT_FOUND, message)
                return []
        return self._deliver(request)

    def _get_prompt(self, request: RequestInFlight) -> list[Event]:
        params: t.GetPromptRequestParams = request.request.params
        prompt = self._shelves.prompts.items.get(params.name)
        if prompt is None:
            # PROMPT-07
            message = f"Unknown prompt: {shortened(params.name)}"
            self.send_error(request.id, INVALID_PARAMS, message)
            return []
        for argument in prompt.arguments or ():
            if argument.required and argument.name not in (params.arguments or {}):
                # PROMPT-08
                message = f"Missing argument: {shortened(argument.name)}"
                self.send_error(request.id, INVALID_PARAMS, message)
                return []
        return [self._request_received(request)]

    @staticmethod
    def _catalog_versions(catalog: Catalog) -> tuple[int, int, int]:
        return (
            catalog.tools.version,
            catalog.prompts.version,
            catalog.resources.version + catalog.resource_templates.version,
        )

    def _before_draining(self) -> None:
        super()._before_draining()
        # The catalog may be shared and know no connection. So it is looked at when there may be
        # something to send: what has changed since the last time is told now.
        if self._catalog is None:
            return
        versions = self._catalog_versions(self._catalog)
        if versions == self._seen:
            return
        seen, self._seen = self._seen, versions
        for was, is_now, notification in zip(seen, versions, _LIST_CHANGED, strict=True):
            if was != is_now and self.may_send(notification.method):
                self.send_notification(notification)

    # ---- sending

    def create_message(
        self,
        messages: Iterable[t.SamplingMessage],
        max_tokens: int,
        *,
        timeout: _Timeout = t.MISSING,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
        **more: Any,
    ) -> t.RequestId:
        """Ask the client's model (client/sampling); its answer is a `CreateMessageResult`.

        Args:
            messages: the conversation so far.
            max_tokens: how many tokens the answer may have at most.
            timeout: as for `send_request`.
            related_request: as for `send_request`.
            related_task: as for `send_request`.
            more: the further fields of `CreateMessageRequestParams`, by name.
        """
        params = t.CreateMessageRequestParams(messages, max_tokens, **more)
        return self.send_request(
            t.CreateMessageRequest(params),
            timeout=timeout,
            related_request=related_request,
            related_task=related_task,
        )

    def elicit(
        self,
        message: str,
        requested_schema: t.RequestedSchema,
        *,
        timeout: _Timeout = t.MISSING,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
    ) -> t.RequestId:
        """Ask the user to fill in a form (client/elicitation); the answer is an `ElicitResult`.

        Args:
            message: what is asked and why, for the user.
            requested_schema: the fields of the form.
            timeout: as for `send_request`.
            related_request: as for `send_request`.
            related_task: as for `send_request`.
        """
        # `mode` is optional for a form, and known only to clients of the newest revision.
        params = t.ElicitRequestFormParams(
            message,
            requested_schema,
            mode="form" if (self.revision or "") >= "2025-11-25" else None,
        )
        return self.send_request(
            t.ElicitRequest(params),
            timeout=timeout,
            related_request=related_request,
            related_task=related_task,
        )

    def elicit_url(
        self,
        message: str,
        elicitation_id: str,
        url: str,
        *,
        timeout: _Timeout = t.MISSING,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
    ) -> t.RequestId:
        """Ask the user to visit a page (client/elicitation); the answer is an `ElicitResult`.

        Args:
            message: what is asked and why, for the user.
            elicitation_id: unique on this server (ELIC-19); `elicitation_complete` names it.
            url: where to go.
            timeout: as for `send_request`.
            related_request: as for `send_request`.
            related_task: as for `send_request`.
        """
        params = t.ElicitRequestURLParams(message, elicitation_id, url)
        return self.send_request(
            t.ElicitRequest(params),
            timeout=timeout,
            related_request=related_request,
            related_task=related_task,
        )

    def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the client that the user is done with the page (ELIC-21 to ELIC-23).

        Raises:
            LocalProtocolError: no elicitation of this id is open with this client.
        """
        params = t.ElicitationCompleteNotificationParams(elicitation_id)
        self.send_notification(t.ElicitationCompleteNotification(params))

    def require_elicitations(
        self,
        id: t.RequestId,
        elicitations: Iterable[t.ElicitRequestURLParams],
        message: str = "The user has to visit a page first",
    ) -> None:
        """Refuse a request until the user has been to some pages (-32042, ELIC-27 to ELIC-30).

        Args:
            id: the id of the client's request; it may send the request again afterwards.
            elicitations: the pages.
            message: one short sentence.

        Raises:
            LocalProtocolError: no request of this id waits for an answer, or the client has not
                declared URL mode.
        """
        data = t.URLElicitationRequiredErrorData(elicitations)
        self.send_error(id, URL_ELICITATION_REQUIRED, message, unstructure(data))

    def list_roots(
        self,
        *,
        timeout: _Timeout = t.MISSING,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
    ) -> t.RequestId:
        """Ask for the client's roots (client/roots); the answer is a `ListRootsResult`.

        Args:
            timeout: as for `send_request`.
            related_request: as for `send_request`.
            related_task: as for `send_request`.
        """
        return self.send_request(
            t.ListRootsRequest(),
            timeout=timeout,
            related_request=related_request,
            related_task=related_task,
        )

    def log(
        self,
        level: t.LoggingLevel,
        data: t.JSONValue,
        logger: str | None = None,
        *,
        related_request: t.RequestId | None = None,
        related_task: str | None = None,
    ) -> bool:
        """Send a log message (server/utilities/logging).

        Args:
            level: how severe it is.
            data: any JSON value, a text most of the time.
            logger: the name of the part that speaks, or None.
            related_request: as for `send_request`.
            related_task: the task that it belongs to, if any (TASK-44).

        Returns:
            Whether it was queued: not if it is below the level that the client has set.
        """
        params = t.LoggingMessageNotificationParams(level, data, logger)
        return self.send_notification(
            t.LoggingMessageNotification(params),
            related_request=related_request,
            related_task=related_task,
        )

    def resource_updated(self, uri: str) -> bool:
        """Tell the client that a resource has changed.

        Returns:
            Whether it was queued: not if the client is not subscribed to it, nor to one above it.
        """
        params = t.ResourceUpdatedNotificationParams(uri)
        return self.send_notification(t.ResourceUpdatedNotification(params))

    def tools_list_changed(self) -> None:
        """Tell the client that the tools have changed. A `catalog` does so by itself."""
        self.send_notification(t.ToolListChangedNotification())

    def prompts_list_changed(self) -> None:
        """Tell the client that the prompts have changed. A `catalog` does so by itself."""
        self.send_notification(t.PromptListChangedNotification())

    def resources_list_changed(self) -> None:
        """Tell the client that the resources have changed. A `catalog` does so by itself."""
        self.send_notification(t.ResourceListChangedNotification())


_LIST_CHANGED: Final[tuple[Any, ...]] = (
    t.ToolListChangedNotification(),
    t.PromptListChangedNotification(),
    t.ResourceListChangedNotification(),
)
