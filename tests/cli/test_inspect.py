"""`sansmcp inspect`, as a user runs it: real processes, standard output and exit status."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent.parent
TOUR = [
    "Handshake",
    "Ping",
    "Lists, page by page",
    "A tool with structured output",
    "A tool that gives an image",
    "A tool that fails",
    "A tool that does not exist",
    "Progress and log messages",
    "Cancellation",
    "A timeout",
    "Resources",
    "A subscription",
    "A prompt, and completion",
    "The server asks back",
    "A call that becomes a task",
    "A task that is cancelled",
    "A mistake of our own",
]


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command, and see that it leaves no process behind."""
    mark = marked(environment)
    # The width of the terminal that runs the tests is not the width of a pipe.
    inherited = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "sansmcp.cli", *args],
        capture_output=True,
        text=True,
        cwd=HERE,
        timeout=60,
        env={**inherited, **environment},
        check=False,
    )
    assert left_behind(mark) == []
    return done


def marked(environment: dict[str, str]) -> str:
    """Put something into an environment by which its processes can be found."""
    environment["SANSMCP_TEST_MARK"] = mark = str(uuid.uuid4())
    return mark


def left_behind(mark: str) -> list[str]:
    """The command lines of the processes that have the mark, where there is a `/proc` to tell.

    What was killed may take a moment to go.
    """
    for _ in range(50):
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # It has ended meanwhile, or is not ours.
                if mark.encode() in (process / "environ").read_bytes():
                    found.append((process / "cmdline").read_text().replace("\0", " "))
        if not found:
            break
        time.sleep(0.1)
    return found


def server(name: str) -> list[str]:
    return ["--", sys.executable, "-m", "tests.cli.servers", name]


def test_the_tour_shows_every_feature_and_succeeds() -> None:
    done = run("inspect")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert [line for line in lines if line in TOUR] == TOUR
    assert "\x1b" not in done.stdout  # Plain text in a pipe.
    assert sum("✓" in line for line in lines) == len(TOUR)
    assert "✗" not in done.stdout
    for said in (
        "initialize 2025-11-25",
        "tools/list cursor 4",
        '{"sum": 5}',
        "[image/png, ",
        "isError: the oven is cold",
        "progress 4/4 step 4",
        "message info counted to 2",
        "cancelled #16 nobody waits for it any more",
        "the request timed out",
        "resources/updated demo://clock",
        "prompts/get greet",
        "friendly, frosty",
        "sampling/createMessage",
        "elicitation/create Who are you?",
        "https://demo.example/sign-in",
        "elicitation/complete",
        "roots/list",
        "tasks/get",
        "tasks/status input_required",
        "a cake with Ada on it",
        "tasks/cancel",
    ):
        assert said in done.stdout
    assert all(len(line) <= 110 for line in lines)


def test_the_tour_as_json_is_one_object_a_line() -> None:
    done = run("inspect", "--json")
    assert done.returncode == 0
    objects = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert all(isinstance(one["time"], float) for one in objects)
    assert [one["heading"] for one in objects if "heading" in one][:-1] == TOUR
    verdicts = [one["ok"] for one in objects if "ok" in one]
    assert verdicts == [True] * len(TOUR)
    messages = [one for one in objects if "message" in one]
    assert {one["from"] for one in messages} == {"client", "server"}
    assert messages[0]["message"]["method"] == "initialize"


def on_a_terminal(**environment: str) -> str:
    """What the tour looks like on a terminal of 80 columns."""
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "sansmcp.cli", "inspect"],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        cwd=HERE,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment},
    )
    os.close(theirs)
    said = b""
    with suppress(OSError):  # That is how a terminal says that the other end was closed.
        while data := os.read(ours, 65536):
            said += data
    os.close(ours)
    assert process.wait(timeout=30) == 0
    return said.decode().replace("\r\n", "\n")


def test_on_a_terminal_it_is_in_colour_and_fits() -> None:
    said = on_a_terminal()
    assert "\x1b[36mclient → server" in said
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line in TOUR] == TOUR
    answers = [line for line in lines if " ms " in line]
    assert len({line.rindex("ms ") for line in answers}) == 1  # Times stand below each other.


def test_no_colour_where_none_is_wanted() -> None:
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", on_a_terminal(NO_COLOR="1"))


def test_an_output_without_arrows_still_says_who_speaks() -> None:
    done = run("inspect", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "client > server  initialize" in done.stdout
    assert "client < server  ` sansmcp-demo" in done.stdout


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_an_older_revision_can_be_forced(revision: str) -> None:
    done = run("inspect", "--revision", revision)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"agreed on revision {revision}" in done.stdout


def test_an_unknown_revision_is_refused() -> None:
    assert run("inspect", "--revision", "1.0").returncode == 2


@pytest.mark.filterwarnings("ignore")
def test_a_server_of_the_official_sdk() -> None:
    done = run(
        "inspect", "--call", "add", '{"a": 1, "b": 2}', "--read", "note://5",
        "--get-prompt", "greet", '{"name": "Ada"}', *server("sdk"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for said in ("sdk", "Add things up.", "Add two numbers.", '"result": 3', "note 5", "Greet Ada"):
        assert said in done.stdout
    assert "violation" not in done.stdout


def test_a_tool_that_fails_is_told_by_the_exit_status() -> None:
    done = run("inspect", "--call", "fail", *server("sdk"))
    assert done.returncode == 1
    assert "no luck" in done.stdout or "Error executing tool" in done.stdout
    done = run("inspect", "--read", "note:nothing", *server("sdk"))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["everything", "memory", "sequential-thinking"])
def test_the_reference_servers(name: str) -> None:
    folder = os.environ.get("SANSMCP_NODE_PEERS")
    if folder is None:
        pytest.skip("SANSMCP_NODE_PEERS names no folder with the reference servers (see .ci/run)")
    command = str(Path(folder, "node_modules", ".bin", f"mcp-server-{name}"))
    more = ["--call", "echo", '{"message": "hi"}'] if name == "everything" else []
    done = run("inspect", *more, "--", command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "violation" not in done.stdout
    assert ("Echo: hi" in done.stdout) == (name == "everything")


def test_a_tool_of_the_reference_server_that_requires_a_task() -> None:
    folder = os.environ.get("SANSMCP_NODE_PEERS")
    if folder is None:
        pytest.skip("SANSMCP_NODE_PEERS names no folder with the reference servers (see .ci/run)")
    command = str(Path(folder, "node_modules", ".bin", "mcp-server-everything"))
    done = run("inspect", "--call", "simulate-research-query", '{"topic": "h11"}', "--", command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tasks/get" in done.stdout
    assert "tasks/result" in done.stdout
    assert "Research Report" in done.stdout
    assert "violation" not in done.stdout


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["--", "no-such-command-at-all"], "cannot start 'no-such-command-at-all'"),
        (["--", str(HERE)], "cannot start"),
        (server("dies"), r"exit status 1; its last words: out of \x1b[31mmilk"),
        (server("garbage"), "the peer closed the connection"),
        (server("silent"), "initialize was not answered in time"),
        (server("stubborn"), "initialize was not answered in time"),
        (server("mute"), "tools/list was not answered in time"),
        (server("breaks_off"), "exit status 3"),
        (server("closes"), "the peer closed the connection"),
        (server("old"), "no common revision: offered 2025-11-25"),
        (["--timeout", "30", "--call", "nope", *server("sdk")], "nope"),
    ],
)
def test_a_bad_server_gives_one_clear_line_and_a_status(command: list[str], says: str) -> None:
    started = time.monotonic()
    done = run("inspect", "--timeout", "3", *command)
    assert time.monotonic() - started < 15
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("sansmcp inspect: ")
    assert says in line
    assert "\x1b" not in done.stdout + done.stderr
    assert "Traceback" not in done.stdout


def test_pages_without_end_come_to_an_end() -> None:
    done = run("inspect", "--timeout", "0.5", *server("endless"))
    assert done.returncode == 1
    assert done.stderr == "sansmcp inspect: the pages of a list do not come to an end\n"


def test_the_messages_of_a_batch_are_shown_one_by_one() -> None:
    done = run("inspect", "--revision", "2025-03-26", *server("batch"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tools/list_changed" in done.stdout
    assert "└ 0 tools" in done.stdout


def test_forms_are_filled_in_if_that_can_be_done() -> None:
    done = run("inspect", "--call=ask", "--json", *server("demanding"))
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout.splitlines()[-1])["message"]["result"]
    assert json.loads(result["content"][0]["text"]) == {
        "decline": None,
        "accept": {
            "mail": "ada@example.com",
            "day": "1815-12-10",
            "nick": "Adaaa",
            "many": 3,
            "sure": True,
            "one": "a",
            "some": ["x", "y"],
            "more": "as usual",
        },
    }
    assert "violation" not in done.stdout


def test_garbage_before_the_handshake_and_a_flood_of_stderr_are_survived() -> None:
    done = run("inspect", "--timeout", "20", *server("chatty"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no message: 'Welcome!'" in done.stdout
    assert "violation of JRPC-02" in done.stdout
    assert "chatty 1" in done.stdout


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_leaves_no_process_behind(number: int, status: int) -> None:
    environment = dict(os.environ)
    mark = marked(environment)
    process = subprocess.Popen(
        [sys.executable, "-m", "sansmcp.cli", "inspect", "--json", *server("stubborn")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HERE,
        env=environment,
    )
    assert process.stdout is not None
    while "child" not in process.stdout.readline():  # Until the server has a child.
        assert process.poll() is None
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert errors == ""
    assert left_behind(mark) == []


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sansmcp.cli", "inspect"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=HERE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(timeout=30)


def test_options_that_make_no_sense_are_refused() -> None:
    for args in (
        ["inspect", "--call", "echo"],
        ["inspect", "--call", "echo", "{broken", *server("sdk")],
        ["inspect", "--timeout", "0", *server("sdk")],
        ["serve"],
        ["no-such-command"],
    ):
        done = run(*args)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_without_its_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    for name in ("click", "rich", "trio", "wsproto"):
        blocked = (
            "import sys, importlib.util as u; find = u.find_spec\n"
            f"u.find_spec = lambda name, *a: None if name == {name!r} else find(name, *a)\n"
            "from sansmcp.cli import main; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", blocked], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            f"sansmcp: the command needs {name}; run: pip install 'sansmcp[cli]'"
        ]


def test_the_demo_server_keeps_its_wire_clean() -> None:
    """What is printed by accident, or by a child process, goes to stderr (STDIO-06)."""
    script = (
        "import subprocess, sys\n"
        "import sansmcp.cli.serve\n"
        "from sansmcp.cli.commands import cli\n"
        "from sansmcp.cli.demo import demo_server\n"
        "from sansmcp.trio import ToolError\n"
        "from sansmcp.types import Tool\n"
        "server = demo_server()\n"
        "async def noisy(context, arguments):\n"
        "    print('a stray print', flush=True)\n"
        "    subprocess.run(['echo', 'a stray child'])\n"
        "    raise ToolError('heard?')\n"
        "server.add_tool(Tool('noisy', {'type': 'object'}), noisy)\n"
        "sys.modules['sansmcp.cli.serve'].demo_server = lambda: server\n"
        "cli(['serve', '--stdio'])\n"
    )
    done = run("inspect", "--call", "noisy", "--json", "--", sys.executable, "-c", script)
    assert done.returncode == 1
    assert "heard?" in done.stdout
    assert "stray" not in done.stdout
    assert "violation" not in done.stdout
