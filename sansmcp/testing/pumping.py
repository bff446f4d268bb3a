"""Two ends of a conversation, run against each other until both are quiet."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from sansmcp import CLIENT, SERVER, Event, OutgoingMessage, Side, Transcript, frame

__all__ = ["NeverQuiet", "Peer", "Pumped", "pump", "text_of"]


class Peer(Protocol):
    """One end of a conversation: every connection of ours, or whatever has these two methods.

    Where it has `receive_data` as well, it is fed with bytes, and those can be cut anywhere.
    """

    def receive_message(self, text: bytes, /) -> Iterable[Any] | None:
        """Take a message; give what happened, if that is of interest to anybody."""

    def messages_to_send(self) -> Iterable[OutgoingMessage | bytes | str]:
        """Give what there is to send, and have it no more."""


class Pumped(NamedTuple):
    """What came of pumping.

    Attributes:
        client: what the client was told, in order.
        server: what the server was told, in order.
        transcript: what was said, in the order in which it was sent.
    """

    client: list[Any]
    server: list[Any]
    transcript: Transcript


class NeverQuiet(AssertionError):
    """The two go on and on."""


_Handler: TypeAlias = Callable[[Any], object]


def pump(
    client: Peer,
    server: Peer,
    *,
    chunk_size: int | None = None,
    seed: int | None = None,
    schedule: Iterable[tuple[Side, int]] = (),
    on_client: _Handler | None = None,
    on_server: _Handler | None = None,
    transcript: Transcript | None = None,
    max_messages: int = 10_000,
) -> Pumped:
    """Carry messages from each to the other until neither has any more to send.

    All that a side has to send is carried over at once, and the sides take turns, unless something
    else is asked for. The same arguments do the same on every run.

    Args:
        client: one end.
        server: the other.
        chunk_size: bytes that are carried over at a time, at most.
        seed: cut the bytes at random, and choose at random who is heard next. The same seed makes
            the same choices.
        schedule: who is heard next, and how many bytes of what that side has sent are carried over;
            for Hypothesis to draw, say. When it is at its end, the rest follows.
        on_client: called with each event of the client's as it happens. It may have the client send
            something.
        on_server: the same for the server.
        transcript: where to record what is said; a new one if left out. Times are those of the
            sender's `now()`, if it has one.
        max_messages: how many messages are carried over at most.

    Raises:
        NeverQuiet: there are more.
        ValueError: the arguments contradict each other.
    """
    if (chunk_size is not None) + (seed is not None) + bool(schedule) > 1:
        raise ValueError("chunk_size, seed and schedule are three ways to say how bytes are cut")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"a chunk has at least 1 byte, not {chunk_size}")
    said = Transcript() if transcript is None else transcript
    limit = len(said) + max_messages
    ways = {
        CLIENT: _Way(CLIENT, client, server, on_server, said, limit),
        SERVER: _Way(SERVER, server, client, on_client, said, limit),
    }
    steps = _random(Random(seed), ways) if seed is not None else iter(schedule)
    for way in ways.values():
        way.fetch()
    for side, size in steps:
        ways[side].carry(size)
        for way in ways.values():
            way.fetch()
    quiet = 0
    while quiet < len(ways):
        for way in ways.values():
            way.fetch()
            quiet = 0 if way.carry(chunk_size) else quiet + 1
    return Pumped(ways[SERVER].events, ways[CLIENT].events, said)


class _Way:
    """From one side to the other."""

    def __init__(
        self,
        side: Side,
        sender: Peer,
        receiver: Peer,
        handler: _Handler | None,
        transcript: Transcript,
        limit: int,
    ) -> None:
        self._side = side
        self._sender = sender
        self._receiver = receiver
        self._receive_data = getattr(receiver, "receive_data", None)
        self._handler = handler
        self._transcript = transcript
        self._limit = limit
        self._bytes = bytearray()
        self._messages: deque[bytes] = deque()
        self.events: list[Event] = []

    def __bool__(self) -> bool:
        """Whether something is on the way."""
        return bool(self._bytes or self._messages)

    def fetch(self) -> None:
        """Take what the sender has to send."""
        now = getattr(self._sender, "now", None)
        for message in self._sender.messages_to_send():
            if len(self._transcript) >= self._limit:
                last = "\n".join(str(entry) for entry in self._transcript.entries[-6:])
                raise NeverQuiet(f"the two have no end of messages; the last of them:\n{last}")
            text = text_of(message)
            self._transcript.record(self._side, text, None if now is None else now())
            if self._receive_data is None:
                self._messages.append(text)
            else:
                self._bytes += frame(text)

    def carry(self, size: int | None) -> bool:
        """Let the receiver have so many bytes, or all; says whether there was anything."""
        if not self:
            return False
        if self._receive_data is None:
            count = len(self._messages) if size is None else 1
            for _ in range(count):
                self._take(self._receiver.receive_message(self._messages.popleft()))
        else:
            chunk = bytes(self._bytes[:size])
            del self._bytes[:size]
            # No bytes at all would be the end of the stream.
            if chunk:
                self._take(self._receive_data(chunk))
        return True

    def _take(self, events: Iterable[Any] | None) -> None:
        for event in events or ():
            self.events.append(event)
            if self._handler is not None:
                self._handler(event)


def _random(random: Random, ways: dict[Side, _Way]) -> Iterator[tuple[Side, int]]:
    """Chunks of all sizes, most of them small, for as long as there is anything on the way."""
    while busy := [side for side, way in ways.items() if way]:
        yield random.choice(busy), random.randint(1, 2 ** random.randint(0, _MAX_POWER))


_MAX_POWER: Final = 10


def text_of(message: OutgoingMessage | bytes | str) -> bytes:
    """The text of a message that is to be sent, in whatever form it came."""
    if isinstance(message, OutgoingMessage):
        return message.text
    return message.encode() if isinstance(message, str) else message
