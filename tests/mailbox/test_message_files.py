"""Which files a message becomes, and how they are called."""

from __future__ import annotations

import pytest
from mails import mail

from chyme.mailbox.message_files import MAX_ATTACHMENTS, split_message


def names(data: bytes) -> list[str]:
    return [file.name for file in split_message(data).files]


def test_attachments_stand_beside_the_message_under_its_name() -> None:
    data = mail("Offer: 50 % off?", files=[("quote.pdf", b"%PDF"), ("../../etc/passwd", b"x"), ("", b"y")])
    found = split_message(data)
    stem = "2026-03-02 Offer 50 % off"
    assert [file.name for file in found.files] == [
        *(f"{stem}.eml", f"{stem} - quote.pdf", f"{stem} - passwd", f"{stem} - attachment.bin")
    ]
    assert found.files[0].data == data
    assert found.files[1].data == b"%PDF"


def test_a_message_without_date_and_subject_has_the_same_name_every_time() -> None:
    assert names(b"From: eve@example.org\r\n\r\nhello") == ["message.eml"]
    assert names(b"Subject: x\r\nDate: yesterday\r\n\r\nhello") == ["x.eml"]


def test_pictures_inside_the_text_and_signatures_are_no_files_of_their_own() -> None:
    parts = b"".join(
        b"--b\r\nContent-Type: %s\r\nContent-Disposition: %s\r\n%sContent-Transfer-Encoding: base64\r\n\r\neA==\r\n"
        % part
        for part in (
            (b"image/png; name=logo.png", b"inline", b"Content-ID: <1>\r\n"),
            (b"image/png; name=photo.png", b"inline", b""),
            (b"application/pgp-signature; name=s.asc", b"attachment", b""),
        )
    )
    data = b"Subject: s\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + parts + b"--b--\r\n"
    assert names(data) == ["s.eml", "s - photo.png"]


def test_a_forwarded_message_is_a_file() -> None:
    inner = mail("inner", files=[("a.txt", b"a")])
    data = b"Subject: s\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nContent-Type: message/rfc822\r\n\r\n"
    assert names(data + inner + b"\r\n--q--\r\n") == ["s.eml", "s - inner.eml"]


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff" * 1000,
        b"Subject: " + b"=?utf-8?b?/////?=" * 5000 + b"\r\n\r\n",
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
        + b"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" * 3000,
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n" * 2000,
        b"Content-Disposition: attachment; filename*=x''%ff%fe\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!",
    ],
)
def test_broken_messages_are_kept_as_they_are(data: bytes) -> None:
    assert split_message(data).files[0].data == data


def test_there_is_an_end_to_attachments() -> None:
    found = split_message(mail("many", files=[(f"{number}.txt", b"x") for number in range(MAX_ATTACHMENTS + 20)]))
    assert len(found.files) == MAX_ATTACHMENTS + 1
    assert "first 100" in (found.problem or "")
