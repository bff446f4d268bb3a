"""`python -m tests.fuzz TARGET [options of libFuzzer]`: search with atheris, guided by coverage."""

import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["sansmcp"]):
    import sansmcp  # noqa: F401

from .corpus import dictionary, mutator, seeds
from .targets import SCENARIOS, TARGETS


def main() -> None:
    name, *options = sys.argv[1:]
    folder = Path(tempfile.gettempdir(), f"sansmcp-fuzz-{name}")
    folder.mkdir(exist_ok=True)
    for number, seed in enumerate(seeds(name, len(SCENARIOS))):
        (folder / f"seed-{number}").write_bytes(seed)
    words = folder.with_suffix(".dict")
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in dictionary()))
    mutate = mutator(name, len(SCENARIOS))

    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.25:
            return bytes(atheris.Mutate(data, max_size))
        return mutate(data, max_size, rng)

    named = [option for option in options if not option.startswith("-")]
    arguments = [sys.argv[0], f"-dict={words}", "-max_len=4096", *options]
    # Files that are named are run, and nothing else.
    arguments += [] if named else [str(folder)]
    atheris.Setup(arguments, TARGETS[name], custom_mutator=mutated)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


main()
