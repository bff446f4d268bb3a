"""`sansmcp inspect`: a conversation with a server, to look at."""

import json
import os
import sys
from functools import partial
from typing import Any, Final

import attrs
import click
import trio
from rich.console import Console

from sansmcp import LocalProtocolError, unstructure
from sansmcp import types as t
from sansmcp.revisions import REVISIONS
from sansmcp.trio import SessionError

from .serve import unless_told
from .session import Inspection, NoConversation, inspection
from .summary import json_text, printable
from .targets import Command, Target, target_of
from .timeline import Timeline
from .tour import take_tour

__all__ = ["inspect"]

#: Columns of what is no terminal and does not say how many it has.
_COLUMNS: Final = 110


class _JSONObject(click.ParamType[Any]):
    name = "json"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, dict):
            return value
        try:
            loaded = json.loads(value)
        except ValueError as error:
            self.fail(f"not JSON: {error}", param, ctx)
        if not isinstance(loaded, dict):
            self.fail("not a JSON object", param, ctx)
        return loaded


class _InspectCommand(click.Command):
    """Lets `--call NAME` and `--get-prompt NAME` be followed by JSON, or not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        own, command = args[:at], args[at:]
        arranged: list[str] = []
        while own:
            word, equals, name = own.pop(0).partition("=")
            if word not in ("--call", "--get-prompt"):
                arranged.append(f"{word}{equals}{name}")
                continue
            arranged += [word, name] if equals else [word, *own[:1]]
            own = own if equals else own[1:]
            arranged.append(own.pop(0) if own and own[0].lstrip().startswith("{") else "{}")
        return super().parse_args(ctx, arranged + command)


@attrs.frozen
class _Wishes:
    """What to do with a server, beside looking at it."""

    call: tuple[str, dict[str, Any]] | None
    read: str | None
    get_prompt: tuple[str, dict[str, Any]] | None


@click.command(cls=_InspectCommand)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[SERVER]")
@click.option(
    "--call", nargs=2, type=(str, _JSONObject()), metavar="NAME [JSON]", help="Call a tool."
)
@click.option("--read", metavar="URI", help="Read a resource.")
@click.option(
    "--get-prompt", nargs=2, type=(str, _JSONObject()), metavar="NAME [JSON]", help="Get a prompt."
)
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=click.FloatRange(min=0.01),
    help="Seconds that an answer may take.",
)
@click.option(
    "--revision", type=click.Choice(sorted(REVISIONS)), help="Offer this protocol revision only."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def inspect(
    command: tuple[str, ...],
    call: tuple[str, dict[str, Any]] | None,
    read: str | None,
    get_prompt: tuple[str, dict[str, Any]] | None,
    timeout: float,
    revision: str | None,
    as_json: bool,
) -> None:
    """Hold a conversation with a server, and show it.

    Without a SERVER: with the library's own demo server, every feature of the protocol once. With
    one, show what it offers. It is an address, tcp://HOST:PORT, unix:PATH, ws://... or wss://...,
    or a command that is started and spoken to over stdio, after --.
    """
    wishes = _Wishes(call, read, get_prompt)
    target = target_of(command) if command else None
    if target is None and wishes != _Wishes(None, None, None):
        raise click.UsageError(
            "--call, --read and --get-prompt need a server: an address, or -- COMMAND ARGS..."
        )
    status = trio.run(unless_told, partial(_inspect, target, wishes, timeout, revision, as_json))
    raise SystemExit(status)


async def _inspect(
    target: Target | None,
    wishes: _Wishes,
    timeout: float,
    revision: str | None,
    as_json: bool,
) -> bool:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _COLUMNS
    timeline = Timeline(console, as_json=as_json)
    timeline.heading("Handshake")
    demo = Command((sys.executable, "-m", "sansmcp.cli", "serve", "--stdio"))
    try:
        async with inspection(
            target or demo, timeline, timeout=timeout, revision=revision
        ) as inspected:
            if target is None:
                return await take_tour(inspected, timeline)
            tools = await _look_around(inspected, timeline)
            return await _fulfil(wishes, inspected, tools, timeline)
    except (NoConversation, SessionError, LocalProtocolError) as error:
        click.echo(f"sansmcp inspect: {printable(str(error))}", err=True)
    return False


async def _look_around(inspected: Inspection, timeline: Timeline) -> list[t.Tool]:
    """Show what a server says of itself, and what it offers; gives its tools."""
    session, offered = inspected.session, inspected.session.peer_capabilities
    info = session.peer_info
    name = f"{info.title} ({info.name})" if info.title else info.name
    timeline.note(f"{name} {info.version}, revision {session.revision}")
    timeline.note(f"offers {', '.join(sorted(unstructure(offered))) or 'nothing'}")
    if session.instructions:
        timeline.note(session.instructions)
    tools: list[t.Tool] = []
    if offered.tools is not None:
        timeline.heading("Tools")
        tools = await inspected.listed(session.tools())
        for tool in tools:
            _present(timeline, tool.name, tool)
    if offered.resources is not None:
        timeline.heading("Resources")
        for resource in await inspected.listed(session.resources()):
            _present(timeline, resource.uri, resource)
        timeline.heading("Resource templates")
        for template in await inspected.listed(session.resource_templates()):
            _present(timeline, template.uri_template, template)
    if offered.prompts is not None:
        timeline.heading("Prompts")
        for prompt in await inspected.listed(session.prompts()):
            _present(timeline, prompt.name, prompt)
    return tools


def _present(
    timeline: Timeline, name: str, item: t.Tool | t.Resource | t.ResourceTemplate | t.Prompt
) -> None:
    described = item.description or item.title or ""
    timeline.note(f"{name}: {described}" if described else name)


async def _fulfil(
    wishes: _Wishes, inspected: Inspection, tools: list[t.Tool], timeline: Timeline
) -> bool:
    """Do what was wished for; tells whether it went well."""
    session = inspected.session
    if wishes.call is not None:
        name, arguments = wishes.call
        timeline.heading(f"Call {name}")
        # A tool that can only be called as a task is called as one.
        required = any(
            tool.execution is not None and tool.execution.task_support == "required"
            for tool in tools
            if tool.name == name
        )
        result = await inspected.called(name, arguments, as_task=required)
        _show(timeline, result)
        if result.is_error:
            click.echo(f"sansmcp inspect: the tool {printable(name)} failed", err=True)
            return False
    if wishes.read is not None:
        timeline.heading(f"Read {wishes.read}")
        _show(timeline, await session.read_resource(wishes.read))
    if wishes.get_prompt is not None:
        timeline.heading(f"Prompt {wishes.get_prompt[0]}")
        _show(timeline, await session.get_prompt(*wishes.get_prompt))
    return True


def _show(timeline: Timeline, result: t.Result) -> None:
    """Show a result in full; as JSON lines it was shown already."""
    if not timeline.as_json:
        click.echo(json_text(unstructure(result), indent=2))
