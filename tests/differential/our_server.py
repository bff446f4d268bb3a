"""What `tests.trio.sdk_server` offers, on a bare `ServerConnection`: a loop over two descriptors."""

import os
from typing import Any, Final

import jsonschema

from sansmcp import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Catalog,
    Implementation,
    RequestReceived,
    ServerConnection,
)
from sansmcp import types as t

CAPABILITIES: Final = t.ServerCapabilities(
    tools=t.ToolsCapability(),
    resources=t.ResourcesCapability(),
    prompts=t.PromptsCapability(),
    completions={},
)
NUMBERS: Final = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ANYTHING: Final = {"type": "object"}
CATALOG: Final = Catalog(
    tools=[t.Tool("add", NUMBERS), t.Tool("fail", ANYTHING), t.Tool("wait", ANYTHING)],
    resources=[t.Resource("clock", "clock://now")],
    prompts=[t.Prompt("greet", arguments=[t.PromptArgument("name", required=True)])],
)


def call_tool(params: t.CallToolRequestParams) -> t.CallToolResult | None:
    arguments: Any = params.arguments or {}
    match params.name:
        case "wait":
            return None  # It is answered never; or cancelled.
        case "fail":
            return t.CallToolResult([t.TextContent("no luck")], is_error=True)
        case _:
            try:
                jsonschema.validate(arguments, NUMBERS)
            except jsonschema.ValidationError as error:
                # TOOL-28: what is wrong with the arguments is for the model to read.
                return t.CallToolResult([t.TextContent(error.message)], is_error=True)
            return t.CallToolResult([t.TextContent(str(arguments["a"] + arguments["b"]))])


def serve(server: ServerConnection, event: RequestReceived) -> None:
    match event.params:
        case t.CallToolRequestParams() as params:
            result = call_tool(params)
            if result is not None:
                server.send_result(event.id, result)
        case t.ReadResourceRequestParams(uri="clock://now" as uri):
            contents = [t.TextResourceContents(uri, "noon")]
            server.send_result(event.id, t.ReadResourceResult(contents))
        case t.ReadResourceRequestParams(uri=uri):
            server.send_error(event.id, RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})
        case t.GetPromptRequestParams(arguments=arguments):
            text = t.TextContent(f"Greet {(arguments or {})['name']}")
            server.send_result(event.id, t.GetPromptResult([t.PromptMessage("user", text)]))
        case t.CompleteRequestParams(ref=t.PromptReference(name="greet")):
            server.send_result(event.id, t.CompleteResult(t.Completion(["Ada", "Alan"])))
        case t.CompleteRequestParams():
            server.send_error(event.id, INVALID_PARAMS, "There is nothing to complete")
        case _:
            server.send_error(event.id, INTERNAL_ERROR, "Not served")


def main() -> None:
    server = ServerConnection(
        Implementation("ours", "1.0"), capabilities=CAPABILITIES, catalog=CATALOG
    )
    while data := os.read(0, 65536):
        for event in server.receive_data(data):
            if isinstance(event, RequestReceived):
                serve(server, event)
        answer = server.data_to_send()
        while answer:
            answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    main()
