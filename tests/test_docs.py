"""The code in the documentation, run as it stands."""

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sansmcp.types as t
from sansmcp import LocalProtocolError, TaskBook
from sansmcp.tasks import TERMINAL

from .support import pump, ready_client, sent
from .test_tasks import DONE, TASK

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(autouse=True)
def databases_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pages open databases for as long as a server runs; here a test is as long as that."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def connect_and_keep(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", connect_and_keep)
    yield
    for database in opened:
        database.close()


def code_of(page: str) -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)
    assert blocks
    return "\n".join(blocks)


def names_of(page: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": page}
    exec(code_of(page), names)
    return names


# The worker makes tasks and ends every second one, and says so once it is done with each.
WORKER = """
import itertools
from sansmcp import TaskBook
from sansmcp.types import CallToolResult
book = TaskBook(storage=SQLiteTaskStorage(sys.argv[1]))
for n in itertools.count():
    task = book.create("ada", "tools/call", ttl=3_600_000)
    print("made", task.task_id, flush=True)
    if n % 2:
        book.complete(task.task_id, CallToolResult([]))
        print("done", task.task_id, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a matter of POSIX")
def test_tasks_in_sqlite_survive_a_kill_in_the_middle(tmp_path: Path) -> None:
    """Nothing that was told is lost, and no task is answered twice."""
    path = str(tmp_path / "tasks.db")
    script = f"import sys\n{code_of('how-to/tasks-in-sqlite.md')}\n{WORKER}"
    with subprocess.Popen(
        [sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().split() for _ in range(31)]
        process.send_signal(signal.SIGKILL)
        said += [line.split() for line in process.stdout]
    assert process.returncode == -signal.SIGKILL
    made = [words[1] for words in said if len(words) == 2 and words[0] == "made"]
    done = [words[1] for words in said if len(words) == 2 and words[0] == "done"]
    assert len(made) > 15

    names = names_of("how-to/tasks-in-sqlite.md")
    book = TaskBook(storage=names["SQLiteTaskStorage"](path))
    for task_id in made:
        record = book.record(task_id, "ada")
        assert record is not None
        if task_id in done:
            assert record.task.status == "completed"
        if record.task.status in TERMINAL:
            with pytest.raises(LocalProtocolError, match="already"):
                book.complete(task_id, DONE)
        else:
            book.complete(task_id, DONE)
    numbers = [record.number for record in book._storage.page("ada", 0, 10_000)]
    assert numbers == sorted(set(numbers))


def test_tasks_in_sqlite_serve_a_connection(tmp_path: Path) -> None:
    names = names_of("how-to/tasks-in-sqlite.md")
    path = str(tmp_path / "tasks.db")
    server = names["open_server"](path, "ada")
    client = ready_client()
    client = type(client)(client._info, capabilities=t.ClientCapabilities())
    client.initialize()
    pump(client, server)
    id = client.call_tool("bake", task=TASK)
    pump(client, server)
    task = server.create_task(id)
    pump(client, server)
    del server  # The process ends; another one takes over.

    book = TaskBook(storage=names["SQLiteTaskStorage"](path))
    book.complete(task.task_id, DONE)
    for user, found in (("ada", True), ("eve", False)):
        server = names["open_server"](path, user)
        later = type(client)(client._info)
        later.initialize()
        pump(later, server)
        ask = later.send_request(
            t.GetTaskPayloadRequest(t.GetTaskPayloadRequestParams(task.task_id))
        )
        [event], _ = pump(later, server)
        assert event.id == ask
        assert hasattr(event, "result") == found
        later.send_request(t.ListTasksRequest())
        [event], _ = pump(later, server)
        assert [one.task_id for one in event.result.tasks] == [task.task_id] * found
        assert sent(server) == []


def test_tasks_in_sqlite_expire(tmp_path: Path) -> None:
    names = names_of("how-to/tasks-in-sqlite.md")
    book = TaskBook(storage=names["SQLiteTaskStorage"](str(tmp_path / "tasks.db")))
    assert book.seconds_to_expiry() is None
    gone = book.create("a", "tools/call", ttl=0)
    kept = book.create("a", "tools/call", ttl=60_000)
    assert [task.task_id for task in book.expire()] == [gone.task_id]
    assert book.record(kept.task_id) is not None
    assert 0 < (book.seconds_to_expiry() or 0) <= 60
    after = book.create("a", "tools/call")
    assert book.page("a", None) == ([kept, after], None)
    with pytest.raises(TypeError):
        book.save()
