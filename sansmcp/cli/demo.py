"""The demo server: a little service that has every feature of the protocol once."""

import base64
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import trio

from sansmcp import (
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Catalog,
    Implementation,
    LocalProtocolError,
    RequestReceived,
    ServerConnection,
    TaskBook,
    __version__,
)
from sansmcp import types as t
from sansmcp.helpers import structured_result

from .driver import Driver, RequestFailed

__all__ = ["CATALOG_PAGE", "demo_connection", "serve"]

_Driver: TypeAlias = Driver[ServerConnection]
_Handler: TypeAlias = Callable[[_Driver, RequestReceived], Awaitable[t.Result]]

#: Items of one page of a list; small, so that lists have several pages.
CATALOG_PAGE: Final = 4

_OBJECT: Final = {"type": "object", "additionalProperties": False}


def _schema(**properties: str) -> dict[str, Any]:
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {**_OBJECT, "properties": fields, "required": list(properties)}


def _red_square(size: int = 8) -> str:
    """A PNG, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = (b"\0" + b"\xd0\x30\x30" * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


# ---- the tools


async def _add(driver: _Driver, event: RequestReceived) -> t.Result:
    arguments = event.params.arguments or {}
    return structured_result({"sum": arguments["a"] + arguments["b"]})


async def _picture(driver: _Driver, event: RequestReceived) -> t.Result:
    return t.CallToolResult([t.ImageContent(_red_square(), "image/png")])


async def _fail(driver: _Driver, event: RequestReceived) -> t.Result:
    return t.CallToolResult([t.TextContent("the oven is cold")], is_error=True)


async def _count(driver: _Driver, event: RequestReceived) -> t.Result:
    steps = (event.params.arguments or {})["steps"]
    for step in range(1, steps + 1):
        await trio.sleep(0.05)
        driver.connection.send_progress(event.id, step, steps, f"step {step}")
        level: t.LoggingLevel = "debug" if step % 2 else "info"
        driver.connection.log(level, f"counted to {step}", "counter", related_request=event.id)
        driver.flush()
    return t.CallToolResult([t.TextContent(f"counted to {steps}")])


async def _wait(driver: _Driver, event: RequestReceived) -> t.Result:
    await trio.sleep((event.params.arguments or {})["seconds"])
    return t.CallToolResult([t.TextContent("that took a while")])


async def _tick(driver: _Driver, event: RequestReceived) -> t.Result:
    driver.connection.resource_updated("demo://clock")
    return t.CallToolResult([t.TextContent("tick")])


async def _ask_model(driver: _Driver, event: RequestReceived) -> t.Result:
    question = t.SamplingMessage("user", t.TextContent("Name a prime between 10 and 20."))
    id = driver.connection.create_message([question], 20, related_request=event.id)
    answer = await driver.answer(id)
    return t.CallToolResult([t.TextContent(f"the model says: {answer.content.text}")])


async def _ask_user(driver: _Driver, event: RequestReceived) -> t.Result:
    form = t.RequestedSchema(
        {
            "name": t.StringSchema(title="Your name", min_length=1),
            "colour": t.UntitledSingleSelectEnumSchema(["red", "green"], default="red"),
        },
        required=["name"],
    )
    id = driver.connection.elicit("Who are you?", form, related_request=event.id)
    answer = await driver.answer(id)
    return t.CallToolResult([t.TextContent(f"{answer.action}: {answer.content}")])


async def _sign_in(driver: _Driver, event: RequestReceived) -> t.Result:
    name = f"sign-in-{event.id}"
    id = driver.connection.elicit_url(
        "Please sign in", name, "https://demo.example/sign-in", related_request=event.id
    )
    answer = await driver.answer(id)
    driver.connection.elicitation_complete(name)
    return t.CallToolResult([t.TextContent(f"sign-in: {answer.action}")])


async def _where(driver: _Driver, event: RequestReceived) -> t.Result:
    answer = await driver.answer(driver.connection.list_roots(related_request=event.id))
    return t.CallToolResult([t.TextContent(root.uri) for root in answer.roots])


async def _bake(driver: _Driver, event: RequestReceived) -> t.Result:
    cake = t.CallToolResult([t.TextContent("a cake")])
    if event.task is None:
        return cake
    book = driver.connection.task_book
    assert book is not None
    task_id = driver.create_task(event, poll_interval=100, status_message="mixing")
    await trio.sleep(0.15)
    form = t.RequestedSchema({"topping": t.StringSchema(min_length=1)}, required=["topping"])
    id = driver.connection.elicit("Which topping?", form, related_task=task_id)
    answer = await driver.answer(id)
    book.update(task_id, message="baking")
    driver.flush()
    await trio.sleep((event.params.arguments or {}).get("seconds", 0.15))
    topping = (answer.content or {}).get("topping", "nothing")
    book.complete(task_id, t.CallToolResult([t.TextContent(f"a cake with {topping} on it")]))
    return cake


_TOOLS: Final[dict[str, tuple[t.Tool, _Handler]]] = {
    tool.name: (tool, handler)
    for tool, handler in (
        (
            t.Tool(
                "add",
                _schema(a="number", b="number"),
                title="Add",
                description="Adds two numbers",
                output_schema=_schema(sum="number"),
                annotations=t.ToolAnnotations(read_only_hint=True),
            ),
            _add,
        ),
        (t.Tool("picture", _OBJECT, description="Gives a red square"), _picture),
        (t.Tool("fail", _OBJECT, description="Fails"), _fail),
        (t.Tool("count", _schema(steps="integer"), description="Counts, with progress"), _count),
        (t.Tool("wait", _schema(seconds="number"), description="Takes its time"), _wait),
        (t.Tool("tick", _OBJECT, description="Moves the clock"), _tick),
        (
            t.Tool(
                "bake",
                {"type": "object", "properties": {"seconds": {"type": "number"}}},
                description="Takes its time, as a task if you like",
                execution=t.ToolExecution("optional"),
            ),
            _bake,
        ),
        (t.Tool("ask-model", _OBJECT, description="Asks your model"), _ask_model),
        (t.Tool("ask-user", _OBJECT, description="Asks you"), _ask_user),
        (t.Tool("sign-in", _OBJECT, description="Sends you to a page"), _sign_in),
        (t.Tool("where", _OBJECT, description="Asks for your roots"), _where),
    )
}

# ---- everything else

_NOTES: Final = {f"demo://note/{n}": f"This is note {n}." for n in range(1, 6)}
_STYLES: Final = ("formal", "friendly", "frosty")


async def _call_tool(driver: _Driver, event: RequestReceived) -> t.Result:
    return await _TOOLS[event.params.name][1](driver, event)


async def _read(driver: _Driver, event: RequestReceived) -> t.Result | t.Error:
    uri = event.params.uri
    if uri == "demo://clock":
        text = f"{trio.current_time():.3f} seconds since some beginning"
        return t.ReadResourceResult([t.TextResourceContents(uri, text, "text/plain")])
    if uri == "demo://square":
        return t.ReadResourceResult([t.BlobResourceContents(uri, _red_square(), "image/png")])
    if uri in _NOTES:
        return t.ReadResourceResult([t.TextResourceContents(uri, _NOTES[uri], "text/plain")])
    return t.Error(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})


async def _get_prompt(driver: _Driver, event: RequestReceived) -> t.Result:
    arguments = event.params.arguments or {}
    style = arguments.get("style", "friendly")
    text = f"Write a {style} greeting for {arguments['name']}."
    return t.GetPromptResult([t.PromptMessage("user", t.TextContent(text))], "A greeting")


async def _complete(driver: _Driver, event: RequestReceived) -> t.Result | t.Error:
    if event.params.ref != t.PromptReference("greet"):
        return t.Error(INVALID_PARAMS, "Unknown reference")
    typed = event.params.argument.value
    values = [style for style in _STYLES if style.startswith(typed)]
    return t.CompleteResult(t.Completion(values, total=len(values), has_more=False))


_HANDLERS: Final[dict[str, Callable[[_Driver, RequestReceived], Awaitable[t.Result | t.Error]]]] = {
    "tools/call": _call_tool,
    "resources/read": _read,
    "prompts/get": _get_prompt,
    "completion/complete": _complete,
}


async def serve(driver: _Driver, event: RequestReceived) -> None:
    """Answer one request of a client's."""
    try:
        outcome = await _HANDLERS[event.method](driver, event)
    except (RequestFailed, LocalProtocolError) as failed:
        outcome = t.CallToolResult([t.TextContent(str(failed))], is_error=True)
    except (KeyError, TypeError) as error:
        # TOOL-26: arguments that do not suit the tool are the tool's business.
        outcome = t.CallToolResult(
            [t.TextContent(f"bad or missing arguments: {error}")], is_error=True
        )
    if event.id not in driver.connection.incoming:
        return  # It has become a task, whose outcome is in the book.
    if isinstance(outcome, t.Error):
        driver.connection.send_error(event.id, outcome.code, outcome.message, outcome.data)
    else:
        driver.connection.send_result(event.id, outcome)


def demo_connection() -> ServerConnection:
    """A server's connection that offers all of this."""
    catalog = Catalog(
        tools=[tool for tool, _ in _TOOLS.values()],
        prompts=[
            t.Prompt(
                "greet",
                title="Greeting",
                description="Asks for a greeting",
                arguments=[
                    t.PromptArgument("name", description="Who is greeted", required=True),
                    t.PromptArgument("style", description="How"),
                ],
            )
        ],
        resources=[
            t.Resource(
                "clock", "demo://clock", description="What time it is", mime_type="text/plain"
            ),
            t.Resource(
                "square", "demo://square", description="A red square", mime_type="image/png"
            ),
            *(t.Resource(f"note {uri[-1]}", uri, mime_type="text/plain") for uri in _NOTES),
        ],
        resource_templates=[
            t.ResourceTemplate("note", "demo://note/{number}", mime_type="text/plain")
        ],
        page_size=CATALOG_PAGE,
    )
    return ServerConnection(
        Implementation("sansmcp-demo", __version__, title="The demo server of sansmcp"),
        capabilities=t.ServerCapabilities(
            logging={},
            completions={},
            prompts=t.PromptsCapability(list_changed=True),
            resources=t.ResourcesCapability(subscribe=True, list_changed=True),
            tools=t.ToolsCapability(list_changed=True),
            tasks=t.ServerTasksCapability(
                list={},
                cancel={},
                requests=t.ServerTasksRequestsCapability(tools=t.ToolsTasksCapability(call={})),
            ),
        ),
        tasks=TaskBook(),
        instructions="Try the tools one by one.",
        catalog=catalog,
        clock=trio.current_time,
    )
