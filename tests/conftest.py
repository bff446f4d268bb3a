"""What all tests share: the Hypothesis profile, and the way to the project's shared folder."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from .support import broken_by_us, conversations

# Every run tries the same examples, so that a red run means a change. SANSMCP_EXAMPLES asks for
# more of them.
settings.register_profile(
    "sansmcp",
    derandomize=True,
    deadline=None,
    max_examples=int(os.environ.get("SANSMCP_EXAMPLES", "50")),
)
settings.load_profile("sansmcp")

_REPOSITORY = Path(__file__).resolve().parent.parent


def shared_path(*parts: str) -> Path:
    """A file or folder of the shared folder: schemas, recorded conversations, examples.

    The folder is the one that SANSMCP_SHARED names, else `shared` beside the repository. What needs
    it is skipped where it is absent; a module may ask while it is being collected.
    """
    folder = Path(os.environ.get("SANSMCP_SHARED") or _REPOSITORY.parent / "shared")
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent (SANSMCP_SHARED names the folder)", allow_module_level=True)
    return path


def cases(load: Callable[[], Iterable[Any]], arguments: int = 1) -> list[Any]:
    """The parameters of a test that lie in the shared folder; one that is skipped if it is absent.

    `arguments` says how many arguments of the test they fill.
    """
    try:
        return list(load())
    except pytest.skip.Exception as absent:
        reason = pytest.mark.skip(reason=str(absent))
        return [pytest.param(*[None] * arguments, marks=reason)]


@pytest.fixture(autouse=True)
def _our_connections_are_judged() -> Iterator[None]:
    """Whatever a peer does in a test: what our connections say breaks no rule."""
    conversations.clear()
    yield
    broken = broken_by_us()
    if broken:
        pytest.fail("\n\n".join(broken), pytrace=False)
