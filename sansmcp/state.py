"""What is known in a conversation: the two parties, and what they have agreed on so far.

Plain data with no rule in it. `features` and `conversation` hold the rules.
"""

from collections import OrderedDict
from typing import Any, Final, Protocol

import attrs

from .lifecycle import ConnectionState
from .limits import Limits
from .methods import CLIENT, METHODS, SERVER, Side
from .requests import RequestInFlight, RequestStatus, RequestTable
from .revisions import REVISIONS, Revision, adapted
from .tasks import TASK_TRANSITIONS, TERMINAL
from .types import (
    ClientCapabilities,
    Implementation,
    JSONObject,
    ListToolsResult,
    LoggingLevel,
    RequestId,
    ServerCapabilities,
    TaskStatus,
    Tool,
)
from .wire import unstructure

__all__ = ["LOGGING_LEVELS", "ConversationState", "KnownTask", "KnownTool", "Party", "declared_in"]

#: The levels of log messages, from the least severe to the most (server/utilities/logging).
LOGGING_LEVELS: Final[tuple[LoggingLevel, ...]] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)


class TaskLike(Protocol):
    """What tells of a task: `Task`, and the results and params that have its fields."""

    @property
    def task_id(self) -> str:
        """The id of the task."""

    @property
    def status(self) -> TaskStatus:
        """How it stands."""


def declared_in(capabilities: ClientCapabilities | ServerCapabilities) -> frozenset[str]:
    """The dotted names of all that these capabilities declare, such as `resources.subscribe`.

    A flag counts when it is true and an object when it is there (X-07). `elicitation: {}` means
    form mode (ELIC-08).
    """
    value = unstructure(capabilities)
    names = frozenset(name for name in _NAMES if _is_declared(value, name))
    if "elicitation" in names and names.isdisjoint({"elicitation.form", "elicitation.url"}):
        names |= {"elicitation.form"}
    return names


#: The names that anything depends on. A peer may declare what it likes; nothing else is looked at.
_NAMES: Final = frozenset(
    {"elicitation.form", "elicitation.url", "sampling.tools", "sampling.context"}
    | {row.capability for row in METHODS.requests.values() if row.capability is not None}
    | {row.capability for row in METHODS.notifications.values() if row.capability is not None}
    | {row.task for row in METHODS.requests.values() if row.task is not None}
)


def _is_declared(capabilities: JSONObject, name: str) -> bool:
    value: Any = capabilities
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value is not None and value is not False


class Party:
    """One side of a conversation, as both sides know it.

    Attributes:
        side: CLIENT or SERVER.
        other: the party at the other end.
        requests: the requests that this party has sent.
        info: who it says it is; None before it has said so.
        capabilities: what it has declared; None before it has.
        declared: the dotted names of what it has declared.
    """

    other: "Party"

    def __init__(self, side: Side, limits: Limits) -> None:
        self.side = side
        self.requests = RequestTable(limits.max_remembered_requests)
        self.info: Implementation | None = None
        self.capabilities: Any = None
        self.declared: frozenset[str] = frozenset()

    def introduce(
        self,
        info: Implementation,
        capabilities: ClientCapabilities | ServerCapabilities,
        revision: str,
    ) -> None:
        """It has said who it is and what it can do, in the words of a revision.

        What the revision has no word for is not declared: a connection does not send it (LIFE-14).
        """
        self.info = info
        self.capabilities = capabilities
        self.declared = declared_in(adapted(capabilities, revision))

    def assume(self) -> None:
        """What it has declared was not heard: nothing is held against it for want of a capability."""
        self.declared = _NAMES


@attrs.frozen
class KnownTool:
    """What calls of a tool depend on.

    Attributes:
        task_support: "forbidden", "optional" or "required" (TASK-07 to TASK-11).
        output_schema: the JSON Schema of its structured content, or None (TOOL-22).
    """

    task_support: str
    output_schema: JSONObject | None


@attrs.define(eq=False)
class KnownTask:
    """A task that was mentioned in this conversation.

    Attributes:
        status: the last one that was told.
        request: the request that became the task, where that was seen here.
    """

    status: TaskStatus
    request: RequestInFlight | None = None


class ConversationState:
    """All that one conversation has settled.

    Attributes:
        lifecycle: how far the handshake has come.
        revision: the negotiated revision; None before it is.
        client: the party that asked for the conversation.
        server: the party that serves it.
        instructions: the server's advice for the model, or None.
        log_level: the least severe level that the client wants; None where it has not said.
        subscriptions: the URIs of the resources that the client is subscribed to.
        elicitations: ids of URL elicitations that are not complete yet, oldest first.
        tasks: what is known of tasks, by the side that runs them and their id.
        tools: what is known of tools, from the results of `tools/list`, by name.
        initialize_id: the id of the handshake's request, which may never be cancelled; or None.
        late_answers: how many answers crossed a cancellation or a timeout and were dropped.
        message_size: bytes of the message that is being received; 0 where that is not known.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.lifecycle = ConnectionState.IDLE
        self.revision: Revision | None = None
        self.client = Party(CLIENT, limits)
        self.server = Party(SERVER, limits)
        self.client.other, self.server.other = self.server, self.client
        self.instructions: str | None = None
        self.log_level: LoggingLevel | None = None
        self.subscriptions: set[str] = set()
        # What was unsubscribed by requests that are not answered yet.
        self.leaving: set[str] = set()
        self._longest_subscription = 0
        self._subscribed = 0  # Characters of all subscriptions.
        self._known_tools = 0  # Bytes of the messages that told of `tools`.
        self.elicitations: OrderedDict[str, None] = OrderedDict()
        self.tools: dict[str, KnownTool] = {}
        self.tasks: OrderedDict[tuple[Side, str], KnownTask] = OrderedDict()
        self.initialize_id: RequestId | None = None
        self.late_answers = 0
        self.message_size = 0

    def agree_on(self, revision: str) -> None:
        """The server has chosen the revision."""
        self.revision = REVISIONS[revision]

    def logs(self, level: LoggingLevel) -> bool:
        """Whether a message of this level is to be sent (LOG-03, LOG-04)."""
        wanted = self.log_level
        return wanted is None or LOGGING_LEVELS.index(level) >= LOGGING_LEVELS.index(wanted)

    def subscribe(self, uri: str) -> None:
        """The client asked for updates of a resource."""
        if uri not in self.subscriptions:
            self.subscriptions.add(uri)
            self._subscribed += len(uri)
        self._longest_subscription = max(self._longest_subscription, len(uri))

    def unsubscribe(self, uri: str) -> None:
        """The client wants no more updates of a resource; some may be on their way."""
        self.forget_subscription(uri)
        self.leaving.add(uri)

    def forget_subscription(self, uri: str) -> None:
        """The client is not subscribed to a resource, if it ever was."""
        if uri in self.subscriptions:
            self.subscriptions.remove(uri)
            self._subscribed -= len(uri)

    def full_of_subscriptions(self, uri: str) -> str | None:
        """Why there is no room for one more subscription, or None."""
        limits = self.limits
        if len(uri) > limits.max_uri_size:
            return f"a URI of more than {limits.max_uri_size:,} characters"
        if uri in self.subscriptions:
            return None
        if len(self.subscriptions) >= limits.max_subscriptions:
            return f"more than {limits.max_subscriptions:,} resource subscriptions"
        if self._subscribed + len(uri) > limits.max_subscriptions_size:
            return f"subscriptions of more than {limits.max_subscriptions_size:,} characters"
        return None

    def stay(self, uri: str) -> None:
        """An unsubscription was refused or given up: updates may well go on."""
        self.leaving.discard(uri)
        if self.full_of_subscriptions(uri) is None:
            self.subscribe(uri)

    def subscribed(self, uri: str, *, or_leaving: bool = False) -> bool:
        """Whether the client asked for updates of this resource, or of one that holds it."""
        wanted = (
            self.subscriptions | self.leaving if or_leaving and self.leaving else self.subscriptions
        )
        if uri in wanted:
            return True
        # RES-06: the resource may lie below the one that was subscribed to. What is longer than any
        # subscription is not looked at: a URI of a million slashes costs no more than a short one.
        end = min(len(uri), self._longest_subscription + 1)
        while (end := uri.rfind("/", 0, end)) > 0:
            if uri[:end] in wanted or uri[: end + 1] in wanted:
                return True
        return False

    def remember_elicitation(self, elicitation_id: str) -> None:
        """A URL elicitation has begun (ELIC-23, ELIC-24)."""
        if len(elicitation_id) > self.limits.max_id_size:
            return
        self.elicitations[elicitation_id] = None
        if len(self.elicitations) > self.limits.max_elicitations:
            self.elicitations.popitem(last=False)

    def learn_task(
        self, receiver: Party, task: TaskLike, request: RequestInFlight | None = None
    ) -> bool:
        """`receiver` has told how a task of its stands; says whether that can be (TASK-26).

        The progress token of the request lives as long as the task (PROG-09, PROG-11).
        """
        if len(task.task_id) > self.limits.max_id_size:
            # It is not remembered, so nothing could live as long as it does.
            self._retire(receiver, request)
            return True
        key = (receiver.side, task.task_id)
        known = self.tasks.get(key)
        if known is None:
            known = self.tasks[key] = KnownTask(task.status, request)
            if len(self.tasks) > self.limits.max_known_tasks:
                (side, _), forgotten = self.tasks.popitem(last=False)
                self._retire(self.client if side is CLIENT else self.server, forgotten.request)
        elif request is not None and known.request is None:
            known.request = request
        elif request is not None:
            # TASK-24: two requests cannot have become one task.
            self._retire(receiver, request)
        if task.status != known.status:
            if task.status not in TASK_TRANSITIONS[known.status]:
                return False
            known.status = task.status
        if task.status in TERMINAL:
            self._retire(receiver, known.request)
            known.request = None
        return True

    @staticmethod
    def _retire(receiver: Party, request: RequestInFlight | None) -> None:
        if request is not None:
            receiver.other.requests.retire_token(request, RequestStatus.ANSWERED)

    def learn_tools(self, page: ListToolsResult, *, first_page: bool) -> None:
        """Remember what calls of the tools on this page depend on."""
        if first_page:
            self.forget_tools()
        self._known_tools += self.message_size
        if self._known_tools <= self.limits.max_known_tools_size:
            for tool in page.tools:
                self.learn_tool(tool)

    def forget_tools(self) -> None:
        """What was known of the tools may not be so any more."""
        self.tools.clear()
        self._known_tools = 0

    def learn_tool(self, tool: Tool) -> None:
        """Remember what calls of this tool depend on."""
        room = len(self.tools) < self.limits.max_known_tools or tool.name in self.tools
        if room and len(tool.name) <= self.limits.max_id_size:
            support = tool.execution.task_support if tool.execution is not None else None
            self.tools[tool.name] = KnownTool(support or "forbidden", tool.output_schema)
