"""The core does no I/O, and imports nothing that could."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sansmcp

IO_MODULES = {
    "asyncio",
    "concurrent.futures",
    "http",
    "logging",
    "multiprocessing",
    "queue",
    "select",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "trio",
}
# attrs keeps a thread-local of the reprs under way, and so loads `threading`.
LOADED_BY_DEPENDENCIES = {"threading"}

PACKAGE = Path(sansmcp.__path__[0])
ADAPTERS = {"trio", "testing", "cli"}
CORE = sorted(
    path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ADAPTERS
)


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def loaded_after(*names, among=frozenset(IO_MODULES)):
    """Which of `among`, the I/O modules, a fresh interpreter has loaded after these imports."""
    script = f"import sys, {', '.join(names)}\nprint(*sys.modules)"
    # -E and -s: nothing of the user's may load a thing beside what is asked for.
    command = [sys.executable, "-E", "-s", "-c", script]
    run = subprocess.run(command, cwd=PACKAGE.parent, check=True, stdout=subprocess.PIPE, text=True)
    return among & set(run.stdout.split())


def test_importing_sansmcp_loads_no_io_module():
    assert loaded_after("sansmcp") <= LOADED_BY_DEPENDENCIES


def test_no_module_of_the_core_loads_an_io_module():
    assert loaded_after(*map(module_name, CORE)) <= LOADED_BY_DEPENDENCIES


def test_importing_the_tools_for_tests_loads_no_test_framework():
    frameworks = {"hypothesis", "pytest", "trio"}
    assert loaded_after("sansmcp.testing", among=frameworks) == set()


def test_what_is_excused_is_loaded_by_the_dependencies():
    assert loaded_after("attrs", "cattrs", "msgspec") == LOADED_BY_DEPENDENCIES


@pytest.mark.parametrize("path", CORE, ids=module_name)
def test_the_core_names_no_io_module(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    assert not {name for name in imported if {name, name.partition(".")[0]} & IO_MODULES}
