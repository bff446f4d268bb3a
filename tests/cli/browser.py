"""A headless Chromium, driven by the little of WebDriver that the tests need."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["CHROMEDRIVER", "CHROMIUM", "KEYS", "Browser", "browser"]

CHROMIUM: Final = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER: Final = shutil.which("chromedriver")

#: The characters that WebDriver has for keys.
KEYS: Final = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowUp": "\ue013",
    "ArrowDown": "\ue015",
}
_PATIENCE: Final = 30.0  # seconds, for one command


class Browser:
    """A session of WebDriver."""

    def __init__(self, port: int, profile: Path) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
        options = {
            "binary": CHROMIUM,
            "args": [
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                f"--user-data-dir={profile}",
                "--window-size=1400,1000",
            ],
        }
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        self._page: Path | None = None
        self._session = ""
        session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = f"/session/{session['sessionId']}"

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        text = json.dumps(body if body is not None else {}) if method == "POST" else None
        self._http.request(method, self._session + path, text)
        value = json.loads(self._http.getresponse().read())["value"]
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{value['error']}: {value['message']}")
        return value

    def open(self, page: Path, fragment: str = "") -> None:
        """Load a page, forgetting what the last one logged."""
        if page == self._page:  # Else another fragment would load nothing.
            self._call("POST", "/url", {"url": "about:blank"})
        self._page = page
        self.log(), self.requests()
        self._call("POST", "/url", {"url": page.as_uri() + fragment})

    def js(self, script: str, *arguments: Any) -> Any:
        """Run the body of a function in the page; `arguments` are its arguments."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def js_later(self, script: str, *arguments: Any) -> Any:
        """Likewise, and wait until it calls its last argument with what is to be given back."""
        return self._call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def settled(self) -> None:
        """Wait until what is to be drawn has been drawn."""
        self.js_later(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
        )

    def press(self, *keys: str) -> None:
        """Press keys, one after another: characters, or names of `KEYS`."""
        actions = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        self._call(
            "POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]}
        )

    def click(self, selector: str) -> None:
        """Click on the element that a CSS selector finds first."""
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        (element,) = found.values()
        self._call("POST", f"/element/{element}/click")
        self.settled()

    def text(self, selector: str) -> str:
        """What an element says, whether it is in sight or not."""
        text: str = self.js("return document.querySelector(arguments[0]).textContent", selector)
        return text

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in CSS pixels, narrower than a window can be if need be."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.settled()

    def devtools(self, command: str, **params: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def screenshot(self, path: Path) -> None:
        """Write what is to be seen as a PNG file."""
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def log(self) -> list[str]:
        """What the console said since it was asked last; errors of the page are in it."""
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def requests(self) -> list[str]:
        """The addresses that were asked for since this was asked last."""
        entries = self._call("POST", "/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def close(self) -> None:
        """End the session, and the browser with it."""
        try:
            self._call("DELETE", "")
        finally:
            self._http.close()


@contextmanager
def browser(scratch: Path) -> Iterator[Browser]:
    """A browser; `scratch` is a folder for what it writes. Nothing of it is left running."""
    assert CHROMEDRIVER is not None
    # A group of its own: whatever goes wrong, the browsers that the driver started end with it.
    driver = subprocess.Popen(
        [CHROMEDRIVER, "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert driver.stdout is not None
        started = (re.search(r"successfully on port (\d+)", line) for line in driver.stdout)
        port = next((int(found[1]) for found in started if found), None)
        assert port is not None, "chromedriver does not start"
        session = Browser(port, scratch / "profile")
        try:
            yield session
        finally:
            session.close()
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate()
