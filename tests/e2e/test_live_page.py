"""The server's page in a real browser: signed in, asked, answered and stopped by keys; what a model writes is text.

Skipped where there is no Chromium.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from launching import World, bash
from page_server import Served

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Hold, Say
from polling import eventually
from skips import needs

pytestmark = needs("browser")

HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">\n\n"
    "[click](javascript:document.title='owned') ![x](https://evil.example/b.png) <https://evil.example/c>\n\n"
    "<iframe src=https://evil.example></iframe><form action=https://evil.example><button>x</button></form>"
    "</section><style>body{display:none}</style><a href=//evil.example>go</a><meta http-equiv=refresh content=0>"
)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with Browser(tmp_path / "profile") as browser:
        browser.do("Emulation.setFocusEmulationEnabled", enabled=True)
        yield browser


def enter(browser: Browser, text: str) -> None:
    browser.type(text)
    browser.press("Enter", code=13, text="\r")


def text_of(browser: Browser, element: str) -> str:
    return str(browser.value(f"document.getElementById('{element}').textContent"))


def shown(element: str) -> str:
    return f"!document.getElementById('{element}').hidden"


def test_a_session_is_led_by_keys_and_what_is_lost_is_said(one_world: World, browser: Browser) -> None:
    world = one_world
    world.script(
        (Say(HOSTILE), Call("write", {"path": "a.txt", "content": "one\n"}), bash(f"echo {'x' * 20}")),
        (Say("Done. "), Hold("steered")),
        (Say("And quick."),),
        (Say("Endless."), Hold("never")),
    )
    served = Served(world)
    sign_in(browser, served)
    enter(browser, "do it")
    browser.until(shown("ask"))
    assert text_of(browser, "ask-text") == "Write a.txt?"
    assert (
        browser.value("[...document.querySelectorAll('.diff .added')].map(each => each.textContent).join()") == "+ one"
    )
    assert browser.value("document.querySelector('[aria-current]').classList.contains('asking') || true")
    browser.press("1", code=49, text="1")  # this one is for the prompt
    browser.until("document.getElementById('composer-text').value === '1'")
    browser.value("document.getElementById('composer-text').value = ''")
    assert served.wait_for_question(world.session.name)
    browser.press("1", code=49, alt=True)  # allow once
    browser.until("document.querySelector('.call.ok .mark')?.textContent === '✓'")
    eventually((world.folder / "a.txt").exists)
    eventually(lambda: world.checkpointed().endswith("Done. "))
    browser.until("document.getElementById('send').textContent === 'Steer'")
    enter(browser, "be quick")
    eventually(lambda: any(isinstance(entry, e.Queued) for entry in world.entries()))
    browser.until("document.getElementById('waiting').textContent.includes('be quick')")
    world.provider.release("steered")
    browser.until("/And quick/.test(document.getElementById('log').textContent)")
    browser.until("document.getElementById('send').textContent === 'Send'")
    enter(browser, "go on")
    browser.until("/Endless/.test(document.getElementById('log').textContent)")
    browser.until("!document.getElementById('stop').hidden")
    browser.press("Escape", code=27)
    browser.until("/you stopped the turn/.test(document.getElementById('log').textContent)")
    expect_only_text(browser, served)
    expect_names(browser)
    expect_looks(browser)

    # A lost connection is said, and the transcript goes on where it was.
    blocks = browser.value("document.querySelectorAll('#log .block').length")
    served.kill()
    browser.until(shown("lost"))
    assert "lost" in text_of(browser, "lost")
    port = served.address.rsplit(":", 1)[1]
    served.start(port=port)
    browser.until("document.getElementById('lost').hidden")
    browser.until(f"document.querySelectorAll('#log .block').length === {blocks}")
    served.stop()


def sign_in(browser: Browser, served: Served) -> None:
    browser.size(1280, 800)
    browser.open(f"{served.address}/", scheme="light")
    browser.until(shown("login"))
    enter(browser, "wrong" * 8)
    browser.until("document.getElementById('login-error').textContent")
    assert "Unknown token" in text_of(browser, "login-error")
    browser.value("document.getElementById('token').value = ''")
    enter(browser, served.token)
    browser.until(shown("app"))
    assert browser.value("document.cookie") == ""  # no script has the cookie
    assert browser.value("document.activeElement.id") == "composer-text"


def expect_only_text(browser: Browser, served: Served) -> None:
    """What the model wrote is text: nothing of it ran, was loaded, or can be clicked."""
    assert "owned" not in str(browser.value("document.title"))
    assert HOSTILE.splitlines()[0] in text_of(browser, "log")
    inside = "document.querySelectorAll('#log a, #log img, #log script, #log style, #log iframe, #log form, #log meta')"
    assert browser.value(f"{inside}.length") == 0
    hosts = {each["request"]["url"].split("/")[2] for each in browser.methods("Network.requestWillBeSent")}
    assert hosts <= {served.address.removeprefix("http://"), ""}
    assert all(served.token not in each["request"]["url"] for each in browser.methods("Network.requestWillBeSent"))
    # And if it had got into the page, the policy would hold.
    browser.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    browser.value("document.body.append(Object.assign(document.createElement('script'), {text: 'document.title = 1'}))")
    attempts = "fetch('https://evil.example/').catch(() => window.refused = true)"
    browser.value(f"void {attempts}")
    browser.until("window.refused")
    assert browser.value("document.title") == "do it · holdfast"
    assert browser.methods("Runtime.exceptionThrown") == []


def expect_names(browser: Browser) -> None:
    """Everything has a name for a screen reader."""
    names = browser.do("Accessibility.getFullAXTree")["nodes"]
    named = {(each["role"]["value"], each.get("name", {}).get("value", "")) for each in names if "role" in each}
    for expected in [("log", "Transcript"), ("navigation", "Sessions"), ("textbox", "Prompt"), ("main", "Session")]:
        assert expected in named, expected
    assert ("article", "Prompt of turn 1") in named
    assert ("article", "Call write, ok") in named
    buttons = [name for role, name in named if role == "button"]
    assert all(buttons), "a button without a name"


def expect_looks(browser: Browser) -> None:
    """Light and dark are the user's, and so is the width."""
    bright = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0) > 384"
    for scheme in ("light", "dark"):
        browser.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert browser.value(bright) is (scheme == "light")
    browser.size(390, 700)
    assert browser.value("document.documentElement.scrollWidth") <= 390
    browser.value("document.getElementById('show-list').click()")
    assert browser.value("document.activeElement.closest('nav') !== null")
    browser.press("Escape", code=27)
    assert browser.value("document.activeElement.id") == "show-list"


def test_a_question_shows_all_that_it_allows_and_no_key_of_a_prompt_answers_it(
    one_world: World, browser: Browser
) -> None:
    world = one_world
    command = f"touch first  # {'x' * 5_000}\ntouch last-word"
    world.script((bash(command), Say("Done.")))
    world.one_past = False
    served = Served(world)
    sign_in(browser, served)
    enter(browser, "do it")
    browser.until(shown("ask"))
    assert browser.value("document.activeElement.id") == "composer-text"  # a question takes no focus
    card = text_of(browser, "ask")
    assert "touch first" in card
    assert "x" * 5_000 in card
    assert "touch last-word" in card
    title = "document.getElementById('ask-title')"
    assert browser.value(f"{title}.scrollWidth <= {title}.clientWidth")  # nothing stands beside what is seen
    buttons = "document.querySelector('#ask-choices button').getBoundingClientRect()"
    assert browser.value(f"{buttons}.top >= 0 && {buttons}.bottom <= innerHeight")
    for focus in ("composer-text", "", "log", "ask-words", "model"):
        browser.value(
            f"(document.getElementById('{focus}') ?? document.activeElement)['{'focus' if focus else 'blur'}']()"
        )
        for digit in "123":
            browser.press(digit, code=48 + int(digit), text=digit)
    assert not [row for row in served.inbox(world.session.name) if row["kind"] == "answer"]
    assert not (world.folder / "first").exists()
    browser.value("document.querySelector('#ask-choices button').focus()")
    browser.press("1", code=49, text="1")
    eventually((world.folder / "last-word").exists)
    served.stop()


def test_the_page_cannot_be_framed(one_world: World, browser: Browser, tmp_path: Path) -> None:
    served = Served(one_world)
    outside = tmp_path / "outside.html"
    outside.write_text(f"<iframe src='{served.address}/'></iframe>")
    browser.open(outside.as_uri(), scheme="light")
    eventually(lambda: browser.value("1") and browser.methods("Log.entryAdded"))
    log = " ".join(each["entry"]["text"] for each in browser.methods("Log.entryAdded"))
    assert "frame-ancestors" in log or "X-Frame-Options" in log
    served.stop()
