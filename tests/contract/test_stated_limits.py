"""The limits that the pages state are those of the code: each sentence is made from the constants and must be there."""

from __future__ import annotations

import inspect

import pytest
from source_tree import read

from holdfast.agent.recovery.settle import KEPT_OF_FLOOD, LONGEST_CUT
from holdfast.fleet.places.outside_values import LONGEST_BRANCH, LONGEST_VALUE
from holdfast.fleet.worker.session_driver import MOST_TRIES
from holdfast.fleet.worker.worker import Worker
from holdfast.providers.event_stream import LONGEST_EVENT
from holdfast.providers.http_model import LONGEST_ERROR
from holdfast.providers.protocols import answer_bounds as answer
from holdfast.session.session_id import LONGEST_ID
from holdfast.tools.builtin import fetch
from holdfast.tools.builtin.html_to_markdown import MOST_TAGS
from holdfast.tools.mcp.call_result import LONGEST_RESULT
from holdfast.tools.mcp.sdk import traffic
from holdfast.tools.mcp.sdk.http_bodies import SIGN_IN_WITHIN
from holdfast.tools.mcp.sdk.line_transport import MOST_SKIPPED
from holdfast.tools.mcp.sdk.server_call import GRACE, MOST_SILENCE
from holdfast.tools.mcp.tool_declarations import MOST_DECLARED, MOST_DECLARED_TOKENS
from holdfast.tools.message_frame import MOST_VALUES
from holdfast.ui.export.markdown import LONGEST_MARKDOWN
from holdfast.ui.service import api, session_routes
from holdfast.ui.service.connections import ConnectionLimits
from holdfast.ui.service.dialects.page_blocks import LONGEST_LIVE_BLOCK
from holdfast.ui.service.local.session_table import LOOKED_AT
from holdfast.ui.service.serve_arguments import LINGER, PORT, ServeArguments
from holdfast.ui.service.watchers import QUIET_FOR

LIMITS = ConnectionLimits()
WORKER = {name: each.default for name, each in inspect.signature(Worker).parameters.items()}
WORDS = {5: "five", 10: "ten"}


def mib(number: int) -> str:
    assert number % 1024**2 == 0
    return str(number // 1024**2)


def kib(number: int) -> str:
    assert number % 1024 == 0
    return str(number // 1024)


BROWSER, API, MCP, FLEET = (
    "docs/how-to/browser.md", "docs/reference/http-api.md", "docs/how-to/mcp.md", "docs/how-to/fleet.md",
)  # fmt: skip
EVENTS, SETTINGS, READ = "docs/reference/events.md", "docs/reference/settings.md", "docs/reference/limits.md"

STATED: list[tuple[str, str]] = [
    (BROWSER, f"holdfast serves http://127.0.0.1:{PORT}"),
    (BROWSER, f"Of a text of more than {LONGEST_LIVE_BLOCK:,} characters the page shows the end"),
    (BROWSER, f"beyond {LONGEST_MARKDOWN:,} characters as plain text"),
    (BROWSER, f"closes a session that has been idle for {WORDS[int(LINGER)]} seconds (`--linger`)"),
    (BROWSER, f"At most `--slots` sessions are open at once ({ServeArguments().slots})"),
    (
        BROWSER,
        (
            f"{LIMITS.per_address} connections per address, "
            f"{LIMITS.head_seconds:g} seconds and {kib(api.LONGEST_LOGIN)} KB"
        ),
    ),
    (API, f"| connections | {LIMITS.per_address} per address, {LIMITS.unknown} in all |"),
    (API, f"{LIMITS.reserved} stay reserved for commands"),
    (
        API,
        f"| head of a request | {kib(LIMITS.head_bytes)} KB, complete after {LIMITS.head_seconds:g} s | the same |",
    ),
    (
        API,
        (
            f"| body | {kib(api.LONGEST_LOGIN)} KB, complete after {api.LOGIN_BODY_WITHIN:g} s | "
            f"{mib(api.LONGEST_BODY)} MB, never stalled for {api.STALLED:g} s |"
        ),
    ),
    (API, f"closed if the client takes nothing for {LIMITS.stalled_seconds:g} s"),
    (API, f"`&limit={session_routes.SESSIONS_LISTED}` (at most {session_routes.MOST_SESSIONS_LISTED:,})"),
    (API, f"`Idempotency-Key` (at most {session_routes.LONGEST_KEY} characters)"),
    (API, f"the {LOOKED_AT} used last"),
    (API, f"each a text of at most {LONGEST_VALUE:,} characters"),
    (API, f"A session's ID has at most {LONGEST_ID} letters, digits and hyphens"),
    (API, f"the comment `: still here` every {QUIET_FOR:g} seconds"),
    (
        MCP,
        (
            f"{mib(traffic.LARGEST_MESSAGE)} MB in one message, {mib(traffic.LARGEST_WIDE_MESSAGE)} MB if it is not "
            f"plain ASCII, and {MOST_VALUES:,} values"
        ),
    ),
    (MCP, f"what is compressed and holds nothing after {mib(traffic.LARGEST_MESSAGE)} MB"),
    (MCP, f"at most {traffic.MOST_TOOLS:,} tools, each of at most {kib(traffic.LARGEST_TOOL)} KB"),
    (MCP, f"signing in must arrive within {SIGN_IN_WITHIN:g} s"),
    (MCP, f"the server's answer within {GRACE:g} s"),
    (MCP, f"disconnects the server after {MOST_SKIPPED} in a row"),
    (MCP, f"the beginning and the end, {LONGEST_RESULT:,} bytes in total"),
    (MCP, f"without it, {MOST_SILENCE / 60:g} minutes, or `timeout` if that is more"),
    (MCP, f"than {MOST_DECLARED_TOKENS:,} tokens"),
    (MCP, f"The limit is {MOST_DECLARED} tools"),
    (FLEET, f"at most {LONGEST_BRANCH} letters, digits and"),
    (FLEET, f"drives N sessions at once ({WORKER['slots']})"),
    (FLEET, f"`--ttl SECONDS` ({WORKER['ttl']:g})"),
    (FLEET, f"`--grace SECONDS` ({WORKER['grace']:g})"),
    (FLEET, f"If {WORDS[MOST_TRIES]} workers have died in a session"),
    (
        EVENTS,
        (
            f"above all {mib(answer.MOST_TEXT)} MiB, {answer.MOST_CALLS:,} calls or {answer.MOST_EVENTS:,} events "
            f"in one answer and {mib(answer.MOST_TURN_TEXT)} MiB in one turn"
        ),
    ),
    (READ, f"`fetch` reads, {fetch.MOST:,} bytes and {MOST_TAGS:,} tags are read, in {fetch.SECONDS:g} s"),
    (SETTINGS, f"| text, thinking and arguments together, in one answer | {mib(answer.MOST_TEXT)} MiB |"),
    (SETTINGS, f"| the same, in all answers of a turn | {mib(answer.MOST_TURN_TEXT)} MiB |"),
    (SETTINGS, f"| calls in one answer | {answer.MOST_CALLS:,} |"),
    (SETTINGS, f"| texts and pieces of thinking in one answer | {answer.MOST_PARTS:,} |"),
    (SETTINGS, f"| characters of the name of a call | {answer.LONGEST_CALL_NAME:,} |"),
    (SETTINGS, f"| events of one answer | {answer.MOST_EVENTS:,} |"),
    (SETTINGS, f"| bytes of one streamed response, keep-alives too | {mib(answer.MOST_WIRE_BYTES)} MiB |"),
    (SETTINGS, f"| bytes of one event, or of an answer that is not streamed | {mib(LONGEST_EVENT)} MiB |"),
    (SETTINGS, f"| the body of an error | its first {kib(LONGEST_ERROR)} KB are read |"),
    (SETTINGS, f"the first and the last {kib(KEPT_OF_FLOOD // 2)} KiB are kept"),
    (SETTINGS, f"is kept whole up to {mib(LONGEST_CUT)} MiB"),
]
"""A page, and what must stand there."""


@pytest.mark.parametrize("page", sorted({page for page, _ in STATED}))
def test_each_page_states_the_limits_of_the_code(page: str) -> None:
    text = " ".join(read(page).split())
    missing = [sentence for where, sentence in STATED if where == page and sentence not in text]
    assert missing == []
