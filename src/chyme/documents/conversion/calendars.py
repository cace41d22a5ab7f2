"""Convert calendars (iCalendar): each appointment, task or note in words, with time, place, people and recurrence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chyme.documents.conversion.calendar_times import describe_recurrence, describe_span, parse_duration, parse_moment
from chyme.documents.conversion.content_lines import ContentLine, parse_content_lines, without_attachments
from chyme.documents.conversion.numbered_parts import Part, join_parts, title_from_name
from chyme.documents.conversion.results import ConversionLimits, ConversionResult, broken_file_error

ENTRIES = {"VEVENT": "appointment", "VTODO": "task", "VJOURNAL": "journal entry"}
MOST_PEOPLE, MOST_DATES = 200, 20
_STATES = {
    "ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative", "NEEDS-ACTION": "not answered",
    "CANCELLED": "cancelled", "CONFIRMED": "confirmed", "COMPLETED": "completed", "IN-PROCESS": "in progress",
}  # fmt: skip


def convert_calendar(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The entries of a calendar, in the order of the file."""
    data, notes = without_attachments(data)
    title, entries = _read(data)
    if not entries and not title and not data[-100:].rstrip().upper().endswith(b"END:VCALENDAR"):
        raise broken_file_error(name, "calendar", "it has no entries")
    only = entries[0][1] if len(entries) == 1 else None
    heading = title or (_heading(*entries[0]) if only else "") or title_from_name(name)
    count = len(entries)
    intro = f"A calendar with {count:,} {'entry' if count == 1 else 'entries'}."
    result = join_parts(
        heading,
        intro,
        (Part(_heading(component, lines), _describe(lines)) for component, lines in entries),
        count,
        ("entry", "entries"),
        limits,
    )
    return replace(result, notes=(*result.notes, *notes))


def _read(data: bytes) -> tuple[str, list[tuple[str, list[ContentLine]]]]:
    """The calendar's name, and the lines of each entry without those of its alarms."""
    title = ""
    entries: list[tuple[str, list[ContentLine]]] = []
    open_components: list[str] = []
    for line in parse_content_lines(data):
        if line.name == "BEGIN":
            open_components.append(line.value.strip().upper())
            if open_components[-1] in ENTRIES:
                entries.append((open_components[-1], []))
        elif line.name == "END":
            if open_components:
                open_components.pop()
        elif open_components and open_components[-1] in ENTRIES:
            entries[-1][1].append(line)
        elif line.name in ("X-WR-CALNAME", "NAME") and not title:
            title = line.text
    return title, entries


def _heading(component: str, lines: list[ContentLine]) -> str:
    return next((line.text for line in lines if line.name == "SUMMARY" and line.text), f"Unnamed {ENTRIES[component]}")


def _describe(lines: list[ContentLine]) -> str:
    """The facts of an entry, one line each, then its description."""
    first: dict[str, ContentLine] = {}
    for line in lines:
        first.setdefault(line.name, line)
    facts = [f"**{label}:** {text}" for label, text in _facts(lines, first) if text]
    return "\n\n".join(filter(None, ["  \n".join(facts), *(line.text for line in lines if line.name == "DESCRIPTION")]))


def _facts(lines: list[ContentLine], first: dict[str, ContentLine]) -> Iterator[tuple[str, str]]:
    start = parse_moment(first["DTSTART"]) if "DTSTART" in first else None
    end = parse_moment(first["DTEND"]) if "DTEND" in first else None
    if start and end is None and "DURATION" in first:
        length = parse_duration(first["DURATION"].value)
        end = start.later(length) if length is not None else None
    if start:
        yield "When", describe_span(start, end)
    if "DUE" in first and (due := parse_moment(first["DUE"])):
        yield "Due", describe_span(due, None)
    if "RRULE" in first:
        yield "Repeats", describe_recurrence(first["RRULE"].value)
    excepted = [day for line in lines if line.name == "EXDATE" for day in _days(line)]
    yield "Except", ", ".join(excepted[:MOST_DATES]) + (" …" if len(excepted) > MOST_DATES else "")
    yield "Where", ", ".join(line.text for line in lines if line.name == "LOCATION")
    yield "Organiser", _person(first["ORGANIZER"]) if "ORGANIZER" in first else ""
    people = [_person(line) for line in lines if line.name == "ATTENDEE"]
    more = f" and {len(people) - MOST_PEOPLE:,} more" if len(people) > MOST_PEOPLE else ""
    yield "Attendees", ", ".join(filter(None, people[:MOST_PEOPLE])) + more
    status = first["STATUS"].text.upper() if "STATUS" in first else ""
    yield "Status", _STATES.get(status, "") if status != "CONFIRMED" else ""
    yield "Categories", ", ".join(part for line in lines if line.name == "CATEGORIES" for part in line.parts(","))
    yield "Link", first["URL"].text if "URL" in first else ""


def _days(line: ContentLine) -> Iterator[str]:
    for value in line.value.split(",")[: 10 * MOST_DATES]:
        moment = parse_moment(ContentLine(line.name, value, line.parameters))
        if moment:
            yield moment.day


def _person(line: ContentLine) -> str:
    address = line.text.removeprefix("mailto:").removeprefix("MAILTO:")
    name = line.parameters.get("CN", "").strip()
    answer = _STATES.get(line.parameters.get("PARTSTAT", "").upper(), "")
    known = f"{name} <{address}>" if name and name != address and "@" in address else name or address
    return f"{known} ({answer})" if answer else known
