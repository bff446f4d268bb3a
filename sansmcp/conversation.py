"""The rulebook: it sees every message of both sides, and knows no role.

A `Conversation` is told who sent a message and what it was. It does not know which of the two
parties "we" are, so the same rules bind both, and nobody cheats. Messages come to it in two ways:

* `receive` takes the text of a message as it came. What is wrong with it is told in events; a
  `ProtocolViolation` says by which rule, and which error is due in reply.
* `send_request` and its kin take a typed message that somebody means to send. What is wrong with it
  is raised as `LocalProtocolError`, and then nothing has changed.

Both ways run the same checks (`_refusal`, `features`, `checks`) and the same effects.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import attrs

from . import features
from . import types as t
from .checks import PROGRESS_TOKEN, RELATED_TASK, check
from .errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    CapabilityError,
    DecodeError,
    LocalProtocolError,
    StructureError,
    shortened,
)
from .events import (
    ConnectionClosed,
    ErrorReceived,
    Event,
    Initialized,
    NotificationReceived,
    ProgressReceived,
    ProtocolViolation,
    RequestCancelled,
    ResultReceived,
    VersionMismatch,
    progress_token_of,
)
from .features import SchemaValidator
from .lifecycle import HANDSHAKE, TRANSITIONS, ConnectionState, LifecycleEvent, refusal
from .limits import MAX_COLLIDING_IDS, MAX_DIGITS, Limits
from .methods import CLIENT, MethodTable, NotificationMethod, RequestMethod, Side
from .requests import ABANDONED, ANSWERED, IN_FLIGHT, WIDE, RequestInFlight, RequestStatus
from .revisions import LATEST_REVISION, REVISIONS, TooNew, adapted, newer
from .rules import Broken
from .state import ConversationState, Party
from .wire import decode_json, encode_json, structure, unstructure

__all__ = ["Batch", "Conversation", "Observed"]


@attrs.frozen
class Batch:
    """A message that was an array of messages: what each item of it tells.

    An item is looked at when it is asked for: what came of those before it has happened by then.
    """

    items: "Iterator[list[Observed]]"


#: What `Conversation.receive` tells of a message: events, requests that wait for an answer, and
#: batches of those.
Observed: TypeAlias = Event | RequestInFlight | Batch

_READY: Final = ConnectionState.READY
_CLOSED: Final = ConnectionState.CLOSED
_LATEST: Final = REVISIONS[LATEST_REVISION]
#: The rules for capabilities that have a row of their own in the specification.
_GATES: Final[Mapping[str, str]] = {"roots": "ROOT-17", "logging": "LOG-01"}
_CAPABILITY_RULES: Final = frozenset({"LIFE-15", "ELIC-10", "SAMP-06", "SAMP-09", *_GATES.values()})
_MAX_ERROR_MESSAGE: Final = 300
_STANDARD_MESSAGES: Final[Mapping[int, str]] = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
}


def standard_error(code: int, detail: str) -> t.Error:
    """An error of one short sentence: what the code means, and what was wrong (JRPC-14)."""
    message = f"{_STANDARD_MESSAGES[code]}: {detail}"
    if len(message) > _MAX_ERROR_MESSAGE:
        message = message[: _MAX_ERROR_MESSAGE - 3] + "..."
    return t.Error(code, message)


class Conversation:
    """The state of one conversation, and the rules that its messages must keep.

    Args:
        revisions: the revisions that are acceptable, newest first.
        methods: the methods that are known.
        limits: what the parties may make us keep.
        clock: the only source of time, in seconds.
        validate: checks structured content against a tool's `outputSchema`, if given.
    """

    def __init__(
        self,
        *,
        revisions: tuple[str, ...],
        methods: MethodTable,
        limits: Limits,
        clock: Callable[[], float],
        validate: SchemaValidator | None = None,
    ) -> None:
        self.revisions = revisions
        self.methods = methods
        self.limits = limits
        self.clock = clock
        self.validate = validate
        # The least integer with more digits than an id may have; longer ones are not even read.
        self._too_large = 10 ** min(limits.max_id_size, MAX_DIGITS)
        # Nothing speaks against integers below this one.
        self._plain = min(self._too_large, WIDE)
        self.state = ConversationState(limits)
        self.client = self.state.client
        self.server = self.state.server

    # ---- the rules that all messages share

    def _refusal(
        self, sender: Party, method: RequestMethod | NotificationMethod, gate: Party
    ) -> Broken | None:
        """Why `sender` may not send this method now; `gate` is who has to have declared it."""
        state = self.state
        broken = None
        if state.lifecycle is not _READY or method.method in HANDSHAKE:
            broken = refusal(state.lifecycle, sender.side, method.method)
        if broken is None and sender.side not in method.senders:
            detail = f"{method.method} is not for the {sender.side.value} to send"
            broken = Broken("GEN-02", detail, METHOD_NOT_FOUND)
        if broken is not None:
            return broken
        if state.revision is None:
            # Nothing is agreed on yet; but what one has not declared, one cannot use.
            capability = method.capability
            if capability is None or gate.capabilities is None or capability in gate.declared:
                return None
            detail = f"the {gate.side.value} has not declared the capability {capability}"
            return Broken(_GATES.get(capability, "LIFE-15"), detail, METHOD_NOT_FOUND)
        if method.since > state.revision.name:
            detail = f"{method.method} is not in revision {state.revision.name}"
            return Broken("LIFE-14", detail, METHOD_NOT_FOUND)
        capability = method.capability
        if capability is None or capability in gate.declared:
            return None
        if capability == "completions" and not state.revision.gates_completion:
            return None
        detail = f"the {gate.side.value} has not declared the capability {capability}"
        return Broken(_GATES.get(capability, "LIFE-15"), detail, METHOD_NOT_FOUND)

    def may_send(self, sender: Party, name: str) -> bool:
        """Whether `sender` may send a request or a notification of this method now."""
        request = self.methods.requests.get(name)
        if request is not None:
            return self._refusal(sender, request, sender.other) is None
        notification = self.methods.notifications.get(name)
        if notification is None:
            return False
        return self._refusal(sender, notification, self._gate(sender, notification)) is None

    def _move(self, event: LifecycleEvent) -> None:
        state = self.state
        state.lifecycle = TRANSITIONS.get((state.lifecycle, event), state.lifecycle)

    def _check_request(
        self, sender: Party, method: RequestMethod, params: Any, token: Any
    ) -> Iterable[Broken]:
        found = check(params)
        check_more = features.CHECK_REQUEST.get(method.method)
        if check_more is not None:
            found = [*found, *check_more(self.state, params)]
        if token is not None and sender.requests.with_token(token) is not None:
            in_use = Broken("PROG-02", f"the progress token {shortened(token)} is in use")
            found = [*found, in_use]
        return found

    def _request_sent(self, sender: Party, request: RequestInFlight) -> None:
        method = request.method.method
        if method == "initialize":
            self._move(LifecycleEvent.INITIALIZE_REQUEST)
            self.state.initialize_id = request.id
        effect = features.REQUEST_SENT.get(method)
        if effect is not None:
            effect(self.state, request.request.params)
        sender.requests.add(request)

    def _check_result(self, request: RequestInFlight, result: Any) -> Iterable[Broken]:
        found = check(result)
        check_more = features.CHECK_RESULT.get(request.method.method)
        if check_more is None or isinstance(result, t.CreateTaskResult):
            return found
        return [*found, *check_more(self.state, request.request.params, result, self.validate)]

    def _answered(self, asker: Party, request: RequestInFlight, result: Any) -> None:
        # PROG-09: the token of a request that has become a task lives on with the task.
        keep = isinstance(result, t.CreateTaskResult)
        asker.requests.finish(request, ANSWERED, keep_token=keep)

    def task_refusal(self, receiver: Party, method: RequestMethod, params: Any) -> Broken | None:
        """Why a request may not be augmented with a task; or may not be plain."""
        task = getattr(params, "task", None)
        if task is not None and (method.task is None or method.task not in receiver.declared):
            rule = "TASK-06" if method.method == "tools/call" else "TASK-04"
            side = receiver.side.value
            return Broken(rule, f"the {side} has not declared the capability {method.task}")
        if method.method != "tools/call" or method.task not in receiver.declared:
            return None
        known = self.state.tools.get(params.name)
        if known is not None and task is not None and known.task_support == "forbidden":
            detail = f"the tool {shortened(params.name)} cannot be called as a task"
            return Broken("TASK-07", detail, METHOD_NOT_FOUND)
        if known is not None and task is None and known.task_support == "required":
            detail = f"the tool {shortened(params.name)} has to be called as a task"
            return Broken("TASK-10", detail, METHOD_NOT_FOUND)
        return None

    # ---- what somebody means to send

    def send_request(
        self,
        sender: Party,
        request: Any,
        id: t.RequestId,
        *,
        progress: bool = False,
        timeout: float | None = None,
        max_timeout: float | None = None,
        related_task: str | None = None,
    ) -> bytes:
        """`sender` asks the other party; gives the text of the request.

        Raises:
            LocalProtocolError: it may not, or not like this.
        """
        method = self.methods.requests.get(getattr(request, "method", ""))
        if method is None or not isinstance(request, method.request):
            raise LocalProtocolError(
                f"{type(request).__name__} is no request that this connection knows; pass one of "
                "sansmcp.types, or register the method in `extensions`",
                rule="GEN-02",
            )
        broken = self._refusal(sender, method, sender.other)
        if broken is not None:
            raise _not_ours_to_send(broken)
        in_flight = len(sender.requests.view)
        if in_flight >= self.limits.max_requests_in_flight:
            detail = f"{in_flight:,} requests are in flight already"
            raise LocalProtocolError(detail, rule="LIMIT-01")
        asked = None
        if isinstance(request, t.InitializeRequest):
            asked = request.params.protocol_version
        message = self._unstructured(request, asked)
        if progress:
            params = message.setdefault("params", {})
            meta = params.get("_meta", {})
            if not isinstance(meta, dict):
                raise LocalProtocolError("_meta is no object", rule="GEN-03")
            params["_meta"] = {PROGRESS_TOKEN: id, **meta}
        params = request.params
        broken = self.task_refusal(sender.other, method, params)
        if broken is not None:
            raise _not_ours_to_send(broken)
        if related_task is not None:
            _relate(message, related_task)
        token = progress_token_of(message.get("params"))
        if token is not None:
            odd = _odd_token(token)
            if odd is not None:
                raise _not_ours_to_send(odd)
            if sender.requests.token_status(token) is ABANDONED:
                # What was said of the request that was given up would be taken for news of this.
                shown = shortened(token)
                detail = f"the progress token {shown} is that of a request that was given up"
                raise LocalProtocolError(detail, rule="PROG-02")
        for broken in self._check_request(sender, method, params, token):
            raise _not_ours_to_send(broken)
        task = getattr(params, "task", None)
        entry = RequestInFlight(id, method, request, token, timeout, task=task)
        if timeout is not None:
            now = self.clock()
            entry.deadline = now + timeout
            entry.latest = None if max_timeout is None else now + max_timeout
        # Whatever the request carries along, these are ours.
        message["jsonrpc"] = "2.0"
        message["id"] = id
        text = self._encoded(message)
        self._request_sent(sender, entry)
        return text

    def send_notification(
        self, sender: Party, notification: Any, *, related_task: str | None = None
    ) -> bytes | None:
        """`sender` tells the other party; gives the text, or None if the other does not want it.

        Raises:
            LocalProtocolError: it may not, or not like this.
        """
        method = self.methods.notifications.get(getattr(notification, "method", ""))
        if method is None or not isinstance(notification, method.notification):
            raise LocalProtocolError(
                f"{type(notification).__name__} is no notification that this connection knows; "
                "pass one of sansmcp.types, or register the method in `extensions`",
                rule="GEN-02",
            )
        broken = self._refusal(sender, method, self._gate(sender, method))
        if broken is not None:
            raise _not_ours_to_send(broken)
        value = self._unstructured(notification)
        if "id" in value:
            raise LocalProtocolError("a notification has no id", rule="JRPC-13")
        if related_task is not None:
            _relate(value, related_task)
        text = self._encoded({**value, "jsonrpc": "2.0"})
        params = notification.params
        for broken in check(params):
            raise _not_ours_to_send(broken)
        if features.filtered(self.state, method.method, params):
            return None
        observe = _NOTIFICATIONS.get(method.method)
        if observe is not None:
            outcomes = observe(self, sender, notification)
            if not outcomes:
                detail, rule = _TOO_LATE[method.method]
                raise LocalProtocolError(detail, rule=rule)
            for outcome in outcomes:
                if isinstance(outcome, Broken):
                    raise _not_ours_to_send(outcome)
        return text

    def send_result(self, sender: Party, id: t.RequestId, result: Any) -> bytes:
        """`sender` answers a request of the other party; gives the text of the response.

        Raises:
            LocalProtocolError: there is no such request to answer, or this is no answer to it.
        """
        request = self.to_answer(sender, id)
        # TASK-38: what was accepted as a task is answered with the task.
        expected = request.method.result if request.task is None else t.CreateTaskResult
        if not isinstance(result, expected):
            raise LocalProtocolError(
                f"the result of {request.method.method} is a {expected.__name__}, "
                f"not a {type(result).__name__}",
                rule="JRPC-08",
            )
        chosen = result.protocol_version if isinstance(result, t.InitializeResult) else None
        value = self._unstructured(result, chosen)
        for broken in self._check_result(request, result):
            raise _not_ours_to_send(broken)
        related = _related_task_of(request.request.params)
        if request.method.method.startswith("tasks/"):
            # among these it is `tasks/result` alone whose answer says so, and says so itself.
            related = None
        if related is None and isinstance(result, t.CreateTaskResult):
            related = result.task.task_id
        if related is not None:
            # TASK-44, X-05: an answer belongs to the task that its request belongs to.
            value["_meta"] = {**value.get("_meta", {}), RELATED_TASK: {"taskId": related}}
        text = self._encoded({"jsonrpc": "2.0", "id": id, "result": value})
        self._answered(sender.other, request, result)
        self._result_answered(sender, request, result)
        return text

    def send_error(self, sender: Party, id: t.RequestId, error: t.Error) -> bytes:
        """`sender` answers a request of the other party with an error; gives the text.

        Raises:
            LocalProtocolError: there is no such request to answer, or this is no legal error.
        """
        request = self.to_answer(sender, id)
        value = self._unstructured(error)
        for broken in features.check_error(self.state, error):
            raise _not_ours_to_send(broken)
        text = self._encoded({"jsonrpc": "2.0", "id": id, "error": value})
        self._answered(sender.other, request, None)
        self._error_answered(request, error)
        return text

    def to_answer(self, sender: Party, id: t.RequestId) -> RequestInFlight:
        """The request of the other party that `sender` may answer.

        Raises:
            LocalProtocolError: there is none of this id, or it was answered or cancelled.
        """
        if self.state.lifecycle is _CLOSED:
            raise LocalProtocolError("the connection is closed", rule="LIFE-23")
        requests = sender.other.requests
        request = requests.view.get(id)
        if request is not None:
            return request
        status = requests.status(id)
        shown = shortened(id)
        if status is ANSWERED:
            raise LocalProtocolError(f"request {shown} was answered already", rule="JRPC-06")
        if status is ABANDONED:
            raise LocalProtocolError(
                f"request {shown} was cancelled by its sender, who wants no answer", rule="CANC-08"
            )
        raise LocalProtocolError(f"there is no request {shown} to answer", rule="JRPC-06")

    def _unstructured(self, message: Any, revision: str | None = None) -> t.JSONObject:
        """The JSON of a message, as the revision has it: the negotiated one, if none is named."""
        agreed = self.state.revision
        try:
            if revision is None and agreed is not None and agreed is not _LATEST:
                revision = agreed.name
            if revision is not None and revision < LATEST_REVISION:
                message = adapted(message, revision)
            value: t.JSONObject = unstructure(message)
        except TooNew as error:
            raise LocalProtocolError(str(error), rule="LIFE-14") from None
        except StructureError as error:
            raise LocalProtocolError(f"{type(message).__name__}: {error}", rule="GEN-03") from None
        return value

    def _encoded(self, message: t.JSONObject) -> bytes:
        try:
            return encode_json(message)
        except StructureError as error:
            raise LocalProtocolError(str(error), rule="GEN-03") from None

    @staticmethod
    def _gate(sender: Party, method: NotificationMethod) -> Party:
        return sender.other if method.capability_of_receiver else sender

    # ---- what somebody has sent

    def receive(self, sender: Party, text: bytes | bytearray | memoryview | str) -> list[Observed]:
        """`sender` has sent this text: what happened by it, in order."""
        if self.state.lifecycle is _CLOSED:
            return []
        self.state.message_size = len(text)
        try:
            message = decode_json(text)
        except DecodeError as error:
            rule = "JRPC-02" if isinstance(text, str) or _is_utf8(text) else "JRPC-01"
            broken = Broken(rule, str(error), PARSE_ERROR)
            kept = text if isinstance(text, str) else bytes(text)
            return [self._unreadable(sender, broken, kept)]
        return self.receive_json(sender, message)

    def receive_json(self, sender: Party, message: t.JSONValue) -> list[Observed]:
        """`sender` has sent this JSON value: what happened by it, in order."""
        if self.state.lifecycle is _CLOSED:
            return []
        if type(message) is not dict:
            if isinstance(message, list):
                revision = self.state.revision
                if len(message) > self.limits.max_batch_size:
                    detail = f"a batch of {len(message):,} messages"
                    broken = Broken("LIMIT-01", detail, INVALID_REQUEST)
                    return [self._unreadable(sender, broken, None)]
                if message and revision is not None and revision.batches:
                    return [Batch(self._in_batch(sender, item) for item in message)]
                broken = Broken("JRPC-15", "an array is no message", INVALID_REQUEST)
            else:
                broken = Broken("JRPC-02", "a message is a JSON object", INVALID_REQUEST)
            return [self._unreadable(sender, broken, message)]
        if "method" in message:
            if "id" in message:
                return self._request(sender, message)
            return self._notification(sender, message)
        if "result" in message or "error" in message or "id" in message:
            return self._response(sender, message)
        broken = Broken("JRPC-02", "neither a request nor a response", INVALID_REQUEST)
        return [self._unreadable(sender, broken, message)]

    def _in_batch(self, sender: Party, message: t.JSONValue) -> list[Observed]:
        """One item of a batch. It holds no batch, and does not begin a conversation."""
        if isinstance(message, list):
            broken = Broken("JRPC-15", "a batch in a batch", INVALID_REQUEST)
            return [self._unreadable(sender, broken, message)]
        self.state.message_size = len(encode_json(message))
        return self.receive_json(sender, message)

    def _newer(self, part: Any, message: t.JSONValue) -> list[Observed]:
        """A report of what the negotiated revision does not have, if there is such a thing."""
        revision = self.state.revision
        found = None if revision is None else newer(part, revision.name)
        if revision is None or found is None:
            return []
        detail = f"{found} is not in revision {revision.name}"
        return [ProtocolViolation("LIFE-14", detail, message)]

    def _violation(
        self, broken: Broken, message: t.JSONValue, id: t.RequestId | None = None
    ) -> ProtocolViolation:
        """A broken rule in a request that is answered with an error, if the rule says so."""
        if broken.code is None:
            return ProtocolViolation(broken.rule, broken.detail, message)
        error = standard_error(broken.code, broken.detail)
        reply = t.JSONRPCErrorResponse(error, id=id)
        return ProtocolViolation(broken.rule, broken.detail, message, reply)

    def _unreadable(self, sender: Party, broken: Broken, message: t.JSONValue) -> ProtocolViolation:
        """Something that is no message at all.

        A client may be waiting for the answer to what it meant to send. A server's stray output is
        nothing that asks for an answer (H01).
        """
        if sender.side is CLIENT:
            return self._violation(broken, message)
        return ProtocolViolation(broken.rule, broken.detail, message)

    # -- requests

    def _request(self, sender: Party, message: t.JSONObject) -> list[Observed]:
        id = message["id"]
        # A small integer, as most ids are, needs no closer look.
        if id.__class__ is not int or not -self._plain < id < self._plain:
            broken = self._bad_id(sender, id)
            if broken is not None:
                return [self._violation(broken, message)]
        name = message["method"]
        method = self.methods.requests.get(name) if isinstance(name, str) else None
        status = sender.requests.status(id)
        broken = self._request_refusal(sender, message, id, status, name, method)
        if broken is not None:
            return [self._violation(broken, message, id)]
        assert method is not None
        try:
            request = _structured(message, method.request, method.params, method.params_required)
        except StructureError as error:
            return [self._violation(Broken("GEN-03", str(error)), message, id)]
        token = progress_token_of(request.params)
        events: list[Observed] = []
        if self.state.revision is not _LATEST:
            events += self._newer(request.params, message)
        if status is not None:
            detail = f"the id {shortened(id)} was used before"
            events.append(ProtocolViolation("JRPC-05", detail, message))
        if (
            token is not None
            and (broken := _odd_token(token) or self._bad_token(sender, token)) is not None
        ):
            return [self._violation(broken, message, id)]
        for broken in self._check_request(sender, method, request.params, token):
            if broken.code is not None:
                return [self._violation(broken, message, id)]
            events.append(self._violation(broken, message))
        entry = RequestInFlight(id, method, request, token, size=self.state.message_size)
        if method.task is not None and method.task in sender.other.declared:
            # TASK-20: who has not declared it pays no heed to the member `task`.
            entry.task = request.params.task
        self._request_sent(sender, entry)
        events.append(entry)
        return events

    def _request_refusal(
        self,
        sender: Party,
        message: t.JSONObject,
        id: t.RequestId,
        status: RequestStatus | None,
        name: t.JSONValue,
        method: RequestMethod | None,
    ) -> Broken | None:
        """Why a request is refused before its params are looked at."""
        if message.get("jsonrpc") != "2.0":
            return Broken("JRPC-02", 'the member jsonrpc is not "2.0"', INVALID_REQUEST)
        if status is IN_FLIGHT:
            detail = f"the id {shortened(id)} belongs to a request in flight"
            return Broken("JRPC-05", detail, INVALID_REQUEST)
        if not isinstance(name, str):
            return Broken("JRPC-02", "the member method is not a string", INVALID_REQUEST)
        if method is None:
            broken = None
            if self.state.lifecycle is not _READY:
                broken = refusal(self.state.lifecycle, sender.side, shortened(name))
            return broken or Broken("GEN-02", shortened(name), METHOD_NOT_FOUND)
        # A ping is answered at once, so there is always room for one.
        in_flight = len(sender.requests.view)
        if in_flight >= self.limits.max_requests_in_flight + (name == "ping"):
            detail = f"{in_flight:,} requests are in flight already"
            return Broken("LIMIT-01", detail, INTERNAL_ERROR)
        if sender.requests.size >= self.limits.max_size_in_flight and name != "ping":
            detail = f"requests of {sender.requests.size:,} bytes are in flight already"
            return Broken("LIMIT-01", detail, INTERNAL_ERROR)
        return self._refusal(sender, method, sender.other)

    def _bad_id(self, sender: Party, id: t.JSONValue) -> Broken | None:
        if type(id) is str or type(id) is int:
            problem = self._too_much(sender, id)
            return (
                None if problem is None else Broken("LIMIT-01", f"an id {problem}", INVALID_REQUEST)
            )
        if id is None:
            return Broken("JRPC-04", "the id is null", INVALID_REQUEST)
        detail = f"the id {shortened(id)} is neither a string nor an integer"
        return Broken("JRPC-03", detail, INVALID_REQUEST)

    def _bad_token(self, sender: Party, token: t.ProgressToken) -> Broken | None:
        problem = self._too_much(sender, token)
        return None if problem is None else Broken("LIMIT-01", f"a progress token {problem}")

    def _too_much(self, sender: Party, id: t.RequestId) -> str | None:
        """Why an id or a token is not kept, if there is a reason."""
        if type(id) is int:
            if -self._plain < id < self._plain:
                return None
            too_long = abs(id) >= self._too_large
        else:
            too_long = len(id) > self.limits.max_id_size  # type: ignore[arg-type]
        if too_long:
            return f"of more than {self.limits.max_id_size:,} characters"
        if sender.requests.crowded(id):
            return f"whose hash is that of {MAX_COLLIDING_IDS} others"
        return None

    # -- notifications

    def _notification(self, sender: Party, message: t.JSONObject) -> list[Observed]:
        name = message["method"]
        if message.get("jsonrpc") != "2.0":
            return [ProtocolViolation("JRPC-02", 'the member jsonrpc is not "2.0"', message)]
        method = self.methods.notifications.get(name) if isinstance(name, str) else None
        if method is None:
            detail = f"unknown notification {shortened(name)}"
            return [ProtocolViolation("GEN-02", detail, message)]
        events: list[Observed] = []
        broken = self._refusal(sender, method, self._gate(sender, method))
        if broken is not None:
            events.append(ProtocolViolation(broken.rule, broken.detail, message))
            # Out of turn but harmless: it is told, and still delivered (H26). What would move the
            # handshake, or comes from the wrong side, is not.
            if name == "notifications/initialized" or sender.side not in method.senders:
                return events
        try:
            notification = _structured(
                message, method.notification, method.params, method.params_required
            )
        except StructureError as error:
            rule = "CANC-14" if name == "notifications/cancelled" else "GEN-03"
            return [*events, ProtocolViolation(rule, str(error), message)]
        if self.state.revision is not _LATEST:
            events += self._newer(notification.params, message)
        for broken in check(notification.params):
            events.append(ProtocolViolation(broken.rule, broken.detail, message))
        broken = features.unasked(self.state, method.method, notification.params)
        if broken is not None:
            events.append(ProtocolViolation(broken.rule, broken.detail, message))
        observe = _NOTIFICATIONS.get(method.method)
        if observe is None:
            events.append(NotificationReceived(notification))
            return events
        for outcome in observe(self, sender, notification):
            if isinstance(outcome, Broken):
                events.append(ProtocolViolation(outcome.rule, outcome.detail, message))
            else:
                events.append(outcome)
        return events

    # -- responses

    def _response(self, sender: Party, message: t.JSONObject) -> list[Observed]:
        asker = sender.other
        id = message.get("id")
        valid_id = type(id) is str or type(id) is int
        request = asker.requests.view.get(id) if valid_id else None  # type: ignore[arg-type]
        if request is None and valid_id and asker.requests.late_answer(id):  # type: ignore[arg-type]
            # CANC-10: the answer crossed the cancellation. Nobody did anything wrong.
            self.state.late_answers += 1
            return []
        outcome = self._opened(message, request)
        if request is not None:
            return self._answer(asker, request, outcome, message)
        if isinstance(outcome, Broken):
            return [ProtocolViolation(outcome.rule, outcome.detail, message)]
        if id is None and isinstance(outcome, t.Error):
            return [ErrorReceived(None, None, outcome)]
        if not valid_id:
            detail = f"a response with the id {shortened(id)}"
            return [ProtocolViolation("JRPC-06", detail, message)]
        if asker.requests.status(id) is ANSWERED:  # type: ignore[arg-type]
            detail = f"a second response to request {shortened(id)}"
        else:
            detail = f"a response to {shortened(id)}, which is no request in flight"
        return [ProtocolViolation("JRPC-06", detail, message)]

    def _opened(
        self, message: t.JSONObject, request: RequestInFlight | None
    ) -> t.Result | t.Error | Broken:
        """The result or the error in a response, or the rule that it breaks."""
        if message.get("jsonrpc") != "2.0":
            return Broken("JRPC-02", 'the member jsonrpc is not "2.0"')
        if ("result" in message) == ("error" in message):
            both = "both" if "error" in message else "neither"
            return Broken("JRPC-07", f"a response with {both} of result and error")
        try:
            if "error" in message:
                return structure(message["error"], t.Error, at="error")
            expected: type[t.Result] = t.Result if request is None else request.method.result
            value = message["result"]
            augmented = request is not None and request.task is not None
            if augmented and isinstance(value, dict) and "task" in value:
                expected = t.CreateTaskResult
            return structure(message["result"], expected, at="result")
        except StructureError as error:
            return Broken("JRPC-10" if "error" in message else "GEN-03", str(error))

    def _answer(
        self,
        asker: Party,
        request: RequestInFlight,
        outcome: t.Result | t.Error | Broken,
        message: t.JSONObject,
    ) -> list[Observed]:
        events: list[Observed] = []
        if self.state.revision is not _LATEST:
            events += self._newer(outcome, message)
        refused = outcome if isinstance(outcome, Broken) else None
        if refused is None:
            for broken in (
                features.check_error(self.state, outcome)
                if isinstance(outcome, t.Error)
                else self._check_result(request, outcome)
            ):
                if broken.code is not None:
                    refused = broken
                    break
                events.append(ProtocolViolation(broken.rule, broken.detail, message))
        self._answered(asker, request, outcome)
        if refused is not None:
            # An answer that cannot be used is still the answer: the request ends here (H13, H36).
            violation = ProtocolViolation(refused.rule, refused.detail, message)
            error = standard_error(INTERNAL_ERROR, f"unusable answer: {refused.detail}")
            events += [
                violation,
                ErrorReceived(request.id, request.request, error, violation),
            ]
            outcome = error
            return events + self._error_answered(request, error, reported=True)
        if isinstance(outcome, t.Error):
            return events + self._error_answered(request, outcome)
        return events + self._result_answered(asker.other, request, outcome, message)

    def _result_answered(
        self,
        receiver: Party,
        request: RequestInFlight,
        result: Any,
        message: t.JSONValue = None,
    ) -> list[Observed]:
        method = request.method.method
        if method == "initialize":
            if result.protocol_version not in self.revisions:
                return self._disagree((result.protocol_version,))
            self._move(LifecycleEvent.INITIALIZE_RESULT)
        effect = features.RESULT_ANSWERED.get(method)
        if effect is not None:
            effect(self.state, request.request.params, result)
        events: list[Observed] = []
        tasks_in = features.TASKS_IN.get(result.__class__)
        for task in () if tasks_in is None else tasks_in(result):
            created = request if isinstance(result, t.CreateTaskResult) else None
            known = self.state.tasks.get((receiver.side, task.task_id))
            if created is not None and known is not None and known.request is not None:
                detail = f"the task {shortened(task.task_id)} is another request's"
                events.append(ProtocolViolation("TASK-24", detail, message))
            if not self.state.learn_task(receiver, task, created):
                detail = f"the task {shortened(task.task_id)} cannot become {task.status} any more"
                events.append(ProtocolViolation("TASK-27", detail, message))
        events.append(ResultReceived(request.id, request.request, result))
        return events

    def _error_answered(
        self, request: RequestInFlight, error: t.Error, *, reported: bool = False
    ) -> list[Observed]:
        features.error_answered(self.state, request, error)
        events: list[Observed] = []
        if not reported:
            events.append(ErrorReceived(request.id, request.request, error))
        if request.method.method == "initialize":
            # LIFE-24: some servers refuse an unknown revision instead of offering another.
            offered = error.data.get("supported") if isinstance(error.data, dict) else None
            if error.code == INVALID_PARAMS and isinstance(offered, list):
                names = tuple(name for name in offered if isinstance(name, str))
                if not set(names) & set(self.revisions):
                    return events + self._disagree(names)
            self._move(LifecycleEvent.INITIALIZE_ERROR)
        return events

    # ---- the end

    def _disagree(self, offered: tuple[str, ...]) -> list[Observed]:
        mismatch = VersionMismatch(self.revisions, offered)
        return [mismatch, *self.close(CLIENT, "the parties have no revision in common")]

    def close(self, us: Side, reason: str) -> list[Observed]:
        """The conversation is over; `us` is the side that the event is written for."""
        if self.state.lifecycle is _CLOSED:
            return []
        self._move(LifecycleEvent.CLOSE)
        ours = self.client if us is CLIENT else self.server
        unanswered = {id: entry.request for id, entry in ours.requests.view.items()}
        unserved = {id: entry.request for id, entry in ours.other.requests.view.items()}
        for party in (self.client, self.server):
            for entry in list(party.requests.view.values()):
                party.requests.finish(entry, ABANDONED)
        return [ConnectionClosed(unanswered, unserved, reason)]


# ---- notifications that mean something to the conversation itself
#
# Each function gives the events. Where a rule is broken it gives the one Broken instead, and where
# the message came too late to mean anything, nothing; in both cases it has changed nothing. Too late
# is no fault in what we receive, for messages cross, but it is a mistake in what we send.


def _initialized(c: Conversation, sender: Party, notification: Any) -> list[Broken | Event]:
    c._move(LifecycleEvent.INITIALIZED_NOTIFICATION)
    assert c.state.revision is not None and sender.info is not None
    return [Initialized(c.state.revision.name, sender.info, sender.capabilities)]


def _cancelled(c: Conversation, sender: Party, notification: Any) -> list[Broken | Event]:
    params: t.CancelledNotificationParams = notification.params
    id = params.request_id
    if id is None:
        return [Broken("CANC-05", "requestId is missing")]
    if sender.side is CLIENT and id == c.state.initialize_id:
        return [Broken("CANC-03", "initialize cannot be cancelled")]
    request = sender.requests.get(id)
    if request is None:
        if sender.requests.status(id) is None:
            return [Broken("CANC-01", f"{shortened(id)} is no request of the sender's")]
        # CANC-11: the cancellation crossed the answer. Nobody did anything wrong.
        return []
    if request.task is not None:
        return [Broken("CANC-04", "what became a task is stopped with tasks/cancel")]
    sender.requests.finish(request, ABANDONED)
    features.given_up(c.state, request)
    return [RequestCancelled(id, request.request, params.reason)]


def _progress(c: Conversation, sender: Party, notification: Any) -> list[Broken | Event]:
    params: t.ProgressNotificationParams = notification.params
    token = params.progress_token
    requests = sender.other.requests
    request = requests.with_token(token)
    if request is None:
        status = requests.token_status(token)
        if status is ABANDONED:
            # Sent before the cancellation arrived.
            return []
        if status is ANSWERED:
            return [Broken("PROG-14", f"progress for {shortened(token)} after the answer")]
        return [Broken("PROG-07", f"{shortened(token)} is no active progress token")]
    if request.progress is not None and params.progress <= request.progress:
        detail = f"progress went from {request.progress} to {params.progress}"
        return [Broken("PROG-04", detail)]
    request.progress = params.progress
    requests.restart_clock(request, c.clock())
    return [
        ProgressReceived(request.id, request.request, params.progress, params.total, params.message)
    ]


def _tools_changed(c: Conversation, sender: Party, notification: Any) -> list[Broken | Event]:
    c.state.forget_tools()
    return [NotificationReceived(notification)]


def _task_status(c: Conversation, sender: Party, notification: Any) -> list[Broken | Event]:
    params: t.TaskStatusNotificationParams = notification.params
    if not c.state.learn_task(sender, params):
        detail = f"the task {shortened(params.task_id)} cannot become {params.status} any more"
        return [Broken("TASK-27", detail)]
    return [NotificationReceived(notification)]


def _elicitation_complete(
    c: Conversation, sender: Party, notification: Any
) -> list[Broken | Event]:
    elicitation_id = notification.params.elicitation_id
    if elicitation_id not in c.state.elicitations:
        # ELIC-24 for the receiver; a sender is told by `Connection`.
        return []
    del c.state.elicitations[elicitation_id]
    return [NotificationReceived(notification)]


_NOTIFICATIONS: Final[Mapping[str, Callable[[Conversation, Party, Any], list[Broken | Event]]]] = {
    "notifications/initialized": _initialized,
    "notifications/cancelled": _cancelled,
    "notifications/progress": _progress,
    "notifications/elicitation/complete": _elicitation_complete,
    "notifications/tasks/status": _task_status,
    "notifications/tools/list_changed": _tools_changed,
}


_TOO_LATE: Final[Mapping[str, tuple[str, str]]] = {
    "notifications/cancelled": ("the request was answered, or given up, already", "CANC-02"),
    "notifications/progress": ("the request was cancelled by its sender", "CANC-08"),
    "notifications/elicitation/complete": (
        "no elicitation of this id is open with this client",
        "ELIC-23",
    ),
}


# ---- helpers


def _structured(message: t.JSONObject, cls: type[Any], params_type: Any, required: bool) -> Any:
    """The typed request or notification in an envelope whose other members are in order."""
    params = message.get("params")
    extra = {}
    # `jsonrpc` and `method` are there; whatever is neither an id nor params either is more.
    if len(message) > 2 + ("id" in message) + ("params" in message):
        extra = {key: value for key, value in message.items() if key not in _ENVELOPE}
    if params is None:
        if "params" in message:
            raise StructureError("params", "expected an object, got null")
        if not required:
            params_value = None
        else:
            # Names the first field that is missing.
            params_value = structure({}, params_type, at="params") if params_type else None
    elif params_type is None:
        if type(params) is not dict:
            raise StructureError("params", f"expected an object, got {shortened(params)}")
        params_value = params
    else:
        params_value = structure(params, params_type, at="params")
    if params_type is None:
        return cls(message["method"], params_value, extra=extra)
    if "id" in message:
        return cls(params_value, id=message["id"], extra=extra)
    return cls(params_value, extra=extra)


def _related_task_of(params: Any) -> str | None:
    """The task that a request says it belongs to."""
    meta = params.get("_meta") if isinstance(params, dict) else getattr(params, "meta", None)
    if not meta:
        return None
    related = meta.get(RELATED_TASK) if isinstance(meta, dict) else None
    task_id = related.get("taskId") if isinstance(related, dict) else None
    return task_id if isinstance(task_id, str) else None


def _relate(message: t.JSONObject, task_id: str) -> None:
    """Say in a message of ours which task it belongs to (TASK-29, TASK-44)."""
    params = message.setdefault("params", {})
    params["_meta"] = {**params.get("_meta", {}), RELATED_TASK: {"taskId": task_id}}


_ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "params"})


def _odd_token(token: Any) -> Broken | None:
    """The rule that a token breaks which is none; it may come from params of no schema."""
    if token is None or type(token) is str or type(token) is int:
        return None
    return Broken("PROG-01", f"the progress token {shortened(token)} is no string or integer")


def _is_utf8(text: bytes | bytearray | memoryview) -> bool:
    try:
        bytes(text).decode()
    except UnicodeDecodeError:
        return False
    return True


def _not_ours_to_send(broken: Broken) -> LocalProtocolError:
    kind = CapabilityError if broken.rule in _CAPABILITY_RULES else LocalProtocolError
    return kind(broken.detail, rule=broken.rule)
