"""`sansmcp inspect`, as a user runs it: real processes, standard output and exit status."""

import json
import os
import subprocess
import sys
import time
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
    "Resources, and a subscription",
    "A prompt, and completion",
    "The server asks back",
    "A call that becomes a task",
    "A task that is cancelled",
    "A mistake of our own",
]


def run(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sansmcp.cli", *args],
        capture_output=True,
        text=True,
        cwd=HERE,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


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
        "tools/list 4",
        '{"sum": 5}',
        "[image/png, ",
        "isError: the oven is cold",
        "progress 4/4 step 4",
        "message info counted to 2",
        "cancelled 16 the caller gave up",
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
    assert all(len(line) <= 125 for line in lines)


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


def test_colours_on_a_terminal_and_none_where_they_are_not_wanted() -> None:
    assert "\x1b[" in run("inspect", FORCE_COLOR="1").stdout
    assert "\x1b[" not in run("inspect", NO_COLOR="1", FORCE_COLOR="").stdout


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
        (server("garbage"), "exit status 0"),
        (server("silent"), "no answer to initialize in time"),
        (server("stubborn"), "no answer to initialize in time"),
        (server("old"), "no common revision: offered 2025-11-25"),
        (["--call", "nope", *server("sdk")], "nope"),
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


def test_garbage_before_the_handshake_and_a_flood_of_stderr_are_survived() -> None:
    done = run("inspect", "--timeout", "20", *server("chatty"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no message: 'Welcome!'" in done.stdout
    assert "violation of JRPC-02" in done.stdout
    assert "chatty 1" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="process groups are a matter of POSIX")
def test_no_process_is_left_behind() -> None:
    done = run("inspect", "--timeout", "0.5", *server("stubborn"))
    [line] = [line for line in done.stdout.splitlines() if "child" in line]
    child = int(line.rpartition("child ")[2].strip("'"))
    for _ in range(50):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if (
            Path(f"/proc/{child}/stat").exists()
            and ") Z " in Path(f"/proc/{child}/stat").read_text()
        ):
            return  # Dead, and waiting for init to notice.
        time.sleep(0.1)
    pytest.fail(f"process {child} is still there")


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
    for name in ("click", "rich", "trio"):
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
        "import os, subprocess, sys\n"
        "import sansmcp.cli.demo as demo\n"
        "old = demo.serve\n"
        "import sansmcp.cli.commands as commands\n"
        "async def noisy(driver, event):\n"
        "    print('a stray print', flush=True)\n"
        "    subprocess.run(['echo', 'a stray child'])\n"
        "    await old(driver, event)\n"
        "commands.serve_request = noisy\n"
        "commands.cli(['serve', '--stdio'])\n"
    )
    done = run(
        "inspect", "--call", "add", '{"a": 1, "b": 2}', "--json", "--", sys.executable, "-c", script
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stray" not in done.stdout
    assert "violation" not in done.stdout
