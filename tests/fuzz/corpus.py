"""Inputs for the targets: a seed corpus, a dictionary, and changes that keep most JSON in order.

The seeds are made of the recorded conversations and the specification's examples. An input of the
targets `receive` and `monitor` is a head of two bytes (see `targets`) and lines of messages.
"""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from sansmcp.methods import METHODS
from tests.conftest import shared_path
from tests.support import error, notification, request, result

TRANSCRIPTS = ("everything-2025-11-25", "everything-tasks-2025-11-25")
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_STAMP = "2025-11-25T10:30:00.000Z"
TASK = {
    "taskId": "task-1",
    "status": "working",
    "ttl": None,
    "createdAt": _STAMP,
    "lastUpdatedAt": _STAMP,
}
#: Ids, tokens and names: few, so that messages refer to one another, and some of them odd.
IDS: list[Any] = [0, 1, 2, 3, 4, 5, 6, "", "1", "a", -1, 2**61 - 1, 2**70, 10**1024 - 1, 10**1024]
ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 5.0, 1e308, -0.0, 2**53 + 1, 2**70, "", "x", "\u2028", "\U0001f600",
    "x" * 70, "x" * 3000, [], {}, [[]], [None], {"": None}, {"_meta": 5}, {"type": "text"}, "2025-11-25",
    {"progressToken": []}, {"io.modelcontextprotocol/related-task": {"taskId": 5}}, "a:b", "task-1",
    "working", "completed", "input_required", "cancelled", 86_400_000, {"task": {}},
]  # fmt: skip
#: Turns of a conversation that the recorded ones do not have.
TURNS: list[Any] = [
    request(1, "ping"),
    request(1, "tools/call", {"name": "t", "task": {}, "_meta": {"progressToken": 1}}),
    request(2, "tools/call", {"name": "t", "task": {"ttl": 5}}),
    request("1", "tasks/result", {"taskId": "task-1"}),
    request(3, "tasks/result", {"taskId": "task-1"}),
    request(4, "tasks/cancel", {"taskId": "task-1"}),
    request(5, "tasks/get", {"taskId": "task-2"}),
    request(6, "tasks/list", {"cursor": "1"}),
    request("s", "resources/subscribe", {"uri": "a:b"}),
    request("u", "resources/unsubscribe", {"uri": "a:b"}),
    request("l", "logging/setLevel", {"level": "error"}),
    request("e", "elicitation/create", {"mode": "url", "message": "m", "url": "https://a.example/", "elicitationId": "e"}),
    notification("notifications/cancelled", {"requestId": 1}),
    notification("notifications/progress", {"progressToken": 1, "progress": 1}),
    notification("notifications/tasks/status", TASK),
    notification("notifications/tasks/status", {**TASK, "status": "completed", "pollInterval": 9}),
    notification("notifications/resources/updated", {"uri": "a:b/c"}),
    notification("notifications/elicitation/complete", {"elicitationId": "e"}),
    [request(1, "ping"), notification("notifications/cancelled", {"requestId": 1})],
    *[result(id, value) for id in range(1, 5) for value in ({}, {"task": TASK}, TASK, {"tasks": [TASK]})],
    *[error(id, code) for id in (1, 2, None) for code in (-32601, -32042)],
]  # fmt: skip

RECORD = {
    "task": TASK,
    "method": "tools/call",
    "context": "",
    "number": 1,
    "expires": 2e9,
    "result": {"content": []},
    "error": {"code": 1, "message": "no"},
}


def conversations() -> Iterator[list[tuple[str, Any]]]:
    """The recorded conversations: who sent what."""
    for name in TRANSCRIPTS:
        text = shared_path("transcripts", f"{name}.ndjson").read_bytes()
        turns = [json.loads(line) for line in text.split(b"\n") if line]
        yield [(turn["from"], turn["message"]) for turn in turns]


def messages() -> list[Any]:
    """Every message that is at hand."""
    found = [message for turns in conversations() for _, message in turns]
    for revision in REVISIONS:
        text = shared_path("spec", "examples", f"messages-{revision}.jsonl").read_bytes()
        found += [json.loads(line)["message"] for line in text.split(b"\n") if line]
    return found + TURNS


def seeds(target: str, scenarios: int) -> list[bytes]:
    """Inputs to begin with; `scenarios` is how many values the first byte of a head has."""
    if target == "load":
        saved: list[Any] = [{"version": 1, "tasks": []}, {"version": 1, "tasks": [RECORD]}]
        for status in ("working", "input_required", "completed", "failed", "cancelled"):
            task = {**TASK, "taskId": status, "status": status, "statusMessage": "m"}
            for left_out in ("result", "error", "expires"):
                record = {**RECORD, "task": task}
                del record[left_out]
                saved.append({"version": 1, "tasks": [RECORD, {**record, "number": 2}]})
        return [json.dumps(book).encode() for book in saved]
    texts = [lines([message]) for message in messages()]
    for turns in conversations():
        for side in ("client", "server"):
            said = [message for sender, message in turns if sender == side]
            texts += [lines(said[start : start + 8]) for start in range(0, len(said), 4)]
    texts += [lines(TURNS[start : start + 6]) for start in range(len(TURNS))]
    return [bytes([n % scenarios, n * 7 % 256]) + text for n, text in enumerate(texts * 2)]


def lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def dictionary() -> list[bytes]:
    """Words that turn up in messages."""
    words: set[str] = set()
    todo: list[Any] = messages()
    while todo:
        match todo.pop():
            case dict() as value:
                words |= value.keys()
                todo += value.values()
            case list() as value:
                todo += value
            case str() as value if len(value) < 40:
                words.add(value)
    words |= METHODS.requests.keys() | METHODS.notifications.keys() | set(REVISIONS)
    found = [json.dumps(word).encode() for word in sorted(words)]
    found += [json.dumps(value).encode() for value in [*IDS, *ODD] if len(str(value)) < 100]
    return [*found, b"1e999", b"NaN", b"\\ud800", b"\xef\xbb\xbf", b"[" * 40, b"\r\n", b"\xff"]


# ---- changes


def changed(value: Any, rng: random.Random) -> Any:
    """The value with something in it replaced, dropped or added."""
    if rng.random() < 0.12 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(IDS if rng.random() < 0.3 else ODD)
    if isinstance(value, list):
        copy = list(value)
        index = rng.randrange(len(copy))
        match rng.randrange(5):
            case 0:
                copy.insert(index, copy[index])
            case 1:
                del copy[index]
            case _:
                copy[index] = changed(copy[index], rng)
        return copy
    copy_ = dict(value)
    key = rng.choice(list(copy_))
    match rng.randrange(6):
        case 0:
            del copy_[key]
        case 1:
            name = rng.choice(["id", "method", "params", "result", "error", "_meta", "task", "x"])
            copy_[name] = rng.choice(ODD)
        case 2 if "id" in copy_:
            copy_["id"] = rng.choice(IDS)
        case _:
            copy_[key] = changed(copy_[key], rng)
    return copy_


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line.decode("utf-8", "replace")


def mutator(target: str, scenarios: int) -> Callable[[bytes, int, random.Random], bytes]:
    """What makes an input of an input: `mutate(input, size at the most, random numbers)`."""
    known = [RECORD] if target == "load" else messages()

    def mutate(data: bytes, max_size: int, rng: random.Random) -> bytes:
        head = b"" if target == "load" else (data[:2] + b"\0\0")[:2]
        texts = [line for line in data[len(head) :].split(b"\n") if line]
        if head and rng.random() < 0.2:
            head = bytes([rng.randrange(scenarios), rng.randrange(256)])
        for _ in range(rng.randrange(1, 4)):
            where = rng.randrange(len(texts) + 1)
            match rng.randrange(9):
                case 0 if head:
                    texts.insert(where, lines([rng.choice(known)]).strip())
                case 1 if head and texts:
                    texts.insert(where, rng.choice(texts))
                case 2 if len(texts) > 1:
                    del texts[where - 1]
                case 3 if texts:  # Any byte at all.
                    line = texts[where - 1]
                    cut = rng.randrange(len(line) + 1)
                    texts[where - 1] = line[:cut] + rng.randbytes(1) + line[cut + 1 :]
                case 4 if head and len(texts) > 1:  # A batch.
                    part = [_read(line) for line in texts[where : where + 4]]
                    texts[where : where + 4] = [lines([part]).strip()]
                case _ if texts:
                    value = changed(_read(texts[where - 1]), rng)
                    texts[where - 1] = lines([value]).strip()
                case _:
                    texts = [lines([rng.choice(known)]).strip()]
        return (head + b"\n".join(texts))[:max_size]

    return mutate
