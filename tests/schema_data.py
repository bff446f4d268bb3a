"""Values that a JSON Schema accepts: a Hypothesis strategy for the keywords that MCP's schema uses."""

from typing import Any

from hypothesis import strategies as st

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
)
#: Any JSON value, small.
JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)


def accepted_by(spec: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that `spec` accepts.

    Args:
        spec: the schema.
        defs: the definitions that its references name.
    """
    if "$ref" in spec:
        return st.deferred(lambda: accepted_by(defs[spec["$ref"].rpartition("/")[2]], defs))
    if "const" in spec:
        return st.just(spec["const"])
    if "enum" in spec:
        return st.sampled_from(spec["enum"])
    if "anyOf" in spec:
        return st.one_of([accepted_by(option, defs) for option in spec["anyOf"]])
    if "allOf" in spec:
        parts = [accepted_by(part, defs) for part in spec["allOf"]]
        return st.tuples(*parts).map(
            lambda values: {k: v for value in values for k, v in value.items()}
        )
    kinds = spec.get("type")
    if kinds is None:
        return JSON
    if isinstance(kinds, list):
        return st.one_of([accepted_by({**spec, "type": kind}, defs) for kind in kinds])
    strategy: st.SearchStrategy[Any] = _BY_KIND[kinds](spec, defs)
    return strategy


def _numbers(spec: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    low, high = spec.get("minimum"), spec.get("maximum")
    return st.floats(low, high, allow_nan=False, allow_infinity=False) | st.integers(low, high)


def _arrays(spec: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    return st.lists(accepted_by(spec["items"], defs), max_size=3)


def _objects(spec: dict[str, Any], defs: dict[str, Any]) -> st.SearchStrategy[Any]:
    properties = spec.get("properties", {})
    required = set(spec.get("required", []))
    known = {name: accepted_by(inner, defs) for name, inner in properties.items()}
    more = spec.get("additionalProperties", True)
    others = JSON if isinstance(more, bool) or not more else accepted_by(more, defs)
    # Hypothesis tries texts that it finds in our source, and in an older revision the name of a newer
    # field would be one that the schema does not know.
    names = _TEXT.map("x-{}".format)
    return st.tuples(
        st.fixed_dictionaries(
            {name: inner for name, inner in known.items() if name in required},
            optional={name: inner for name, inner in known.items() if name not in required},
        ),
        # What the schema does not know is legal everywhere.
        st.dictionaries(names, others, max_size=2),
    ).map(lambda parts: {**parts[0], **parts[1]})


_BY_KIND: dict[str, Any] = {
    "null": lambda spec, defs: st.none(),
    "boolean": lambda spec, defs: st.booleans(),
    "string": lambda spec, defs: _TEXT,
    "integer": lambda spec, defs: st.integers(-(2**70), 2**70),
    "number": _numbers,
    "array": _arrays,
    "object": _objects,
}
