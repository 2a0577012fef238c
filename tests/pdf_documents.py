"""PDFs as programs write them, of as many pages as a test wants."""

from __future__ import annotations

import base64
import io

from PIL import Image


def paper(pages: int, *, trailer: bytes = b"", before: bytes = b"") -> bytes:
    """Return a PDF whose objects and their table are not compressed."""
    kids = b" ".join(b"%d 0 R" % (3 + number) for number in range(pages))
    objects = [
        rb"<< /Type /Catalog /Lang (a\)>>(b)) /Pages 2 0 R >>",
        b"<< /Kids [%s] /Type /Pages /Resources << /Count 7 >> /Count %d >>" % (kids, pages),
        *[b"<< /Type /Page /Parent 2 0 R >>"] * pages,
    ]
    body, places = b"%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start, many = len(body), len(objects) + 1
    body += b"xref\n0 %d\n0000000000 65535 f \n%s" % (many, table)
    body += b"trailer\n<< /Size %d /Root 1 0 R /ID [<aa> <bb>] %s>>\n" % (many, trailer)
    return before + body + b"startxref\n%d\n%%%%EOF\n" % start


def changed(was: bytes, pages: int) -> bytes:
    """Return a PDF with a change at its end, as editors write it: another count of pages, in a second table."""
    earlier = was.rpartition(b"startxref\n")[2].partition(b"\n")[0]
    body = was + b"2 0 obj\n<< /Type /Pages /Count %d /Kids [] >>\nendobj\n" % pages
    table = b"xref\n2 1\n%010d 00000 n \ntrailer\n<< /Root 1 0 R /Prev %s >>\n" % (len(was), earlier)
    return body + table + b"startxref\n%d\n%%%%EOF\n" % len(body)


def compressed(trailer: bytes = b"") -> bytes:
    """Return a PDF whose table, and whose objects, are compressed."""
    body = b"%PDF-1.5\n"
    stream = (
        b"9 0 obj\n<< /Type /XRef /W [1 2 1] /Root 1 0 R /Length 4 %s>>\nstream\nxxxx\nendstream\nendobj\n" % trailer
    )
    return body + stream + b"startxref\n%d\n%%%%EOF\n" % len(body)


def scanned(pages: int) -> bytes:
    """Return a PDF as Pillow writes it."""
    file = io.BytesIO()
    sheet = Image.new("L", (4, 4))
    sheet.save(file, "PDF", save_all=True, append_images=[sheet] * (pages - 1))
    return file.getvalue()


def told(raw: bytes) -> str:
    """Return it as base64."""
    return base64.b64encode(raw).decode()
