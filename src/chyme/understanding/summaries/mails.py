"""Read who wrote a mail to whom about what, and what its writer wrote: no quotes, signatures and notices."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chyme.understanding.summaries.refusals import has_refused_phrase

MAILS = ("message/rfc822", "application/vnd.ms-outlook")
MAILBOX = "application/mbox"
_FIELD = re.compile(r"\*\*([A-Z][A-Za-z-]{1,20})(?::\*\*|\*\*:) ?")
_MAX_HEADER = 40  # lines
_ADDRESS = re.compile(r"\s*<[^<>]*>|\s*\([^()]*@[^()]*\)|^\"|\"(?=\s|$)|mailto:")
_ATTACHMENTS = re.compile(r"^(?:Attachments:|## )", re.MULTILINE)
_LISTED = re.compile(r"^Attachments:[ \t]*\n\s*?((?:[ \t]*[-*]?[ \t]?\S[^\n]{0,200}\n?){1,20})", re.MULTILINE)
_SIZE = re.compile(r"\s\(\d[\d.,]* ?[KMG]?i?B\)$")
_QUOTED = re.compile(
    r"^(?:>|-{2,} ?(?:original message|forwarded|ursprüngliche nachricht|message d'origine|mensaje original)"
    r"|_{10,}|begin forwarded message|(?:on|am|le|el|il|op|em) .{5,120}(?:wrote|schrieb|écrit|escribió|scritto|schreef|escreveu)"
    r" ?.{0,60}:$|(?:from|von|de|da): .{3,80}$)",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"^(?:-- ?|—|_{5,}|-{5,})$")
_CLOSING = re.compile(
    r"^(?:(?:kind|best|warm|many)?\s?(?:regards|wishes)|sincerely|yours (?:sincerely|faithfully|truly)|cheers|thanks(?: again)?"
    r"|thank you|best|(?:mit )?(?:freundlichen|besten|herzlichen|viele|liebe|beste) grüßen?|cordialement|bien à vous|saludos"
    r"|atentamente|cordiali saluti|met vriendelijke groet|atenciosamente)[,.!]?$",
    re.IGNORECASE,
)
_SURNAME_FIRST = re.compile(r"^([^\d,@]{2,30}), (?!(?:Inc|Ltd|LLC|GmbH|Corp|Co|Jr|Sr|PhD|MD)\b)([^\d,@]{2,30})$")
_SUBJECT_LINE = re.compile(r"^(?:\*\*)?Subject(?:\*\*)?:(?:\*\*)?[ \t]*(\S[^\n]{0,200})", re.MULTILINE)
_REPLIES = re.compile(r"^(?:(?:re|aw|fwd?|wg|antw|rv|tr|sv|vs)\s*(?:\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MailHeader:
    """Who wrote to whom; empty where it is not said."""

    sender: str = ""
    recipients: tuple[str, ...] = ()
    subject: str = ""
    attachments: tuple[str, ...] = ()


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
    return tuple(_REPLIES.sub("", match.strip()) for match in _SUBJECT_LINE.findall(mailbox))


def written_text(text: str) -> str:
    """What the writer of a mail wrote: without header, quoted mails, signature, notices and list of attachments."""
    lines = text.split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip() and not _FIELD.match(line)), len(lines))
    kept: list[str] = []
    for line in lines[start:]:
        plain = line.strip().strip("*")
        ends = _SIGNATURE.match(plain) or _CLOSING.match(plain) or _ATTACHMENTS.match(plain)
        if kept and any(map(str.strip, kept)) and (ends or (_QUOTED.match(plain) and not plain.startswith(">"))):
            break
        if plain.startswith(">") or _QUOTED.match(plain):
            continue
        if has_refused_phrase(plain) and "confidential" in plain.lower():
            break
        kept.append(line)
    return "\n".join(kept)


def _split_people(line: str) -> list[str]:
    """The addressees; a comma within quotation marks or a name belongs to it."""
    return re.split(r"[;,]\s*(?=[^,;]*[@<])(?![^\"]*\"(?:\s*<|$))", line) if "@" in line else line.split(";")


def _name_person(person: str) -> str:
    plain = _ADDRESS.sub("", person).replace("\ufffd", "").strip(" \"'")
    surname_first = _SURNAME_FIRST.match(plain)
    if surname_first:
        plain = f"{surname_first[2]} {surname_first[1]}"
    return plain or person.strip(" <>\"'")
