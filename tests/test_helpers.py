"""Small decisions that the specification describes and leaves to the application."""

import pytest

from sansmcp.helpers import (
    choose_icon,
    dialect_of,
    display_name,
    is_safe_icon_uri,
    is_within_roots,
    match_model,
    same_origin,
    structured_result,
)
from sansmcp.types import (
    CallToolResult,
    Icon,
    ModelHint,
    ModelPreferences,
    Prompt,
    Root,
    TextContent,
    Tool,
    ToolAnnotations,
)


@pytest.mark.rule("META-09")
def test_meta_09_names_for_people() -> None:
    schema = {"type": "object"}
    assert display_name(Tool("n", schema)) == "n"
    assert display_name(Tool("n", schema, annotations=ToolAnnotations(title="A"))) == "A"
    assert display_name(Tool("n", schema, title="T", annotations=ToolAnnotations(title="A"))) == "T"
    assert display_name(Prompt("n")) == "n"
    assert display_name(Prompt("n", title="T")) == "T"


@pytest.mark.rule("JSCH-01")
def test_jsch_01_the_dialect() -> None:
    assert dialect_of({}) == "https://json-schema.org/draft/2020-12/schema"
    draft = "http://json-schema.org/draft-07/schema#"
    assert dialect_of({"$schema": draft}) == draft
    assert dialect_of({"$schema": 5}) == dialect_of({})


@pytest.mark.rule("ICON-04", "X-12")
@pytest.mark.parametrize(
    ("uri", "safe"),
    [
        ("https://a.example/i.png", True),
        ("data:image/png;base64,AA==", True),
        ("http://a.example/i.png", False),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("ftp://a.example/i.png", False),
        ("ws://a.example/", False),
        ("https:", False),
        ("//a.example/i.png", False),
        ("HTTPS://a.example/i.png", True),
        ("https://[::1/i.png", False),
        ("", False),
    ],
)
def test_icon_04_safe_uris(uri: str, safe: bool) -> None:
    assert is_safe_icon_uri(uri) is safe


@pytest.mark.rule("ICON-09", "X-12")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example/x", "https://a.example:443/y", True),
        ("https://A.example/x", "https://a.example/", True),
        ("https://a.example/", "http://a.example/", False),
        ("https://a.example/", "https://b.example/", False),
        ("https://a.example/", "https://a.example:8443/", False),
        ("data:x", "data:x", False),
        ("https://[::1/", "https://[::1/", False),
        ("https://a.example:99999/", "https://a.example/", False),
        ("https://a.example:0/", "https://a.example/", False),
    ],
)
def test_icon_09_origins(one: str, other: str, same: bool) -> None:
    assert same_origin(one, other) is same


@pytest.mark.rule("ICON-13")
def test_icon_13_the_icon_that_fits_best() -> None:
    small = Icon("https://a.example/16.png", sizes=["16x16"])
    large = Icon("https://a.example/64.png", sizes=["64x64"])
    dark = Icon("https://a.example/dark.svg", sizes=["any"], theme="dark")
    unsafe = Icon("http://a.example/32.png", sizes=["32x32"])
    odd = Icon("https://a.example/odd.png", sizes=["huge"])
    assert choose_icon([small, large, unsafe], size=32) == large
    assert choose_icon([small, large], size=16) == small
    assert choose_icon([small, dark], size=48, theme="dark") == dark
    assert choose_icon([small, dark], size=48, theme="light") == small
    assert choose_icon([odd, small], size=16) == small
    assert choose_icon([unsafe]) is None
    assert choose_icon([large], size=16) == large
    assert choose_icon([]) is None


@pytest.mark.rule("ICON-13", "ICON-14")
@pytest.mark.parametrize("size", ["48px", "48", "48x", "x48", "²x²", "9" * 5000 + "x1", "", "-1x1"])
def test_icon_13_sizes_that_are_none_do_not_decide(size: str) -> None:
    odd = Icon("https://a.example/odd.png", sizes=[size])
    good = Icon("https://a.example/16.png", sizes=["16x16"])
    assert choose_icon([odd, good], size=48) == good
    assert choose_icon([odd], size=48) == odd


@pytest.mark.rule("ROOT-11", "ROOT-12")
@pytest.mark.parametrize(
    ("uri", "within"),
    [
        ("file:///srv/data", True),
        ("file:///srv/data/", True),
        ("file:///srv/data/a/b", True),
        ("file://localhost/srv/data/a", True),
        ("file:///srv/database", False),
        ("file:///srv/data/../secret", False),
        ("file:///srv/data/%2e%2e/secret", False),
        ("file:///srv/data/a/../b", True),
        ("file:///srv/data%2F..%2Fsecret", False),
        ("file:///srv/data/%2E%2E%2Fsecret", False),
        ("file:///srv/data/..%5csecret", False),
        ("file:///srv/data/..\\secret", False),
        ("file:///srv/da\nta/a", False),
        ("file:///srv/data/.%09./secret", False),
        ("file:///srv/data/My%20Pictures/%C3%A9", True),
        ("file:////srv/data", False),
        ("file:///srv/data/%00", False),
        ("file://elsewhere/srv/data", False),
        ("https:///srv/data", False),
        ("file:srv/data", False),
        ("/srv/data", False),
        ("file://[::1/srv", False),
    ],
)
def test_root_11_paths_within_roots(uri: str, within: bool) -> None:
    assert is_within_roots(uri, [Root("file:///srv/data/"), Root("nonsense")]) is within
    assert is_within_roots(uri, []) is False


@pytest.mark.rule("ROOT-12")
def test_root_12_bytes_that_are_not_utf_8_stay_apart() -> None:
    root = [Root("file:///srv/%FF")]
    assert is_within_roots("file:///srv/%FF/a", root) is True
    assert is_within_roots("file:///srv/%FE/a", root) is False


@pytest.mark.rule("SAMP-35", "SAMP-36", "SAMP-38")
def test_samp_35_hints_are_tried_in_order() -> None:
    models = ["claude-3-opus", "claude-3-5-sonnet", "gpt-4o"]

    def hints(*names: str | None) -> ModelPreferences:
        return ModelPreferences(hints=[ModelHint(name) for name in names])

    assert match_model(hints("sonnet", "gpt"), models) == "claude-3-5-sonnet"
    assert match_model(hints("gemini", "gpt"), models) == "gpt-4o"
    assert match_model(hints("claude"), models) == "claude-3-opus"
    assert match_model(hints("gemini", None), models) is None
    assert match_model(hints("", "gpt"), models) == "gpt-4o"
    assert match_model(ModelPreferences(speed_priority=1), models) is None
    assert match_model(None, models) is None


@pytest.mark.rule("TOOL-21")
def test_tool_21_structured_content_is_repeated_as_text() -> None:
    value = {"n": 1, "é": [None]}
    expected = TextContent('{"n": 1, "é": [null]}')
    assert structured_result(value) == CallToolResult([expected], structured_content=value)
    assert structured_result(value, is_error=True).is_error is True
    with pytest.raises(ValueError, match="JSON"):
        structured_result({"n": float("nan")})
    with pytest.raises(TypeError):
        structured_result({"n": {1}})
