"""What belongs together in a recorded conversation."""

import json
from typing import Any

import pytest

from sansmcp import CLIENT, SERVER, Transcript
from sansmcp.cli.analysis import Analysis, analyse
from tests.conftest import shared_path
from tests.support import error, notification, request, result
from tests.test_monitor import HANDSHAKE


def analysed(*messages: tuple[Any, Any]) -> Analysis:
    transcript = Transcript()
    for time, (side, message) in enumerate([*HANDSHAKE, *messages]):
        text = message if isinstance(message, str) else json.dumps(message)
        transcript.record(side, text, float(time))
    return analyse(transcript, "made up")


CALL = request(1, "tools/call", {"name": "echo", "_meta": {"progressToken": "p"}})


def test_a_request_its_progress_and_its_answer() -> None:
    progress = notification("notifications/progress", {"progressToken": "p", "progress": 1})
    found = analysed((CLIENT, CALL), (SERVER, progress), (SERVER, result(1, {"content": []})))
    call = found.requests[-1]
    assert (call.n, call.label, call.outcome, call.end_n, call.seconds) == (
        4,
        "echo",
        "result",
        6,
        2,
    )
    assert call.progress == [5]
    assert [message.kind for message in found.messages[3:]] == ["request", "notification", "result"]
    assert found.messages[4].concerns == found.messages[5].answers == 4
    assert found.messages[5].method == "tools/call"


def test_a_request_that_is_given_up_and_one_that_stays_open() -> None:
    cancel = notification("notifications/cancelled", {"requestId": 1})
    late = (SERVER, result(1, {"content": []}))
    found = analysed((CLIENT, CALL), (CLIENT, cancel), late, (CLIENT, request(2, "ping")))
    given_up, left = found.requests[-2:]
    assert (given_up.outcome, given_up.cancelled, given_up.end) == ("cancelled", 5, 4.0)
    assert (left.outcome, left.end, left.seconds) == ("open", None, None)
    assert found.messages[5].answers == 4  # The late answer is still an answer to it.


def test_errors_noise_and_what_is_no_message() -> None:
    found = analysed(
        (CLIENT, request(1, "ping")), (SERVER, error(1, -32000)), (SERVER, "oops"), (SERVER, {})
    )
    assert [message.kind for message in found.messages[3:]] == [
        "request", "error", "noise", "invalid",
    ]  # fmt: skip
    assert found.requests[-1].outcome == "error"
    assert found.messages[5].text == "oops"


def test_a_batch_is_one_message_and_what_is_in_it_counts() -> None:
    found = analysed((CLIENT, [request(1, "ping"), request(2, "ping")]), (SERVER, [result(1, {})]))
    assert [message.kind for message in found.messages[3:]] == ["batch", "batch"]
    assert [one.outcome for one in found.requests[-2:]] == ["result", "open"]


def test_two_requests_of_one_id_in_both_directions_are_two() -> None:
    found = analysed(
        (CLIENT, request(1, "ping")), (SERVER, request(1, "ping")), (CLIENT, result(1, {}))
    )
    asked, asked_back = found.requests[-2:]
    assert (asked.outcome, asked_back.outcome) == ("open", "result")


def test_the_recorded_task_is_a_lane() -> None:
    path = shared_path("transcripts", "everything-tasks-2025-11-25.ndjson")
    found = analyse(Transcript.load(path))
    [lane] = found.tasks
    assert (lane.side, lane.request) == (SERVER, 13)
    assert [told.status for told in lane.statuses] == [
        "working", "input_required", "working", "completed",
    ]  # fmt: skip
    assert [violation.rule.id for violation in found.violations] == ["ELIC-64"]


def test_as_json_it_says_everything() -> None:
    found = json.loads(json.dumps(analysed((CLIENT, CALL), (SERVER, result(9, {}))).to_json()))
    assert found["title"] == "made up"
    assert (found["client"]["name"], found["server"]["name"]) == ("c", "s")
    assert found["requests"][-1]["side"] == "client"
    [violation] = found["violations"]
    assert (violation["rule"], violation["level"], violation["must"]) == ("JRPC-06", "MUST", True)
    assert violation["page"].startswith("https://")


@pytest.mark.parametrize("odd", [[], {}, None, 5, "x", [[]]])
def test_odd_values_where_names_are_expected(odd: Any) -> None:
    analysed(
        (CLIENT, {"jsonrpc": "2.0", "id": odd, "method": odd, "params": odd}),
        (CLIENT, request(odd, "tools/call", {"name": odd, "_meta": {"progressToken": odd}})),
        (CLIENT, request(5, "tools/call", {"name": odd, "_meta": odd})),
        (SERVER, notification("notifications/progress", {"progressToken": odd, "progress": odd})),
        (CLIENT, notification("notifications/cancelled", {"requestId": odd})),
        (SERVER, notification("notifications/tasks/status", {"taskId": odd, "status": odd})),
        (SERVER, result(odd, odd)),
        (SERVER, result(5, {"task": {"taskId": odd}})),
        (CLIENT, request(6, "tasks/list", odd)),
        (SERVER, result(6, {"tasks": odd})),
        (SERVER, {"jsonrpc": "2.0", "id": 5, "error": odd}),
    )
