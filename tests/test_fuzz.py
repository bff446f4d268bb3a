"""The targets of the fuzzer, fed at random for a while; the same on every run.

`python -m tests.fuzz` searches further (see CONTRIBUTING.md).
"""

import os
import random

import pytest

from .conftest import cases
from .fuzz.corpus import mutator, seeds
from .fuzz.targets import SCENARIOS, TARGETS, receive

RUNS = 20 * int(os.environ.get("SANSMCP_EXAMPLES", "50"))


@pytest.mark.rule("JRPC-02", "GEN-03", "S29")
@pytest.mark.parametrize("target", TARGETS)
def test_whatever_arrives_keeps_every_promise(target: str) -> None:
    rng = random.Random(target)
    mutate = mutator(target, len(SCENARIOS))
    corpus = seeds(target, len(SCENARIOS))
    for _ in range(RUNS):
        data = rng.choice(corpus)
        for _ in range(rng.randrange(12)):
            data = mutate(data, 4096, rng)
        try:
            TARGETS[target](data)
        except Exception as error:
            error.add_note(f"the input was {data!r}")
            raise


@pytest.mark.parametrize("number", range(len(SCENARIOS)), ids=list(SCENARIOS))
def test_every_state_lives_through_the_whole_corpus(number: int) -> None:
    for seed in seeds("receive", 1)[::8]:
        receive(bytes([number]) + seed[1:])


@pytest.mark.parametrize("seed", cases(lambda: seeds("load", 1)))
def test_every_saved_book_is_refused_or_can_be_worked_with(seed: bytes) -> None:
    TARGETS["load"](seed)
