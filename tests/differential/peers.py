"""The two servers, and what each of them answers."""

import json
import queue
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Final

from tests.support import request

from .inputs import INPUTS

__all__ = ["OURS", "THEIRS", "outcomes"]

REPOSITORY: Final = Path(__file__).resolve().parents[2]
OURS: Final = [sys.executable, "-m", "tests.differential.our_server"]
THEIRS: Final = [sys.executable, "-W", "ignore", "-m", "tests.trio.sdk_server"]
#: Seconds for a line.
PATIENCE: Final = 30.0


def outcomes(command: list[str]) -> dict[str, str]:
    """What a server does about each input, by what the input is about: see `_shown`.

    After each input comes a ping. What is answered before that without an id is about the input.
    """
    process = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            return _converse(process)
        finally:
            process.kill()


def _converse(process: "subprocess.Popen[bytes]") -> dict[str, str]:
    assert process.stdin is not None and process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=[process.stdout, lines], daemon=True).start()
    by_id: dict[str, list[Any]] = defaultdict(list)
    without_id: dict[str, list[Any]] = defaultdict(list)

    def feed(text: bytes, fence: str) -> Iterator[Any]:
        """What arrives until the ping is answered that follows the text."""
        assert process.stdin is not None
        process.stdin.write(text + b"\n" + json.dumps(request(fence, "ping")).encode() + b"\n")
        process.stdin.flush()
        while True:
            answer = json.loads(lines.get(timeout=PATIENCE))
            if isinstance(answer, dict) and answer.get("id") == fence:
                return
            yield answer

    for number, input in enumerate(INPUTS):
        for answer in feed(input.text, f"fence-{number}"):
            found = answer.get("id") if isinstance(answer, dict) else None
            if found is None:
                without_id[input.about].append(answer)
            else:
                by_id[json.dumps(found)].append(answer)
    # What is slow may still come.
    expected = sum(len(input.ids) for input in INPUTS)
    for number in range(expected):
        for answer in feed(b"", f"end-{number}"):
            by_id[json.dumps(answer.get("id"))].append(answer)
    return {
        input.about: _shown(
            without_id[input.about] + [a for id in input.ids for a in by_id[json.dumps(id)]]
        )
        for input in INPUTS
    }


def _read(stream: IO[bytes], lines: "queue.Queue[bytes]") -> None:
    for line in stream:
        lines.put(line)


def _shown(answers: list[Any]) -> str:
    return ", ".join(map(_one, answers)) or "nothing"


def _one(answer: Any) -> str:
    if not isinstance(answer, dict):
        return f"a {type(answer).__name__}"
    if "error" in answer:
        where = "" if answer.get("id") is not None else " without id"
        return f"error {answer['error']['code']}{where}"
    kind = "result"
    if answer["result"].get("isError"):
        kind += " with isError"
    return kind
