"""Render the beginning of a document's text as a sheet of paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chyme.documents.pages.fonts import Fonts, fonts
from chyme.documents.pages.limits import PageLimits
from chyme.documents.pages.markdown_blocks import Block, Span, blocks_of
from chyme.documents.pages.text_lines import Line, LineBreaker, draw_line

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

RATIO = 210 / 297  # A4
INK, FAINT, RULE, SHADE = "#1c1f24", "#7a818c", "#c9cdd4", "#f3f4f6"
FOOT = "Text of the document, not its layout"
NOTHING = "This document has no text."
_HEADINGS = {1: 1.75, 2: 1.4, 3: 1.2}
MAX_COLUMNS = 8  # of a table; more would be too narrow to read
CELL_LINES, CELL_CHARS = 3, 300


def render_text_page(markdown: str, limits: PageLimits, known: Fonts | None = None) -> tuple[Image.Image, str | None]:
    """The picture, and a note naming the scripts for which there is no font here."""
    sheet = _Sheet(limits.page_pixels, known or fonts())
    sheet.foot(FOOT)
    if not markdown.strip():
        sheet.paragraph((Span(NOTHING),), sheet.size, ink=FAINT)
    for block in blocks_of(markdown):
        if not sheet.put(block):
            break
    missing = sheet.line_breaker.missing
    note = f"no font here for some letters ({', '.join(list(missing)[:4])})" if missing else None
    return sheet.image, note


class _Sheet:
    """A sheet that is filled from the top; `put` returns whether there is room for more."""

    def __init__(self, height: int, known: Fonts) -> None:
        from PIL import Image, ImageDraw

        width = max(1, round(height * RATIO))
        self.image: Image.Image = Image.new("RGB", (width, height), "white")
        self.draw: ImageDraw.ImageDraw = ImageDraw.Draw(self.image)
        self.line_breaker = LineBreaker(known)
        self.size = max(6, round(height / 72))
        margin = round(width * 0.1)
        self.left, self.right = margin, width - margin
        self.top, self.bottom = margin, height - round(margin * 1.15)
        self.y = float(self.top)
        self._previous_kind = ""  # the kind of the block above

    def foot(self, text: str) -> None:
        size = round(self.size * 0.72)
        top = self.bottom + self.size
        self.draw.line((self.left, top, self.right, top), RULE, 1)
        line = Line(tuple(self.line_breaker.runs(text, self.line_breaker.fonts.regular, size)))
        draw_line(self.draw, line, self.left, self.right, top + size * 1.7, FAINT)

    def put(self, block: Block) -> bool:
        if self._previous_kind == "item" and block.kind != "item":
            self._space(self.size * 0.35)
        self._previous_kind = block.kind
        if block.kind == "heading":
            size = round(self.size * _HEADINGS.get(block.level, 1.08))
            self._space(size * (0.9 if block.level < 3 else 0.6))
            self.paragraph(block.spans, size, bold=True)
            self._space(size * 0.1)
        elif block.kind == "item":
            self._item(block)
        elif block.kind == "quote":
            self._quote(block)
        elif block.kind == "code":
            self._code(block)
        elif block.kind == "table":
            self._table(block)
        elif block.kind == "rule":
            self._space(self.size * 0.6)
            self.draw.line((self.left, self.y, self.right, self.y), RULE, 2)
            self._space(self.size * 0.6)
        else:
            self.paragraph(block.spans, self.size)
            self._space(self.size * 0.6)
        return self.y < self.bottom

    def paragraph(
        self, spans: tuple[Span, ...], size: int, *, indent: float = 0, bold: bool = False, ink: str = INK
    ) -> None:
        left = self.left + indent
        for line in self.line_breaker.lines(spans, size, self.right - left, bold=bold):
            if not self._line(line, size, left, self.right, ink):
                return

    def _line(self, line: Line, size: int, left: float, right: float, ink: str) -> bool:
        if self.y + size * 1.15 > self.bottom:
            self.y = float(self.bottom)
            return False
        draw_line(self.draw, line, left, right, self.y + size, ink)
        self.y += size * 1.42
        return True

    def _space(self, height: float) -> None:
        if self.y > self.top:
            self.y += height

    def _item(self, block: Block) -> None:
        indent = self.size * (1.6 * block.level + 1.7)
        start = self.y
        first = next(iter(self.line_breaker.lines(block.spans, self.size, self.right - self.left - indent)), None)
        self.paragraph(block.spans, self.size, indent=indent)
        if self.y > start and start + self.size * 1.15 <= self.bottom and (first is None or first.rightwards):
            marker = Line(tuple(self.line_breaker.runs(block.marker, self.line_breaker.fonts.regular, self.size)))
            x = self.left + indent - marker.width - self.size * 0.55
            draw_line(self.draw, marker, x, self.right, start + self.size, FAINT)
        self._space(self.size * 0.25)

    def _quote(self, block: Block) -> None:
        self._space(self.size * 0.2)
        start = self.y
        self.paragraph(block.spans, self.size, indent=self.size * 1.2, ink="#4a505a")
        bar = self.left + self.size * 0.3
        self.draw.line((bar, start, bar, min(self.y, self.bottom)), RULE, max(2, self.size // 7))
        self._space(self.size * 0.6)

    def _code(self, block: Block) -> None:
        size = round(self.size * 0.85)
        pad = size * 0.7
        lines = [
            line
            for span in block.spans
            for line in (list(self.line_breaker.lines((span,), size, self.right - self.left - 2 * pad)) or [Line(())])
        ]
        height = min(self.bottom - self.y, len(lines) * size * 1.42 + 2 * pad)
        self.draw.rectangle((self.left, self.y, self.right, self.y + max(0.0, height)), SHADE)
        self.y += pad
        for line in lines:
            if not self._line(line, size, self.left + pad, self.right - pad, INK):
                return
        self.y += pad
        self._space(self.size * 0.6)

    def _table(self, block: Block) -> None:
        size = round(self.size * 0.85)
        count = min(MAX_COLUMNS, max(map(len, block.rows), default=0))
        if not count:
            return
        pad = size * 0.5
        widths = self._widths(block, count, size, pad)
        self.draw.line((self.left, self.y, self.left + sum(widths), self.y), RULE, 1)
        for number, row in enumerate(block.rows):
            if not self._row(row, widths, size, pad, header=block.header and number == 0):
                return
        self._space(self.size * 0.8)

    def _row(self, row: tuple[str, ...], widths: list[float], size: int, pad: float, *, header: bool) -> bool:
        cells = [
            list(self.line_breaker.lines((Span(cell[:CELL_CHARS]),), size, width - 2 * pad, bold=header))[:CELL_LINES]
            for cell, width in zip(row, widths, strict=False)
        ]
        height = max([1, *map(len, cells)]) * size * 1.3 + pad
        if self.y + height > self.bottom:
            self.y = float(self.bottom)
            return False
        if header:
            self.draw.rectangle((self.left, self.y, self.left + sum(widths), self.y + height), SHADE)
        left = float(self.left)
        for lines, width in zip(cells, widths, strict=False):
            for number, line in enumerate(lines):
                baseline = self.y + pad * 0.5 + size * (1.0 + 1.3 * number)
                draw_line(self.draw, line, left + pad, left + width - pad, baseline, INK)
            left += width
        self.y += height
        self.draw.line((self.left, self.y, self.left + sum(widths), self.y), RULE, 1)
        return True

    def _widths(self, block: Block, count: int, size: int, pad: float) -> list[float]:
        """Column widths as the cells need them, reduced if the page is too narrow for all of them."""
        font = self.line_breaker.fonts.bold.load(size)
        wanted = [size * 2.0] * count
        for row in block.rows[:60]:
            for number, cell in enumerate(row[:count]):
                wanted[number] = max(wanted[number], font.getlength(cell[:60]) + 2 * pad + 1)
        room = float(self.right - self.left)
        if sum(wanted) <= room:
            return wanted
        fair = room / count
        small = sum(width for width in wanted if width <= fair)
        large = sum(width for width in wanted if width > fair)
        return [width if width <= fair else width * (room - small) / large for width in wanted]
