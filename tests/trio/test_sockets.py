"""TCP and Unix sockets, beyond what all transports have in common."""

import os
import ssl
import stat
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme

from sansmcp import Implementation
from sansmcp.trio import (
    ConnectionLost,
    Server,
    connect_tcp,
    connect_unix,
    serve_tcp,
    serve_unix,
)
from sansmcp.trio._background import background_nursery

from .conftest import port_of, serving
from .features import make_server

HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)


def call(id: int, name: str) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s",'
        b'"arguments":{"size":3000000}}}\n' % (id, name.encode())
    )


async def read_all(stream: trio.abc.ReceiveStream) -> bytes:
    data = b""
    with trio.fail_after(20):
        async for part in stream:
            data += part
    return data


async def test_half_closed_connection_gets_its_answers():
    async with (
        serving(serve_tcp, make_server(), "127.0.0.1", 0) as listeners,
        await trio.open_tcp_stream("127.0.0.1", port_of(listeners)) as stream,
    ):
        await stream.send_all(HANDSHAKE + call(2, "blob") + call(3, "echo"))
        await stream.send_eof()
        answers = (await read_all(stream)).splitlines()
    assert len(answers) == 3
    assert max(len(answer) for answer in answers) > 3_000_000


async def test_half_closed_connection_does_not_live_for_ever():
    async with (
        serving(serve_tcp, make_server(linger=0.2), "127.0.0.1", 0) as listeners,
        await trio.open_tcp_stream("127.0.0.1", port_of(listeners)) as stream,
    ):
        await stream.send_all(HANDSHAKE + call(2, "wait"))
        await stream.send_eof()
        assert (await read_all(stream)).count(b"\n") == 1


async def test_connection_that_is_reset(caplog: pytest.LogCaptureFixture):
    async with serving(serve_tcp, make_server(), "127.0.0.1", 0) as listeners:
        port = port_of(listeners)
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(HANDSHAKE + call(2, "blob"))
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        await stream.aclose()
        async with connect_tcp("127.0.0.1", port) as session:
            await session.ping()
    assert "failed" not in caplog.text


@pytest.mark.parametrize("kind", ["tcp", "unix"])
async def test_connection_limit(kind: str, tmp_path: Path):
    server, path = make_server(), tmp_path / "socket"
    serve: Any = (
        serving(serve_tcp, server, "127.0.0.1", 0, max_connections=2)
        if kind == "tcp"
        else serving(serve_unix, server, path, max_connections=2)
    )
    async with serve as listeners:

        def connect() -> Any:
            if kind == "tcp":
                return connect_tcp("127.0.0.1", port_of(listeners))
            return connect_unix(path)

        async with connect(), connect() as session:
            with pytest.raises(ConnectionLost):
                async with connect():
                    pass
            await session.ping()
        with trio.fail_after(5):
            while True:
                try:
                    async with connect() as again:
                        await again.ping()
                        break
                except ConnectionLost:
                    await trio.sleep(0.01)


async def test_nobody_listens(tmp_path: Path):
    async with serving(serve_tcp, make_server(), "127.0.0.1", 0) as listeners:
        port = port_of(listeners)
    with pytest.raises(OSError, match=str(port)):
        async with connect_tcp("127.0.0.1", port):
            pass
    with pytest.raises(FileNotFoundError):
        async with connect_unix(tmp_path / "nothing"):
            pass


async def test_stopping_the_server_ends_its_sessions():
    async with background_nursery() as nursery:
        listeners = await nursery.start(serve_tcp, make_server(), "127.0.0.1", 0)
        async with connect_tcp("127.0.0.1", port_of(listeners)) as session:
            nursery.cancel_scope.cancel()
            with pytest.raises(ConnectionLost), trio.fail_after(5):
                await session.call_tool("wait")


async def test_fault_of_ours_ends_one_connection_only(caplog: pytest.LogCaptureFixture):
    class Faulty(Server):
        async def serve(self, transport: Any, **options: Any) -> None:
            if await transport.receive_some(1) == b"!":
                raise ZeroDivisionError
            await transport.send_all(b"fine")

    async with serving(serve_tcp, Faulty(Implementation("x", "1")), "127.0.0.1", 0) as listeners:
        for said, heard in ((b"!", b""), (b"?", b"fine")):
            async with await trio.open_tcp_stream("127.0.0.1", port_of(listeners)) as stream:
                await stream.send_all(said)
                assert await read_all(stream) == heard
    assert "a connection failed" in caplog.text


# ---- TLS


async def test_certificate_is_checked(server_context: ssl.SSLContext):
    async with serving(
        serve_tcp, make_server(), "localhost", 0, ssl_context=server_context
    ) as listeners:
        with pytest.raises(ConnectionLost, match="CERTIFICATE_VERIFY_FAILED"):
            async with connect_tcp(
                "localhost", port_of(listeners), ssl_context=ssl.create_default_context()
            ):
                pass


async def test_client_without_tls(server_context: ssl.SSLContext, client_context: ssl.SSLContext):
    async with serving(
        serve_tcp, make_server(), "localhost", 0, ssl_context=server_context
    ) as listeners:
        port = port_of(listeners)
        with pytest.raises(ConnectionLost):
            async with connect_tcp("localhost", port):
                pass
        async with connect_tcp("localhost", port, ssl_context=client_context) as session:
            await session.ping()


async def test_client_certificates(
    authority: trustme.CA, server_context: ssl.SSLContext, client_context: ssl.SSLContext
):
    authority.configure_trust(server_context)
    server_context.verify_mode = ssl.CERT_REQUIRED
    async with serving(
        serve_tcp, make_server(), "localhost", 0, ssl_context=server_context
    ) as listeners:
        port = port_of(listeners)
        with pytest.raises(ConnectionLost):
            async with connect_tcp("localhost", port, ssl_context=client_context):
                pass
        authority.issue_cert("me@example.com").configure_cert(client_context)
        async with connect_tcp("localhost", port, ssl_context=client_context) as session:
            await session.ping()


# ---- Unix sockets


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_unix_socket_is_for_its_owner_only(tmp_path: Path):
    path = tmp_path / "socket"
    before = os.umask(0)
    try:
        async with serving(serve_unix, make_server(), path):
            assert mode_of(path) == 0o600
    finally:
        os.umask(before)
    assert not path.exists()


async def test_stale_unix_socket_is_replaced(tmp_path: Path):
    path = tmp_path / "socket"
    with trio.socket.socket(trio.socket.AF_UNIX) as stale:
        await stale.bind(str(path))
    assert path.exists()
    async with serving(serve_unix, make_server(), path), connect_unix(path) as session:
        await session.ping()


async def test_unix_socket_in_use_is_kept(tmp_path: Path):
    path = tmp_path / "socket"
    async with serving(serve_unix, make_server(), path), connect_unix(path) as session:
        with pytest.raises(OSError, match="Address already in use"):
            await serve_unix(make_server(), path)
        await session.ping()
        async with connect_unix(path) as another:
            await another.ping()


async def test_file_that_is_no_socket_is_kept(tmp_path: Path):
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(OSError, match="Address already in use"):
        await serve_unix(make_server(), path)
    assert path.read_text() == "data"


async def test_unix_socket_of_somebody_else_is_not_removed(tmp_path: Path):
    path = tmp_path / "socket"
    async with serving(serve_unix, make_server(), path):
        path.unlink()
        path.write_text("another's")
    assert path.read_text() == "another's"
