"""Bounds on what a peer can make a connection keep. Each has a default that suits real traffic."""

import attrs
from attrs.validators import ge

__all__ = ["Limits"]


@attrs.frozen(kw_only=True)
class Limits:
    """How much a connection takes, and what happens past it.

    Nothing past a limit ends the connection: what is too much is refused or skipped and reported as
    `ProtocolViolation` with the rule `LIMIT-01`, and everything else goes on.

    Attributes:
        max_message_size: bytes of one message, without its newline. A longer one is skipped to its
            end without being kept.
        max_requests_in_flight: requests of one side that wait for an answer. The peer's next one is
            answered with -32603; our next one raises `LocalProtocolError`.
        max_id_size: characters of a request id or a progress token (digits, if it is a number). A
            request with a longer one is answered with -32600, without its id.
        max_remembered_requests: finished requests of each side whose ids are remembered, to tell
            late answers and late cancellations from wrong ones. Older ones are forgotten, and a
            message about them is reported as one about an unknown request.
        max_subscriptions: resources that one client is subscribed to. The next subscription is
            answered with -32603.
        max_uri_size: characters of the URI of a subscription. A longer one is answered with -32603.
        max_batch_size: messages in one batch (2025-03-26). A larger one is refused as a whole, with
            -32600.
        max_elicitations: elicitations in URL mode that are remembered until they complete. The
            oldest is forgotten first; its completion is then ignored.
        max_known_tools: tools whose task support and output schema are remembered from `tools/list`.
            What is beyond it is not checked against them.
        max_known_tasks: tasks of the peer's whose last status is remembered, so that none goes back.
            The oldest are forgotten first.
    """

    max_message_size: int = attrs.field(default=16 * 2**20, validator=ge(1))
    max_requests_in_flight: int = attrs.field(default=10_000, validator=ge(1))
    max_id_size: int = attrs.field(default=1024, validator=ge(1))
    max_remembered_requests: int = attrs.field(default=10_000, validator=ge(1))
    max_subscriptions: int = attrs.field(default=10_000, validator=ge(0))
    max_uri_size: int = attrs.field(default=8192, validator=ge(1))
    max_batch_size: int = attrs.field(default=1_000, validator=ge(1))
    max_elicitations: int = attrs.field(default=1_000, validator=ge(0))
    max_known_tasks: int = attrs.field(default=10_000, validator=ge(0))
    max_known_tools: int = attrs.field(default=10_000, validator=ge(0))
