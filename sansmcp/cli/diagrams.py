"""Sequence diagrams of conversations as text: for a terminal, and for Mermaid."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

from sansmcp import CLIENT

from .analysis import Analysis, Message
from .summary import printable

__all__ = ["mermaid", "text_diagram"]

_NARROWEST: Final = 40
#: Mermaid draws no more than so many without being asked.
_MOST: Final = 1000


def _labels(analysis: Analysis) -> list[str]:
    by_number = {request.n: request for request in analysis.requests}
    labels = []
    for message in analysis.messages:
        request = by_number.get(message.n)
        about = f" {request.label}" if request is not None and request.label else ""
        labels.append(_said(message, about))
    return labels


def _said(message: Message, about: str) -> str:
    id = "" if message.id is None else f" #{message.id}"
    method = message.method or ""
    match message.kind:
        case "request":
            said = f"{method}{about}{id}"
        case "notification":
            said = method.removeprefix("notifications/")
        case "result" | "error":
            said = f"{message.kind}{id} {method}".rstrip()
        case "noise":
            said = "no JSON"
        case "invalid":
            said = "no message"
        case "batch":
            said = "a batch"
    return printable(said)


def text_diagram(analysis: Analysis, width: int) -> str:
    """The conversation as arrows between two lines.

    Args:
        analysis: the conversation.
        width: columns; at least 40 are taken.
    """
    width = max(width, _NARROWEST)
    digits = len(str(len(analysis.messages)))
    timed = any(message.time is not None for message in analysis.messages)
    start = next((one.time for one in analysis.messages if one.time is not None), 0.0)
    margin = digits + (12 if timed else 2)
    room = width - margin - 4
    broken: dict[int, list[str]] = {}
    for violation in analysis.violations:
        broken.setdefault(violation.number, []).append(
            f"{violation.rule.id}: {printable(violation.detail)}"
        )
    lines = [f"{'':{margin}}client{'':{max(room - 8, 0)}}server"]
    for message, label in zip(analysis.messages, _labels(analysis), strict=True):
        time = ""
        if timed:
            time = "" if message.time is None else f"{message.time - start:9.3f}"
            time = f"{time:>9} "
        shaft = _shaft(f" {label} ", room, rightwards=message.side is CLIENT)
        lines.append(f"{message.n:>{digits}} {time} |{shaft}|")
        for told in broken.get(message.n, ()):
            lines.append(f"{'':{margin}}|{_fit(f' ! {told}', room)}|")
    return "\n".join(lines) + "\n"


def _fit(text: str, room: int) -> str:
    if cell_len(text) > room:
        text = set_cell_size(text, room - 1) + "…"
    return set_cell_size(text, room)


def _shaft(label: str, room: int, *, rightwards: bool) -> str:
    label = label if cell_len(label) <= room - 3 else set_cell_size(label, room - 4) + "…"
    left = 1
    right = room - cell_len(label) - left - 1
    return (
        f"{'-' * left}{label}{'-' * right}>" if rightwards else f"<{'-' * left}{label}{'-' * right}"
    )


def mermaid(analyses: Sequence[Analysis]) -> str:
    """The conversations as Mermaid sequence diagrams, for a README or an issue.

    A diagram shows the first 1,000 messages at most, and says so; more is not drawn by Mermaid.
    """
    return "\n".join(_mermaid(analysis) for analysis in analyses)


def _mermaid(analysis: Analysis) -> str:
    lines = ["sequenceDiagram"]
    for side, info in (("client", analysis.client), ("server", analysis.server)):
        name = side if info is None else f"{info.name} {info.version}"
        lines.append(f"    participant {side} as {_escaped(name)}")
    broken = {violation.number: violation for violation in reversed(analysis.violations)}
    labels = _labels(analysis)[:_MOST]
    for message, label in zip(analysis.messages, labels, strict=False):
        one, other = message.side.value, "server" if message.side is CLIENT else "client"
        arrow = {"result": "-->>", "error": "--x"}.get(message.kind, "->>")
        lines.append(f"    {one}{arrow}{other}: {_escaped(label)}")
        if message.n in broken:
            violation = broken[message.n]
            told = f"{violation.rule.id}: {violation.detail}"
            lines.append(f"    Note over {one}: {_escaped(told)}")
    if len(analysis.messages) > _MOST:
        lines.append(f"    Note over client,server: and {len(analysis.messages) - _MOST:,} more")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """A text as Mermaid takes it: what means something to it is written as a character's number."""
    text = printable(text)
    text = text if len(text) <= 100 else text[:99] + "…"
    return "".join(f"#{ord(c)};" if c in '#;:<>&"%{}[]()' else c for c in text) or " "
