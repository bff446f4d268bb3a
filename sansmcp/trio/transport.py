"""What a conversation is carried by, and what can be seen of it on the way."""

from collections.abc import Callable
from typing import TypeAlias

import attrs
import trio

from sansmcp import Event, OutgoingMessage

__all__ = ["MessageChannel", "MessageReceived", "MessageSent", "Observer", "Transport"]


class MessageChannel(trio.abc.SendChannel[OutgoingMessage], trio.abc.ReceiveChannel[bytes | str]):
    """A transport that keeps messages apart by itself, as a websocket does.

    `send` takes one message for the peer and `receive` gives the text of one of the peer's. As with
    Trio's own channels, `receive` raises `trio.EndOfChannel` once the peer has sent all that it
    ever will, and both raise `trio.BrokenResourceError` where the connection has broken; the text
    of that error is what the session gives as its reason.
    """


#: What carries a conversation: a stream of bytes, in which a newline ends each message, or a channel
#: of whole messages. Any `trio.abc.Stream` will do: a socket, TLS, a `trio.StapledStream` of two
#: pipes.
Transport: TypeAlias = trio.abc.Stream | MessageChannel


@attrs.frozen
class MessageReceived:
    """A message of the peer's, before anything was made of it; `text` is what came, JSON or not."""

    text: bytes | str


@attrs.frozen
class MessageSent:
    """A message of ours, on its way; `text` is JSON in UTF-8."""

    text: bytes


#: Is told of all that passes, in its order: the time by Trio's clock, in seconds, and a message or
#: what the connection made of it. What it raises ends the session.
Observer: TypeAlias = Callable[[float, MessageReceived | MessageSent | Event], None]
