"""The rules of the specification, by id: those that a message can break, and be reported for.

The ids are this project's names for the statements of the specification, revision 2025-11-25; an
error, an event and a test name the rule that they are about. `LIMIT-01` is none of the
specification's: it stands for the bounds of `sansmcp.Limits`.
"""

from typing import Final, Literal, TypeAlias

import attrs

from .errors import INVALID_PARAMS

__all__ = ["RULES", "Broken", "Rule"]

Level: TypeAlias = Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "FACT"]


@attrs.frozen
class Rule:
    """One statement of the specification, in our words.

    Attributes:
        id: its name here, such as `PROG-04`.
        level: how binding it is, in the words of BCP 14; FACT for a definition.
        binds: who has to keep it.
        text: what it says.
        page: where it comes from, below the revision's part of the specification; empty for a
            rule of our own.
    """

    id: str
    level: Level
    binds: str
    text: str
    page: str

    @property
    def url(self) -> str:
        """The address of the page."""
        if not self.page:
            return ""
        return f"https://modelcontextprotocol.io/specification/2025-11-25/{self.page}"


_BASIC, _LIFE, _CANCEL = "basic", "basic/lifecycle", "basic/utilities/cancellation"
_TASKS = "basic/utilities/tasks"
_PROGRESS, _ELICIT, _SAMPLE = "basic/utilities/progress", "client/elicitation", "client/sampling"

# fmt: off
_TABLE: Final[tuple[tuple[str, Level, str, str, str], ...]] = (
    ("GEN-02", "MAY", "both", "Beyond the base protocol and the lifecycle everything is optional: an unknown method is answered -32601.", _BASIC),
    ("GEN-03", "FACT", "both", "The schema says what shape a message has.", "schema"),
    ("JRPC-01", "MUST", "sender", "Messages are in UTF-8.", "basic/transports"),
    ("JRPC-02", "MUST", "both", "Messages are JSON-RPC 2.0.", _BASIC),
    ("JRPC-03", "MUST", "sender", "The id of a request is a string or an integer.", _BASIC),
    ("JRPC-04", "MUST NOT", "sender", "The id of a request is never null.", _BASIC),
    ("JRPC-05", "MUST NOT", "sender", "An id is used for one request of a session only.", _BASIC),
    ("JRPC-06", "MUST", "receiver", "A response bears the id of its request, and there is one for each request.", _BASIC),
    ("JRPC-07", "MUST", "receiver", "A response has either a result or an error.", _BASIC),
    ("JRPC-08", "MAY", "receiver", "A result is an object, of the type that belongs to the method.", _BASIC),
    ("JRPC-10", "MUST", "receiver", "An error has an integer code and a message.", _BASIC),
    ("JRPC-14", "SHOULD", "receiver", "The message of an error is one short sentence.", "schema"),
    ("JRPC-15", "FACT", "both", "There are no batches: an array is no message.", _BASIC),
    ("LIFE-01", "MUST", "both", "Initialization comes first, and once.", _LIFE),
    ("LIFE-04", "MUST", "client", "After the answer to initialize the client sends notifications/initialized, before all else.", _LIFE),
    ("LIFE-05", "SHOULD NOT", "client", "Until initialize is answered the client sends no requests but pings.", _LIFE),
    ("LIFE-06", "SHOULD NOT", "server", "Until notifications/initialized the server sends nothing but pings and log messages.", _LIFE),
    ("LIFE-14", "MUST", "both", "Nothing is sent that the negotiated revision does not have.", _LIFE),
    ("LIFE-15", "MUST", "both", "Nothing is used whose capability was not declared.", _LIFE),
    ("LIFE-23", "FACT", "both", "The end of the transport is the end of the session.", _LIFE),
    ("META-02", "MUST", "sender", "A key of _meta is an optional prefix of labels and a slash, and a name.", _BASIC),
    ("ICON-14", "SHOULD", "sender", "The size of an icon is WxH or any.", "schema"),
    ("STDIO-02", "MUST NOT", "sender", "A message is one line and ends with a newline.", "basic/transports"),
    ("CANC-01", "MUST", "sender", "A cancellation names a request that its sender has sent.", _CANCEL),
    ("CANC-02", "MUST", "sender", "A cancellation names a request that is believed to be in flight.", _CANCEL),
    ("CANC-03", "MUST NOT", "client", "initialize is never cancelled.", _CANCEL),
    ("CANC-05", "MUST", "sender", "A cancellation says which request it is about.", _CANCEL),
    ("CANC-08", "SHOULD", "receiver", "Nothing more is sent for a request that was cancelled.", _CANCEL),
    ("CANC-14", "SHOULD", "receiver", "A malformed cancellation is ignored.", _CANCEL),
    ("PROG-02", "MUST", "sender", "A progress token belongs to one active request.", _PROGRESS),
    ("PROG-04", "MUST", "receiver", "Progress grows with every notification.", _PROGRESS),
    ("PROG-07", "MUST", "receiver", "Progress is reported for tokens of active requests only.", _PROGRESS),
    ("PROG-14", "MUST", "receiver", "No progress is reported once the request is answered.", _PROGRESS),
    ("CANC-04", "MUST", "requestor", "What became a task is stopped with tasks/cancel.", _CANCEL),
    ("TASK-01", "MUST", "receiver", "Who takes requests as tasks has declared it.", _TASKS),
    ("TASK-04", "SHOULD", "requestor", "Only a request that the receiver has declared becomes a task.", _TASKS),
    ("TASK-06", "MUST NOT", "client", "No tool is called as a task where the server has not declared it.", _TASKS),
    ("TASK-07", "MUST NOT", "client", "A tool that forbids tasks is not called as one.", _TASKS),
    ("TASK-10", "MUST", "client", "A tool that requires tasks is called as one.", _TASKS),
    ("TASK-24", "MUST", "receiver", "A task id is unique.", _TASKS),
    ("TASK-26", "MUST", "receiver", "A task moves only as the state table has it.", _TASKS),
    ("TASK-27", "MUST NOT", "receiver", "A task that has ended moves no more.", _TASKS),
    ("TASK-38", "MUST", "receiver", "A request that was accepted as a task is answered with the task.", _TASKS),
    ("TASK-40", "MUST", "receiver", "The outcome of a task is what the request would have been answered with.", _TASKS),
    ("TASK-44", "MUST", "both", "What belongs to a task says so.", _TASKS),
    ("TASK-61", "MUST", "receiver", "A task that is unknown is refused.", _TASKS),
    ("ELIC-10", "MUST NOT", "server", "The user is asked only in a mode that the client has declared.", _ELICIT),
    ("ELIC-15", "FACT", "server", "A form is flat and its fields are primitive, and can be filled in.", _ELICIT),
    ("ELIC-18", "MUST", "server", "The page to visit has a valid address.", _ELICIT),
    ("ELIC-19", "MUST", "server", "The id of an elicitation is unique on its server.", "schema"),
    ("ELIC-23", "MUST", "server", "A completion names an elicitation that was begun with this client.", _ELICIT),
    ("ELIC-29", "MUST", "server", "The error -32042 lists the pages to be visited first.", _ELICIT),
    ("ELIC-31", "SHOULD", "client", "There is content only where a form was accepted.", _ELICIT),
    ("ELIC-64", "SHOULD", "both", "The content of an accepted form fits the form.", _ELICIT),
    ("SAMP-06", "MUST NOT", "server", "Tools are offered only to clients that have declared sampling.tools.", _SAMPLE),
    ("SAMP-08", "SHOULD", "server", "includeContext is none.", _SAMPLE),
    ("SAMP-09", "SHOULD NOT", "server", "Other values of includeContext need the capability sampling.context.", _SAMPLE),
    ("SAMP-10", "MUST", "server", "A message with tool results is the user's, and holds nothing else.", _SAMPLE),
    ("SAMP-11", "MUST", "server", "Every use of a tool is answered in the next message.", _SAMPLE),
    ("SAMP-13", "MUST NOT", "client", "With toolChoice none the model uses no tool.", _SAMPLE),
    ("SAMP-20", "SHOULD", "both", "The answer fits the request: several blocks, and tools, only where tools were offered.", _SAMPLE),
    ("SAMP-24", "MUST", "server", "Every use of a tool is answered once.", _SAMPLE),
    ("SAMP-33", "MUST", "server", "A tool result answers a use of a tool in the message before.", _SAMPLE),
    ("ROOT-03", "MUST", "client", "A root is a file:// URI.", "client/roots"),
    ("ROOT-17", "SHOULD", "server", "Only a client that has declared roots is asked for them.", "client/roots"),
    ("TOOL-08", "MUST", "server", "The input schema of a tool is a JSON Schema for an object.", "server/tools"),
    ("TOOL-15", "SHOULD", "server", "A tool's name has 1 to 128 characters out of A-Z, a-z, 0-9, _, - and the dot.", "server/tools"),
    ("TOOL-17", "SHOULD", "server", "A tool's name is unique on its server.", "server/tools"),
    ("TOOL-21", "SHOULD", "server", "Structured content is repeated as text.", "server/tools"),
    ("TOOL-22", "MUST", "server", "Structured content fits the tool's output schema.", "server/tools"),
    ("RES-01", "MUST", "server", "Resources are declared, each under a URI of its own.", "server/resources"),
    ("RES-05", "SHOULD", "client", "Unsubscribing follows subscribing.", "schema"),
    ("RES-06", "SHOULD", "server", "Updates are sent for resources that the client is subscribed to.", "schema"),
    ("RES-15", "MUST", "server", "The bytes of a resource are in base64.", "server/resources"),
    ("PROMPT-01", "MUST", "server", "Prompts are declared, each under a name of its own.", "server/prompts"),
    ("PROMPT-04", "MUST", "server", "The bytes of an image are in base64.", "server/prompts"),
    ("PROMPT-05", "MUST", "server", "The bytes of a sound are in base64.", "server/prompts"),
    ("PROMPT-06", "MUST", "server", "An embedded resource says its MIME type.", "server/prompts"),
    ("COMP-03", "FACT", "server", "A completion has a hundred values at most.", "server/utilities/completion"),
    ("LOG-01", "MUST", "server", "Log messages are sent by servers that have declared logging.", "server/utilities/logging"),
    ("LIMIT-01", "FACT", "both", "What is beyond the limits of this connection is refused or skipped.", ""),
)
# fmt: on

#: Every rule by its id.
RULES: Final[dict[str, Rule]] = {row[0]: Rule(*row) for row in _TABLE}


@attrs.frozen
class Broken:
    """A rule that a message breaks.

    Attributes:
        rule: its id.
        detail: what is wrong, in one sentence.
        code: the JSON-RPC code with which the message is refused where we receive it; None where
            it is reported and taken all the same. What we mean to send is refused in either case.
    """

    rule: str
    detail: str
    code: int | None = INVALID_PARAMS
