"""What all tests share: the Hypothesis profile, and the way to the project's shared folder."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
