"""What the words of an error say: an account that cannot pay, how long to wait, a web page in place of an answer.

Recognizes a refusal of the account: it has no credit left, or the provider does not serve it, or not from here.

Waiting does not help, so it is not sent again. Providers say so under many statuses: a table of codes and of texts,
each with its source; "no report" is a code that its name alone explains. No text is one that an ordinary rate limit
has: Gemini's "You exceeded your current quota" is left out.
"""

from __future__ import annotations

import html
import re
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Literal

AccountFault = Literal["no_credit", "not_available"]

_CODES: dict[str, AccountFault] = {
    "insufficient_quota": "no_credit",  # OpenAI, 429 (openai/codex#758, NousResearch/hermes-agent#36276)
    "billing_not_active": "no_credit",  # OpenAI, 429 (platform.openai.com/docs/guides/error-codes)
    "billing_hard_limit_reached": "no_credit",  # OpenAI, 400 (dfinke/PowerShellAI#127)
    "billing_error": "no_credit",  # Anthropic, 402 (docs.anthropic.com/en/api/errors)
    "insufficient_credits": "no_credit",  # a gateway, 402 (Gitlawb/openclaude#1489)
    "insufficient_funds": "no_credit",  # no report
    "insufficient_balance": "no_credit",  # a gateway, 402 (OpenCSGs/csghub-server#1369)
    "insufficient_user_quota": "no_credit",  # one-api and its relatives, 403
    "exceeded_current_quota_error": "no_credit",  # Moonshot, 403 and 429 (platform.moonshot.ai/docs/api/chat)
    "Arrearage": "no_credit",  # DashScope, 400 (help.aliyun.com/zh/model-studio/error-code)
    "1113": "no_credit",  # Z.ai, 429: an account in arrears (docs.z.ai/api-reference/api-code)
    "payment_required": "no_credit",  # no report
    "BILLING_DISABLED": "no_credit",  # Google, 403: the reason beside the sentence below
    "INVALID_PAYMENT_INSTRUMENT": "no_credit",  # no report
    "unsupported_country_region_territory": "not_available",  # OpenAI, 403 (songquanpeng/one-api#1692)
    "unsupported_location": "not_available",  # no report
    "AccountDisabled": "not_available",  # no report
}

_NO_CREDIT = re.compile(
    # Anthropic, 400: "Your credit balance is too low to access the Anthropic API" (anthropics/claude-code#66314)
    r"credit balance is too low"
    # Anthropic, 400: "You have reached your specified API usage limits."
    r"|reached your specified (?:\w+ )*usage limits"
    # DeepSeek, 402: "Insufficient Balance" (continuedev/continue#9853), Z.ai, 429: "Insufficient balance or no resource
    # package" (vercel/ai#9290), xAI, 403: "You have run out of credits" (Wei-Shaw/sub2api#4069); others: "... funds"
    r"|\b(?:insufficient|not enough|no remaining|out of) (?:account )?(?:credits?|balance|funds)\b"
    # OpenRouter, 402: "This request requires more credits, or fewer max_tokens" (anomalyco/opencode#12219)
    r"|requires more credits"
    # xAI, 403 and 429: "... has either used all available credits or reached its monthly spending limit"
    # (Anantys-oss/koan#2412, continuedev/continue#10373), "doesn't have any credits"
    r"|used all available credits|have any credits|reached (?:its|your|the) .{0,20}spending limit"
    # Hugging Face, 402: "You have exceeded your monthly included credits" (huggingface/agents-course#386); Gemini:
    # "prepayment credits are depleted"
    r"|exceeded your monthly included credits|credits are depleted|credit limit (?:exceeded|reached)"
    # Google, 403: "This API method requires billing to be enabled" (pgmichael/wavenet-for-chrome#83)
    r"|requires billing to be enabled|failure to pay|in arrears|account is overdue",
    re.IGNORECASE,
)
_NOT_AVAILABLE = re.compile(
    # OpenAI, 403: "Country, region, or territory not supported"; Bedrock: "from unsupported countries, regions, or ..."
    r"(?:countr(?:y|ies)|regions?),? (?:or )?(?:\w+ )?territor(?:y|ies)"
    # Google, 400: "User location is not supported for the API use." (google-gemini/gemini-cli#24641)
    r"|location is not supported"
    # OpenRouter, 403: "This model is not available in your region"
    r"|not (?:available|supported|allowed|permitted) (?:in|for|from) (?:your|this|the) (?:\w+ )?"
    r"(?:region|country|location|territory)"
    r"|unsupported (?:region|country|location)|(?:region|country) (?:is )?not (?:supported|available|allowed)"
    # OpenAI: "Your organization must be verified to use the model", "account ... has been deactivated", "... suspended"
    r"|organization must be verified|(?:account|organization) .{0,60}?(?:deactivated|disabled|suspended)",
    re.IGNORECASE,
)

_REFUSING = range(HTTPStatus.BAD_REQUEST, HTTPStatus.INTERNAL_SERVER_ERROR)


def account_fault(status: int | None, explanation: str, codes: frozenset[str]) -> AccountFault | None:
    """Return what is wrong with the account, None if the refusal is about something else.

    `status` is None for an error without one.
    """
    if status is not None and status not in _REFUSING:
        return None
    for code in sorted(codes & _CODES.keys()):
        return _CODES[code]
    if _NO_CREDIT.search(explanation) or status == HTTPStatus.PAYMENT_REQUIRED:
        return "no_credit"
    return "not_available" if _NOT_AVAILABLE.search(explanation) else None


def account_words(fault: AccountFault, provider: str) -> str:
    """Return a clause about the account at a provider."""
    match fault:
        case "no_credit":
            return f"the account at {provider!r} has no credit left"
        case "not_available":
            return f"{provider!r} does not serve this account, or not in this region"


# --- Says how long to wait, as a length and as a time: "in 5 h, at 17:32". Reads what providers say of it: "in 1m30s"
# ---

LONG_WAIT = 60.0
"""Seconds from which on a wait is said as a time. A shorter one is over before it is read."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_LONGEST = 366 * _DAY


def wait_words(seconds: float, *, now: datetime | None = None) -> str:
    """Return when a wait that begins `now` (default: at this moment, in local time) ends."""
    seconds = min(seconds, _LONGEST)
    now = now or datetime.now().astimezone()
    end = now + timedelta(seconds=seconds)
    if seconds < _HOUR:
        length = f"{round(seconds / _MINUTE)} min"
    elif seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
        length = f"{hours} h {minutes} min" if minutes else f"{hours} h"
    else:
        length = f"{round(seconds / _DAY)} days"
    day = "" if end.date() == now.date() else f"{end:%Y-%m-%d} "
    return f"in {length}, at {day}{end:%H:%M}"


_LENGTH = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,5})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)(m?s))?")
_STATED = re.compile(
    r"(?:try again|retry|reset(?:s)?) (?:in|after) (\d[\d.hms]{0,20})(?= |\.?$|\. |,|\))", re.IGNORECASE
)


def read_wait(text: str) -> float | None:
    """Return the seconds of a length such as "1m30s", "12s" or "250ms", None if it is none."""
    found = _LENGTH.fullmatch(text)
    if found is None or not text:
        return None
    hours, minutes, seconds, unit = found.groups()
    return int(hours or 0) * _HOUR + int(minutes or 0) * _MINUTE + float(seconds or 0) / (1000 if unit == "ms" else 1)


def stated_wait(sentence: str) -> float | None:
    """Return the seconds after which an explanation says to try again, None if it does not."""
    found = _STATED.search(sentence)
    return None if found is None else read_wait(found[1].rstrip("."))


# --- web pages ---

_LONGEST_TITLE = 200

_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_TITLE = re.compile(r"<(title|h1)\b[^>]{0,200}>(.{1,500}?)</\1", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(?:script|style)\b.*?(?:</(?:script|style)>|\Z)|<[^>]*>", re.IGNORECASE | re.DOTALL)


def is_web_page(text: str) -> bool:
    """Return whether a text is the beginning of a web page."""
    return _PAGE.match(text) is not None


def page_title(text: str) -> str:
    """Return a clause with the title of a web page, or with the beginning of its text."""
    found = _TITLE.search(text)
    title = " ".join(html.unescape(_TAG.sub(" ", found[2] if found else text)).split())[:_LONGEST_TITLE]
    return f"a web page came in its place ({title})" if title else "an empty web page came in its place"
