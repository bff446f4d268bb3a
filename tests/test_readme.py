"""The README's examples, run as they stand."""

import importlib.util
import re
import threading
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.M | re.S)


def test_the_examples_hold_a_conversation(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS) == 3
    before = set(threading.enumerate())
    exec("\n".join(BLOCKS), {"__name__": "readme"})
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
        assert not thread.is_alive()
    assert capsys.readouterr().out == "hello\n"


def test_the_tables_are_those_of_the_code() -> None:
    path = README.parent / "docs" / "make_tables.py"
    spec = importlib.util.spec_from_file_location("make_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page in module.PAGES:
        assert module.updated(page) == (README.parent / page).read_text()


def test_the_first_example_is_small() -> None:
    assert len(BLOCKS[0].splitlines()) <= 25
