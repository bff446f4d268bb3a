"""Recorded conversations of real peers, replayed through a connection in the place of either."""

import json
from typing import Any

import pytest

import sansmcp.types as t
from sansmcp import (
    METHODS,
    MISSING,
    ClientConnection,
    ConnectionState,
    Conversation,
    Limits,
    LocalProtocolError,
    ProtocolViolation,
    ServerConnection,
    TaskBook,
    structure,
)

from .conftest import shared_path
from .support import Clock


def transcript(name: str) -> list[dict[str, Any]]:
    path = shared_path("transcripts", f"{name}.ndjson")
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def handshake(lines: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    asked = next(line["message"] for line in lines if line["message"].get("method") == "initialize")
    answer = next(
        line["message"]
        for line in lines
        if line["message"].get("id") == asked["id"] and "result" in line["message"]
    )
    return asked["params"], answer["result"]


def task_id_of(lines: list[dict[str, Any]]) -> str:
    """The id that the recorded server gave to its task."""
    results = (line["message"].get("result", {}) for line in lines)
    return next(str(result["task"]["taskId"]) for result in results if "task" in result)


def connection_for(side: str, lines: list[dict[str, Any]]) -> Any:
    """A connection that declares what the recorded peer of this side declared."""
    asked, answer = handshake(lines)
    if side == "client":
        return ClientConnection(
            structure(asked["clientInfo"], t.Implementation),
            capabilities=structure(asked["capabilities"], t.ClientCapabilities),
            clock=Clock(),
        )
    return ServerConnection(
        structure(answer["serverInfo"], t.Implementation),
        capabilities=structure(answer["capabilities"], t.ServerCapabilities),
        instructions=answer.get("instructions"),
        tasks=TaskBook(new_id=lambda: task_id_of(lines)),
        clock=Clock(),
    )


class Replay:
    """Says what the recorded peer of one side said, and hears what the other one said."""

    def __init__(self, side: str, lines: list[dict[str, Any]]) -> None:
        self.connection = connection_for(side, lines)
        self.side = side
        self.lines = lines
        self.ids: dict[Any, Any] = {}  # recorded id of our request -> the id that it got here
        self.violations: list[ProtocolViolation] = []
        self.refused: list[LocalProtocolError] = []

    def run(self) -> "Replay":
        for line in self.lines:
            message = line["message"]
            if line["from"] == self.side:
                try:
                    self.say(message)
                except LocalProtocolError as error:
                    self.refused.append(error)
            else:
                self.hear(message)
            self.connection.data_to_send()
        return self

    def hear(self, message: dict[str, Any]) -> None:
        if "method" not in message and message["id"] in self.ids:
            message = {**message, "id": self.ids[message["id"]]}
        if message.get("method") == "notifications/progress":
            token = message["params"]["progressToken"]
            params = {**message["params"], "progressToken": self.ids.get(token, token)}
            message = {**message, "params": params}
        events = self.connection.receive_message(json.dumps(message))
        self.violations += [event for event in events if isinstance(event, ProtocolViolation)]

    def say(self, message: dict[str, Any]) -> None:
        connection = self.connection
        method, id = message.get("method"), message.get("id")
        if method is not None and id is not None:
            cls = METHODS.requests[method].request
            meta = message.get("params", {}).get("_meta", {})
            progress = meta.pop("progressToken", None) is not None
            typed = structure({**message, "id": 0}, cls)
            if isinstance(typed, t.GetTaskPayloadRequest):
                # The connection asked by itself when it heard that input is required.
                [self.ids[id]] = [
                    ours
                    for ours, entry in connection.outgoing.items()
                    if entry.method.method == "tasks/result"
                ]
            else:
                self.ids[id] = connection.send_request(typed, progress=progress, timeout=None)
        elif method == "notifications/initialized":
            assert connection.state is ConnectionState.READY  # It was sent by itself.
        elif method == "notifications/cancelled":
            params = message["params"]
            connection.cancel_request(self.ids[params["requestId"]], params.get("reason"))
        elif method == "notifications/tasks/status":
            self.report(message["params"])
        elif method is not None:
            connection.send_notification(
                structure(message, METHODS.notifications[method].notification)
            )
        elif id not in connection.incoming:
            pass  # Answered by the connection itself: initialize, and so on.
        elif "error" in message:
            error = message["error"]
            connection.send_error(id, error["code"], error["message"], error.get("data", MISSING))
        elif "task" in message["result"]:
            connection.create_task(id, poll_interval=message["result"]["task"]["pollInterval"])
        else:
            expected = connection.incoming[id].method.result
            connection.send_result(id, structure(message["result"], expected))

    def report(self, task: dict[str, Any]) -> None:
        """The recorded server did something for a task; here it is the book that is told."""
        book = self.connection.task_book
        if book.record(task["taskId"]) is None:
            return  # It told of the task before it had answered with it.
        if task["status"] == "completed":
            book.complete(task["taskId"], t.CallToolResult([]))
        else:
            book.update(task["taskId"], task["status"], task.get("statusMessage"))


def judged(name: str) -> tuple[list[str], Conversation]:
    """The rules that either side of a recorded conversation broke."""
    conversation = Conversation(
        revisions=("2025-11-25",), methods=METHODS, limits=Limits(), clock=Clock()
    )
    parties = {"client": conversation.client, "server": conversation.server}
    violations = []
    for line in transcript(name):
        for item in conversation.receive_json(parties[line["from"]], line["message"]):
            if isinstance(item, ProtocolViolation):
                violations.append(item.rule)
    return violations, conversation


@pytest.mark.rule("TASK-38", "TASK-42", "ELIC-64")
@pytest.mark.parametrize("side", ["client", "server"])
def test_a_recorded_conversation_with_a_task_replays_on_each_side(side: str) -> None:
    replay = Replay(side, transcript("everything-tasks-2025-11-25")).run()
    # The recorded client answered a form with a choice that it does not have. In its place we could
    # not have done so, and in the server's place we take notice.
    refused = [error.rule for error in replay.refused]
    violations = [event.rule for event in replay.violations]
    assert (refused, violations) == ((["ELIC-64"], []) if side == "client" else ([], ["ELIC-64"]))
    if side == "client":
        [task] = replay.connection.tasks.values()
    else:
        [task] = [record.task for record in replay.connection.task_book._storage]
    assert task.status == "completed"


@pytest.mark.rule("TASK-26", "ELIC-64")
def test_a_recorded_conversation_with_a_task_is_judged_without_a_role() -> None:
    assert judged("everything-tasks-2025-11-25")[0] == ["ELIC-64"]


@pytest.mark.rule("GEN-01")
@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.filterwarnings("ignore::sansmcp.ProtocolWarning")
def test_a_recorded_conversation_replays_on_each_side(side: str) -> None:
    lines = transcript("everything-2025-11-25")
    replay = Replay(side, lines).run()
    assert replay.connection.state is ConnectionState.READY
    assert [(event.rule, event.detail) for event in replay.violations] == []
    # The recorded server goes on reporting progress after it was told to stop; it could not have
    # done so with this library.
    late = sum("CANC-08" in str(error) or "PROG" in str(error) for error in replay.refused)
    assert len(replay.refused) == late
    assert (late > 0) == (side == "server")


@pytest.mark.rule("GEN-01")
def test_a_recorded_conversation_is_judged_without_a_role() -> None:
    violations, conversation = judged("everything-2025-11-25")
    assert violations == []
    assert conversation.state.revision is not None
    assert len(conversation.state.tools) == len(
        next(
            line
            for line in transcript("everything-2025-11-25")
            if "tools" in line["message"].get("result", {})
        )["message"]["result"]["tools"]
    )
