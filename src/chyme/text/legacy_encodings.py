"""Detects the encoding of texts from before Unicode, from the letters that they would contain when decoded."""

from __future__ import annotations

from functools import cache

SAMPLE_BYTES = 16_384
FREQUENT, FITTING, STRANGE = 3.0, 1.0, -3.0
NONSENSE = -0.5  # a lower score says that no encoding fits
_HIGH_BYTES = bytes(range(0x80, 0x100))
_THAI_MARKS = frozenset(map(chr, (0x0E31, *range(0x0E34, 0x0E3B), *range(0x0E47, 0x0E4F))))

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
_WESTERN = "äöüßéèàáçñóíúêâôîïëãõåøæœùûìòÄÖÜÉÀÅØÆÇÑÁÍÓÚ’‘“”„–—…€°§«»·ªº©®£´½¿¡²³×±¼¾÷µ¶¬"
_CENTRAL = "ąćęłńśźżčďěňřšťůžýőűăţşĄĆĘŁŃŚŹŻČĎĚŇŘŠŤŮŽŐŰáéíóúöüäôâîÁÉÍÓÚÖÜ„”“’–—…€§°"
_TURKISH = "ığşçöüİŞĞÇÖÜâîû’“”–—…"
# Letters that betray a Central European text read as cp1252, and all that such a text can have: no Western language
# has both of the first two (ő and ű of Hungarian, ř and ě of Czech).
_MISREAD = (("õû", frozenset("áéíóöõúüû")), ("øì", frozenset("áïéìíòóøúùýèåšž")))
_ICELANDIC = frozenset("ðþýÐÞÝ")  # Western letters, but far more often Turkish ones in its encoding

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
    "iso8859_2": _CENTRAL,
    "cp1254": _TURKISH,
    "mac_cyrillic": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁіїєґІЇЄҐ№«»–—“”„’…",
    "koi8_r": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁ",
    "koi8_u": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁіїєґІЇЄҐ",
    "cp1253": _GREEK + "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΆΈΉΊΌΎΏ«»–—’…€",
    "cp1255": _HEBREW + "–—’“”…₪",
    "cp1256": _ARABIC + "،؛؟–—’“”«»…",
    "cp866": _CYRILLIC + "АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЭЮЯёЁ№",
}
# Only where none of the others fits. Those of DOS and the Mac put letters where cp1252 has quotation marks, so they
# must fit where cp1252 makes no sense.
_RARE: dict[str, str] = {
    "iso8859_5": _CYRILLIC + _CYRILLIC.upper() + "ёЁіїєґІЇЄ№",
    "iso8859_6": _ARABIC + "،؛؟",
    "cp874": "".join(map(chr, (*range(0x0E01, 0x0E3B), *range(0x0E40, 0x0E5C)))),
    "mac_roman": _WESTERN,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
}
_DOS_AND_MAC = frozenset({"mac_roman", "cp850", "cp852"})
_RARE_BELOW = 2.2  # the score of the best common encoding from which on no other is tried
_RARE_SCORE, _RARE_LEAD = 1.9, 0.4  # what a rare one must reach, and by how much it must be better
_RARE_CHARACTERS = 4  # fewer prove nothing
_MULTIBYTE = frozenset({"cp932", "gb18030", "big5", "euc_jp", "cp949"})
_UNCASED = frozenset({"cp1255", "cp1256", "iso8859_6", "cp874"})
_LATIN = frozenset({"cp1252", "cp1250", "iso8859_2", "cp1254", "mac_roman", "cp850", "cp852"})
_ALL = {**_SCRIPTS, **_RARE}


@cache
def _frequent_characters(encoding: str) -> frozenset[str]:
    return frozenset(_ALL[encoding])


def detect_legacy(data: bytes) -> str:
    """The likeliest encoding of text that is neither UTF-8 nor marked; cp1252 when nothing suggests another."""
    sample = _non_ascii_sample(data)
    if b"\x1b$" in sample and _try_decode(sample, "iso2022_jp") is not None:
        return "iso2022_jp"
    best, best_score = "cp1252", STRANGE
    is_western = False
    for encoding in _SCRIPTS:
        text = _try_decode(sample, encoding)
        if text is None or (is_western and encoding in _LATIN):
            continue
        if encoding == "cp1252":
            if _is_misread(text):
                continue
            is_western = _makes_sense(text, encoding)
        score = _score(text, encoding)
        if score > best_score + 1e-9:
            best, best_score = encoding, score
    return _detect_rare(sample, best_score) or (best if best_score > NONSENSE else "cp1252")


def _detect_rare(sample: bytes, common_score: float) -> str | None:
    """A rare encoding in which the text makes more sense than in any common one."""
    if common_score >= _RARE_BELOW or len(sample) - len(sample.translate(None, _HIGH_BYTES)) < _RARE_CHARACTERS:
        return None
    western = _try_decode(sample, "cp1252")
    may_be_western = western is not None and _score(western, "cp1252") >= 0
    best, best_score = None, max(_RARE_SCORE, common_score + _RARE_LEAD)
    for encoding in _RARE:
        if encoding in _DOS_AND_MAC and may_be_western:
            continue
        text = _try_decode(sample, encoding)
        if text is None or (encoding == "cp874" and not _is_thai(text)):
            continue
        score = _score(text, encoding)
        if score > best_score + 1e-9:
            best, best_score = encoding, score
    return best


def _is_thai(text: str) -> bool:
    """Whether vowels and tones stand where Thai has them: above and below consonants."""
    marks = wrong = letters = 0
    previous = " "
    for char in text:
        if "\u0e01" <= char <= "\u0e5b":
            letters += 1
            if char in _THAI_MARKS:
                marks += 1
                wrong += not ("\u0e01" <= previous <= "\u0e2e" or previous in _THAI_MARKS)
        previous = char
    return 0.1 * letters < marks < 0.5 * letters and wrong <= 0.02 * letters


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
    for char, following in zip(text, text[1:] + " ", strict=True):
        if not char.isascii():
            weight += 2.0 if multibyte else 1.0
            if multibyte:
                total += 2.0 * _score_multibyte(char, encoding, frequent)
            else:
                total += _score_single_byte(char, previous, following, encoding, frequent)
        previous = char
    return total / weight if weight else 0.0


def _makes_sense(text: str, encoding: str) -> bool:
    """Whether every sign and letter is one that the encoding's languages use, where they use it."""
    frequent = _frequent_characters(encoding)
    around = zip(" " + text, text, text[1:] + " ", strict=False)
    return all(
        char.isascii() or _score_single_byte(char, previous, following, encoding, frequent) > 0
        for previous, char, following in around
    )


def _is_misread(text: str) -> bool:
    """Whether a text in cp1252 has the letters of a Central European language, each as another one."""
    letters = {char for char in text.lower() if char.isalpha() and not char.isascii()}
    return any(letters.issuperset(signs) and letters <= possible for signs, possible in _MISREAD)


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


def _score_single_byte(char: str, previous: str, following: str, encoding: str, frequent: frozenset[str]) -> float:
    if char in "ªº" and following.isalpha():
        return STRANGE  # an ordinal ends with it; it is ş of Romanian in another encoding
    if not char.isalpha() and char not in _THAI_MARKS:
        inside_word = previous.isalpha() and (char not in "’‘“”„–—…»°§²³" or (char in "²³" and following.isalpha()))
        return STRANGE if inside_word or char not in frequent else FITTING
    if encoding not in _UNCASED and char.isupper() and previous.isalpha() and previous.islower():
        return STRANGE
    if char not in frequent:
        return 0.0 if encoding == "cp1252" and char in _ICELANDIC else -1.0
    is_alone = not previous.isalpha() and not following.isalpha()
    if encoding in _LATIN:
        return FITTING if is_alone else 2.5  # a few accents in a Latin text prove less than a whole word of one script
    if (previous.isalpha() and previous.isascii()) or (following.isalpha() and following.isascii()):
        return -2.0  # scripts do not mix inside a word
    if is_alone:
        return -1.0 if char.isupper() else FITTING  # it may be a sign in another encoding: © ® ×
    if char.isupper():
        return FITTING
    return FREQUENT if char in _ALL[encoding][:10] else 2.0
