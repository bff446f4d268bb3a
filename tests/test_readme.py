"""The README's examples, run as they stand."""

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


def test_the_first_example_is_small() -> None:
    assert len(BLOCKS[0].splitlines()) <= 25
