"""A server with a bit of everything, for the tests; run as a program, it serves over stdio."""

import os
import subprocess
import sys
from typing import Any

import trio

from sansmcp import Implementation, TaskBook
from sansmcp import types as t
from sansmcp.helpers import structured_result
from sansmcp.trio import Context, RequestError, Server, ToolError, serve_stdio

OBJECT = {"type": "object"}


def text(value: object) -> t.CallToolResult:
    return t.CallToolResult([t.TextContent(str(value))])


async def echo(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    return structured_result(arguments)


async def count(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    for step in range(1, arguments["to"] + 1):
        await context.progress(step, arguments["to"], f"step {step}")
        await context.log("debug" if step % 2 else "warning", step, "counter")
    return text("counted")


async def crash(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    raise ZeroDivisionError("the secret is 7")


async def refuse(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    raise RequestError(7, "Not today", {"try": "tomorrow"})


async def fail(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    raise ToolError("the oven is cold")


async def ask_model(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    question = t.SamplingMessage("user", t.TextContent("Well?"))
    answer = await context.create_message([question], 10)
    return text(answer.content.text)  # type: ignore[union-attr]


async def ask_user(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    form = t.RequestedSchema({"name": t.StringSchema()}, required=["name"])
    answer = await context.elicit("Who are you?", form)
    return text(f"{answer.action} {answer.content}")


async def where(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    return text([root.uri for root in await context.list_roots()])


async def work(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    for step in range(1, 3):
        await context.progress(step, 2)
        await trio.sleep(0.05)
    return text(f"a task: {context.task_id is not None}")


async def blob(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    return text("x" * arguments["size"])


async def flood(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    """Large in all four directions: the call, the question, its answer, the result."""
    question = t.SamplingMessage("user", t.TextContent(arguments["pad"]))
    answer = await context.create_message([question], 10)
    return text(answer.content.text + arguments["pad"])  # type: ignore[union-attr]


async def chatter(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
    print("a stray line")
    sys.stdout.flush()
    os.write(1, b"straight to the descriptor\n")
    subprocess.run(["echo", "from a child"], check=True)
    return text(f"{sys.stdin.read()!r} on standard input")


async def read_clock(context: Context, uri: str) -> t.ReadResourceResult:
    return t.ReadResourceResult([t.TextResourceContents(uri, "noon")])


async def read_note(context: Context, uri: str, variables: dict[str, str]) -> t.ReadResourceResult:
    return t.ReadResourceResult([t.TextResourceContents(uri, f"note {variables['number']}")])


async def greet(context: Context, arguments: dict[str, str]) -> t.GetPromptResult:
    return t.GetPromptResult([t.PromptMessage("user", t.TextContent(f"Hi {arguments['name']}"))])


async def complete_name(context: Context, value: str, settled: dict[str, str]) -> t.Completion:
    return t.Completion([name for name in ("Ada", "Alan", "Grace") if name.startswith(value)])


def make_server(**options: Any) -> Server:
    server = Server(
        Implementation("features", "1.0"),
        instructions="Try it all.",
        **{"tasks": TaskBook(), **options},
    )

    cancelled = trio.Event()

    async def wait(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        try:
            await trio.sleep_forever()
        finally:
            if context.cancelled:
                cancelled.set()
        raise AssertionError

    async def was_cancelled(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        with trio.move_on_after(5):
            await cancelled.wait()
        return text(cancelled.is_set())

    async def grow(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        server.add_tool(t.Tool(arguments["name"], OBJECT), echo)
        return text("grown")

    async def tick(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        await server.notify_resource_updated("features://clock")
        return text("ticked")

    for handler in (
        echo, count, wait, was_cancelled, crash, refuse, fail, ask_model, ask_user, where, blob,
        flood, chatter, grow, tick,
    ):  # fmt: skip
        server.add_tool(t.Tool(handler.__name__, OBJECT), handler)
    server.add_tool(t.Tool("work", OBJECT, execution=t.ToolExecution("optional")), work)
    server.add_resource(t.Resource("clock", "features://clock"), read_clock)
    server.add_resource_template(t.ResourceTemplate("note", "features://note/{number}"), read_note)
    server.add_prompt(t.Prompt("greet", arguments=[t.PromptArgument("name", required=True)]), greet)
    server.add_completion(t.PromptReference("greet"), "name", complete_name)
    return server


if __name__ == "__main__":
    trio.run(serve_stdio, make_server())
