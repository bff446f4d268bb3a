"""The picture of a conversation: one HTML file that needs nothing else.

`picture.html` is the page, `picture.css` how it looks, and the scripts, one concern each, what it
does. They are put into the page together with the analysis, which a script of the page draws.

Whatever a peer said is in the file, so the file trusts none of it. The analysis is written in ASCII
without `<`, `>` and `&`, so that it cannot end its element; the page's policy runs no script but
ours, by its hash, loads nothing, and does not even let that script make markup out of text.
"""

import base64
import hashlib
import html
import json
from importlib.resources import files
from string import Template
from typing import Any, Final

from sansmcp import __version__
from sansmcp.cli.analysis import Analysis
from sansmcp.cli.summary import json_text

__all__ = ["picture"]

#: In the order in which they are run, as one module.
_SCRIPTS: Final = (
    "text.js",
    "model.js",
    "json.js",
    "filter.js",
    "rows.js",
    "diagram.js",
    "detail.js",
    "summary.js",
    "main.js",
)


def picture(analysis: Analysis) -> str:
    """Draw a conversation as an HTML page, complete in one file."""
    style = _asset("picture.css")
    script = "\n".join(map(_asset, _SCRIPTS))
    return Template(_asset("picture.html")).substitute(
        policy=_policy(style, script),
        version=__version__,
        title=html.escape(analysis.title or "MCP conversation"),
        style=style,
        script=script,
        data=_data(analysis),
    )


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """The page's Content-Security-Policy: these two run, and nothing is loaded."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _data(analysis: Analysis) -> str:
    """The analysis as JSON that is safe inside a script element."""
    data = analysis.to_json()
    for side in ("client", "server"):
        data[side] = _who(data[side])
    # A script has neither all integers nor a difference between 1 and 1.0, and a reader should tell
    # 1 and "1" apart: ids are shown as JSON.
    for part in (*data["messages"], *data["requests"]):
        if part["id"] is not None:
            part["id"] = json_text(part["id"], ensure_ascii=False)
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _who(info: dict[str, Any] | None) -> dict[str, Any] | None:
    """What is shown of an implementation; there may be anything else in it, and icons."""
    return info and {name: info.get(name) for name in ("name", "title", "version")}
