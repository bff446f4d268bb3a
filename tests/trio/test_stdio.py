"""Servers as real processes: how they are started, spoken to, and ended in every way."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from sansmcp import ProtocolViolation
from sansmcp.trio import (
    ConnectionLost,
    RequestTimeout,
    SessionError,
    Shutdown,
    connect_stdio,
)

from .conftest import FEATURES, REPOSITORY
from .test_transports import said

pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes of POSIX systems")

QUICK = Shutdown(after_close=0.2, after_terminate=0.2)

#: The beginning of a server written by hand; what follows is what it does after the handshake.
HANDSHAKE = """
import json, os, signal, subprocess, sys, time
def hear():
    return json.loads(sys.stdin.readline())
def say(message):
    print(json.dumps(message), flush=True)
def answer(request, result):
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})
def welcome():
    answer(hear(), {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "by-hand", "version": "0"}})
    hear()
"""


def script(body: str) -> list[str]:
    return [sys.executable, "-c", HANDSHAKE + textwrap.dedent(body)]


def is_alive(pid: int) -> bool:
    """Whether there is such a process, a zombie included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def is_gone(pid: int) -> bool:
    """Whether it is gone, once whoever has inherited it has had the time to notice."""
    with trio.move_on_after(5):
        while is_alive(pid) and not _is_orphaned_zombie(pid):
            await trio.sleep(0.01)
        return True
    return False


def _is_orphaned_zombie(pid: int) -> bool:
    # In a container there may be nobody who reaps what is inherited. Ours would be our own.
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return False
    return state == "Z" and int(parent) != os.getpid()


class Pids:
    """Takes the pids that a server writes to stderr."""

    def __init__(self) -> None:
        self.pids: list[int] = []
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        if line.startswith("pid "):
            self.pids.append(int(line[4:]))

    async def until(self, number: int) -> list[int]:
        with trio.fail_after(10):
            while len(self.pids) < number:
                await trio.sleep(0.01)
        return self.pids


TELL_PID = "print('pid', os.getpid(), file=sys.stderr, flush=True)\n"


# ---- starting


async def test_wrong_command():
    with pytest.raises(FileNotFoundError):
        async with connect_stdio(["/nowhere/to/be/found"]):
            pass
    with pytest.raises(TypeError, match="each of its arguments"):
        async with connect_stdio("python -m server"):
            pass


async def test_environment_holds_no_secrets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("LANG", "C.UTF-8")
    show = script("""
    welcome()
    answer(hear(), {"content": [], "structuredContent": dict(os.environ)})
    """)
    async with connect_stdio(show, env={"EXTRA": "1", "TERM": "odd"}) as session:
        environment = (await session.call_tool("x")).structured_content
    assert environment is not None
    assert "SECRET_TOKEN" not in environment
    assert environment["PATH"] == os.environ["PATH"]
    assert (environment["EXTRA"], environment["TERM"]) == ("1", "odd")
    assert environment["LANG"] == "C.UTF-8"


async def test_working_directory(tmp_path: Path):
    where = script("""
    welcome()
    answer(hear(), {"content": [{"type": "text", "text": os.getcwd()}]})
    """)
    async with connect_stdio(where, cwd=tmp_path) as session:
        assert said(await session.call_tool("x")) == str(tmp_path)


async def test_options_that_are_wrong_leave_no_process():
    children = _children()
    with pytest.raises(ValueError, match="unknown revisions"):
        async with connect_stdio(FEATURES, cwd=REPOSITORY, revisions=["1"], shutdown=QUICK):
            pass
    assert _children() == children


def _children() -> set[str]:
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    )
    return {line for line in listed.stdout.splitlines() if "tests.trio.features" in line}


# ---- talking


@pytest.mark.rule("STDIO-06", "STDIO-03", "H41", "S25")
async def test_what_handlers_print_ends_up_on_stderr():
    lines: list[str] = []
    violations: list[Any] = []

    def observe(time: float, what: Any) -> None:
        if isinstance(what, ProtocolViolation):
            violations.append(what)

    async with connect_stdio(
        FEATURES, cwd=REPOSITORY, stderr=lines.append, observer=observe
    ) as session:
        result = await session.call_tool("chatter")
        assert said(result) == "'' on standard input"
        await session.ping()
    assert violations == []
    assert {"a stray line", "straight to the descriptor", "from a child"} <= set(lines)


@pytest.mark.rule("H42", "STDIO-04", "STDIO-05")
@pytest.mark.parametrize("stderr", ["discard", "callback", "failing callback", "inherit"])
async def test_stderr_never_blocks_the_server(
    stderr: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    noisy = script("""
    welcome()
    request = hear()
    for _ in range(1000):
        sys.stderr.write("y" * 9_999 + "\\n")
    sys.stderr.write("the end")
    sys.stderr.flush()
    answer(request, {"content": []})
    """)
    lines: list[str] = []

    def failing(line: str) -> None:
        raise KeyError("callback")

    if "callback" in stderr:
        to: Any = failing if stderr == "failing callback" else lines.append
    else:
        to = stderr
    async with connect_stdio(noisy, stderr=to) as session:
        with trio.fail_after(20):
            await session.call_tool("x")
    seen = capfd.readouterr().err
    match stderr:
        case "callback":
            assert lines == ["y" * 9_999] * 1000 + ["the end"]
        case "failing callback":
            assert "the callback for a server's stderr failed" in caplog.text
        case "inherit":
            assert seen.endswith("the end")
        case "discard":
            assert seen == ""


async def test_long_lines_on_stderr_come_in_pieces():
    long = script("""
    sys.stderr.write("z" * 1_000_000 + "\\r\\n\\xfc\\n")
    sys.stderr.flush()
    welcome()
    sys.stdin.read()
    """)
    lines: list[str] = []
    async with connect_stdio(long, stderr=lines.append):
        pass
    assert "".join(lines) == "z" * 1_000_000 + "ü"
    assert max(len(line) for line in lines) < 200_000


@pytest.mark.rule("H01")
async def test_garbage_on_stdout_is_survived():
    talkative = script("""
    print("Server v1.2 listening", flush=True)
    welcome()
    print("\\x1b[31mhello\\x1b[0m", flush=True)
    answer(hear(), {})
    """)
    violations: list[str] = []

    def observe(time: float, what: Any) -> None:
        if isinstance(what, ProtocolViolation):
            violations.append(what.rule)

    async with connect_stdio(talkative, observer=observe) as session:
        await session.ping()
    assert violations == ["JRPC-02", "JRPC-02"]


# ---- ending

Body = Callable[[trio.CancelScope], Awaitable[None]]


async def _return(scope: trio.CancelScope) -> None:
    pass


async def _raise(scope: trio.CancelScope) -> None:
    raise KeyError("body")


async def _be_cancelled(scope: trio.CancelScope) -> None:
    scope.cancel()
    await trio.sleep_forever()


WELL_BEHAVED = "welcome()\nsys.stdin.read()\n"
HANGING = "welcome()\ntime.sleep(1000)\n"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HANGING
NOT_READING = "welcome()\nwhile True: print('{}', flush=True)\n"
CLOSED_STDOUT = "welcome()\nos.close(1)\ntime.sleep(1000)\n"
CLOSED_STDIN = "welcome()\nos.close(0)\ntime.sleep(1000)\n"
WITH_GRANDCHILD = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = subprocess.Popen(['sleep', '1000'])\n"
    "print('pid', child.pid, file=sys.stderr, flush=True)\n" + HANGING
)
LEAVES_A_CHILD = (
    "child = subprocess.Popen(['sleep', '1000'])\n"
    "print('pid', child.pid, file=sys.stderr, flush=True)\n" + WELL_BEHAVED
)


@pytest.mark.rule("STDIO-08", "H43")
@pytest.mark.parametrize("body", [_return, _raise, _be_cancelled])
@pytest.mark.parametrize(
    ("server", "pids"),
    [
        pytest.param(WELL_BEHAVED, 1, id="well behaved"),
        pytest.param(HANGING, 1, id="hanging"),
        pytest.param(STUBBORN, 1, id="stubborn"),
        pytest.param(NOT_READING, 1, id="flooding"),
        pytest.param(CLOSED_STDOUT, 1, id="closed stdout"),
        pytest.param(CLOSED_STDIN, 1, id="closed stdin"),
        pytest.param(WITH_GRANDCHILD, 2, id="with grandchild"),
        pytest.param(LEAVES_A_CHILD, 2, id="leaves a child"),
    ],
)
async def test_no_process_is_left(server: str, pids: int, body: Body):
    seen = Pids()
    begun = time.monotonic()
    try:
        with trio.CancelScope() as scope:
            async with connect_stdio(script(TELL_PID + server), stderr=seen, shutdown=QUICK):
                await seen.until(pids)
                await body(scope)
    except KeyError:
        assert body is _raise
    assert time.monotonic() - begun < 10
    assert len(seen.pids) == pids
    assert not is_alive(seen.pids[0])
    for pid in seen.pids:
        assert await is_gone(pid)


async def test_server_that_never_answers_is_ended():
    seen = Pids()
    with pytest.raises(RequestTimeout):
        async with connect_stdio(
            script(TELL_PID + "time.sleep(1000)"), stderr=seen, shutdown=QUICK, timeout=1
        ):
            pass
    assert not is_alive(seen.pids[0])


async def test_server_that_ends_by_itself_is_reaped_while_the_session_lasts():
    seen = Pids()
    async with connect_stdio(
        script(TELL_PID + "welcome()"), stderr=seen, shutdown=QUICK
    ) as session:
        with pytest.raises(ConnectionLost):
            await session.ping()
        (pid,) = seen.pids
        with trio.fail_after(5):
            while is_alive(pid):
                await trio.sleep(0.01)


async def test_polite_server_gets_the_time_it_needs(tmp_path: Path):
    mark = tmp_path / "ended"
    polite = script(f"""
    welcome()
    sys.stdin.read()
    time.sleep(0.5)
    open({str(mark)!r}, "w").close()
    """)
    async with connect_stdio(polite):
        pass
    assert mark.exists()


async def test_terminated_server_may_clean_up(tmp_path: Path):
    mark = tmp_path / "ended"
    cleaning = script(f"""
    def clean(*args):
        open({str(mark)!r}, "w").close()
        sys.exit()
    signal.signal(signal.SIGTERM, clean)
    welcome()
    time.sleep(1000)
    """)
    async with connect_stdio(cleaning, shutdown=Shutdown(after_close=0.1)):
        pass
    assert mark.exists()


@pytest.mark.parametrize("seconds", [-1, "soon"])
def test_times_of_the_shutdown_are_checked(seconds: Any):
    with pytest.raises((ValueError, TypeError)):
        Shutdown(after_close=seconds)


@pytest.mark.rule("STDIO-09", "H07")
@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("hear(); sys.exit(3)", "the server ended with exit status 3"),
        ("hear(); os.kill(os.getpid(), 9)", "the server ended with signal 9"),
        ("hear()", "the peer closed the connection"),
        ("hear(); sys.stdout.write('{\"jsonrpc'); sys.exit(1)", "exit status 1"),
        ("hear(); os.close(1); time.sleep(1000)", "the peer closed the connection"),
        ("sys.exit(4)", "the server ended with exit status 4"),
    ],
)
async def test_server_that_ends_during_a_call(end: str, reason: str):
    async with connect_stdio(script(f"welcome(); {end}"), shutdown=QUICK) as session:
        with pytest.raises(ConnectionLost, match=reason), trio.fail_after(10):
            await session.call_tool("x", {"pad": "x" * 500_000})
        with pytest.raises(ConnectionLost, match=reason):
            await session.ping()


async def test_server_that_closes_its_input():
    async with connect_stdio(script(CLOSED_STDIN), shutdown=QUICK) as session:
        await trio.sleep(0.2)
        with pytest.raises(ConnectionLost, match="Broken pipe"), trio.fail_after(10):
            await session.ping()


async def test_server_that_ends_before_the_handshake():
    with pytest.raises(SessionError, match="exit status 5"):
        async with connect_stdio(script("sys.exit(5)")):
            pass


async def test_keyboard_interrupt_is_not_for_the_server():
    seen = Pids()
    async with connect_stdio(script(TELL_PID + WELL_BEHAVED), stderr=seen) as session:
        (pid,) = await seen.until(1)
        assert os.getpgid(pid) == pid != os.getpgid(0)
        assert session.peer_info.name == "by-hand"


# ---- serving


def _initialize(*more: Any) -> bytes:
    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "pipe", "version": "1"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *more,
    ]
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def _call(id: int, name: str, **arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def _run(data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(FEATURES, cwd=REPOSITORY, input=data, capture_output=True, timeout=30)


@pytest.mark.rule("STDIO-06")
def test_server_ends_when_its_input_ends():
    ran = _run(_initialize(_call(2, "chatter"), _call(3, "echo", a=1)))
    assert ran.returncode == 0
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert b"a stray line" in ran.stderr


def test_server_ends_though_a_handler_hangs():
    begun = time.monotonic()
    assert _run(_initialize(_call(2, "wait"))).returncode == 0
    assert time.monotonic() - begun < 10


@pytest.mark.rule("H44")
def test_client_that_writes_everything_before_it_reads_anything():
    calls = [_call(id, "echo", pad="x" * 1_000_000) for id in range(2, 52)]
    server = subprocess.Popen(
        FEATURES, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        server.stdin.write(_initialize(*calls))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(51)]
        server.stdin.close()
    assert {answer["id"] for answer in answers} == set(range(1, 52))


def test_server_with_files_for_input_and_output(tmp_path: Path):
    (tmp_path / "in").write_bytes(_initialize(_call(2, "echo", a=1)))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as target:
        subprocess.run(
            FEATURES, cwd=REPOSITORY, stdin=source, stdout=target, timeout=30, check=True
        )
    assert len((tmp_path / "out").read_bytes().splitlines()) == 2


def test_server_whose_client_is_gone():
    server = subprocess.Popen(
        FEATURES, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(_initialize())
    server.stdin.flush()
    server.stdout.readline()
    server.stdout.close()
    server.stdin.write(json.dumps(_call(2, "echo")).encode() + b"\n")
    server.stdin.flush()
    # It cannot answer any more, so it ends, though its input has not.
    assert server.wait(timeout=20) == 0
    server.stdin.close()


def test_interrupted_server_ends():
    server = subprocess.Popen(
        FEATURES,
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        server.stdin.write(_initialize(_call(2, "wait")))
        server.stdin.flush()
        server.stdout.readline()
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) != 0
