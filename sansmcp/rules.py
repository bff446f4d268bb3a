"""The rules of the specification, by id: those that a library can keep, or see broken.

What is left out concerns HTTP, or only an application can keep: what it shows to its user, say. The
ids are this project's names for the statements of the specification, revision 2025-11-25; an
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


_BASIC, _LIFE, _SCHEMA, _TRANSPORT = "basic", "basic/lifecycle", "schema", "basic/transports"
_CANCEL, _PING = "basic/utilities/cancellation", "basic/utilities/ping"
_PROGRESS, _TASKS = "basic/utilities/progress", "basic/utilities/tasks"
_ELICIT, _ROOTS, _SAMPLE = "client/elicitation", "client/roots", "client/sampling"
_PROMPTS, _RESOURCES, _TOOLS = "server/prompts", "server/resources", "server/tools"
_COMPLETE, _LOG = "server/utilities/completion", "server/utilities/logging"
_PAGES = "server/utilities/pagination"

# fmt: off
_TABLE: Final[tuple[tuple[str, Level, str, str, str], ...]] = (
    ("GEN-01", "MUST", "both", "A side that offers no feature at all still speaks JSON-RPC and keeps the lifecycle.", _BASIC),
    ("GEN-02", "MAY", "both", "Beyond the base protocol and the lifecycle everything is optional: an unknown method is answered -32601.", _BASIC),
    ("GEN-03", "FACT", "both", "The schema says what shape a message has.", _SCHEMA),
    ("GEN-04", "FACT", "both", "Capabilities with other names than the known ones are legal, and are kept.", _SCHEMA),
    ("JRPC-01", "MUST", "sender", "Messages are in UTF-8.", _TRANSPORT),
    ("JRPC-02", "MUST", "both", "Messages are JSON-RPC 2.0.", _BASIC),
    ("JRPC-03", "MUST", "sender", "The id of a request is a string or an integer.", _BASIC),
    ("JRPC-04", "MUST NOT", "sender", "A request with an id of null is none.", _BASIC),
    ("JRPC-05", "MUST NOT", "sender", "An id is used for one request of a session only.", _BASIC),
    ("JRPC-06", "MUST", "receiver", "A response bears the id of its request, and there is one for each request.", _BASIC),
    ("JRPC-07", "MUST", "receiver", "A response has either a result or an error.", _BASIC),
    ("JRPC-08", "MAY", "receiver", "A result is an object, of the type that belongs to the method.", _BASIC),
    ("JRPC-09", "MUST", "receiver", "An error leaves out the id only where that of the request could not be read.", _BASIC),
    ("JRPC-10", "MUST", "receiver", "An error has an integer code and a message.", _BASIC),
    ("JRPC-11", "MUST", "receiver", "An error's code is an integer, never a text or a fraction.", _BASIC),
    ("JRPC-12", "MUST NOT", "receiver", "A notification is never answered, whatever is wrong with it.", _BASIC),
    ("JRPC-13", "MUST NOT", "sender", "What has an id is no notification.", _BASIC),
    ("JRPC-14", "SHOULD", "receiver", "The message of an error is one short sentence.", _SCHEMA),
    ("JRPC-15", "FACT", "both", "There are no batches: an array is no message.", _BASIC),
    ("JRPC-16", "FACT", "both", "The codes are those of JSON-RPC, -32042, and two that only prose names: -32002 and -1.", _SCHEMA),
    ("LIFE-01", "MUST", "both", "Initialization comes first, and once.", _LIFE),
    ("LIFE-02", "MUST", "client", "The client begins with initialize: the version it wants, its capabilities, its name.", _LIFE),
    ("LIFE-03", "MUST", "server", "The server answers initialize with the version it chose, its capabilities, its name.", _LIFE),
    ("LIFE-04", "MUST", "client", "After the answer to initialize the client sends notifications/initialized, before all else.", _LIFE),
    ("LIFE-05", "SHOULD NOT", "client", "Until initialize is answered the client sends no requests but pings.", _LIFE),
    ("LIFE-06", "SHOULD NOT", "server", "Until notifications/initialized the server sends nothing but pings and log messages.", _LIFE),
    ("LIFE-07", "MUST", "client", "The client asks for a version that it can speak.", _LIFE),
    ("LIFE-08", "SHOULD", "client", "The client asks for its newest version.", _LIFE),
    ("LIFE-09", "MAY", "client", "The client may know older versions than the one it asks for.", _SCHEMA),
    ("LIFE-10", "MUST", "server", "The server agrees to the version asked for, if it has it.", _LIFE),
    ("LIFE-11", "MUST", "server", "A server without that version proposes one that it has.", _LIFE),
    ("LIFE-12", "SHOULD", "server", "What the server proposes instead is its newest.", _LIFE),
    ("LIFE-13", "MUST", "client", "A client that does not have the proposed version ends the connection.", _LIFE),
    ("LIFE-14", "MUST", "both", "Nothing is sent that the negotiated revision does not have.", _LIFE),
    ("LIFE-15", "MUST", "both", "Nothing is used whose capability was not declared.", _LIFE),
    ("LIFE-17", "SHOULD", "sender", "Every request has a timeout.", _LIFE),
    ("LIFE-18", "SHOULD", "sender", "A request that timed out is cancelled, and waited for no longer; initialize is not cancelled.", _LIFE),
    ("LIFE-19", "SHOULD", "sender", "The timeout can be chosen for each request.", _LIFE),
    ("LIFE-20", "MAY", "sender", "Progress may begin the timeout anew.", _LIFE),
    ("LIFE-21", "SHOULD", "sender", "However much progress there is, a request has a longest time.", _LIFE),
    ("LIFE-22", "SHOULD", "both", "A mismatch of versions, a capability that is missing and a timeout can each be dealt with.", _LIFE),
    ("LIFE-23", "FACT", "both", "The end of the transport is the end of the session.", _LIFE),
    ("LIFE-24", "FACT", "both", "A server may be met that refuses initialize with -32602 and the versions it has.", _LIFE),
    ("META-01", "MUST NOT", "both", "What lies at a reserved key of _meta is passed on unread.", _BASIC),
    ("META-02", "MUST", "sender", "A key of _meta is an optional prefix of labels and a slash, and a name.", _BASIC),
    ("META-03", "MUST", "sender", "In a prefix, labels begin with a letter and end with a letter or a digit.", _BASIC),
    ("META-05", "FACT", "both", "Prefixes whose second label is modelcontextprotocol or mcp are reserved.", _BASIC),
    ("META-06", "MUST", "sender", "A name that is not empty begins and ends with a letter or a digit.", _BASIC),
    ("META-07", "MAY", "sender", "Inside a name there may be hyphens, underscores and dots as well.", _BASIC),
    ("META-08", "FACT", "both", "This revision itself uses three keys of _meta.", _BASIC),
    ("JSCH-01", "FACT", "both", "The dialect of a schema that names none is 2020-12.", _BASIC),
    ("ICON-14", "SHOULD", "sender", "The size of an icon is WxH or any.", _SCHEMA),
    ("STDIO-01", "SHOULD", "client", "Clients can talk to servers over stdio.", _TRANSPORT),
    ("STDIO-02", "MUST NOT", "sender", "A message is one line and ends with a newline.", _TRANSPORT),
    ("STDIO-03", "MAY", "server", "The server may write what it likes to stderr, in UTF-8.", _TRANSPORT),
    ("STDIO-04", "MAY", "client", "The client may keep, show or ignore what comes on stderr.", _TRANSPORT),
    ("STDIO-05", "SHOULD NOT", "client", "Output on stderr is no failure.", _TRANSPORT),
    ("STDIO-06", "MUST NOT", "server", "The stdout of a server carries messages and nothing else.", _TRANSPORT),
    ("STDIO-07", "MUST NOT", "client", "The stdin of a server carries messages and nothing else.", _TRANSPORT),
    ("STDIO-08", "SHOULD", "client", "A server is ended by closing its stdin, then by SIGTERM, then by SIGKILL, with a wait before each.", _LIFE),
    ("STDIO-09", "MAY", "server", "A server that closes its stdout has ended the session.", _LIFE),
    ("CUST-01", "MAY", "both", "Any channel that goes both ways may carry the protocol.", _TRANSPORT),
    ("CUST-02", "MUST", "both", "Whatever the channel, the format of messages and the lifecycle stay.", _TRANSPORT),
    ("CUST-03", "SHOULD", "both", "A channel of one's own is documented.", _TRANSPORT),
    ("CANC-01", "MUST", "sender", "A cancellation names a request that its sender has sent.", _CANCEL),
    ("CANC-02", "MUST", "sender", "A cancellation names a request that is believed to be in flight.", _CANCEL),
    ("CANC-03", "MUST NOT", "client", "initialize is never cancelled.", _CANCEL),
    ("CANC-04", "MUST", "requestor", "What became a task is stopped with tasks/cancel.", _CANCEL),
    ("CANC-05", "MUST", "sender", "A cancellation says which request it is about.", _CANCEL),
    ("CANC-06", "SHOULD", "receiver", "Work on a cancelled request stops.", _CANCEL),
    ("CANC-07", "SHOULD", "receiver", "What a cancelled request held is set free.", _CANCEL),
    ("CANC-08", "SHOULD", "receiver", "Nothing more is sent for a request that was cancelled.", _CANCEL),
    ("CANC-09", "MAY", "receiver", "A cancellation of what is unknown, done or not to be stopped may be ignored.", _CANCEL),
    ("CANC-10", "SHOULD", "sender", "An answer that comes in spite of a cancellation is dropped.", _CANCEL),
    ("CANC-11", "MUST", "both", "A cancellation and an answer may cross, in either order.", _CANCEL),
    ("CANC-14", "SHOULD", "receiver", "A malformed cancellation is ignored.", _CANCEL),
    ("CANC-16", "SHOULD", "sender", "A cancellation may find its request already answered.", _SCHEMA),
    ("PING-01", "MUST", "receiver", "A ping is answered at once and in every state, with an empty result.", _PING),
    ("PROG-01", "MUST", "sender", "Progress goes by a token: a string or an integer.", _PROGRESS),
    ("PROG-02", "MUST", "sender", "A progress token belongs to one active request.", _PROGRESS),
    ("PROG-03", "MAY", "receiver", "A request with a token may be reported on: how far, of how much, and a message.", _PROGRESS),
    ("PROG-04", "MUST", "receiver", "Progress grows with every notification.", _PROGRESS),
    ("PROG-05", "MAY", "receiver", "Progress and total need not be integers.", _PROGRESS),
    ("PROG-07", "MUST", "receiver", "Progress is reported for tokens of active requests only.", _PROGRESS),
    ("PROG-08", "MAY", "receiver", "How often to report progress, if at all, is the receiver's choice.", _PROGRESS),
    ("PROG-09", "MUST", "receiver", "The token of a request that became a task lives until the task has ended.", _PROGRESS),
    ("PROG-10", "MUST", "receiver", "A task reports its progress under the token of the request it came from.", _PROGRESS),
    ("PROG-11", "MUST", "receiver", "A task that has ended reports no progress.", _PROGRESS),
    ("PROG-12", "SHOULD", "both", "Both sides know which tokens are active.", _PROGRESS),
    ("PROG-14", "MUST", "receiver", "No progress is reported once the request is answered.", _PROGRESS),
    ("TASK-01", "MUST", "receiver", "Who takes requests as tasks has declared it.", _TASKS),
    ("TASK-02", "FACT", "both", "What may become a task is declared by path; a path that is present counts, whatever its value.", _TASKS),
    ("TASK-03", "FACT", "both", "A request that tasks.requests leaves out never becomes a task.", _TASKS),
    ("TASK-04", "SHOULD", "requestor", "Only a request that the receiver has declared becomes a task.", _TASKS),
    ("TASK-05", "SHOULD NOT", "requestor", "No task is asked for where the peer has not declared tasks.", _TASKS),
    ("TASK-06", "MUST NOT", "client", "No tool is called as a task where the server has not declared it.", _TASKS),
    ("TASK-07", "MUST NOT", "client", "A tool that forbids tasks is not called as one.", _TASKS),
    ("TASK-08", "SHOULD", "server", "A call as a task of a tool that forbids it is refused with -32601.", _TASKS),
    ("TASK-10", "MUST", "client", "A tool that requires tasks is called as one.", _TASKS),
    ("TASK-11", "MUST", "server", "A plain call of a tool that requires a task is refused with -32601.", _TASKS),
    ("TASK-12", "MAY", "requestor", "Who asks for a task may say how many milliseconds to keep it.", _TASKS),
    ("TASK-17", "MAY", "receiver", "Changes of a task may be announced, each with the whole task.", _TASKS),
    ("TASK-20", "MUST", "receiver", "Where tasks are not declared for a request, its task field is ignored.", _TASKS),
    ("TASK-21", "MAY", "receiver", "Where tasks are declared for a request, a plain one may be refused with -32600.", _TASKS),
    ("TASK-22", "MUST", "receiver", "A task id is a string.", _TASKS),
    ("TASK-23", "MUST", "receiver", "The id of a task is made by the side that runs it.", _TASKS),
    ("TASK-24", "MUST", "receiver", "A task id is unique.", _TASKS),
    ("TASK-25", "MUST", "receiver", "A new task is working.", _TASKS),
    ("TASK-26", "MUST", "receiver", "A task moves only as the state table has it.", _TASKS),
    ("TASK-27", "MUST NOT", "receiver", "A task that has ended moves no more.", _TASKS),
    ("TASK-28", "SHOULD", "receiver", "A task that waits for the other side is input_required.", _TASKS),
    ("TASK-29", "MUST", "receiver", "What a task asks of the other side names the task.", _TASKS),
    ("TASK-31", "SHOULD", "receiver", "A task that has its input leaves input_required.", _TASKS),
    ("TASK-32", "MUST", "receiver", "A task says when it was created.", _TASKS),
    ("TASK-33", "MUST", "receiver", "A task says when it last changed.", _TASKS),
    ("TASK-34", "MAY", "receiver", "The receiver may keep a task for another time than was asked for.", _TASKS),
    ("TASK-35", "MUST", "receiver", "The ttl of a task is the true one, and null if it has no end.", _TASKS),
    ("TASK-36", "MAY", "receiver", "After its ttl a task may be forgotten, whatever its status.", _TASKS),
    ("TASK-37", "MAY", "receiver", "The receiver may say how many milliseconds to leave between polls.", _TASKS),
    ("TASK-38", "MUST", "receiver", "A request that was accepted as a task is answered with the task.", _TASKS),
    ("TASK-39", "SHOULD", "receiver", "A task is announced at once, before its work is done.", _TASKS),
    ("TASK-40", "MUST", "receiver", "The outcome of a task is what the request would have been answered with.", _TASKS),
    ("TASK-41", "MUST", "receiver", "A request that failed as a task fails the same way in tasks/result.", _TASKS),
    ("TASK-42", "MUST", "receiver", "tasks/result waits for the end of the task.", _TASKS),
    ("TASK-43", "FACT", "requestor", "To give up waiting in tasks/result leaves the task alone.", _TASKS),
    ("TASK-44", "MUST", "both", "What belongs to a task says so.", _TASKS),
    ("TASK-45", "MUST", "receiver", "Which task is meant is in the params of tasks/get, tasks/result and tasks/cancel.", _TASKS),
    ("TASK-46", "SHOULD NOT", "requestor", "Requests that name their task in params do not name it in _meta as well.", _TASKS),
    ("TASK-47", "MUST", "receiver", "A task named in the _meta of such a request is ignored.", _TASKS),
    ("TASK-48", "SHOULD NOT", "receiver", "Results of tasks/get, tasks/list and tasks/cancel name no task in _meta.", _TASKS),
    ("TASK-49", "MUST", "receiver", "The result of tasks/result names its task in _meta.", _TASKS),
    ("TASK-50", "SHOULD NOT", "receiver", "notifications/tasks/status names no task in _meta.", _TASKS),
    ("TASK-51", "SHOULD", "receiver", "tasks/list comes in pages.", _TASKS),
    ("TASK-52", "MUST", "receiver", "A page of tasks that is not the last has a cursor.", _TASKS),
    ("TASK-53", "MUST", "requestor", "Cursors of tasks are handed back as they came.", _TASKS),
    ("TASK-54", "MUST", "receiver", "A task that can be asked for is in the list as well.", _TASKS),
    ("TASK-55", "MUST", "receiver", "A task that has ended is not cancelled: -32602.", _TASKS),
    ("TASK-56", "SHOULD", "receiver", "The work of a cancelled task stops.", _TASKS),
    ("TASK-57", "MUST", "receiver", "tasks/cancel is answered with the task, cancelled by then.", _TASKS),
    ("TASK-58", "MUST", "receiver", "What the work of a cancelled task still brings changes nothing.", _TASKS),
    ("TASK-59", "MAY", "receiver", "A cancelled task may be forgotten at any time.", _TASKS),
    ("TASK-61", "MUST", "receiver", "A task that is unknown is refused.", _TASKS),
    ("TASK-62", "MUST", "receiver", "An unknown cursor of tasks is refused with -32602.", _TASKS),
    ("TASK-63", "MUST", "receiver", "A failure of the receiver's own is answered with -32603.", _TASKS),
    ("TASK-64", "SHOULD", "receiver", "An error about a task says what went wrong.", _TASKS),
    ("TASK-65", "FACT", "receiver", "A task fails by an error, and by a tool result with isError.", _TASKS),
    ("TASK-66", "SHOULD", "receiver", "A failed task says why in its statusMessage.", _TASKS),
    ("TASK-69", "MUST", "receiver", "Where tasks belong to nobody in particular, their ids cannot be guessed.", _TASKS),
    ("TASK-72", "MUST", "receiver", "Where tasks have owners, nobody else can reach them.", _TASKS),
    ("TASK-73", "MUST", "receiver", "Where tasks have owners, a list shows the asker's own.", _TASKS),
    ("TASK-77", "SHOULD", "receiver", "Expired tasks are cleared away.", _TASKS),
    ("ELIC-07", "MUST", "client", "A client that can ask its user has declared elicitation.", _ELICIT),
    ("ELIC-08", "FACT", "both", "An empty elicitation capability stands for form mode.", _ELICIT),
    ("ELIC-09", "MUST", "client", "Declared elicitation has a mode: form, url or both.", _ELICIT),
    ("ELIC-10", "MUST NOT", "server", "The user is asked only in a mode that the client has declared.", _ELICIT),
    ("ELIC-11", "MUST", "server", "A request for elicitation has a message, and a mode unless it is a form.", _ELICIT),
    ("ELIC-12", "MAY", "server", "A form need not name its mode.", _ELICIT),
    ("ELIC-13", "MUST", "client", "Elicitation without a mode is a form.", _ELICIT),
    ("ELIC-14", "MUST", "server", "A form has the schema of what is asked.", _ELICIT),
    ("ELIC-15", "FACT", "server", "A form is flat and its fields are primitive, and can be filled in.", _ELICIT),
    ("ELIC-17", "MUST", "server", "Elicitation by URL has an address and an id beside its message.", _ELICIT),
    ("ELIC-18", "MUST", "server", "The page to visit has a valid address.", _ELICIT),
    ("ELIC-19", "MUST", "server", "The id of an elicitation is unique on its server.", _SCHEMA),
    ("ELIC-20", "MUST", "client", "The id of an elicitation is kept as it came.", _SCHEMA),
    ("ELIC-21", "MAY", "server", "The server may tell that an elicitation by URL is complete.", _ELICIT),
    ("ELIC-22", "MUST", "server", "A completion goes to the client that was asked, and to no other.", _ELICIT),
    ("ELIC-23", "MUST", "server", "A completion names an elicitation that was begun with this client.", _ELICIT),
    ("ELIC-24", "MUST", "client", "A completion of an unknown or completed elicitation is ignored.", _ELICIT),
    ("ELIC-27", "MAY", "server", "A request that needs a page to be visited first may be refused with -32042.", _ELICIT),
    ("ELIC-28", "MUST NOT", "server", "The error -32042 has no other meaning.", _ELICIT),
    ("ELIC-29", "MUST", "server", "The error -32042 lists the pages to be visited first.", _ELICIT),
    ("ELIC-30", "MUST", "server", "Each page that -32042 lists is in url mode and has an id.", _ELICIT),
    ("ELIC-31", "SHOULD", "client", "There is content only where a form was accepted.", _ELICIT),
    ("ELIC-42", "MUST", "server", "The code for a page to be visited first is -32042.", _ELICIT),
    ("ELIC-43", "MUST", "client", "A mode that the client has not declared is refused with -32602.", _ELICIT),
    ("ELIC-63", "SHOULD", "client", "The client checks what was filled in before it is sent.", _ELICIT),
    ("ELIC-64", "SHOULD", "both", "The content of an accepted form fits the form.", _ELICIT),
    ("SAMP-05", "MUST", "client", "A client that wants to be offered tools has declared sampling.tools.", _SAMPLE),
    ("SAMP-06", "MUST NOT", "server", "Tools are offered only to clients that have declared sampling.tools.", _SAMPLE),
    ("SAMP-07", "MUST", "client", "A client that can sample has declared sampling.", _SAMPLE),
    ("SAMP-08", "SHOULD", "server", "includeContext is none.", _SAMPLE),
    ("SAMP-09", "SHOULD NOT", "server", "Other values of includeContext need the capability sampling.context.", _SAMPLE),
    ("SAMP-10", "MUST", "server", "A message with tool results is the user's, and holds nothing else.", _SAMPLE),
    ("SAMP-11", "MUST", "server", "Every use of a tool is answered in the next message.", _SAMPLE),
    ("SAMP-13", "MUST NOT", "client", "Where toolChoice is none the answer uses no tool.", _SAMPLE),
    ("SAMP-17", "SHOULD", "client", "A use of a tool without its result is refused with -32602.", _SAMPLE),
    ("SAMP-18", "SHOULD", "client", "Tool results beside other content are refused with -32602.", _SAMPLE),
    ("SAMP-20", "SHOULD", "both", "The answer fits the request: several blocks, and tools, only where tools were offered.", _SAMPLE),
    ("SAMP-24", "MUST", "server", "Every use of a tool is answered once.", _SAMPLE),
    ("SAMP-30", "MUST", "client", "A client without sampling.tools refuses tools and toolChoice.", _SCHEMA),
    ("SAMP-33", "MUST", "server", "A tool result answers a use of a tool in the message before.", _SAMPLE),
    ("SAMP-40", "FACT", "both", "By default there is no context, toolChoice is auto, and isError is false; priorities are from 0 to 1.", _SAMPLE),
    ("ROOT-01", "MUST", "client", "A client with roots has declared them.", _ROOTS),
    ("ROOT-02", "MUST", "client", "A client that has declared roots.listChanged tells of every change.", _ROOTS),
    ("ROOT-03", "MUST", "client", "Roots are places in the file system: their URIs begin with file://.", _ROOTS),
    ("ROOT-04", "SHOULD", "client", "A client without roots refuses roots/list with -32601.", _ROOTS),
    ("ROOT-05", "SHOULD", "client", "A client that fails to list its roots says -32603.", _ROOTS),
    ("ROOT-17", "SHOULD", "server", "Only a client that has declared roots is asked for them.", _ROOTS),
    ("TOOL-05", "MUST", "server", "A server with tools has declared them.", _TOOLS),
    ("TOOL-06", "SHOULD", "server", "A server that has declared tools.listChanged tells of every change.", _TOOLS),
    ("TOOL-07", "MAY", "server", "A change of tools is told unasked.", _SCHEMA),
    ("TOOL-08", "MUST", "server", "The input schema of a tool is a JSON Schema for an object.", _TOOLS),
    ("TOOL-12", "FACT", "both", "Unless it says otherwise a tool writes, may destroy, is not idempotent, reaches the open world and forbids tasks.", _TOOLS),
    ("TOOL-13", "SHOULD", "server", "A tool's name is 1 to 128 characters long.", _TOOLS),
    ("TOOL-14", "SHOULD", "both", "Upper and lower case make different names of tools.", _TOOLS),
    ("TOOL-15", "SHOULD", "server", "A tool's name has 1 to 128 characters out of A-Z, a-z, 0-9, _, - and the dot.", _TOOLS),
    ("TOOL-16", "SHOULD NOT", "server", "A tool's name has no blank, no comma and nothing else that is special.", _TOOLS),
    ("TOOL-17", "SHOULD", "server", "A tool's name is unique on its server.", _TOOLS),
    ("TOOL-21", "SHOULD", "server", "Structured content is repeated as text.", _TOOLS),
    ("TOOL-22", "MUST", "server", "Structured content fits the tool's output schema.", _TOOLS),
    ("TOOL-23", "SHOULD", "client", "The client checks structured content against the output schema.", _TOOLS),
    ("TOOL-26", "SHOULD", "server", "A tool that fails says so in its result.", _SCHEMA),
    ("TOOL-27", "SHOULD", "server", "A call that cannot be carried out at all is answered with an error.", _SCHEMA),
    ("TOOL-35", "SHOULD", "client", "A call of a tool has a timeout.", _TOOLS),
    ("RES-01", "MUST", "server", "Resources are declared, each under a URI of its own.", _RESOURCES),
    ("RES-02", "SHOULD", "server", "A server that has declared resources.listChanged tells of every change.", _RESOURCES),
    ("RES-03", "MAY", "server", "A change of the list of resources is told unasked.", _SCHEMA),
    ("RES-04", "FACT", "client", "Subscribing and unsubscribing need the capability resources.subscribe.", _RESOURCES),
    ("RES-05", "SHOULD", "client", "Unsubscribing follows subscribing.", _SCHEMA),
    ("RES-06", "SHOULD", "server", "Updates are sent for resources that the client is subscribed to.", _SCHEMA),
    ("RES-11", "SHOULD", "server", "An unknown resource is refused with -32002 and its URI.", _RESOURCES),
    ("RES-12", "SHOULD", "server", "A server that fails to read a resource says -32603.", _RESOURCES),
    ("RES-15", "MUST", "server", "The bytes of a resource are in base64.", _RESOURCES),
    ("RES-18", "MUST", "server", "The text of a resource is text; all else is a blob.", _SCHEMA),
    ("RES-19", "FACT", "both", "Annotations tell the audience, a priority from 0 to 1 and the time of the last change.", _RESOURCES),
    ("PROMPT-01", "MUST", "server", "Prompts are declared, each under a name of its own.", _PROMPTS),
    ("PROMPT-02", "SHOULD", "server", "A server that has declared prompts.listChanged tells of every change.", _PROMPTS),
    ("PROMPT-03", "MAY", "server", "A change of prompts is told unasked.", _SCHEMA),
    ("PROMPT-04", "MUST", "server", "The bytes of an image are in base64.", _PROMPTS),
    ("PROMPT-05", "MUST", "server", "The bytes of a sound are in base64.", _PROMPTS),
    ("PROMPT-06", "MUST", "server", "An embedded resource says its MIME type.", _PROMPTS),
    ("PROMPT-07", "SHOULD", "server", "An unknown prompt is refused with -32602.", _PROMPTS),
    ("PROMPT-08", "SHOULD", "server", "A prompt without an argument that it requires is refused with -32602.", _PROMPTS),
    ("PROMPT-09", "SHOULD", "server", "A server that fails to make a prompt says -32603.", _PROMPTS),
    ("PROMPT-12", "SHOULD", "both", "Prompts are used only as was negotiated.", _PROMPTS),
    ("COMP-01", "MUST", "server", "A server that completes has declared completions.", _COMPLETE),
    ("COMP-02", "SHOULD", "client", "Arguments that are known already go along as context.", _COMPLETE),
    ("COMP-03", "FACT", "server", "A completion has a hundred values at most.", _COMPLETE),
    ("COMP-04", "SHOULD", "server", "A server that does not complete refuses with -32601.", _COMPLETE),
    ("COMP-06", "SHOULD", "server", "A completion without its arguments is refused with -32602.", _COMPLETE),
    ("COMP-07", "SHOULD", "server", "A server that fails to complete says -32603.", _COMPLETE),
    ("LOG-01", "MUST", "server", "Log messages are sent by servers that have declared logging.", _LOG),
    ("LOG-02", "MAY", "client", "The client may set the least level that it wants to see.", _LOG),
    ("LOG-03", "SHOULD", "server", "All that is as severe as the level or more so is sent.", _SCHEMA),
    ("LOG-04", "MAY", "server", "Until a level is set the server sends what it sees fit.", _SCHEMA),
    ("LOG-05", "SHOULD", "server", "An unknown level is refused with -32602.", _LOG),
    ("LOG-06", "SHOULD", "server", "A server that fails to set the level says -32603.", _LOG),
    ("PAGE-01", "FACT", "both", "Tools, prompts, resources, their templates and tasks are listed in pages.", _PAGES),
    ("PAGE-02", "MUST NOT", "client", "Pages may be of any size.", _PAGES),
    ("PAGE-03", "SHOULD", "server", "A page begins after what its cursor stands for.", _SCHEMA),
    ("PAGE-05", "SHOULD", "server", "An invalid cursor is refused with -32602.", _PAGES),
    ("PAGE-06", "SHOULD", "client", "A page without nextCursor is the last.", _PAGES),
    ("PAGE-07", "SHOULD", "client", "A list may have one page or many.", _PAGES),
    ("PAGE-08", "MUST", "client", "A cursor may look like anything, and may be empty.", _PAGES),
    ("PAGE-09", "MUST", "client", "A cursor is neither read nor changed.", _PAGES),
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
