"""Forms and what is filled in (client/elicitation)."""

from typing import Any

import pytest

from sansmcp.elicitation import check_request, check_result, defaults_of, with_defaults
from sansmcp.types import (
    BooleanSchema,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    EnumOption,
    LegacyTitledEnumSchema,
    NumberSchema,
    RequestedSchema,
    StringSchema,
    TitledEnumItems,
    TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema,
    UntitledEnumItems,
    UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
)

OPTIONS = [EnumOption("r", "Red"), EnumOption("g", "Green")]
ONE = UntitledSingleSelectEnumSchema(["r", "g"])
ONE_TITLED = TitledSingleSelectEnumSchema(OPTIONS)
OLD = LegacyTitledEnumSchema(["r", "g"], enum_names=["Red", "Green"])
MANY = UntitledMultiSelectEnumSchema(UntitledEnumItems(["r", "g"]), min_items=1, max_items=2)
MANY_TITLED = TitledMultiSelectEnumSchema(TitledEnumItems(OPTIONS), min_items=1)


def form(*, required: Any = None, **fields: Any) -> ElicitRequestFormParams:
    return ElicitRequestFormParams("?", RequestedSchema(fields, required))


def problems(params: Any, result: ElicitResult) -> list[str]:
    return [broken.rule for broken in check_result(params, result)]


@pytest.mark.rule("ELIC-63", "ELIC-64", "ELIC-15")
@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (StringSchema(), ["", "a", "é🦀"], [None, 1, True, ["a"], {}]),
        (StringSchema(min_length=2, max_length=3), ["ab", "🦀🦀", "abc"], ["a", "🦀", "abcd"]),
        (StringSchema(format="email"), ["a@b", "ada@example.com"], ["", "a", "@b", "a@", "a b@c", "a@b@c"]),
        (StringSchema(format="uri"), ["https://a.example/x?y#z", "mailto:a@b", "urn:x"], ["", "a", "//a", "http://a b", "ä:b"]),
        (StringSchema(format="date"), ["2024-02-29"], ["2023-02-29", "2024-2-9", "20240229", "2024-02-29T00:00:00Z", "\u0662024-01-01"]),
        (StringSchema(format="date-time"), ["2024-02-29T12:00:00Z", "2024-02-29t12:00:00.123456789+01:00"], ["2024-02-29", "2024-02-29T12:00:00", "2024-02-29T25:00:00Z", "2024-02-29 12:00:00Z"]),
        (NumberSchema("number"), [0, 1.5, -2, 2**70], ["1", True, None, [1]]),
        (NumberSchema("number", minimum=0, maximum=1), [0, 1, 0.5], [-0.1, 1.1]),
        (NumberSchema("integer", minimum=1), [1, 2.0, 2**70], [0, 1.5, True, "1"]),
        (BooleanSchema(), [True, False], [0, 1, "true", None]),
        (ONE, ["r", "g"], ["b", "", "Red", 1, ["r"]]),
        (ONE_TITLED, ["r", "g"], ["Red", "b", None]),
        (OLD, ["r", "g"], ["Red", "b"]),
        (MANY, [["r"], ["g", "r"], ("r",)], [[], ["b"], "r", ["r", "g", "r"], [1], None]),
        (MANY_TITLED, [["r"], ["r", "g"]], [[], ["Red"], "r"]),
    ],
)  # fmt: skip
def test_elic_64_content_fits_the_form(field: Any, good: list[Any], bad: list[Any]) -> None:
    params = form(x=field)
    for value in good:
        assert problems(params, ElicitResult("accept", {"x": value})) == [], value
    for value in bad:
        assert problems(params, ElicitResult("accept", {"x": value})) == ["ELIC-64"], value


@pytest.mark.rule("ELIC-64", "ELIC-31")
def test_elic_31_required_fields_and_the_other_actions() -> None:
    params = form(x=StringSchema(), y=StringSchema(), required=["x"])
    assert problems(params, ElicitResult("accept", {"x": "a"})) == []
    assert problems(params, ElicitResult("accept", {"y": "a"})) == ["ELIC-64"]
    assert problems(params, ElicitResult("accept")) == ["ELIC-64"]
    # JSON Schema lets through what it was not told to forbid.
    assert problems(params, ElicitResult("accept", {"x": "a", "z": 1})) == []
    for action in ("decline", "cancel"):
        assert problems(params, ElicitResult(action)) == []
        assert problems(params, ElicitResult(action, {"x": "a"})) == ["ELIC-31"]
    page = ElicitRequestURLParams("?", "e", "https://a.example/")
    assert problems(page, ElicitResult("accept")) == []
    assert problems(page, ElicitResult("accept", {})) == ["ELIC-31"]


@pytest.mark.rule("ELIC-14", "ELIC-15")
@pytest.mark.parametrize(
    ("params", "good"),
    [
        (form(), True),
        (form(x=StringSchema(default="a"), required=["x"]), True),
        (form(x=StringSchema(), required=["y"]), False),
        (form(x=StringSchema(min_length=3, max_length=2)), False),
        (form(x=NumberSchema("number", minimum=2, maximum=1)), False),
        (form(x=UntitledMultiSelectEnumSchema(UntitledEnumItems(["a"]), min_items=2, max_items=1)), False),
        (form(x=StringSchema(min_length=2, default="a")), False),
        (form(x=NumberSchema("integer", default=1.5)), False),
        (form(x=UntitledSingleSelectEnumSchema(["a"], default="b")), False),
        (form(x=UntitledMultiSelectEnumSchema(UntitledEnumItems(["a"]), default=["a"])), True),
        (form(x=UntitledMultiSelectEnumSchema(UntitledEnumItems(["a"]), default=["b"])), False),
        (form(x=BooleanSchema(default=False)), True),
    ],
)  # fmt: skip
def test_elic_15_a_form_can_be_filled_in(params: ElicitRequestFormParams, good: bool) -> None:
    assert [broken.rule for broken in check_request(params)] == ([] if good else ["ELIC-15"])


@pytest.mark.rule("ELIC-17", "ELIC-18", "ELIC-52")
@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://example.com/a?b=c#d", True),
        ("http://localhost:8080/", True),
        ("https://[::1]/x", True),
        ("myapp://host/x", True),
        ("", False),
        ("example.com", False),
        ("/path", False),
        ("https://", False),
        ("https:///x", False),
        ("https://[::1/x", False),
        ("https://a b/", False),
        ("javascript:alert(1)", False),
        ("https://a.example:65535/", True),
        ("https://münchen.example/ü", True),
        ("https://a.example:65536/", False),
        ("https://a.example:0/", False),
        ("https://a.example:x/", False),
        ("https://a.example/\n", False),
        ("\thttps://a.example/", False),
        ("https://a\0.example/", False),
        ("https://a.example/\u202egpj.exe", False),
        ("https://a.example/\u00a0", False),
    ],
)
def test_elic_18_urls(url: str, good: bool) -> None:
    found = list(check_request(ElicitRequestURLParams("?", "e", url)))
    assert [broken.rule for broken in found] == ([] if good else ["ELIC-18"])


@pytest.mark.rule("ELIC-15", "ELIC-64")
@pytest.mark.parametrize("digits", [4200, 5000])
def test_elic_15_a_bound_of_thousands_of_digits_is_a_bound(digits: int) -> None:
    # Python itself writes no integer of more than 4,300 digits.
    bound = 10**digits
    for field, value in (
        (NumberSchema("integer", minimum=bound), 1),
        (NumberSchema("integer", maximum=-bound), 1),
        (StringSchema(min_length=bound), "a"),
        (UntitledMultiSelectEnumSchema(UntitledEnumItems(["a"]), min_items=bound), ["a"]),
    ):
        [broken] = check_result(form(x=field), ElicitResult("accept", {"x": value}))
        assert broken.rule == "ELIC-64" and len(broken.detail) < 200
    [broken] = check_request(form(x=NumberSchema("integer", minimum=bound, maximum=1)))
    assert broken.rule == "ELIC-15" and len(broken.detail) < 200
    assert (
        problems(form(x=StringSchema(max_length=bound)), ElicitResult("accept", {"x": "a"})) == []
    )


@pytest.mark.rule("ELIC-16", "S21")
def test_elic_16_defaults() -> None:
    params = form(
        a=StringSchema(default=""),
        b=NumberSchema("integer", default=0),
        c=BooleanSchema(default=False),
        d=UntitledMultiSelectEnumSchema(UntitledEnumItems(["x"]), default=["x"]),
        e=StringSchema(),
    )
    defaults = {"a": "", "b": 0, "c": False, "d": ["x"]}
    assert defaults_of(params.requested_schema) == defaults
    filled = with_defaults(params, ElicitResult("accept", {"b": 7}))
    assert filled.content == {**defaults, "b": 7}
    assert with_defaults(params, ElicitResult("accept")).content == defaults
    declined = ElicitResult("decline")
    assert with_defaults(params, declined) is declined
    page = ElicitRequestURLParams("?", "e", "https://a.example/")
    accepted = ElicitResult("accept")
    assert with_defaults(page, accepted) is accepted
    assert with_defaults(form(e=StringSchema()), accepted) is accepted


@pytest.mark.rule("ELIC-19")
def test_elic_19_the_id_of_an_open_elicitation_is_not_used_again() -> None:
    from sansmcp import LocalProtocolError

    from .support import pump, ready_pair

    client, server = ready_pair()
    server.elicit_url("?", "e", "https://a.example/")
    with pytest.raises(LocalProtocolError) as caught:
        server.elicit_url("?", "e", "https://a.example/")
    assert caught.value.rule == "ELIC-19"
    pump(client, server)
    server.elicitation_complete("e")
    server.elicit_url("?", "e", "https://a.example/")
