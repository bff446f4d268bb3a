"""What a peer, or a file, can make of the library: targets for a fuzzer, and something to feed them.

`targets` holds a function for each way in, which raises `AssertionError` (or anything at all) where
a promise is broken. `corpus` makes the inputs. `python -m tests.fuzz TARGET` has atheris search,
guided by coverage; `tests/test_fuzz.py` runs the same functions for a few seconds.
"""
