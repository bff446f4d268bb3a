"""`sansmcp serve` and the addresses that `sansmcp inspect` takes."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click
import pytest

from sansmcp.cli.targets import Address, Command, endpoint, target_of

from .test_inspect import HERE, run


@contextmanager
def served(*options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The demo server: the address that it prints, and its process."""
    with subprocess.Popen(
        [sys.executable, "-m", "sansmcp.cli", "serve", *options],
        stderr=subprocess.PIPE,
        text=True,
        cwd=HERE,
    ) as process:
        try:
            yield _address(process.stderr), process
        finally:
            process.terminate()


def _address(stderr: IO[str] | None) -> str:
    assert stderr is not None
    line = stderr.readline()
    match = re.fullmatch(r"listening at (\S+)\n", line)
    assert match, line
    return match[1]


@pytest.fixture(params=["tcp", "unix", "ws"])
def transport(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    name = str(request.param)
    return [f"--{name}", str(tmp_path / "socket") if name == "unix" else "127.0.0.1:0"]


def test_what_is_served_can_be_inspected(transport: list[str]) -> None:
    with served(*transport) as (address, _):
        done = run("inspect", "--call", "add", '{"a": 2, "b": 3}', address)
        assert done.returncode == 0, done.stdout + done.stderr
        assert '"sum": 5' in done.stdout
        # And once more: a server serves many.
        assert run("inspect", "--json", address).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_its_socket(number: int, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with served("--unix", str(path)) as (address, process):
        assert address == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o600
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    assert not path.exists()


def test_an_address_in_use_is_one_clear_sentence(transport: list[str], tmp_path: Path) -> None:
    with served(*transport) as (address, _):
        where = address.partition(":")[2].removeprefix("//")
        done = run("serve", transport[0], where)
    assert done.returncode == 2
    assert f"cannot listen at {where}: " in done.stderr
    assert "in use" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--stdio", "--tcp", "0"],
        ["--tcp", "nonsense"],
        ["--tcp", "a:b"],
        ["--tcp", "99999"],
        ["--tcp", ":5"],
        ["--ws", "127.0.0.1:1:2"],
        ["--tcp", "0", "--origin", "https://a.example"],
    ],
)
def test_options_that_make_no_sense(options: list[str]) -> None:
    done = run("serve", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "unix:/nowhere/socket", "ws://127.0.0.1:9"]
)
def test_a_server_that_is_not_there_is_one_clear_line(address: str) -> None:
    done = run("inspect", address)
    assert done.returncode == 1
    assert done.stderr.startswith(f"sansmcp inspect: cannot connect to {address}: ")
    assert len(done.stderr.splitlines()) == 1


def test_what_is_no_websocket_is_one_clear_line() -> None:
    with served("--tcp", "127.0.0.1:0") as (address, _):
        done = run("inspect", address.replace("tcp", "ws"), "--timeout", "2")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["tcp://localhost:5"], Address("tcp", "localhost", 5)),
        (["tcp://[::1]:5"], Address("tcp", "::1", 5)),
        (["unix:a/b"], Address("unix", path="a/b")),
        (["unix:///a/b"], Address("unix", path="/a/b")),
        (["ws://h/p"], Address("ws", "h", 80, "ws://h/p")),
        (["wss://h/p"], Address("wss", "h", 443, "wss://h/p")),
        (["program"], Command(("program",))),
        (["a:b"], Command(("a:b",))),
        (["program", "tcp://h:1"], Command(("program", "tcp://h:1"))),
    ],
)
def test_addresses_and_commands(words: list[str], target: object) -> None:
    assert target_of(words) == target


@pytest.mark.parametrize("word", ["tcp://h", "tcp://:5", "unix:", "ws://", "tcp://h:x", "tcp://[h"])
def test_addresses_that_are_incomplete(word: str) -> None:
    with pytest.raises(click.UsageError):
        target_of([word])


def test_endpoints() -> None:
    assert endpoint("8000") == ("127.0.0.1", 8000)
    assert endpoint("[::1]:8000") == ("::1", 8000)
    assert endpoint("localhost:0") == ("localhost", 0)


def test_the_environment_of_a_command_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANSMCP_TEST_SEEN", "yes")
    code = "import os, sys; sys.exit(os.environ.get('SANSMCP_TEST_SEEN', 'no'))"
    done = run("inspect", "--", sys.executable, "-c", code, **os.environ)
    assert "yes" in done.stderr
