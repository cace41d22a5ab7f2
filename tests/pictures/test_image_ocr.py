"""The digester that reads the words in pictures."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import pytest
from PIL import Image

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.digester import Digester, StaysHome
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.errors import EngineUnavailable, UpstreamMissing
from chyme.imaging.ocr.engines import OcrSettings
from chyme.imaging.thumbnails import make_preview_and_thumbnail
from chyme.model import File, Kind, Limits, Stamp, Upstream
from chyme.pictures.image_ocr import ImageOcr
from chyme.text.passages import cut_passages

pytestmark = pytest.mark.slow

PAGES = Path(__file__).resolve().parents[1] / "samples" / "pages"
MEGABYTE = 1 << 20


def in_child(config: dict[str, object]) -> dict[str, Digester]:
    return {digester.name: digester for digester in (ImageOcr(), DocToMarkdown())}


@dataclass(frozen=True)
class PreviewedPicture(StaysHome):
    """A picture with its preview, as the digester sees it."""

    data: bytes
    file: File
    preview: Upstream | None
    scratch: Path
    fractions: list[float] = field(default_factory=list)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def output(self, name: str) -> Upstream | None:
        return self.preview if name == "image-preview" else None

    def progress(self, fraction: float) -> None:
        assert 0 <= fraction <= 1
        self.fractions.append(fraction)


def source_of(name: str, data: bytes, scratch: Path) -> PreviewedPicture:
    mime = {"png": "image/png", "jpg": "image/jpeg", "tiff": "image/tiff"}[name.rpartition(".")[2]]
    file = File(1, name, name, Kind.IMAGE, mime, Stamp("1", "1", len(data), 0), "", 1)
    with Image.open(io.BytesIO(data)) as image:
        facts = {"width": image.width, "height": image.height, "format": image.format}
        frames = getattr(image, "n_frames", 1)
        faces = make_preview_and_thumbnail("preview.jpg", image)
    content = json.dumps(facts | ({"frames": frames} if frames > 1 else {}))
    artifacts = {artifact.filename: artifact.data for artifact in faces}
    return PreviewedPicture(data, file, Upstream("image-preview", content, (), artifacts), scratch)


def sample(name: str, scratch: Path) -> PreviewedPicture:
    return source_of(name, (PAGES / name).read_bytes(), scratch)


def encoded(image: Image.Image, kind: str, further_pages: tuple[Image.Image, ...] = ()) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **({"save_all": True, "append_images": further_pages} if further_pages else {}))
    return out.getvalue()


def lines_of_print(top: int, bottom: int) -> Image.Image:
    """A strip of the clean page."""
    with Image.open(PAGES / "clean.png") as page:
        return page.convert("L").crop((60, top, 1110, bottom))


def test_words_come_in_reading_order_each_line_with_its_box(tmp_path: Path) -> None:
    (output,) = ImageOcr().digest(sample("sign.jpg", tmp_path))
    assert output.name == "image-ocr"
    assert output.content is not None
    assert output.content.split() == ["HOTEL", "Quetzalpension", "3", "km"]
    lines = [(output.content[place.start : place.end], place.page) for place in output.places]
    assert lines == [("HOTEL", None), ("Quetzalpension", None), ("3 km", None)]
    assert output.places[1].box == pytest.approx((0.26, 0.41, 0.77, 0.56), abs=0.03)


def test_all_words_are_kept_with_their_boxes_and_confidence(tmp_path: Path) -> None:
    (output,) = ImageOcr().digest(sample("sign.jpg", tmp_path))
    (artifact,) = output.artifacts
    assert artifact.filename == "words.json"
    words = json.loads(artifact.data)
    assert list(words) == ["engine", "angle", "lines"]
    assert words["engine"] == "rapidocr"
    assert words["angle"] == pytest.approx(356, abs=0.6)
    assert [line["text"] for line in words["lines"]] == ["HOTEL", "Quetzalpension", "3 km"]
    assert [list(line) for line in words["lines"]] == [["text", "confidence", "box", "words"]] * 3
    assert [word["text"] for word in words["lines"][2]["words"]] == ["3", "km"]
    assert tuple(words["lines"][0]["box"]) == output.places[0].box


def test_a_picture_without_words_completes_without_content(tmp_path: Path) -> None:
    (output,) = ImageOcr().digest(source_of("sky.png", encoded(Image.linear_gradient("L"), "PNG"), tmp_path))
    assert (output.content, output.artifacts, output.places) == (None, (), ())


def test_words_that_were_hard_to_read_are_marked(tmp_path: Path) -> None:
    strict = ImageOcr(OcrSettings(ocr_doubt=1.1))
    (output,) = strict.digest(sample("sign.jpg", tmp_path))
    assert output.content is not None
    assert output.content.split() == ["HOTEL[?]", "Quetzalpension[?]", "3[?]", "km[?]"]
    assert strict.recipe != ImageOcr().recipe


def test_unknown_letters_are_mentioned_in_a_note(tmp_path: Path) -> None:
    (output,) = ImageOcr(OcrSettings(ocr_scripts=False)).digest(sample("cyrillic.png", tmp_path))
    assert output.content == (
        "> note: 4 regions look like writing but could not be read "
        "(the reader knows Latin, Chinese and Japanese letters)"
    )
    assert output.places == ()


def test_every_page_of_a_tiff_is_read_up_to_the_limit(tmp_path: Path) -> None:
    leaves = (lines_of_print(100, 200), lines_of_print(383, 530), lines_of_print(533, 638))
    source = source_of("fax.tiff", encoded(leaves[0], "TIFF", leaves[1:]), tmp_path)
    (output,) = ImageOcr().digest(source)
    assert output.content is not None
    assert [place.page for place in output.places if place.page] == [1, 2, 3]
    passages = {
        span.page: output.content[span.start : span.end] for span in cut_passages(output.content, output.places)
    }
    assert "lighthouse" in passages[1]
    assert "quokka" in passages[3]
    assert {line["page"] for line in json.loads(output.artifacts[0].data)["lines"]} == {1, 2, 3}
    assert source.fractions[-1] == 1

    (first,) = ImageOcr(OcrSettings(ocr_pages=1)).digest(source)
    assert first.content is not None
    assert "quokka" not in first.content
    assert first.content.endswith("> note: first 1 of 3 pages read (limit ocr_pages)")


def test_a_long_screenshot_is_read_from_the_original_and_nothing_on_a_seam_comes_twice(tmp_path: Path) -> None:
    tall = Image.new("L", (1050, 9000), 255)
    for top, strip in ((100, (100, 383)), (3790, (383, 533)), (8600, (533, 638))):
        tall.paste(lines_of_print(*strip), (0, top))
    source = source_of("chat.png", encoded(tall, "PNG"), tmp_path)
    (output,) = ImageOcr().digest(source)
    assert output.content is not None
    words = (PAGES / "clean.txt").read_text(encoding="utf-8").split()
    assert output.content.split() == words[: words.index("cook.") + 1]
    (last,) = (place for place in output.places if "quokka" in output.content[place.start : place.end])
    assert last.box is not None
    assert 0.95 < last.box[1] < 0.99
    assert source.fractions


def test_a_line_across_two_tiles_keeps_each_of_its_words_once(tmp_path: Path) -> None:
    wide = Image.new("L", (7000, 400), 255)
    wide.paste(lines_of_print(383, 533), (800, 120))
    (output,) = ImageOcr().digest(source_of("frieze.png", encoded(wide, "PNG"), tmp_path))
    assert output.content is not None
    words = (PAGES / "clean.txt").read_text(encoding="utf-8").split()
    found = [word for word in output.content.split() if word != "|"]
    assert found == words[words.index("Oil") : words.index("guild.") + 1]


def test_without_a_preview_there_is_nothing_to_read(tmp_path: Path) -> None:
    source = sample("sign.jpg", tmp_path)
    for preview in (None, Upstream("image-preview", "{}")):
        with pytest.raises(UpstreamMissing, match=r"^sign\.jpg: .*image-preview"):
            ImageOcr().digest(replace(source, preview=preview))


@pytest.mark.parametrize("content", ["", "[]", "{", '{"width":"9","height":null,"frames":"x","format":3}'])
def test_a_preview_without_facts_about_the_original_is_read_all_the_same(content: str, tmp_path: Path) -> None:
    source = sample("sign.jpg", tmp_path)
    assert source.preview is not None
    (output,) = ImageOcr().digest(replace(source, preview=replace(source.preview, content=content)))
    assert output.content is not None
    assert "Quetzalpension" in output.content


def test_a_missing_engine_is_reported_with_the_files_name(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"^sign\.jpg: .*rapidocr, tesseract"):
        ImageOcr(OcrSettings(ocr_engine="none")).digest(sample("sign.jpg", tmp_path))


def test_only_pictures_are_read_and_many_pages_have_more_time(tmp_path: Path) -> None:
    source = sample("sign.jpg", tmp_path)
    assert ImageOcr().can_digest(source.file)
    assert not any(ImageOcr().can_digest(replace(source.file, kind=kind)) for kind in Kind if kind is not Kind.IMAGE)
    stamp = replace(source.file.stamp, size=10**8)
    fax = replace(source, file=replace(source.file, mime="image/tiff", stamp=stamp))
    assert (ImageOcr().time_limit(source), ImageOcr().time_limit(fax)) == (600, 600 + 200 * 10)


@pytest.fixture
def runner() -> Iterator[Runner]:
    families = {name: Family(1, 2048 * MEGABYTE) for name in ("pictures", "parsers")}
    made = Runner("test_image_ocr:in_child", {}, families, import_from=[Path(__file__).parent])
    yield made
    made.close()


def test_a_child_without_network_reads_pictures_and_scans_and_stays_small(runner: Runner, tmp_path: Path) -> None:
    limits = Limits(120, 120, 2048 * MEGABYTE)
    source = sample("clean.png", tmp_path)
    assert source.preview is not None
    before: int | None = None
    for number in range(2):
        scratch = tmp_path / f"picture-{number}"
        scratch.mkdir(mode=0o700)
        fd = os.open(PAGES / "clean.png", os.O_RDONLY)
        (output,) = runner.run(Task("image-ocr", source.file, fd, (source.preview,), scratch), "pictures", limits)
        os.close(fd)
        assert output.content is not None
        assert output.content.split() == (PAGES / "clean.txt").read_text(encoding="utf-8").split()
        (child,) = (state for state in runner.snapshot().children if state.family == "pictures")
        assert before in (None, child.pid), "it was replaced because it had grown"
        before = child.pid
    scratch = tmp_path / "scan"
    scratch.mkdir(mode=0o700)
    file = replace(source.file, name="three_scans.pdf", kind=Kind.DOCUMENT, mime="application/pdf")
    fd = os.open(PAGES / "three_scans.pdf", os.O_RDONLY)
    (output,) = runner.run(Task("doc-to-markdown", file, fd, (), scratch), "parsers", limits)
    os.close(fd)
    assert output.content is not None
    assert "narwhal" in output.content
