"""Decodes the bytes of a text file: detects the encoding, removes control characters, unifies line ends.

A legacy encoding is detected from the letters that the text would contain when decoded.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import cache

from chyme.digester import Source

TEXT_BYTES = 5 * 1024 * 1024
SAMPLE = 256 * 1024

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff\ud800-\udfff]")
_NON_ASCII = re.compile("[^\x00-\x7f]")
_COLOUR_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A file's text. `truncated`: the file continues beyond the limit."""

    text: str
    encoding: str
    truncated: bool

    def note(self, limit: int = TEXT_BYTES) -> str | None:
        """The sentence to show when only part of the file was read."""
        return f"first {limit / 1_048_576:g} MB of text read" if self.truncated else None


def decode(data: bytes, limit: int = TEXT_BYTES) -> DecodedText:
    """Decode at most `limit` bytes of `data`."""
    truncated = len(data) > limit
    data = data[:limit]
    encoding, mark_length = encoding_of(data, cut=truncated)
    return DecodedText(clean(data[mark_length:].decode(encoding, "replace"), truncated), encoding, truncated)


def read_text(source: Source, limit: int = TEXT_BYTES) -> DecodedText:
    """Decode at most `limit` bytes of a file of kind text."""
    with source.open() as stream:
        return decode(stream.read(limit + 1), limit)


def encoding_of(data: bytes, *, cut: bool) -> tuple[str, int]:
    """The name of the encoding and the length of its byte order mark; `cut`: the data may end inside a character."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    utf16 = detect_utf16(data[:4096])
    if utf16:
        return utf16, 0
    if is_utf8(data, cut=cut):
        return ("iso2022_jp" if data.isascii() and b"\x1b$B" in data else "utf-8"), 0
    return ("utf-8" if _mostly_utf8(data) else detect_legacy(data)), 0


def is_utf8(data: bytes, *, cut: bool) -> bool:
    """Whether the bytes are UTF-8; `cut` allows an incomplete character at the end."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return cut and error.start >= len(data) - 3 and error.reason == "unexpected end of data"
    return True


def detect_utf16(head: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark by the zero bytes that Latin letters have in it."""
    pairs = len(head) // 2
    if pairs < 4:
        return None
    for offset, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros = head[offset::2].count(0)
        if zeros > pairs * 0.7 and head[1 - offset :: 2].count(0) < pairs * 0.05:
            return encoding
    return None


def clean(text: str, truncated: bool = False) -> str:
    """Remove control characters and colour codes; every line ends with a newline alone."""
    if truncated and text.endswith("\ufffd"):
        text = text.rstrip("\ufffd")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _COLOUR_CODES.sub("", text)
    if "\x0c" in text:
        text = text.replace("\x0c", "\n")
    return _CONTROL.sub("", text)


def _mostly_utf8(data: bytes) -> bool:
    """Whether a few broken bytes are in a text that is otherwise UTF-8: other encodings hardly ever look like it."""
    text = data[:SAMPLE].decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return len(_NON_ASCII.findall(text)) - broken > 10 * broken


SAMPLE_BYTES = 16_384
FREQUENT, FITTING, STRANGE = 3.0, 1.0, -3.0

_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学"
    "如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日月元号京世界今明记录议预算表间"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學"
    "如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日月元號台北世界今明記錄議預算表間"
)
_JAPANESE = (
    "日一国会人年大十二本中長出三同時政事自行社見月分議後前民生連五発間対上部東者党地合市業内相方四定今回新場金員九入選立開手米力学問高代明実円"
    "関決子動京全目表戦経通外最言氏現理調体化田当八六約主題下首意法不来作性的要用制治度務強気小七成期公野書物都道府県文字買牛乳卵庁"
)
_KOREAN = (
    "이다는을의에가고하지를은로한사서기도어나시정인대자수리라과일보부국해들공그"
    "전주장만상구제원여있계조스동유니안세요회록예산것아와"
)
_CYRILLIC = "оеаинтсрвлкмдпуяызьбгчйхжшюцщэф"
_GREEK = "αοιετσνηυρπκμλςωόίάέήύώθδγχφβξζψ"
_HEBREW = "יולהאתרבשמנכעדחקפגםסצטזןץךף"
_ARABIC = "اليمنرتبةعدسفهكقحجشطصخزضذثغظئءأإآؤىو"
_WESTERN = "äöüßéèàáçñóíúêâôîïëãõåøæœùûÄÖÜÉÀÅØÆÇÑÁÍÓÚ’‘“”„–—…€°§«»·ªº©®£´½¿¡"
_CENTRAL = "ąćęłńśźżčďěňřšťůžýőűăţşĄĆĘŁŃŚŹŻČĎĚŇŘŠŤŮŽŐŰáéíóúöüäôâîÁÉÍÓÚÖÜ„”“’–—…€§°"

# The first entry wins a draw, so the order is by how common the encodings are.
_SCRIPTS: dict[str, str] = {
    "cp1252": _WESTERN,
    "cp932": _JAPANESE,
    "gb18030": _SIMPLIFIED,
    "big5": _TRADITIONAL,
    "cp1251": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁіїєґІЇЄҐ№«»–—“”„’…",
    "euc_jp": _JAPANESE,
    "cp949": _KOREAN,
    "cp1250": _CENTRAL,
    "koi8_r": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁ",
    "cp1253": _GREEK + "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΆΈΉΊΌΎΏ«»–—’…€",
    "cp1255": _HEBREW + "–—’“”…₪",
    "cp1256": _ARABIC + "،؛؟–—’“”«»…",
    "cp866": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁ№",
}
_MULTIBYTE = frozenset({"cp932", "gb18030", "big5", "euc_jp", "cp949"})
_UNCASED = frozenset({"cp1255", "cp1256"})


@cache
def _frequent_characters(encoding: str) -> frozenset[str]:
    return frozenset(_SCRIPTS[encoding])


def detect_legacy(data: bytes) -> str:
    """The likeliest encoding of text that is neither UTF-8 nor marked; cp1252 when nothing suggests another."""
    sample = _non_ascii_sample(data)
    if b"\x1b$" in sample and _try_decode(sample, "iso2022_jp") is not None:
        return "iso2022_jp"
    best, best_score = "cp1252", STRANGE
    for encoding in _SCRIPTS:
        text = _try_decode(sample, encoding)
        if text is None:
            continue
        score = _score(text, encoding)
        if score > best_score + 1e-9:
            best, best_score = encoding, score
    return best


def _non_ascii_sample(data: bytes) -> bytes:
    """The first lines with non-ASCII bytes; the rest would only cost time."""
    if len(data) <= SAMPLE_BYTES:
        return data
    lines: list[bytes] = []
    remaining = SAMPLE_BYTES
    for line in data[: 64 * SAMPLE_BYTES].split(b"\n"):
        if not line.isascii() or b"\x1b$" in line:
            lines.append(line[:remaining])
            remaining -= len(line)
            if remaining <= 0:
                break
    return b"\n".join(lines) or data[:SAMPLE_BYTES]


def _try_decode(sample: bytes, encoding: str) -> str | None:
    for cut in (0, 1, 2, 3):  # the sample may end inside a character
        try:
            return sample[: len(sample) - cut].decode(encoding)
        except UnicodeDecodeError as error:
            if error.start < len(sample) - 4:
                return None
    return None


def _score(text: str, encoding: str) -> float:
    """How much the text looks like the language, per byte of the encoded text."""
    frequent = _frequent_characters(encoding)
    multibyte = encoding in _MULTIBYTE
    total, weight = 0.0, 0.0
    previous = " "
    for char in text:
        if not char.isascii():
            weight += 2.0 if multibyte else 1.0
            if multibyte:
                total += 2.0 * _score_multibyte(char, encoding, frequent)
            else:
                total += _score_single_byte(char, previous, encoding, frequent)
        previous = char
    return total / weight if weight else 0.0


def _score_multibyte(char: str, encoding: str, frequent: frozenset[str]) -> float:
    code = ord(char)
    if char in frequent:
        return FREQUENT
    if 0x3040 <= code <= 0x30FF:
        return FREQUENT if encoding in ("cp932", "euc_jp") else STRANGE
    if 0x3000 <= code <= 0x303F or 0xFF01 <= code <= 0xFF5E:
        return FITTING
    if 0xAC00 <= code <= 0xD7A3:
        return FITTING if encoding == "cp949" and _is_first_level(char, encoding) else STRANGE
    if 0x4E00 <= code <= 0x9FFF:
        return FITTING if encoding != "cp949" and _is_first_level(char, encoding) else -1.0
    if 0x2010 <= code <= 0x2026:
        return FITTING
    return STRANGE


# The standards put common characters before rare ones.
_FIRST_LEVEL = {
    "cp932": (0x88, 0x98),
    "gb18030": (0xB0, 0xD7),
    "big5": (0xA4, 0xC6),
    "euc_jp": (0xB0, 0xCF),
    "cp949": (0xB0, 0xC8),
}


def _is_first_level(char: str, encoding: str) -> bool:
    first, last = _FIRST_LEVEL[encoding]
    encoded = char.encode(encoding)
    return first <= encoded[0] <= last and (encoding != "cp949" or encoded[1] >= 0xA1)


def _score_single_byte(char: str, previous: str, encoding: str, frequent: frozenset[str]) -> float:
    if not char.isalpha():
        inside_word = previous.isalpha() and char not in "’‘“”„–—…»°§ªº"
        return STRANGE if inside_word or char not in frequent else FITTING
    if encoding not in _UNCASED and char.isupper() and previous.isalpha() and previous.islower():
        return STRANGE
    if char not in frequent:
        return -1.0
    if encoding in ("cp1252", "cp1250"):
        return 2.5  # a few accents in a Latin text prove less than a whole word of one script
    if previous.isalpha() and previous.isascii():
        return -2.0  # scripts do not mix inside a word
    if char.isupper():
        return FITTING
    return FREQUENT if char in _SCRIPTS[encoding][:10] else 2.0
