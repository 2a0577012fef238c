"""Web pages in place of an error or an answer: from a proxy, a sign-in, or a wrong address."""

from __future__ import annotations

import html
import re

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
