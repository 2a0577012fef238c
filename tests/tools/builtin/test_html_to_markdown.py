from __future__ import annotations

import gzip
import time
import zlib

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.builtin.html_to_markdown import MOST_TAGS, DownloadedPage, decompress, page_text, refuse_kind


def text(raw: bytes, kind: str = "text/html", charset: str | None = None) -> str:
    return page_text(DownloadedPage(url="http://a.example/b/", kind=kind, charset=charset, raw=raw))


def test_html_becomes_markdown_without_its_scripts_styles_and_menus() -> None:
    html = (
        b"<!doctype html><html><head><title>A  page</title><style>p{}</style><script>evil()</script></head><body>"
        b"<nav>menu</nav><main><h2>Part</h2><p>Some <b>bold</b> <a href='../c'>link</a> <a href='http://[x'>odd</a>"
        b"<img alt=dot src='data:image/png;base64,AAAA'></p><pre><code>x = 1\n  y</code></pre>"
        b"<table><tr><th>k</th></tr><tr><td>v</td></tr></table></main>beside</body></html>"
    )
    markdown = text(html)
    assert markdown.startswith("# A page\n\n## Part\n\nSome **bold** [link](http://a.example/c) odd")
    assert "```\nx = 1\n  y\n```" in markdown
    assert "| v |" in markdown
    for word in ("evil", "menu", "beside", "base64", "p{}"):
        assert word not in markdown


@pytest.mark.parametrize(
    "raw",
    [b"", b"no tags", b"<", b"<p", b"<!--", b"<a href>", b"<?xml version='1.0'?><html><p>x", b"<div>" * 3000 + b"deep"],
    ids=lambda raw: str(raw[:12]),
)
def test_odd_html_still_becomes_text(raw: bytes) -> None:
    assert len(text(raw)) <= len(raw) + 100
    assert ("deep" in text(raw)) == (b"deep" in raw)


@pytest.mark.parametrize("begun", ["<a ", "<a b='", "<!--", "<![CDATA[", "</", "<?"])
@pytest.mark.parametrize("end", ["", ">", "'>", "-->"])
def test_tags_that_never_end_are_not_looked_for_again_and_again(begun: str, end: str) -> None:
    since = time.thread_time()
    text(b"<p>words</p>" + (begun * 20_000 + end).encode())
    assert time.thread_time() - since < 2.0  # seconds of work; each was sought to the end of the page, and it took 15


@pytest.mark.parametrize("charset", ["idna", "punycode", "Unicode_Escape", "raw-unicode-escape", "undefined", "no\0ne"])
def test_what_no_page_is_written_in_is_read_as_utf_8(charset: str) -> None:
    assert text("xn--é\\x1b[31m".encode() * 9000, "text/plain", charset).startswith("xn--é\\x1b[31mxn")


def test_a_page_that_is_not_wanted_any_more_is_left() -> None:
    page = DownloadedPage(url="http://a.example/", kind="text/html", charset=None, raw=b"<p>words</p>" * 9)
    with pytest.raises(ToolFailed, match="not converted in time"):
        page_text(page, lambda: True)


def test_text_stays_as_it_is_in_its_own_letters() -> None:
    assert text(b'{"a": "<b>"}', "application/json") == '{"a": "<b>"}'
    assert text("Grüße".encode("latin-1"), "text/plain", "iso-8859-1") == "Grüße"
    assert text("Viele Grüße".encode("latin-1"), "text/plain", "no such charset").startswith("Viele Gr\ufffd")
    assert text("<meta charset=latin-1><p>Grüße".encode("latin-1")) == "Grüße"
    assert text("Grüße".encode("utf-16"), "text/plain", "utf-16") == "Grüße"
    assert text(b"<html><p>x</p>", "") == "x"


def test_what_is_no_text_is_refused_in_words() -> None:
    with pytest.raises(ToolFailed, match="is a PNG image, not text"):
        text(b"\x89PNG\0\0", "text/plain")
    for kind in ("image/png", "application/pdf", "application/octet-stream"):
        with pytest.raises(ToolFailed, match="not text"):
            refuse_kind("http://a.example", kind)
    for kind in ("", "text/markdown", "application/ld+json", "image/svg+xml", "application/xhtml+xml"):
        refuse_kind("http://a.example", kind)


def test_what_is_packed_never_becomes_more_than_there_is_room_for() -> None:
    bomb = gzip.compress(b"0" * 5_000_000)
    assert decompress(bomb, "gzip", most=1000, url="u") == (b"0" * 1000, True)
    assert decompress(zlib.compress(b"ab"), "deflate", most=1000, url="u") == (b"ab", False)
    assert decompress(b"abc", "", most=2, url="u") == (b"ab", True)
    with pytest.raises(ToolFailed, match="cannot be decompressed"):
        decompress(b"abc", "gzip", most=2, url="u")
    with pytest.raises(ToolFailed, match="is compressed with br"):
        decompress(b"abc", "br", most=2, url="u")


def test_of_a_page_with_too_many_tags_the_first_are_read() -> None:
    pairs = MOST_TAGS // 2
    whole = text(b"<b>x</b>" * pairs)
    assert (whole.count("**x**"), "tags" in whole) == (pairs, False)
    cut = text(b"<b>x</b>" * pairs + b"<p>behind")
    assert cut.startswith("**x****x**")
    assert cut.endswith("\n[Only the first 100,000 tags of the page were read.]")
    assert "behind" not in cut
