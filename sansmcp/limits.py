"""Bounds on what a peer can make us keep, or read. Each has a default that suits real traffic.

Nothing past a bound ends a connection: what is too much is refused or skipped and reported as a
`ProtocolViolation` with the rule `LIMIT-01`, and everything else goes on. What is merely remembered
to judge later messages by is forgotten, the oldest first, without a report.

The bounds of the Trio adapters (bytes that are unsent, notifications that nobody takes, seconds that
a peer may stand still) are in `sansmcp.trio`; docs/reference/limits.md has all of them in one table.
"""

from typing import Final

import attrs
from attrs.validators import ge, optional

__all__ = [
    "MAX_COLLIDING_IDS",
    "MAX_DIGITS",
    "MAX_NESTING",
    "MAX_POLL_INTERVAL",
    "MIN_POLL_INTERVAL",
    "Limits",
    "TaskLimits",
]

#: Levels of objects and arrays that are read in any case. How many more are, depends on the
#: interpreter; a message with too many is no JSON to us (-32700). To count them in every message
#: would cost a fifth of what it takes to receive a large one.
MAX_NESTING: Final = 256
#: Digits of an integer; a text with a longer one is no JSON to us (-32700).
MAX_DIGITS: Final = 4300
#: Integers among the ids and tokens of one side that share a hash. The next request with one is
#: refused (-32600; -32602 for a token). Random integers never do; but they can be chosen so that
#: all of them do, and then a dictionary of them takes longer with each.
MAX_COLLIDING_IDS: Final = 16

#: Milliseconds between two looks at a task of the peer's at the least, whatever it suggests.
MIN_POLL_INTERVAL: Final = 20
#: And at the most.
MAX_POLL_INTERVAL: Final = 24 * 3600 * 1000

_HOUR: Final[int | None] = 3600 * 1000
_DAY: Final[int | None] = 24 * 3600 * 1000


@attrs.frozen(kw_only=True)
class Limits:
    """How much a connection takes, and what happens past it.

    Attributes:
        max_message_size: bytes of one message, without its newline. A longer one is skipped to its
            end without being kept.
        max_requests_in_flight: requests of one side that wait for an answer. The peer's next one is
            answered with -32603 (but a ping, which needs no place, with its result); our next one
            raises `LocalProtocolError`.
        max_size_in_flight: bytes of the peer's requests that wait for an answer, all together. Once
            there are as many, the next request is answered with -32603. As Python objects they may
            take more than twenty times as much.
        max_id_size: characters of a request id or a progress token (digits, if it is a number). A
            request with a longer id is answered with -32600, without the id; one with a longer
            token with -32602.
        max_remembered_requests: finished requests of each side whose ids are remembered, to tell
            late answers and late cancellations from wrong ones. Older ones are forgotten, and a
            message about them is reported as one about an unknown request.
        max_subscriptions: resources that one client is subscribed to. The next subscription is
            answered with -32603; our own raises `LocalProtocolError`.
        max_subscriptions_size: characters of the URIs of all subscriptions together; past it the
            same.
        max_uri_size: characters of the URI of a subscription; past it the same.
        max_batch_size: messages in one batch (2025-03-26). A larger one is refused as a whole, with
            -32600.
        max_elicitations: elicitations in URL mode that are remembered until they complete. The
            oldest is forgotten first; its completion is then ignored.
        max_known_tools: tools whose task support and output schema are remembered from `tools/list`.
            What is beyond it is not checked against them.
        max_known_tools_size: bytes of the messages from which they are remembered, all together;
            past it the same.
        max_known_tasks: tasks whose last status is remembered, so that none goes back. The oldest
            are forgotten first, and with one the token under which its progress is reported.
    """

    max_message_size: int = attrs.field(default=16 * 2**20, validator=ge(1))
    max_requests_in_flight: int = attrs.field(default=10_000, validator=ge(1))
    max_size_in_flight: int = attrs.field(default=64 * 2**20, validator=ge(1))
    max_id_size: int = attrs.field(default=1024, validator=ge(1))
    max_remembered_requests: int = attrs.field(default=10_000, validator=ge(1))
    max_subscriptions: int = attrs.field(default=10_000, validator=ge(0))
    max_subscriptions_size: int = attrs.field(default=2**20, validator=ge(0))
    max_uri_size: int = attrs.field(default=8192, validator=ge(1))
    max_batch_size: int = attrs.field(default=1_000, validator=ge(1))
    max_elicitations: int = attrs.field(default=1_000, validator=ge(0))
    max_known_tools: int = attrs.field(default=10_000, validator=ge(0))
    max_known_tools_size: int = attrs.field(default=16 * 2**20, validator=ge(0))
    max_known_tasks: int = attrs.field(default=10_000, validator=ge(0))


@attrs.frozen(kw_only=True)
class TaskLimits:
    """How much a `TaskBook` takes, and what happens past it.

    Attributes:
        per_context: tasks of one authorization context. The peer's next request for one is answered
            with -32603; `TaskBook.create` raises `LocalProtocolError`.
        total: tasks in all; past it the same.
        max_ttl: milliseconds that a task is kept at most, None for ever. A longer wish is cut.
        default_ttl: milliseconds that a task is kept if nothing else is asked for; None for
            `max_ttl`.
        max_result_size: bytes of JSON that the outcome of a task may have. A larger one is refused
            with `LocalProtocolError`, and the task goes on.
    """

    per_context: int = attrs.field(default=1_000, validator=ge(1))
    total: int = attrs.field(default=10_000, validator=ge(1))
    max_ttl: int | None = attrs.field(default=_DAY, validator=optional(ge(0)))
    default_ttl: int | None = attrs.field(default=_HOUR, validator=optional(ge(0)))
    max_result_size: int = attrs.field(default=16 * 2**20, validator=ge(1))
