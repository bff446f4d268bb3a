"""The commands, for click."""

import json
import os
import sys
from typing import Any

import click
import trio
from rich.console import Console

from sansmcp import LocalProtocolError, unstructure
from sansmcp import types as t
from sansmcp.revisions import REVISIONS

from .demo import demo_connection
from .demo import serve as serve_request
from .driver import Closed, Driver, RequestFailed
from .process import StartFailed
from .session import Inspection, NoConversation, inspection
from .timeline import Timeline, printable
from .tour import take_tour

__all__ = ["cli"]


@click.group()
@click.version_option(package_name="sansmcp")
def cli() -> None:
    """The Model Context Protocol, seen working."""


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


class _Optional(click.Command):
    """Lets `--call NAME` and `--get-prompt NAME` be followed by JSON, or not."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, sep, command = _split(args)
        arranged: list[str] = []
        while own:
            word = own.pop(0)
            arranged.append(word)
            if word in ("--call", "--get-prompt") and own:
                arranged.append(own.pop(0))
                arranged.append(own.pop(0) if own and own[0].lstrip().startswith("{") else "{}")
        return super().parse_args(ctx, arranged + sep + command)


def _split(args: list[str]) -> tuple[list[str], list[str], list[str]]:
    if "--" not in args:
        return list(args), [], []
    at = args.index("--")
    return args[:at], ["--"], args[at + 1 :]


@cli.command(cls=_Optional)
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
    console = Console(highlight=False)
    timeline = Timeline(console, as_json=as_json)
    if not command and (call or read or get_prompt):
        raise click.UsageError("--call, --read and --get-prompt need a server: -- COMMAND ARGS...")
    try:
        good = trio.run(_inspect, command, call, read, get_prompt, timeout, revision, timeline)
    except BaseExceptionGroup as group:
        raise _only(group) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(0 if good else 1)


def _only(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong, out of the groups that nurseries put it in."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, KeyboardInterrupt):
        return SystemExit(130)
    if isinstance(error, BrokenPipeError):
        # Whoever read the output has seen enough. Nothing may be flushed into it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SystemExit(1)
    return error


async def _inspect(
    command: tuple[str, ...],
    call: tuple[str, dict[str, Any]] | None,
    read: str | None,
    get_prompt: tuple[str, dict[str, Any]] | None,
    timeout: float,
    revision: str | None,
    timeline: Timeline,
) -> bool:
    timeline.heading("Handshake")
    demo = [sys.executable, "-m", "sansmcp.cli", "serve", "--stdio"]
    try:
        async with inspection(
            list(command) or demo, timeline, timeout=timeout, revision=revision
        ) as inspected:
            if not command:
                return await take_tour(inspected, timeline)
            await _look_around(inspected, timeline)
            if call is not None:
                timeline.heading(f"Call {call[0]}")
                required = call[0] in _task_only(inspected)
                id = inspected.connection.call_tool(
                    *call, progress=True, task=t.TaskMetadata() if required else None
                )
                result = await inspected.ask(id)
                _show(timeline, result)
                if result.is_error:
                    click.echo(f"sansmcp inspect: the tool {printable(call[0])} failed", err=True)
                    return False
            if read is not None:
                timeline.heading(f"Read {read}")
                _show(timeline, await inspected.ask(inspected.connection.read_resource(read)))
            if get_prompt is not None:
                timeline.heading(f"Prompt {get_prompt[0]}")
                _show(timeline, await inspected.ask(inspected.connection.get_prompt(*get_prompt)))
            return True
    except* (StartFailed, NoConversation, RequestFailed, Closed, LocalProtocolError) as group:
        error = _only(group)
        click.echo(f"sansmcp inspect: {printable(str(error))}", err=True)
    return False


def _task_only(inspected: Inspection) -> set[str]:
    """The tools that can be called as tasks only; the lists were read already."""
    return {
        tool.name
        for tool in inspected.tools
        if tool.execution is not None and tool.execution.task_support == "required"
    }


async def _look_around(inspected: Inspection, timeline: Timeline) -> None:
    """Show what a server says of itself, and what it offers."""
    connection = inspected.connection
    info, offered = connection.peer_info, connection.peer_capabilities
    assert info is not None and offered is not None
    name = f"{info.title} ({info.name})" if info.title else info.name
    timeline.note(f"{name} {info.version}, revision {connection.revision}")
    declared = sorted(unstructure(offered))
    timeline.note(f"offers {', '.join(declared) or 'nothing'}")
    if connection.instructions:
        timeline.note(connection.instructions)
    for capability, heading, ask, key in (
        (offered.tools, "Tools", connection.list_tools, "tools"),
        (offered.resources, "Resources", connection.list_resources, "resources"),
        (
            offered.resources,
            "Resource templates",
            connection.list_resource_templates,
            "resource_templates",
        ),
        (offered.prompts, "Prompts", connection.list_prompts, "prompts"),
    ):
        if capability is None:
            continue
        timeline.heading(heading)
        items = await inspected.listed(ask, key)
        if key == "tools":
            inspected.tools = items
        for item in items:
            named = item.name if not hasattr(item, "uri") else item.uri
            named = getattr(item, "uri_template", named)
            described = item.description or item.title or ""
            timeline.note(f"{named}  {described}".rstrip())


def _show(timeline: Timeline, result: t.Result) -> None:
    """Show a result in full; as JSON lines it was shown already."""
    if not timeline.as_json:
        click.echo(json.dumps(unstructure(result), indent=2, ensure_ascii=True))


@cli.command()
@click.option("--stdio", is_flag=True, required=True, help="Over standard input and output.")
def serve(stdio: bool) -> None:
    """Serve the demo server."""
    trio.run(_serve_stdio)


async def _serve_stdio() -> None:
    if not hasattr(trio.lowlevel, "FdStream"):
        raise click.ClickException("Trio cannot read standard input on this system")
    # The wire is moved away from where `print` and child processes write to (STDIO-06).
    wire_in, wire_out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    async with trio.lowlevel.FdStream(wire_in) as reads, trio.lowlevel.FdStream(wire_out) as writes:
        await Driver(demo_connection(), reads.receive_some, writes.send_all, serve_request).run()
