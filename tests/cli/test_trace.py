"""`sansmcp trace`, as a host runs it: real processes, every byte, and what is written of them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sansmcp import CLIENT, SERVER, Monitor, Transcript
from sansmcp.cli.recorder import CODES, LOST, Recorder
from sansmcp.cli.recordings import read_recording
from sansmcp.trio import connect_stdio
from tests.test_monitor import HANDSHAKE

HERE = Path(__file__).resolve().parent.parent.parent
TRACE = [sys.executable, "-m", "sansmcp.cli", "trace"]
DEMO = [sys.executable, "-m", "sansmcp.cli", "serve", "--stdio"]


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


CAT = python("import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)")


def run(
    command: list[str], data: bytes, output: Any, *options: str, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*TRACE, "-o", str(output), *options, "--", *command],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
        **more,
    )


# ---- what passes


@pytest.mark.parametrize(
    "data",
    [b"", b"no newline", bytes(range(256)) * 1000, b"\n\n\r\n", b"x" * 5_000_000 + b"\n"],
    ids=["nothing", "no newline", "all bytes", "blank lines", "a long line"],
)
def test_every_byte_passes_as_it_is_both_ways(data: bytes, tmp_path: Path) -> None:
    done = run(CAT, data, tmp_path / "t")
    assert (done.returncode, done.stdout) == (0, data)


def test_what_the_server_says_to_people_passes(tmp_path: Path) -> None:
    done = run(
        python("import sys; print('for people', file=sys.stderr)"), b"", tmp_path / "t", "-q"
    )
    assert done.stderr.strip() == b"for people"


@pytest.mark.parametrize("status", [0, 3, 255])
def test_the_servers_status_is_ours(status: int, tmp_path: Path) -> None:
    assert run(python(f"raise SystemExit({status})"), b"", tmp_path / "t").returncode == status


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV"])
def test_a_server_that_a_signal_ends_has_us_end_by_the_same(name: str, tmp_path: Path) -> None:
    code = f"import os, signal; os.kill(os.getpid(), signal.{name})"
    assert run(python(code), b"", tmp_path / "t").returncode == -getattr(signal, name)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
def test_a_signal_for_the_server_reaches_it(name: str, tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        f"signal.signal(signal.{name}, lambda *_: sys.exit(42))\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [*TRACE, "-q", "-o", str(tmp_path / "t"), "--", *python(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(getattr(signal, name))
        assert process.wait(30) == 42


def test_a_server_that_closes_its_output_and_lives_on(tmp_path: Path) -> None:
    code = "import os, sys; os.write(1, b'last'); os.close(1); sys.stdin.read()"
    with subprocess.Popen(
        [*TRACE, "-q", "-o", str(tmp_path / "t"), "--", *python(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read() == b"last"  # The host sees the end while the server lives.
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(30) == 0


def test_a_server_that_closes_its_input_has_the_host_see_that(tmp_path: Path) -> None:
    code = "import os, time; os.close(0); print('closed', flush=True); time.sleep(60)"
    with subprocess.Popen(
        [*TRACE, "-q", "-o", str(tmp_path / "t"), "--", *python(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"closed\n"
        with pytest.raises(BrokenPipeError):  # noqa: PT012
            for _ in range(100):
                process.stdin.write(b"x\n")
                time.sleep(0.05)
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM


def test_a_host_that_goes_away_ends_the_server(tmp_path: Path) -> None:
    code = "import sys\nwhile True: print('x' * 1000, flush=True)"
    with subprocess.Popen(
        [*TRACE, "-q", "-o", str(tmp_path / "t"), "--", *python(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(30) != 0


@pytest.mark.parametrize(("command", "status"), [("no-such-program", 127), ("/", 126)])
def test_a_command_that_cannot_be_started(command: str, status: int, tmp_path: Path) -> None:
    done = run([command], b"", tmp_path / "t", "-q")
    assert done.returncode == status
    assert done.stderr.decode().startswith(f"sansmcp trace: {command}: ")


# ---- what is recorded


async def test_a_conversation_is_recorded_and_judged(tmp_path: Path) -> None:
    path = tmp_path / "t.ndjson"
    before = time.time()
    async with connect_stdio(
        [*TRACE, "-o", str(path), "--", *DEMO], cwd=HERE, stderr="discard"
    ) as session:
        result = await session.call_tool("add", {"a": 2, "b": 3})
    assert result.structured_content == {"sum": 5}
    transcript = Transcript.load(path)
    said = str(transcript)
    assert "client: initialize #" in said
    assert "tools/call #" in said
    times = [entry.time or 0.0 for entry in transcript]
    assert times == sorted(times)
    assert before <= times[0] <= times[-1] <= time.time()
    monitor = Monitor(from_start=True)
    for entry in transcript:
        assert monitor.receive_message(entry.sender, entry.text).violations == ()


def test_the_verdict_is_one_line(tmp_path: Path) -> None:
    lines = "".join(json.dumps(message) + "\n" for _, message in HANDSHAKE).encode()
    # The server sends back what it gets, and so is held to what a client says.
    done = run(CAT, lines, tmp_path / "t")
    assert done.stdout == lines
    [told] = done.stderr.decode().splitlines()
    assert told.startswith(f"sansmcp trace: 6 messages in {tmp_path / 't'}; MUST broken: ")
    assert run(CAT, lines, tmp_path / "t", "--quiet").stderr == b""


def test_what_is_no_message_is_recorded_too(tmp_path: Path) -> None:
    run(python("print('Hello, I am a banner')"), b"", tmp_path / "t", "-q")
    [entry] = Transcript.load(tmp_path / "t")
    assert (entry.sender, entry.text) == (SERVER, "Hello, I am a banner")


def test_without_a_name_the_transcript_is_in_this_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    subprocess.run(
        [*TRACE, "-q", "--", *CAT],
        input=b"{}\n",
        cwd=tmp_path,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    [found] = tmp_path.glob("mcp-*.ndjson")
    assert len(Transcript.load(found)) == 2
    assert found.stat().st_mode & 0o077 == 0  # Nobody else is to read it.


def test_secrets_are_masked_in_what_is_recorded_and_nowhere_else(tmp_path: Path) -> None:
    secret = {
        "jsonrpc": "2.0",
        "method": "x",
        "params": {"deep": [{"token": {"is": "s3cret"}}], "token": "s3cret", "other": 1},
    }
    text = json.dumps(secret).encode() + b'\n{"token": "s3cret"\n'
    done = run(CAT, text, tmp_path / "t", "--redact", "token", "--redact", "password")
    assert done.stdout == text
    recorded = (tmp_path / "t").read_text()
    assert "s3cret" not in recorded
    first = Transcript.load(tmp_path / "t").entries[0]
    assert isinstance(first.message, dict)
    assert first.message["params"]["other"] == 1
    assert "s3cret" not in done.stderr.decode()


@pytest.mark.parametrize("depth", [100, 500, 900])
def test_secrets_are_masked_however_deep_they_lie(depth: int, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "t", ["token"])
    deep = b"[" * depth + b'{"token": "s3cret"}' + b"]" * depth
    recorder.receive(CODES[CLIENT], 0.0, b'{"method": "x", "params": {"p": %b}}\n' % deep)
    recorder.receive(CODES[CLIENT], 0.0, b'{"after": 1}\n')
    recorder.close()
    assert b"s3cret" not in (tmp_path / "t").read_bytes()
    assert len(Transcript.load(tmp_path / "t")) == 2


# ---- whatever happens to the recording


@pytest.mark.parametrize("output", ["/dev/full", "/nowhere/at/all", "/"])
def test_a_recording_that_fails_is_told_once_and_disturbs_nothing(output: str) -> None:
    data = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 1000
    done = run(CAT, data, output)
    assert (done.returncode, done.stdout) == (0, data)
    assert done.stderr.decode().count("is not recorded any further") == 1
    assert "2,000 messages; " in done.stderr.decode()


def test_a_disk_that_fills_up_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "t"
    data = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 1000
    # The shell's limit for files stands for the disk's: both cut a write short, then refuse it.
    command = ["sh", "-c", 'ulimit -f 20 && exec "$@"', "sh", *TRACE, "-o", str(path), "--", *CAT]
    done = subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, data)
    assert done.stderr.decode().count("is not recorded any further") == 1
    assert "2,000 messages; " in done.stderr.decode()
    assert path.stat().st_size > 5000
    assert 10 < len(Transcript.load(path)) < 2000


def test_a_pipe_whose_reader_goes_away(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t")
    reader = os.open(tmp_path / "t", os.O_RDONLY | os.O_NONBLOCK)
    recorder = Recorder(tmp_path / "t", ())
    recorder.receive(CODES[CLIENT], 0.0, b"{}\n")
    assert os.read(reader, 1000).startswith(b'{"from":"client"')
    os.close(reader)
    recorder.receive(CODES[CLIENT], 0.0, b"{}\n{}\n")
    assert recorder.verdict().startswith("3 messages; ")


def test_a_pipe_that_nobody_reads_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "t")
    Recorder(tmp_path / "t", ())
    assert "is not recorded any further" in capsys.readouterr().err


def test_a_recorder_that_dies_disturbs_nothing(tmp_path: Path) -> None:
    kill = (
        "import os, signal, sys, time\n"
        "for line in sys.stdin:\n"
        "    for entry in os.scandir('/proc'):\n"
        "        if entry.name.isdigit():\n"
        "            try: words = open(f'/proc/{entry.name}/cmdline').read().split('\\0')\n"
        "            except OSError: continue\n"
        f"            if words[1:4] == ['-m', 'sansmcp.cli.recorder', {str(tmp_path / 't')!r}]:\n"
        "                os.kill(int(entry.name), signal.SIGKILL)\n"
        "    print(line, end='', flush=True)\n"
    )
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("there is no /proc to find the recorder by")
    data = b"{}\n" * 30
    done = run(python(kill), data, tmp_path / "t")
    assert (done.returncode, done.stdout) == (0, data)
    assert "no rule broken" not in done.stderr.decode()
    assert done.stderr.decode().count("the recorder has failed") == 1


def test_without_a_person_to_tell_it_goes_on(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*TRACE, "-o", "/dev/full", "--", *CAT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        process.stderr.close()
        out, _ = process.communicate(b"{}\n", 60)
        assert (process.returncode, out) == (0, b"{}\n")


def test_what_could_not_be_recorded_is_held_against_nobody(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "t", ())
    lines = [(CODES[side], json.dumps(message).encode() + b"\n") for side, message in HANDSHAKE]
    recorder.receive(*_timed(lines[0]))
    recorder.receive(LOST, 0.0, (12345).to_bytes(8, "little"))
    recorder.receive(CODES[SERVER], 0.0, b'{"jsonrpc": "2.0", "id": 77, "result": {}}\n')
    recorder.close()
    assert "12,345 bytes not recorded; no rule broken" in recorder.verdict()
    # Whoever reads the transcript later is not to take what is missing for a fault either.
    assert json.loads((tmp_path / "t").read_bytes().splitlines()[1])["missed"] == 12345
    [recording] = read_recording((tmp_path / "t").read_text(), "t")
    assert recording.gaps


def _timed(line: tuple[int, bytes]) -> tuple[int, float, bytes]:
    return line[0], 0.0, line[1]


# ---- real peers


def test_the_official_sdks_client_with_a_reference_server(tmp_path: Path) -> None:
    """A live trace of two peers that are not ours, with no false violation."""
    folder = os.environ.get("SANSMCP_NODE_PEERS")
    if folder is None:
        pytest.skip("SANSMCP_NODE_PEERS names no folder with the reference servers (see .ci/run)")
    pytest.importorskip("mcp")
    path = tmp_path / "t"
    server = str(Path(folder) / "node_modules" / ".bin" / "mcp-server-everything")
    command = [*TRACE[1:], "-q", "-o", str(path), "--", server]
    code = f"""
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
async def main():
    server = StdioServerParameters(command=sys.executable, args={command!r}, cwd={str(HERE)!r})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()
        await session.call_tool("echo", {{"message": "hi"}})
        await session.list_resources()
        await session.list_prompts()
        await session.get_prompt("simple-prompt")
        await session.call_tool("get-structured-content", {{"location": "New York"}})
        await session.send_ping()
asyncio.run(main())
"""
    done = subprocess.run(python(code), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    monitor = Monitor(from_start=True)
    broken = [
        violation.rule.id
        for entry in Transcript.load(path)
        for violation in monitor.receive_message(entry.sender, entry.text).violations
    ]
    assert sum(entry.sender is CLIENT for entry in Transcript.load(path)) >= 9
    assert broken == []
