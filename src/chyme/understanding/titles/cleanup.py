"""Clean up titles (no markup, dot leaders, page numbers or all capitals), and recognise what is no title.

No title is what programs and templates write where one belongs, a sender's company, an address.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from chyme.text.common_words import general_words
from chyme.text.function_words import empty_words
from chyme.text.markdown_lines import shorten_text
from chyme.text.unspaced_scripts import IDEOGRAPH, RUNS
from chyme.text.word_lists import WordList
from chyme.understanding.classification.result import TITLE_LENGTH

_BEGINNING = 20_000  # characters of the text in which the words of a title are looked up
_TWICE = 6  # characters of a title that was read twice
_NAME_LENGTH = 60  # characters of a company's name
_LEADERS = re.compile(
    r"(?:\s*[._·…]{3,}\s*\d*|\s+(?:page|seite|p\.|s\.)\s*\d{1,4}(?:\s*(?:of|von|/)\s*\d{1,4})?)$", re.I
)
_LEADER_MARKS = "._·…"
_UNREADABLE = re.compile("\ufffd+")
_REPEATED = re.compile(r"(\S.{3,60}?) [-–—|:] \1")
_FILLED_IN = re.compile(r"[_.]{3,}")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
# Four letters that are rather a word than an abbreviation: farm, club, boat; not NASA.
_PRONOUNCED = re.compile(r"[^\Waeiouy_]{1,2}[aeiou]{1,2}[^\Waeiouy_]{1,2}(?<=\w{4})")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_JUNK = WordList(__package__, "placeholders")
_KINDS = WordList(__package__, "work_kinds")
_MONTHS = frozenset({"may", "mai", "mar", "mars", "set", "out", "des"})  # that are also small words
_BESIDE_FIGURE = re.compile(r"\d\W{1,2}[^\W\d]|[^\W\d]\W{1,2}\d")
_FILLER = WordList("chyme.understanding.summaries", "filler_text")
_MIN_FILLER, _FILLER_SHARE = 2, 0.75  # words of placeholder text, and their share of a line
_UNFINISHED = WordList(__package__, "unfinished_endings")
_ENDING, _MIN_WORDS = 200, 4  # characters that are read, and words of a title that may be cut off
WEEKDAYS = WordList(__package__, "weekdays")
_PROGRAMS = re.compile(
    r"^(?:microsoft|ms)?\s*(?:office\s+)?(?:word|excel|powerpoint|outlook|publisher|visio|onenote)\s*(?:[-–:]\s*|$)",
    re.IGNORECASE,
)
_EXTENSION = re.compile(
    r"\.(?:docx?|docm|dotx?|xlsx?|xlsm|pptx?|ppsx?|pdf|odt|ods|odp|rtf|txt|html?|xml|md|indd|qxd|qxp|tex|dvi|ps|eps|ai"
    r"|cdr|pub|pages|key|numbers|wpd|fm|jpe?g|png|tiff?|gif|csv|tmp|dot|dwg|mp3|wav|m4a|mp4|mov|epub|eml|msg|svg|asp|"
    r"php|py|js|c|h)$",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"^(?:slide|folie|page|seite|sheet|tabelle|document|dokument|presentation|book|chapter|kapitel|section|untitled|"
    r"unbenannt|scan|image|img|figure|table|track|part|teil|appendix|copy|layout|item|column|row|cell|diapositiva|feuil|hoja)[\s_-]*"
    r"(?:no\.?\s*)?[\divxa-z]{0,4}\.?$",
    re.IGNORECASE,
)
_LABEL = re.compile(  # of a drawing: Text 2, Box 3
    r"^(?:text(?:\s?(?:box|field))?|box|shape|rectangle|object|picture|photo|chart|diagram|graph|drawing|label|series|category|field"
    r"|group|option|textfeld|feld|kasten|bild|foto|abbildung|abb\.|fig\.|diagramm|grafik|objekt|reihe|kategorie|texte|boîte|forme|objet"
    r"|texto|cuadro|imagen|objeto|gráfico|testo|casella|immagine|oggetto|grafico|tekst|vak|afbeelding)\s?#?\d{1,3}[.:]?$",
    re.IGNORECASE,
)
_CHARACTER_SETS = "abcdefghij", "qwertyuiop", "qwertzuiop", "абвгдежз", "αβγδεζηθ"
_HEX = re.compile(r"^[\s{(]*(?:[0-9a-f]{8}-[0-9a-f-]{8,27}|[0-9a-f]{12,})[\s)}]*$", re.IGNORECASE)
_ENCODED = re.compile(r"^(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d)[A-Za-z0-9+/=_-]{24,}$")  # base64, a key
_UNFILLED = re.compile(r"<%|%>|^%[^%]*%$|\{\{|\}\}|\$\{|^\[[^\]]*\]$|^<[^>]*>$|\?{3,}|\ufffd")
_ADDRESS = re.compile(r"^(?:https?://|www\.|file:|[a-z]:\\|/)\S*$", re.IGNORECASE)
_SINGLE_RUN = re.compile(r"^(?=.*[_\d])[\w.+-]+$")  # a file name or an identifier: one run with digits or underscores
_COMPANY = re.compile(
    r"(?:^|\s)(?:GmbH(?: & Co\.? KG)?|AG|KG|OHG|UG|mbH|e\. ?K\.?|e\. ?V\.?|Ltd\.?|Limited|Inc\.?|LLC|LLP|PLC|Corp\.?"
    r"|Co\.|Pty|S\.? ?L\.?(?:U\.?)?|S\. ?A\.?|SARL|SAS|S\. ?[rR]\. ?[lL]\.?|S\.? ?p\.? ?A\.?|B\.? ?V\.?|N\.V\.?|AB|Oyj?"
    r"|ApS|A/S|(?i:sdn\.? ?bhd|bhd|pte|pvt)\.?|S/B|Lda\.?|s\.r\.o\.?|d\.o\.o\.?|[Ss]p\. z o\.?o\.?)$"
)
_REGISTERED = re.compile(r"\s*\([\w .:/-]{0,14}\d[\w .:/-]{0,14}\)$")  # its number behind the name
# Lines above the name of the addressee.
_ADDRESSEE = re.compile(
    r"(?:bill|ship|sold|invoice)[ -]?(?:ed )?to\b|(?:to|an|für|customer|client|cliente|kunde|klant)\W*$"
    r"|(?:rechnungs|liefer)(?:adresse|anschrift|empfänger)|factur(?:é|ar) [àa]\b|destinata",
    re.IGNORECASE,
)
_LOG_TIME = re.compile(
    r"^[\[<(]{0,2}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]{1,2}\d\d?:\d\d|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d"
    r"|\d\d/[A-Z][a-z]{2}/\d{4}:\d\d|\d\d:\d\d:\d\d[.,]\d)"
)
_STREET = re.compile(
    r"^(?:calle|avenida|avda|plaza|rua|via|viale|corso|piazza)\.?\s[A-ZÀ-Ý].{2,40}\d\w?$"
    r"|^\d{1,4}\w?,?\s(?:rue|avenue|boulevard|bd|place|chemin|allée)\s.{2,40}$"
    r"|^\d{1,5}\s[A-Z][\w' .]{2,40}\s(?:street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|court)\.?$"
    r"|^[A-ZÄÖÜ][\w .-]{2,40}(?:straße|strasse|str\.|weg|gasse|platz|allee|ring|damm|ufer|straat|laan|plein)"
    r"\s?\d{1,4}\w?$",
    re.IGNORECASE,
)
_INGREDIENT = re.compile(r"^\d+(?:[.,/]\d+)?\s?(?:g|kg|ml|cl|dl|l|oz|lbs?|EL|TL|tbsp|tsp|cups?|eggs?|Eier)\b")


def clean_title(text: str, around: str, site: str = "") -> str:
    """The title on one line. `around` is the text it belongs to; `site` is removed from its end, where pages add it."""
    if text.rstrip()[-1:].isdecimal() or text.rstrip()[-1:] in _LEADER_MARKS:
        text = _LEADERS.sub("", text)
    if "_" in text or ".." in text:
        text = _FILLED_IN.sub(" ", text)
    line = " ".join(text.split())
    line = _UNREADABLE.sub(" ", line.replace("\u00ad", "")).strip()
    if site and len(line) > len(site) + 8 and line.casefold().endswith(site.casefold()):
        line = line[: -len(site)].rstrip(" |-–—·:»")
    line = line.strip(" \t*_#|=~^<>·•-–—").rstrip(":;,")
    half = len(line) // 2
    if half > _TWICE and line[:half] == line[half + 1 :] and line[half] == " ":
        line = line[:half]  # printed over itself, as a shadow
    if repeated := _REPEATED.fullmatch(line):
        line = repeated[1]  # a sheet and its only table
    return shorten_text(to_normal_case(line, around), TITLE_LENGTH)


def _is_all_capitals(words: Sequence[str]) -> bool:
    long_words = [word for word in words if len(word) > 2]
    return sum(word.isupper() for word in long_words) > 0.8 * len(long_words)


def to_normal_case(line: str, text: str) -> str:
    """A title in capitals in normal case, as its words occur elsewhere in the text; abbreviations stay."""
    words = _WORD.findall(line)
    if len(words) < 2 or len(line) < 10 or not _is_all_capitals(words) or RUNS.search(line):
        return line
    wanted = {word.casefold() for word in words}
    known = {
        word.casefold() for word in _WORD.findall(text[:_BEGINNING]) if word.casefold() in wanted and not word.isupper()
    }
    common = general_words("en")
    kinds = _KINDS.words("general") | _KINDS.words("work")
    shown = {"inc": "Inc", "ltd": "Ltd", "corp": "Corp", "co": "Co", "v": "v", "vs": "vs", "et": "et", "al": "al"}
    small = empty_words("en") | empty_words("de") | empty_words("fr") | empty_words("es")
    first = True

    def fix_case(match: re.Match[str]) -> str:
        nonlocal first
        word, plain = match[0], match[0].casefold()
        is_first, first = first, False
        if line[match.start() - 1 : match.start()] == "(" and len(word) < 4:
            return word  # an abbreviation
        if plain in shown and not is_first:
            return shown[plain]
        if len(word) == 1 and (plain not in "aeoyà" or line[match.end() : match.end() + 1] == "."):
            return word  # an initial
        if plain in _MONTHS and _BESIDE_FIGURE.search(line[max(0, match.start() - 3) : match.end() + 4]):
            return word.capitalize()
        if plain in small and len(word) < 5:
            return word.capitalize() if is_first else word.lower()
        is_word = (
            len(word) > 4
            or plain in known
            or plain in common
            or plain in kinds
            or _PRONOUNCED.fullmatch(plain) is not None
        )
        return word.capitalize() if is_word else word

    return _WORD.sub(fix_case, line)


def strip_program_name(title: str) -> str:
    """The title without a leading program name: `Microsoft Word - Contract.doc` is `Contract.doc`."""
    return _PROGRAMS.sub("", title, count=1).strip() if _PROGRAMS.match(title) else title


def same_words(title: str, other: str) -> bool:
    """Whether two titles are equal apart from case, spaces and punctuation."""
    if len(title) > 2 * len(other) + 20 or len(other) > 2 * len(title) + 20:
        return False
    key = comparison_key(title)
    return bool(key) and key == comparison_key(other)


def comparison_key(text: str) -> str:
    """The letters and digits of a title in lower case, for comparing titles."""
    beginning = text[:1000]
    folded = (beginning if beginning.isascii() else unicodedata.normalize("NFKC", beginning)).casefold()
    return "".join(filter(str.isalnum, folded))


def is_file_name(title: str) -> bool:
    """Whether it looks like a file name rather than a title."""
    return _EXTENSION.search(title) is not None or _SINGLE_RUN.match(title) is not None


def is_junk(title: str, generator: str = "") -> bool:
    """Whether a title means nothing: a program's or template's text, a placeholder, numbers or random letters."""
    line = " ".join(title.split())
    plain = line.strip(" .:;-–—_*#\"'“”„«»").casefold()
    if len(plain) < 2 or plain in _JUNK.phrases() or same_words(plain, generator) or is_filler(plain):
        return True
    letters = len(_LETTER.findall(line))
    if letters < 3 and not IDEOGRAPH.search(line):
        return True
    if letters < 0.4 * len(line.replace(" ", "")):
        return True
    if any(pattern.match(line) for pattern in (_NUMBERED, _LABEL, _HEX, _ADDRESS, _ENCODED)):
        return True
    if any(run in plain for run in _CHARACTER_SETS):
        return True
    return _UNFILLED.search(line) is not None


def is_cut_off(title: str) -> bool:
    """Whether a title ends in the middle of a sentence: with a comma, or with a word that others follow."""
    words = title[-_ENDING:].rstrip(" :").split()
    end = title.rstrip()[-1:]
    if end == "," or len(words) < _MIN_WORDS:
        return end == ","
    return words[-1] in _UNFINISHED.words() or (end == ":" and words[-1] in _UNFINISHED.words("colon"))


def is_filler(line: str) -> bool:
    """Whether a line is placeholder text, such as `dolor sit amet`."""
    words = [word.casefold() for word in _WORD.findall(line)]
    return len(words) >= _MIN_FILLER and sum(word in _FILLER.words() for word in words) >= _FILLER_SHARE * len(words)


def is_company(line: str) -> bool:
    """Whether a line ends like the name of a company."""
    name = _REGISTERED.sub("", line)
    return len(name) <= _NAME_LENGTH and ":" not in name and _COMPANY.search(name) is not None


def is_log_line(line: str) -> bool:
    """Whether a line begins with a date and time, like the lines of a log."""
    return _LOG_TIME.match(line) is not None


def is_address_or_list_line(line: str) -> bool:
    """Whether a line is an address, a log line or an ingredient of a recipe, and so no title."""
    if not _DIGIT.search(line):
        return False
    return any(pattern.match(line) for pattern in (_LOG_TIME, _INGREDIENT)) or (
        len(line) <= _NAME_LENGTH and _STREET.match(line) is not None
    )


def sender_in(lines: Iterable[str]) -> str:
    """The first line that names a company, before the addressee; empty if none does."""
    for line in lines:
        if _ADDRESSEE.match(line):
            break
        if is_company(line):
            return line
    return ""
