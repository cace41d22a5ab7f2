"""Read what a PDF page has on top of its text: values of form fields, and the notes people have put on it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from chyme.text.decoding import clean

if TYPE_CHECKING:
    import pypdfium2  # type: ignore[import-untyped]

MAX_ANNOTATIONS = 2_000  # examined on one page
MAX_OPTIONS = 500  # of one list
TEXT_LENGTH = 4_000  # characters of one value or note
LABEL_LENGTH = 200
_PASSWORD = 1 << 13  # field flag
_NAME_PART = re.compile(r"\[\d+\]$")
_SPOKEN = re.compile(r"[^\W\d_]{3,}")  # a label must have letters; `f1_02` says nothing
_PLAIN_STATES = frozenset(("", "yes", "on", "off", "1", "0", "true", "x", "ja", "oui"))  # of a checked box
_BREAKS = str.maketrans({"`": "'", "|": "/", "\n": " ", "\r": " "})


def open_forms(document: pypdfium2.PdfDocument) -> bool:
    """Prepare the document's form, if it has one. To be called before any page is opened."""
    from pypdfium2 import PdfiumError, raw

    if document.get_formtype() == raw.FORMTYPE_NONE:
        return False
    try:
        document.init_forms()
    except PdfiumError:
        return False
    return document.formenv is not None


def read_annotations(
    page: pypdfium2.PdfPage, textpage: pypdfium2.PdfTextPage, text: str, forms: pypdfium2.PdfDocument | None
) -> list[str]:
    """The page's fields with a value and its notes, a line of markdown each. `forms` is the document if it has a form.

    What the page's own `text` already says is left out.
    """
    from pypdfium2 import raw

    count = min(raw.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)
    if count <= 0:
        return []
    fields: list[str] = []
    notes: list[str] = []
    for index in range(count):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            subtype = raw.FPDFAnnot_GetSubtype(annotation)
            if subtype == raw.FPDF_ANNOT_WIDGET:
                if forms is not None and not _is_hidden(annotation):
                    fields += _field_lines(forms.formenv, annotation, textpage)
            elif subtype not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP) and not _is_hidden(annotation):
                notes += _note_lines(annotation, subtype == raw.FPDF_ANNOT_STAMP, text)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return [*dict.fromkeys(fields), *dict.fromkeys(notes)]


def label_of(alternate_name: str, name: str) -> str:
    """What a field is called: by its tooltip, else by the last part of its name if that is a word."""
    if alternate_name:
        return alternate_name
    part = _NAME_PART.sub("", name.rpartition(".")[2]).replace("_", " ").strip()
    return part if _SPOKEN.search(part) else ""


def describe_box(label: str, state: str) -> str | None:
    """The line for a checked box or button; None if it has neither a label nor a meaning."""
    meaning = "" if state.strip().lower() in _PLAIN_STATES or not _SPOKEN.search(state) else state
    if not label and not meaning:
        return None
    return f"- [x] {label}: {meaning}" if label and meaning else f"- [x] {label or meaning}"


def _field_lines(form: Any, annotation: Any, textpage: pypdfium2.PdfTextPage) -> Iterator[str]:
    from pypdfium2 import raw

    kind = raw.FPDFAnnot_GetFormFieldType(form, annotation)
    label = label_of(
        _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldAlternateName(form, annotation, buffer, size)),
        _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldName(form, annotation, buffer, size)),
    )[:LABEL_LENGTH]
    if kind in (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON):
        if raw.FPDFAnnot_IsChecked(form, annotation):
            state = _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldExportValue(form, annotation, buffer, size))
            line = describe_box(label, state)
            if line:
                yield line
        return
    if kind not in (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
        return
    if kind == raw.FPDF_FORMFIELD_TEXTFIELD and raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return
    value = ""
    if kind != raw.FPDF_FORMFIELD_TEXTFIELD:
        value = ", ".join(_selected_options(form, annotation))
    value = value or _string(lambda buffer, size: raw.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size))
    if value and not _is_drawn(value, annotation, textpage):
        yield f"- {label}: {value}" if label else f"- {value}"


def _selected_options(form: Any, annotation: Any) -> Iterator[str]:
    from pypdfium2 import raw

    for index in range(min(raw.FPDFAnnot_GetOptionCount(form, annotation), MAX_OPTIONS)):
        if raw.FPDFAnnot_IsOptionSelected(form, annotation, index):
            yield _string(
                lambda buffer, size, index=index: raw.FPDFAnnot_GetOptionLabel(form, annotation, index, buffer, size)  # type: ignore[misc]
            )


def _is_drawn(value: str, annotation: Any, textpage: pypdfium2.PdfTextPage) -> bool:
    """Whether the page's own text has the value where the field is, as in a form that was filled in and flattened."""
    from pypdfium2 import raw

    rectangle = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle)):
        return False
    left, right = sorted((rectangle.left, rectangle.right))
    bottom, top = sorted((rectangle.bottom, rectangle.top))
    return _squeeze(value) in _squeeze(textpage.get_text_bounded(left - 1, bottom - 1, right + 1, top + 1))


def _note_lines(annotation: Any, is_stamp: bool, page_text: str) -> Iterator[str]:
    text = _entry(annotation, "Contents")
    if not text and is_stamp:
        text = _entry(annotation, "Subj")
    if not text or _squeeze(text) in _squeeze(page_text):  # some programs put the marked words themselves into the note
        return
    author = _entry(annotation, "T")[:LABEL_LENGTH]
    yield f"> {author}: {text}" if author else f"> {text}"


def _entry(annotation: Any, key: str) -> str:
    from pypdfium2 import raw

    return _string(lambda buffer, size: raw.FPDFAnnot_GetStringValue(annotation, key.encode(), buffer, size))


def _is_hidden(annotation: Any) -> bool:
    from pypdfium2 import raw

    return bool(raw.FPDFAnnot_GetFlags(annotation) & (raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW))


def _string(read: Callable[[Any, int], int]) -> str:
    """A string of PDFium's, on one line and without what markdown would take for its own; empty if there is none."""
    length = read(None, 0)
    if not 2 < length <= 64 * TEXT_LENGTH:
        return ""
    buffer = (ctypes.c_ushort * (length // 2 + 1))()
    read(buffer, length)
    text = bytes(buffer)[: length - 2].decode("utf-16-le", "replace")
    return " ".join(clean(text[:TEXT_LENGTH]).translate(_BREAKS).replace("](", "] (").split())


def _squeeze(text: str) -> str:
    return "".join(islice((letter for letter in text.casefold() if letter.isalnum()), 1_000_000))
