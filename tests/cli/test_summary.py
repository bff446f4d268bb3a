"""What the timeline makes of messages: a few words, whatever is in them."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansmcp.cli.summary import printable, summary
from tests.conftest import shared_path

_KNOWN = """
    method params result error id name uri level arguments messages content contents text data role
    ref argument value progress total mode url tools nextCursor serverInfo version protocolVersion
    completion values action task tasks taskId status statusMessage code message requestId cursor
    type resource isError structuredContent
"""
_KEYS = st.sampled_from(_KNOWN.split())
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(_KEYS, _ANYTHING, max_size=5))
def test_any_message_has_a_summary_that_is_safe_to_print(message: dict[str, Any]) -> None:
    assert summary(message).isprintable()


def test_every_message_of_the_specification_has_one() -> None:
    examples = shared_path("spec/examples/messages-2025-11-25.jsonl")
    for line in examples.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)["message"]
        assert "\n" not in summary(message)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            {"method": "tools/call", "params": {"name": "add", "arguments": {"a": 2, "b": 3}}},
            'add {"a": 2, "b": 3}',
        ),
        (
            {"method": "notifications/progress", "params": {"progress": 2, "total": 4}},
            "2/4",
        ),
        (
            {"method": "notifications/cancelled", "params": {"requestId": 7, "reason": "late"}},
            "#7 late",
        ),
        ({"method": "ping"}, ""),
        ({"id": 1, "result": {}}, "ok"),
        ({"id": 1, "error": {"code": -32601, "message": "no"}}, "-32601 no"),
        (
            {"id": 1, "result": {"tools": [{"name": "a"}, {"name": "b"}], "nextCursor": "2"}},
            "2 tools (and more): a, b",
        ),
        ({"id": 1, "result": {"prompts": []}}, "0 prompts"),
        ({"id": 1, "result": {"content": [{"type": "text", "text": "a\nb"}]}}, "a b"),
        (
            {"id": 1, "result": {"content": [{"type": "text", "text": "x"}], "isError": True}},
            "isError: x",
        ),
        (
            {"id": 1, "result": {"contents": [{"uri": "u:", "blob": "AAAA"}]}},
            "[None, 4 characters of base64]",
        ),
        ({"id": 1, "result": {"action": "accept", "content": {"n": 1}}}, 'accept {"n": 1}'),
        (
            {"id": 1, "result": {"taskId": "786512e2-9e0d-44bd", "status": "working"}},
            "task 786512e2-9e… working",
        ),
        ({"id": 1, "result": {"tools": 5}}, '{"tools": 5}'),
    ],
)
def test_the_words(message: dict[str, Any], said: str) -> None:
    assert summary({"jsonrpc": "2.0", **message}) == said


def test_deep_and_long_things_are_cut() -> None:
    deep: Any = "x"
    for _ in range(sys.getrecursionlimit() * 100):
        deep = [deep]
    assert summary({"result": deep}) == '"[deeply nested]"'
    assert len(summary({"result": {"content": [{"text": "x" * 10_000}]}})) == 200


def test_what_moves_the_cursor_is_spelled_out() -> None:
    assert printable("a\x1b[31m\u202eb\x9b\n") == r"a\x1b[31m\u202eb\x9b\n"
    assert printable("Grüße, 世界") == "Grüße, 世界"
