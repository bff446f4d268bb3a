"""What an elicitation may ask, and what may be answered (client/elicitation).

Forms are flat: their fields are texts, numbers, yes or no, and choices. That is little enough to be
checked here, on both sides, without a validator for JSON Schema.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import attrs

from . import types as t
from .errors import shortened
from .rules import Broken

__all__ = ["check_request", "check_result", "defaults_of", "with_defaults"]

_Params: TypeAlias = t.ElicitRequestFormParams | t.ElicitRequestURLParams


def check_request(params: _Params) -> Iterator[Broken]:
    """The rules that a request breaks: ELIC-14, ELIC-15, ELIC-18.

    A form must be possible to fill in: the required fields exist, bounds leave something between
    them, and defaults fit their own fields.
    """
    if isinstance(params, t.ElicitRequestURLParams):
        if not _is_absolute_url(params.url):
            yield Broken("ELIC-18", f"{shortened(params.url)} is no absolute URL")
        return
    schema = params.requested_schema
    for name in schema.required or ():
        if name not in schema.properties:
            yield Broken("ELIC-15", f"required names {shortened(name)}, which is no field")
    for name, field in schema.properties.items():
        problem = _odd_bounds(field)
        if problem is None and getattr(field, "default", None) is not None:
            problem = _problem(field, field.default)
            problem = problem and f"its default {problem}"
        if problem is not None:
            yield Broken("ELIC-15", f"field {shortened(name)}: {problem}")


def check_result(params: _Params, result: t.ElicitResult) -> Iterator[Broken]:
    """The rules that an answer breaks: ELIC-31, ELIC-64.

    Fields that the form does not have are let through: JSON Schema allows them unless told not to.
    """
    content = result.content
    form = isinstance(params, t.ElicitRequestFormParams)
    if content is not None and not (form and result.action == "accept"):
        what = f"action {result.action}" if form else "url mode"
        yield Broken("ELIC-31", f"content with {what}")
    if not isinstance(params, t.ElicitRequestFormParams) or result.action != "accept":
        return
    schema = params.requested_schema
    filled = content or {}
    for name in schema.required or ():
        if name not in filled:
            yield Broken("ELIC-64", f"the required field {shortened(name)} is missing")
    for name, value in filled.items():
        field = schema.properties.get(name)
        problem = None if field is None else _problem(field, value)
        if problem is not None:
            yield Broken("ELIC-64", f"field {shortened(name)} {problem}")


def defaults_of(schema: t.RequestedSchema) -> dict[str, Any]:
    """The fields that have a default, with it (ELIC-16); for filling in a form beforehand."""
    values = {}
    for name, field in schema.properties.items():
        default = field.default
        if default is not None:
            values[name] = list(default) if isinstance(default, tuple) else default
    return values


def with_defaults(params: _Params, result: t.ElicitResult) -> t.ElicitResult:
    """The answer, completed with the defaults of what was left out, if it accepts a form."""
    if not isinstance(params, t.ElicitRequestFormParams) or result.action != "accept":
        return result
    defaults = defaults_of(params.requested_schema)
    if not defaults or not isinstance(result.content, (dict, type(None))):
        return result
    return attrs.evolve(result, content=defaults | (result.content or {}))


def _is_absolute_url(url: str) -> bool:
    # `urlsplit` drops some blanks without a word; and what cannot be seen misleads whoever has to
    # say yes to the address.
    if " " in url or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
        return bool(parts.scheme and parts.hostname) and parts.port != 0
    except ValueError:
        return False


# ---- one field


def _odd_bounds(field: t.PrimitiveSchemaDefinition) -> str | None:
    for low, high in (
        ("min_length", "max_length"),
        ("minimum", "maximum"),
        ("min_items", "max_items"),
    ):
        least, most = getattr(field, low, None), getattr(field, high, None)
        if least is not None and most is not None and least > most:
            return f"at least {shortened(least)} and at most {shortened(most)}"
    return None


def _problem(field: t.PrimitiveSchemaDefinition, value: Any) -> str | None:
    """What is wrong with the value of a field, as the end of a sentence about it."""
    return _PROBLEMS[type(field)](field, value)


def _text_problem(field: t.StringSchema, value: Any) -> str | None:
    if not isinstance(value, str):
        return f"is {shortened(value)}, not a text"
    if field.min_length is not None and len(value) < field.min_length:
        return f"has {len(value):,} characters, not {shortened(field.min_length)} or more"
    if field.max_length is not None and len(value) > field.max_length:
        return f"has {len(value):,} characters, not {shortened(field.max_length)} or fewer"
    if field.format is not None and not _FORMATS[field.format](value):
        return f"is {shortened(value)}, not of format {field.format}"
    return None


def _number_problem(field: t.NumberSchema, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"is {shortened(value)}, not a number"
    if field.type == "integer" and isinstance(value, float) and not value.is_integer():
        return f"is {value}, not an integer"
    if field.minimum is not None and value < field.minimum:
        return f"is {shortened(value)}, not {shortened(field.minimum)} or more"
    if field.maximum is not None and value > field.maximum:
        return f"is {shortened(value)}, not {shortened(field.maximum)} or less"
    return None


def _flag_problem(field: t.BooleanSchema, value: Any) -> str | None:
    return None if isinstance(value, bool) else f"is {shortened(value)}, not true or false"


def _choice_problem(values: Container[str], value: Any) -> str | None:
    if isinstance(value, str) and value in values:
        return None
    return f"is {shortened(value)}, not one of the choices"


def _choices_problem(
    field: t.UntitledMultiSelectEnumSchema | t.TitledMultiSelectEnumSchema,
    values: tuple[str, ...],
    value: Any,
) -> str | None:
    if not isinstance(value, (list, tuple)):
        return f"is {shortened(value)}, not a list of choices"
    allowed = frozenset(values)
    for one in value:
        problem = _choice_problem(allowed, one)
        if problem is not None:
            return problem
    if field.min_items is not None and len(value) < field.min_items:
        return f"has {len(value):,} choices, not {shortened(field.min_items)} or more"
    if field.max_items is not None and len(value) > field.max_items:
        return f"has {len(value):,} choices, not {shortened(field.max_items)} or fewer"
    return None


def _constants(options: tuple[t.EnumOption, ...]) -> tuple[str, ...]:
    return tuple(option.const for option in options)


_PROBLEMS: Final[Mapping[type, Callable[[Any, Any], str | None]]] = {
    t.StringSchema: _text_problem,
    t.NumberSchema: _number_problem,
    t.BooleanSchema: _flag_problem,
    t.UntitledSingleSelectEnumSchema: lambda f, v: _choice_problem(f.enum, v),
    t.LegacyTitledEnumSchema: lambda f, v: _choice_problem(f.enum, v),
    t.TitledSingleSelectEnumSchema: lambda f, v: _choice_problem(_constants(f.one_of), v),
    t.UntitledMultiSelectEnumSchema: lambda f, v: _choices_problem(f, f.items.enum, v),
    t.TitledMultiSelectEnumSchema: lambda f, v: _choices_problem(f, _constants(f.items.any_of), v),
}


# ---- formats. JSON Schema's own, as strict as a form for people needs them to be.


def _is_email(text: str) -> bool:
    # One @ with something without blanks on both sides. Whether it can be delivered to is another
    # question, and no pattern answers it.
    return re.fullmatch(r"[^@\s]{1,64}@[^@\s]{1,255}", text) is not None


def _is_uri(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]*", text) is not None


def _is_date(text: str) -> bool:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    pattern = r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
    if re.fullmatch(pattern, text, re.ASCII) is None:
        return False
    try:
        datetime.fromisoformat(re.sub(r"\.\d+", "", text.upper()))
    except ValueError:
        return False
    return True


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_date_time,
}
