"""The demo server: a little service that has every feature of the protocol once."""

import base64
import struct
import zlib
from collections.abc import Callable
from typing import Any, Final

import trio

from sansmcp import Catalog, Implementation, TaskBook, __version__
from sansmcp import types as t
from sansmcp.helpers import structured_result
from sansmcp.trio import Context, Server, ToolError
from sansmcp.trio.server import ToolHandler

__all__ = ["demo_server"]

#: Items of one page of a list; small, so that lists have several pages.
_PAGE_SIZE: Final = 4

_CLOCK: Final = "demo://clock"
_SQUARE: Final = "demo://square"
_STYLES: Final = ("formal", "friendly", "frosty")
_NUMBERS: Final = ("1", "2", "3", "4", "5")

_PYTHON_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "integer": int,
    "number": (int, float),
}


def demo_server() -> Server:
    """A server that offers all of this."""
    server = Server(
        Implementation("sansmcp-demo", __version__, title="The demo server of sansmcp"),
        instructions="Try the tools one by one.",
        catalog=Catalog(page_size=_PAGE_SIZE),
        tasks=TaskBook(),
    )
    _add_plain_tools(server)
    _add_slow_tools(server)
    _add_asking_tools(server)
    _add_task(server)
    _add_resources(server)
    _add_prompt(server)
    return server


# ---- tools


def _schema(**properties: str) -> dict[str, Any]:
    """A JSON Schema of an object with these properties, all of them required."""
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _offers(server: Server, tool: t.Tool) -> Callable[[ToolHandler], ToolHandler]:
    """Register a tool, whose arguments are checked against its schema first."""

    def register(handler: ToolHandler) -> ToolHandler:
        async def call(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
            properties = tool.input_schema["properties"]
            if arguments.keys() != properties.keys():
                raise ToolError(f"this takes {', '.join(properties) or 'no arguments'}")
            for name, value in arguments.items():
                kind = properties[name]["type"]
                if not isinstance(value, _PYTHON_TYPES[kind]) or isinstance(value, bool):
                    raise ToolError(f"{name} is not of type {kind}")
            return await handler(context, arguments)

        server.add_tool(tool, call)
        return handler

    return register


def _said(text: str) -> t.CallToolResult:
    return t.CallToolResult([t.TextContent(text)])


def _add_plain_tools(server: Server) -> None:
    @_offers(
        server,
        t.Tool(
            "add",
            _schema(a="number", b="number"),
            title="Add",
            description="Adds two numbers",
            output_schema=_schema(sum="number"),
            annotations=t.ToolAnnotations(read_only_hint=True),
        ),
    )
    async def add(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        return structured_result({"sum": arguments["a"] + arguments["b"]})

    @_offers(server, t.Tool("picture", _schema(), description="Gives a red square"))
    async def picture(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        return t.CallToolResult([t.ImageContent(_red_square(), "image/png")])

    @_offers(server, t.Tool("fail", _schema(), description="Fails"))
    async def fail(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        raise ToolError("the oven is cold")

    @_offers(server, t.Tool("tick", _schema(), description="Moves the clock"))
    async def tick(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        await server.notify_resource_updated(_CLOCK)
        return _said("tick")


def _add_slow_tools(server: Server) -> None:
    @_offers(server, t.Tool("count", _schema(steps="integer"), description="Counts, with progress"))
    async def count(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        steps = arguments["steps"]
        for step in range(1, steps + 1):
            await trio.sleep(0.05)
            await context.progress(step, steps, f"step {step}")
            await context.log("debug" if step % 2 else "info", f"counted to {step}", "counter")
        return _said(f"counted to {steps}")

    @_offers(server, t.Tool("wait", _schema(seconds="number"), description="Takes its time"))
    async def wait(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        await trio.sleep(arguments["seconds"])
        return _said("that took a while")


def _add_asking_tools(server: Server) -> None:
    @_offers(server, t.Tool("ask-model", _schema(), description="Asks your model"))
    async def ask_model(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        question = t.SamplingMessage("user", t.TextContent("Name a prime between 10 and 20."))
        answer: Any = await context.create_message([question], 20)
        return _said(f"the model says: {answer.content.text}")

    @_offers(server, t.Tool("ask-user", _schema(), description="Asks you"))
    async def ask_user(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        form = t.RequestedSchema(
            {
                "name": t.StringSchema(title="Your name", min_length=1),
                "colour": t.UntitledSingleSelectEnumSchema(["red", "green"], default="red"),
            },
            required=["name"],
        )
        answer = await context.elicit("Who are you?", form)
        return _said(f"{answer.action}: {answer.content}")

    @_offers(server, t.Tool("sign-in", _schema(), description="Sends you to a page"))
    async def sign_in(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        name = f"sign-in-{context.request_id}"
        page = "https://demo.example/sign-in"
        answer = await context.elicit_url("Please sign in", name, page)
        if answer.action == "accept":
            await server.elicitation_complete(name)
        return _said(f"sign-in: {answer.action}")

    @_offers(server, t.Tool("where", _schema(), description="Asks for your roots"))
    async def where(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        return t.CallToolResult([t.TextContent(root.uri) for root in await context.list_roots()])


def _add_task(server: Server) -> None:
    @_offers(
        server,
        t.Tool(
            "bake",
            _schema(seconds="number"),
            description="Takes its time, as a task if you like",
            execution=t.ToolExecution("optional"),
        ),
    )
    async def bake(context: Context, arguments: dict[str, Any]) -> t.CallToolResult:
        form = t.RequestedSchema({"topping": t.StringSchema(min_length=1)}, required=["topping"])
        answer = await context.elicit("Which topping?", form)
        topping = (answer.content or {}).get("topping", "nothing")
        if context.task_id is not None:
            await context.update_task(f"baking, with {topping}")
        await trio.sleep(arguments["seconds"])
        return _said(f"a cake with {topping} on it")


# ---- resources


def _add_resources(server: Server) -> None:
    async def clock(context: Context, uri: str) -> t.ReadResourceResult:
        text = f"{trio.current_time():.3f} seconds since some beginning"
        return t.ReadResourceResult([t.TextResourceContents(uri, text, "text/plain")])

    async def square(context: Context, uri: str) -> t.ReadResourceResult:
        return t.ReadResourceResult([t.BlobResourceContents(uri, _red_square(), "image/png")])

    async def listed_note(context: Context, uri: str) -> t.ReadResourceResult:
        return await note(context, uri, {"number": uri.rpartition("/")[2]})

    async def note(context: Context, uri: str, variables: dict[str, str]) -> t.ReadResourceResult:
        text = f"This is note {variables['number']}."
        return t.ReadResourceResult([t.TextResourceContents(uri, text, "text/plain")])

    server.add_resource(
        t.Resource("clock", _CLOCK, description="What time it is", mime_type="text/plain"), clock
    )
    server.add_resource(
        t.Resource("square", _SQUARE, description="A red square", mime_type="image/png"), square
    )
    for number in _NUMBERS:
        server.add_resource(
            t.Resource(f"note {number}", f"demo://note/{number}", mime_type="text/plain"),
            listed_note,
        )
    template = t.ResourceTemplate("note", "demo://note/{number}", mime_type="text/plain")
    server.add_resource_template(template, note)


def _red_square(size: int = 8) -> str:
    """A PNG, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = (b"\0" + b"\xd0\x30\x30" * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


# ---- a prompt, and completion


def _add_prompt(server: Server) -> None:
    async def greet(context: Context, arguments: dict[str, str]) -> t.GetPromptResult:
        style = arguments.get("style", "friendly")
        text = f"Write a {style} greeting for {arguments['name']}."
        return t.GetPromptResult([t.PromptMessage("user", t.TextContent(text))], "A greeting")

    async def styles(context: Context, value: str, settled: dict[str, str]) -> t.Completion:
        values = [style for style in _STYLES if style.startswith(value)]
        return t.Completion(values, total=len(values), has_more=False)

    prompt = t.Prompt(
        "greet",
        title="Greeting",
        description="Asks for a greeting",
        arguments=[
            t.PromptArgument("name", description="Who is greeted", required=True),
            t.PromptArgument("style", description="How"),
        ],
    )
    server.add_prompt(prompt, greet)
    server.add_completion(t.PromptReference("greet"), "style", styles)
