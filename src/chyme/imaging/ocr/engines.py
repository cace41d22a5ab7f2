"""Selects the OCR engine; it is loaded when first needed and kept for the next picture."""

from __future__ import annotations

from functools import cache

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable
from chyme.imaging.ocr.engine_interface import OcrEngine, OcrSettings

ENGINES = ("rapidocr", "tesseract")


def load_engine(settings: OcrSettings) -> OcrEngine:
    """The engine these settings ask for, or EngineUnavailable."""
    if settings.ocr_engine == "tesseract":
        return _tesseract(settings.ocr_languages, settings.ocr_seconds, settings.ocr_threads)
    if settings.ocr_engine == "rapidocr":
        return _rapidocr(settings.ocr_threads, settings.ocr_side)
    raise EngineUnavailable(f"ocr_engine is {settings.ocr_engine!r}; there are: {', '.join(ENGINES)}")


def fingerprint(settings: OcrSettings) -> str:
    """What affects the recognised words, without loading anything."""
    if settings.ocr_engine == "tesseract":
        return f"tesseract {settings.ocr_languages} {settings.ocr_doubt}"
    versions = describe_versions("rapidocr", "onnxruntime")
    return f"{settings.ocr_engine} {versions} {settings.ocr_side} {settings.ocr_doubt}"


@cache
def _rapidocr(threads: int, side: int) -> OcrEngine:
    from chyme.imaging.ocr.rapidocr import RapidOcr

    return RapidOcr(threads, side)


@cache
def _tesseract(languages: str, seconds: float, threads: int) -> OcrEngine:
    from chyme.imaging.ocr.tesseract import Tesseract

    return Tesseract(languages, seconds, threads)
