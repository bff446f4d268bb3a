"""The same bytes into our server and one on the official SDK: every difference is explained."""

from importlib.metadata import PackageNotFoundError, version

import pytest

from .differential.differences import PAGE, REASONS, updated
from .differential.inputs import INPUTS
from .differential.peers import OURS, THEIRS, outcomes


def _absent() -> str | None:
    try:
        found = version("mcp")
    except PackageNotFoundError:
        return "the official SDK (mcp) is absent"
    return None if found.startswith("2.3.") else f"the page is about mcp 2.3, and this is {found}"


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    return outcomes(OURS)


@pytest.fixture(scope="module")
def theirs() -> dict[str, str]:
    reason = _absent()
    if reason is not None:
        pytest.skip(reason)
    return outcomes(THEIRS)


def test_inputs_are_told_apart() -> None:
    assert len(INPUTS) >= 60
    assert len({input.about for input in INPUTS}) == len(INPUTS)
    ids = [repr(id) for input in INPUTS for id in input.ids]
    assert len(set(ids)) == len(ids)


def test_every_difference_from_the_official_sdk_is_explained(
    ours: dict[str, str], theirs: dict[str, str]
) -> None:
    differences = {about for about in ours if ours[about] != theirs[about]}
    explained = [about for inputs in REASONS.values() for about in inputs]
    assert sorted(explained) == sorted(differences)


def test_the_page_says_what_both_do(ours: dict[str, str], theirs: dict[str, str]) -> None:
    assert PAGE.read_text() == updated(ours, theirs)


@pytest.mark.rule("JRPC-02", "S29")
def test_every_input_with_an_id_is_answered_once(ours: dict[str, str]) -> None:
    """What is wrong costs its own message and no other; what was asked is not forgotten."""
    for input in INPUTS:
        answers = [] if ours[input.about] == "nothing" else ours[input.about].split(", ")
        lines = input.text.split(b"\n")
        requests = [line for line in lines if b'"method"' in line and b'"id"' in line]
        # The tool `wait` is served for ever, or until it is cancelled.
        due = [line for line in requests if b'"wait"' not in line]
        assert len(answers) == len(due) if requests else len(answers) <= 1, input.about
    assert ours["ping at the end"] == "result"
