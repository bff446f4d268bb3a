"""The table of rules: complete, true to its source, and the only names that code and tests use."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

import sansmcp
from sansmcp import INVALID_PARAMS, RULES
from sansmcp.rules import Broken

from .conftest import shared_path

TESTS = Path(__file__).parent
PACKAGE = Path(sansmcp.__file__).parent

# The page that a source of the requirement table stands for.
PAGES = {
    "ix": "basic",
    "lc": "basic/lifecycle",
    "tr": "basic/transports",
    "ca": "basic/utilities/cancellation",
    "pi": "basic/utilities/ping",
    "pr": "basic/utilities/progress",
    "ta": "basic/utilities/tasks",
    "el": "client/elicitation",
    "ro": "client/roots",
    "sa": "client/sampling",
    "pm": "server/prompts",
    "re": "server/resources",
    "to": "server/tools",
    "co": "server/utilities/completion",
    "lo": "server/utilities/logging",
    "pa": "server/utilities/pagination",
    "ts": "schema",
}
# Rules of the application that the library watches all the same, since it can.
WATCHED = {"TASK-07", "TASK-10", "ELIC-31", "SAMP-08", "SAMP-13"}
# One id stands for what either side has to check in the answer to a form.
BOTH_SIDES = {"ELIC-31", "ELIC-64"}
# These are cited where the page explains them, not in the schema's comment.
EXPLAINED = {"CANC-05": "basic/utilities/cancellation", "SAMP-33": "client/sampling"}


@attrs.frozen
class Requirement:
    id: str
    level: str
    binds: str
    layer: str
    text: str
    source: str


def requirements() -> dict[str, Requirement]:
    """The rows of the requirement table, by id."""
    found = {}
    for line in shared_path("spec", "requirements-2025-11-25.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and re.fullmatch(r"[A-Z]+-\d+", cells[0]):
            id, level, binds, layer, text, _, source = cells
            found[id] = Requirement(id, level.strip("()").upper(), binds, layer, text, source)
    assert len(found) == 535
    return found


def test_every_rule_that_the_library_can_keep_is_in_the_table() -> None:
    due = {
        row.id
        for row in requirements().values()
        if row.layer in ("core", "adapter") and not row.id.startswith("HTTP-")
    }
    assert len(due) == 250
    assert RULES.keys() == due | WATCHED | {"LIMIT-01"}


def test_rules_agree_with_the_requirement_table() -> None:
    rows = requirements()
    for rule in RULES.values():
        if rule.id == "LIMIT-01":
            continue
        row = rows[rule.id]
        assert rule.level == row.level, rule.id
        assert rule.binds == row.binds or rule.id in BOTH_SIDES, rule.id
        pages = {PAGES.get(source[:2]) for source in row.source.split() if source != "-"}
        if pages:
            assert rule.page in pages | {EXPLAINED.get(rule.id)}, rule.id
        assert rule.text != row.text, rule.id


def test_a_rule_is_one_short_sentence_from_one_page() -> None:
    for id, rule in RULES.items():
        assert rule.id == id
        assert rule.text.endswith(".") and ". " not in rule.text, id
        assert len(rule.text) <= 120, id
        if id == "LIMIT-01":
            assert (rule.page, rule.url) == ("", "")
        else:
            assert rule.page in PAGES.values(), id
            root = "https://modelcontextprotocol.io/specification/2025-11-25"
            assert rule.url == f"{root}/{rule.page}"


def test_no_two_rules_say_the_same() -> None:
    assert len({rule.text for rule in RULES.values()}) == len(RULES)


def test_rules_are_in_the_order_of_their_ids_within_an_area() -> None:
    by_area: dict[str, list[int]] = {}
    for id in RULES:
        area, _, number = id.partition("-")
        by_area.setdefault(area, []).append(int(number))
    for area, numbers in by_area.items():
        assert numbers == sorted(set(numbers)), area


def test_a_broken_rule_is_refused_as_invalid_params_unless_it_says_otherwise() -> None:
    broken = Broken("PROG-02", "why")
    assert broken.code == INVALID_PARAMS
    assert broken == Broken("PROG-02", "why", INVALID_PARAMS)
    assert Broken("PROG-02", "why", None).code is None


# ---- the ids that are written elsewhere


def strings(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def test_every_rule_that_code_names_is_in_the_table() -> None:
    areas = {id.partition("-")[0] for id in RULES}
    named = {
        text
        for path in PACKAGE.rglob("*.py")
        if path.name != "rules.py"
        for text in strings(ast.parse(path.read_text()))
        if re.fullmatch(r"[A-Z]+-\d+", text) and text.partition("-")[0] in areas
    }
    assert len(named) > 60
    assert named - RULES.keys() == set()


def test_every_mark_of_a_test_names_a_rule_or_a_case_that_exists() -> None:
    known = requirements().keys() | RULES.keys()
    for parts, entry in (
        (("spec", "requirements-2025-11-25.md"), r"^- \*\*(X-\d+)\*\*"),
        (("spec", "revisions.md"), r"^- \*\*(R-\d+)\b"),
        (("cases", "handout.md"), r"^\| (H\d+) \|"),
        (("cases", "stricter.md"), r"^\| (S\d+) \|"),
    ):
        known |= set(re.findall(entry, shared_path(*parts).read_text(), re.MULTILINE))
    unknown = {
        (path.name, id)
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule"
        for id in strings(node)
        if id not in known
    }
    assert unknown == set()
