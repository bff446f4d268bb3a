"""Writes the tables and diagrams of the documentation from the library's own tables.

Run `python docs/make_tables.py`; a test fails where a page is out of date.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from sansmcp import METHODS, REVISIONS, TASK_TRANSITIONS, Limits, TaskLimits
from sansmcp.lifecycle import TRANSITIONS
from sansmcp.methods import CLIENT, NotificationMethod, RequestMethod

ROOT = Path(__file__).resolve().parent.parent
END = "<!-- end -->"


def _row(row: RequestMethod | NotificationMethod) -> str:
    sender = "both" if len(row.senders) == 2 else "client" if CLIENT in row.senders else "server"
    has = ["yes" if row.since <= revision else "" for revision in REVISIONS]
    gate = f"`{row.capability}`" if row.capability else ""
    return f"| `{row.method}` | {sender} | {gate} | {' | '.join(has)} |"


def methods() -> str:
    """Every method: who sends it, the capability that it needs, the revisions that have it."""
    rows: list[RequestMethod | NotificationMethod] = [
        *METHODS.requests.values(),
        *METHODS.notifications.values(),
    ]
    lines = [
        f"| method | sent by | capability | {' | '.join(REVISIONS)} |",
        f"|---|---|---|{'---|' * len(REVISIONS)}",
        *map(_row, rows),
    ]
    batches = ["yes" if revision.batches else "" for revision in REVISIONS.values()]
    lines.append(f"| batches of messages | both | | {' | '.join(batches)} |")
    return "\n".join(lines)


def _diagram(first: str, arrows: Iterable[tuple[str, str, str]], last: Iterable[str]) -> str:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first}"]
    lines += [f"    {a} --> {b}{f': {label}' if label else ''}" for a, b, label in arrows]
    lines += [f"    {state} --> [*]" for state in last]
    return "\n".join([*lines, "```"])


def lifecycle() -> str:
    """The handshake as a diagram."""
    arrows = [(a.name, b.name, event.value) for (a, event), b in TRANSITIONS.items()]
    return _diagram("IDLE", arrows, ["CLOSED"])


def tasks() -> str:
    """The status of a task as a diagram."""
    arrows = [(a, b, "") for a, after in TASK_TRANSITIONS.items() for b in sorted(after)]
    return _diagram("working", arrows, [a for a, after in TASK_TRANSITIONS.items() if not after])


def _attributes(cls: type[Any]) -> Iterator[tuple[str, str]]:
    """The attributes of a class and what its docstring says of them."""
    # `getdoc` takes the indentation off that Python before 3.13 leaves.
    _, _, text = str(inspect.getdoc(cls)).partition("Attributes:\n")
    for entry in re.split(r"\n    (?=\w)", "\n" + text.rstrip())[1:]:
        name, _, meaning = entry.partition(": ")
        yield name, " ".join(meaning.split())


def _amount(value: Any) -> str:
    if value >= 2**20 and value % 2**20 == 0:
        return f"{value // 2**20} Mi"
    return f"{value:,}"


def _bounds(cls: type[Any]) -> str:
    defaults = attrs.fields_dict(cls)
    rows = [
        f"| `{name}` | {_amount(defaults[name].default)} | {meaning} |"
        for name, meaning in _attributes(cls)
    ]
    return "\n".join(
        ["| bound | default | what it bounds, and what happens past it |", "|---|--:|---|", *rows]
    )


def connection_limits() -> str:
    """The bounds of a connection."""
    return _bounds(Limits)


def task_limits() -> str:
    """The bounds of a task book."""
    return _bounds(TaskLimits)


#: Page -> what is generated in it.
PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "README.md": (methods,),
    "docs/reference/states.md": (lifecycle, tasks),
    "docs/reference/limits.md": (connection_limits, task_limits),
}


def updated(page: str) -> str:
    """A page with what is generated in it made anew."""
    text = (ROOT / page).read_text()
    for make in PAGES[page]:
        begin = f"<!-- {make.__name__}: generated -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(END)
        text = f"{before}{begin}\n\n{make()}\n\n{END}{after}"
    return text


if __name__ == "__main__":
    for page in PAGES:
        (ROOT / page).write_text(updated(page))
