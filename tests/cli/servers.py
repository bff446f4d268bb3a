"""Servers for the command's tests to start, good and bad: `python -m tests.cli.servers NAME`."""

import os
import signal
import subprocess
import sys
import time


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


def chatty() -> None:
    """Greets before the first message and floods stderr, but is a good server otherwise."""
    print("Welcome!", flush=True)
    sys.stderr.write("x" * 10_000_000)
    sys.stderr.flush()
    from sansmcp import ServerConnection
    from sansmcp.types import Implementation

    server = ServerConnection(Implementation("chatty", "1"))
    while data := os.read(0, 65536):
        server.receive_data(data)
        sys.stdout.buffer.write(server.data_to_send())
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
