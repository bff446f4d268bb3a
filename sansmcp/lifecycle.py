"""Initialization: a state table, and what each side may send in which state.

This file does not know which side we are. The client's and the server's rules are rows of the same
tables, and both ends of a conversation walk through the same states: a message that one end has
sent moves its copy of the machine, the same message received moves the other end's.

Nothing but this module may assume that a handshake happened (the revisions after 2025-11-25 have
none): the rest of the library asks `refusal`.

The source is the page basic/lifecycle, sections Initialization and Version Negotiation.
"""

import enum
from collections.abc import Sequence
from typing import Final

from .errors import INVALID_REQUEST
from .methods import CLIENT, SERVER, Side
from .rules import Broken

__all__ = [
    "HANDSHAKE",
    "PERMITTED",
    "TRANSITIONS",
    "ConnectionState",
    "LifecycleEvent",
    "choose_revision",
    "refusal",
]


class ConnectionState(enum.Enum):
    """How far a conversation has come."""

    #: Nothing was said yet, or nothing but pings.
    IDLE = "idle"
    #: `initialize` was sent and is not answered.
    INITIALIZING = "initializing"
    #: `initialize` was answered; `notifications/initialized` has not been seen.
    INITIALIZED = "initialized"
    #: The handshake is over: everything that was negotiated may be sent.
    READY = "ready"
    #: The stream has ended, or the two could not agree on a revision. Nothing is sent any more.
    CLOSED = "closed"

    def __repr__(self) -> str:
        return self.name


class LifecycleEvent(enum.Enum):
    """What moves the machine."""

    INITIALIZE_REQUEST = "initialize request"
    INITIALIZE_RESULT = "initialize result"
    INITIALIZE_ERROR = "initialize error"
    INITIALIZED_NOTIFICATION = "initialized notification"
    CLOSE = "end of file, or no common revision"

    def __repr__(self) -> str:
        return self.name


_S, _E = ConnectionState, LifecycleEvent

#: (state, event) -> the next state. What is not here does not happen: `refusal` sees to it.
TRANSITIONS: Final[dict[tuple[ConnectionState, LifecycleEvent], ConnectionState]] = {
    (_S.IDLE, _E.INITIALIZE_REQUEST): _S.INITIALIZING,
    (_S.INITIALIZING, _E.INITIALIZE_RESULT): _S.INITIALIZED,
    (_S.INITIALIZING, _E.INITIALIZE_ERROR): _S.IDLE,
    (_S.INITIALIZED, _E.INITIALIZED_NOTIFICATION): _S.READY,
    (_S.IDLE, _E.CLOSE): _S.CLOSED,
    (_S.INITIALIZING, _E.CLOSE): _S.CLOSED,
    (_S.INITIALIZED, _E.CLOSE): _S.CLOSED,
    (_S.READY, _E.CLOSE): _S.CLOSED,
}

_PING: Final = frozenset({"ping"})
_SERVER_EARLY: Final = frozenset({"ping", "notifications/message"})

#: (state, side) -> the methods of requests and notifications that the side may send. In READY it
#: may send all but `initialize` and `notifications/initialized`. Answers are never restricted.
PERMITTED: Final[dict[tuple[ConnectionState, Side], frozenset[str]]] = {
    (_S.IDLE, CLIENT): _PING | {"initialize"},
    (_S.IDLE, SERVER): _SERVER_EARLY,
    (_S.INITIALIZING, CLIENT): _PING,
    (_S.INITIALIZING, SERVER): _SERVER_EARLY,
    (_S.INITIALIZED, CLIENT): _PING | {"notifications/initialized"},
    (_S.INITIALIZED, SERVER): _SERVER_EARLY,
}

#: The methods that move the handshake; each is sent once.
HANDSHAKE: Final = frozenset({"initialize", "notifications/initialized"})


def refusal(state: ConnectionState, side: Side, method: str) -> Broken | None:
    """The rule that `side` breaks if it sends `method` in `state`, or None if it may."""
    if state is _S.READY:
        if method not in HANDSHAKE:
            return None
        return Broken("LIFE-01", f"{method} was sent already", INVALID_REQUEST)
    if state is _S.CLOSED:
        return Broken("LIFE-23", "the connection is closed", INVALID_REQUEST)
    if method in PERMITTED[state, side]:
        return None
    if method in HANDSHAKE:
        detail = f"{method} is not due in state {state.name}"
        return Broken("LIFE-04" if method != "initialize" else "LIFE-01", detail, INVALID_REQUEST)
    if side is SERVER:
        detail = f"{method} before notifications/initialized"
        return Broken("LIFE-06", detail, INVALID_REQUEST)
    if state is _S.IDLE:
        return Broken("LIFE-01", f"{method} before initialize", INVALID_REQUEST)
    if state is _S.INITIALIZING:
        return Broken("LIFE-05", f"{method} before initialize was answered", INVALID_REQUEST)
    return Broken("LIFE-04", f"{method} before notifications/initialized", INVALID_REQUEST)


def choose_revision(requested: str, supported: Sequence[str]) -> str:
    """The revision that a server answers with: the one asked for, or else its newest.

    LIFE-10 to LIFE-12. `supported` is newest first.
    """
    return requested if requested in supported else supported[0]
