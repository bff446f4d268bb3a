"""The commands, for click."""

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

import attrs
import click
import trio
from rich.console import Console

from sansmcp import LocalProtocolError, unstructure
from sansmcp import types as t
from sansmcp.revisions import REVISIONS
from sansmcp.trio import SessionError, serve_stdio

from .check import check
from .demo import demo_server
from .session import Inspection, NoConversation, inspection
from .summary import json_text, printable
from .timeline import Timeline
from .tour import take_tour
from .trace import trace

__all__ = ["cli"]

#: Columns of what is no terminal and does not say how many it has.
_COLUMNS: Final = 110
#: Signals that ask us to end, beside the interrupt, where there are such.
_SIGNALS: Final = ("SIGTERM", "SIGHUP")


@click.group()
@click.version_option(package_name="sansmcp")
def cli() -> None:
    """The Model Context Protocol, seen working."""


cli.add_command(check)
cli.add_command(trace)


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


@cli.command(cls=_InspectCommand)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
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

    Without a COMMAND: with the library's own demo server, every feature of the protocol once.
    With one, after `--`: start it, and show what it offers over stdio.
    """
    wishes = _Wishes(call, read, get_prompt)
    if not command and wishes != _Wishes(None, None, None):
        raise click.UsageError("--call, --read and --get-prompt need a server: -- COMMAND ARGS...")
    try:
        status = trio.run(
            _unless_told, partial(_inspect, command, wishes, timeout, revision, as_json)
        )
    except KeyboardInterrupt:
        status = 128 + signal.SIGINT
    raise SystemExit(status)


async def _unless_told(run: Callable[[], Awaitable[bool]]) -> int:
    """Run something and give the exit status, also where a signal asks us to end.

    The signals would end us where we stand, and leave behind a server that does not go by itself.
    """
    told: list[int] = []
    token = trio.lowlevel.current_trio_token()
    with trio.CancelScope() as scope:

        def end(number: int, frame: object) -> None:
            told.append(number)
            token.run_sync_soon(scope.cancel)

        numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
        # One that is ignored, as `nohup` has it, stays so.
        caught = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
        for number in caught:
            signal.signal(number, end)
        try:
            return 0 if await run() else 1
        finally:
            for number in caught:
                signal.signal(number, signal.SIG_DFL)
    return 128 + told[0]


async def _inspect(
    command: tuple[str, ...],
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
    demo = (sys.executable, "-m", "sansmcp.cli", "serve", "--stdio")
    try:
        async with inspection(
            command or demo, timeline, timeout=timeout, revision=revision
        ) as inspected:
            if not command:
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


@cli.command()
@click.option("--stdio", is_flag=True, required=True, help="Over standard input and output.")
def serve(stdio: bool) -> None:
    """Serve the demo server."""
    try:
        trio.run(serve_stdio, demo_server())
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
