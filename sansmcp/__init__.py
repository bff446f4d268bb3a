"""sansmcp: the Model Context Protocol as a state machine that does no I/O.

Bytes go in; events and bytes come out. `ClientConnection` and `ServerConnection` are the two ends;
`sansmcp.types` has a class for every type of the protocol's schema.
"""

from ._version import __version__
from .catalog import Catalog
from .checks import lint
from .client import ClientConnection
from .connection import Connection, OutgoingMessage
from .conversation import Conversation
from .errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    USER_REJECTED,
    CapabilityError,
    DecodeError,
    LocalProtocolError,
    ProtocolWarning,
    StructureError,
)
from .events import (
    ConnectionClosed,
    ErrorReceived,
    Event,
    Initialized,
    LogLevelChanged,
    NotificationReceived,
    ProgressReceived,
    ProtocolViolation,
    RequestCancelled,
    RequestReceived,
    RequestTimedOut,
    ResourceSubscribed,
    ResourceUnsubscribed,
    ResultReceived,
    TaskBookFailed,
    TaskCancelRequested,
    TaskCreated,
    TaskExpired,
    TaskStatusChanged,
    VersionMismatch,
)
from .framing import LineFramer, Oversized, frame
from .lifecycle import ConnectionState
from .limits import Limits, TaskLimits
from .methods import CLIENT, METHODS, SERVER, MethodTable, NotificationMethod, RequestMethod, Side
from .monitor import Monitor, Observation, Violation
from .requests import RequestInFlight
from .revisions import LATEST_REVISION, REVISIONS
from .rules import RULES, Rule
from .server import ServerConnection
from .tasks import TASK_TRANSITIONS, TaskBook, TaskRecord, TaskStorage
from .transcript import Transcript, TranscriptEntry, TranscriptError
from .types import MISSING, Implementation
from .wire import converter, decode_json, encode_json, structure, unstructure

__all__ = [
    "CLIENT",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LATEST_REVISION",
    "METHODS",
    "METHOD_NOT_FOUND",
    "MISSING",
    "PARSE_ERROR",
    "RESOURCE_NOT_FOUND",
    "REVISIONS",
    "RULES",
    "SERVER",
    "TASK_TRANSITIONS",
    "URL_ELICITATION_REQUIRED",
    "USER_REJECTED",
    "CapabilityError",
    "Catalog",
    "ClientConnection",
    "Connection",
    "ConnectionClosed",
    "ConnectionState",
    "Conversation",
    "DecodeError",
    "ErrorReceived",
    "Event",
    "Implementation",
    "Initialized",
    "Limits",
    "LineFramer",
    "LocalProtocolError",
    "LogLevelChanged",
    "MethodTable",
    "Monitor",
    "NotificationMethod",
    "NotificationReceived",
    "Observation",
    "OutgoingMessage",
    "Oversized",
    "ProgressReceived",
    "ProtocolViolation",
    "ProtocolWarning",
    "RequestCancelled",
    "RequestInFlight",
    "RequestMethod",
    "RequestReceived",
    "RequestTimedOut",
    "ResourceSubscribed",
    "ResourceUnsubscribed",
    "ResultReceived",
    "Rule",
    "ServerConnection",
    "Side",
    "StructureError",
    "TaskBook",
    "TaskBookFailed",
    "TaskCancelRequested",
    "TaskCreated",
    "TaskExpired",
    "TaskLimits",
    "TaskRecord",
    "TaskStatusChanged",
    "TaskStorage",
    "Transcript",
    "TranscriptEntry",
    "TranscriptError",
    "VersionMismatch",
    "Violation",
    "__version__",
    "converter",
    "decode_json",
    "encode_json",
    "frame",
    "lint",
    "structure",
    "unstructure",
]
