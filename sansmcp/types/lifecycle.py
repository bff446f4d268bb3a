"""The handshake: who is who, and who can do what (basic/lifecycle)."""

from typing import ClassVar, Literal

import attrs

from .base import JSONObject, Model, RequestMeta, optional_items
from .jsonrpc import NotificationParams, RequestId, RequestParams, Result, request_id

__all__ = [
    "BaseMetadata",
    "ClientCapabilities",
    "ClientTasksCapability",
    "ClientTasksRequestsCapability",
    "ElicitationCapability",
    "ElicitationTasksCapability",
    "Icon",
    "Icons",
    "Implementation",
    "InitializeRequest",
    "InitializeRequestParams",
    "InitializeResult",
    "InitializedNotification",
    "PingRequest",
    "PromptsCapability",
    "ResourcesCapability",
    "RootsCapability",
    "SamplingCapability",
    "SamplingTasksCapability",
    "ServerCapabilities",
    "ServerTasksCapability",
    "ServerTasksRequestsCapability",
    "ToolsCapability",
    "ToolsTasksCapability",
]


@attrs.frozen(repr=False)
class Icon(Model):
    """A picture that stands for something.

    Attributes:
        src: where it is: an https: or a data: URI. Untrusted (ICON-03, ICON-04).
        mime_type: overrides what the source says.
        sizes: "WxH" in pixels each, or "any"; any size where absent.
        theme: the background it is made for; any where absent.
    """

    src: str
    mime_type: str | None = None
    sizes: tuple[str, ...] | None = attrs.field(default=None, converter=optional_items)
    theme: Literal["dark", "light"] | None = None


@attrs.frozen(repr=False)
class Icons(Model):
    """What has icons."""

    icons: tuple[Icon, ...] | None = attrs.field(default=None, converter=optional_items)


@attrs.frozen(repr=False)
class BaseMetadata(Model):
    """What has a name for programs and, it may be, a title for people."""

    name: str
    title: str | None = None


@attrs.frozen(repr=False)
class Implementation(Model):
    """Who one is: the name and the version of a program."""

    name: str
    version: str
    title: str | None = None
    description: str | None = None
    website_url: str | None = None
    icons: tuple[Icon, ...] | None = attrs.field(default=None, converter=optional_items)


@attrs.frozen(repr=False)
class RootsCapability(Model):
    """The client has roots; `list_changed` if it tells when they change."""

    list_changed: bool | None = None


@attrs.frozen(repr=False)
class SamplingCapability(Model):
    """The client can ask a model; an empty object declares `context` or `tools`."""

    context: JSONObject | None = None
    tools: JSONObject | None = None


@attrs.frozen(repr=False)
class ElicitationCapability(Model):
    """The client can ask the user; with neither mode declared, by form (ELIC-08)."""

    form: JSONObject | None = None
    url: JSONObject | None = None


@attrs.frozen(repr=False)
class SamplingTasksCapability(Model):
    """Which sampling requests the client runs as tasks."""

    create_message: JSONObject | Literal[True] | None = None


@attrs.frozen(repr=False)
class ElicitationTasksCapability(Model):
    """Which elicitation requests the client runs as tasks."""

    create: JSONObject | Literal[True] | None = None


@attrs.frozen(repr=False)
class ClientTasksRequestsCapability(Model):
    """Which requests the client runs as tasks. The list is exhaustive (TASK-03)."""

    sampling: SamplingTasksCapability | None = None
    elicitation: ElicitationTasksCapability | None = None


@attrs.frozen(repr=False)
class ClientTasksCapability(Model):
    """The client runs tasks (basic/utilities/tasks)."""

    list: JSONObject | Literal[True] | None = None
    cancel: JSONObject | Literal[True] | None = None
    requests: ClientTasksRequestsCapability | None = None


@attrs.frozen(repr=False)
class ClientCapabilities(Model):
    """What a client can do for a server. Not a closed set: more survives in `extra`."""

    experimental: dict[str, JSONObject] | None = None
    roots: RootsCapability | None = None
    sampling: SamplingCapability | None = None
    elicitation: ElicitationCapability | None = None
    tasks: ClientTasksCapability | None = None


@attrs.frozen(repr=False)
class PromptsCapability(Model):
    """The server has prompts; `list_changed` if it tells when they change."""

    list_changed: bool | None = None


@attrs.frozen(repr=False)
class ResourcesCapability(Model):
    """The server has resources; it may tell when the list or a resource changes."""

    subscribe: bool | None = None
    list_changed: bool | None = None


@attrs.frozen(repr=False)
class ToolsCapability(Model):
    """The server has tools; `list_changed` if it tells when they change."""

    list_changed: bool | None = None


@attrs.frozen(repr=False)
class ToolsTasksCapability(Model):
    """Which tool requests the server runs as tasks."""

    call: JSONObject | Literal[True] | None = None


@attrs.frozen(repr=False)
class ServerTasksRequestsCapability(Model):
    """Which requests the server runs as tasks. The list is exhaustive (TASK-03)."""

    tools: ToolsTasksCapability | None = None


@attrs.frozen(repr=False)
class ServerTasksCapability(Model):
    """The server runs tasks (basic/utilities/tasks)."""

    list: JSONObject | Literal[True] | None = None
    cancel: JSONObject | Literal[True] | None = None
    requests: ServerTasksRequestsCapability | None = None


@attrs.frozen(repr=False)
class ServerCapabilities(Model):
    """What a server offers. Not a closed set: more survives in `extra`."""

    experimental: dict[str, JSONObject] | None = None
    logging: JSONObject | None = None
    completions: JSONObject | None = None
    prompts: PromptsCapability | None = None
    resources: ResourcesCapability | None = None
    tools: ToolsCapability | None = None
    tasks: ServerTasksCapability | None = None


@attrs.frozen(repr=False)
class InitializeRequestParams(Model):
    """What a client says of itself to begin with."""

    protocol_version: str
    capabilities: ClientCapabilities
    client_info: Implementation
    meta: RequestMeta | None = attrs.field(default=None, kw_only=True)


@attrs.frozen(repr=False)
class InitializeRequest(Model):
    """A client begins a conversation (LIFE-02)."""

    method: ClassVar[Literal["initialize"]] = "initialize"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: InitializeRequestParams
    id: RequestId | None = request_id()


@attrs.frozen(repr=False)
class InitializeResult(Result):
    """What a server says of itself in return (LIFE-03).

    Attributes:
        protocol_version: the revision that it has chosen.
        capabilities: what it offers.
        server_info: who it is.
        instructions: advice for the model.
    """

    protocol_version: str
    capabilities: ServerCapabilities
    server_info: Implementation
    instructions: str | None = None


@attrs.frozen(repr=False)
class InitializedNotification(Model):
    """The client is ready (LIFE-04)."""

    method: ClassVar[Literal["notifications/initialized"]] = "notifications/initialized"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: NotificationParams | None = None


@attrs.frozen(repr=False)
class PingRequest(Model):
    """Is the other side there? See basic/utilities/ping."""

    method: ClassVar[Literal["ping"]] = "ping"
    jsonrpc: ClassVar[Literal["2.0"]] = "2.0"

    params: RequestParams | None = None
    id: RequestId | None = request_id()
