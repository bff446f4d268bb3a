"""Servers for the command's tests to start, good and bad: `python -m tests.cli.servers NAME`."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Most of these do without, and are to start quickly.
    from sansmcp import ServerConnection


def sdk() -> None:
    """A server written with the official SDK."""
    from mcp.server import MCPServer

    server = MCPServer("sdk", instructions="Add things up.")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def fail() -> str:
        """Fail."""
        raise RuntimeError("no luck")

    @server.resource("note://{n}")
    def note(n: str) -> str:
        return f"note {n}"

    @server.prompt()
    def greet(name: str) -> str:
        return f"Greet {name}"

    server.run()


def dies() -> None:
    """Ends before it has answered."""
    sys.exit("out of \x1b[31mmilk")


def garbage() -> None:
    """Says something that is no message, and ends."""
    print("Server v1.2 \x1b]0;owned\x07 listening")


def silent() -> None:
    """Never answers."""
    time.sleep(60)


def stubborn() -> None:
    """Answers nothing, ignores SIGTERM and the end of its stdin, and has a child."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    print("child", child.pid, file=sys.stderr, flush=True)
    print(f"child {child.pid}", flush=True)
    time.sleep(60)


def _answering(connection: "ServerConnection") -> None:
    """Be the server that a connection is, until stdin ends."""
    while data := os.read(0, 65536):
        connection.receive_data(data)
        sys.stdout.buffer.write(connection.data_to_send())
        sys.stdout.buffer.flush()


def chatty() -> None:
    """Greets before the first message and floods stderr, but is a good server otherwise."""
    print("Welcome!", flush=True)
    sys.stderr.write("x" * 10_000_000)
    sys.stderr.flush()
    from sansmcp import Implementation, ServerConnection

    _answering(ServerConnection(Implementation("chatty", "1")))


def _shake_hands(revision: str = "2025-11-25") -> None:
    """Answer `initialize`, declaring tools; everything else is to come."""
    sys.stdin.readline()
    print(
        '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"'
        + revision
        + '","capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"0"}}}',
        flush=True,
    )
    sys.stdin.readline()


def mute() -> None:
    """Says hello, and nothing after that."""
    _shake_hands()
    time.sleep(60)


def breaks_off() -> None:
    """Dies in the middle of an answer."""
    _shake_hands()
    sys.stdin.readline()
    print('{"jsonrpc":"2.0","id":2,"resu', end="", flush=True)
    sys.exit(3)


def closes() -> None:
    """Closes its stdout, and lives on."""
    _shake_hands()
    os.close(1)
    time.sleep(60)


def endless() -> None:
    """Has one more page of tools, always."""
    _shake_hands()
    for number in itertools.count():
        id = json.loads(sys.stdin.readline())["id"]
        page = {"tools": [], "nextCursor": str(number)}
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": page}), flush=True)
        time.sleep(0.01)


def batch() -> None:
    """Answers in a batch, as revision 2025-03-26 has them."""
    _shake_hands("2025-03-26")
    id = json.loads(sys.stdin.readline())["id"]
    said = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    print(json.dumps([said, {"jsonrpc": "2.0", "id": id, "result": {"tools": []}}]), flush=True)
    sys.stdin.readline()


def demanding() -> None:
    """Has a form that nobody can fill in, and one that somebody can; says what came of them."""
    from sansmcp import Implementation, RequestReceived, ResultReceived, ServerConnection
    from sansmcp import types as t

    connection = ServerConnection(
        Implementation("demanding", "1"),
        capabilities=t.ServerCapabilities(tools=t.ToolsCapability()),
    )
    impossible: dict[str, t.PrimitiveSchemaDefinition] = {"long": t.StringSchema(min_length=10**12)}
    possible: dict[str, t.PrimitiveSchemaDefinition] = {
        "mail": t.StringSchema(format="email"),
        "day": t.StringSchema(format="date"),
        "nick": t.StringSchema(min_length=5, max_length=6),
        "many": t.NumberSchema("integer", minimum=3),
        "sure": t.BooleanSchema(),
        "one": t.TitledSingleSelectEnumSchema([t.EnumOption("a", "A")]),
        "some": t.UntitledMultiSelectEnumSchema(t.UntitledEnumItems(["x", "y", "z"]), min_items=2),
        "more": t.StringSchema(default="as usual"),
    }
    answers: list[t.ElicitResult] = []
    call: t.RequestId = 0
    while data := os.read(0, 65536):
        for event in connection.receive_data(data):
            match event:
                case RequestReceived(id=id, method="tools/list"):
                    connection.send_result(id, t.ListToolsResult([]))
                case RequestReceived(id=call, method="tools/call"):
                    connection.elicit("?", t.RequestedSchema(impossible, list(impossible)))
                    required = [name for name in possible if name != "more"]
                    connection.elicit("!", t.RequestedSchema(possible, required))
                case ResultReceived(result=t.ElicitResult() as answer):
                    answers.append(answer)
                    if len(answers) == 2:
                        said = json.dumps({one.action: one.content for one in answers})
                        connection.send_result(call, t.CallToolResult([t.TextContent(said)]))
        sys.stdout.buffer.write(connection.data_to_send())
        sys.stdout.buffer.flush()


def old() -> None:
    """Has a revision from the future only."""
    sys.stdin.readline()
    print(
        '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2099-01-01","capabilities":{},'
        '"serverInfo":{"name":"old","version":"0"}}}',
        flush=True,
    )
    time.sleep(60)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
