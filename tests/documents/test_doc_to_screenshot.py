"""The digester that shows the first page of a document."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from disk_source import file_of, source_of
from PIL import Image

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.digester import Digester
from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.doc_to_screenshot import DocToScreenshot
from chyme.documents.libreoffice.installation import office_program
from chyme.documents.pages.limits import PageLimits
from chyme.errors import ChildCrashed, DigestError, LimitReached
from chyme.model import Kind, Limits, Output

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
HOSTILE = ROOT / "../shared/corpus/hostile"
ALONE = DocToScreenshot(PageLimits(office="off"))
MEMORY = 3 << 30


def digesters(config: dict[str, object]) -> dict[str, Digester]:
    """What the children of these tests run."""
    made = DocToScreenshot(PageLimits(office=str(config["office"])))
    return {made.name: made}


@pytest.fixture(params=["auto", "off"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    office = str(request.param)
    if office == "auto" and office_program("auto") is None:
        pytest.skip("LibreOffice is not installed, so only the pages drawn without it are tested")
    made = Runner(
        "test_doc_to_screenshot:digesters",
        {"office": office},
        {"pages": Family(count=1, memory_bytes=MEMORY)},
        import_from=[Path(__file__).parent, Path(__file__).parents[1] / "support"],
    )
    yield made
    made.close()


def run(runner: Runner, path: Path, scratch: Path) -> Output:
    folder = scratch / path.name
    folder.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_RDONLY)
    try:
        task = Task("doc-to-screenshot", file_of(path), fd, (), folder)
        (output,) = runner.run(task, "pages", Limits(60, 60, MEMORY))
    finally:
        os.close(fd)
    return output


def office_processes(child: int) -> list[int]:
    """LibreOffice processes of this child."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == child and "soffice" in (folder / "cmdline").read_text():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def office_folders(processes: list[int]) -> set[Path]:
    """The home folders of these processes; LibreOffice processes of other tests have their own."""
    command_lines = b"\0".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes)
    return {Path(os.fsdecode(home)) for home in re.findall(rb"UserInstallation=file://(.+?)/profile", command_lines)}


def wait_until_none_is_left(folders: set[Path], processes: list[int]) -> None:
    deadline = time.monotonic() + 300  # not from `waiting`: children import this module and do not find that one
    left = [*folders, *(Path(f"/proc/{pid}") for pid in processes)]
    while any(path.exists() for path in left):
        assert time.monotonic() < deadline, "something was left behind"
        time.sleep(0.05)


def test_only_documents_are_digested() -> None:
    file = file_of(SAMPLES / "contract.pdf")
    assert ALONE.can_digest(file)
    assert not any(ALONE.can_digest(replace(file, kind=kind)) for kind in Kind if kind is not Kind.DOCUMENT)


def test_content_gives_pages_size_and_method_and_artifacts_contain_page_and_thumbnail() -> None:
    (output,) = ALONE.digest(source_of(SAMPLES / "contract.pdf"))
    assert output.name == "doc-to-screenshot"
    assert output.content == '{"pages":3,"width":1130,"height":1599,"rendered":"pdf"}'
    assert [artifact.filename for artifact in output.artifacts] == ["page.jpg", "thumbnail.jpg"]
    page, thumbnail = (Image.open(io.BytesIO(artifact.data)) for artifact in output.artifacts)
    assert (page.format, page.size) == ("JPEG", (1130, 1599))
    assert (thumbnail.format, max(thumbnail.size)) == ("JPEG", 512)


@pytest.mark.parametrize("name", ["page.html", "mail.eml", "minutes.docx", "budget.xlsx", "letter.rtf", "story.epub"])
def test_every_document_has_a_face_even_without_libreoffice(name: str) -> None:
    (output,) = ALONE.digest(source_of(SAMPLES / name))
    assert output.content is not None
    assert json.loads(output.content) == {"width": 1131, "height": 1600, "rendered": "text"}


def test_a_note_says_what_is_not_as_it_should_be() -> None:
    (output,) = ALONE.digest(source_of(SAMPLES / "covers" / "first_broken.pdf"))
    assert output.content is not None
    assert json.loads(output.content)["note"] == "page 1 is damaged; this is page 2"


def test_limits_come_by_the_constructor() -> None:
    small = DocToScreenshot(PageLimits(page_pixels=400, thumbnail=100), ConversionLimits(document_bytes=10_000))
    (output,) = small.digest(source_of(SAMPLES / "contract.pdf"))
    assert max(Image.open(io.BytesIO(output.artifacts[0].data)).size) == 399
    assert max(Image.open(io.BytesIO(output.artifacts[1].data)).size) == 100
    with pytest.raises(LimitReached, match="document_bytes"):
        DocToScreenshot(conversion=ConversionLimits(document_bytes=100)).digest(source_of(SAMPLES / "contract.pdf"))


def test_the_recipe_changes_with_libreoffice_and_with_limits_that_show(tmp_path: Path) -> None:
    program = tmp_path / "soffice.bin"
    there = PageLimits(office=str(program))
    assert DocToScreenshot(there).recipe == ALONE.recipe
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert DocToScreenshot(there).recipe != ALONE.recipe
    assert DocToScreenshot(PageLimits(office="off", page_pixels=99)).recipe != ALONE.recipe
    assert DocToScreenshot(PageLimits(office="off", office_seconds=1)).recipe == ALONE.recipe


def test_the_parent_process_loads_no_drawing_library() -> None:
    code = (
        "import sys; from chyme.documents.doc_to_screenshot import DocToScreenshot; DocToScreenshot().recipe;"
        "print([name for name in ('PIL', 'pypdfium2', 'numpy', 'anydoc', 'liteparse') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_in_a_child_documents_are_drawn_and_nothing_is_left_behind(runner: Runner, tmp_path: Path) -> None:
    names = ("contract.pdf", "minutes.docx", "budget.xlsx", "letter.odt", "page.html", "covers/by_meta.epub")
    contents = [json.loads(run(runner, SAMPLES / name, tmp_path).content or "{}") for name in names]
    (child,) = runner.snapshot().children
    processes = office_processes(child.pid)
    folders = office_folders(processes)
    assert bool(folders) == bool(processes)
    drawn = "libreoffice" if processes else "text"
    assert [content["rendered"] for content in contents] == ["pdf", drawn, drawn, drawn, "text", "cover"]
    assert not any("note" in content for content in contents)
    runner.close()
    wait_until_none_is_left(folders, [child.pid, *processes])


def test_a_child_that_is_killed_takes_libreoffice_and_its_folder_along(runner: Runner, tmp_path: Path) -> None:
    run(runner, SAMPLES / "minutes.docx", tmp_path)
    (child,) = runner.snapshot().children
    processes = office_processes(child.pid)
    folders = office_folders(processes)
    assert bool(folders) == bool(processes) and all(folder.is_dir() for folder in folders)
    os.kill(child.pid, signal.SIGKILL)
    wait_until_none_is_left(folders, processes)
    try:
        assert run(runner, SAMPLES / "minutes.docx", tmp_path).content
    except ChildCrashed:
        pytest.fail("the next document was given to a dead child")


@pytest.mark.skipif(not HOSTILE.is_dir(), reason=f"the shared corpus is not at {HOSTILE}")
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("aes256_password_secret.pdf", "PDF is encrypted"),
        ("tika__protected_normal_case.docx", "Word document is encrypted"),
        ("tika__protect.xlsx", "Excel workbook is encrypted"),
        ("tika__testODTEncrypted.odt", "OpenDocument text is encrypted"),
        ("bomb_10GiB.docx", "archive_ratio"),
        ("laughs.docx", "entities"),
        ("xxe.docx", "entities"),
        ("trunc_pdf.pdf", "broken"),
        ("trunc_xlsx.xlsx", "broken"),
        ("zero.docx", "empty"),
    ],
)
def test_hostile_documents_fail_with_their_name_the_cause_and_a_way_out(name: str, cause: str) -> None:
    with pytest.raises(DigestError) as caught:
        DocToScreenshot().digest(source_of(HOSTILE / name))
    assert str(caught.value).startswith(f"{name}: ")
    assert cause in str(caught.value)
    assert ";" in str(caught.value)
