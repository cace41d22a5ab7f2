"""Tables, data and code described in one sentence."""

from __future__ import annotations

import json

from chyme.understanding.classification.data_descriptions import describe_data, is_tabbed, parse_markdown_table


def test_a_table_is_described_by_its_columns_and_size() -> None:
    assert describe_data("name;price;town\na;1;x\nb;2;y\n", "text/csv") == (
        "A table of 3 columns and 2 rows: name, price, town."
    )


def test_a_table_without_column_names_is_described_by_its_size_alone() -> None:
    assert describe_data("1,2\n3,4\n5,6\n", "text/csv") == "A table of 2 columns and 3 rows."


def test_a_line_of_one_cell_above_a_table_is_its_caption_and_no_row() -> None:
    assert describe_data("Stanley Cups,,\nTeam,City,Cups\nA,B,1\n", "text/csv") == (
        "A table of 3 columns and 1 row: Team, City, Cups."
    )


def test_code_is_described_by_its_language_and_parts() -> None:
    code = "class Cook:\n    pass\n\ndef bake():\n    pass\n"
    assert describe_data(code, "text/x-python") == "Python source code, 6 lines: Cook, bake."


def test_code_is_described_by_what_its_first_comment_says() -> None:
    code = '#!/usr/bin/env python3\n"""Bake bread at home.\n\nAnd more.\n"""\n\ndef bake():\n    pass\n'
    assert describe_data(code, "text/x-python") == "Python source code, 9 lines: Bake bread at home."
    comment = "/**\n * Bake bread at home.\n */\nfunction bake() {}\n"
    assert describe_data(comment, "text/javascript") == "JavaScript source code, 5 lines: Bake bread at home."


def test_a_licence_is_not_what_code_does() -> None:
    code = "# Copyright 2024 the bakers of Varn\ndef bake():\n    pass\n"
    assert describe_data(code, "text/x-python") == "Python source code, 4 lines: bake."


def test_calendars_and_contacts_are_described_by_their_entries() -> None:
    calendar = "# Allotment club\n\nA calendar with 2 entries.\n\n## Dentist\n\n**Where:** Quay 7\n\n## Board, all\n"
    assert describe_data(calendar, "text/calendar") == "A calendar of 2 entries: Dentist, Board, all."
    assert describe_data("# Ada Winter\n\n**Phone:** 1\n", "text/vcard") == "An address book of 1 contact: Ada Winter."
    assert describe_data("nothing", "text/calendar") is None


def test_column_names_keep_their_underscores() -> None:
    assert (
        describe_data("temp_max,temp_min\n1,2\n", "text/csv") == "A table of 2 columns and 1 row: temp_max, temp_min."
    )


def test_json_is_described_by_its_entries_or_keys() -> None:
    assert describe_data(json.dumps([{"name": 1, "end": 2}] * 12), "application/json") == (
        "JSON data: 12 entries with name, end."
    )
    assert describe_data('{"meta": 1, "blocks": []}', "application/json") == "JSON data: meta, blocks."
    assert describe_data('{"cut": [1, 2', "application/json") == "JSON data: cut."


def test_a_text_is_no_data() -> None:
    assert describe_data("Dear all, hello.", "text/plain") is None


def test_a_table_in_markdown_counts_when_it_is_most_of_the_text() -> None:
    table = "| Year | Ducks |\n| --- | --- |\n" + "| 2020 | 135 |\n" * 5
    found = parse_markdown_table(table)
    assert found is not None
    assert (found.columns, found.rows, found.names) == (2, 5, ("Year", "Ducks"))
    assert parse_markdown_table("A long paragraph of text. " * 50 + "\n\n" + table) is None


def test_a_page_laid_out_in_columns_is_no_table() -> None:
    row = (
        "| " + "words that run on and on in a paragraph of text " * 3 + " | " + "and in the one beside it " * 4 + "|\n"
    )
    assert parse_markdown_table(row * 10) is None


def test_plain_text_with_tabs_in_every_line_is_a_table() -> None:
    assert is_tabbed("a\tb\tc\n1\t2\t3\n4\t5\t6\n")
    assert not is_tabbed("A text.\n\tIndented\there.\nAnd on.\nAnd on.\n")
