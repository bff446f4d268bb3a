"""A `Conversation` seen from outside: who said what, and which rule it broke.

A `Monitor` is neither end. It is fed with what both sides say, as a proxy hears it or a transcript
has kept it, and judges both by the rules that a connection keeps itself and holds its peer to.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from . import types as t
from .checks import PROGRESS_TOKEN
from .conversation import Batch, Conversation, Observed
from .errors import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    DecodeError,
    StructureError,
    shortened,
)
from .events import ErrorReceived, Event, ProtocolViolation, RequestReceived, ResultReceived
from .features import SchemaValidator
from .framing import LineFramer, Oversized
from .lifecycle import PERMITTED, ConnectionState
from .limits import Limits
from .methods import CLIENT, SERVER, MethodTable, NotificationMethod, RequestMethod, Side
from .requests import RequestInFlight
from .revisions import REVISIONS
from .rules import RULES, Rule
from .state import KnownTask, Party
from .wire import decode_json, structure

__all__ = ["Monitor", "Observation", "Violation"]

#: Rules that are about something said before, which a monitor that came later has not heard.
_ABOUT_THE_PAST: Final = frozenset({"JRPC-06", "PROG-07", "CANC-01", "RES-05", "RES-06", "LIFE-01"})


@attrs.frozen
class Violation:
    """A rule that a message breaks.

    Attributes:
        number: the number of the message, counted from 1.
        side: who sent it, and broke the rule.
        rule: the rule: its id, level, text, and the address of the specification's page.
        detail: what is wrong with this message, in one sentence.
    """

    number: int
    side: Side
    rule: Rule
    detail: str

    @property
    def is_must(self) -> bool:
        """Whether what was broken is binding: a MUST, a MUST NOT, or a definition of the schema.

        A SHOULD is not, nor a MAY, nor a bound of the monitor's own (`LIMIT-01`).
        """
        return self.rule.level in ("MUST", "MUST NOT", "FACT") and self.rule.page != ""


@attrs.frozen
class Observation:
    """A message that was observed.

    Attributes:
        number: which message of the conversation it is, counted from 1.
        side: who sent it.
        time: when, in the seconds of whatever clock the caller has; None where that is not known.
        text: the message as it came; `b""` for one that was too long to be kept.
        message: the JSON value; `MISSING` where the text is no JSON.
        events: what the connection that receives it would tell its application, in order.
            Requests that a connection answers by itself, such as `ping`, are among them. The
            `revision` of a `RequestReceived` is empty where the handshake was not observed.
        violations: the rules that it breaks.
    """

    number: int
    side: Side
    time: float | None
    text: bytes | str
    message: t.JSONValue | t.Missing
    events: tuple[Event, ...]
    violations: tuple[Violation, ...]


@attrs.frozen
class _Due:
    """How a request has to be answered that should not have been sent.

    Attributes:
        code: the code of the error that is due; None if any answer will do.
        rule: the rule that says so.
    """

    code: int | None = None
    rule: str = ""


_ANY_ANSWER: Final = _Due()

#: The rule that a request breaks, and its method if that matters -> what is due in answer.
_DUE: Final[Mapping[tuple[str, str], _Due]] = {
    ("TASK-10", "tools/call"): _Due(METHOD_NOT_FOUND, "TASK-11"),
    ("TASK-07", "tools/call"): _Due(METHOD_NOT_FOUND, "TASK-08"),
    ("GEN-03", "logging/setLevel"): _Due(INVALID_PARAMS, "LOG-05"),
    ("ROOT-17", "roots/list"): _Due(METHOD_NOT_FOUND, "ROOT-04"),
    ("LIFE-15", "completion/complete"): _Due(METHOD_NOT_FOUND, "COMP-04"),
    ("ELIC-10", "elicitation/create"): _Due(INVALID_PARAMS, "ELIC-43"),
    ("SAMP-06", "sampling/createMessage"): _Due(INVALID_PARAMS, "SAMP-30"),
    ("SAMP-10", "sampling/createMessage"): _Due(INVALID_PARAMS, "SAMP-18"),
    ("SAMP-11", "sampling/createMessage"): _Due(INVALID_PARAMS, "SAMP-17"),
}


class Monitor:
    """Watches a conversation of others, from its beginning or from anywhere in its middle.

    Feed it with `receive_data`, or with `receive_message` where messages are kept apart, in the
    order in which they passed. It sends nothing, reads no clock, and raises for nothing that it is
    fed with. What it keeps is bounded by `limits`.

    Where the first thing that it sees cannot begin a conversation, it has come too late, and does
    not judge by what it has not seen: by capabilities that were declared before, by requests, tokens
    and subscriptions that were made before. A later `initialize` begins another conversation.

    Args:
        from_start: whether nothing was missed for certain; then a conversation that does not begin
            with `initialize` breaks a rule (LIFE-01).
        gaps: whether messages are missing anywhere, as in a log of one direction; then all through
            nothing is judged by what was not seen.
        limits: what is kept, and how large a message may be. What exceeds a limit is reported under
            the rule `LIMIT-01`, which is the monitor's own and nobody's fault.
        extensions: methods outside the specification that the two are known to use.
        validate: checks structured content against a tool's `outputSchema`, if given (TOOL-22).
    """

    def __init__(
        self,
        *,
        from_start: bool = False,
        gaps: bool = False,
        limits: Limits | None = None,
        extensions: Iterable[RequestMethod | NotificationMethod] = (),
        validate: SchemaValidator | None = None,
    ) -> None:
        if from_start and gaps:
            raise ValueError("either nothing was missed or messages are missing; not both")
        self._from_start = from_start
        self._gaps = gaps
        self._limits = limits or Limits()
        self._methods = MethodTable(extensions)
        self._validate = validate
        self._time = 0.0
        self._number = 0
        self._framers = {side: LineFramer(self._limits.max_message_size) for side in Side}
        self._heard: set[Side] = set()
        self._ended: set[Side] = set()
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of the conversation yet."""
        self._conversation = Conversation(
            revisions=tuple(sorted(REVISIONS, reverse=True)),
            methods=self._methods,
            limits=self._limits,
            clock=lambda: self._time,
            validate=self._validate,
        )
        self._joined = False
        # Rules that are not judged, since what they are about was not seen or is forgotten.
        self._unjudged: set[str] = set()
        # Who asked and the id -> how a request is to be answered that is not as it should be: one
        # entry for each request with that id, oldest first. And the progress tokens of those.
        self._due: OrderedDict[tuple[Side, t.RequestId], tuple[_Due, ...]] = OrderedDict()
        self._due_count = 0
        self._due_tokens: OrderedDict[tuple[Side, t.ProgressToken], None] = OrderedDict()
        # Whether all tools of the server are known.
        self._all_tools = False
        if self._gaps:
            self._join()

    # ---- state

    @property
    def joined(self) -> bool:
        """Whether the monitor has come in the middle of the conversation."""
        return self._joined

    @property
    def state(self) -> ConnectionState:
        """How far the conversation has come; CLOSED when both sides have ended."""
        if self._ended == set(Side):
            return ConnectionState.CLOSED
        return self._conversation.state.lifecycle

    @property
    def revision(self) -> str | None:
        """The negotiated revision, if its negotiation was seen."""
        revision = self._conversation.state.revision
        return None if revision is None else revision.name

    @property
    def instructions(self) -> str | None:
        """The server's advice for the model, or None."""
        return self._conversation.state.instructions

    @property
    def tasks(self) -> Mapping[tuple[Side, str], KnownTask]:
        """What was told of tasks, by the side that runs them and their id. A live view."""
        return self._conversation.state.tasks

    def info(self, side: Side) -> t.Implementation | None:
        """Who a side says it is; None if that was not seen."""
        return self._party(side).info

    def capabilities(self, side: Side) -> Any:
        """The `ClientCapabilities` or `ServerCapabilities` of a side; None if they were not seen."""
        return self._party(side).capabilities

    def in_flight(self, side: Side) -> Mapping[t.RequestId, RequestInFlight]:
        """The requests of a side that were seen and not answered yet, oldest first. A live view."""
        return self._party(side).requests.view

    def _party(self, side: Side) -> Party:
        return self._conversation.client if side is CLIENT else self._conversation.server

    # ---- input

    def receive_data(self, side: Side, data: bytes, time: float | None = None) -> list[Observation]:
        """`side` has sent bytes of a stream in which a newline ends each message.

        Args:
            side: who sent them.
            data: what passed, cut anywhere. `b""` means end of file, as with `socket.recv`.
            time: when, in seconds of any clock.

        Returns:
            The messages that ended in it, in order. Unless nothing was missed for certain, the
            first line of a side may be the rest of one, and is not judged if it is no JSON.
        """
        if not data:
            rest = self.receive_eof(side, time)
            return [] if rest is None else [rest]
        return [
            self._observe(side, line, time, whole=self._from_start or side in self._heard)
            for line in self._framers[side].receive_data(data)
        ]

    def receive_message(
        self, side: Side, text: bytes | str, time: float | None = None
    ) -> Observation:
        """`side` has sent a whole message; the arguments are those of `receive_data`."""
        size = len(text) if isinstance(text, bytes) else len(text.encode("utf-8", "surrogatepass"))
        too_long = size > self._limits.max_message_size
        return self._observe(side, Oversized(size) if too_long else text, time)

    def receive_eof(self, side: Side, time: float | None = None) -> Observation | None:
        """`side` sends nothing more. Gives what it left unfinished, which breaks STDIO-02."""
        self._ended.add(side)
        rest = self._framers[side].receive_eof()
        if rest is None:
            return None
        if isinstance(rest, Oversized):
            return self._observe(side, rest, time)
        detail = f"the stream ended in the middle of a message, after {len(rest):,} bytes"
        return self._observed(side, rest, time, t.MISSING, [_told("STDIO-02", detail, rest)])

    def _observe(
        self,
        side: Side,
        text: bytes | str | Oversized,
        time: float | None,
        *,
        whole: bool = True,
    ) -> Observation:
        self._heard.add(side)
        if time is not None:
            self._time = time
        if isinstance(text, Oversized):
            limit = self._limits.max_message_size
            detail = f"a message of {text.size:,} bytes; at most {limit:,} are looked at"
            return self._observed(side, b"", time, t.MISSING, [_told("LIMIT-01", detail, None)])
        party = self._party(side)
        try:
            message = decode_json(text)
        except DecodeError:
            observed = self._conversation.receive(party, text) if whole else []
            return self._observed(side, text, time, t.MISSING, self._flat(party, observed, None))
        self._enter(side, message)
        self._conversation.state.message_size = len(text)
        return self._observed(side, text, time, message, self._judge(self._party(side), message))

    def _observed(
        self,
        side: Side,
        text: bytes | str,
        time: float | None,
        message: t.JSONValue | t.Missing,
        events: list[Event],
    ) -> Observation:
        self._number += 1
        violations = tuple(
            Violation(self._number, side, RULES[event.rule], event.detail)
            for event in events
            if isinstance(event, ProtocolViolation)
        )
        return Observation(self._number, side, time, text, message, tuple(events), violations)

    # ---- coming in the middle

    def _enter(self, side: Side, message: t.JSONValue) -> None:
        """See by a message where in the conversation we are."""
        if self._from_start:
            return
        if isinstance(message, list):
            # No batch begins a conversation, or comes before it has begun.
            if message and self._conversation.state.lifecycle is ConnectionState.IDLE:
                self._join()
            return
        if not isinstance(message, dict):
            return
        method = message.get("method")
        if self._joined:
            if method == "initialize" and side is CLIENT and not self._gaps:
                self._begin()
            elif "result" in message:
                self._learn(side, message)
            return
        state = self._conversation.state
        if state.lifecycle is not ConnectionState.IDLE:
            return
        if "method" in message:
            early = isinstance(method, str) and method in PERMITTED[ConnectionState.IDLE, side]
        else:
            # An answer to nothing, as to what could not be parsed, or to something that was seen.
            id = message.get("id")
            early = (
                not isinstance(id, (str, int))
                or (self._party(side).other.side, id) in self._due
                or self._party(side).other.requests.status(id) is not None
            )
        if early:
            return
        self._join()
        if "result" in message:
            self._learn(side, message)

    def _join(self) -> None:
        """The handshake is over; what was agreed on is not known."""
        self._joined = True
        self._unjudged |= _ABOUT_THE_PAST
        state = self._conversation.state
        state.lifecycle = ConnectionState.READY
        state.client.assume()
        state.server.assume()

    def _learn(self, side: Side, message: t.JSONObject) -> None:
        """Take what the answer to an `initialize` says that was sent before we came."""
        state = self._conversation.state
        if (
            side is not SERVER
            or state.server.info is not None
            or not _looks_like_a_greeting(message)
        ):
            return
        try:
            greeting = structure(message["result"], t.InitializeResult)
        except StructureError:
            return
        if greeting.protocol_version in REVISIONS:
            state.server.introduce(
                greeting.server_info, greeting.capabilities, greeting.protocol_version
            )
            state.instructions = greeting.instructions
            state.agree_on(greeting.protocol_version)

    # ---- judging

    def _judge(self, party: Party, message: t.JSONValue) -> list[Event]:
        if isinstance(message, list) and self._may_be_batch(message):
            return [event for item in message for event in self._judge_item(party, item)]
        due = self._due_answer(party, message)
        return self._flat(party, self._conversation.receive_json(party, message), due)

    def _may_be_batch(self, message: list[t.JSONValue]) -> bool:
        revision = self._conversation.state.revision
        # Where no revision is known, it may be the one that has batches.
        batches = self._joined if revision is None else revision.batches
        return batches and 0 < len(message) <= self._limits.max_batch_size

    def _judge_item(self, party: Party, item: t.JSONValue) -> list[Event]:
        if isinstance(item, list):
            return [_told("JRPC-15", "a batch in a batch", item)]
        return self._judge(party, item)

    def _flat(self, party: Party, observed: list[Observed], due: _Due | None) -> list[Event]:
        """The events in what a message told, less what may not be held against anybody."""
        events: list[Event] = []
        for item in observed:
            assert not isinstance(item, Batch)  # They are taken apart before.
            if isinstance(item, RequestInFlight):
                events += self._request(party, item)
            elif isinstance(item, ProtocolViolation):
                events += self._violation(party, item, due)
            else:
                self._remember_tools(item)
                events.append(item)
                events += self._answer(item, due)
        return events

    def _request(self, party: Party, request: RequestInFlight) -> list[Event]:
        method, params = request.method, request.request.params
        capabilities = party.capabilities
        if capabilities is None:
            client = party.side is CLIENT
            capabilities = t.ClientCapabilities() if client else t.ServerCapabilities()
        events: list[Event] = [
            RequestReceived(
                request.id, request.request, self.revision or "", capabilities, request.task
            )
        ]
        broken = self._conversation.task_refusal(party.other, method, params)
        if broken is not None:
            events.append(_told(broken.rule, broken.detail, request.request))
            self._is_due(party.side, request.id, _DUE.get((broken.rule, method.method)))
        elif (
            method.method == "tools/call"
            and self._all_tools
            and params.name not in self._conversation.state.tools
        ):
            # Nobody's fault so far. It is to be refused, and with that all is well.
            self._is_due(party.side, request.id, _Due(INVALID_PARAMS, "TOOL-27"))
        return events

    def _violation(self, party: Party, event: ProtocolViolation, due: _Due | None) -> list[Event]:
        if event.rule == "JRPC-06" and due is not None:
            # The answer to a request that was refused here, and that the receiver has to answer.
            return self._judge_refusal(event.message, due)
        if event.rule in self._unjudged:
            return []
        if event.rule == "CANC-01" and self._concerns_refused(party, event.message):
            return []
        if event.rule == "PROG-07" and self._concerns_refused(party.other, event.message):
            return []
        if event.reply is not None and event.reply.id is not None:
            self._refused(party.side, event)
        return [event]

    def _answer(self, event: Event, due: _Due | None) -> list[Event]:
        """Judge the answer to a request that was taken, and yet should have been refused."""
        if due is None or due.code is None:
            return []
        if isinstance(event, ResultReceived):
            if due.rule == "TOOL-27" and not getattr(event.result, "is_error", False):
                return []  # There is such a tool, though it was not listed.
            detail = f"answered with a result, where error {due.code} is due"
            return [_told(due.rule, detail, event.result)]
        if isinstance(event, ErrorReceived) and event.error.code != due.code:
            detail = f"answered with error {event.error.code}, where {due.code} is due"
            return [_told(due.rule, detail, event.error)]
        return []

    def _judge_refusal(self, message: Any, due: _Due) -> list[Event]:
        """As `_answer`, for a request of which there is no record."""
        if due.code is None:
            return []
        error = message.get("error")
        if error is None:
            detail = f"answered with a result, where error {due.code} is due"
            return [_told(due.rule, detail, message)]
        code = error.get("code") if isinstance(error, dict) else None
        if code == due.code:
            return []
        detail = f"answered with error {shortened(code)}, where {due.code} is due"
        return [_told(due.rule, detail, message)]

    # -- requests that a connection would have refused

    def _refused(self, side: Side, event: ProtocolViolation) -> None:
        """The receiver has to answer a request that is not in order; it is not for us to say how."""
        message = event.message
        if not isinstance(message, dict) or event.reply is None or event.reply.id is None:
            return
        method = message.get("method")
        key = (event.rule, method) if isinstance(method, str) else ("", "")
        self._is_due(side, event.reply.id, _DUE.get(key))
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        token = meta.get(PROGRESS_TOKEN) if isinstance(meta, dict) else None
        crowd = self._party(side).requests.crowded
        if (type(token) is str or type(token) is int) and not crowd(token):
            self._due_tokens[side, token] = None
            if len(self._due_tokens) > self._limits.max_remembered_requests:
                self._due_tokens.popitem(last=False)
                self._unjudged.add("PROG-07")

    def _is_due(self, side: Side, id: t.RequestId, due: _Due | None) -> None:
        key = (side, id)
        self._due[key] = (*self._due.pop(key, ()), due or _ANY_ANSWER)
        self._due_count += 1
        if self._due_count > self._limits.max_remembered_requests:
            _, forgotten = self._due.popitem(last=False)
            self._due_count -= len(forgotten)
            self._unjudged |= {"JRPC-06", "CANC-01"}

    def _due_answer(self, party: Party, message: t.JSONValue) -> _Due | None:
        """What is due where this message answers a request that is not as it should be."""
        if not isinstance(message, dict) or "method" in message:
            return None
        id = message.get("id")
        if type(id) is not str and type(id) is not int:
            return None
        key = (party.other.side, id)
        due = self._due.get(key)
        if due is None:
            return None
        if due[0] is _ANY_ANSWER and party.other.requests.get(id) is not None:
            return None  # It answers the first of two requests with one id; the other's is to come.
        self._due_count -= 1
        if len(due) == 1:
            del self._due[key]
        else:
            self._due[key] = due[1:]
        return due[0]

    def _concerns_refused(self, asker: Party, message: t.JSONValue) -> bool:
        """Whether a cancellation or progress is about a request that was refused here."""
        params = message.get("params") if isinstance(message, dict) else None
        if not isinstance(params, dict):
            return False
        id, token = params.get("requestId"), params.get("progressToken")
        keys = [key for key in (id, token) if type(key) is str or type(key) is int]
        return any(
            (asker.side, key) in self._due or (asker.side, key) in self._due_tokens for key in keys
        )

    def _remember_tools(self, event: Event) -> None:
        """Keep track of whether the list of tools is complete."""
        if isinstance(event, ResultReceived) and isinstance(event.result, t.ListToolsResult):
            params = event.request.params
            first = params is None or params.cursor is None
            last = event.result.next_cursor is None
            known = self._conversation.state.tools
            # Only a list of one page is sure to be of one piece.
            self._all_tools = (
                first
                and last
                and not self._gaps
                and all(tool.name in known for tool in event.result.tools)
            )
        elif not self._conversation.state.tools:
            self._all_tools = False


def _told(rule: str, detail: str, message: Any) -> ProtocolViolation:
    return ProtocolViolation(rule, detail, message)


def _looks_like_a_greeting(message: t.JSONObject) -> bool:
    result = message.get("result")
    return isinstance(result, dict) and "protocolVersion" in result
