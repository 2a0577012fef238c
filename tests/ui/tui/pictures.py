"""Pictures of the transcript to look at: `python tests/ui/tui/pictures.py FOLDER`, with Pillow and DejaVu Sans Mono."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from rich.cells import get_character_cell_size
from rich.style import Style
from textual.strip import Strip

from transcript_scenes import Stage, busy_day, viewed

WIDE, HIGH = 9, 19
SIZES = ((80, 24), (120, 40), (200, 60))
FONTS = {
    (bold, italic): ImageFont.truetype(f"DejaVuSansMono{name}.ttf", 15)
    for (bold, italic), name in {
        (False, False): "",
        (True, False): "-Bold",
        (False, True): "-Oblique",
        (True, True): "-BoldOblique",
    }.items()
}


def picture(rows: list[Strip], columns: int) -> Image.Image:
    """Return what a terminal of so many columns would show."""
    image = Image.new("RGB", (columns * WIDE, len(rows) * HIGH))
    draw = ImageDraw.Draw(image)
    for y, row in enumerate(rows):
        x = 0
        for text, style, _ in row:
            ink, paper = colours(style or Style())
            font = FONTS[bool(style and style.bold), bool(style and style.italic)]
            for character in text:
                cells = get_character_cell_size(character)
                box = (x * WIDE, y * HIGH, (x + cells) * WIDE - 1, (y + 1) * HIGH - 1)
                if cells:
                    draw.rectangle(box, fill=paper)
                draw.text((x * WIDE, y * HIGH + 1), character, font=font, fill=ink)
                if style and style.underline:
                    draw.line((box[0], box[3] - 1, box[2], box[3] - 1), fill=ink)
                x += cells
    return image


def colours(style: Style) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the colours of the ink and the paper."""
    ink = tuple(style.color.get_truecolor()) if style.color else (200, 200, 200)
    paper = tuple(style.bgcolor.get_truecolor()) if style.bgcolor else (0, 0, 0)
    return (paper, ink) if style.reverse else (ink, paper)


async def main(folder: Path) -> None:
    """Draw the busy day at every size, by night and by day, its end and the pages before."""
    for columns, rows in SIZES:
        for dark in (True, False):
            app = Stage(viewed(busy_day()), dark=dark)
            async with app.run_test(size=(columns, rows)) as pilot:
                await pilot.pause(1.5)  # the languages of its code are loaded by then
                for page in range(4):
                    strips = app.transcript.render_lines(app.transcript.size.region)
                    picture(strips, columns).save(folder / f"{columns}-{'dark' if dark else 'light'}-{page}.png")
                    app.transcript.action_page_up()
                    await pilot.pause(0.1)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
