"""The picture of a conversation: one HTML file, looked at in a headless Chromium."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sansmcp import CLIENT, SERVER, Side, Transcript
from sansmcp.cli.analysis import Analysis, analyse
from sansmcp.cli.commands import cli
from sansmcp.cli.picture import picture
from tests.conftest import shared_path
from tests.support import error, notification, request, result
from tests.test_monitor import HANDSHAKE

from .browser import CHROMEDRIVER, CHROMIUM, Browser, browser

CONVERSATION = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "conversation.ndjson"
RECORDED = ("everything-2025-11-25", "everything-tasks-2025-11-25")
#: What ends a script, begins a comment in one, ends a line of one, or is markup.
HOSTILE = "</script><script>window.broken=1</script><!--<script>\u2028\u2029<img src=x onerror=window.broken=1>&lt;\u202e\0"

Open = Callable[..., Browser]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None or CHROMEDRIVER is None:
        pytest.skip("needs chromium and chromedriver on the path")
    with browser(tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Shows an analysis; in the end there is no error on the console, and nothing was loaded."""
    pages: list[str] = []

    def show(analysis: Analysis, fragment: str = "") -> Browser:
        page = tmp_path / "picture.html"
        page.write_text(picture(analysis), encoding="utf-8", newline="\n")
        pages.append(page.as_uri() + fragment)
        chromium.resize(1400, 1000)
        chromium.open(page, fragment)
        chromium.settled()
        return chromium

    yield show
    assert chromium.log() == []
    assert {url.partition("#")[0] for url in chromium.requests()} <= {
        url.partition("#")[0] for url in pages
    }


def story(title: str = "A passage") -> Analysis:
    return analyse(Transcript.load(CONVERSATION), title)


def made_up(*messages: tuple[Side, Any], timed: bool = True) -> Analysis:
    transcript = Transcript()
    for time, (side, message) in enumerate([*HANDSHAKE, *messages]):
        text = message if isinstance(message, str) else json.dumps(message)
        transcript.record(side, text, float(time) if timed else None)
    return analyse(transcript)


def rows(page: Browser) -> list[int]:
    """The numbers of the messages that are drawn."""
    drawn: list[int] = page.js(
        "return [...document.querySelectorAll('#messages .row')].map(row => +row.dataset.n)"
    )
    return sorted(drawn)


def find(page: Browser, query: str) -> list[int]:
    """Type into the filter; gives what is shown."""
    page.js(
        "const query = document.getElementById('query'); query.value = arguments[0];"
        "query.dispatchEvent(new Event('input'))",
        query,
    )
    page.settled()
    return rows(page)


def active(page: Browser) -> int:
    name: str = page.js(
        "return document.getElementById('messages').getAttribute('aria-activedescendant')"
    )
    assert page.js("return document.getElementById(arguments[0]) !== null", name)
    return int(name.removeprefix("m"))


def is_open(page: Browser) -> bool:
    return not page.js("return document.getElementById('detail').hidden")


def focused(page: Browser) -> str:
    name: str = page.js("return document.activeElement.id")
    return name


# ---- the file


def test_the_file_loads_nothing_and_runs_no_script_but_its_own() -> None:
    page = picture(story())
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "require-trusted-types-for 'script'" in policy
    assert page.count("<script") == page.count("</script") == 2
    assert page.count("<style") == 1
    assert not re.findall(r'(?:src|href)="(?!#)', page)


@pytest.mark.parametrize("part", ["</script>", "<!--", "<script", "\u2028", "\u2029", "&", "<img"])
def test_what_a_peer_says_is_no_markup(part: str) -> None:
    clean = picture(made_up((CLIENT, request("", "", {"name": ""}))))
    dirty = picture(made_up((CLIENT, request(part, part, {"name": part})), (SERVER, part)))
    assert dirty.count(part) == clean.count(part)


def test_a_picture_is_complete_where_nothing_was_said(show: Open) -> None:
    page = show(analyse(Transcript()))
    assert rows(page) == []
    assert "No rule broken" in page.text("#verdict")


def test_check_draws_a_conversation(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["check", "--format=html", str(CONVERSATION)])
    assert done.exit_code == 1  # as with any report
    assert done.stdout_bytes.decode() == picture(story("conversation.ndjson"))
    page = tmp_path / "page.html"
    CliRunner().invoke(cli, ["check", "--format=html", "-o", str(page), str(CONVERSATION)])
    assert page.read_bytes() == done.stdout_bytes


def test_a_picture_is_of_one_conversation() -> None:
    two = CliRunner().invoke(cli, ["check", "--format=html", *[str(CONVERSATION)] * 2])
    assert two.exit_code == 2
    assert "choose one by --number" in two.stderr


# ---- what is seen


@pytest.mark.parametrize("name", RECORDED)
def test_every_message_of_a_recorded_conversation_is_shown(name: str, show: Open) -> None:
    analysis = analyse(Transcript.load(shared_path("transcripts", f"{name}.ndjson")), name)
    page = show(analysis)
    assert page.text("#title") == name
    assert page.text("#shown") == f"{len(analysis.messages)} messages"
    assert page.js("return document.getElementById('by-time').disabled")  # It has no times.
    # One after the other: only what is in sight is in the document.
    seen = page.js(
        "const list = document.getElementById('messages'); return [...Array(arguments[0])].map(() => {"
        "list.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));"
        "const row = document.getElementById(list.getAttribute('aria-activedescendant'));"
        "return [Number(row.dataset.n), row.querySelector('.label b').textContent] })",
        len(analysis.messages),
    )
    assert seen == [[message.n, message.method] for message in analysis.messages]


def test_the_summary_says_who_how_much_how_slow_and_which_rules(show: Open) -> None:
    page = show(story())
    said = page.text("#summary")
    for words in ("Harbour Desk", "Tide Tables", "2025-11-25", "41 messages", "15 requests"):
        assert words in said
    assert "1 never answered" in said and "1 cancelled" in said and "1 task" in said
    slowest = page.js("return document.querySelector('.slowest li').textContent")
    assert slowest == "tools/call plan-passage2.35 s"
    assert "PROG-04 \u00d7 1" in said and "Progress grows with every notification." in said
    assert page.text("#verdict") == "⚑ 3 \u00d7 MUST broken"


def test_bars_have_ticks_ends_and_outcomes(show: Open) -> None:
    page = show(story())
    page.js("document.getElementById('about').open = false")
    page.settled()

    def bars(n: int, selector: str) -> int:
        found: int = page.js(
            "return document.querySelectorAll(arguments[0]).length", f"#m{n} {selector}"
        )
        return found

    assert bars(10, ".right .bar.result.first") == 1
    assert [bars(n, ".right .bar.result .tick") for n in (10, 11, 12, 14, 19)] == [0, 1, 0, 1, 0]
    assert bars(19, ".right .bar.result.last") == 1
    assert bars(13, ".left .bar.first") == bars(15, ".left .bar.last") == 1
    assert bars(9, ".right .bar.error.last") == 1
    page.press("End")
    assert bars(27, ".right .bar.cancelled .mark") == 1
    assert bars(41, ".right .bar.open") == 1
    statuses = {21: "working", 26: "input_required", 31: "working", 33: "completed"}
    assert [bars(n, f".right .mark.{status}") for n, status in statuses.items()] == [1] * 4
    assert bars(28, ".right .bar.task.input_required") == 1


def test_more_requests_at_once_than_there_is_room_for_are_said_to_be_left_out(show: Open) -> None:
    many = 30
    page = show(
        made_up(
            *((CLIENT, request(n, "ping")) for n in range(many)),
            *((SERVER, result(n, {})) for n in range(many)),
        )
    )
    assert page.text("#left-out") == "20 bars found no room beside the others."


def test_an_id_is_shown_as_it_is(show: Open) -> None:
    page = show(made_up((CLIENT, request(2**70, "ping")), (CLIENT, request("7", "ping"))))
    assert page.text("#m4 .id") == f"#{2**70}"
    assert page.text("#m5 .id") == '#"7"'


def test_drawn_by_time_a_pause_takes_room(show: Open) -> None:
    page = show(story())

    def height(n: int) -> float:
        found: float = page.js("return document.getElementById(arguments[0]).offsetHeight", f"m{n}")
        return found

    assert height(3) == height(15) == 34
    page.click("#by-time")
    find(page, "id:e1")
    assert height(15) > 200  # 1.455 s after the question
    assert page.text("#m15 .pause") == "1.45 s"
    before = height(15)
    page.click("#zoom-in")
    assert height(15) > before
    page.click("#by-order")
    assert height(15) == 34


# ---- the filter


def test_the_filter(show: Open) -> None:
    page = show(story())
    assert find(page, "ushant") == [12]
    assert find(page, "method:tools/call id:5") == [10, 11, 14, 17, 19]
    assert find(page, "id:e1") == [13, 15]
    assert find(page, "task:survey kind:notification") == [26, 31, 33]
    assert find(page, "rule:PROG") == [17]
    assert find(page, "is:must") == [17, 32, 35]
    assert find(page, "is:violation -kind:noise") == [17, 32]
    assert find(page, "is:open") == [41]
    assert find(page, "is:cancelled") == [22, 23, 27]
    assert find(page, "is:failed") == [9]
    assert find(page, '"high water 07:42"') == [8]
    assert find(page, "from:server kind:request") == [13, 16, 29]
    assert find(page, "tides://ports/brest kind:notification") == [38]
    assert page.text("#shown") == "1 of 41 messages"
    assert find(page, "is:constructor") == find(page, "nowhere") == []
    page.click("#clear")
    assert page.text("#shown") == "41 messages"


def test_lists_and_buttons_write_the_filter(show: Open) -> None:
    page = show(story())

    def choose(name: str, value: str) -> str:
        query: str = page.js(
            "const list = document.getElementById(arguments[0]); list.value = arguments[1];"
            "list.dispatchEvent(new Event('change'));"
            "return document.getElementById('query').value",
            name,
            value,
        )
        return query

    assert choose("method", "tasks/get") == "method:tasks/get"
    assert choose("task", "survey-2027") == "method:tasks/get task:survey-2027"
    assert rows(page) == [24, 25]
    assert choose("method", "") == "task:survey-2027"
    find(page, "")
    page.click("#violations")
    assert rows(page) == [17, 32, 35]
    page.click("#violations")
    assert page.text("#shown") == "41 messages"


def test_words_are_found_in_escapes(show: Open) -> None:
    page = show(made_up((SERVER, '{"jsonrpc":"2.0","method":"h\\u00e9llo"}'), (SERVER, "héllo")))
    assert find(page, "héllo") == [4, 5]


# ---- a message


def test_a_message_is_read_beside_the_diagram(show: Open) -> None:
    page = show(story())
    page.click("#m10")
    assert is_open(page)
    said = page.text("#detail")
    assert "Message 10" in said and "client → server" in said
    code = page.text("#detail code")
    assert code.startswith('{\n  "')
    assert json.loads(code)["params"]["arguments"] == {"from": "Brest", "to": "Penzance"}
    assert page.js("return location.hash") == "#10"


def test_from_the_request_to_the_answer_and_back(show: Open) -> None:
    page = show(story(), "#10")
    links = "[...document.querySelectorAll('.facts .link')].find(link => link.textContent === {!r})"
    page.js(links.format("№ 19") + ".click()")
    assert active(page) == 19 and page.text("#detail h2") == "Message 19"
    page.js(links.format("№ 10") + ".click()")
    assert active(page) == 10
    find(page, "method:ping")  # What a filter hides is shown when it is gone to.
    page.js(links.format("№ 14") + ".click()")
    assert active(page) == 14 and page.text("#shown") == "41 messages"


def test_a_violation_has_its_rule_and_page(show: Open) -> None:
    page = show(story(), "#17")
    assert page.text("#m17 .flag") == "⚑ PROG-04"
    assert page.text(".violation h3") == "⚑ PROG-04 MUST · server"
    assert "Progress grows with every notification." in page.text(".violation")
    assert "progress went from 2 to 2" in page.text(".violation")
    link = page.js(
        "const { href, rel } = document.querySelector('.violation a'); return [href, rel]"
    )
    assert link == [
        "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress",
        "noopener noreferrer",
    ]


def test_a_message_is_copied_as_it_was_sent(show: Open) -> None:
    sent = '{"n":123456789012345678901234567890,"n":1.0,"empty":[],"text":"a\\u00e9{,:"}'
    analysis = made_up((CLIENT, request(1, "ping")))
    analysis.messages[-1].text = sent
    page = show(analysis, "#4")
    # What parsing would lose is kept: digits, escapes, and names that occur twice.
    laid_out = (
        '{\n  "n": 123456789012345678901234567890,\n  "n": 1.0,\n  "empty": [],\n'
        '  "text": "a\\u00e9{,:"\n}'
    )
    assert page.text("#detail code") == laid_out
    page.js(
        "window.copied = []; Object.defineProperty(navigator, 'clipboard',"
        " { value: { writeText: async text => void copied.push(text) } })"
    )
    page.click("#detail .copy")
    page.click("#detail .steps button:last-child")
    assert page.text("#detail code") == sent
    page.click("#detail .copy")
    assert page.js("return window.copied") == [laid_out, sent]
    assert page.text(".copy") == "Copied"


# ---- keys


def test_all_of_it_by_keyboard(show: Open) -> None:
    page = show(story())
    page.press("j")
    assert active(page) == 1
    page.press("Tab")
    assert focused(page) == "" or page.js("return document.activeElement.className") == "skip"
    page.press("Enter")  # the link that skips to the messages
    page.press("ArrowDown", "ArrowDown")
    assert active(page) == 3
    page.press("k", "ArrowUp")
    assert active(page) == 1
    page.press("End")
    assert active(page) == 41
    page.press("Home", "n", "n")
    assert active(page) == 32
    page.press("p")
    assert active(page) == 17
    page.press("Enter")
    assert is_open(page) and focused(page) == "detail-title"
    page.press("j")  # What is open follows.
    assert page.text("#detail h2") == "Message 18"
    page.press("Escape")
    assert not is_open(page) and focused(page) == "messages"
    page.press("/")
    assert focused(page) == "query"
    page.press("j")  # In the filter a letter is a letter.
    assert page.js("return document.getElementById('query').value") == "j"
    page.press("Escape", "Escape")
    assert focused(page) == "messages" and page.text("#shown") == "41 messages"
    page.press("?")
    assert page.js("return document.getElementById('help').open")
    page.press("Escape")
    assert not page.js("return document.getElementById('help').open")


def test_single_letters_can_be_switched_off(show: Open) -> None:
    page = show(story())
    page.press("j", "?")
    page.js("document.getElementById('letters').click()")
    page.press("Escape", "j", "n")
    assert active(page) == 1


def test_a_message_is_named_in_words(show: Open) -> None:
    page = show(story(), "#17")
    row = page.js(
        "const row = document.getElementById('m17');"
        "return ['role', 'aria-label', 'aria-selected', 'aria-posinset', 'aria-setsize']"
        ".map(name => row.getAttribute(name))"
    )
    assert row == [
        "option",
        "17, server to client: notification, notifications/progress, 2/4 Heights, again, "
        "breaks MUST PROG-04",
        "true",
        "17",
        "41",
    ]


# ---- colours, sizes, paper

CONTRAST = """
const rgb = (colour) => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
};
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const style = getComputedStyle(element);
    // A flagged or active row is a gradient of one colour.
    const painted = /gradient\\([^,]*, (.*?\\)) /.exec(style.backgroundImage)?.[1] ?? style.backgroundColor;
    if (rgb(painted)[3] === 255) return rgb(painted);
  }
  return rgb(getComputedStyle(document.body).backgroundColor);
};
const poor = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!own || element.matches(":disabled, option, script, noscript *, .unseen")) continue;
  const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(behind(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) poor.push(`${element.className || element.tagName} ${element.textContent}: ${ratio.toFixed(2)}`);
}
return poor;
"""


def test_dark_and_light_by_the_system_and_by_the_button_with_contrast(show: Open) -> None:
    page = show(story(), "#17")
    background = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for preferred in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": preferred}]
        page.devtools("Emulation.setEmulatedMedia", features=features)
        seen[preferred] = page.js(background)
        assert page.js(CONTRAST) == []
    assert seen["light"] != seen["dark"]
    assert page.text("#theme") == "Theme: auto"
    page.click("#theme")
    assert (page.text("#theme"), page.js(background)) == ("Theme: light", seen["light"])
    page.click("#theme")
    page.devtools("Emulation.setEmulatedMedia", features=[])
    assert (page.text("#theme"), page.js(background)) == ("Theme: dark", seen["dark"])


@pytest.mark.parametrize("timed", [True, False])
def test_nothing_sticks_out_of_a_window_of_any_width(timed: bool, show: Open) -> None:
    page = show(made_up((CLIENT, request(1, "tools/call", {"name": "x" * 300})), timed=timed))
    for width in (1400, 900, 400):
        page.resize(width, 800)
        for keys in (("Home", "Enter"), ("Escape",)):
            page.press(*keys)
            assert page.js("return document.documentElement.scrollWidth") <= width


def test_on_a_narrow_screen_what_is_read_does_not_cover_its_row(show: Open) -> None:
    page = show(story())
    page.resize(400, 800)
    page.press("End", "Enter")
    row, pane = page.js(
        "return [document.getElementById('m41').getBoundingClientRect().bottom,"
        " document.getElementById('detail').getBoundingClientRect().top]"
    )
    assert row <= pane


def test_the_headings_stay_below_the_tools(show: Open) -> None:
    page = show(story())
    for width in (1400, 900, 400):
        page.resize(width, 500)
        page.press("End")
        tools, heads = page.js(
            "return [document.getElementById('toolbar').getBoundingClientRect().bottom,"
            " document.getElementById('heads').getBoundingClientRect().top]"
        )
        assert abs(tools - heads) <= 1


def test_messages_are_in_the_document_in_their_order(show: Open) -> None:
    page = show(story())
    page.resize(1400, 400)
    drawn = "return [...document.querySelectorAll('.row[data-n]')].map(row => +row.dataset.n)"
    for key in ("j", "End", "Home", "p", "End"):
        page.press(key)
        numbers = page.js(drawn)
        assert numbers == sorted(numbers) and len(numbers) < 41


def test_all_messages_are_printed(show: Open) -> None:
    page = show(story())
    page.resize(1400, 400)
    assert len(rows(page)) < 41
    page.js("dispatchEvent(new Event('beforeprint'))")
    assert len(rows(page)) == 41
    page.js("dispatchEvent(new Event('afterprint'))")
    assert len(rows(page)) < 41


# ---- what peers do


def test_hostile_content_stays_text(show: Open) -> None:
    task = {"taskId": HOSTILE, "status": HOSTILE}
    page = show(
        made_up(
            (CLIENT, request(HOSTILE, "tools/call", {"name": HOSTILE, "task": {"ttl": 1}})),
            (SERVER, result(HOSTILE, {"task": task})),
            (SERVER, notification(HOSTILE, {"uri": HOSTILE})),
            (SERVER, notification("notifications/message", {"level": HOSTILE, "data": HOSTILE})),
            (SERVER, error(HOSTILE, -32000) | {"error": {"code": 1, "message": HOSTILE}}),
            (SERVER, HOSTILE),
        )
    )
    for _ in range(9):
        page.press("j", "Enter")
    assert page.js("return [window.broken ?? null, document.querySelectorAll('img').length]") == [
        None,
        0,
    ]
    assert page.text("#m9 .hint").startswith("</script><script>window.broken=1")
    # What would reverse or hide the text is seen instead.
    assert "\u202e" not in page.text("#m9 .hint") and "\\u202e" in page.text("#m9 .hint")


def test_names_that_a_script_knows_are_names_like_others(show: Open) -> None:
    names = ["__proto__", "constructor", "toString", "__defineGetter__"]
    odd = {**dict.fromkeys(names, 1), "valueOf": 1}
    said = [
        (SERVER, notification("notifications/message", {"level": odd, "data": odd})),
        (SERVER, notification("notifications/progress", {"progress": odd, "total": odd})),
        (SERVER, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []}),
        (SERVER, {"jsonrpc": "2.0", "id": odd, "result": 7}),
    ]
    for name in names:
        said += [
            (CLIENT, request(name, name, {"name": name})),
            (SERVER, notification(name, odd)),
            (SERVER, {"jsonrpc": "2.0", "id": name, "error": odd}),
            (SERVER, notification("notifications/tasks/status", {"taskId": name, "status": name})),
        ]
    page = show(made_up(*said))
    for n in range(4, 4 + len(said)):
        page.js(f"document.getElementById('m{n}').click()")
        assert page.text("#detail h2") == f"Message {n}"
    for n, name in enumerate(names):
        assert find(page, f"method:{name}") == [8 + 4 * n, 9 + 4 * n, 10 + 4 * n]
        assert find(page, f"is:{name}") == find(page, f"{name}:1") == []


def test_what_is_deep_or_long_is_read_all_the_same(show: Open) -> None:
    deep = "[" * 50_000 + "]" * 50_000
    long = json.dumps(notification("x", {"text": "long " * 500_000}))
    page = show(made_up((SERVER, deep), (SERVER, long), (SERVER, '{"a":"' + "\\\\" * 300_000)))
    for n in (4, 5, 6):
        page.press("j")
        page.js("location.hash = ''")
        page.click(f"#m{n}")
        assert len(page.text("#detail code")) > 90_000


def test_a_long_conversation_is_fluent(show: Open, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = 20_000 // 4
    page = show(
        made_up(
            *(
                message
                for n in range(rounds)
                for message in (
                    (CLIENT, request(n, "tools/call", {"name": f"tool-{n % 7}"})),
                    (SERVER, notification("notifications/message", {"level": "info", "data": n})),
                    (SERVER, result(n, {"content": [], "note": "x" * 300})),
                    (CLIENT, request(f"left-{n}", "ping")),
                )
            )
        )
    )
    loaded = page.js("return performance.getEntriesByType('navigation')[0].loadEventEnd")

    def timed(script: str) -> float:
        """Milliseconds until what a script asks for has been drawn."""
        took: float = page.js_later(
            f"const done = arguments[0]; const start = performance.now(); {script};"
            "requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)))"
        )
        return took

    elements = "return document.querySelectorAll('*').length"
    typed = [
        timed(
            f"const query = document.getElementById('query'); query.value = {text!r};"
            "query.dispatchEvent(new Event('input'))"
        )
        for text in ("t", "tool-3", "method:tools/call tool-3", "")
    ]
    scrolled = []
    for _ in range(5):
        scrolled.append(timed("scrollBy(0, 100_000)"))
        assert page.js(elements) < 2_000
    page.press("j", "End")
    assert active(page) == 20_003
    assert page.js(elements) < 2_000
    with capsys.disabled():
        print(
            f"\n20,003 messages: loaded in {loaded:.0f} ms, a filter step takes up to "
            f"{max(typed):.0f} ms, a scroll step up to {max(scrolled):.0f} ms"
        )
    assert loaded < 15_000
