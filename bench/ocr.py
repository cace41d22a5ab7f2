"""How well pictures and scanned pages are read, and how fast, against calling rapidocr itself."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.commands import ROOT
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS
from chyme.digester import StaysHome
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.imaging.ocr.engines import OcrEngine, OcrSettings, load_engine
from chyme.imaging.ocr.page_text import CELL, page_text
from chyme.model import File, Kind, Stamp, Upstream

PAGES = ROOT / "tests" / "samples" / "pages"
TARGETS = {
    "clean.png": 0.01, "two_columns.png": 0.01, "table.png": 0.01, "turned_90.png": 0.01, "upside_down.png": 0.01,
    "accents.png": 0.02, "rotated_3.png": 0.02, "noisy.jpg": 0.02, "chinese.png": 0.02, "sign.jpg": 0.02,
}  # fmt: skip
UNTOLD = (
    "hostile/scanned_no_text.pdf", "pdf/kreuzberg__ocr_test_rotated_90.pdf", "pdf/ocrmypdf__rotated_skew.pdf",
    "pdf/ocrmypdf__skew.pdf", "image/tika__testRotated+10.png", "image/kreuzberg__chi_sim_image.jpeg",
    "image/kreuzberg__2305_03393v1_pg9_img.png",
)  # fmt: skip
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Read:
    """A text and the CPU seconds it took: steadier than the wall, and there is one thread."""

    text: str
    seconds: float


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Our own pages with their truth; then real scans without truth, whose first words are shown.

    CER: the fewest letters to insert, delete or replace until the text is the truth, as a part of the truth's length;
    any white space counts as one space. It punishes a wrong order as much as wrong letters.
    """
    engine, plain = load_engine(OcrSettings()), _rapidocr()
    names = [path.name for path in sorted(PAGES.iterdir()) if path.suffix in (".png", ".jpg")]
    _timed(lambda: _ours(engine, PAGES / names[0]))  # the models are loaded before anything is measured
    _timed(lambda: plain(str(PAGES / names[0])))
    remark(f"{'picture':<20}{'CER':>8}{'of rapidocr':>13}{'words found':>14}{'CPU s':>9}{'of rapidocr':>13}")
    spent, theirs = 0.0, 0.0
    for name in names:
        truth = (PAGES / name).with_suffix(".txt").read_text(encoding="utf-8")
        mine, other = _timed(partial(_ours, engine, PAGES / name)), _timed(partial(_theirs, plain, PAGES / name))
        if name in TARGETS:  # rapidocr itself does not know the scripts of the others
            spent, theirs = spent + mine.seconds, theirs + other.seconds
        error = cer(mine.text, truth)
        remark(
            f"{name:<20}{error:>8.4f}{cer(other.text, truth):>13.4f}{_found(mine.text, truth):>14}"
            f"{mine.seconds:>9.2f}{other.seconds:>13.2f}"
        )
        if name in TARGETS:
            tell(Figure(f"CER of {name}", error, "", "letters wrong, of the truth's length", at_most=TARGETS[name]))
    tell(Figure("time against rapidocr", spent / theirs, "×", "same pictures, both with one thread", at_most=1.1))
    scan = _timed(lambda: _document(PAGES / "three_scans.pdf", folder))
    truth = (PAGES / "three_scans.txt").read_text(encoding="utf-8")
    tell(Figure("CER of three_scans.pdf", cer(scan.text.partition("\n\n> note:")[0], truth), "", "", at_most=0.01))
    tell(Figure("seconds a scanned page", scan.seconds / 3, "s", "three_scans.pdf: drawn, read, put in order"))
    _measure_receipts(engine, tell)
    _real(engine, folder)


def _measure_receipts(engine: OcrEngine, tell: Tell) -> None:
    """Scanned receipts with their words in reading order; compared in lower case, without marks between cells."""
    paths = sorted((CORPUS / "receipts").glob("*.jpg"))
    if not paths:
        warn(f"{CORPUS / 'receipts'} is absent; receipts are skipped")
        return
    reads = [_timed(partial(_ours, engine, path)) for path in paths]
    truths = [path.with_suffix(".txt").read_text(encoding="utf-8").lower() for path in paths]
    texts = [read.text.replace(CELL, " ").lower() for read in reads]
    pairs, count = list(zip(texts, truths, strict=True)), len(paths)
    how = f"mean of {count} scanned receipts, lower case"
    tell(Figure("CER of receipts", sum(cer(*pair) for pair in pairs) / count, "", how, at_most=0.035))
    tell(Figure("word F1 of receipts", sum(word_f1(*pair) for pair in pairs) / count, "", how, at_least=0.96))
    seconds = sum(read.seconds for read in reads)
    tell(Figure("CPU for the receipts", seconds, "s", f"{count} pictures, one thread"))


def word_f1(text: str, truth: str) -> float:
    """How many words both texts have, wherever they stand, against the words of both."""
    found, wanted = Counter(_WORD.findall(text)), Counter(_WORD.findall(truth))
    return 2 * (found & wanted).total() / max(1, found.total() + wanted.total())


def cer(text: str, truth: str) -> float:
    """Letters to change until the text is the truth, as a part of the truth's length."""
    found, wanted = " ".join(text.split()), " ".join(truth.split())
    row = list(range(len(wanted) + 1))
    for at, letter in enumerate(found, 1):
        above, row[0] = row[0], at
        for column, other in enumerate(wanted, 1):
            above, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, above + (letter != other))
    return row[-1] / max(1, len(wanted))


def _found(text: str, truth: str) -> str:
    wanted = Counter(_WORD.findall(truth))
    return f"{sum((wanted & Counter(_WORD.findall(text))).values())}/{sum(wanted.values())}"


def _timed(read: Callable[[], Any]) -> Read:
    began = time.process_time()
    text = read()
    return Read(str(text), time.process_time() - began)


def _ours(engine: OcrEngine, path: Path) -> str:
    from PIL import Image

    with Image.open(path) as image:
        lines = engine.read(image).lines
        return page_text(lines, image.width / image.height, 0.0).text


def _theirs(plain: Any, path: Path) -> str:
    return "\n".join(plain(str(path)).txts or ())


def _rapidocr() -> Any:
    from rapidocr import RapidOCR

    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "critical", "Global.return_word_box": True, **threads})


@dataclass(frozen=True, slots=True)
class _Document(StaysHome):
    """A file on disk as a digester sees it."""

    path: Path
    scratch: Path

    @property
    def file(self) -> File:
        stamp = Stamp("", "", self.path.stat().st_size, 0)
        return File(1, self.path.name, self.path.name, Kind.DOCUMENT, "application/pdf", stamp, "", 1)

    def open(self) -> Any:
        return self.path.open("rb")

    def output(self, name: str) -> Upstream | None:
        return None

    def progress(self, fraction: float) -> None:
        pass


def _document(path: Path, folder: Path) -> str:
    scratch = folder / path.stem
    scratch.mkdir()
    (output,) = DocToMarkdown().digest(_Document(path, scratch))
    return output.content or ""


def _real(engine: OcrEngine, folder: Path) -> None:
    if not CORPUS.is_dir():
        warn(f"{CORPUS} is absent; real scans are skipped")
        return
    remark("real scans, without truth:")
    for name in UNTOLD:
        path = CORPUS / name
        if not path.is_file():
            warn(f"{path} is absent")
            continue
        read = _timed(lambda: _document(path, folder) if path.suffix == ".pdf" else _ours(engine, path))  # noqa: B023
        words = _WORD.findall(read.text)
        remark(f"{name:<44}{read.seconds:>7.1f} s {len(words):>6} words: {' '.join(words[:9])}")
