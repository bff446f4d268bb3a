"""What a recorded conversation was, in the terms in which it is shown: one form for all reports."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Final, Literal, TypeAlias

import attrs

from sansmcp import (
    CLIENT,
    MISSING,
    SERVER,
    Monitor,
    Observation,
    Side,
    Transcript,
    Violation,
    unstructure,
)
from sansmcp import types as t

__all__ = ["Analysis", "Message", "Request", "TaskLane", "analyse"]

Kind: TypeAlias = Literal["request", "notification", "result", "error", "invalid", "batch", "noise"]
Outcome: TypeAlias = Literal["result", "error", "cancelled", "open"]

#: The member of its params by which a request is told from others of its method.
_LABELS: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
    "logging/setLevel": "level",
    "elicitation/create": "message",
    "tasks/get": "taskId",
    "tasks/result": "taskId",
    "tasks/cancel": "taskId",
    "initialize": "protocolVersion",
}
_RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
_LABEL_LENGTH: Final = 80


@attrs.define
class Message:
    """A message.

    Attributes:
        n: its number, counted from 1.
        side: who sent it.
        time: when, in seconds; None if that is not known.
        kind: what it is; "noise" is no JSON, "invalid" JSON that is no message.
        method: the method, also of what an answer answers; None where there is none.
        id: the id of the request or of the answer.
        text: the message as it was sent.
        answers: the number of the request that it answers.
        concerns: the number of the request whose progress it tells or that it cancels.
        task: the id of the task that it is about.
    """

    n: int
    side: Side
    time: float | None
    kind: Kind
    method: str | None
    id: Any
    text: str
    answers: int | None = None
    concerns: int | None = None
    task: str | None = None


@attrs.define
class Request:
    """A request, from the question to the answer.

    Attributes:
        n: the number of its message.
        side: who asked.
        method: the method.
        id: its id.
        label: what it was about: the name of the tool, the URI, and so on.
        start: when it was asked, in seconds; None if that is not known.
        end: when it was answered or given up.
        end_n: the number of the message that answered it, or gave it up.
        outcome: how it ended; "open" if it did not.
        progress: the numbers of the messages that told of progress.
        cancelled: the number of the message that gave it up.
    """

    n: int
    side: Side
    method: str
    id: Any
    label: str | None
    start: float | None
    end: float | None = None
    end_n: int | None = None
    outcome: Outcome = "open"
    progress: list[int] = attrs.field(factory=list)
    cancelled: int | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took; None where that is not known."""
        return None if self.start is None or self.end is None else self.end - self.start


@attrs.define
class TaskStatusTold:
    """A status of a task.

    Attributes:
        n: the number of the message that told it.
        time: when, in seconds.
        status: the status.
    """

    n: int
    time: float | None
    status: str


@attrs.define
class TaskLane:
    """A task.

    Attributes:
        id: its id.
        side: who runs it.
        request: the number of the request that became the task; None if that was not seen.
        statuses: what was told of it, each time that it had changed.
    """

    id: str
    side: Side
    request: int | None = None
    statuses: list[TaskStatusTold] = attrs.field(factory=list)


@attrs.define
class Analysis:
    """A conversation, taken apart.

    Attributes:
        title: what it is called.
        revision: the revision of the protocol; None if its negotiation was not seen.
        joined: whether its beginning is missing.
        client: who the client says it is.
        server: who the server says it is.
        messages: all messages.
        requests: all requests.
        tasks: all tasks.
        violations: the rules that were broken.
    """

    title: str
    revision: str | None
    joined: bool
    client: t.Implementation | None
    server: t.Implementation | None
    messages: list[Message]
    requests: list[Request]
    tasks: list[TaskLane]
    violations: list[Violation]

    def to_json(self) -> dict[str, Any]:
        """The analysis as JSON: the attributes under their names, with `version` 1."""
        return {
            "version": 1,
            "title": self.title,
            "revision": self.revision,
            "joined": self.joined,
            "client": None if self.client is None else unstructure(self.client),
            "server": None if self.server is None else unstructure(self.server),
            "messages": [_plain(message) for message in self.messages],
            "requests": [_plain(request) for request in self.requests],
            "tasks": [_plain(task) for task in self.tasks],
            "violations": [violation_json(violation) for violation in self.violations],
        }


def violation_json(violation: Violation) -> dict[str, Any]:
    """A violation as JSON."""
    rule = violation.rule
    return {
        "n": violation.number,
        "side": violation.side.value,
        "rule": rule.id,
        "level": rule.level,
        "must": violation.is_must,
        "text": rule.text,
        "page": rule.url,
        "detail": violation.detail,
    }


def _plain(part: Any) -> dict[str, Any]:
    def value(_: Any, __: Any, inner: Any) -> Any:
        return inner.value if isinstance(inner, Side) else inner

    return attrs.asdict(part, value_serializer=value)


class _Analyst:
    """Takes observations, and finds out what belongs together."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.requests: list[Request] = []
        self.violations: list[Violation] = []
        self.tasks: OrderedDict[tuple[Side, str], TaskLane] = OrderedDict()
        # What is open: by who asked and the id, and by who asked and the token.
        self._open: dict[tuple[Side, Any], Request] = {}
        self._tokens: dict[tuple[Side, Any], Request] = {}
        # The last request of an id, open or not.
        self._known: dict[tuple[Side, Any], Request] = {}

    def take(self, seen: Observation) -> None:
        self.violations += seen.violations
        text = seen.text if isinstance(seen.text, str) else seen.text.decode("utf-8", "replace")
        found = self._message(seen, seen.message)
        found.text = text
        if isinstance(seen.message, list):
            # An array is one message on the wire, and what is in it has its own effects.
            for item in seen.message:
                self._message(seen, item)
            found.kind, found.method, found.id = "batch", None, None
        self.messages.append(found)

    def _message(self, seen: Observation, message: Any) -> Message:
        made = Message(seen.number, seen.side, seen.time, "invalid", None, None, "")
        if message is MISSING:
            made.kind = "noise"
        if not isinstance(message, dict):
            return made
        method, id = message.get("method"), message.get("id")
        if isinstance(method, str):
            made.method = method
            made.kind = "request" if "id" in message else "notification"
            params = message.get("params")
            self._said(made, id, params if isinstance(params, dict) else {})
        elif "result" in message or "error" in message:
            made.kind = "error" if "error" in message else "result"
            self._answered(made, id, message.get("result"))
        made.id = id
        return made

    def _said(self, made: Message, id: Any, params: dict[str, Any]) -> None:
        assert made.method is not None
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        made.task = _task_of(params, meta, made.method)
        if made.kind == "request":
            if not _is_id(id):
                return
            request = Request(
                made.n, made.side, made.method, id, _label(made.method, params), made.time
            )
            self.requests.append(request)
            self._open[made.side, id] = self._known[made.side, id] = request
            token = meta.get("progressToken")
            if _is_id(token):
                self._tokens[made.side, token] = request
            return
        if made.method == "notifications/cancelled":
            self._cancelled(made, params.get("requestId"))
        elif made.method == "notifications/progress":
            token = params.get("progressToken")
            told = self._tokens.get((_other(made.side), token)) if _is_id(token) else None
            if told is not None:
                made.concerns = told.n
                told.progress.append(made.n)
        elif made.method == "notifications/tasks/status":
            self._task_told(made, made.side, params)

    def _cancelled(self, made: Message, id: Any) -> None:
        known = self._known.get((made.side, id)) if _is_id(id) else None
        if known is None:
            return
        made.concerns = known.n
        request = self._open.pop((made.side, id), None)
        if request is not None:
            request.outcome, request.cancelled = "cancelled", made.n
            request.end, request.end_n = made.time, made.n

    def _answered(self, made: Message, id: Any, result: Any) -> None:
        asker = _other(made.side)
        known = self._known.get((asker, id)) if _is_id(id) else None
        if known is None:
            return
        made.answers, made.method = known.n, known.method
        request = self._open.pop((asker, id), None)
        if request is not None:
            request.outcome = "error" if made.kind == "error" else "result"
            request.end, request.end_n = made.time, made.n
        if not isinstance(result, dict):
            return
        task = result.get("task")
        if isinstance(task, dict):
            self._task_told(made, made.side, task, known.n)
        elif known.method in ("tasks/get", "tasks/cancel"):
            self._task_told(made, made.side, result)
        elif known.method == "tasks/list" and isinstance(result.get("tasks"), list):
            for task in result["tasks"]:
                if isinstance(task, dict):
                    self._task_told(made, made.side, task)
            made.task = None

    def _task_told(
        self, made: Message, side: Side, task: dict[str, Any], request: int | None = None
    ) -> None:
        id, status = task.get("taskId"), task.get("status")
        if not isinstance(id, str) or not isinstance(status, str):
            return
        made.task = id
        lane = self.tasks.get((side, id))
        if lane is None:
            lane = self.tasks[side, id] = TaskLane(id, side)
        lane.request = lane.request or request
        if not lane.statuses or lane.statuses[-1].status != status:
            lane.statuses.append(TaskStatusTold(made.n, made.time, status))


def _other(side: Side) -> Side:
    return SERVER if side is CLIENT else CLIENT


def _is_id(value: Any) -> bool:
    return type(value) is str or type(value) is int


def _label(method: str, params: dict[str, Any]) -> str | None:
    value = params.get(_LABELS.get(method, "name"))
    if not isinstance(value, str):
        return None
    return value if len(value) <= _LABEL_LENGTH else value[: _LABEL_LENGTH - 1] + "…"


def _task_of(params: dict[str, Any], meta: dict[str, Any], method: str) -> str | None:
    """The task that a request or a notification is about."""
    related = meta.get(_RELATED_TASK)
    task = related.get("taskId") if isinstance(related, dict) else None
    if method.startswith("tasks/"):
        task = params.get("taskId")
    return task if isinstance(task, str) else None


def analyse(transcript: Transcript, title: str = "", monitor: Monitor | None = None) -> Analysis:
    """Take a conversation apart.

    Args:
        transcript: the conversation.
        title: what to call it.
        monitor: judges it; a fresh one if left out.
    """
    monitor = monitor or Monitor()
    return analysed(
        (monitor.receive_message(entry.sender, entry.text, entry.time) for entry in transcript),
        monitor,
        title,
    )


def analysed(observations: Iterable[Observation], monitor: Monitor, title: str = "") -> Analysis:
    """As `analyse`, for what a monitor has observed."""
    analyst = _Analyst()
    for seen in observations:
        analyst.take(seen)
    return Analysis(
        title,
        monitor.revision,
        monitor.joined,
        monitor.info(CLIENT),
        monitor.info(SERVER),
        analyst.messages,
        analyst.requests,
        list(analyst.tasks.values()),
        analyst.violations,
    )
