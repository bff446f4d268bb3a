"""`python -m tests.differential` writes what was found into the documentation."""

from .differences import PAGE, updated
from .peers import OURS, THEIRS, outcomes

PAGE.write_text(updated(outcomes(OURS), outcomes(THEIRS)))
