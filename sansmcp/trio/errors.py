"""What goes wrong in a session, and how a server's handlers say no."""

from collections.abc import Iterable, Sequence

from sansmcp import INTERNAL_ERROR, URL_ELICITATION_REQUIRED, ProtocolViolation, unstructure
from sansmcp import types as t

__all__ = [
    "ConnectionLost",
    "ElicitationRequired",
    "PeerError",
    "RequestError",
    "RequestTimeout",
    "SessionError",
    "TaskCancelled",
    "ToolError",
    "VersionMismatchError",
]


class SessionError(Exception):
    """The base of what is raised when a conversation does not go as it should."""


class PeerError(SessionError):
    """The peer answered with an error, or with an answer that cannot be used.

    Attributes:
        code: as in `sansmcp.errors`, or the peer's own.
        message: what the peer says.
        data: the details; `MISSING` where there are none.
        violation: what is wrong with the answer, where it was one that cannot be used.
    """

    def __init__(self, error: t.Error, violation: ProtocolViolation | None = None) -> None:
        super().__init__(f"{error.message} [{error.code}]")
        self.violation = violation
        self.code = error.code
        self.message = error.message
        self.data = error.data


class RequestTimeout(SessionError):
    """The peer did not answer in time. It was told that nobody waits any more (LIFE-18)."""


class ConnectionLost(SessionError):
    """The connection has ended. Nothing more can be sent or received (LIFE-23).

    `__cause__` is the error of the transport, if there was one.

    Attributes:
        reason: what ended it, in one sentence.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class VersionMismatchError(SessionError):
    """The parties have no protocol revision in common (LIFE-13).

    Attributes:
        supported: our revisions, newest first.
        offered: what the peer named.
    """

    def __init__(self, supported: Sequence[str], offered: Sequence[str]) -> None:
        super().__init__(
            "no revision in common: "
            f"we have {', '.join(supported)}; the peer offers {', '.join(offered) or 'none'}"
        )
        self.supported = tuple(supported)
        self.offered = tuple(offered)


class TaskCancelled(SessionError):
    """There will be no result, because we have cancelled the task."""


class RequestError(Exception):
    """Raised by a handler: the request is answered with this error.

    Args:
        code: one of the codes of `sansmcp.errors`, or one of your own.
        message: one short sentence, which the peer gets to see.
        data: any JSON value with the details; None is sent as null.
    """

    def __init__(
        self,
        code: int = INTERNAL_ERROR,
        message: str = "Internal error",
        data: t.JSONValue = t.MISSING,
    ) -> None:
        super().__init__(f"{message} [{code}]")
        self.error = t.Error(code, message, data)


class ElicitationRequired(RequestError):
    """Raised by a handler: the user has to visit some pages first (-32042, ELIC-27 to ELIC-30).

    Args:
        elicitations: the pages. `Server.elicitation_complete` tells when the user is done with one.
        message: one short sentence.
    """

    def __init__(
        self,
        elicitations: Iterable[t.ElicitRequestURLParams],
        message: str = "The user has to visit a page first",
    ) -> None:
        data = unstructure(t.URLElicitationRequiredErrorData(elicitations))
        super().__init__(URL_ELICITATION_REQUIRED, message, data)


class ToolError(Exception):
    """Raised by a tool: it failed, and the model gets to read why (`isError`, TOOL-26).

    Args:
        text: what went wrong and what could be done about it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text
