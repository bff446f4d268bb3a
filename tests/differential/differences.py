"""Why the two differ, where they do; and the table of it in the documentation."""

from typing import Final

from .inputs import INPUTS
from .peers import REPOSITORY

__all__ = ["PAGE", "REASONS", "updated"]

PAGE: Final = REPOSITORY / "docs" / "reference" / "differences.md"
BEGIN: Final = "<!-- differences: generated -->"
END: Final = "<!-- end -->"

#: Why -> which inputs.
REASONS: Final[dict[str, tuple[str, ...]]] = {
    "**What cannot be read is answered.** JSON-RPC has -32700 for it, without an id since none could "
    "be read (JRPC-01, JRPC-02). The SDK passes over it in silence, so that whoever sent it waits for "
    "an answer until a timeout.": (
        "text that is no JSON before initialize",
        "text that is no JSON",
        "a JSON text that is cut short",
        "a form feed before the message",
        "a byte order mark",
        "a lone surrogate",
        "10,000 nested arrays",
        "two messages on a line",
    ),
    "**JSON is strict.** NaN and infinities are no JSON, and 1e999 would become one; bytes that are "
    "not UTF-8 are no text (JRPC-01). The SDK reads them as something else, and answers.": (
        "bytes that are not UTF-8",
        "NaN",
        "1e999",
    ),
    "**What is JSON and no message is refused** with -32600, under its id where it has one that can "
    "be used (JRPC-02 to JRPC-04, JRPC-15). The SDK passes over these as well.": (
        "null",
        "a number",
        "a text",
        "an empty object",
        "an empty array",
        "a batch of one ping",
        "no jsonrpc",
        "jsonrpc 1.0",
        "jsonrpc as a number",
        "a method that is a number",
        "the id null",
        "the id true",
        "the id 1.5",
        "the id 1.0",
        "an array as id",
        "an object as id",
    ),
    "**Params are objects.** A request with others is refused with -32602 and the reason (GEN-03). The "
    "SDK takes null for none, and does not answer the rest.": (
        "params null",
        "params a list",
        "params a text",
    ),
    "**An id is used by one request at a time** (JRPC-05): the second is refused with -32600, and the "
    "first keeps its answer. The SDK serves both under one id.": (
        "the same id twice, the first still served",
    ),
    "**Ids have an end**: `Limits.max_id_size` is 1,024 characters, so that remembering them has a "
    "bound. The SDK has none.": ("an id of 2,000 characters",),
    "**Initialization comes first, and once.** What comes too early is refused with -32600 and says so, "
    "whichever method it is; so is a second `initialize`, which changes nothing (LIFE-01, LIFE-04). "
    "The SDK answers that an unready session has invalid params, or does not know the method; it "
    "serves requests before `notifications/initialized`, and initializes again.": (
        "tools/list before initialize",
        "an unknown method before initialize",
        "tools/list between initialize and initialized",
        "initialize a second time",
    ),
    "**An unknown tool is an error of the protocol**, not a result with `isError`, which is what a tool "
    "itself reports (TOOL-27).": ("an unknown tool",),
    "**An unknown cursor is invalid** (PAGE-05). The SDK pays no heed to it and begins from the first "
    "page.": (
        "tools/list with an unknown cursor",
        "resources/list with an unknown cursor",
    ),
    "**An unknown resource is -32002** in this revision (RES-11). The SDK answers as a later one has "
    "it.": (
        "resources/read of an unknown resource",
        "resources/read of a URI that is none",
    ),
    "**A prompt that cannot be given is -32602** (PROMPT-07, PROMPT-08). The SDK sends the code 0, and "
    "the text of an exception.": (
        "prompts/get of an unknown prompt",
        "prompts/get without a required argument",
    ),
}


def table(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """The differences, by reason."""
    parts: list[str] = []
    for reason, inputs in REASONS.items():
        rows = [f"| {about} | {ours[about]} | {theirs[about]} |" for about in inputs]
        parts += [
            reason,
            "\n".join(["| input | `sansmcp` | official SDK |", "|---|---|---|", *rows]),
        ]
    same = sum(ours[input.about] == theirs[input.about] for input in INPUTS)
    parts.append(f"In the other {same} of {len(INPUTS)} inputs there is no difference.")
    return "\n\n".join(parts)


def updated(ours: dict[str, str], theirs: dict[str, str]) -> str:
    """The page, with the table made anew."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table(ours, theirs)}\n\n{END}{after}"
