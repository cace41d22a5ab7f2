"""Describe a mail by who wrote to whom about what, and find what its writer wrote besides quotes and notices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.text.sentences import word_count
from chyme.understanding.summaries.facts import Composed
from chyme.understanding.summaries.refusals import has_refused_phrase
from chyme.understanding.summaries.wording import join_names, name_sender, quote_name
from chyme.understanding.titles.cleanup import same_words

MAILS = ("message/rfc822", "application/vnd.ms-outlook")
MAILBOX = "application/mbox"
_FIELD = re.compile(r"\*\*([A-Z][A-Za-z-]{1,20})(?::\*\*|\*\*:) ?")
_MAX_HEADER = 40  # lines
_JOINED_LENGTH = 330  # characters of a description and a sentence of the mail
_SAID_LENGTH = 120  # characters of a mail that are quoted as a whole
_LETTER = re.compile(r"[^\W\d_]")
_ADDRESS = re.compile(r"\s*<[^<>]*>|\s*\([^()]*@[^()]*\)|^\"|\"(?=\s|$)|mailto:")
_ATTACHMENTS = re.compile(r"^(?:Attachments:|## )", re.MULTILINE)
_LISTED = re.compile(r"^Attachments:[ \t]*\n\s{0,9}?((?:[ \t]{0,9}[-*]?[ \t]?\S[^\n]{0,200}\n?){1,20})", re.MULTILINE)
_SIZE = re.compile(r"\s\(\d[\d.,]* ?[KMG]?i?B\)$")
_QUOTED = re.compile(
    r"^(?:>|-{2,} ?(?:original message|forwarded|ursprüngliche nachricht|message d'origine|mensaje original)"
    r"|_{10,}|begin forwarded message"
    r"|(?:on|am|le|el|il|op|em) .{5,120}(?:wrote|schrieb|écrit|escribió|scritto|schreef|escreveu)"
    r" ?.{0,60}:$|(?:from|von|de|da): .{3,80}$)",
    re.IGNORECASE,
)
_QUOTED_FIELD = re.compile(
    r"\*{0,2}(?:from|to|cc|date|sent|subject|von|an|datum|gesendet|betreff)\*{0,2}:", re.IGNORECASE
)
_MIN_WRITTEN = 6  # words
_SIGNATURE = re.compile(r"^(?:-- ?|—|_{5,}|-{5,})$")
_CLOSING = re.compile(
    r"^(?:(?:kind|best|warm|many)?\s?(?:regards|wishes)|sincerely|yours (?:sincerely|faithfully|truly)|cheers"
    r"|thanks(?: again)?|thank you|best|(?:mit )?(?:freundlichen|besten|herzlichen|viele|liebe|beste) grüßen?"
    r"|cordialement|bien à vous|saludos"
    r"|atentamente|cordiali saluti|met vriendelijke groet|atenciosamente)[,.!]?$",
    re.IGNORECASE,
)
_SURNAME_FIRST = re.compile(r"^([^\d,@]{2,30}), (?!(?:Inc|Ltd|LLC|GmbH|Corp|Co|Jr|Sr|PhD|MD)\b)([^\d,@]{2,30})$")
_SUBJECT_LINE = re.compile(r"^(?:\*\*)?Subject(?:\*\*)?:(?:\*\*)?[ \t]*(\S[^\n]{0,200})", re.MULTILINE)
_SUBJECT_HEADING = re.compile(r"^## +(\S[^\n]{0,200})\n\s{0,9}\*\*(?:From|To|Date)\b", re.MULTILINE)
_MAILBOX, _MAX_MAILBOX_HEAD = re.compile(r"^A mailbox with (\d{1,9}) e-mails?\.", re.MULTILINE), 2_000
_REPLIES = re.compile(r"^(?:(?:re|aw|fwd?|wg|antw|rv|tr|sv|vs)\s*(?:\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MailHeader:
    """Who wrote to whom; empty where it is not said."""

    sender: str = ""
    recipients: tuple[str, ...] = ()
    subject: str = ""
    attachments: tuple[str, ...] = ()


def describe_mail(whole: str, mime: str, sentence: str = "") -> Composed | None:
    """`An e-mail from Ada Winter to Jürgen Brandt about “Window repair”: The glazier comes on Monday.`"""
    if mime == MAILBOX:
        subjects = subjects_of(whole)
        names, stated = tuple(dict.fromkeys(subjects)), _MAILBOX.search(whole[:_MAX_MAILBOX_HEAD])
        number = int(stated[1]) if stated else len(subjects)
        count = f"{number} e-mail{'s' if number > 1 else ''}"
        return Composed(f"A mailbox of {count}: {join_names(names, '; ')}.", 0.6) if names else None
    header = read_header(whole)
    if mime not in MAILS or not (header.sender or header.subject):
        return None
    to = _name_recipients([person for person in header.recipients if person != header.sender])
    about = f" about {quote_name(header.subject)}" if _LETTER.search(header.subject) else ""
    text = f"An e-mail{name_sender(header.sender)}{to}{about}"
    joined = f"{text}: {sentence}"
    if sentence and len(joined) <= _JOINED_LENGTH:
        return Composed(joined, 0.6)
    files = _name_files(header.attachments)
    said = " ".join(_own_lines(whole).split())
    is_told = not said or len(said) > _SAID_LENGTH or not _LETTER.search(said) or same_words(said, header.subject)
    only = "" if is_told or has_refused_phrase(said) else f"{',' if files else ''} that says only “{said}”"
    return Composed(f"{text}{files}{only}.", 0.5)


def _name_recipients(people: Sequence[str]) -> str:
    if not people:
        return ""
    return f" to {' and '.join(people)}" if len(people) < 3 else f" to {people[0]} and {len(people) - 1} others"


def _name_files(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f", with the attachment {names[0]}" if len(names) == 1 else f", with {len(names)} attachments"


def read_header(text: str) -> MailHeader:
    """The header fields above a mail's text."""
    fields: dict[str, str] = {}
    for line in text[:20_000].split("\n", _MAX_HEADER)[:_MAX_HEADER]:
        field = _FIELD.match(line)
        if field:
            fields.setdefault(field[1].lower(), " ".join(line[field.end() :].split()))
        elif line.strip():
            break
    listed = _LISTED.search(text)
    names = [line.strip(" -*\t") for line in listed[1].split("\n") if line.strip(" -*\t")] if listed else []
    return MailHeader(
        _name_person(fields.get("from", "")),
        tuple(filter(None, (_name_person(person) for person in _split_people(fields.get("to", ""))))),
        _REPLIES.sub("", fields.get("subject", "")).replace("\ufffd", "").strip(),
        tuple(_SIZE.sub("", name) for name in names if "/" not in name and not name.endswith(".p7s")),
    )


def subjects_of(mailbox: str) -> tuple[str, ...]:
    """The subjects of the mails of a mailbox, one for each mail, without `Re:`."""
    found = _SUBJECT_HEADING.findall(mailbox) or _SUBJECT_LINE.findall(mailbox)
    return tuple(filter(None, (_REPLIES.sub("", match.strip()) for match in found)))


def written_text(text: str) -> str:
    """What the writer of a mail wrote: without header, quoted mails, signature, notices and list of attachments.

    Empty if that is next to nothing.
    """
    written = _own_lines(text)
    return written if word_count(written) >= _MIN_WRITTEN else ""


def _own_lines(text: str) -> str:
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() and not _FIELD.match(line)), len(lines))
    kept: list[str] = []
    for line in lines[start:]:
        plain = line.strip().strip("*")
        ends = _SIGNATURE.match(plain) or _CLOSING.match(plain) or _ATTACHMENTS.match(plain)
        if plain in ("--", "—") or _ATTACHMENTS.match(plain):
            break
        if kept and any(map(str.strip, kept)) and (ends or (_QUOTED.match(plain) and not plain.startswith(">"))):
            break
        if plain.startswith(">") or _QUOTED.match(plain):
            continue
        if "confidential" in plain.lower() and has_refused_phrase(plain):
            break
        kept.append(line)
    return "\n".join(kept)


def forwarded_text(text: str) -> str:
    """What a mail quotes or forwards, without the header of the mail that it is from; empty if it quotes none."""
    lines = [line.lstrip("> ") for line in text.split("\n")]
    start = next((i for i, line in enumerate(lines) if _QUOTED.match(line)), len(lines))
    return "\n".join("" if _QUOTED.match(line) or _QUOTED_FIELD.match(line) else line for line in lines[start:])


def _split_people(line: str) -> list[str]:
    """The addressees; a comma within quotation marks or a name belongs to it."""
    return re.split(r"[;,]\s*(?=[^,;]*[@<])(?![^\"]*\"(?:\s*<|$))", line) if "@" in line else line.split(";")


def _name_person(person: str) -> str:
    plain = _ADDRESS.sub("", person).replace("\ufffd", "").strip(" \"'")
    surname_first = _SURNAME_FIRST.match(plain)
    if surname_first:
        plain = f"{surname_first[2]} {surname_first[1]}"
    return plain or person.strip(" <>\"'")
