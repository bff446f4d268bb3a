"""`python -m sansmcp.cli` is `sansmcp`."""

from . import main

main()
