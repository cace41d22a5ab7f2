"""Summaries of documents as people have them: each says what the document is or does, in a whole sentence."""

from __future__ import annotations

import pytest

from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.classification.summary_sentence import choose_sentence
from chyme.understanding.summaries.candidates import Candidate
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.mails import written_text
from chyme.understanding.summaries.weighing import weigh_sentences

PDF, HTML, MAIL = "application/pdf", "text/html", "message/rfc822"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

COURT_ORDER = """Case 4:21-cv-00817-KLM Document 96 Filed 03/14/23 Page 1 of 6

UNITED STATES DISTRICT COURT

| MARTHA OAKES, Plaintiff, | ) ) ) | |
|---|---|---|
| v. | ) | Civil Action No. 4:21-cv-00817 |

# ORDER GRANTING IN PART MOTION TO COMPEL

Before the Court is Plaintiff's Motion to Compel Production of Documents (Dkt. 71), filed January 9, 2023. Having
considered the motion and the response, the Court finds that the motion should be granted in part.

## I. BACKGROUND

Oakes worked as a herd manager for Pine Ridge from 2014 until 2020. See Fed. R. Civ. P. 26(b)(1).
"""
OPINION = """IN THE COURT OF APPEALS OF THE STATE OF HALDEN

No. 58812-4-II

Filed: June 2, 2021

LINDQUIST, J. — Ruth Ferrier appeals the superior court's order removing her as personal representative of her

father's estate. She argues that the court lacked authority to remove her without notice and that its findings are

not supported by substantial evidence. We affirm.

Jonas Ferrier died in March 2017, leaving three adult children. His will named Ruth as personal

representative. In 2019 her brother petitioned for an accounting.
"""
ANNUAL_REPORT = """# Northern Lakes Water Authority

# Annual Report 2022/23

© Northern Lakes Water Authority 2023. ISBN 978-1-0000-0000-0

## Contents

Chair's statement ........ 4
Finances ........ 31

## Chair's statement

I am proud of what our people achieved in a dry year. Reservoir levels fell to 48 per cent in August.

## Performance

This report sets out how the Authority supplied 1.2 million people with drinking water and what it spent on pipes.
"""
LAW = """HOUSE BILL NO. 412

INTRODUCED BY REPRESENTATIVES DALE, NGUYEN AND PRICE

AN ACT

relating to the licensing of beekeepers; providing for the inspection of hives; and creating a fund.

Section 1. SHORT TITLE. This act may be cited as the "Beekeepers Licensing Act".

Section 2. DEFINITIONS. As used in this act, "hive" means a box or other container in which bees are kept.
"""
PAPER = """# Seasonal movement of harbour seals along a tidal river

Ines Okafor1, Tomas Lind2

Received 3 March 2021; accepted 9 June 2021

Abstract

Seals are commonly thought of as marine animals. Many populations nevertheless enter rivers. Here we report the
movements of 31 harbour seals fitted with transmitters in the river Varn between 2016 and 2019. Our results suggest
that salmon runs explain these journeys.

Figure 1: Map of the river with the positions of the receivers.
"""
TORN_PAPER = """# Warm sand filters

We describe a sand filter for village wells that is kept warm by compost, which stands for

### Low Cost and

**Simple Repair. Unlike chlorine, it needs no**

chemicals. The filter was tested for two years.
"""
MINUTES = """# Minutes of the Allotment Committee

**Present:** J. Hale (chair), M. Osei, P. Lund

## 1. Minutes of the last meeting

The minutes were approved.

## 2. Water supply

The committee decided to replace the leaking tank near plot 14 before July.

## 3. Rent

It was agreed that rents stay at £38 a year.

## 4. Any other business
"""
CONTRACT = """# TENANCY AGREEMENT

This agreement is made on 1 September 2023 between Harold Finch of 12 Mill Lane, Overton ("the Landlord") and Priya
Nair of 4 Quay Street, Overton ("the Tenant"), who takes the ground floor flat at 4 Quay Street for a term of twelve
months, which begins on the date of this agreement and ends without notice unless both sides agree in writing on a
longer term, and on the conditions that are set out below.

## 1. Rent

The rent is £780 per calendar month.
"""
MANUAL = """# AquaJet 300 Dishwasher

WARNING: Read all instructions before use.

Model AJ300-2, Rev. 4

## About this manual

This manual explains how to install, use and clean the AquaJet 300 dishwasher. Keep it near the appliance.

## 1 Safety

Press the power button for three seconds to switch the appliance off.
"""
PRESS_RELEASE = """FOR IMMEDIATE RELEASE

Contact: Lena Brook, 555-0142, press@tallowind.example

# Tallow Wind opens its first offshore park

HARBORTON, May 4, 2022 – Tallow Wind today opened an offshore wind park of 24 turbines off the coast of Harborton.

"This is a proud day for our region," said chief executive Maria Stone.
"""
THESIS = """UNIVERSITY OF EASTMARK

Fatigue of welded joints in bicycle frames

Declaration

I declare that this thesis is my own work and has not been submitted for any other degree.

Acknowledgements

I would like to thank my supervisor Professor Ellen Marsh for her patience over four years.

Abstract

Recycled aluminium contains more iron. This thesis investigates how iron shortens the life of welded joints.
"""
POLICY = """| Version | Date | Author |
|---|---|---|
| 1.2 | 03/02/2023 | HR |

# Remote Working Policy

## Purpose

The purpose of this policy is to set out when employees of Brightwell Housing may work from home.

## Scope

It applies to all employees except site staff.
"""
NEWSLETTER = """# Willow School Newsletter

[Home](/) [Calendar](/c) [Contact](/k)

We use cookies to improve your experience on our website.

Dear parents and carers,

What a busy month it has been! On 21 March the whole school walks to the river for our spring clean.

Click here to unsubscribe.
"""
LETTER = """Blue Harbour Ltd

14 Quayside, Marport MP1 4QZ

Tel. 01632 960112

Dear Mrs Winter,

Thank you for your letter of 20 March. We will send a glazier on 14 April to seal the frame of your kitchen window.
Please let us know if this time does not suit you.

Yours sincerely,

P. Dunmore
"""
GERMAN_LETTER = """Stadt Musterstadt · Postfach 12 · 12345 Musterstadt

Aktenzeichen: 32-445/24

Sehr geehrte Frau Beispiel,

auf Ihren Antrag vom 2. Mai 2024 erteilen wir Ihnen einen Parkausweis für die Zone C, der ein Jahr lang gilt.

Mit freundlichen Grüßen
Krause
"""
MISREAD_SCAN = """MEM0RANDUM

T0: A1l departrnent heads

SUBJECT: Travel advances

Effective November 1, travel advances will no longer be paid in cash. Employees who travel for more than two days may
request a check from this office.

lt is expectEd that thls cHange w1ll save ab0ut $4O,OOO a y3ar.
"""
README = """# tidewatch

[![build](https://x.example/y.svg)](https://x.example)

A small command-line tool that downloads tide tables and warns you before high water.

## Usage

Run `tidewatch --port Varn` to see the next high water.
"""
ARTICLE = """[Skip to content](#c)

# Why the town of Varn is painting its roofs white

4 July 2023 · 6 min read

*Photo: A worker on the roof of the school. (Credit: M. Ode)*

The town of Varn has painted the roofs of 40 public buildings white this summer to keep classrooms cool.

"It is cheap and it works," says mayor Ines Holt.

Subscribe to our newsletter to read more about Varn, its roofs and its town hall.
"""
GERMAN_STUDY = """# Wohnen im Alter

Alle Rechte vorbehalten. Nachdruck nur mit Genehmigung.

## Inhaltsverzeichnis

1 Einleitung 5

## 1 Einleitung

Die Zahl der Menschen über 75 Jahre wächst. In der vorliegenden Studie wurden 1.240 Personen befragt, wie sie wohnen.

Abb. 1: Altersverteilung der Befragten.
"""
FRENCH_REPORT = """# Rapport d'activité 2021

## Introduction

Le présent rapport décrit l'activité de la médiathèque de Saint-Aubin en 2021. L'année a été marquée par des travaux.
"""
GUIDANCE = """# GUIDANCE NOTE 7/2020

Status: Final

1. This note advises regional offices how to handle applications for mooring permits at Marport.

2. Further copies may be obtained from the address below.
"""
TRANSCRIPT = """[00:00:00] Speaker 1: Um, so yeah, can everybody hear me?
[00:00:04] Speaker 2: Yes.
[00:00:06] Speaker 1: Okay. So today we want to decide who repairs the footbridge and when the path is closed.
[00:00:14] Speaker 2: The contractor can start in May.
"""
PREFORMATTED = """```
[From the Printing Office of Halden]
                                 AN ACT
    To protect the dunes of the northern coast, to close paths during
the breeding season, and to appoint wardens who watch over the dunes.

    Be it enacted that no person shall walk on the dunes from the first
of April to the last of July in any year without the leave of a warden.
```
"""
LOWER_CASE = """bending of plates .

this paper analyzes the bending of a plate that is clamped on all edges . the results agree with tests .
"""
LOWER_CASE_NAME = """# tidewatch

tidewatch warns you before high water and prints the tides of the day. Tables come from the Office of Tides in Varn.
"""
LABELLED_LINES = """Good credit
Objective and background
Classify the customers of a bank by what is known of them from inside and outside the bank.
Data
The base file has one row for each customer, with all that is known of cards and of loans.
"""
ENCYCLOPEDIA = """# Varn

For other uses, see Varn (disambiguation).

Varn is a river in the north of Halden that flows into the Grey Sea near Marport. It is 212 km long.

The river freezes over in most winters.
"""


@pytest.mark.parametrize(
    ("text", "title", "mime", "language", "summary"),
    [
        (
            COURT_ORDER,
            "Order Granting in Part Motion to Compel",
            PDF,
            "en",
            "Before the Court is Plaintiff's Motion to",
        ),
        (OPINION, None, PDF, "en", "Ruth Ferrier appeals the superior court's order removing her as personal rep"),
        (ANNUAL_REPORT, "Annual Report 2022/23", PDF, "en", "This report sets out how the Authority supplied"),
        (LAW, "House Bill No. 412", PDF, "en", "A document called “House Bill No. 412”: AN ACT relating to"),
        (PAPER, None, PDF, "en", "Here we report the movements of 31 harbour seals fitted with transmitters in"),
        (TORN_PAPER, "Warm sand filters", PDF, "en", "We describe a sand filter for village wells that is kept warm"),
        (CONTRACT, "Tenancy Agreement", PDF, "en", "This agreement is made on 1 September 2023 between Harold Finch"),
        (MANUAL, "AquaJet 300 Dishwasher", PDF, "en", "This manual explains how to install, use and clean the"),
        (PRESS_RELEASE, "Tallow Wind opens its first offshore park", PDF, "en", "Tallow Wind today opened an offshore"),
        (THESIS, None, PDF, "en", "This thesis investigates how iron shortens the life of welded joints."),
        (POLICY, "Remote Working Policy", PDF, "en", "The purpose of this policy is to set out when employees of"),
        (NEWSLETTER, "Willow School Newsletter", HTML, "en", "On 21 March the whole school walks to the river for our"),
        (LETTER, "Blue Harbour Ltd", PDF, "en", "A document called “Blue Harbour Ltd”: We will send a glazier on"),
        (GERMAN_LETTER, None, PDF, "de", "Auf Ihren Antrag vom 2. Mai 2024 erteilen wir Ihnen einen Parkausweis"),
        (MISREAD_SCAN, "Travel advances", PDF, "en", "Effective November 1, travel advances will no longer be paid in"),
        (README, "tidewatch", "text/markdown", "en", "A text called “tidewatch”: A small command-line tool that"),
        (ARTICLE, "Why the town of Varn is painting its roofs white", HTML, "en", "The town of Varn has painted the"),
        (GERMAN_STUDY, "Wohnen im Alter", PDF, "de", "In der vorliegenden Studie wurden 1.240 Personen befragt, wie"),
        (FRENCH_REPORT, None, PDF, "fr", "Le présent rapport décrit l'activité de la médiathèque de Saint-Aubin"),
        (GUIDANCE, "Guidance Note 7/2020", PDF, "en", "This note advises regional offices how to handle applications"),
        (TRANSCRIPT, None, "text/plain", "en", "Today we want to decide who repairs the footbridge and when the"),
        (PREFORMATTED, None, HTML, "en", "To protect the dunes of the northern coast, to close paths during the"),
        (LOWER_CASE, "bending of plates", "text/plain", "en", "This paper analyzes the bending of a plate that is cl"),
        (LOWER_CASE_NAME, "tidewatch", "text/markdown", "en", "tidewatch warns you before high water and prints"),
        (
            LABELLED_LINES,
            "Good credit",
            "text/plain",
            "en",
            "A text called “Good credit”: Classify the customers of a bank by what is known of them",
        ),
        (ENCYCLOPEDIA, "Varn", HTML, "en", "Varn is a river in the north of Halden that flows into the Grey Sea near"),
    ],
)
def test_the_sentence_says_what_the_document_is_or_does(
    text: str, title: str | None, mime: str, language: str, summary: str
) -> None:
    found = choose_sentence(read_source_text({"doc-to-markdown": text}), DocumentFacts(title, mime, language))

    assert found is not None
    assert found.text.startswith(summary)
    assert found.text.endswith(".")
    assert found.evidence


def test_a_torn_sentence_is_joined() -> None:
    found = choose_sentence(
        read_source_text({"doc-to-markdown": TORN_PAPER}), DocumentFacts("Warm sand filters", PDF, "en")
    )

    assert found is not None
    assert found.text.endswith("which stands for Low Cost and Simple Repair.")


def test_a_long_sentence_ends_where_a_clause_ends() -> None:
    found = choose_sentence(
        read_source_text({"doc-to-markdown": CONTRACT}), DocumentFacts("Tenancy Agreement", PDF, "en")
    )

    assert found is not None
    assert len(found.text) <= 280
    assert found.text.endswith("for a term of twelve months.")


FORM = """# Application for a Dog Licence

Full name: ______________________

Date of birth: ____ / ____ / ______

Name of dog: _______________

Breed: ______________ Age: ______

Has the dog been vaccinated? ☐ Yes ☐ No
"""
RECIPE = """# Rhubarb crumble

- 600 g rhubarb
- 150 g flour

1. Preheat the oven to 190 degrees.
"""
STATEMENT = """Account statement

Account number: 0044 1122
Statement period: 1 January 2023 to 31 January 2023
Account holder: Mr J Hale

Your deposits are protected by the fund.
"""
AGENDA = """# Parish Council Meeting

## Agenda

1. Apologies
2. Playground fence
3. Grant for the summer fair
4. Date of next meeting

Members of the public are welcome to attend.
"""
SURVEY = """Visitor survey

Thank you for coming. Please take five minutes to answer these questions.

1. How did you hear of us?

☐ Friends ☐ Internet

2. How often do you come?

☐ Never ☐ Once a year

3. Would you come again?

____________
"""
GERMAN_MINUTES = """# Protokoll der Versammlung

TOP 1 Begrüßung

Der Vorsitzende eröffnet die Versammlung um 19.05 Uhr.

TOP 2 Kassenbericht

Der Verein hat das Jahr mit einem Überschuss abgeschlossen.

TOP 3 Neues Boot

Die Versammlung beschließt den Kauf eines Vierers.
"""
DECK = """## Heat pumps

Anna Krug

## Why now?

- Gas prices doubled

## What it costs

- 18,000

## Questions?
"""
BOOK = """# Winter on the Varn

## Contents

## The ice road

The winter on the Varn was cold that year, and in the house by the river the stove burned day and night for all of us.

## Works cited

## Spring
"""
SUBTITLES = """1
00:00:01,000 --> 00:00:03,200
Um, so yeah, welcome back.

2
00:00:03,400 --> 00:00:07,000
Today we are going to prune an old apple tree.

3
00:13:42,000 --> 00:13:58,000
and that is all for today.
"""
WORKBOOK = (
    "## Budget\n\n| Month | Amount |\n| --- | --- |\n"
    + "| May | 12 |\n" * 24
    + "\n## Sheet2\n\n| Name |\n| --- |\n| A |\n"
)
LOREM = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore. " * 4


@pytest.mark.parametrize(
    ("text", "facts", "summary"),
    [
        (
            MINUTES,
            DocumentFacts("Minutes of the Allotment Committee", PDF, "en", ["minutes"], day="2024-05-12"),
            "Minutes of the Allotment Committee of 12 May 2024: Water supply; Rent.",
        ),
        (
            FORM,
            DocumentFacts("Application for a Dog Licence", PDF, "en"),
            "A form called “Application for a Dog Licence” to be filled in: "
            "Full name, Date of birth, Name of dog, Breed, Age.",
        ),
        (
            RECIPE,
            DocumentFacts("Rhubarb crumble", PDF, "en", ["recipe"]),
            "A recipe for “Rhubarb crumble” with 600 g rhubarb, 150 g flour.",
        ),
        (
            STATEMENT,
            DocumentFacts("Account statement", PDF, "en"),
            "A document called “Account statement” with Account number, Statement period, Account holder.",
        ),
        (
            DECK,
            DocumentFacts("Heat pumps", SLIDES, "en", ["presentation"]),
            "A presentation about “Heat pumps”: Why now?; What it costs.",
        ),
        (
            BOOK,
            DocumentFacts("Winter on the Varn", "application/epub+zip", "en", ["book"], author="Ada Winter"),
            "A book by Ada Winter called “Winter on the Varn”: The ice road; Spring.",
        ),
        (
            WORKBOOK,
            DocumentFacts("Budget", SHEETS, None, ["spreadsheet"]),
            "A spreadsheet of 2 sheets: Budget; the largest has 24 rows of Month, Amount.",
        ),
        (
            "| Ducks per year | |\n| --- | --- |\n| Year | Ducks |\n| 2019 | 120 |\n| 2020 | 135 |\n",
            DocumentFacts(None, SHEETS, None),
            "A spreadsheet “Ducks per year” with 2 rows of Year, Ducks.",
        ),
        (
            AGENDA,
            DocumentFacts("Parish Council Meeting", PDF, "en", day="2023-06-06"),
            "A document of 6 June 2023 called “Parish Council Meeting”: Playground fence; Grant for the summer fair.",
        ),
        (
            SURVEY,
            DocumentFacts("Visitor survey", PDF, "en"),
            "A questionnaire called “Visitor survey” with 3 questions: How did you hear of us?; How often do you come?",
        ),
        (
            GERMAN_MINUTES,
            DocumentFacts("Protokoll der Versammlung", PDF, "de", ["minutes"], day="2024-03-12"),
            "Protokoll der Versammlung of 12 March 2024: Kassenbericht; Neues Boot.",
        ),
        (
            "".join(f"2024-03-0{day} 10:00:00 INFO server started\n" for day in range(1, 9)),
            DocumentFacts(None, "text/plain", None),
            "A log of 8 lines from 2024-03-01 to 2024-03-08.",
        ),
        (LOREM, DocumentFacts(None, PDF, "la"), "Placeholder text (lorem ipsum)."),
        (
            "Harbour office\n\nDear Mrs Winter,\n\nSee you soon.\n",
            DocumentFacts("Window repair", PDF, "en", ["letter"], "Blue Harbour Ltd", day="2026-04-03"),
            "A letter from Blue Harbour Ltd of 3 April 2026 about “Window repair”.",
        ),
    ],
)
def test_a_document_without_prose_is_described_by_what_is_known(text: str, facts: DocumentFacts, summary: str) -> None:
    found = choose_sentence(read_source_text({"doc-to-markdown": text}), facts)

    assert found is not None
    assert found.text == summary


def test_subtitles_are_described_by_their_length_and_what_is_said() -> None:
    facts = DocumentFacts(None, "application/x-subrip", "en", topics=["apple tree"])
    found = choose_sentence(read_source_text({"file": SUBTITLES}), facts)

    assert found is not None
    assert found.text == "Subtitles of 14 minutes about apple tree: Today we are going to prune an old apple tree."


MAIL_TEXT = """**From:** Ada Winter <ada@winter.example>
**To:** "Brandt, Jürgen" <jb@haus.example>, Kim Lee <kim@haus.example>
**Date:** Mon, 6 Apr 2026 09:12:00 +0200
**Subject:** Re: Scaffolding for the chapel roof

Hi Jürgen,

hope you are well. The scaffolders can only come on 20 April, so we have to move the start by one week.

Best,
Ada

--
Ada Winter
Winter Architects | 4 Elm Street | Tel. 555 0101

This e-mail is confidential and intended solely for the addressee of the scaffolding mail about the chapel roof.

On Fri, 3 Apr 2026 at 17:40, Jürgen Brandt wrote:
> When will the scaffolding for the chapel roof arrive? The scaffolding for the chapel roof was promised for May.
"""


def mail_summary(text: str) -> str:
    found = choose_sentence(read_source_text({"doc-to-markdown": text}), DocumentFacts("Roof", MAIL, "en", ["e-mail"]))
    assert found is not None
    return found.text


def test_a_mail_is_described_by_who_wrote_to_whom_and_what() -> None:
    assert mail_summary(MAIL_TEXT) == (
        "An e-mail from Ada Winter to Jürgen Brandt and Kim Lee about “Scaffolding for the chapel roof”: "
        "The scaffolders can only come on 20 April, so we have to move the start by one week."
    )


def test_a_mail_that_says_nothing_is_described_by_its_header() -> None:
    header = "**From:** Kim Lee <kim@haus.example>  \n**To:** Ada <ada@winter.example>  \n**Subject:** Keys\n\n"
    assert mail_summary(header + "ok thx!\n\nSent from my phone\n") == "An e-mail from Kim Lee to Ada about “Keys”."
    assert mail_summary(header + "see it\n\nAttachments:\n\n- plan.pdf\n") == (
        "An e-mail from Kim Lee to Ada about “Keys”, with the attachment plan.pdf, that says only “see it”."
    )


def test_a_mail_that_only_forwards_is_described_by_what_it_forwards() -> None:
    header = (
        "**From:** Kim Lee <kim@haus.example>\n**To:** Ada <ada@winter.example>\n**Subject:** Fwd: Boiler\n\nFYI\n\n"
    )
    forwarded = (
        "---------- Forwarded message ---------\nFrom: Ben Holt <ben@heat.example>\nSubject: Boiler\n\nDear Kim,\n\n"
        "our price for the new boiler is 2,400 euros, valid until the end of March.\n"
    )
    assert mail_summary(header + forwarded) == (
        "An e-mail from Kim Lee to Ada about “Boiler”: "
        "Our price for the new boiler is 2,400 euros, valid until the end of March."
    )


def test_a_recording_is_summarised_without_the_words_that_only_begin_a_sentence() -> None:
    transcript = '{"text": "", "segments": [{"text": "um so yeah we talk about bread"}]}'
    summary = "Can everybody hear me now? Okay, so the bread is to be baked by Friday.\n\n*Made by rules.*\n"
    source = read_source_text({"speech-recognition": transcript, "speech-recognition-summary": summary})
    found = choose_sentence(source, DocumentFacts(None, "audio/mpeg", "en"))

    assert found is not None
    assert found.text == "The bread is to be baked by Friday."


def test_a_recording_without_a_sentence_is_described_by_its_topics() -> None:
    source = read_source_text({"speech-recognition": '{"segments": [{"text": "um bread so yeah ovens and"}]}'})
    found = choose_sentence(source, DocumentFacts(None, "audio/mpeg", "en", topics=["bread", "ovens"]))

    assert found is not None
    assert found.text == "A recording about bread, ovens."


def test_quotes_between_the_lines_and_signatures_are_not_what_the_writer_wrote() -> None:
    text = (
        "> When does the scaffolding come?\nIt comes on 20 April, as far as I know today.\n> And the slates?\n"
        "They come in May from Varn.\n-- \nAda Winter\nWinter Architects\n"
    )
    assert written_text(text).split("\n") == [
        "It comes on 20 April, as far as I know today.",
        "They come in May from Varn.",
    ]
    closed = "The slates come in May from the quarry in Varn.\n\nBest regards\nAda Winter, who builds all roofs\n"
    assert written_text(closed).strip() == "The slates come in May from the quarry in Varn."


def test_a_clear_purpose_outweighs_only_half_of_a_reference_to_the_sentence_before() -> None:
    texts = ["We propose a new roof for the chapel.", "However, we propose a new roof for the chapel."]
    candidates = [Candidate(text, "", True, 30, False, "") for text in texts]
    plain, referring = weigh_sentences([candidates[0]], None, "en") + weigh_sentences([candidates[1]], None, "en")
    unclear = weigh_sentences([Candidate("However, the chapel has a new roof.", "", True, 30, False, "")], None, "en")

    assert unclear[0] < referring < plain


def test_a_mailbox_is_described_by_its_subjects() -> None:
    mailbox = "From a\nSubject: Roof\n\nHello.\n\nFrom b\nSubject: Re: Roof\n\nYes.\n\nFrom c\nSubject: Keys\n\nNo.\n"
    found = choose_sentence(read_source_text({"file": mailbox}), DocumentFacts(None, "application/mbox", "en"))

    assert found is not None
    assert found.text == "A mailbox of 3 e-mails: Roof; Keys."


def test_a_description_that_was_cut_is_completed_from_the_text() -> None:
    text = "The old pier of Varn closes in June because its steel is rusting away. Divers found holes in it."
    page = '{"title": "Pier", "description": "The old pier of Varn closes in June because..."}'
    source = read_source_text({"url-crawl-content": text, "url-metadata": page})
    found = choose_sentence(source, DocumentFacts("Pier", HTML, "en"))

    assert found is not None
    assert found.text == "The old pier of Varn closes in June because its steel is rusting away."
