"""Websockets, beyond what all transports have in common; with peers that are not ours as well."""

import json
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio_websocket
import websockets.exceptions
import websockets.sync.client
import websockets.sync.server
from websockets.typing import Subprotocol
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Ping, Pong, Request, TextMessage

from sansmcp import Implementation, Limits, ProtocolViolation
from sansmcp.trio import ConnectionLost, Server, connect_websocket, serve_websocket

from .conftest import port_of, serving
from .features import make_server
from .support import SERVER as WELCOME

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        },
    }
)
PING = '{"jsonrpc":"2.0","id":2,"method":"ping"}'


@asynccontextmanager
async def websocket_server(server: Server | None = None, **options: Any) -> AsyncIterator[int]:
    """A server; gives its port."""
    async with serving(
        serve_websocket, server or make_server(), "127.0.0.1", 0, **options
    ) as listeners:
        yield port_of(listeners)


class RawClient:
    """A client that can say what no websocket library would."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.websocket = WSConnection(ConnectionType.CLIENT)

    async def events(self, kind: Any) -> Any:
        """The next event of a kind; all others are passed over."""
        with trio.fail_after(10):
            while True:
                for event in self.websocket.events():
                    if isinstance(event, kind):
                        return event
                data = await self.stream.receive_some()
                assert data, "the stream ended"
                self.websocket.receive_data(bytes(data))

    async def send(self, event: Any) -> None:
        await self.stream.send_all(self.websocket.send(event))

    async def text(self) -> Any:
        return json.loads((await self.events(TextMessage)).data)


@asynccontextmanager
async def raw_client(port: int) -> AsyncIterator[RawClient]:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        client = RawClient(stream)
        await client.send(Request(host="127.0.0.1", target="/", subprotocols=["mcp"]))
        await client.events(AcceptConnection)
        yield client


def masked_frame(first_byte: int, payload: bytes) -> bytes:
    """A client's frame, with a mask of zeros."""
    assert len(payload) < 126
    return bytes([first_byte, 0x80 | len(payload), 0, 0, 0, 0]) + payload


# ---- the opening handshake


async def http_status(port: int, *headers: str, target: str = "/") -> str:
    """What the server answers to a handshake that has these headers besides the usual ones."""
    usual = {
        "Host": f"127.0.0.1:{port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "mcp",
    }
    for header in headers:
        name, _, value = header.partition(": ")
        usual[name] = value
    lines = [f"{name}: {value}" for name, value in usual.items() if value]
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        request = "\r\n".join([f"GET {target} HTTP/1.1", *lines, "", ""])
        await stream.send_all(request.encode("latin-1"))
        with trio.fail_after(5):
            return bytes(await stream.receive_some()).split(b" ", 2)[1].decode()


@pytest.mark.rule("H47")
async def test_pages_of_other_sites_are_refused():
    async with websocket_server() as port:
        assert await http_status(port) == "101"
        for origin in ("https://evil.example", f"http://127.0.0.1:{port}", "null"):
            assert await http_status(port, f"Origin: {origin}") == "403"
    async with websocket_server(origins=["https://App.example"]) as port:
        assert await http_status(port, "Origin: https://app.example") == "101"
        assert await http_status(port, "Origin: https://evil.example") == "403"
        assert await http_status(port, "Origin: http://app.example") == "403"


async def test_other_host_names_are_refused_on_loopback():
    async with websocket_server(hosts=["mcp.internal"]) as port:
        for host in ("127.0.0.1", "localhost", f"localhost:{port}", "[::1]:80", "MCP.internal"):
            assert await http_status(port, f"Host: {host}") == "101"
        for host in ("evil.example", "127.0.0.1.evil.example", "0.0.0.0", "[", "\xff", "x" * 500):
            assert await http_status(port, f"Host: {host}") in ("400", "403")


async def test_every_host_name_is_taken_elsewhere():
    async with serving(serve_websocket, make_server(), "0.0.0.0", 0) as listeners:
        assert await http_status(port_of(listeners), "Host: mcp.example") == "101"


@pytest.mark.rule("H47")
async def test_subprotocol():
    async with websocket_server() as port:
        for protocol in ("", "chat", "MCP"):
            assert await http_status(port, f"Sec-WebSocket-Protocol: {protocol}") == "400"
        assert await http_status(port, "Sec-WebSocket-Protocol: chat, mcp") == "101"
    async with websocket_server(require_subprotocol=False) as port:
        assert await http_status(port, "Sec-WebSocket-Protocol: ") == "101"
        assert await http_status(port, "Sec-WebSocket-Protocol: chat") == "101"


async def test_requests_for_no_websocket_are_refused(caplog: pytest.LogCaptureFixture):
    async with websocket_server() as port:
        assert await http_status(port, "Upgrade: ") == "400"
        assert await http_status(port, "Sec-WebSocket-Key: ") == "400"
        assert await http_status(port, "Sec-WebSocket-Version: 7") == "426"
        assert await http_status(port, "X: " + "x" * 100_000) == "400"
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 400")
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"\x16\x03\x01\x02\x00\x01\x00")
            await stream.send_eof()
            await stream.receive_some()
        async with connect_websocket(f"ws://127.0.0.1:{port}") as session:
            await session.ping()
    assert "failed" not in caplog.text


@pytest.mark.rule("H48")
async def test_handshake_that_never_comes():
    async with (
        websocket_server(handshake_timeout=0.2) as port,
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        await stream.send_all(b"GET / HTTP/1.1\r\n")
        with trio.fail_after(5):
            assert await stream.receive_some() == b""


# ---- what is sent


async def test_one_message_a_frame():
    violations: list[str] = []

    class Observed(Server):
        async def serve(self, transport: Any, **options: Any) -> None:
            await super().serve(transport, observer=self.observe, **options)

        def observe(self, time: float, what: Any) -> None:
            if isinstance(what, ProtocolViolation):
                violations.append(what.rule)

    server = Observed(Implementation("observed", "1"))
    async with websocket_server(server) as port, raw_client(port) as client:
        await client.send(TextMessage(INITIALIZE, message_finished=False))
        await client.send(TextMessage("", message_finished=False))
        await client.send(TextMessage("\n", message_finished=True))
        assert (await client.text())["id"] == 1
        await client.send(TextMessage(PING + "\n" + PING))
        assert (await client.text())["error"]["code"] == -32700
        await client.send(TextMessage("{\n" + PING[1:]))
        assert (await client.text()) == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert violations == ["JRPC-02"]


@pytest.mark.rule("H47")
@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (masked_frame(0x82, b"{}"), 1003),
        (masked_frame(0x81, b"\xff\xfe"), 1007),
        (masked_frame(0x81, b"x" * 101), 1009),
        (masked_frame(0x01, b"x" * 100) + masked_frame(0x80, b"x"), 1009),
        (masked_frame(0x01, "ü".encode() * 50) + masked_frame(0x80, b"x"), 1009),
        (b"\x81\x02{}", 1002),
        (masked_frame(0x83, b""), 1002),
        (masked_frame(0x80, b"{}"), 1002),
        (masked_frame(0x81, b"{}")[:1] + b"\xff" + b"\xff" * 8 + b"\0" * 4, 1002),
    ],
    ids=[
        "binary", "bad UTF-8", "too long", "too long in parts", "too many bytes", "unmasked",
        "unknown opcode", "continuation of nothing", "absurd length",
    ],
)  # fmt: skip
async def test_bad_frames_close_with_their_code(frame: bytes, code: int):
    server = make_server(limits=Limits(max_message_size=100))
    async with websocket_server(server) as port:
        async with raw_client(port) as client:
            await client.stream.send_all(frame)
            closed = await client.events(CloseConnection)
            assert closed.code == code
        async with raw_client(port) as another:
            await another.send(TextMessage(PING))
            assert (await another.text())["result"] == {}


async def test_empty_fragments_take_no_memory():
    async with websocket_server() as port, raw_client(port) as client:
        await client.stream.send_all(masked_frame(0x01, b""))
        fragments = masked_frame(0x00, b"") * 10_000 + masked_frame(0x89, b"mark")
        tracemalloc.start()
        try:
            sizes = []
            for _ in range(10):
                await client.stream.send_all(fragments)
                await client.events(Pong)
                sizes.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
        assert sizes[-1] - sizes[1] < 100_000
        await client.stream.send_all(masked_frame(0x80, PING.encode()))
        assert (await client.text())["result"] == {}


async def test_pings_are_answered_while_a_long_message_is_on_its_way():
    async with websocket_server() as port, raw_client(port) as client:
        await client.send(TextMessage(INITIALIZE))
        await client.text()
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await client.send(TextMessage(json.dumps(initialized)))
        arguments = {"name": "blob", "arguments": {"size": 15_000_000}}
        call = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": arguments}
        await client.send(TextMessage(json.dumps(call)))
        await trio.sleep(0.3)
        # The server is in the middle of its answer, which nobody reads, and gets this, and more
        # than the buffers on the way can hold.
        await client.send(Ping(b"still there?"))
        echo = {**call, "id": 4, "params": {"name": "echo", "arguments": {"pad": "x" * 15_000_000}}}
        with trio.fail_after(20):
            await client.send(TextMessage(json.dumps(echo)))
        assert (await client.events(Pong)).payload == b"still there?"


async def test_only_the_last_ping_needs_an_answer():
    async with websocket_server() as port, raw_client(port) as client:
        for n in range(100):
            await client.send(Ping(str(n).encode()))
        while (await client.events(Pong)).payload != b"99":
            pass


async def test_silent_peer_is_given_up():
    async with websocket_server(keep_alive=0.1) as port, raw_client(port) as client:
        assert (await client.events(Ping)).payload == b""
        # It is not answered.
        with trio.fail_after(5):
            while await client.stream.receive_some():
                pass


async def test_living_peer_is_kept():
    async with (
        websocket_server(keep_alive=0.05) as port,
        connect_websocket(f"ws://127.0.0.1:{port}", keep_alive=0.05) as session,
    ):
        await trio.sleep(0.5)
        await session.ping()


async def test_server_says_goodbye():
    async with (
        websocket_server(make_server(initialize_timeout=0.1)) as port,
        raw_client(port) as client,
    ):
        assert (await client.events(CloseConnection)).code == 1001


async def test_client_says_goodbye():
    async with websocket_server() as port, raw_client(port) as client:
        await client.send(CloseConnection(1000))
        assert (await client.events(CloseConnection)).code == 1000
        with trio.fail_after(5):
            assert await client.stream.receive_some() == b""


# ---- our client, and servers that do not behave


async def test_urls():
    for url in ("http://127.0.0.1/", "ws://", "127.0.0.1:80"):
        with pytest.raises(ValueError, match="expected ws"):
            async with connect_websocket(url):
                pass


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "HTTP 403"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", "HTTP 200"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "Bad HTTP message"),
        (b"", "closed the connection"),
        (None, "no websocket within 0.2 seconds"),
    ],
)
async def test_no_websocket_there(answer: bytes | None, reason: str):
    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        if answer is None:
            await trio.sleep_forever()
        else:
            await stream.send_all(answer)

    async with serving(trio.serve_tcp, serve, 0, host="127.0.0.1") as listeners:
        url = f"ws://127.0.0.1:{port_of(listeners)}"
        with pytest.raises(ConnectionLost, match=reason):
            async with connect_websocket(url, connect_timeout=0.2 if answer is None else 20):
                pass


async def test_headers_and_target_arrive():
    requests: list[bytes] = []

    async def serve(stream: trio.SocketStream) -> None:
        requests.append(bytes(await stream.receive_some()))

    async with serving(trio.serve_tcp, serve, 0, host="127.0.0.1") as listeners:
        url = f"ws://127.0.0.1:{port_of(listeners)}/some/path?a=b"
        with pytest.raises(ConnectionLost):
            async with connect_websocket(url, headers={"Authorization": "Bearer x"}):
                pass
    assert requests[0].startswith(b"GET /some/path?a=b HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer x\r\n" in requests[0]


# ---- peers that are not ours


async def test_server_of_trio_websocket_without_the_subprotocol():
    codes: list[Any] = []

    async def serve(request: trio_websocket.WebSocketRequest) -> None:
        websocket = await request.accept()
        try:
            await websocket.get_message()
        except trio_websocket.ConnectionClosed as closed:
            codes.append(closed.reason and closed.reason.code)

    async with trio.open_nursery() as nursery:
        running = await nursery.start(trio_websocket.serve_websocket, serve, "127.0.0.1", 0, None)
        with pytest.raises(ConnectionLost, match="subprotocol"):
            async with connect_websocket(f"ws://127.0.0.1:{running.port}"):
                pass
        await trio.sleep(0.2)
        nursery.cancel_scope.cancel()
    assert codes == [1002]


async def test_client_of_trio_websocket():
    async with (
        websocket_server() as port,
        trio_websocket.open_websocket_url(
            f"ws://127.0.0.1:{port}", subprotocols=["mcp"]
        ) as websocket,
    ):
        assert websocket.subprotocol == "mcp"
        await websocket.send_message(INITIALIZE)
        assert json.loads(await websocket.get_message())["id"] == 1


async def test_client_of_websockets():
    def talk(port: int) -> tuple[Any, Any]:
        with websockets.sync.client.connect(
            f"ws://127.0.0.1:{port}", subprotocols=[Subprotocol("mcp")]
        ) as websocket:
            websocket.send(INITIALIZE)
            answer = json.loads(websocket.recv())
            websocket.ping().wait(5)
            websocket.send(b"binary")
            with pytest.raises(websockets.exceptions.ConnectionClosed) as closed:
                websocket.recv()
            return answer, closed.value.rcvd and closed.value.rcvd.code

    async with websocket_server() as port:
        answer, code = await trio.to_thread.run_sync(talk, port)
    assert answer["result"]["serverInfo"]["name"] == "features"
    assert code == 1003


async def test_server_of_websockets():
    def serve(websocket: websockets.sync.server.ServerConnection) -> None:
        request = json.loads(websocket.recv())
        websocket.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": WELCOME}))
        websocket.recv()
        ping = json.loads(websocket.recv())
        websocket.send([f'{{"jsonrpc":"2.0","id":{ping["id"]}', ',"result":{}}'])
        websocket.recv()
        websocket.close(4001, "enough")

    with websockets.sync.server.serve(
        serve, "127.0.0.1", 0, subprotocols=[Subprotocol("mcp")]
    ) as server:
        port = server.socket.getsockname()[1]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.to_thread.run_sync, server.serve_forever)
            async with connect_websocket(f"ws://127.0.0.1:{port}") as session:
                await session.ping()
                with pytest.raises(ConnectionLost, match="4001: enough"):
                    await session.ping()
            server.shutdown()
