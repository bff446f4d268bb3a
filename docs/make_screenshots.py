"""Takes the screenshots of the documentation: `python -m docs.make_screenshots`.

Needs chromium, chromedriver and pngquant on the path. The pictures are of a made-up conversation,
`how-to/conversation.ndjson`.
"""

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from sansmcp import Transcript
from sansmcp.cli.analysis import analyse
from sansmcp.cli.picture import picture
from tests.cli.browser import browser

HOW_TO: Final = Path(__file__).resolve().parent / "how-to"
CONVERSATION: Final = HOW_TO / "conversation.ndjson"
#: The message that is being read, in each colour scheme, and whether the summary is in sight: once
#: the whole page, with the progress that does not grow; once its middle, with the task.
SHOTS: Final = {"light": (17, True), "dark": (26, False)}
SIZE: Final = (1280, 1080)


def main() -> None:
    """Write `how-to/picture-light.png` and `how-to/picture-dark.png`."""
    analysis = analyse(Transcript.load(CONVERSATION), CONVERSATION.name)
    with tempfile.TemporaryDirectory() as scratch, browser(Path(scratch)) as chromium:
        page = Path(scratch, "picture.html")
        page.write_text(picture(analysis), encoding="utf-8")
        for scheme, (message, summary) in SHOTS.items():
            chromium.resize(*SIZE)
            chromium.devtools(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
            chromium.devtools("Emulation.setScrollbarsHidden", hidden=True)
            chromium.open(page, f"#{message}")
            chromium.js("scrollTo(0, arguments[0] ? 0 : 1e6)", summary)
            chromium.settled()
            image = HOW_TO / f"picture-{scheme}.png"
            chromium.screenshot(image)
            subprocess.run(
                ["pngquant", "--force", "--strip", "--speed=1", f"--output={image}", "256", image],
                check=True,
            )


if __name__ == "__main__":
    main()
