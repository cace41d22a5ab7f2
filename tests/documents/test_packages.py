"""Parts of zipped documents: whole, or not there."""

from __future__ import annotations

import io
import struct
import zipfile

from chyme.documents.conversion.zip_packages import Package


def test_a_part_whose_place_is_before_the_beginning_is_no_part() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", "hello")
    data = bytearray(out.getvalue())
    end = data.rindex(b"PK\5\6")
    (offset,) = struct.unpack_from("<I", data, end + 16)
    struct.pack_into("<I", data, end + 16, offset + 50)  # all offsets are now 50 less than they say
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert Package(archive, ("a",)).read("a") is None
