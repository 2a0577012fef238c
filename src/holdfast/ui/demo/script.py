"""The demo's model: answers written in advance, which depend on what the conversation tells where that is the point."""

from __future__ import annotations

import re

from holdfast.testing.script import Call, Reply, Request, Say, Script
from holdfast.ui.demo.project import RIGHT, TEST, WRONG

PROMPTS = (
    "The test in test_prices.py fails. Please fix it.",
    "Did all the checks pass?",
    "Then leave them. Fix the test.",
    "Good. Now release it.",
    "Go on.",
)

_RUN_TEST = f"python3 {' '.join(TEST)}"


def script(*, delay: float) -> Script:
    """Return the replies, in the order of the requests; text comes in pieces with `delay` seconds between them."""

    def say(text: str) -> Say:
        return Say(text, chunk=4, delay=delay)

    def whether_checks_passed(request: Request) -> Reply:
        cut = next((text for text in _results(request) if text.startswith("Interrupted: ")), "")
        if not cut:
            return [say("I was told of no interruption, so I take it that they did.")]
        return [say(f"I cannot know. I was told: “{cut.partition('. ')[0]}.”")]

    def mend(request: Request) -> Reply:
        failure = re.search(r"AssertionError: [^\\\n]*", _results(request)[-1])
        if failure is None:
            return [say("The test does not fail as I expected, so I change nothing.")]
        return [
            say(f"“{failure[0]}”: the discount is charged instead of taken off."),
            Call("edit", {"path": "prices.py", "old": WRONG, "new": RIGHT}),
            Call("bash", {"command": _RUN_TEST}),
        ]

    def whether_mended(request: Request) -> Reply:
        passed = "\nOK\n" in _results(request)[-1]
        return [say("Fixed: the test passes now." if passed else "The test still fails, and I do not know why.")]

    def look_first(request: Request) -> Reply:
        unknown = re.search(r"Effect unknown[^\n]*", _results(request)[-1])
        if unknown is None:
            return [say("The release has ended; there is nothing to go on with.")]
        return [say(f"I am told: “{unknown[0]}” So I look first."), Call("bash", {"command": "cat release.log"})]

    def what_is_left(request: Request) -> Reply:
        log = _results(request)[-1]
        if "tag " not in log or "upload " in log:
            return [say("The log does not say that only the tag was done, so I run nothing again.")]
        return [
            say("It had tagged and not uploaded, so only the upload is left to do."),
            Call("bash", {"command": "python3 release.py upload"}),
        ]

    def whether_released(request: Request) -> Reply:
        done = "upload: done" in _results(request)[-1]
        return [say("Released: tagged once, uploaded once." if done else "The upload failed.")]

    return (
        [
            say("I read the code and its test, and run every check there is."),
            Call("read", {"path": "prices.py"}),
            Call("bash", {"command": "python3 all_checks.py"}),
            Call("read", {"path": "test_prices.py"}),
        ],
        whether_checks_passed,
        [
            say("I read the test, which I had not come to, and run it alone."),
            Call("read", {"path": "test_prices.py"}),
            Call("bash", {"command": _RUN_TEST}),
        ],
        mend,
        whether_mended,
        [say("It tags, waits for the build, then uploads."), Call("bash", {"command": "python3 release.py"})],
        look_first,
        what_is_left,
        whether_released,
    )


def _results(request: Request) -> list[str]:
    """Return the text of every result in the request, after one that is empty so that there is a last."""
    return ["", *(str(message.get("content")) for message in request.messages if message.get("role") == "tool")]
