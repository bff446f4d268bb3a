"""What a sampling request may hold, and what may be answered (client/sampling).

The tool loop has the strictest rules: whatever tools the assistant has used in one message, the next
message, from the user, answers them all and holds nothing else.
"""

from collections.abc import Iterable, Iterator

from . import types as t
from .errors import shortened
from .rules import Broken

__all__ = ["check_messages", "check_result"]


def _blocks(content: t.SamplingContent) -> tuple[t.SamplingMessageContentBlock, ...]:
    return content if isinstance(content, tuple) else (content,)


def check_messages(messages: Iterable[t.SamplingMessage]) -> Iterator[Broken]:
    """The rules that the messages of a request break: SAMP-10, SAMP-11, SAMP-24, SAMP-33.

    The results may come in any order. An assistant's message that uses tools and is the last one is
    a broken rule too: nobody has answered it.
    """
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        blocks = _blocks(message.content)
        used = [block.id for block in blocks if isinstance(block, t.ToolUseContent)]
        answered = [block for block in blocks if isinstance(block, t.ToolResultContent)]
        if answered and message.role != "user":
            yield Broken("SAMP-10", f"{where}: the assistant sends tool results")
        if used and message.role != "assistant":
            yield Broken("SAMP-11", f"{where}: the user uses tools")
        if answered and len(answered) != len(blocks):
            yield Broken("SAMP-10", f"{where}: tool results beside other content")
        if len(set(used)) != len(used):
            yield Broken("SAMP-11", f"{where}: two tool uses of one id")
        results = [block.tool_use_id for block in answered]
        missing = set(open_ids).difference(results)
        if missing:
            shown = shortened(min(missing))
            yield Broken("SAMP-11", f"{where}: the use of a tool, {shown}, is not answered here")
        unknown = set(results).difference(open_ids)
        if unknown:
            yield Broken("SAMP-33", f"{where}: {shortened(min(unknown))} answers no use of a tool")
        elif len(set(results)) != len(results):
            yield Broken("SAMP-24", f"{where}: the use of a tool is answered twice")
        open_ids = used
    if open_ids:
        yield Broken("SAMP-11", f"the use of a tool, {shortened(open_ids[0])}, is not answered")


def check_result(
    params: t.CreateMessageRequestParams, result: t.CreateMessageResult
) -> Iterator[Broken]:
    """The rules that an answer breaks: SAMP-13, S17.

    An answer may have several blocks, and use tools, only where tools were offered.
    """
    offered = params.tools is not None
    if isinstance(result.content, tuple) and len(result.content) != 1 and not offered:
        count = len(result.content)
        yield Broken("SAMP-20", f"{count} blocks in answer to a request without tools")
    uses = any(isinstance(block, t.ToolUseContent) for block in _blocks(result.content))
    if uses and not offered:
        yield Broken("SAMP-20", "a tool is used in answer to a request without tools")
    elif uses and params.tool_choice is not None and params.tool_choice.mode == "none":
        yield Broken("SAMP-13", "a tool is used although toolChoice is none")
