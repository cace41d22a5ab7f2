"""Rewrite a Word document's XML so that raised letters, symbols, tick boxes and pictures reach the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from xml.sax.saxutils import escape

from chyme.documents.conversion.comments_and_charts import as_remark, related_parts, tell_deletions
from chyme.documents.conversion.picture_marks import PictureMarks
from chyme.documents.conversion.raised_letters import lower_letters, raise_letters, symbol
from chyme.documents.conversion.zip_packages import Package, tag_of

MAX_DELETIONS, MAX_HEADERS = 500, 20
USUAL_PART = "word/document.xml"
_RUNNING = re.compile(r"word/(header|footer)\d*\.xml")
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
# Each repetition ends where its tag is closed or opened again, so that no text is looked through twice.
_SCRIPT = re.compile(
    r"(<w:rPr>(?:(?!</?w:rPr>).)*?<w:vertAlign\s+w:val=\"(super|sub)script\"\s*/>(?:(?!</?w:rPr>).)*</w:rPr>\s*)"
    r"((?:<w:t(?:\s[^<>]*)?>[^<]*</w:t>\s*)+)",
    re.DOTALL,
)
_TEXT = re.compile(r"(<w:t(?:\s[^<>]*)?>)([^<]*)(</w:t>)")
_SYMBOL = re.compile(r"<w:sym\s[^<>]*/>")
_FONT, _CODE = re.compile(r"w:font=\"([^\"]*)\""), re.compile(r"w:char=\"([0-9A-Fa-f]{1,4})\"")
_HYPHEN = re.compile(r"<w:noBreakHyphen\s*/>")
_RUBY = re.compile(  # a word with its reading above it
    r"<w:ruby>((?:(?!</?w:ruby>|<w:rubyBase>).)*)<w:rubyBase>((?:(?!</?w:ruby>|</w:rubyBase>).)*)</w:rubyBase>\s*</w:ruby>",
    re.DOTALL,
)
_TICK_BOX = re.compile(
    r"(<w:fldChar\s[^<>]*>(?:(?!</?w:fldChar).)*?<w:checkBox>((?:(?!</?w:(?:checkBox|fldChar)).)*)</w:checkBox>)",
    re.DOTALL,
)
_TICKED = re.compile(r"<w:(?:checked|default)(?:\s+w:val=\"(?:1|true|on)\")?\s*/>")
_UNTICKED = re.compile(r"<w:checked\s+w:val=\"(?:0|false|off)\"\s*/>")
_PICTURE = re.compile(r"(?:<a:blip\s[^<>]*?r:embed|<v:imagedata\s[^<>]*?r:id)=\"([^\"]+)\"")
_DRAWING_END = re.compile(r"</w:(?:drawing|pict)>")
_DELETION = re.compile(r"<w:del\s([^<>]*[^/<>])>((?:(?!</?w:del[\s>]).)*)</w:del>", re.DOTALL)
_DELETED_TEXT = re.compile(r"<w:delText(?:\s[^<>]*)?>([^<]*)</w:delText>|<w:(?:tab|br|p)\b")
_AUTHOR = re.compile(r"w:author=\"([^\"]*)\"")
_PAGE_FIELD = re.compile(r"\b(?:NUMPAGES|PAGE|SECTIONPAGES)\b")
_FIELD_ERROR = re.compile(
    r"\s*(?:Error|Fehler|Erreur|¡Error|Errore|Fout|Erro)\s?!"
)  # what a field shows that finds nothing
_WORD = re.compile(r"[^\W\d_]{2,}")


def rewritten_parts(package: Package, pictures: PictureMarks | None) -> dict[str, bytes]:
    """The parts that must be rewritten, with their new contents; none if the document has nothing of the kind."""
    parts: dict[str, bytes] = {}
    main = main_part(package)
    for part in (main, *_NOTES):
        data = package.read(part)
        if data is None:
            continue
        source = data.decode("utf-8", "surrogateescape")
        changed = _rewrite_text(source)
        if part == main and pictures is not None and ("</w:drawing>" in source or "</w:pict>" in source):
            changed = _mark_pictures(changed, package, part, pictures)
        if changed != source:
            parts[part] = changed.encode("utf-8", "surrogateescape")
    return parts


def main_part(package: Package) -> str:
    """The part that holds the text, whatever its name."""
    if USUAL_PART in package.names:
        return USUAL_PART
    targets = related_parts(package, "", "/officeDocument")
    return next((part for part in targets.values() if part in package.names), USUAL_PART)


def _rewrite_text(source: str) -> str:
    if "w:vertAlign" in source:
        source = _SCRIPT.sub(_unscript, source)
    if "<w:sym " in source:
        source = _SYMBOL.sub(_spell_symbol, source)
    if "<w:noBreakHyphen" in source:
        source = _HYPHEN.sub("<w:t>-</w:t>", source)
    if "<w:ruby>" in source:
        source = _RUBY.sub(_unruby, source)
    if "<w:checkBox>" in source:
        source = _TICK_BOX.sub(lambda box: f"<w:t>{'☒' if _is_ticked(box[2]) else '☐'} </w:t>{box[1]}", source)
    return source


def _unscript(run: re.Match[str]) -> str:
    is_raised = run[2] == "super"
    before = _text_before(run.string, run.start())

    def change(text: re.Match[str]) -> str:
        plain = unescape(text[2])
        changed = raise_letters(plain, before) if is_raised else lower_letters(plain)
        return text[1] + escape(changed) + text[3]

    return run[1] + _TEXT.sub(change, run[3])


def _text_before(source: str, position: int) -> str:
    """The last letters before this position in the same paragraph."""
    window = source[max(0, position - 600) : position]
    paragraph = window[max(window.rfind("<w:p>"), window.rfind("<w:p "), 0) :]
    texts = [text[2] for text in _TEXT.finditer(paragraph)]
    return unescape(texts[-1][-20:]) if texts else ""


def _unruby(ruby: re.Match[str]) -> str:
    reading, base = ("".join(text[2] for text in _TEXT.finditer(part)) for part in (ruby[1], ruby[2]))
    return f'<w:t xml:space="preserve">{base}{f"({reading})" if reading.strip() else ""}</w:t>'


def _spell_symbol(mark: re.Match[str]) -> str:
    font, code = _FONT.search(mark[0]), _CODE.search(mark[0])
    letter = symbol(font[1] if font else "", int(code[1], 16)) if code else ""
    return f"<w:t>{escape(letter)}</w:t>" if letter else mark[0]


def _is_ticked(box: str) -> bool:
    return _TICKED.search(box) is not None and _UNTICKED.search(box) is None


def _mark_pictures(source: str, package: Package, part: str, pictures: PictureMarks) -> str:
    """The source with a mark after each drawing whose picture has writing in it."""
    targets = related_parts(package, part)
    pieces: list[str] = []
    position = 0
    for end in _DRAWING_END.finditer(source):
        drawing = source[position : end.end()]
        start = max(drawing.rfind("<w:drawing"), drawing.rfind("<w:pict"))
        marks = [pictures.mark(targets.get(blip[1], "")) for blip in _PICTURE.finditer(drawing, max(0, start))]
        text = " ".join(filter(None, marks))
        pieces += [drawing, f'<w:t xml:space="preserve"> {text}</w:t>' if text else ""]
        position = end.end()
    return "".join([*pieces, source[position:]])


def deletions(package: Package) -> list[str]:
    """Text that tracked changes removed, with who removed it."""
    data = package.read(main_part(package)) or b""
    if b"<w:delText" not in data:
        return []
    return tell_deletions(list(_deletions(data.decode("utf-8", "replace")))[:MAX_DELETIONS])


def _deletions(source: str) -> Iterator[tuple[str, str]]:
    by, texts, last = "", [""], -1
    for deletion in _DELETION.finditer(source):
        author = _AUTHOR.search(deletion[1])
        name = unescape(author[1]) if author else ""
        text = unescape(
            "".join(piece[1] if piece[1] is not None else " " for piece in _DELETED_TEXT.finditer(deletion[2]))
        )
        if name != by or "</w:p>" in source[last : deletion.start()] or "<w:t>" in source[last : deletion.start()]:
            yield by, "".join(texts)
            texts = []
        by, last = name, deletion.end()
        texts.append(text)
    yield by, "".join(texts)


def headers_and_footers(package: Package, known: str) -> list[str]:
    """Headers and footers with words that the text (`known`) does not have, each once; page numbers are left out."""
    running = [found for found in map(_RUNNING.fullmatch, package.names) if found]
    known_words = set(_WORD.findall(known.lower())) if running else set()
    lines: dict[str, None] = {}
    for found in running[:MAX_HEADERS]:
        kind, tree = found[1], package.tree(found[0])
        paragraphs = [element for element in tree.iter() if tag_of(element) == "p"] if tree is not None else []
        for paragraph in paragraphs:
            texts = "".join(
                element.text or "" if tag_of(element) == "t" else " "
                for element in paragraph.iter()
                if tag_of(element) in ("t", "tab", "br", "p")
            )
            words = _WORD.findall(texts.lower())
            has_number = any(
                _PAGE_FIELD.search(element.text or "") for element in paragraph.iter() if tag_of(element) == "instrText"
            )
            if _FIELD_ERROR.match(texts):
                continue
            if len(words) > 2 * has_number and any(word not in known_words for word in words):
                lines[f"{kind}: {' '.join(texts.split())}"] = None
    return [as_remark(line) for line in lines]
