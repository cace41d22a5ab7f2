"""Which title a document gets from its first page: covers, court papers, bills, letters, scans, minutes and others.

A printed page is written as lines of `size text`, with an empty line for a gap. The pages are of our own making, in the
shape that the converters produce.
"""

from __future__ import annotations

import pytest
from growth import grows_linearly

from chyme.documents.properties.reader import Properties
from chyme.model import Place
from chyme.text.sized_lines import SizedLine, lines_of_scan
from chyme.text.titles import heading_title
from chyme.understanding.classification.source_text import read_source_text
from chyme.understanding.titles.candidates import MIN_CONFIDENCE, find_titles

PDF, DOCX = "application/pdf", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
BODY = "\n".join(
    f"10 The committee looked at the accounts of the year and found them in order, as was said in part {part}."
    for part in "abcdefghij"
)


def lines_of(page: str, exact: bool = True) -> tuple[SizedLine, ...]:
    lines, top = [], 0.05
    for row in page.strip().split("\n"):
        size, _, text = row.strip().partition(" ")
        if not text:
            top += 0.03
            continue
        height = float(size) / 800
        lines.append(SizedLine(text, height, top, exact))
        top += 1.3 * height
    return tuple(lines)


def title_of(page: str, *, exact: bool = True, stored: str = "", name: str = "scan0001.pdf", mime: str = PDF) -> str:
    lines = lines_of(page, exact)
    text = "\n".join(line.text for line in lines)
    front, scanned = (lines, ()) if exact else ((), lines)
    source = read_source_text({"doc-to-markdown": text}, Properties(stored, front=front), scanned=scanned)
    found = find_titles(source, name, mime)
    return found[0].text if found and found[0].confidence >= MIN_CONFIDENCE else ""


PRINTED = {
    "a ministry's report in three lines": (
        f"""
        14 MINISTRY OF FISHERIES
        12 Department of Coastal Affairs

        26 The State of Our
        26 Harbours and Piers
        26 after Ten Years

        16 Final report of the harbour survey

        12 March 2024

        {BODY}
        """,
        "The State of Our Harbours and Piers after Ten Years",
    ),
    "a body in larger print than the title": (
        f"""
        30 University of Whitby
        22 Handbook for New Students
        12 Academic year 2024/25

        {BODY}
        """,
        "Handbook for New Students",
    ),
    "a German ministry": (
        f"""
        12 Bundesministerium für Küstenschutz

        24 Leitfaden zur Sanierung
        24 alter Hafenanlagen
        14 Empfehlungen für Gemeinden
        10 Stand: März 2023

        {BODY}
        """,
        "Leitfaden zur Sanierung alter Hafenanlagen",
    ),
    "a French agency": (
        f"""
        12 RÉPUBLIQUE FRANÇAISE
        12 Agence des ports et des phares

        22 Rapport sur l’entretien des digues
        10 Paris, le 3 mars 2024

        {BODY}
        """,
        "Rapport sur l’entretien des digues",
    ),
    "a Spanish city": (
        f"""
        20 AYUNTAMIENTO DE VILLAMAR

        18 Memoria anual de actividades culturales
        12 2023

        {BODY}
        """,
        "Memoria anual de actividades culturales",
    ),
    "an annual report with its year": (
        """
        14 Blue Harbour Foundation

        36 Annual Report
        36 2023
        """,
        "Blue Harbour Foundation – Annual Report 2023",
    ),
    "a paper below the name of its journal": (
        f"""
        9 Journal of Tidal Studies, Vol. 12, No. 3 (2021), pp. 14–29
        8 https://doi.example/10.1000/182

        17 Measuring the Drift of Small Boats
        17 in Shallow Estuaries

        11 Jane Miller and Ada Byron
        10 University of Whitby

        11 Abstract
        {BODY}
        """,
        "Measuring the Drift of Small Boats in Shallow Estuaries",
    ),
    "a thesis": (
        f"""
        14 Universität Seestadt
        14 Fakultät für Wasserbau

        24 Strömungen in engen Fahrrinnen

        14 Dissertation
        12 zur Erlangung des akademischen Grades Dr.-Ing.
        12 vorgelegt von Anna Meyer

        {BODY}
        """,
        "Strömungen in engen Fahrrinnen",
    ),
    "a press release": (
        f"""
        18 FOR IMMEDIATE RELEASE
        10 May 3, 2024

        18 Town opens new ferry landing after two years of work

        {BODY}
        """,
        "Town opens new ferry landing after two years of work",
    ),
    "minutes of a board": (
        f"""
        12 TOWN OF WHITBY
        12 Harbour Commission
        12 MINUTES
        12 May 3, 2021

        {BODY}
        """,
        "Harbour Commission – Minutes, May 3, 2021",
    ),
    "a form and its number": (
        f"""
        8 OMB No. 1234-0001
        22 Form 77-B
        18 Application for a Mooring Permit
        9 Please print clearly

        {BODY}
        """,
        "Form 77-B: Application for a Mooring Permit",
    ),
    "an invoice below its sender": (
        """
        20 Kite Works, Inc.
        20 Things That Fly
        10 17 Aviation Road
        10 Invoice 2020-10
        10 January 8, 2020
        10 Item Quantity Price Amount
        10 Super kite 2 20.00 40.00
        10 Please pay within 30 days to the account below. Thank you for your order.
        """,
        "Invoice 2020-10, January 8, 2020 – Kite Works, Inc.",
    ),
    "a data sheet": (
        f"""
        10 Rev. C, 04/2022
        24 TX-400 Tide Gauge
        14 Data sheet

        {BODY}
        """,
        "TX-400 Tide Gauge",
    ),
    "a standard": (
        f"""
        11 International Organization for Moorings
        12 IOM 4711:2019

        20 Mooring lines — Requirements and
        20 test methods for fibre ropes

        {BODY}
        """,
        "Mooring lines — Requirements and test methods for fibre ropes",
    ),
    "a contract": (
        f"""
        11 Contract No. 77-2023

        14 PROFESSIONAL SERVICES AGREEMENT
        11 This agreement is made on 3 May 2023 by and between the harbour office and Jane Miller, who
        11 is called the consultant below, for the work that the following pages describe in detail.
        {BODY}
        """,
        "Professional Services Agreement",
    ),
    "a letter with a subject": (
        f"""
        22 Harbour Office of Whitby
        9 1 Pier Road, Whitby

        11 3 May 2024

        11 Ms Jane Miller
        11 12 Quay Street
        11 Whitby

        11 Re: Renewal of your mooring permit
        11 for the summer season

        11 Dear Ms Miller,

        {BODY}
        """,
        "Renewal of your mooring permit for the summer season",
    ),
    "a letter without a subject": (
        f"""
        18 SAILORS’ RETIREMENT ASSOCIATION
        11 3 May 2024

        11 Dear members,

        {BODY}
        """,
        "Letter from Sailors’ Retirement Association",
    ),
    "a policy": (
        f"""
        11 Whitby College
        20 Acceptable Use of
        20 Information Technology
        11 Approved by the Board on 3 May 2022

        {BODY}
        """,
        "Acceptable Use of Information Technology",
    ),
    "a newsletter": (
        f"""
        40 The Harbour Light
        10 Volume 7, Issue 3
        18 Lighthouse opens to visitors again

        {BODY}
        """,
        "The Harbour Light, Volume 7, Issue 3",
    ),
    "a short title with a subtitle": (
        """
        40 GAAO

        12 United States Government Audit Office
        14 Report to Congressional Requesters

        11 March 2021

        26 FARM PROGRAMS
        20 It Should Take Additional Steps
        20 to Protect Small Orchards

        10 GAO-21-345
        """,
        "FARM PROGRAMS: It Should Take Additional Steps to Protect Small Orchards",
    ),
    "a body that researches": (
        f"""
        12 Congressional Research Service
        10 Informing the legislative debate since 1914

        24 The Harbour Control Act: Frequently
        24 Asked Questions

        11 Updated October 1, 2019

        10 https://crsreports.example.gov
        10 R44874
        {BODY}
        """,
        "The Harbour Control Act: Frequently Asked Questions",
    ),
    "a fact sheet in three lines": (
        f"""
        12 United States Environmental
        12 Protection Agency
        10 Office of Water
        10 Washington, D.C.
        10 EPA 832-F-99-012
        24 Storm Water
        24 Technology Fact Sheet
        24 Bioretention
        {BODY}
        """,
        "Storm Water Technology Fact Sheet Bioretention",
    ),
    "an agenda": (
        f"""
        16 CITY OF SPRINGFIELD
        16 CITY COUNCIL
        16 REGULAR MEETING AGENDA
        12 Tuesday, May 4, 2021, 7:00 PM
        12 Council Chambers, 100 Main Street
        {BODY}
        """,
        "City Council – Regular Meeting Agenda, Tuesday, May 4, 2021, 7:00 PM",
    ),
    "a regulation": (
        f"""
        8 L 119/1
        8 EN
        8 Official Journal of the European Union
        8 4.5.2016
        10 REGULATION (EU) 2016/679 OF THE EUROPEAN PARLIAMENT AND OF THE COUNCIL
        10 of 27 April 2016
        10 on the protection of small boats with regard to the lights of large ones
        {BODY}
        """,
        "Regulation (EU) 2016/679 of the European Parliament and of the Council",
    ),
    "a paper of a conference": (
        f"""
        8 Published as a conference paper at ICLR 2021
        17 AN IMAGE IS WORTH MANY WORDS: BOATS
        17 FOR RECOGNITION AT SCALE
        10 Jane Miller, Ada Byron
        10 Whitby Research
        10 ABSTRACT
        {BODY}
        """,
        "An Image is Worth many Words: Boats for Recognition at Scale",
    ),
    "a paper below labels of its journal": (
        f"""
        8 Smith et al. BMC Harbours (2019) 20:123
        8 https://doi.org/10.1186/s12
        10 RESEARCH ARTICLE Open Access
        22 Growth of barnacles on wooden piers in
        22 cold water
        10 Jane Smith1*, Ada Byron2 and Tom Jones1
        9 Abstract
        {BODY}
        """,
        "Growth of barnacles on wooden piers in cold water",
    ),
    "a memorandum": (
        f"""
        18 MEMORANDUM
        11 TO: All staff
        11 FROM: Jane Miller, Director
        11 DATE: May 3, 2021
        11 SUBJECT: Budget review for the third quarter
        {BODY}
        """,
        "Budget review for the third quarter",
    ),
    "a filing": (
        f"""
        14 UNITED STATES
        14 SECURITIES AND EXCHANGE COMMISSION
        10 Washington, D.C. 20549
        16 FORM 10-K
        10 (Mark One)
        10 ☒ ANNUAL REPORT PURSUANT TO SECTION 13 OR 15(d) OF THE SECURITIES EXCHANGE ACT OF 1934
        10 For the fiscal year ended September 30, 2023
        18 Blue Harbour Inc.
        8 (Exact name of Registrant as specified in its charter)
        {BODY}
        """,
        "Form 10-K: Annual Report Pursuant to Section 13 or 15(d) of the Securities Exchange Act of 1934",
    ),
    "a resolution": (
        f"""
        20 United Nations
        12 A/RES/70/1
        16 General Assembly
        9 Distr.: General
        9 21 October 2015
        9 Seventieth session
        9 Agenda items 15 and 116
        10 Resolution adopted by the General Assembly on 25 September 2015
        14 70/1. Mending our piers: the 2030 Agenda for Small Harbours
        {BODY}
        """,
        "70/1. Mending our piers: the 2030 Agenda for Small Harbours",
    ),
    "a title slide": (
        """
        40 Introduction to Tides
        20 Jane Miller
        20 University of Whitby
        16 Spring 2021
        """,
        "Introduction to Tides",
    ),
    "a data sheet by its model": (
        f"""
        10 www.chips.example
        24 LM999
        18 3-Terminal Adjustable Regulator
        10 SNVS774 – MAY 2004 – REVISED APRIL 2013
        {BODY}
        """,
        "LM999 3-Terminal Adjustable Regulator",
    ),
    "bylaws in capitals": (
        f"""
        14 BYLAWS OF THE
        14 WHITBY ROWING CLUB
        11 Adopted May 3, 2010
        {BODY}
        """,
        "Bylaws of the Whitby Rowing Club",
    ),
    "a body in two lines": (
        f"""
        40 World Rowing
        40 Organization
        30 Global status report on
        30 drowning prevention 2024
        {BODY}
        """,
        "Global status report on drowning prevention 2024",
    ),
    "German minutes": (
        """
        12 Stadt Seehafen
        12 Der Bürgermeister
        14 Niederschrift
        12 über die öffentliche Sitzung des Rates der Stadt Seehafen
        12 am Dienstag, dem 3. Mai 2022
        """,
        "Niederschrift über die öffentliche Sitzung des Rates der Stadt Seehafen, am Dienstag, dem 3. Mai 2022",
    ),
    "a thesis in capitals": (
        """
        14 WHITBY UNIVERSITY
        16 THE ECONOMICS OF SMALL FERRIES
        12 A THESIS
        12 SUBMITTED TO THE GRADUATE SCHOOL
        12 IN PARTIAL FULFILLMENT OF THE REQUIREMENTS
        12 FOR THE DEGREE OF
        12 MASTER OF SCIENCE
        12 by
        12 JANE MILLER
        12 May 2012
        """,
        "The Economics of Small Ferries",
    ),
    "a manual": (
        f"""
        30 KX-200
        20 User’s Guide
        12 Read this manual before use.
        {BODY}
        """,
        "KX-200 User’s Guide",
    ),
}


@pytest.mark.parametrize(("page", "title"), PRINTED.values(), ids=PRINTED.keys())
def test_the_lines_that_name_the_work_are_the_title_of_a_printed_page(page: str, title: str) -> None:
    assert title_of(page) == title


COURT = {
    "parties above and below": (
        """
        10 Case 1:23-cv-00123-ABC Document 5 Filed 03/04/24 Page 1 of 9
        14 UNITED STATES DISTRICT COURT
        12 NORTHERN DISTRICT OF LAKELAND
        12 HARBOUR LIGHTS, LLC,
        12 Plaintiff,
        12 v.
        12 JANE Q. MILLER, individually and as trustee,
        12 Defendant.
        12 Case No. 1:23-cv-00123

        12 ORDER GRANTING MOTION TO DISMISS
        12 The plaintiff asks this court to order the defendant to give back a lighthouse. The motion is granted.
        """,
        "Harbour Lights, LLC v. Jane Q. Miller: Order Granting Motion to Dismiss",
    ),
    "a caption in two columns": (
        """
        16 In the Lakeland Court of Appeals
        16 Eastern District
        12 ADA BYRON, ) No. ED12345
        12 Appellant, ) Appeal from the Circuit Court of
        12 ) Pier County
        12 vs. ) No. 1711-CC00064
        12 STATE OF LAKELAND, ) Honorable Anna Meyer
        12 Respondent. ) Filed: January 19, 2021

        12 OPINION
        12 Ada Byron appeals the judgment that denied her motion. We affirm the judgment of the court.
        """,
        "Ada Byron v. State of Lakeland: Opinion",
    ),
    "a matter": (
        """
        12 SUPREME COURT OF LAKELAND
        12 No. 2022-17
        12 IN RE: ESTATE OF JOHN MILLER

        12 Attorney for the petitioner: Ada Byron
        12 The court below found that the will was not signed by the deceased, and we agree with it.
        """,
        "In re Estate of John Miller",
    ),
    "one line": (
        """
        12 IN THE COURT OF COMMON PLEAS
        12 Docket No. 77
        12 Miller v. Harbour Office of Whitby
        12 COMPLAINT
        12 The plaintiff says that the defendant let the pier fall into the sea, and asks for damages.
        """,
        "Miller v. Harbour Office of Whitby: Complaint",
    ),
    "an opinion with a syllabus": (
        f"""
        10 (Slip Opinion) OCTOBER TERM, 2020 1
        10 Syllabus
        8 NOTE: Where it is feasible, a syllabus (headnote) will be released, as is being
        8 done in connection with this case, at the time the opinion is issued.
        14 SUPREME COURT OF THE UNITED STATES
        10 Syllabus
        12 MILLER v. HARBOUR BOARD OF WHITBY
        10 CERTIORARI TO THE UNITED STATES COURT OF APPEALS FOR THE NINTH CIRCUIT
        10 No. 19–123. Argued October 6, 2020—Decided March 25, 2021
        {BODY}
        """,
        "Miller v. Harbour Board of Whitby",
    ),
    "a pleading below the attorneys": (
        """
        12 Jane Miller (SBN 123456)
        12 MILLER & BYRON LLP
        12 100 Main Street, Suite 200
        12 Los Angeles, CA 90012
        12 Attorneys for Plaintiff JOHN DOE
        12 SUPERIOR COURT OF THE STATE OF CALIFORNIA
        12 FOR THE COUNTY OF LOS ANGELES
        12 JOHN DOE, an individual,
        12 Plaintiff,
        12 v.
        12 ACME BOATS, INC., a Delaware corporation; and
        12 DOES 1 through 10, inclusive,
        12 Defendants.
        12 Case No. 21STCV01234
        12 COMPLAINT FOR DAMAGES
        12 (Jury Trial Demanded)
        12 Plaintiff alleges that the defendant sold a boat that sank.
        """,
        "John Doe v. Acme Boats, Inc.: Complaint for Damages",
    ),
}


def test_large_running_text_is_no_title() -> None:
    page = """
        12 Next, open the harbour gate. Using the small key, turn the lock twice.
        8 lock --turn twice
        8 gate: open
        8 gate: locked by the keeper of the north pier, who has the other key
        """
    assert title_of(page, name="opening the gate.pdf") == "opening the gate"


@pytest.mark.parametrize(("page", "title"), COURT.values(), ids=COURT.keys())
def test_a_court_paper_is_called_by_its_parties_and_its_kind(page: str, title: str) -> None:
    assert title_of(page, stored="Microsoft Word - final order draft copy.doc") == title


def test_a_letter_about_a_case_is_called_by_its_subject() -> None:
    page = f"""
        12 January 19, 2023
        12 Via ECF
        12 Clerk of Court
        12 United States Court of Appeals
        12 For the Ninth Circuit
        12 Re: Miller v. Harbour Office, No. 22-1801

        12 Dear Clerk,
        {BODY}
        """
    assert title_of(page) == "Miller v. Harbour Office, No. 22-1801"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "118th CONGRESS\n1st Session\n\nH. R. 1234\n\nIN THE HOUSE OF REPRESENTATIVES\n\nA BILL\n\nTo help harbours"
            " mend their piers, and for other purposes.\n\nSECTION 1. SHORT TITLE.\n\nThis Act may be cited as the"
            " “Harbour and Pier Repair Act of 2023”.\n",
            "H. R. 1234: Harbour and Pier Repair Act of 2023",
        ),
        (
            "GENERAL ASSEMBLY OF LAKELAND\n\nSenate Bill 77\n\nAN ACT\n\nrelating to the lights of small boats; and"
            " declaring an emergency.\n",
            "Senate Bill 77: Relating to the lights of small boats",
        ),
    ],
)
def test_a_bill_is_called_by_the_name_it_gives_itself(text: str, title: str) -> None:
    found = find_titles(read_source_text({"doc-to-markdown": text}), "bill0001.pdf", PDF)
    assert found[0].text == title


def test_a_scan_is_called_by_its_largest_lines_and_not_by_its_file() -> None:
    page = """
        12 harbour office of whitby
        31 Summer Regatta
        27 of the rowing club
        12 the boats leave the old pier at nine, and all who row are asked to be there by eight
        11 oars can be had at the boat house, where the keys are kept by the keeper of the light
        12 bring your own lunch and something against the rain, which is likely at this time of year
        """
    assert title_of(page, exact=False, name="paper for the regatta.pdf") == "Summer Regatta of the rowing club"


@pytest.mark.parametrize(
    "line",
    [
        "Case 2:21-cv-00007 Document 12 Filed 05/06/21 Page 1 of 4",
        "USCA4 Appeal: 22-1234 Doc: 12 Filed: 01/02/2023 Pg: 1 of 12",
        "ELECTRONICALLY FILED 5/6/2021",
        "arXiv:2101.00001v2 [cs.CL] 24 May 2021",
        "Page 1 of 3",
        "Seite 2 von 7",
        "Whitby, 14 May 2024",
        "Tuesday, 14 May 2024, 8:30 PM",
        "Kiel, den 3. März 2022",
        "CONFIDENTIAL",
        "DRAFT 3",
        "FOR IMMEDIATE RELEASE",
        "Prepared by: Jane Miller",
        "Table of Contents",
        "Dear Colleagues,",
        "www.harbour.example",
        "and the boats that lay there were",
    ],
)
def test_a_line_that_stands_above_titles_is_none_however_large(line: str) -> None:
    assert title_of(f"20 {line}\n\n14 Rules for the old pier\n\n{BODY}") == "Rules for the old pier"


def of_text(text: str, name: str = "scan0001.docx", mime: str = DOCX, stored: str = "") -> str:
    found = find_titles(read_source_text({"doc-to-markdown": text}, Properties(stored)), name, mime)
    return found[0].text if found else ""


PROSE = "\n\nThe committee looked at the accounts and found them in order. It thanked those who keep them.\n" * 3


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("**Pier County Harbour Department**\n\n**Plan for Storms and High Water**", "Plan for Storms and High Water"),
        ("# Annual Report\n\n# 2023", "Annual Report 2023"),
        ("# A History of the\n\n# Old Pier", "A History of the Old Pier"),
        ("# University of Whitby\n\n## Rules for the library", "Rules for the library"),
        ("```\nmake install\n```\n\nHow to install the tide gauge", "How to install the tide gauge"),
        ("PROTOKOLL\n\n3. Mai 2022\n\nAnwesend waren alle.", "Protokoll, 3. Mai 2022"),
        ("TOWN COUNCIL\n\nAGENDA\n\nMay 4, 2022", "Town Council – Agenda, May 4, 2022"),
        ("Ada Byron\n\n# Experience\n\nHarbour master", "Ada Byron"),
        ("# Care of boats Care of boats", "Care of boats"),
        (
            "|  |  |\n|---|---|\n| **Notice of sale** |  |\n| **Office** | Harbour |\n| **Clerk** | Ada |",
            "Notice of sale",
        ),
        ("Table of contents\n\nPage 1 of 3\n\nCare of wooden boats", "Care of wooden boats"),
        ("the rest of a sentence from another page\n\nCare of wooden boats", "Care of wooden boats"),
    ],
)
def test_a_text_is_called_by_the_lines_that_name_the_work(text: str, title: str) -> None:
    assert of_text(text + PROSE) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "## Sheet1\n\n|  |  |  |\n| --- | --- | --- |\n| Harbour Office of Whitby |  |  |\n"
            "| Mooring fees by season |  |  |\n| Season | Boats | Fee |\n| 2020 | 12 | 300 |\n",
            "Mooring fees by season",
        ),
        ("## Mooring fees\n\n| Season | Boats |\n| --- | --- |\n| 2020 | 12 |\n", "Mooring fees"),
        ("## Income\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n## Costs\n\n| A | B |\n|---|---|\n| 1 | 2 |\n", "fees 2020"),
        ("## Sheet1\n\n| Season | Boats |\n| --- | --- |\n| 2020 | 12 |\n", "fees 2020"),
        ("## Data\n\n| Season | Boats |\n| --- | --- |\n| 2020 | 12 |\n", "fees 2020"),
        (
            "| Income Statement |  | in EUR |  |\n| --- | --- | --- | --- |\n| 2023 |  |  |  |\n"
            "| Item | Sum | Part | X |\n| Boats | 1 | 2 | 3 |\n",
            "Income Statement",
        ),
    ],
)
def test_a_sheet_is_called_by_its_title_cell_then_its_name_then_its_file(text: str, title: str) -> None:
    sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    assert of_text(text, "fees_2020.xlsx", sheet) == title


@pytest.mark.parametrize(
    ("subjects", "title"),
    [
        (("Repair of the pier", "Re: Repair of the pier", "AW: Repair of the pier"), "Repair of the pier"),
        (("Lunch", "Repair of the pier", "Winter quarters"), "harbour mails"),
    ],
)
def test_a_container_of_mails_is_called_by_their_common_subject_or_by_its_name(
    subjects: tuple[str, ...], title: str
) -> None:
    text = "\n\n".join(f"# {subject}\n\nDear all, see below.\n" for subject in subjects)
    assert of_text(text, "harbour_mails.mbox", "application/mbox") == title


def test_a_receipt_is_called_by_its_kind_and_who_wrote_it() -> None:
    text = (
        "A0301\n\nBLUE HARBOUR SDN BHD (86738-U)\n12 Quay Street\nGST ID: 0012345\n\nTAX INVOICE\n\nRope 20.00\n"
        "Tar 12.50\nTotal 32.50\nCASH 40.00\nChange 7.50\n"
    )
    found = find_titles(read_source_text({"image-ocr": text}), "IMG_0001.jpg", "image")
    assert found[0].text == "Tax invoice – Blue Harbour Sdn Bhd"


def test_lines_that_run_askew_are_not_taken_for_large_ones() -> None:
    content = "The Regatta\nA line that is as long as the page is wide and was scanned at an angle"
    heading, line = content.split("\n")
    places = [
        Place(0, len(heading), page=1, box=(0.1, 0.1, 0.4, 0.15)),
        Place(len(heading) + 1, len(content), page=1, box=(0.1, 0.2, 0.9, 0.26)),
        Place(0, 3, page=2, box=(0.1, 0.1, 0.9, 0.9)),
    ]
    lines = lines_of_scan(content, places)
    assert [found.text for found in lines] == [heading, line]
    assert lines[0].size > 1.5 * lines[1].size


def test_the_lines_of_a_page_that_lies_on_its_side_are_measured_across() -> None:
    rows = ("Summer Regatta", "the boats leave the old pier at nine", "and come back before the tide turns again")
    content, places, at, left = "\n".join(rows), [], 0, 0.9
    for row in rows:
        width = 0.05 if row == rows[0] else 0.02
        places.append(Place(at, at + len(row), page=1, box=(left - width, 0.1, left, 0.8)))
        at, left = at + len(row) + 1, left - 1.4 * width
    lines = lines_of_scan(content, places)
    assert [line.size for line in lines] == pytest.approx([0.05, 0.02, 0.02])
    assert lines[0].top < lines[1].top < lines[2].top


def test_a_table_of_years_is_called_by_what_stands_above_its_first_column() -> None:
    text = (
        "| Profit and loss account | 2015 | 2016 | 2017 |\n|---|---|---|---|\n"
        + "| Sale of boats | 12 | 14 | 9 |\n" * 4
    )
    assert of_text(text, "scan0001.pdf", PDF) == "Profit and loss account"


def test_a_comment_in_a_block_of_code_is_no_heading() -> None:
    assert heading_title("```sh\n# install it\nmake\n```\n\n# Care of boats\n") == "Care of boats"
    assert heading_title("```sh\n# install it\nmake\n") is None


@pytest.mark.parametrize(
    "piece",
    [
        "A BILL to be cited as the A ",
        "Case 1 v. ",
        "| a 2020 ",
        "In re ",
        "Re: Dear ",
        "Total 1.00 cash ",
        "(",
        "of the ",
        "1 ",
        "Form 1 ",
    ],
)
def test_hostile_text_costs_no_more_than_its_length(piece: str) -> None:
    def read(count: int) -> None:
        text = "Congress court plaintiff docket " + piece * count
        lines = tuple(SizedLine((piece * 100)[:300], 0.02, number / 100) for number in range(100))
        find_titles(read_source_text({"doc-to-markdown": text}, Properties(front=lines)), "a.pdf", PDF)

    assert grows_linearly(read, 20_000)
