"""Connects digesters that read outputs by form with those outputs, once all digesters are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chyme.digester import Digester
from chyme.model import Form

ABOUT_FORMS = frozenset({Form.CAPTION, Form.OBJECTS, Form.SUMMARY})  # texts about the file, not its own text


def connect_form_readers(registry: Sequence[Digester]) -> None:
    """Add the outputs of the forms it wants to what each digester reads. Calling this twice changes nothing.

    A reader does not wait for texts about the file, which a model may write, nor for corrections.
    """
    for reader in registry:
        if not reader.inputs.forms:
            continue
        made = {name: makes for other in registry if other is not reader for name, makes in other.traits.items()}
        fitting = {name: makes for name, makes in made.items() if makes.form in reader.inputs.forms}
        about = {name for name, makes in fitting.items() if makes.form in ABOUT_FORMS or makes.corrects is not None}
        reader.reads = (*reader.reads, *(name for name in fitting if name not in reader.reads))
        reader.inputs = replace(reader.inputs, optional=reader.inputs.optional | about)
