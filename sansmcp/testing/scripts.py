"""Peers that follow a script: what they expect to be told, and what they say to it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, TypeAlias, get_args

import attrs

from sansmcp import (
    CLIENT,
    LATEST_REVISION,
    METHODS,
    SERVER,
    Implementation,
    LineFramer,
    OutgoingMessage,
    Oversized,
    Side,
    StructureError,
    Transcript,
    encode_json,
    frame,
    structure,
    unstructure,
)
from sansmcp import types as t
from sansmcp.transcript import spoken

__all__ = ["Asked", "Expectation", "ScriptError", "ScriptedClient", "ScriptedServer"]

#: A result, typed or as JSON, or a function that makes one of the request that it answers.
_Answer: TypeAlias = t.Result | t.JSONObject | Callable[[Any], t.Result | t.JSONObject]
_OTHER: Final = {CLIENT: SERVER, SERVER: CLIENT}
_NO_LIMIT: Final = 2**31


class ScriptError(AssertionError):
    """What was said is not in the script, or what is in it was not said."""


@attrs.define(eq=False)
class _Step:
    """A line of a script, or several of which any may come first."""

    def shown(self) -> list[str]:
        raise NotImplementedError


class Expectation(_Step):
    """A message that the script waits for, and what is said to it.

    The methods that say something return the expectation, so that they can be chained; what they
    say is said in their order, when the message has come.
    """

    def __init__(self, script: "_Script", kind: type[Any] | str, fields: dict[str, Any]) -> None:
        self._script = script
        self._kind = kind
        self._fields = fields
        self._does: list[tuple[str, Callable[[], None]]] = []
        self._problem: StructureError | None = None
        #: The id of what came, and what it was.
        self.id: t.RequestId | None = None
        self.received: Any = None

    # ---- what is said

    def reply(self, result: _Answer) -> "Expectation":
        """Answer the request with a result.

        Args:
            result: typed or as JSON, right or wrong; or a function that makes it of the request.
        """

        def act() -> None:
            answer = result(self.received) if callable(result) else result
            value = answer if isinstance(answer, dict) else unstructure(answer)
            self._answer({"result": value})

        return self._do("reply", result, act)

    def error(self, code: int, message: str, data: t.JSONValue = t.MISSING) -> "Expectation":
        """Answer the request with an error."""
        error = t.Error(code, message, data)
        return self._do("error", error, lambda: self._answer({"error": unstructure(error)}))

    def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> "Expectation":
        """Report progress with the request, which has to ask for it."""

        def act() -> None:
            meta = getattr(getattr(self.received, "params", None), "meta", None) or {}
            if "progressToken" not in meta:
                raise ScriptError(self._script._report("the request asks for no progress"))
            params = t.ProgressNotificationParams(meta["progressToken"], progress, total, message)
            self._script._say(unstructure(t.ProgressNotification(params)))

        return self._do("progress", progress, act)

    def notify(self, notification: Any) -> "Expectation":
        """Tell the other side something."""
        return self._do(
            "notify", notification, lambda: self._script._say(_message_of(notification, None))
        )

    def _answer(self, outcome: t.JSONObject) -> None:
        if self.received is None:
            raise ScriptError(self._script._report("there is nothing to answer"))
        self._script._say({"jsonrpc": "2.0", "id": self.id, **outcome})

    def _do(self, verb: str, what: Any, act: Callable[[], None]) -> "Expectation":
        shown = f"{what.__name__}(request)" if callable(what) else repr(what)
        self._does.append((f"{verb} {shown}", act))
        return self

    # ---- what is heard

    def _matches(self, message: Any) -> bool:
        """Whether this is the message; then `received` and `id` are set."""
        self._problem = None
        try:
            received = _opened(message, self._kind)
        except StructureError as error:
            self._problem = error
            return False
        if received is None:
            return False
        part = received if _is_answer(self._kind) else received.params
        for name, expected in self._fields.items():
            found = part.get(name) if isinstance(part, dict) else getattr(part, name, None)
            if not (expected(found) if callable(expected) else expected == found):
                return False
        self.received, self.id = received, message.get("id")
        return True

    def _come(self) -> None:
        for _, act in self._does:
            act()

    def shown(self) -> list[str]:
        """The lines of the script that it is, for people."""
        kind = self._kind if isinstance(self._kind, str) else self._kind.__name__
        fields = [f"{name}={value!r}" for name, value in self._fields.items()]
        return [" ".join(["expect", kind, *fields]), *(f"    {what}" for what, _ in self._does)]


class _AnswerTo(Expectation):
    """The answer to a request of the script's own."""

    def __init__(
        self, script: "_Script", request_id: t.RequestId, kind: type[Any], fields: dict[str, Any]
    ) -> None:
        super().__init__(script, kind, fields)
        self._request_id = request_id

    def _matches(self, message: Any) -> bool:
        return message.get("id") == self._request_id and super()._matches(message)

    def shown(self) -> list[str]:
        first, *more = super().shown()
        return [f"{first} as the answer to #{self._request_id}", *more]


class _Saying(_Step):
    """Something that is said when the script comes to it."""

    def __init__(self, what: str, act: Callable[[], None]) -> None:
        self._what = what
        self.act = act

    def shown(self) -> list[str]:
        return [self._what]


class _AnyOrder(_Step):
    """Steps that may come in any order; all of them have to."""

    def __init__(self) -> None:
        self.left: list[Expectation] = []

    def shown(self) -> list[str]:
        lines = [line for step in self.left for line in step.shown()]
        return ["in any order", *(f"    {line}" for line in lines)]


class _Script:
    """What both scripted peers have in common. Not made by itself.

    The lines of the script are added by `expect`, `send` and their kin, before the conversation or
    while it runs. It goes on as far as it can by itself, and then waits for what it expects next.

    It speaks JSON-RPC and keeps no rule: whatever it is told to say it says.
    """

    _side: Side

    def __init__(self, info: Implementation, handshake: bool) -> None:
        self._info = info
        #: What was said, by both.
        self.transcript = Transcript()
        self._steps: list[_Step] = []
        self._at = 0
        self._standing: list[Expectation] = []
        self._group: _AnyOrder | None = None
        self._queue: list[bytes] = []
        self._ids = count(1)
        self._asked: set[t.RequestId | None] = set()
        self._framer = LineFramer(_NO_LIMIT)
        self.whenever(t.PingRequest).reply(t.Result())
        if handshake:
            self._shake_hands()

    def _shake_hands(self) -> None:
        raise NotImplementedError

    # ---- the script

    def expect(self, kind: type[Any] | str, **fields: Any) -> Expectation:
        """Wait for a message.

        Args:
            kind: its type: a request or a notification of `sansmcp.types`, or the name of a method.
                With a name, the params are those of the method's type, or a dict if it has none.
            fields: what has to be in its params, by the name of the field: a value that has to be
                equal, or a function that says whether it is right.
        """
        _check(kind, fields)
        return self._add(Expectation(self, kind, fields))

    def whenever(self, kind: type[Any] | str, **fields: Any) -> Expectation:
        """Take a message at any time, and any number of times; none at all is fine too.

        What the script expects comes first. Pings are answered like this from the beginning.

        Args:
            kind: as for `expect`.
            fields: as for `expect`.
        """
        _check(kind, fields)
        standing = Expectation(self, kind, fields)
        self._standing.insert(0, standing)
        return standing

    @contextmanager
    def any_order(self) -> Iterator[None]:
        """What is expected in the body of the `with` statement may come in any order."""
        self._group = _AnyOrder()
        self._steps.append(self._group)
        try:
            yield
        finally:
            self._group = None

    def send(self, message: Any) -> None:
        """Say something unasked.

        Args:
            message: a notification of `sansmcp.types`; or a JSON value, a text or bytes, right or
                wrong, which are sent as they are.
        """
        self._say_step(f"send {message!r}", lambda: self._say(_message_of(message, None)))

    def request(self, request: Any) -> "Asked":
        """Ask something. Unless an answer is expected, whatever comes is taken.

        Args:
            request: a request of `sansmcp.types`, or a `Request` for a method of your own.

        Returns:
            That which says what the answer is to be: `.expect(CallToolResult, is_error=True)`.
        """
        id = next(self._ids)

        self._say_step(f"request #{id} {request!r}", lambda: self._say(_message_of(request, id)))
        return Asked(self, id)

    def reply(self, expectation: Expectation, result: _Answer) -> None:
        """Answer a request that has come before, now.

        Args:
            expectation: what `expect` returned for it.
            result: as for `Expectation.reply`.
        """

        def act() -> None:
            later = Expectation(self, "", {})
            later.id, later.received = expectation.id, expectation.received
            later.reply(result)._come()

        first, *_ = expectation.shown()
        self._say_step(f"reply {result!r} to {first.removeprefix('expect ')}", act)

    def _say_step(self, what: str, act: Callable[[], None]) -> None:
        if self._group is not None:
            raise ValueError(
                "what is said has its place in the script: only what is expected can come in any order"
            )
        self._steps.append(_Saying(what, act))

    def _add(self, step: Expectation) -> Expectation:
        (self._steps if self._group is None else self._group.left).append(step)
        return step

    # ---- the conversation

    def receive_message(self, text: bytes | str) -> None:
        """The other side has said something.

        Raises:
            ScriptError: it is not what the script expects.
        """
        self._go_on()
        self.transcript.record(_OTHER[self._side], text)
        entry = self.transcript.entries[-1]
        message = entry.message if entry.raw is None else entry.raw
        for part in message if isinstance(message, list) and message else [message]:
            self._hear(part)
            self._go_on()

    def receive_data(self, data: bytes) -> None:
        """The same for bytes of a stream, in which a newline ends each message."""
        for line in self._framer.receive_data(data):
            assert not isinstance(line, Oversized)
            self.receive_message(line)

    def messages_to_send(self) -> list[OutgoingMessage]:
        """What the script says next, and has not said yet."""
        self._go_on()
        texts, self._queue = self._queue, []
        return [OutgoingMessage(text) for text in texts]

    def data_to_send(self) -> bytes:
        """The same, framed for a stream."""
        return b"".join(frame(message.text) for message in self.messages_to_send())

    def finish(self) -> None:
        """See that the script has come to its end.

        Raises:
            ScriptError: it has not.
        """
        self._go_on()
        if self._at < len(self._steps):
            raise ScriptError(self._report("the script is not at its end"))

    @property
    def finished(self) -> bool:
        """Whether nothing more is expected."""
        self._go_on()
        return self._at == len(self._steps)

    def _hear(self, message: Any) -> None:
        expected = self._steps[self._at] if self._at < len(self._steps) else None
        group: list[Expectation] = []
        if isinstance(expected, Expectation):
            group = [expected]
        elif isinstance(expected, _AnyOrder):
            group = expected.left
        if isinstance(message, dict):
            for step in (*group, *self._standing):
                if step._matches(message):
                    if step is expected:
                        self._at += 1
                    elif step in group:
                        group.remove(step)
                    step._come()
                    return
            if "method" not in message and _id_of(message) in self._taken(group):
                return
        what = f"{_OTHER[self._side].value} said what is not in the script"
        problems = [f"{step._problem}" for step in group if step._problem]
        raise ScriptError(self._report(what, [spoken(message), *problems]))

    def _taken(self, group: list[Expectation]) -> set[t.RequestId | None]:
        """The requests whose answers may be anything."""
        judged = {
            step._request_id for step in [*self._steps, *group] if isinstance(step, _AnswerTo)
        }
        return self._asked - judged - {None}

    def _go_on(self) -> None:
        """Say what is to be said, up to where something is expected."""
        while self._at < len(self._steps):
            step = self._steps[self._at]
            if isinstance(step, _Saying):
                self._at += 1
                step.act()
            elif isinstance(step, _AnyOrder) and not step.left and step is not self._group:
                self._at += 1
            else:
                return

    def _say(self, message: Any) -> None:
        if isinstance(message, (bytes, str)):
            text = message.encode() if isinstance(message, str) else message
        else:
            text = encode_json(message)
            if isinstance(message, dict) and "method" in message:
                # A request that was written by hand is answered as well.
                self._asked.add(_id_of(message))
        self._queue.append(text)
        self.transcript.record(self._side, text)

    def _report(self, what: str, details: Iterable[str] = ()) -> str:
        lines = [what, *(f"    {detail}" for detail in details), "the script:"]
        for number, step in enumerate(self._steps):
            mark = ">" if number == self._at else " "
            lines += [f"  {mark} {line}" for line in step.shown()]
        if self._at == len(self._steps):
            lines += ["  > (its end)"]
        lines += ["what was said:", *(f"    {line}" for line in str(self.transcript).split("\n"))]
        return "\n".join(lines)


class Asked:
    """A request of the script's, and what is to come of it."""

    def __init__(self, script: _Script, id: t.RequestId) -> None:
        self._script = script
        self._id = id

    def expect(self, kind: type[Any] = t.Result, **fields: Any) -> Expectation:
        """Wait for a result.

        Args:
            kind: the type of result.
            fields: what has to be in it; as for the script's `expect`.
        """
        _check(kind, fields)
        return self._script._add(_AnswerTo(self._script, self._id, kind, fields))

    def expect_error(self, code: int, **fields: Any) -> Expectation:
        """Wait for an error.

        Args:
            code: the code.
            fields: `message` or `data`, as for the script's `expect`.
        """
        return self._script._add(
            _AnswerTo(self._script, self._id, t.Error, {"code": code, **fields})
        )


class ScriptedServer(_Script):
    """A server that follows a script, for a client that is to be tested.

    Args:
        capabilities: what it declares in the handshake; nothing if left out.
        revision: the revision that it answers with; the one that it is asked for if left out.
        instructions: its advice for the model, or None.
        info: who it says it is.
        handshake: whether the script begins with the handshake. Otherwise it is yours to write.
    """

    _side = SERVER

    def __init__(
        self,
        *,
        capabilities: t.ServerCapabilities | None = None,
        revision: str | None = None,
        instructions: str | None = None,
        info: Implementation | None = None,
        handshake: bool = True,
    ) -> None:
        self._greeting = (capabilities or t.ServerCapabilities(), instructions)
        self._revision = revision
        super().__init__(info or Implementation("scripted-server", "1.0"), handshake)

    def _shake_hands(self) -> None:
        def greet(request: t.InitializeRequest) -> t.Result:
            capabilities, instructions = self._greeting
            revision = self._revision or request.params.protocol_version
            return t.InitializeResult(revision, capabilities, self._info, instructions)

        self.expect(t.InitializeRequest).reply(greet)
        self.expect(t.InitializedNotification)


class ScriptedClient(_Script):
    """A client that follows a script, for a server that is to be tested.

    Args:
        capabilities: what it declares in the handshake; nothing if left out.
        revision: the revision that it asks for.
        info: who it says it is.
        handshake: whether the script begins with the handshake. Otherwise it is yours to write.
    """

    _side = CLIENT

    def __init__(
        self,
        *,
        capabilities: t.ClientCapabilities | None = None,
        revision: str = LATEST_REVISION,
        info: Implementation | None = None,
        handshake: bool = True,
    ) -> None:
        self._greeting = t.InitializeRequestParams(
            revision,
            capabilities or t.ClientCapabilities(),
            info or Implementation("scripted-client", "1.0"),
        )
        super().__init__(self._greeting.client_info, handshake)

    def _shake_hands(self) -> None:
        self.request(t.InitializeRequest(self._greeting)).expect(t.InitializeResult)
        self.send(t.InitializedNotification())


def _is_answer(kind: type[Any] | str) -> bool:
    return isinstance(kind, type) and issubclass(kind, (t.Result, t.Error))


def _id_of(message: t.JSONObject) -> t.RequestId | None:
    """The id of a message, if it has one that can be answered."""
    id = message.get("id")
    return id if type(id) is str or type(id) is int else None


def _check(kind: type[Any] | str, fields: dict[str, Any]) -> None:
    """See that there can be a message like this: a script that cannot be followed is a mistake."""
    if isinstance(kind, str):
        return
    params = kind
    if not _is_answer(kind):
        rows: Any = {**METHODS.requests, **METHODS.notifications}
        row = rows.get(getattr(kind, "method", None))
        if row is None:
            raise TypeError(f"{kind.__name__} is no request and no notification")
        params = row.params
    known = {field.name for cls in get_args(params) or (params,) for field in attrs.fields(cls)}
    if not fields.keys() <= known:
        raise TypeError(f"{kind.__name__} has no {sorted(fields.keys() - known)}")


def _opened(message: Any, kind: type[Any] | str) -> Any:
    """The typed message, if it is of this kind; else None.

    Raises:
        StructureError: it says that it is, and is malformed.
    """
    if isinstance(kind, type) and _is_answer(kind):
        member = "error" if kind is t.Error else "result"
        return structure(message[member], kind) if member in message else None
    method = kind if isinstance(kind, str) else kind.method
    if message.get("method") != method:
        return None
    table: Any = METHODS.requests if "id" in message else METHODS.notifications
    row = table.get(method)
    if row is None:
        return t.Request(method, message.get("params")) if isinstance(kind, str) else None
    return structure(message, row.request if "id" in message else row.notification)


def _message_of(what: Any, id: t.RequestId | None) -> Any:
    """A message as JSON, or as the text that it is."""
    if isinstance(what, (bytes, str, dict, list)) or what is None:
        return what
    message: t.JSONObject = {"jsonrpc": "2.0", **unstructure(what)}
    return message if id is None else {**message, "id": id}
