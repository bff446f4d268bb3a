"""A server written with the official SDK, run over stdio."""

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

server = MCPServer("sdk", instructions="Made by others.")


class Person(BaseModel):
    """A form."""

    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise RuntimeError("no luck")


@server.tool()
async def count(to: int, context: Context) -> str:
    """Count, with progress and log messages."""
    for step in range(1, to + 1):
        await context.report_progress(step, to, f"step {step}")
        await context.info(f"at {step}")
    return "counted"


@server.tool()
async def wait() -> str:
    """Wait until cancelled."""
    await anyio.sleep_forever()
    return "never"


@server.tool()
async def ask_user(context: Context) -> str:
    """Ask the user."""
    answer = await context.elicit("Who are you?", Person)
    return f"{answer.action} {getattr(answer, 'data', None)}"


@server.tool()
async def ask_page(context: Context) -> str:
    """Send the user to a page."""
    answer = await context.elicit_url("Sign in", "https://example.com/in", "e1")
    await context.session.send_elicit_complete("e1")
    return answer.action


@server.tool()
async def ask_model(context: Context) -> str:
    """Ask the model."""
    question = SamplingMessage(role="user", content=TextContent(type="text", text="Well?"))
    answer = await context.session.create_message([question], max_tokens=10)
    assert isinstance(answer.content, TextContent)
    return answer.content.text


@server.tool()
async def where(context: Context) -> str:
    """Ask for the roots."""
    return str((await context.session.list_roots()).roots[0].uri)


@server.resource("note://{n}")
def note(n: str) -> str:
    """A note."""
    return f"note {n}"


@server.resource("clock://now")
def clock() -> str:
    """What time it is."""
    return "noon"


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Greet {name}"


@server.completion()
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    """Complete a name."""
    names = [name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)]
    return Completion(values=names)


if __name__ == "__main__":
    server.run()
