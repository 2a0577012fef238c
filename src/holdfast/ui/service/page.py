"""The page: one file of text, style and script, and the security policy that the browser enforces.

The model's text reaches the page as HTML from the server: every character is escaped, and there are no links or images
(`block_html.py`). The script accepts only a short list of elements, without their attributes. If both failed, the
policy still holds: only this script and this style, identified by their hashes, may run or apply; the page loads
nothing, connects to no other host, submits no form, and cannot be put into a frame.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

import msgspec

SAFE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every response, unless the page has its own."""


class ServedPage(msgspec.Struct, frozen=True):
    """The page as sent."""

    html: bytes
    headers: dict[str, str]


def read_page() -> ServedPage:
    """Return the page, from the package's files."""
    here = files("holdfast.ui.service").joinpath("page_files")
    text, style, script = (here.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    html = text.replace("/*style*/", style, 1).replace("/*script*/", script, 1)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return ServedPage(html.encode(), {"content-security-policy": policy})


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
