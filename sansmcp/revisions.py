"""The protocol's revisions: which there are, in which order, and what sets each apart.

A revision is named by its date. Only differences that code asks for stand here, as data; which
method came with which revision is told by `sansmcp.methods`.
"""

from typing import Final

import attrs

__all__ = ["LATEST_REVISION", "REVISIONS", "Revision"]


@attrs.frozen
class Revision:
    """One dated revision of the protocol, and the traits in which revisions differ.

    Attributes:
        name: the date that peers exchange as `protocolVersion`. Being dates, names compare as text:
            the later revision is the greater one.
        gates_completion: `completion/complete` needs the `completions` capability. (The first
            revision had the method and no capability for it.)
    """

    name: str
    gates_completion: bool = True


#: Every revision that opens with `initialize`, by name, oldest first.
REVISIONS: Final[dict[str, Revision]] = {
    revision.name: revision
    for revision in (
        Revision("2024-11-05", gates_completion=False),
        Revision("2025-03-26"),
        Revision("2025-06-18"),
        Revision("2025-11-25"),
    )
}

LATEST_REVISION: Final = "2025-11-25"
