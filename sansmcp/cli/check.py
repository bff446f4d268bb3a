"""`sansmcp check`: who broke which rule in a conversation that was recorded."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from sansmcp import Monitor, Side, TranscriptError

from .analysis import Analysis, analyse
from .diagrams import mermaid, text_diagram
from .picture import picture
from .recordings import NoRecording, read_recording
from .reports import json_report, junit_report, text_report
from .summary import printable

__all__ = ["check"]

_COLUMNS: Final = 110


def _columns() -> int:
    return shutil.get_terminal_size((_COLUMNS, 0)).columns


def _text(analyses: Sequence[Analysis]) -> str:
    return text_report(analyses, color=False, width=_columns())


def _diagram(analyses: Sequence[Analysis]) -> str:
    return "\n".join(
        f"{printable(analysis.title)}\n\n{text_diagram(analysis, _columns())}"
        for analysis in analyses
    )


def _html(analyses: Sequence[Analysis]) -> str:
    if len(analyses) > 1:
        raise click.UsageError(
            f"a picture is of one conversation, and here are {len(analyses)}: choose one by --number"
        )
    return picture(analyses[0])


_FORMATS: Final[dict[str, Callable[[Sequence[Analysis]], str]]] = {
    "text": _text,
    "json": json_report,
    "junit": junit_report,
    "diagram": _diagram,
    "mermaid": mermaid,
    "html": _html,
}


@click.command()
@click.argument("transcripts", nargs=-1, required=True, metavar="TRANSCRIPT...")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_FORMATS)),
    default="text",
    show_default=True,
    help="A report (text, json, junit), or a picture of the conversation (diagram, mermaid, html).",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write into a file.")
@click.option(
    "--from",
    "side",
    type=click.Choice([side.value for side in Side]),
    help="Whose messages these are, where they are those of one side and not a transcript.",
)
@click.option(
    "--number",
    type=click.IntRange(min=1),
    help="Of several conversations only this one, counted from 1.",
)
def check(
    transcripts: tuple[str, ...],
    form: str,
    output: str | None,
    side: str | None,
    number: int | None,
) -> None:
    """Tell who broke which rule in recorded conversations.

    TRANSCRIPT is a file, or - for standard input: what `sansmcp trace` has written, the log of
    Claude Desktop or of VS Code, or what one side has sent, one message a line.

    The exit status is 1 if a rule was broken that is binding (MUST), and 2 if a file cannot be
    read; the others are checked all the same.
    """
    analyses: list[Analysis] = []
    unread = False
    for name in transcripts:
        try:
            analyses += _analysed(name, None if side is None else Side(side))
        except (NoRecording, TranscriptError, OSError, UnicodeDecodeError) as error:
            unread = True
            reason = error.strerror if isinstance(error, OSError) else str(error)
            click.echo(f"sansmcp check: {name}: {printable(reason or 'cannot be read')}", err=True)
    if number is not None:
        if number > len(analyses):
            raise click.UsageError(f"there is no conversation {number}, only {len(analyses)}")
        analyses = [analyses[number - 1]]
    if analyses:
        _write(_FORMATS[form](analyses), analyses, form, output)
    broken = any(violation.is_must for one in analyses for violation in one.violations)
    raise SystemExit(2 if unread else 1 if broken else 0)


def _analysed(name: str, side: Side | None) -> list[Analysis]:
    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    title = "standard input" if name == "-" else Path(name).name
    analyses = []
    for recording in read_recording(data.decode("utf-8-sig"), title, side):
        title = recording.title
        if recording.left_out:
            title += f", without {recording.left_out:,} messages that the log cut short"
        analyses.append(analyse(recording.transcript, title, Monitor(gaps=recording.gaps)))
    return analyses


def _write(text: str, analyses: Sequence[Analysis], form: str, output: str | None) -> None:
    if output is not None:
        try:
            Path(output).write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise click.ClickException(f"{output}: {error.strerror}") from None
        return
    if form == "text" and sys.stdout.isatty():
        text = text_report(analyses, color=True, width=_columns())
    # Whatever the terminal cannot show is shown as its number, and is no reason to fail. A page says
    # itself how it is encoded.
    encoding = "utf-8" if form == "html" else sys.stdout.encoding or "utf-8"
    click.echo(text.encode(encoding, "backslashreplace"), nl=False)
