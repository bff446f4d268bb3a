"""Recording conversations, judging them, and playing one side of them again."""

from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

import attrs

from sansmcp import (
    CLIENT,
    SERVER,
    ClientConnection,
    Connection,
    LineFramer,
    Monitor,
    Oversized,
    Side,
    Transcript,
    TranscriptEntry,
    Violation,
)

from .pumping import Peer, text_of

__all__ = ["Difference", "Replay", "judge", "observer", "record", "replay"]


def record(connection: Connection, transcript: Transcript | None = None) -> Transcript:
    """Keep all that a connection sends and receives from now on.

    It is recorded as it is drained and fed; how the connection is used does not change. (Its four
    methods for input and output are wrapped, on this one object.)

    Args:
        connection: a client's or a server's.
        transcript: what to add to; a new one if left out.

    Returns:
        The transcript, which grows. Times are those of the connection's clock. A line beyond
        `Limits.max_message_size` is not kept, neither there nor here.
    """
    said = Transcript() if transcript is None else transcript
    us, them = (CLIENT, SERVER) if isinstance(connection, ClientConnection) else (SERVER, CLIENT)
    framer = LineFramer(connection.limits.max_message_size)
    receive_data, receive_message = connection.receive_data, connection.receive_message
    data_to_send, messages_to_send = connection.data_to_send, connection.messages_to_send
    receive_eof = connection.receive_eof

    def keep(side: Side, texts: Iterable[bytes | str | Oversized | None]) -> None:
        for text in texts:
            if text is not None and not isinstance(text, Oversized):
                said.record(side, text, connection.now())

    def recorded_data(data: bytes) -> Any:
        keep(them, framer.receive_data(data))
        return receive_data(data)

    def recorded_message(text: bytes | str) -> Any:
        keep(them, [text])
        return receive_message(text)

    def recorded_eof() -> Any:
        keep(them, [framer.receive_eof()])
        return receive_eof()

    def recorded_output() -> bytes:
        data = data_to_send()
        keep(us, data.splitlines())
        return data

    def recorded_messages() -> Any:
        messages = messages_to_send()
        keep(us, [message.text for message in messages])
        return messages

    # On the object: what holds the connection already uses them too.
    vars(connection).update(
        receive_data=recorded_data,
        receive_message=recorded_message,
        receive_eof=recorded_eof,
        data_to_send=recorded_output,
        messages_to_send=recorded_messages,
    )
    return said


def observer(transcript: Transcript, side: Side = CLIENT) -> Callable[[float, Any], None]:
    """What records a session of `sansmcp.trio`: pass it as its `observer`.

    Args:
        transcript: what to add to.
        side: whose session it is: CLIENT for `open_session` and the `connect_...` functions,
            SERVER for `Server.serve`.
    """
    from sansmcp.trio import MessageReceived, MessageSent

    peer = SERVER if side is CLIENT else CLIENT

    def observe(time: float, seen: Any) -> None:
        if isinstance(seen, MessageSent):
            transcript.record(side, seen.text, time)
        elif isinstance(seen, MessageReceived):
            transcript.record(peer, seen.text, time)

    return observe


def judge(transcript: Iterable[TranscriptEntry], monitor: Monitor | None = None) -> list[Violation]:
    """The rules of the specification that either side of a conversation breaks, in order.

    Args:
        transcript: what was said.
        monitor: what judges; a `Monitor` of its own if left out. Pass one with `from_start=True`
            where the conversation is known to be whole.
    """
    judging = monitor or Monitor()
    return [
        violation
        for entry in transcript
        for violation in judging.receive_message(entry.sender, entry.text, entry.time).violations
    ]


# ---- replay


@attrs.frozen
class Difference:
    """Where a replayed conversation is not as it was recorded.

    Attributes:
        index: the entry of the recording at which it shows.
        expected: what was recorded; None for a message that was not.
        actual: what was said; None where nothing was.
    """

    index: int
    expected: TranscriptEntry | None
    actual: TranscriptEntry | None

    def __str__(self) -> str:
        parts = [f"at message {self.index + 1} of the recording"]
        parts += [f"  - {self.expected}"] if self.expected is not None else []
        parts += [f"  + {self.actual}"] if self.actual is not None else []
        return "\n".join(parts)


@attrs.frozen
class Replay:
    """What came of playing one side of a conversation.

    Attributes:
        differences: in what the other side was not as recorded, in order; none if it was.
        events: what the connection was told.
        transcript: what was said this time.
    """

    differences: list[Difference]
    events: list[Any]
    transcript: Transcript

    def __str__(self) -> str:
        return "\n".join(map(str, self.differences)) or "as recorded"


def replay(
    recorded: Transcript,
    connection: Peer,
    side: Side | None = None,
    *,
    on_event: Callable[[Any], object] | None = None,
    ignore: Callable[[Any], bool] = lambda message: False,
) -> Replay:
    """Say to a connection what its peer has said, and see whether it says what was recorded.

    Messages are compared as JSON values. The ids that the connection gives to its own requests need
    not be those of the recording: the answers to them, their progress and their cancellations are
    renamed as needed. Where the recording has an answer, it may come at any time before the
    connection is next expected to say something that it has not said.

    Args:
        recorded: the conversation.
        connection: what is in the place of one side of it.
        side: which side that is; left out for a connection of ours, which knows.
        on_event: called with each event of the connection's, to have the application do its part.
        ignore: called with each message of the connection's side, recorded or said; what it is true
            for is not compared.
    """
    us = side or (CLIENT if isinstance(connection, ClientConnection) else SERVER)
    player = _Player(us, connection, on_event, ignore)
    for index, entry in enumerate(recorded):
        player.fetch()
        if entry.sender is us:
            player.expect(index, entry)
        else:
            player.say(entry)
    player.fetch()
    player.end(len(recorded))
    return Replay(player.differences, player.events, player.said)


class _Player:
    """Plays the side that is not `us`."""

    def __init__(
        self,
        us: Side,
        connection: Peer,
        on_event: Callable[[Any], object] | None,
        ignore: Callable[[Any], bool],
    ) -> None:
        self._us = us
        self._connection = connection
        self._on_event = on_event
        self._ignore = ignore
        self._waiting: list[TranscriptEntry] = []
        # Recorded id of a request of ours -> the id that it got here; the tokens are the same.
        self._ids: dict[Any, Any] = {}
        self.differences: list[Difference] = []
        self.events: list[Any] = []
        self.said = Transcript()

    def fetch(self) -> None:
        for message in self._connection.messages_to_send():
            self.said.record(self._us, text_of(message))
            entry = self.said.entries[-1]
            if not self._ignore(entry.message):
                self._waiting.append(entry)

    def say(self, entry: TranscriptEntry) -> None:
        if isinstance(entry.message, dict):
            entry = attrs.evolve(entry, message=self._renamed(entry.message))
        self.said.entries.append(entry)
        text = entry.text
        found = self._connection.receive_message(text.encode() if isinstance(text, str) else text)
        for event in found or ():
            self.events.append(event)
            if self._on_event is not None:
                self._on_event(event)

    def expect(self, index: int, entry: TranscriptEntry) -> None:
        if self._ignore(entry.message):
            return
        kin = next((one for one in self._waiting if self._same(entry, one)), None)
        kin = kin or next((one for one in self._waiting if self._akin(entry, one)), None)
        if kin is None:
            self.differences.append(Difference(index, entry, None))
            return
        self._waiting.remove(kin)
        if not self._same(entry, kin):
            self.differences.append(Difference(index, entry, kin))
        if _is_request(entry.message) and _is_request(kin.message):
            self._ids[_key(entry.message["id"])] = kin.message["id"]

    def end(self, index: int) -> None:
        self.differences += [Difference(index, None, entry) for entry in self._waiting]

    def _same(self, expected: TranscriptEntry, actual: TranscriptEntry) -> bool:
        one, other = expected.message, actual.message
        if _is_request(one) and _is_request(other):
            # The id is the connection's to choose, and the token with it.
            ids = {_key(one["id"]): other["id"]}
            return bool(_with_token({**one, "id": other["id"]}, ids) == other)
        if isinstance(one, dict) and one.get("method") == "notifications/cancelled":
            one = _with_id(one, "requestId", self._ids)
        return bool(one == other) and expected.raw == actual.raw

    def _akin(self, expected: TranscriptEntry, actual: TranscriptEntry) -> bool:
        """Whether one is meant to be the other: a message of the same method, an answer to the same."""
        one, other = expected.message, actual.message
        if not isinstance(one, dict) or not isinstance(other, dict):
            return False
        if "method" in one or "method" in other:
            return one.get("method") == other.get("method")
        return bool(_key(one.get("id")) == _key(other.get("id")))

    def _renamed(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the peer says about requests of ours, with the ids that they have this time."""
        if "method" not in message and _key(message.get("id")) in self._ids:
            return {**message, "id": self._ids[_key(message["id"])]}
        if message.get("method") == "notifications/progress":
            return _with_id(message, "progressToken", self._ids)
        return message


def _with_id(message: dict[str, Any], name: str, ids: dict[Any, Any]) -> dict[str, Any]:
    """The message with another id in its params, under this name."""
    params = message.get("params")
    if not isinstance(params, dict) or _key(params.get(name)) not in ids:
        return message
    return {**message, "params": {**params, name: ids[_key(params[name])]}}


def _with_token(message: dict[str, Any], ids: dict[Any, Any]) -> dict[str, Any]:
    """The message with another progress token, if it asks for progress."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict) or _key(meta.get("progressToken")) not in ids:
        return message
    token = {"progressToken": ids[_key(meta["progressToken"])]}
    return {**message, "params": {**message["params"], "_meta": {**meta, **token}}}


def _is_request(message: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(message, dict) and "method" in message and "id" in message


def _key(id: Any) -> Any:
    """An id as a key of a dict: `1`, `true` and `"1"` are three, and a list is none."""
    return (type(id), id) if isinstance(id, (str, int, float)) else (type(id), repr(id))
