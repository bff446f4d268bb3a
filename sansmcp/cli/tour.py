"""The tour: every feature of the protocol once, with the demo server."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from sansmcp import LocalProtocolError, ProgressReceived, ResultReceived
from sansmcp import types as t
from sansmcp.trio import ConnectionLost, PeerError, RequestTimeout, SessionError, TaskCancelled

from .session import Inspection, NoConversation
from .timeline import Timeline

__all__ = ["take_tour"]


#: Seconds that a step may take; it takes a fraction of one if all goes well.
_PATIENCE: Final = 20


#: What there is to say of tasks before they were invented.
_NO_TASKS: Final = "this revision has none"


class _Surprise(Exception):
    """Something did not go as it should."""


def _expect(what: str, holds: bool) -> str:
    if not holds:
        raise _Surprise(f"not so: {what}")
    return what


def _said(block: Any) -> str:
    """The text of a block that is known to be one."""
    return str(block.text)


async def _handshake(i: Inspection) -> str:
    offered = i.session.peer_capabilities
    return _expect(
        f"agreed on revision {i.session.revision}; the server offers tools, prompts, resources, "
        "completions and logging",
        None not in (offered.tools, offered.prompts, offered.resources, offered.logging)
        # The first revision has completion, and no capability for it.
        and (offered.completions is not None or i.session.revision == "2024-11-05"),
    )


async def _ping(i: Inspection) -> str:
    await i.session.ping()
    return "the server is there"


async def _lists(i: Inspection) -> str:
    tools = await i.listed(i.session.tools())
    resources = await i.listed(i.session.resources())
    templates = await i.listed(i.session.resource_templates())
    prompts = await i.listed(i.session.prompts())
    counts = len(tools), len(resources), len(templates), len(prompts)
    pages = [type(one.result) for one in i.events if isinstance(one, ResultReceived)]
    return _expect(
        "11 tools in 3 pages, 7 resources in 2, 1 template, 1 prompt",
        counts == (11, 7, 1, 1)
        and pages.count(t.ListToolsResult) == 3
        and pages.count(t.ListResourcesResult) == 2,
    )


async def _structured(i: Inspection) -> str:
    result = await i.session.call_tool("add", {"a": 2, "b": 3})
    if i.session.revision < "2025-06-18":
        as_text = _said(result.content[0]) == '{"sum": 5}'
        return _expect("2 + 3 = 5, as text; this revision has no other way", as_text)
    return _expect("structured content: 2 + 3 = 5", result.structured_content == {"sum": 5})


async def _picture(i: Inspection) -> str:
    [image] = (await i.session.call_tool("picture")).content
    return _expect("an image came", isinstance(image, t.ImageContent))


async def _failure(i: Inspection) -> str:
    result = await i.session.call_tool("fail")
    return _expect("the tool failed, and says so in its result", result.is_error is True)


async def _unknown(i: Inspection) -> str:
    try:
        await i.session.call_tool("no-such-tool")
    except PeerError as error:
        return _expect("an unknown tool is error -32602", error.code == -32602)
    raise _Surprise("an unknown tool was called")


async def _progress(i: Inspection) -> str:
    await i.session.set_logging_level("info")
    progress: list[ProgressReceived] = []
    await i.session.call_tool("count", {"steps": 4}, on_progress=progress.append)
    levels = [message.params.level for message in i.told(t.LoggingMessageNotification)]
    return _expect(
        "four steps of progress; the log messages below level info were left out",
        [one.progress for one in progress] == [1, 2, 3, 4] and levels == ["info", "info"],
    )


async def _cancellation(i: Inspection) -> str:
    with trio.move_on_after(0.2) as scope:
        await i.session.call_tool("wait", {"seconds": 30})
    await i.session.ping()
    return _expect("given up after 0.2 s; the server was told", scope.cancelled_caught)


async def _timeout(i: Inspection) -> str:
    try:
        await i.session.call_tool("wait", {"seconds": 30}, timeout=0.2)
    except RequestTimeout:
        return "timed out after 0.2 s; the server was told"
    raise _Surprise("an answer came too early")


async def _resources(i: Inspection) -> str:
    note = await i.session.read_resource("demo://note/1")
    square = await i.session.read_resource("demo://square")
    templated = await i.session.read_resource("demo://note/1815")
    kinds = [type(read.contents[0]) for read in (note, square, templated)]
    return _expect(
        "text and bytes were read, and what a template promised",
        kinds == [t.TextResourceContents, t.BlobResourceContents, t.TextResourceContents],
    )


async def _subscription(i: Inspection) -> str:
    await i.session.subscribe("demo://clock")
    await i.session.call_tool("tick")
    updated = await i.next(t.ResourceUpdatedNotification)
    await i.session.unsubscribe("demo://clock")
    await i.session.call_tool("tick")
    return _expect(
        "the clock told of its update, and no more once unsubscribed",
        updated.params.uri == "demo://clock" and len(i.told(t.ResourceUpdatedNotification)) == 1,
    )


async def _prompts(i: Inspection) -> str:
    greet = t.PromptReference("greet")
    prompt = await i.session.get_prompt("greet", {"name": "Ada", "style": "formal"})
    completion = await i.session.complete(greet, "style", "fr", context={"name": "Ada"})
    return _expect(
        "the prompt was filled in; fr goes on as friendly or frosty",
        "formal greeting for Ada" in _said(prompt.messages[0].content)
        and completion.values == ("friendly", "frosty"),
    )


#: What the server can ask: the tool that makes it do so, the first revision that has it, what it is
#: called, and what the tool then says.
_QUESTIONS: Final = (
    ("ask-model", "2024-11-05", "sampling", "the model says: 13"),
    ("ask-user", "2025-06-18", "a form", "'name': 'Ada'"),
    ("sign-in", "2025-11-25", "a page to visit", "accept"),
    ("where", "2024-11-05", "roots", "file:///"),
)


async def _asked_back(i: Inspection) -> str:
    asked: list[str] = []
    for tool, since, name, answer in _QUESTIONS:
        if since > i.session.revision:
            continue
        said = _said((await i.session.call_tool(tool)).content[0])
        if answer not in said:
            raise _Surprise(f"{tool}: {said}")
        if tool == "sign-in":
            await i.next(t.ElicitationCompleteNotification)
        asked.append(name)
    return f"for {', '.join(asked)}; all were answered"


async def _task(i: Inspection) -> str:
    if i.session.revision < "2025-11-25":
        return _NO_TASKS
    handle = await i.session.call_tool_as_task("bake", {"seconds": 0.2}, ttl=60_000)
    assert handle.task is not None
    standing = await i.session.get_task(handle.task.task_id)
    stood = [update.status async for update in handle if isinstance(update, t.Task)]
    said = _said((await handle.result()).content[0])
    return _expect(
        f"the call became a task: {', '.join(dict.fromkeys(stood))}; its result: {said}",
        standing.task_id == handle.task.task_id
        and stood[0] == "working"
        and "input_required" in stood
        and stood[-1] == "completed"
        and said == "a cake with Ada on it",
    )


async def _cancelled_task(i: Inspection) -> str:
    if i.session.revision < "2025-11-25":
        return _NO_TASKS
    handle = await i.session.call_tool_as_task("bake", {"seconds": 60})
    async for update in handle:
        if isinstance(update, t.Task) and (update.status_message or "").startswith("baking"):
            break
    await handle.cancel()
    try:
        await handle.result()
    except TaskCancelled:
        tasks = await i.listed(i.session.tasks())
        return _expect(
            "stopped while it worked, with tasks/cancel",
            [task.status for task in tasks] == ["completed", "cancelled"],
        )
    raise _Surprise("a task that was stopped has a result")


async def _refused(i: Inspection) -> str:
    try:
        await i.session.unsubscribe("demo://never")
    except LocalProtocolError as error:
        return _expect(f"refused before anything was sent: {error}", error.rule == "RES-05")
    raise _Surprise("a mistake of ours was sent")


_STEPS: Final[tuple[tuple[str, Callable[[Inspection], Awaitable[str]]], ...]] = (
    ("", _handshake),  # Its messages have gone by already, under a heading of their own.
    ("Ping", _ping),
    ("Lists, page by page", _lists),
    ("A tool with structured output", _structured),
    ("A tool that gives an image", _picture),
    ("A tool that fails", _failure),
    ("A tool that does not exist", _unknown),
    ("Progress and log messages", _progress),
    ("Cancellation", _cancellation),
    ("A timeout", _timeout),
    ("Resources", _resources),
    ("A subscription", _subscription),
    ("A prompt, and completion", _prompts),
    ("The server asks back", _asked_back),
    ("A call that becomes a task", _task),
    ("A task that is cancelled", _cancelled_task),
    ("A mistake of our own", _refused),
)


async def take_tour(inspected: Inspection, timeline: Timeline) -> bool:
    """Do everything once; tells whether all went as it should."""
    good = True
    for heading, step in _STEPS:
        if heading:
            timeline.heading(heading)
        inspected.events.clear()
        try:
            with trio.fail_after(_PATIENCE):
                timeline.verdict(await step(inspected), good=True)
        except ConnectionLost:
            raise
        except trio.TooSlowError:
            good = False
            timeline.verdict(f"not done after {_PATIENCE} s", good=False)
        except (_Surprise, NoConversation, SessionError, LocalProtocolError) as error:
            good = False
            timeline.verdict(str(error), good=False)
    good = good and not timeline.violations
    timeline.heading(f"{len(_STEPS)} steps, {'all as they should be' if good else 'not all good'}")
    return good
