"""The `sansmcp` command. It needs the extra `cli`."""

import importlib.util
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; ends the process with its exit status."""
    needed = ("click", "rich", "trio", "wsproto")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        print(
            f"sansmcp: the command needs {', '.join(missing)}; run: pip install 'sansmcp[cli]'",
            file=sys.stderr,
        )
        raise SystemExit(2)
    from .commands import cli

    cli(prog_name="sansmcp")
