"""What the core's tests have in common: a clock that is told the time, and pairs of connections.

Connections are typed as Any: half of the tests are about calls that a type checker would refuse.
"""

import json
from typing import Any

from sansmcp import (
    CLIENT,
    SERVER,
    ClientConnection,
    Connection,
    Implementation,
    Monitor,
    ServerConnection,
    Side,
    Transcript,
    unstructure,
)
from sansmcp.testing import VirtualClock, judge, record
from sansmcp.testing import pump as _pump
from sansmcp.types import (
    ClientCapabilities,
    ElicitationCapability,
    PromptsCapability,
    ResourcesCapability,
    RootsCapability,
    SamplingCapability,
    ServerCapabilities,
    ToolsCapability,
)

CLIENT_INFO = Implementation("test-client", "1.0")
SERVER_INFO = Implementation("test-server", "2.0")

#: Everything that a client can declare, tasks apart.
CLIENT_CAN = ClientCapabilities(
    roots=RootsCapability(list_changed=True),
    sampling=SamplingCapability(context={}, tools={}),
    elicitation=ElicitationCapability(form={}, url={}),
)
#: Everything that a server can declare, tasks apart.
SERVER_CAN = ServerCapabilities(
    logging={},
    completions={},
    prompts=PromptsCapability(list_changed=True),
    resources=ResourcesCapability(subscribe=True, list_changed=True),
    tools=ToolsCapability(list_changed=True),
)


class Clock(VirtualClock):
    """One that does not begin at 0, where too much comes out right by chance."""

    def __init__(self) -> None:
        super().__init__(1000.0)


def make_client(**options: Any) -> Any:
    return _judged(
        ClientConnection(CLIENT_INFO, **{"capabilities": CLIENT_CAN, "clock": Clock(), **options}),
        options,
    )


def make_server(**options: Any) -> Any:
    return _judged(
        ServerConnection(SERVER_INFO, **{"capabilities": SERVER_CAN, "clock": Clock(), **options}),
        options,
    )


#: What the connections of the running test have said and heard, and a monitor for each.
conversations: list[tuple[Side, Transcript, Monitor]] = []


def _judged(connection: Connection, options: dict[str, Any]) -> Connection:
    """See to it that the connection is judged at the end of the test (see conftest)."""
    side = CLIENT if isinstance(connection, ClientConnection) else SERVER
    monitor = Monitor(
        from_start=True,
        limits=connection.limits,
        extensions=options.get("extensions", ()),
        validate=options.get("validate"),
    )
    conversations.append((side, record(connection), monitor))
    return connection


def broken_by_us() -> list[str]:
    """The rules that our connections have broken in this test, and in what conversation."""
    return [
        f"{violation.rule.id}: {violation.detail}\n{transcript}"
        for side, transcript, monitor in conversations
        for violation in judge(transcript, monitor)
        if violation.side is side
    ]


def pump(client: ClientConnection, server: ServerConnection) -> tuple[list[Any], list[Any]]:
    """Carry everything over until both are quiet; gives the client's events and the server's."""
    of_client, of_server, _ = _pump(client, server)
    return of_client, of_server


def ready_pair(
    client_options: dict[str, Any] | None = None, server_options: dict[str, Any] | None = None
) -> tuple[Any, Any]:
    """A client and a server after the handshake."""
    client = make_client(**(client_options or {}))
    server = make_server(**(server_options or {}))
    client.initialize()
    pump(client, server)
    return client, server


def ready_client(**options: Any) -> Any:
    """A client after the handshake, whose server the test plays by hand."""
    return ready_pair(options)[0]


def ready_server(**options: Any) -> Any:
    """A server after the handshake, whose client the test plays by hand."""
    server = make_server(**options)
    params = {
        "protocolVersion": server._conversation.revisions[0],
        "capabilities": unstructure(CLIENT_CAN),
        "clientInfo": unstructure(CLIENT_INFO),
    }
    feed(server, request("handshake", "initialize", params))
    server.data_to_send()
    feed(server, notification("notifications/initialized"))
    return server


def feed(connection: ClientConnection | ServerConnection, *messages: Any) -> list[Any]:
    """Feed JSON values (or raw text) as lines."""
    data = b""
    for message in messages:
        if isinstance(message, str):
            data += message.encode() + b"\n"
        elif isinstance(message, bytes):
            data += message + b"\n"
        else:
            data += json.dumps(message).encode() + b"\n"
    return connection.receive_data(data)


def sent(connection: ClientConnection | ServerConnection) -> list[Any]:
    """What is queued, as JSON values. Empties the queue."""
    return [json.loads(line) for line in connection.data_to_send().splitlines()]


def request(id: Any, method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def result(id: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: Any, code: int, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, **more}}


def names(events: list[Any]) -> list[str]:
    """The class of each event, with the rule for a violation."""
    return [
        f"{type(event).__name__}:{event.rule}" if hasattr(event, "rule") else type(event).__name__
        for event in events
    ]
