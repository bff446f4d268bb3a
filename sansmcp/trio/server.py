"""A server: what it offers, and who does the work. One object serves any number of clients."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, TypeVar, Unpack

import trio

from sansmcp import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Catalog,
    Implementation,
    Limits,
    LocalProtocolError,
    ServerConnection,
)
from sansmcp import types as t
from sansmcp.errors import shortened

from ._pump import Handler, Pump, Workshop
from ._template import UriTemplate
from .context import Context
from .errors import RequestError
from .session import ConnectionOptions
from .transport import Observer, Transport

__all__ = ["Server"]

_H = TypeVar("_H", bound=Handler)

#: `async def tool(context, arguments)`.
ToolHandler: TypeAlias = Callable[[Context, dict[str, Any]], Awaitable[t.CallToolResult]]
#: `async def prompt(context, arguments)`.
PromptHandler: TypeAlias = Callable[[Context, dict[str, str]], Awaitable[t.GetPromptResult]]
#: `async def resource(context, uri)`.
ResourceHandler: TypeAlias = Callable[[Context, str], Awaitable[t.ReadResourceResult]]
#: `async def template(context, uri, variables)`.
TemplateHandler: TypeAlias = Callable[
    [Context, str, dict[str, str]], Awaitable[t.ReadResourceResult]
]
#: `async def completion(context, value, settled)`: what was typed so far, and the arguments that are
#: settled already.
CompletionHandler: TypeAlias = Callable[[Context, str, dict[str, str]], Awaitable[t.Completion]]

_LISTS: Final = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)
_AUTOMATIC: Final = frozenset(
    {
        "initialize",
        "logging/setLevel",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/progress",
        "ping",
        "resources/subscribe",
        "resources/unsubscribe",
    }
)


class Server:
    """A server: what it offers, and who does the work.

    What is added by name (`add_tool` and its kin) is listed, page by page, and looked up; clients
    that are connected are told when it changes. Everything else is a handler by the type of the
    request, see `on`. A handler's answer is its result. It may raise `RequestError` to refuse, and
    a tool `ToolError` to report a failure; whatever else it raises is logged (`sansmcp.trio`), and
    the client learns no more than that there was an internal error. If the client cancels the
    request, the handler's scope is cancelled, and there is no answer.

    With a `TaskBook` as `tasks`, tools whose `execution` says so can be called as tasks. The call is
    given a task at once, the handler works on as for a plain call, and what it returns or raises
    goes into the book. If the client stops the task, the handler's scope is cancelled.

    Args:
        info: who we are.
        instructions: advice for the client's model, or None.
        capabilities: what we offer; what the handlers at the time of the connection can do if left
            out. Logging is always among that.
        catalog: what we offer by name, if it is there already.
        initialize_timeout: seconds that a client has for the handshake before it is hung up on;
            None for ever.
        linger: seconds that requests which are being served have left when the client has sent all
            that it will. Then their handlers are cancelled.
        options: the connections' own, see `ConnectionOptions`.

    Attributes:
        catalog: what we offer by name.
    """

    def __init__(
        self,
        info: Implementation,
        *,
        instructions: str | None = None,
        capabilities: t.ServerCapabilities | None = None,
        catalog: Catalog | None = None,
        initialize_timeout: float | None = 60.0,
        linger: float = 1.0,
        **options: Unpack[ConnectionOptions],
    ) -> None:
        self.catalog = catalog or Catalog()
        self._info = info
        self._instructions = instructions
        self._capabilities = capabilities
        self._initialize_timeout = initialize_timeout
        self._linger = linger
        self._options = options
        self._handlers: dict[str, Handler] = {}
        self._tools: dict[str, ToolHandler] = {}
        self._prompts: dict[str, PromptHandler] = {}
        self._resources: dict[str, ResourceHandler] = {}
        self._templates: dict[str, tuple[UriTemplate, TemplateHandler]] = {}
        self._completions: dict[tuple[str, str, str], CompletionHandler] = {}
        self._pumps: set[Pump[ServerConnection]] = set()
        self._workshop = Workshop(self._changed)

    # ---- what is offered

    def on(self, message: type[Any] | str) -> Callable[[_H], _H]:
        """Register the handler of a request or a notification: `@server.on(CallToolRequest)`.

        The handler is `async def handler(context, params)`, with a `Context`. That of a request
        returns the result. Notifications are handled one after another.

        A server answers either all four lists by such handlers or none. What connections answer by
        themselves takes no handler.

        Args:
            message: its type, or the name of the method for one of `extensions`.

        Raises:
            ValueError: it cannot have a handler, or has one already.
        """
        method = message if isinstance(message, str) else str(message.method)
        if method in _AUTOMATIC:
            raise ValueError(f"{method} is answered by the connection itself")
        if method in self._handlers:
            raise ValueError(f"there is a handler of {method} already")
        if method in _LISTS and self._shelves_filled():
            raise ValueError("the catalog answers the lists: it has something in it")

        def register(handler: _H) -> _H:
            self._handlers[method] = handler
            return handler

        return register

    def _shelves_filled(self) -> bool:
        catalog = self.catalog
        return bool(
            catalog.tools.items
            or catalog.prompts.items
            or catalog.resources.items
            or catalog.resource_templates.items
        )

    def _expect(self, method: str, handler: Handler) -> None:
        """See that a method is ours to serve: by this handler of our own, and from the catalog."""
        if self._handlers.get(method, handler) != handler:
            raise ValueError(f"{method} has a handler, by `on`")
        if not self._handlers.keys().isdisjoint(_LISTS):
            raise ValueError("the lists have handlers, by `on`: the catalog is not in use")

    def add_tool(self, tool: t.Tool, handler: ToolHandler) -> None:
        """Offer a tool.

        Args:
            tool: how it presents itself.
            handler: `async def handler(context, arguments)`. The arguments are not checked against
                the tool's schema.

        Raises:
            LocalProtocolError: there is one of this name already (TOOL-17).
            ValueError: calls have a handler already, by `on(CallToolRequest)`.
        """
        self._expect("tools/call", self._call_tool)
        self.catalog.tools.add(tool)
        self._handlers["tools/call"] = self._call_tool
        self._tools[tool.name] = handler
        self._changed()

    def remove_tool(self, name: str) -> None:
        """Offer a tool no more. Calls that are being served go on.

        Raises:
            KeyError: there is none of this name.
        """
        self.catalog.tools.remove(name)
        self._tools.pop(name, None)
        self._changed()

    def add_prompt(self, prompt: t.Prompt, handler: PromptHandler) -> None:
        """Offer a prompt.

        Args:
            prompt: how it presents itself.
            handler: `async def handler(context, arguments)`. Required arguments are there.

        Raises:
            LocalProtocolError: there is one of this name already (PROMPT-01).
            ValueError: prompts have a handler already, by `on(GetPromptRequest)`.
        """
        self._expect("prompts/get", self._get_prompt)
        self.catalog.prompts.add(prompt)
        self._handlers["prompts/get"] = self._get_prompt
        self._prompts[prompt.name] = handler
        self._changed()

    def remove_prompt(self, name: str) -> None:
        """Offer a prompt no more.

        Raises:
            KeyError: there is none of this name.
        """
        self.catalog.prompts.remove(name)
        self._prompts.pop(name, None)
        self._changed()

    def add_resource(self, resource: t.Resource, handler: ResourceHandler) -> None:
        """Offer a resource.

        Args:
            resource: how it presents itself.
            handler: `async def handler(context, uri)`.

        Raises:
            LocalProtocolError: there is one of this URI already (RES-01).
            ValueError: reading has a handler already, by `on(ReadResourceRequest)`.
        """
        self._expect("resources/read", self._read_resource)
        self.catalog.resources.add(resource)
        self._handlers["resources/read"] = self._read_resource
        self._resources[resource.uri] = handler
        self._changed()

    def remove_resource(self, uri: str) -> None:
        """Offer a resource no more.

        Raises:
            KeyError: there is none of this URI.
        """
        self.catalog.resources.remove(uri)
        self._resources.pop(uri, None)
        self._changed()

    def add_resource_template(self, template: t.ResourceTemplate, handler: TemplateHandler) -> None:
        """Offer all resources whose URIs fit a template.

        A resource that was added by its own URI comes first, then the templates in their order.

        Args:
            template: how it presents itself. Its variables are of the plain kind, `{name}`.
            handler: `async def handler(context, uri, variables)`. The variables are decoded, and
                neither empty nor with a slash in them, unless that was written as an escape.

        Raises:
            LocalProtocolError: there is one of this template already (RES-01).
            ValueError: the template has other expressions, or two variables side by side; or
                reading has a handler already, by `on(ReadResourceRequest)`.
        """
        parsed = UriTemplate(template.uri_template)
        self._expect("resources/read", self._read_resource)
        self.catalog.resource_templates.add(template)
        self._handlers["resources/read"] = self._read_resource
        self._templates[template.uri_template] = (parsed, handler)
        self._changed()

    def remove_resource_template(self, uri_template: str) -> None:
        """Offer these resources no more.

        Raises:
            KeyError: there is no such template.
        """
        self.catalog.resource_templates.remove(uri_template)
        self._templates.pop(uri_template, None)
        self._changed()

    def add_completion(
        self,
        ref: t.PromptReference | t.ResourceTemplateReference,
        argument: str,
        handler: CompletionHandler,
    ) -> None:
        """Complete an argument of a prompt, or a variable of a template.

        Args:
            ref: the prompt or the template.
            argument: the argument's name.
            handler: `async def handler(context, value, settled)`.

        Raises:
            ValueError: the argument has one already; or completion as a whole has, by
                `on(CompleteRequest)`.
        """
        key = (*_named(ref), argument)
        if key in self._completions:
            raise ValueError(f"there is a completion of {argument!r} already")
        self._expect("completion/complete", self._complete)
        self._handlers["completion/complete"] = self._complete
        self._completions[key] = handler

    # ---- the handlers behind them

    async def _call_tool(self, context: Context, params: t.CallToolRequestParams) -> t.Result:
        # Unknown names are refused by the connection, which has the catalog. A tool that was
        # removed since, or put in the catalog without a handler, is as unknown.
        handler = self._tools.get(params.name)
        if handler is None:
            raise RequestError(INVALID_PARAMS, f"Unknown tool: {shortened(params.name)}")
        return await handler(context, params.arguments or {})

    async def _get_prompt(self, context: Context, params: t.GetPromptRequestParams) -> t.Result:
        handler = self._prompts.get(params.name)
        if handler is None:
            raise RequestError(INVALID_PARAMS, f"Unknown prompt: {shortened(params.name)}")
        return await handler(context, params.arguments or {})

    async def _read_resource(
        self, context: Context, params: t.ReadResourceRequestParams
    ) -> t.Result:
        handler = self._resources.get(params.uri)
        if handler is not None:
            return await handler(context, params.uri)
        for template, serve in self._templates.values():
            variables = template.match(params.uri)
            if variables is not None:
                return await serve(context, params.uri, variables)
        raise RequestError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": params.uri})

    async def _complete(self, context: Context, params: t.CompleteRequestParams) -> t.Result:
        (kind, name), argument = _named(params.ref), params.argument
        handler = self._completions.get((kind, name, argument.name))
        if handler is not None:
            settled = params.context.arguments if params.context is not None else None
            return t.CompleteResult(await handler(context, argument.value, settled or {}))
        catalog = self.catalog
        known = (
            name in catalog.prompts.items
            if isinstance(params.ref, t.PromptReference)
            else name in catalog.resources.items or name in catalog.resource_templates.items
        )
        if not known:
            # COMP-05
            raise RequestError(INVALID_PARAMS, f"Unknown reference: {shortened(name)}")
        return t.CompleteResult(t.Completion([]))

    # ---- serving

    @property
    def limits(self) -> Limits:
        """What a client may make us keep."""
        return self._options.get("limits") or Limits()

    @property
    def capabilities(self) -> t.ServerCapabilities:
        """What a client that connects now is told that we offer."""
        if self._capabilities is not None:
            return self._capabilities
        catalog, methods = self.catalog, self._handlers.keys()
        tools = catalog.tools.items or not methods.isdisjoint({"tools/list", "tools/call"})
        prompts = catalog.prompts.items or not methods.isdisjoint({"prompts/list", "prompts/get"})
        resources = (
            catalog.resources.items
            or catalog.resource_templates.items
            or not methods.isdisjoint({"resources/list", "resources/read"})
        )
        return t.ServerCapabilities(
            logging={},
            completions={} if "completion/complete" in methods else None,
            tools=t.ToolsCapability(list_changed=True) if tools else None,
            prompts=t.PromptsCapability(list_changed=True) if prompts else None,
            resources=(
                t.ResourcesCapability(subscribe=True, list_changed=True) if resources else None
            ),
            tasks=(
                t.ServerTasksCapability(
                    list={},
                    cancel={},
                    requests=t.ServerTasksRequestsCapability(t.ToolsTasksCapability(call={})),
                )
                if tools and self._options.get("tasks") is not None
                else None
            ),
        )

    async def serve(
        self,
        transport: Transport,
        *,
        observer: Observer | None = None,
        initialize_timeout: float | t.Missing | None = t.MISSING,
        task_context: str | None = None,
        task_nursery: trio.Nursery | None = None,
    ) -> None:
        """Serve one client until it goes. Nothing that it does is an error here.

        Args:
            transport: where the client is. It is closed in any case.
            observer: see `Observer`.
            initialize_timeout: instead of the server's own.
            task_context: whose tasks the client may see (TASK-67): the name of a user, say. Those of
                this connection and no others if left out.
            task_nursery: where tasks live on when the connection has ended; if left out, they end
                with it.
        """
        connection = ServerConnection(
            self._info,
            capabilities=self.capabilities,
            instructions=self._instructions,
            catalog=self.catalog if self._handlers.keys().isdisjoint(_LISTS) else None,
            clock=trio.current_time,
            task_context=secrets.token_urlsafe() if task_context is None else task_context,
            **self._options,
        )
        if isinstance(initialize_timeout, t.Missing):
            initialize_timeout = self._initialize_timeout
        pump = Pump(
            connection,
            transport,
            self._handlers,
            lambda *of: Context(pump, *of),
            self._workshop,
            task_nursery=task_nursery,
            observer=observer,
            initialize_timeout=initialize_timeout,
            linger=self._linger,
        )
        self._pumps.add(pump)
        try:
            await pump.run()
        finally:
            self._pumps.discard(pump)

    # ---- telling all clients

    def _changed(self) -> None:
        for pump in self._pumps:
            pump.refresh()

    async def notify_tools_changed(self) -> None:
        """Tell all clients that the tools have changed. `add_tool` and `remove_tool` do so."""
        await self._post(t.ToolListChangedNotification())

    async def notify_prompts_changed(self) -> None:
        """Tell all clients that the prompts have changed. `add_prompt` and its like do so."""
        await self._post(t.PromptListChangedNotification())

    async def notify_resources_changed(self) -> None:
        """Tell all clients that the resources have changed. `add_resource` and its like do so."""
        await self._post(t.ResourceListChangedNotification())

    async def notify_resource_updated(self, uri: str) -> None:
        """Tell the clients that are subscribed to it that a resource has changed."""
        await self._post(t.ResourceUpdatedNotification(t.ResourceUpdatedNotificationParams(uri)))

    async def _post(self, notification: Any) -> None:
        for pump in self._pumps:
            pump.post(notification)
        await trio.lowlevel.checkpoint()

    async def elicitation_complete(self, elicitation_id: str) -> bool:
        """Tell the client that asked its user to visit a page that the user is done there.

        It goes to the client that was asked and to no other (ELIC-22).

        Args:
            elicitation_id: as in `Context.elicit_url` or `ElicitationRequired`.

        Returns:
            Whether there is such a client, still connected.
        """
        await trio.lowlevel.checkpoint()
        for pump in self._pumps:
            try:
                pump.connection.elicitation_complete(elicitation_id)
            except LocalProtocolError:
                continue
            pump.flush()
            return True
        return False


def _named(ref: t.PromptReference | t.ResourceTemplateReference) -> tuple[str, str]:
    return ref.type, ref.name if isinstance(ref, t.PromptReference) else ref.uri
