"""PDFs: what is known of them, and what becomes of those that a provider refuses."""

from __future__ import annotations

import time

import pytest

from holdfast.history import check, repair
from holdfast.history.formats.format import Json, as_array, as_object
from holdfast.history.media import pdf
from pdf_documents import changed, compressed, paper, scanned, told

KNOWN: dict[str, tuple[bytes, str, int]] = {
    "of one page": (paper(1), pdf.TYPE, 1),
    "of many": (paper(2_000), pdf.TYPE, 2_000),
    "of Pillow": (scanned(5), pdf.TYPE, 5),
    "behind something else": (paper(3, before=b"junk\n"), pdf.TYPE, 3),
    "changed since": (changed(paper(3), 4), pdf.TYPE, 4),
    "encrypted": (paper(3, trailer=b"/Encrypt 9 0 R "), pdf.ENCRYPTED, 3),
    "encrypted, and compressed": (compressed(b"/Encrypt 9 0 R "), pdf.ENCRYPTED, 0),
    "not encrypted any more": (paper(3, trailer=b"/Encrypt null "), pdf.TYPE, 3),
    "that speaks of encryption": (paper(3, trailer=b"/Title (/Encrypt 9 0 R) /Info << /Encrypt 1 >> "), pdf.TYPE, 3),
    "a page of HTML": (b"<html></html>", pdf.NO_PDF, 0),
}
UNKNOWN: dict[str, bytes] = {
    "compressed": compressed(),
    "without an end": paper(300)[:-40],
    "whose end leads nowhere": paper(300).replace(b"startxref\n", b"startxref\n9"),
    "whose table lies": paper(300).replace(b" 00000 n ", b" 00000 f "),
    "whose table is partly compressed": paper(300, trailer=b"/XRefStm 9 "),
    "whose changes go in a circle": paper(300, trailer=b"/Prev 0 "),
    "whose trailer does not end": paper(300, trailer=b"/X (((( "),
    "changed since, and the change compressed": paper(300) + compressed()[9:],
}


@pytest.mark.parametrize("kind", KNOWN)
def test_what_a_pdf_plainly_says_is_known(kind: str) -> None:
    raw, found, pages = KNOWN[kind]
    seen = pdf.inspect_pdf(told(raw))
    assert (seen.found, seen.pages, seen.size) == (found, pages, len(raw))


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_a_pdf_does_not_plainly_say_is_not_guessed(kind: str) -> None:
    seen = pdf.inspect_pdf(told(UNKNOWN[kind]))
    assert (seen.found, seen.pages) == (pdf.TYPE, 0)


def test_a_pdf_made_to_be_read_from_its_beginning_says_its_pages_there() -> None:
    first = b"%PDF-1.5\n7 0 obj\n<< /Linearized 1 /N 132 /L 0100 >>\nendobj\n"
    complete = first.replace(b"0100", b"100 ").ljust(100)
    assert pdf.inspect_pdf(told(complete)).pages == 132
    assert pdf.inspect_pdf(told(complete + b"more")).pages == 0  # it was changed since


def test_base64_in_lines_is_not_judged() -> None:
    assert pdf.inspect_pdf("AAAA\n" * 500).found == ""
    assert pdf.inspect_pdf("!!!!").found == "broken"
    assert pdf.inspect_pdf("").found == "empty"


def test_little_of_a_large_pdf_is_read() -> None:
    large = told(paper(3)[:9] + b" " * 30_000_000 + paper(3)[9:])
    begun = time.process_time()
    assert pdf.inspect_pdf(large).pages == 0  # its table is not where it says
    assert time.process_time() - begun < 0.5


# --- what becomes of it ----------------------------------------------------------------------------------------------


def document(raw: bytes, **more: object) -> Json:
    source = {"type": "base64", "media_type": "application/pdf", "data": told(raw)}
    return {"type": "document", "source": source, **more}


def user_messages(*blocks: Json) -> list[object]:
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": "x"}]}]


REFUSED: dict[str, tuple[bytes, str, str]] = {
    "too long": (paper(101), "pdf-too-large", "'report' has 101 pages, at most 100 are accepted"),
    "too large": (paper(1) + b" " * 25_000_000, "pdf-too-large", "bytes, at most 25000000 are accepted"),
    "encrypted": (paper(1, trailer=b"/Encrypt 9 0 R "), "pdf-unreadable", "'report' is encrypted"),
    "not one": (b"<html></html>", "pdf-unreadable", "'report' has bytes that are not a PDF"),
}


@pytest.mark.parametrize("profile", ["anthropic", "bedrock", "any"])
@pytest.mark.parametrize("kind", REFUSED)
def test_a_pdf_that_is_refused_is_noted_by_its_name(kind: str, profile: str) -> None:
    raw, rule, why = REFUSED[kind]
    messages = user_messages(document(raw, title="report"))
    assert [each.rule for each in check(messages, format="anthropic", profile=profile)] == [rule]
    repaired = repair(messages, format="anthropic", profile=profile)
    assert repaired.remaining == ()
    noted = as_object(as_array(as_object(repaired.messages[0])["content"])[0])
    assert noted["type"] == "text"
    assert why in str(noted["text"])
    assert str(noted["text"]).endswith("and was left out.]")


def test_a_pdf_that_is_taken_or_not_known_stays_as_it_is() -> None:
    messages = user_messages(document(paper(100)), document(compressed()), document(paper(300)[:-40]))
    assert check(messages, format="anthropic", profile="bedrock") == []
    assert repair(messages, format="anthropic", profile="bedrock").messages is messages
    assert check(user_messages(document(paper(300))), format="anthropic", profile="deepseek") == []


def test_pages_and_images_are_counted_together_and_the_first_go() -> None:
    messages = user_messages(document(paper(60), title="first"), document(paper(60)), document(paper(30)))
    assert [each.rule for each in check(messages, format="anthropic")] == ["too-much-media"]
    repaired = repair(messages, format="anthropic")
    blocks = [as_object(each)["type"] for each in as_array(as_object(repaired.messages[0])["content"])]
    assert blocks == ["text", "document", "document", "text"]
    assert repaired.remaining == ()


def test_a_pdf_in_a_result_is_noted_and_the_rest_of_it_stays() -> None:
    call: Json = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    blocks = [document(paper(2)), document(b"<html>"), {"type": "text", "text": "kept"}]
    result = {"type": "tool_result", "tool_use_id": "a", "content": blocks}
    messages: list[object] = [
        *user_messages(),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    repaired = repair(messages, format="anthropic")
    now = as_array(as_object(as_array(as_object(repaired.messages[2])["content"])[0])["content"])
    assert now[0] is blocks[0]
    assert now[2] is blocks[2]
    assert as_object(now[1])["text"] == "[A PDF has bytes that are not a PDF, and was left out.]"
    assert repaired.remaining == ()


def test_gemini_is_sent_no_pdf_that_is_none() -> None:
    blob = {"mimeType": "application/pdf", "data": told(b"<html>"), "displayName": "report.pdf"}
    messages: list[object] = [{"role": "user", "parts": [{"inlineData": blob}, {"text": "x"}]}]
    assert [each.rule for each in check(messages, format="gemini")] == ["pdf-unreadable"]
    parts = as_array(as_object(repair(messages, format="gemini").messages[0])["parts"])
    assert as_object(parts[0])["text"] == "[A PDF 'report.pdf' has bytes that are not a PDF, and was left out.]"
    encrypted = {**blob, "data": told(paper(300, trailer=b"/Encrypt 9 0 R "))}
    assert check([{"role": "user", "parts": [{"inlineData": encrypted}]}], format="gemini") == []


@pytest.mark.parametrize("profile", ["anthropic", "gemini"])
def test_a_pdf_of_pydantic_ai_is_judged_as_it_is_sent(profile: str) -> None:
    binary = {"kind": "binary", "media_type": "application/pdf", "data": told(b"<html>"), "identifier": "report"}
    messages: list[object] = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["x", binary]}]}]
    assert [each.rule for each in check(messages, format="pydantic-ai", profile=profile)] == ["pdf-unreadable"]
    repaired = repair(messages, format="pydantic-ai", profile=profile)
    assert repaired.remaining == ()
    assert "[A PDF 'report' has bytes that are not a PDF, and was left out.]" in str(repaired.messages)
