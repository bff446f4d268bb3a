"""Exceptions, and the JSON-RPC error codes of the protocol.

Two kinds of fault are kept apart, as in h11. What *we* do wrong is an exception, raised before
anything changes: `LocalProtocolError`. What *they* do wrong is never an exception but an event
(`sansmcp.ProtocolViolation`): no bytes that a peer can send make the library raise.
"""

from typing import Final

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "RESOURCE_NOT_FOUND",
    "URL_ELICITATION_REQUIRED",
    "USER_REJECTED",
    "CapabilityError",
    "DecodeError",
    "LocalProtocolError",
    "ProtocolWarning",
    "StructureError",
    "shortened",
]

#: The text is not JSON, or not UTF-8 (JSON-RPC 2.0, section 5.1).
PARSE_ERROR: Final = -32700
#: The JSON is not a valid request, or one that the state of the session does not allow.
INVALID_REQUEST: Final = -32600
#: Unknown method, or one of a capability that was not declared.
METHOD_NOT_FOUND: Final = -32601
#: The parameters do not fit the method: wrong shape, unknown tool, prompt, cursor or task.
INVALID_PARAMS: Final = -32602
#: The receiver failed; its message says no more than that (`S05`: never the exception's text).
INTERNAL_ERROR: Final = -32603
#: `resources/read` of an unknown resource; `data` is `{"uri": ...}` (server/resources, RES-11).
RESOURCE_NOT_FOUND: Final = -32002
#: The request needs a URL elicitation first; `data.elicitations` lists them (ELIC-27 to ELIC-30).
URL_ELICITATION_REQUIRED: Final = -32042
#: The user said no to a sampling request (client/sampling, SAMP-16).
USER_REJECTED: Final = -1


class LocalProtocolError(Exception):
    """We tried to do something that the protocol does not allow, here and now.

    Raised by the sending methods of a connection *before* anything changed: nothing was queued,
    no id was used up, and the connection is as usable as it was.

    Attributes:
        rule: id of the rule that the call would have broken, a key of `sansmcp.RULES`, or None
            where the call was no protocol matter (an id that was never seen, say).
        detail: what was wrong, and what to do instead.
    """

    def __init__(self, detail: str, *, rule: str | None = None) -> None:
        super().__init__(detail if rule is None else f"{detail} [{rule}]")
        self.detail = detail
        self.rule = rule


class CapabilityError(LocalProtocolError):
    """We tried to use something that we, or the peer, have not declared (LIFE-15, LIFE-22)."""


class ProtocolWarning(UserWarning):
    """We are about to send something legal that the specification advises against."""


class DecodeError(ValueError):
    """A text that is not strict JSON in UTF-8. `str()` of it is a short reason."""


class StructureError(ValueError):
    """A JSON value that does not fit a type, or an object of ours that does not fit its own.

    Attributes:
        path: where, in wire names, such as `params.messages[2].content.type`; empty for the
            value as a whole.
        detail: what was expected there and what was found, shortened.
    """

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}" if path else detail)
        self.path = path
        self.detail = detail

    def below(self, key: str) -> "StructureError":
        """The same, seen from one level above, where it lies under `key` (`[2]` in an array)."""
        key = key if len(key) <= 60 else f"{key[:40]}..."
        if not key.isprintable():
            key = repr(key)  # A line break of the peer's would make two lines of a log of one.
        joint = "" if not self.path or self.path[0] == "[" else "."
        return StructureError(f"{key}{joint}{self.path}", self.detail)


def shortened(value: object) -> str:
    """A JSON value for an error message: exact if it is small, else what it is and how large.

    Neither its cost nor its length grows with the value.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:40]!r}... ({len(value):,} characters)"
    if isinstance(value, int) and value.bit_length() > 200:
        return "an integer of more than 60 digits"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "an array"
    return f"a {type(value).__name__}"
