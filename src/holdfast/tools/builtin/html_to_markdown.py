"""Converts a fetched page for the model: HTML becomes Markdown, text stays, anything else is refused.

The library is imported when the first page is converted, not before.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from urllib.parse import urljoin

import msgspec

from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tools.workspace.file_kinds import SNIFF, binary_kind

HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(r"text/.*|.*[/+](json|xml|yaml|toml|javascript|ecmascript|x-sh|sql|graphql)|application/x-ndjson")
MOST_TAGS = 100_000
"""Tags of a page that are read. Parsed, each takes a kilobyte; a long page has some ten thousand."""

_LEFT_OUT = ("script", "style", "noscript", "template", "svg", "iframe", "form", "nav")
_BLANK_LINES = re.compile(r"\n\s*\n\s*\n")
_NO_CHARSET = re.compile(r"[\W_]*(idna|punycode|undefined|(raw[\W_]*)?unicode[\W_]*escape)[\W_]*", re.IGNORECASE)
"""Codecs that Python has but no page uses: some are slow without bound, some have escapes of their own."""
_PACKED = ("gzip", "x-gzip", "deflate")


class DownloadedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A download: `raw` is its beginning, or all of it unless it `goes_on`."""

    url: str
    kind: str
    charset: str | None
    raw: bytes
    goes_on: bool = False


def refuse_kind(url: str, kind: str) -> None:
    """Raise `ToolFailed` if this content type is not text; "" means that the type is missing."""
    if kind and kind not in HTML and not _TEXT.fullmatch(kind):
        raise ToolFailed(f"Page {url!r} is {kind}, not text. If you need it, ask the user or use bash.")


def decompress(raw: bytes, encoding: str, *, most: int, url: str) -> tuple[bytes, bool]:
    """Return at most `most` decompressed bytes of `raw`, and whether there are more; raises `ToolFailed`."""
    if encoding in ("", "identity"):
        return raw[:most], len(raw) > most
    if encoding not in _PACKED:
        msg = f"Page {url!r} is compressed with {encoding} (expected gzip or none). Use another address."
        raise ToolFailed(msg)
    try:
        one = zlib.decompressobj(zlib.MAX_WBITS | 32)
        plain = one.decompress(raw, most)
    except zlib.error as error:
        msg = f"Page {url!r} cannot be decompressed as {encoding}: {error}. Try again, or use another address."
        raise ToolFailed(msg) from error
    return plain, bool(one.unconsumed_tail)


def page_text(page: DownloadedPage, stopped: Callable[[], bool] = lambda: False) -> str:
    """Return the page as text; raises `ToolFailed` if it is not text, or if it is `stopped` first."""
    text = _decoded(page)
    kind = binary_kind(page.raw[:SNIFF] if page.charset is None else text[:SNIFF].encode("utf-8", "replace"))
    if kind is not None:
        raise ToolFailed(f"Page {page.url!r} is {kind}, not text. If you need it, ask the user or use bash.")
    looks = text[:SNIFF].lstrip().lower()
    is_html = page.kind in HTML or (not page.kind and looks.startswith(("<!doctype html", "<html")))
    if not is_html or "<" not in text:
        return valid_unicode(text).strip()
    begin = _first_tags(text)
    converted = valid_unicode(_markdown(begin, page.url, stopped)).strip()
    if len(begin) < len(text):
        converted += f"\n[Only the first {MOST_TAGS:,} tags of the page were read.]"
    return converted


def _decoded(page: DownloadedPage) -> str:
    declared = re.search(rb"<meta[^>]+charset=[\"']?([\w-]+)", page.raw[:SNIFF], re.IGNORECASE)
    charset = page.charset or (declared[1].decode("ascii") if declared and page.kind in HTML else "utf-8")
    if _NO_CHARSET.fullmatch(charset):
        charset = "utf-8"
    try:
        return page.raw.decode(charset, "replace")
    except (LookupError, ValueError):
        return page.raw.decode("utf-8", "replace")


def _first_tags(html: str) -> str:
    """Return a page up to the first tag that is too many."""
    at = -1
    for _ in range(MOST_TAGS + 1):
        at = html.find("<", at + 1)
        if at < 0:
            return html
    return html[:at]


def _markdown(html: str, url: str, stopped: Callable[[], bool]) -> str:
    from bs4 import BeautifulSoup  # 0.1 s that only a page pays
    from markdownify import MarkdownConverter

    def raise_if_stopped() -> None:
        if stopped():
            raise ToolFailed(
                f"Page {url!r} was received, but not converted in time. Try again, or use another address."
            )

    class Soup(BeautifulSoup):
        def handle_data(self, data: str) -> None:
            raise_if_stopped()
            super().handle_data(data)

    # No tag ends after the last ">", and the parser would search to the end of the page for each.
    tags, last, words = html.removeprefix("\ufeff").lstrip().rpartition(">")
    soup = Soup(f"{tags}{last}{words.replace('<', '&lt;')}", "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    for tag in soup([*_LEFT_OUT, "title"]):
        tag.decompose()
    for tag in soup.find_all("img", src=re.compile("^data:", re.IGNORECASE)):
        tag.decompose()
    for tag in soup.find_all("a", href=True):
        try:
            tag["href"] = urljoin(url, str(tag["href"]))
        except ValueError:  # not a URL: its text stays
            del tag["href"]
    raise_if_stopped()
    body = soup.find("main") or soup.body or soup
    try:
        text = MarkdownConverter(heading_style="atx").convert_soup(body)
    except RecursionError:  # nested deeper than any real page: its text is enough
        text = body.get_text("\n", strip=True)
    text = _BLANK_LINES.sub("\n\n", text).strip()
    return f"# {title}\n\n{text}" if title else text
