"""The digester that shows pictures."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from disk_source import DiskSource, file_of
from PIL import Image

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.digester import Digester
from chyme.errors import DigestError, LimitReached
from chyme.imaging.decoding.decoder_interface import PictureLimits
from chyme.model import Kind, Limits, Output
from chyme.pictures.image_preview import ImagePreview

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples" / "pictures"
CORPUS = ROOT / "../shared/corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the shared corpus is not at {CORPUS}")
GB = 1 << 30

BESIDE = [Path(__file__).parent, Path(__file__).parents[1] / "support"]  # what children import


def digesters(_config: dict[str, object]) -> dict[str, Digester]:
    """What the children in these tests can do."""
    return {"image-preview": ImagePreview()}


def digest(path: Path, scratch: Path, digester: ImagePreview | None = None) -> Output:
    (output,) = (digester or ImagePreview()).digest(DiskSource(path, file_of(path), scratch))
    return output


def pictures_of(output: Output) -> dict[str, Image.Image]:
    assert all(artifact.data.startswith(b"\xff\xd8\xff") for artifact in output.artifacts)
    return {artifact.filename: Image.open(io.BytesIO(artifact.data)) for artifact in output.artifacts}


def test_only_pictures_are_digested() -> None:
    file = file_of(SAMPLES / "travel.jpg")
    assert ImagePreview().can_digest(file)
    assert not any(ImagePreview().can_digest(replace(file, kind=kind)) for kind in Kind if kind is not Kind.IMAGE)


def test_content_lists_known_facts_in_this_order_and_leaves_out_the_rest(tmp_path: Path) -> None:
    assert digest(SAMPLES / "travel.jpg", tmp_path).content == (
        '{"width":96,"height":64,"format":"JPEG","mime":"image/jpeg","title":"Harbour",'
        '"description":"Gulls in the harbour","keywords":["gulls","Ålesund"],"taken":"2024-07-06T12:34:56+02:00",'
        '"camera":{"make":"Kamera GmbH","model":"K-1","lens":"50mm f/1.8"},'
        '"exposure":{"seconds":0.004,"aperture":2.8,"iso":200,"focal_length":50.0},'
        '"place":{"latitude":53.546017,"longitude":-9.95,"altitude":12.3}}'
    )
    assert digest(SAMPLES / "moving.gif", tmp_path).content == (
        '{"width":96,"height":64,"format":"GIF","mime":"image/gif","frames":3,"animated":true}'
    )
    assert digest(SAMPLES / "cut.jpg", tmp_path).content == (
        '{"width":64,"height":64,"format":"JPEG","mime":"image/jpeg",'
        '"note":"file ends early: the lower part is missing"}'
    )


def test_the_place_is_left_out_on_request(tmp_path: Path) -> None:
    silent = ImagePreview(tell_place=False)
    content = json.loads(digest(SAMPLES / "travel.jpg", tmp_path, silent).content or "")
    assert "place" not in content
    assert "camera" in content
    assert silent.recipe != ImagePreview().recipe


def test_preview_and_thumbnail_are_upright_and_bear_no_metadata(tmp_path: Path) -> None:
    limits = PictureLimits(preview=60, thumbnail=30)
    output = digest(SAMPLES / "lying_6.heic", tmp_path, ImagePreview(limits))
    assert json.loads(output.content or "")["orientation"] == 6
    found = pictures_of(output)
    assert {name: image.size for name, image in found.items()} == {"preview.jpg": (60, 40), "thumbnail.jpg": (30, 20)}
    for image in found.values():
        red, green, blue = image.getpixel((2, 2))  # type: ignore[misc]
        assert (red > 200, green < 60, blue < 60) == (True, True, True)
        assert not image.getexif()


def test_limits_come_by_the_constructor_and_count_in_the_recipe(tmp_path: Path) -> None:
    small = ImagePreview(PictureLimits(image_pixels=100))
    with pytest.raises(LimitReached, match=r"^travel.jpg: .*image_pixels"):
        digest(SAMPLES / "travel.jpg", tmp_path, small)
    assert small.recipe != ImagePreview().recipe


def test_the_parent_process_loads_no_decoder() -> None:
    code = (
        "import sys; from chyme.pictures.image_preview import ImagePreview; ImagePreview().recipe;"
        "print([name for name in ('PIL', 'pillow_heif', 'cv2', 'numpy', 'av', 'lxml') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


@pytest.fixture
def in_child(tmp_path: Path) -> Iterator[Callable[[Path], Output]]:
    """Digest in a real child, with its limits, without network, as another user where that is possible."""
    family = Family(count=1, memory_bytes=2 * GB)
    runner = Runner(
        f"{Path(__file__).stem}:digesters", {}, {"pictures": family}, import_from=BESIDE,
        scratch_bytes=GB, answer_bytes=GB,
    )  # fmt: skip
    limits = Limits(wall_seconds=60, cpu_seconds=60, memory_bytes=2 * GB)

    def run(path: Path) -> Output:
        scratch = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        scratch.mkdir(mode=0o700)
        fd = os.open(path, os.O_RDONLY)
        try:
            (output,) = runner.run(Task("image-preview", file_of(path), fd, (), scratch), "pictures", limits)
        finally:
            os.close(fd)
        assert list(scratch.iterdir()) == []
        return output

    yield run
    runner.close()


def test_every_sample_is_shown_by_a_real_child(in_child: Callable[[Path], Output], tmp_path: Path) -> None:
    for path in sorted(SAMPLES.iterdir()):
        if path.name == "cut.heic":
            with pytest.raises(DigestError, match=r"^cut.heic: .*ends early"):
                in_child(path)
        else:
            assert in_child(path) == digest(path, tmp_path), path.name


@needs_corpus
def test_hostile_pictures_do_no_harm(in_child: Callable[[Path], Output]) -> None:
    hopeless = {
        "bomb_30000x30000_rgb.png": "image_pixels",
        "bomb_60000x60000_1bit.png": "image_pixels",
        "zero.png": "empty",
        "zero.heic": "empty",
        "billion_laughs.svg": "entities",
        "libheif__j2k-siz-segment-undersized.heic": "cannot be read",
    }
    for name, why in hopeless.items():
        with pytest.raises(DigestError, match=why) as caught:
            in_child(CORPUS / "hostile" / name)
        assert str(caught.value).startswith(f"{name}: ")
        assert "; " in str(caught.value)
    for name, note in {"trunc_heic.heic": "ends early", "trunc_png.png": "ends early", "xxe.svg": "left out"}.items():
        output = in_child(CORPUS / "hostile" / name)
        assert note in json.loads(output.content or "")["note"]
        assert len(output.artifacts) == 2


@needs_corpus
def test_the_pictures_of_the_corpus_are_shown_and_left_as_they_were(in_child: Callable[[Path], Output]) -> None:
    paths = (
        sorted((CORPUS / "image").iterdir())
        + sorted((CORPUS / "heic").glob("p*"))
        + [CORPUS / "heic/tika__testHEIF.heic"]
    )
    before = [hashlib.sha256(path.read_bytes()).digest() for path in paths]
    for path in paths:
        output = in_child(path)
        content = json.loads(output.content or "")
        sizes = {name: image.size for name, image in pictures_of(output).items()}
        assert max(sizes["preview.jpg"]) <= 2048, path.name
        assert max(sizes["thumbnail.jpg"]) <= 512, path.name
        assert (content["width"] > content["height"]) == (sizes["preview.jpg"][0] > sizes["preview.jpg"][1]), path.name
        assert "note" not in content, path.name
    assert [hashlib.sha256(path.read_bytes()).digest() for path in paths] == before
