"""Reports on conversations: which rules were broken, by whom, and where to read about it."""

import json
from collections.abc import Sequence
from io import StringIO
from itertools import groupby
from typing import Any, Final
from xml.etree import ElementTree

from rich.console import Console
from rich.text import Text

from sansmcp import Side, Violation, unstructure

from .analysis import Analysis
from .summary import printable

__all__ = ["json_report", "junit_report", "text_report"]

#: How many violations of one rule are shown one by one in the report for people.
_SHOWN: Final = 5
_MUST, _SHOULD = "bold red", "yellow"


def _by_rule(violations: Sequence[Violation]) -> list[tuple[tuple[str, Side], list[Violation]]]:
    """The violations of each rule by each side; those that are binding first."""

    def key(violation: Violation) -> tuple[bool, str, str]:
        return (not violation.is_must, violation.rule.id, violation.side.value)

    ordered = sorted(violations, key=key)
    return [
        ((group[0].rule.id, group[0].side), group)
        for group in (list(found) for _, found in groupby(ordered, key))
    ]


def text_report(analyses: Sequence[Analysis], *, color: bool, width: int) -> str:
    """The report for people.

    Args:
        analyses: the conversations.
        color: whether to mark what it is about with colours.
        width: columns.
    """
    out = StringIO()
    console = Console(
        file=out, force_terminal=color, no_color=not color, width=width, highlight=False
    )
    for number, analysis in enumerate(analyses):
        if number:
            console.print()
        _one_report(analysis, console)
    return out.getvalue()


def _one_report(analysis: Analysis, console: Console) -> None:
    def line(text: str, style: str = "", indent: int = 0) -> None:
        console.print(Text(" " * indent + printable(text), style=style))

    line(analysis.title, "bold")
    line(_who(analysis), indent=2)
    answered = sum(request.outcome != "open" for request in analysis.requests)
    line(
        f"{len(analysis.messages):,} messages; {len(analysis.requests):,} requests, "
        f"{answered:,} of them answered or given up; {len(analysis.tasks):,} tasks",
        indent=2,
    )
    for (_, side), violations in _by_rule(analysis.violations):
        first = violations[0]
        rule = first.rule
        console.print()
        heading = Text(f"  {rule.id} ", style=_MUST if first.is_must else _SHOULD)
        heading.append(f"{rule.level}, broken by the {side.value}", style="bold")
        heading.append(f" {len(violations):,} times" if len(violations) > 1 else "")
        console.print(heading)
        line(rule.text, indent=4)
        if rule.url:
            line(rule.url, "dim", indent=4)
        for violation in violations[:_SHOWN]:
            line(f"message {violation.number:,}: {violation.detail}", indent=4)
        if len(violations) > _SHOWN:
            line(f"and {len(violations) - _SHOWN:,} more", indent=4)
    console.print()
    line(verdict(analysis), "bold", indent=2)


def _who(analysis: Analysis) -> str:
    client = "unknown client" if analysis.client is None else _name(analysis.client)
    server = "unknown server" if analysis.server is None else _name(analysis.server)
    revision = analysis.revision or "unknown"
    rest = "; its beginning is missing" if analysis.joined else ""
    return f"{client} and {server}, revision {revision}{rest}"


def _name(info: Any) -> str:
    return f"{info.name} {info.version}"


def verdict(analysis: Analysis) -> str:
    """The outcome in one line."""
    groups = _by_rule(analysis.violations)
    if not groups:
        return "no rule was broken"
    binding = sum(found[0].is_must for _, found in groups)
    advice = len(groups) - binding
    parts = [
        f"{count} {kind} rule{'' if count == 1 else 's'}"
        for count, kind in ((binding, "binding"), (advice, "advisory"))
        if count
    ]
    return f"{' and '.join(parts)} broken"


def json_report(analyses: Sequence[Analysis]) -> str:
    """The report for programs: one JSON object."""
    conversations = [
        {
            "title": analysis.title,
            "revision": analysis.revision,
            "joined": analysis.joined,
            "client": None if analysis.client is None else unstructure(analysis.client),
            "server": None if analysis.server is None else unstructure(analysis.server),
            "messages": len(analysis.messages),
            "requests": len(analysis.requests),
            "rules": [
                {
                    "rule": rule_id,
                    "side": side.value,
                    "level": found[0].rule.level,
                    "must": found[0].is_must,
                    "text": found[0].rule.text,
                    "page": found[0].rule.url,
                    "violations": [{"message": one.number, "detail": one.detail} for one in found],
                }
                for (rule_id, side), found in _by_rule(analysis.violations)
            ],
        }
        for analysis in analyses
    ]
    return json.dumps({"conversations": conversations}, indent=2) + "\n"


def junit_report(analyses: Sequence[Analysis]) -> str:
    """The report for build servers: a suite for each conversation, a case for each broken rule.

    A binding rule that is broken is a failure; advice that was not heeded is skipped, and says why.
    """
    root = ElementTree.Element("testsuites", name="sansmcp check")
    for analysis in analyses:
        groups = _by_rule(analysis.violations)
        failures = sum(found[0].is_must for _, found in groups)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(analysis.title),
            tests=str(len(groups) + 1),
            failures=str(failures),
            skipped=str(len(groups) - failures),
        )
        for (rule_id, side), found in groups:
            case = ElementTree.SubElement(suite, "testcase", classname=rule_id, name=side.value)
            tag = "failure" if found[0].is_must else "skipped"
            told = ElementTree.SubElement(case, tag, message=_xml(found[0].rule.text))
            told.text = "\n".join(_xml(f"message {one.number}: {one.detail}") for one in found)
        ElementTree.SubElement(suite, "testcase", classname="sansmcp", name="was read")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """What XML can hold: not all characters are allowed in it, even as references."""
    return printable(text)
