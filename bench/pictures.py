"""Pictures: against the libraries called directly, two cores against one, and the memory of many large ones at once."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.commands import Ran, digest, run
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.vaults import CORPUS, forget
from chyme.models.weights.catalog import default_folder

LARGE, LARGE_SIZE = 10, (8064, 6048)  # ten photographs of 48 megapixels
MB = 1e6


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Preview, words, objects and caption of the corpus' pictures and a few large photographs."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    vault, few = folder / "vault", folder / "few"
    files = _collect(vault)
    readable = set(_loop(files, cores[:1])[1])
    for path in files:
        if str(path) not in readable:
            path.unlink()
    fine = [path for path in files if str(path) in readable]
    few.mkdir()
    warm = [Path(shutil.copy(min(fine, key=lambda path: path.stat().st_size), few))]
    remark(f"{len(fine)} pictures, {sum(path.stat().st_size for path in fine) / MB:.0f} MB")
    plain, whole = _loop(fine, cores[:1])[0], _digested(vault, cores[:1])
    plain_start, whole_start = _loop(warm, cores[:1])[0], _digested(few, cores[:1])
    how = f"{whole.parent:.1f} + {whole.children:.1f} s (parent, children) against {plain.cpu:.1f} s on one core"
    tell(Figure("CPU against the libraries in a loop", whole.cpu / plain.cpu, "×", how))
    ratio = (whole.cpu - whole_start.cpu) / (plain.cpu - plain_start.cpu)
    how = f"less {whole_start.cpu:.1f} s and {plain_start.cpu:.1f} s, which the smallest picture alone takes"
    tell(Figure("the same, start-up left out", ratio, "×", how, at_most=1.10))
    if len(cores) < 2:
        warn("this machine has one core; two against one is skipped")
    else:
        wide = _digested(vault, cores)
        how = f"wall {whole.wall:.1f} s and {wide.wall:.1f} s; loop on one core {plain.wall:.1f} s"
        tell(Figure("two cores against one", whole.wall / wide.wall, "×", how, at_least=1.8))


def measure_memory(sizes: Sizes, folder: Path, tell: Tell) -> None:
    """Ten photographs of 48 megapixels arrive at once."""
    vault = folder / "vault"
    vault.mkdir()
    photograph = _photograph(folder / "photo.heic", 1).read_bytes()
    for number in range(LARGE):
        spare = b"free" + bytes([number]) * 8  # encoding takes half a minute; a few unused bytes make it another file
        (vault / f"IMG_{number:04}.heic").write_bytes(photograph + (len(spare) + 4).to_bytes(4, "big") + spare)
    ran = digest(vault, "--no-wait", sample_seconds=0.05)
    size = sum(path.stat().st_size for path in vault.glob("*.heic")) / MB
    remark(f"{LARGE} HEIC files of 48 megapixels, {size:.0f} MB; {ran.wall:.1f} s, exit {ran.code}")
    tell(Figure("private memory of the parent", ran.private / MB, "MB", "most of looks every 0.05 s", at_most=209.7))
    tell(Figure("largest child", ran.largest_child / MB, "MB", "resident"))
    tell(Figure("all children together", ran.all_children / MB, "MB", "resident, shared pages counted in each"))


def _collect(vault: Path) -> list[Path]:
    folders = [CORPUS / "image", CORPUS / "heic"]
    if not CORPUS.is_dir():
        warn(f"{CORPUS} is absent; only made-up photographs are used")
        folders = []
    vault.mkdir()
    files = [Path(shutil.copy(path, vault)) for folder in folders for path in sorted(folder.iterdir())]
    for number in range(6):
        files.append(_photograph(vault / f"photo-{number}.jpg", number, (4032, 3024)))
    return files


def _photograph(path: Path, seed: int, size: tuple[int, int] = LARGE_SIZE) -> Path:
    """Smooth colours, some noise and a line of words: about as hard to compress as a photograph."""
    import numpy
    import pillow_heif
    from PIL import Image, ImageDraw, ImageFont

    pillow_heif.register_heif_opener()
    dice = numpy.random.default_rng(seed)
    coarse = Image.fromarray(dice.integers(0, 255, (24, 32, 3), dtype=numpy.uint8))
    image = coarse.resize(size, Image.Resampling.BICUBIC)
    grain = Image.fromarray(dice.integers(0, 255, (size[1] // 2, size[0] // 2), dtype=numpy.uint8)).resize(size)
    image = Image.blend(image, grain.convert("RGB"), 0.05)
    font = ImageFont.load_default(size[1] // 20)
    ImageDraw.Draw(image).text((size[0] // 10, size[1] // 3), f"Harbour Street {seed}", fill="white", font=font)
    image.save(path, quality=60 if path.suffix == ".heic" else 85)
    return path


def _loop(files: Sequence[Path], cores: Sequence[int]) -> tuple[Ran, list[str]]:
    command = (sys.executable, "-m", "bench.picture_loop", str(default_folder()), *map(str, files))
    ran = run(command, cores=cores)
    if ran.code != 0:
        raise RuntimeError(f"the plain loop failed:\n{ran.output}")
    return ran, json.loads(ran.output.splitlines()[-1])


def _digested(vault: Path, cores: Sequence[int]) -> Ran:
    forget(vault)
    return digest(vault, "--no-wait", cores=cores)
