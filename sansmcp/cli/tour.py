"""The tour: every feature of the protocol once, with the demo server."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import trio

from sansmcp import LocalProtocolError
from sansmcp import types as t

from .driver import RequestFailed
from .session import Inspection
from .timeline import Timeline

__all__ = ["take_tour"]


#: Seconds that a step may take; it takes a fraction of one if all goes well.
_PATIENCE: Final = 20


class _Surprise(Exception):
    """Something did not go as it should."""


def _expect(what: str, holds: bool) -> str:
    if not holds:
        raise _Surprise(f"not so: {what}")
    return what


def _revision(i: Inspection) -> str:
    assert i.connection.revision is not None
    return i.connection.revision


async def _handshake(i: Inspection) -> str:
    capabilities = i.connection.peer_capabilities
    assert capabilities is not None
    return _expect(
        f"agreed on revision {i.connection.revision}; the server offers tools, prompts, resources, "
        "completions and logging",
        None not in (capabilities.tools, capabilities.prompts, capabilities.logging)
        and capabilities.resources is not None
        # The first revision has completion, and no capability for it.
        and (capabilities.completions is not None or _revision(i) == "2024-11-05"),
    )


async def _ping(i: Inspection) -> str:
    await i.ask(i.connection.ping())
    return "the server is there"


async def _lists(i: Inspection) -> str:
    tools = await i.listed(i.connection.list_tools, "tools")
    resources = await i.listed(i.connection.list_resources, "resources")
    templates = await i.listed(i.connection.list_resource_templates, "resource_templates")
    prompts = await i.listed(i.connection.list_prompts, "prompts")
    counts = len(tools), len(resources), len(templates), len(prompts)
    return _expect("11 tools in 3 pages, 7 resources in 2", counts == (11, 7, 1, 1))


async def _structured(i: Inspection) -> str:
    result = await i.ask(i.connection.call_tool("add", {"a": 2, "b": 3}))
    if _revision(i) < "2025-06-18":
        text = result.content[0].text
        return _expect("2 + 3 = 5, as text; this revision has no other way", text == '{"sum": 5}')
    return _expect("structured content: 2 + 3 = 5", result.structured_content == {"sum": 5})


async def _picture(i: Inspection) -> str:
    result = await i.ask(i.connection.call_tool("picture"))
    [image] = result.content
    return _expect("an image came", isinstance(image, t.ImageContent))


async def _failure(i: Inspection) -> str:
    result = await i.ask(i.connection.call_tool("fail"))
    return _expect("the tool failed, and says so in its result", result.is_error is True)


async def _unknown(i: Inspection) -> str:
    try:
        await i.ask(i.connection.call_tool("no-such-tool"))
    except RequestFailed as failed:
        return _expect("an unknown tool is error -32602", "-32602" in str(failed))
    raise _Surprise("an unknown tool was called")


async def _progress(i: Inspection) -> str:
    await i.ask(i.connection.set_logging_level("info"))
    i.notifications.clear()
    await i.ask(i.connection.call_tool("count", {"steps": 4}, progress=True))
    values = [event.progress for event in i.progress]
    levels = [one.params.level for one in i.notifications]
    return _expect(
        "four steps of progress; the log messages below level info were left out",
        values == [1, 2, 3, 4] and levels == ["info", "info"],
    )


async def _cancellation(i: Inspection) -> str:
    id = i.connection.call_tool("wait", {"seconds": 30})
    with trio.move_on_after(0.2) as scope:
        await i.ask(id)
    await i.ask(i.connection.ping())
    return _expect("given up after 0.2 s; the server was told", scope.cancelled_caught)


async def _timeout(i: Inspection) -> str:
    try:
        await i.ask(i.connection.call_tool("wait", {"seconds": 30}, timeout=0.2))
    except RequestFailed as failed:
        return _expect("timed out after 0.2 s; the server was told", "in time" in str(failed))
    raise _Surprise("an answer came too early")


async def _resources(i: Inspection) -> str:
    await i.ask(i.connection.read_resource("demo://note/1"))
    await i.ask(i.connection.read_resource("demo://square"))
    await i.ask(i.connection.subscribe("demo://clock"))
    await i.ask(i.connection.call_tool("tick"))
    updated = await i.heard(t.ResourceUpdatedNotification)
    await i.ask(i.connection.unsubscribe("demo://clock"))
    i.notifications.clear()
    await i.ask(i.connection.call_tool("tick"))
    return _expect(
        "text and bytes were read; the clock told of its update, and no more once unsubscribed",
        updated.params.uri == "demo://clock" and not i.notifications,
    )


async def _prompts(i: Inspection) -> str:
    prompt = await i.ask(i.connection.get_prompt("greet", {"name": "Ada", "style": "formal"}))
    completion = await i.ask(
        i.connection.complete(t.PromptReference("greet"), "style", "fr", context={"name": "Ada"})
    )
    return _expect(
        "the prompt was filled in; fr goes on as friendly or frosty",
        "Ada" in prompt.messages[0].content.text
        and completion.completion.values == ("friendly", "frosty"),
    )


#: What the server can ask: the tool that makes it do so, the first revision that has it, what it is
#: called, and what the tool then says.
_QUESTIONS: Final = (
    ("ask-model", "2024-11-05", "sampling", "13"),
    ("ask-user", "2025-06-18", "a form", "'name': 'Ada'"),
    ("sign-in", "2025-11-25", "a page to visit", "accept"),
    ("where", "2024-11-05", "roots", "file:///"),
)


async def _asked_back(i: Inspection) -> str:
    asked = []
    for tool, since, name, answer in _QUESTIONS:
        if since > _revision(i):
            continue
        result = await i.ask(i.connection.call_tool(tool))
        if answer not in result.content[0].text:
            raise _Surprise(f"{tool}: {result.content[0].text}")
        if tool == "sign-in":
            await i.heard(t.ElicitationCompleteNotification)
        asked.append(name)
    return f"for {', '.join(asked)}; all were answered"


async def _task(i: Inspection) -> str:
    if _revision(i) < "2025-11-25":
        return "this revision has no tasks"
    i.tasks.clear()
    result = await i.ask(i.connection.call_tool("bake", task=t.TaskMetadata(60_000)))
    statuses = [task.status for task in i.tasks]
    return _expect(
        f"the call became a task: {', '.join(dict.fromkeys(statuses))}; its result: "
        f"{result.content[0].text}",
        statuses[0] == "working"
        and "input_required" in statuses
        and statuses[-1] == "completed"
        and result.content[0].text == "a cake with Ada on it",
    )


async def _cancelled_task(i: Inspection) -> str:
    if _revision(i) < "2025-11-25":
        return "this revision has no tasks"
    i.tasks.clear()
    id = i.connection.call_tool("bake", {"seconds": 60}, task=t.TaskMetadata())
    with trio.move_on_after(0.5):
        await i.ask(id)
    while not i.tasks or i.tasks[-1].status != "cancelled":
        await trio.sleep(0.01)
    tasks = await i.listed(_list_tasks(i), "tasks")
    return _expect(
        "given up after 0.5 s; tasks/cancel, for a task is stopped in no other way",
        [task.status for task in tasks] == ["completed", "cancelled"],
    )


def _list_tasks(i: Inspection) -> Callable[[str | None], t.RequestId]:
    def ask(cursor: str | None) -> t.RequestId:
        params = None if cursor is None else t.PaginatedRequestParams(cursor)
        return i.connection.send_request(t.ListTasksRequest(params))

    return ask


async def _refused(i: Inspection) -> str:
    try:
        i.connection.unsubscribe("demo://never")
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
    ("Resources, and a subscription", _resources),
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
        try:
            with trio.fail_after(_PATIENCE):
                outcome: Any = await step(inspected)
            timeline.note(outcome, good=True)
        except trio.TooSlowError:
            good = False
            timeline.note(f"not done after {_PATIENCE} s", good=False)
        except (_Surprise, RequestFailed, LocalProtocolError) as error:
            good = False
            timeline.note(str(error), good=False)
    good = good and not timeline.violations
    timeline.heading(f"{len(_STEPS)} steps, {'all as they should be' if good else 'not all good'}")
    return good
