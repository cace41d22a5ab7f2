"""The forms of the outputs that understanding reads by name."""

from __future__ import annotations

from collections.abc import Mapping

from chyme.model import Form, Upstream
from chyme.text.digest_text import extract_text

FORMS: Mapping[str, Form] = {
    "url-crawl-content": Form.TEXT,
    "doc-to-markdown": Form.TEXT,
    "image-ocr": Form.TEXT,
    "image-captioning": Form.CAPTION,
    "image-objects": Form.OBJECTS,
    "speech-recognition": Form.TRANSCRIPT,
    "speech-recognition-cleanup": Form.TRANSCRIPT,
    "speech-recognition-summary": Form.SUMMARY,
    "url-crawl-summary": Form.SUMMARY,
    "url-metadata": Form.PAGE_FACTS,
    "image-preview": Form.PICTURE_FACTS,
    "media-preview": Form.MEDIA_FACTS,
}


def readable_text(name: str, content: str) -> str:
    """What a person could read in the output of this name."""
    return extract_text(Upstream(name, content, form=FORMS.get(name, Form.DATA))).text
