"""Tags have one normal form, junk is not a tag, and spellings of one word are the same tag."""

from __future__ import annotations

import pytest

from chyme.errors import UsageError
from chyme.text.spelling_variants import comparison_key
from chyme.understanding.tags.names import MAX_LENGTH, normalise_tag, parse_typed_tag, split_tags, unknown_tag_message

WRITTEN = {
    "Invoice": "invoice",
    "  #Tax   Return ": "tax return",
    "#MachineLearning": "machine learning",
    "#HTMLParser": "html parser",
    "Machine_Learning": "machine learning",
    "tab\there": "tab here",
    "“Quotes”": "quotes",
    "**Bold**": "bold",
    "insurance.": "insurance",
    "(draft)": "draft",
    "C++": "c++",
    "C#": "c#",
    "A+": "a+",
    ".NET": ".net",
    "Node.js": "node.js",
    "TCP/IP": "tcp/ip",
    "R&amp;D": "r&d",
    "Covid-19": "covid-19",
    "5G": "5g",
    "3D printing": "3d printing",
    "web 2.0": "web 2.0",
    "ISO 27001": "iso 27001",
    "Ｆｕｌｌ　Ｗｉｄｔｈ": "full width",
    "ﬁnance": "finance",
    "Cafe\u0301": "café",
    "Straße": "straße",
    "rock 'n' roll": "rock 'n' roll",
    "機械学習": "機械学習",
    "猫": "猫",
    "налоги": "налоги",
    "हिन्दी": "हिन्दी",
    "می\u200cخواهم": "می\u200cخواهم",
    "🎉 party": "🎉 party",
    "\u202eevil\u200b": "evil",
    "mars": "mars",
    "2024 budget": "2024 budget",
}
JUNK = (
    *("", " ", "…", "#", "a", "C", "7", "2024", "1.234,56", "1234567", "invoice 20240503", "🎉", "---"),
    *("2024-05-03", "12 May 2024", "3rd march", "Q3 2024", "03/04/2026", "Monday", "12. Mai", "janvier 2020", "today"),
    *("http://example.com/x", "www.example.de", "example.com", "me@example.org", "invoice.pdf", "/home/me/x", "a\\b"),
    *("<b>bold</b>", "<script>", "[link](there)", "a=b", "{x}", "a `code` b", "broken \ufffd"),
    *("the", "and or", "they're", "der die das", "les", "document", "Untitled", "N/A", "tags"),
    *("one two three four five", "x" * (MAX_LENGTH + 1), "x" * 100_000, "deadbeef01", "invoice, receipt"),
    *("c9bf9e57-1685-4c89-bafb-ff5af830be8a", "日" * 30),
)
SAME = (
    *(("invoice", "invoices"), ("e-mail", "email"), ("e mail", "emails"), ("tax_return", "tax returns")),
    *(("machine-learning", "machine learning"), ("machinelearning", "machine learning"), ("café", "cafes")),
    *(("cookie", "cookies"), ("movie", "movies"), ("city", "cities"), ("tax", "taxes"), ("box", "boxes")),
    *(("house", "houses"), ("bus", "buses"), ("virus", "viruses"), ("cache", "caches"), ("class", "classes")),
    *(("hero", "heroes"), ("shoe", "shoes"), ("case", "cases"), ("gas", "gases"), ("quiz", "quizzes")),
    *(("analysis", "analyses"), ("child", "children"), ("person", "people"), ("wolf", "wolves"), ("lens", "lenses")),
    *(("organisation", "organizations"), ("colour", "colors"), ("licence", "license"), ("programme", "program")),
    *(("rechnung", "rechnungen"), ("versicherung", "versicherungen"), ("facture", "factures"), ("nación", "naciones")),
    *(("children's books", "child book"), ("covid-19", "covid 19"), ("straße", "strasse"), ("naïve", "naive")),
)
DIFFERENT = (
    *(("windows", "window"), ("news", "new"), ("canvas", "canva"), ("web 2.0", "web 20"), ("2-1", "21")),
    *(("c", "c++"), ("c", "c#"), ("net", ".net"), ("form 1", "form 2"), ("car", "care"), ("plan", "plane")),
    *(("wine", "win"), ("rose", "ros"), ("ガス", "カス"), ("paris", "pari"), ("glasses", "glass"), ("bus", "buss")),
)


@pytest.mark.parametrize(("typed", "normal"), WRITTEN.items())
def test_a_tag_has_one_normal_form(typed: str, normal: str) -> None:
    assert normalise_tag(typed) == normal
    assert normalise_tag(normal) == normal


@pytest.mark.parametrize("text", JUNK)
def test_a_meaningless_text_is_no_tag(text: str) -> None:
    assert normalise_tag(text) is None


@pytest.mark.parametrize(("first", "second"), SAME)
def test_spellings_of_one_word_are_one_tag(first: str, second: str) -> None:
    assert comparison_key(first) == comparison_key(second)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_words_stay_apart(first: str, second: str) -> None:
    assert comparison_key(first) != comparison_key(second)


def test_tags_come_once_in_order_and_no_more_than_wanted() -> None:
    assert split_tags(["Invoices", "the", "invoice", "Tax, Rent;  taxes", "2024"]) == ["invoices", "tax", "rent"]
    assert len(split_tags([f"subject {letter}x" for letter in "abcdefghijklm"])) == 10
    assert split_tags(["one, two words, three"], 2) == ["two words", "three"]


def test_a_person_may_give_tags_that_a_machine_may_not_but_not_all() -> None:
    assert parse_typed_tag(" #2024 ") == "2024"
    assert parse_typed_tag("Document") == "document"
    assert parse_typed_tag("x") == "x"
    for typed in ("", "!!", "a, b", "one two three four five", "x" * 51):
        with pytest.raises(UsageError, match="is no tag"):
            parse_typed_tag(typed)


def test_the_error_about_an_unknown_tag_names_the_nearest_tags() -> None:
    assert unknown_tag_message("invoce", ["invoice", "rent"]) == "there is no tag “invoce”; is it invoice?"
    assert unknown_tag_message("tax", ["income tax", "tax return"]).endswith("is it income tax or tax return?")
    assert unknown_tag_message("zebra", ["invoice"]) == "there is no tag “zebra”; 'chyme tags' lists them"
