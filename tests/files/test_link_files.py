"""Files that contain only a link, as people and desktops make them."""

from __future__ import annotations

import plistlib
import random

import pytest

from chyme.files.kind_detection import identify
from chyme.files.link_files import LINK_BYTES, link_in, make_shortcut, remove_credentials, restore_link_parts
from chyme.model import Kind

PAGE = "https://example.org/a/page?q=1&r=%20#part"
WINDOWS = f"[InternetShortcut]\r\nURL={PAGE}\r\n"
INTERNET_EXPLORER = (
    "[DEFAULT]\r\nBASEURL=https://frames.example.org/\r\n[DOC#4#5]\r\nBASEURL=https://frames.example.org/left\r\n"
    f"[{{000214A0-0000-0000-C000-000000000046}}]\r\nProp3=19,2\r\n[InternetShortcut]\r\nIDList=\r\nURL={PAGE}\r\n"
    "HotKey=0\r\nIconIndex=0\r\nModified=C0B3E1A1\r\n[InternetShortcut.A]\r\nURL=https://other.example.org/\r\n"
)
FIREFOX_ON_WINDOWS = (
    f"[InternetShortcut]\r\nURL={PAGE}\r\nIDList=\r\nHotKey=0\r\n"
    "IconFile=C:\\Users\\Jürgen\\AppData\\Local\\Mozilla\\shortcutCache\\x.ico\r\nIconIndex=0\r\n"
)
GNOME = (
    "#!/usr/bin/env xdg-open\n[Desktop Entry]\nEncoding=UTF-8\nName=The page\nName[de]=Die Seite\nType=Link\n"
    f"URL={PAGE}\nIcon=text-html\n"
)
KDE = f"[Desktop Entry]\nIcon=text-html\nType=Link\nURL[$e]={PAGE}&cost=$$5\nName[de]=Die Seite\n"
TWO_SECTIONS = f"[Desktop Entry]\nType=Link\nURL={PAGE}\n[Desktop Action x]\nURL=https://other.example.org/\n"


def xml(body: str, head: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}<plist version="1.0">{body}</plist>\n'


def kind_of(name: str, data: bytes) -> Kind:
    return identify(name, data[:LINK_BYTES], len(data), lambda at, length: data[at : at + length])[0]


@pytest.mark.parametrize(
    ("name", "data", "address"),
    [
        ("a.txt", PAGE.encode(), PAGE),
        ("a.txt", f" \t\n{PAGE}\r\n\r\n ".encode(), PAGE),
        ("a.txt", f"\ufeff{PAGE}\n".encode(), PAGE),
        ("a.txt", f"\u200b{PAGE}\u200e\xa0".encode(), PAGE),
        ("a.txt", f"{PAGE}\r\n".encode("utf-16"), PAGE),
        ("a.txt", f"\ufeff{PAGE}\r\n".encode("utf-16-be"), PAGE),
        ("a.txt", f"{PAGE}\r\n".encode("utf-16-le"), PAGE),
        ("a.txt", f"<{PAGE}>\n".encode(), PAGE),
        ("a.txt", b"HTTPS://EXAMPLE.org/A", "HTTPS://EXAMPLE.org/A"),
        ("a.md", "https://bücher.example/käse".encode(), "https://bücher.example/käse"),
        ("no extension", b"http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("a.url", PAGE.encode(), PAGE),
        ("a.url", WINDOWS.encode(), PAGE),
        ("A.URL", WINDOWS.replace("URL=", "url = ").encode(), PAGE),
        ("a.url", WINDOWS.encode("utf-16"), PAGE),
        ("a.url", INTERNET_EXPLORER.encode(), PAGE),
        ("a.url", FIREFOX_ON_WINDOWS.encode("cp1252"), PAGE),
        ("a.desktop", GNOME.encode(), PAGE),
        ("a.desktop", KDE.encode(), f"{PAGE}&cost=$5"),
        ("a.desktop", TWO_SECTIONS.encode(), PAGE),
        ("a.webloc", plistlib.dumps({"URL": PAGE}), PAGE),
        ("a.webloc", plistlib.dumps({"URL": PAGE}, fmt=plistlib.FMT_BINARY), PAGE),
        ("a.webloc", xml(f"<dict><key>URL</key><string>{PAGE.replace('&', '&amp;')}</string></dict>").encode(), PAGE),
        ("written by chyme.url", make_shortcut(PAGE), PAGE),
    ],
)
def test_a_file_that_is_one_link_is_known_by_its_address(name: str, data: bytes, address: str) -> None:
    assert link_in(name, data) == address
    assert kind_of(name, data) is Kind.URL


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "https://example.org/a\nhttps://example.org/b\n"),
        ("a.csv", "see https://example.org/a"),
        ("a.json", '{"url": "https://example.org/a"}'),
        ("a.txt", "ftp://example.org/a"),
        ("a.txt", "javascript:alert(1)//https://example.org/"),
        ("a.txt", "https://"),
        ("a.txt", "https:///path"),
        ("a.txt", "http://:80/"),
        ("a.txt", "http://user@/"),
        ("a.txt", "http://[nonsense"),
        ("a.txt", "http://\u2100.example.org/"),
        ("a.txt", "https://example.org/\u202egpj.exe"),
        ("a.txt", "https://exa\x07mple.org/"),
        ("a.txt", "http://example.org\\@other.example.org/"),
        ("a.txt", WINDOWS),
        ("a.url", "[InternetShortcut]\r\nURL=file:///etc/passwd\r\n"),
        ("a.url", "[InternetShortcut]\r\nBASEURL=https://example.org/\r\n"),
        ("a.url", "[Other]\r\nURL=https://example.org/\r\n"),
        ("a.desktop", "[Desktop Entry]\nType=Application\nURL=https://example.org/\nExec=rm\n"),
        ("a.desktop", "[Desktop Entry]\nType=Link\nURL=file:///etc/passwd\n"),
        ("a.webloc", xml("<dict><key>Other</key><string>https://example.org/</string></dict>")),
        ("a.webloc", xml("<array><string>https://example.org/</string></array>")),
        ("a.webloc", xml("<dict><key>URL</key><integer>7</integer></dict>")),
        ("a.webloc", xml("<dict><key>URL</key><date>today</date></dict>")),
        ("a.webloc", "<?xml version='1.0' encoding='klingon'?><plist></plist>"),
        ("a.webloc", "not a property list"),
    ],
)
def test_a_file_with_more_or_less_than_a_link_is_no_link(name: str, text: str) -> None:
    assert link_in(name, text.encode()) is None
    assert kind_of(name, text.encode()) is not Kind.URL


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_property_list_may_not_make_up_entities(encoding: str) -> None:
    trick = xml(
        "<dict><key>URL</key><string>https://&host;/</string></dict>",
        '<!DOCTYPE plist [<!ENTITY host "example.org">]>',
    ).replace("UTF-8", encoding)
    assert link_in("a.webloc", trick.encode(encoding)) is None


def test_an_address_in_an_encoding_that_is_not_unicode_is_no_link() -> None:
    assert link_in("a.txt", "https://example.org/käse".encode("cp1252")) is None


def test_more_than_eight_kilobytes_are_no_link() -> None:
    long = "https://example.org/" + "a" * LINK_BYTES
    assert link_in("a.txt", long[:LINK_BYTES].encode()) == long[:LINK_BYTES]
    assert link_in("a.txt", long.encode()) is None
    assert link_in("a.txt", b"") is None


def test_broken_property_lists_do_no_harm() -> None:
    dice = random.Random(7)
    whole = [plistlib.dumps({"URL": PAGE, "x": [1, 2.5, b"d"]}, fmt=form) for form in plistlib.PlistFormat]
    for _ in range(3000):
        data = bytearray(dice.choice(whole))
        for _ in range(dice.randint(1, 6)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        found = link_in("a.webloc", bytes(data[: dice.randint(len(data) // 2, len(data))]))
        assert found is None or found.lower().startswith(("http://", "https://"))


@pytest.mark.parametrize(
    ("link", "found", "opened"),
    [
        ("https://h/a#/b", "https://h/a", "https://h/a#/b"),
        ("https://h/a#/b", "https://h/a#c", "https://h/a#c"),
        ("https://u:p@h/a", "https://h/login", "https://u:p@h/login"),
        ("https://u:p@h/a", "https://other/a", "https://other/a"),
        ("http://u:p@h/a", "https://h/a", "https://h/a"),
        ("", "https://h/a", "https://h/a"),
    ],
)
def test_a_page_is_opened_with_the_other_parts_of_its_link(link: str, found: str, opened: str) -> None:
    assert restore_link_parts(link, found) == opened
    assert remove_credentials(opened) == opened.replace("u:p@", "")
