"""`sansmcp check`: reports on recorded conversations, and pictures of them as text."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from sansmcp import CLIENT, SERVER, Transcript
from sansmcp.cli.commands import cli
from tests.conftest import shared_path
from tests.support import notification, request, result
from tests.test_monitor import HANDSHAKE

MUST = (SERVER, result(9, {}))  # Answers what nobody asked: JRPC-06.
SHOULD = (CLIENT, request(5, "resources/unsubscribe", {"uri": "a://b"}))  # RES-05


def transcript(*messages: tuple[Any, Any], times: bool = True) -> Transcript:
    made = Transcript()
    for time, (side, message) in enumerate([*HANDSHAKE, *messages]):
        text = message if isinstance(message, str) else json.dumps(message)
        made.record(side, text, time / 10 if times else None)
    return made


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    def save(*messages: tuple[Any, Any], name: str = "a.ndjson", times: bool = True) -> str:
        transcript(*messages, times=times).save(tmp_path / name)
        return str(tmp_path / name)

    return save


def run(*args: str, **options: Any) -> Result:
    done = CliRunner().invoke(cli, ["check", *args], **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


# ---- the report and the status


def test_nothing_broken_is_status_0(saved: Any) -> None:
    done = run(saved())
    assert (done.exit_code, done.stderr) == (0, "")
    assert "c 1 and s 1, revision 2025-11-25" in done.stdout
    assert "no rule was broken" in done.stdout


def test_a_binding_rule_broken_is_status_1_and_says_who_and_where_to_read(saved: Any) -> None:
    done = run(saved(MUST))
    assert done.exit_code == 1
    assert "JRPC-06 MUST, broken by the server" in done.stdout
    assert "https://modelcontextprotocol.io/specification/2025-11-25/basic" in done.stdout
    assert "message 4: a response to 9" in done.stdout
    assert "1 binding rule broken" in done.stdout


def test_advice_not_heeded_is_told_and_is_status_0(saved: Any) -> None:
    done = run(saved(SHOULD))
    assert done.exit_code == 0
    assert "RES-05 SHOULD, broken by the client" in done.stdout


def test_many_violations_of_a_rule_are_one_entry(saved: Any) -> None:
    done = run(saved(*[MUST] * 20))
    assert done.stdout.count("JRPC-06") == 1
    assert "20 times" in done.stdout
    assert "and 15 more" in done.stdout


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("everything-2025-11-25", [("TOOL-27", "server")]),
        ("everything-tasks-2025-11-25", [("ELIC-64", "client")]),
    ],
)
def test_the_recorded_conversations_have_these_faults_and_no_others(
    name: str, rules: list[tuple[str, str]]
) -> None:
    done = run("--format", "json", str(shared_path("transcripts", f"{name}.ndjson")))
    [conversation] = json.loads(done.stdout)["conversations"]
    assert [(one["rule"], one["side"]) for one in conversation["rules"]] == rules
    assert done.exit_code == 0  # Both are advice.


def test_json_says_everything_for_programs(saved: Any) -> None:
    [conversation] = json.loads(run("--format=json", saved(MUST)).stdout)["conversations"]
    [rule] = conversation["rules"]
    assert (rule["rule"], rule["must"], rule["level"]) == ("JRPC-06", True, "MUST")
    assert rule["violations"][0]["message"] == 4
    assert conversation["server"]["name"] == "s"


def test_junit_has_a_failure_for_each_binding_rule(saved: Any) -> None:
    control = (SERVER, "\x00\x1b[2J no json")
    text = run("--format=junit", saved(MUST, SHOULD, control), saved(name="good")).stdout
    suites = list(ElementTree.fromstring(text))
    assert [suite.get("failures") for suite in suites] == ["2", "0"]
    assert [suite.get("skipped") for suite in suites] == ["1", "0"]
    failed = [case.get("classname") for case in suites[0] if case.find("failure") is not None]
    assert sorted(map(str, failed)) == ["JRPC-02", "JRPC-06"]


def test_what_a_peer_says_cannot_move_the_cursor(saved: Any) -> None:
    for form in ("text", "diagram", "mermaid"):
        done = run("--format", form, saved((CLIENT, request("\x1b[2J", "\x1b]0;x\x07[bold]y"))))
        assert not re.search(r"[\x00-\x09\x0b-\x1f]", done.stdout)
        assert "[bold]y" in done.stdout or form == "mermaid"


def test_the_report_goes_into_a_file(saved: Any, tmp_path: Path) -> None:
    done = run("-o", str(tmp_path / "report"), saved(MUST))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "JRPC-06" in (tmp_path / "report").read_text()
    done = run("-o", str(tmp_path / "no" / "report"), saved())
    assert done.exit_code == 1
    assert "No such file" in done.stderr


# ---- what cannot be read


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "neither a transcript"),
        (b"hello\nworld\n", "neither a transcript"),
        (b"\xff\xfe", "can't decode"),
        (b'{"from": "client", "message": {}}\n{"from": "x"}\n', "line 2"),
    ],
)
def test_a_file_that_cannot_be_read_is_status_2_and_the_others_are_checked(
    data: bytes, said: str, saved: Any, tmp_path: Path
) -> None:
    (tmp_path / "bad").write_bytes(data)
    done = run(str(tmp_path / "bad"), saved())
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert "no rule was broken" in done.stdout


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = run(str(tmp_path / "nowhere"))
    assert done.exit_code == 2
    assert "No such file" in done.stderr


# ---- other forms


def test_standard_input(saved: Any) -> None:
    done = run("-", input=Path(saved(MUST)).read_bytes())
    assert done.exit_code == 1
    assert "standard input" in done.stdout


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_log_of_one_side_is_judged_by_what_it_has(side: Any, tmp_path: Path) -> None:
    messages = [message for who, message in HANDSHAKE if who is side]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    done = run(str(path))
    assert done.exit_code == 0
    assert f"the {side.value}'s side" in done.stdout
    path.write_text(json.dumps({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}) + "\n")
    done = run("--from", side.value, str(path))
    assert done.exit_code == 1
    assert f"JRPC-03 MUST, broken by the {side.value}" in done.stdout


def claude_line(side: str, message: Any, server: str = "files", end: str = "") -> str:
    text = message if isinstance(message, str) else json.dumps(message)
    return f"2026-01-02T03:04:05.678Z [info] [{server}] Message from {side}: {text}{end}\n"


def test_a_log_of_claude_desktop(tmp_path: Path) -> None:
    greeting = [(side.value, message) for side, message in HANDSHAKE]
    log = "2026-01-02T03:04:05.000Z [info] [files] Initializing server...\n"
    log += "".join(claude_line(side, message) for side, message in greeting)
    log += "".join(
        claude_line(side, message, "other", " { metadata: undefined }")
        for side, message in greeting
    )
    log += claude_line("server", result(9, {}), "other")
    log += "".join(claude_line(side, message) for side, message in greeting)  # Once more.
    (tmp_path / "mcp.log").write_text(log)
    done = run("--format=json", str(tmp_path / "mcp.log"))
    found = json.loads(done.stdout)["conversations"]
    assert [one["messages"] for one in found] == [3, 4, 3]
    assert [[rule["rule"] for rule in one["rules"]] for one in found] == [[], ["JRPC-06"], []]
    assert "other (2 of 3)" in found[1]["title"]
    assert run("--number=1", str(tmp_path / "mcp.log")).exit_code == 0
    assert run("--number=4", str(tmp_path / "mcp.log")).exit_code == 2


def test_what_a_log_has_cut_short_is_left_out_and_said(tmp_path: Path) -> None:
    log = "".join(claude_line(side.value, message) for side, message in HANDSHAKE)
    log += claude_line("client", '{"jsonrpc":"2.0","id":9,"meth...[1234 chars truncated]')
    log += claude_line("server", result(9, {}))
    (tmp_path / "mcp.log").write_text(log)
    done = run(str(tmp_path / "mcp.log"))
    assert done.exit_code == 0
    assert "without 1 messages that the log cut short" in done.stdout


@pytest.mark.parametrize(
    "says",
    [
        {"client": "Client Says", "server": "Server Says"},
        {"client": "editor -> server", "server": "server -> editor"},
    ],
)
def test_a_log_of_vs_code(says: dict[str, str], tmp_path: Path) -> None:
    log = "2026-07-24 02:03:14.031 [info] Connection state: Running\n"
    log += "".join(
        f"2026-07-24 02:03:14.089 [debug] [{says[side.value]}] {json.dumps(message)}\n"
        for side, message in [*HANDSHAKE, MUST]
    )
    (tmp_path / "vscode.log").write_text(log)
    done = run(str(tmp_path / "vscode.log"))
    assert done.exit_code == 1
    assert "JRPC-06 MUST, broken by the server" in done.stdout


# ---- pictures of text


def test_the_diagram_for_a_terminal(saved: Any) -> None:
    call = (CLIENT, request(1, "tools/call", {"name": "écho 木" * 30}))
    progress = (SERVER, notification("notifications/progress", {"progressToken": 5, "progress": 1}))
    done = run("--format=diagram", saved(call, progress, MUST), env={"COLUMNS": "60"})
    lines = done.stdout.splitlines()
    assert any(re.search(r"1 .*\|- initialize 2025-11-25 #init -+>\|", line) for line in lines)
    assert any(re.search(r"2 .*\|<- result #init initialize -+\|", line) for line in lines)
    assert any("! JRPC-06" in line for line in lines)
    assert any("…" in line for line in lines)


def test_the_diagram_for_mermaid(saved: Any) -> None:
    odd = (SERVER, notification("a;b\nc: <i>#"))
    text = run("--format=mermaid", saved(odd, MUST)).stdout
    assert text.startswith("sequenceDiagram\n    participant client as c 1\n")
    assert "    client->>server: initialize 2025-11-25 #35;init\n" in text
    assert "    server-->>client: result #35;init initialize\n" in text
    assert "    Note over server: JRPC-06#58;" in text
    assert "<i>" not in text
    assert "and 500 more" in run("--format=mermaid", saved(*[MUST] * 1497)).stdout
