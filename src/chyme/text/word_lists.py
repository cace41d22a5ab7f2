"""Word lists kept as data: the files `words/<name>.txt` beside the modules that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources


class WordList:
    """One file of words, read when it is first needed.

    A line holds words, or one phrase. `[name]` begins a section, such as a language, and `#` begins a comment line.
    """

    def __init__(self, package: str, name: str) -> None:
        self._package, self._name = package, name
        self._words: dict[str, frozenset[str]] = {}
        self._phrases: dict[str, frozenset[str]] = {}

    @cached_property
    def sections(self) -> Mapping[str, Sequence[str]]:
        """The lines of each section, in the order of the file. Lines before the first section are in the section ``."""
        text = (resources.files(self._package) / "words" / f"{self._name}.txt").read_text(encoding="utf-8")
        sections: dict[str, list[str]] = {}
        section = ""
        for line in map(str.strip, text.split("\n")):
            if line.startswith("["):
                section = line.strip("[]")
            elif line and not line.startswith("#"):
                sections.setdefault(section, []).append(line)
        return sections

    def words(self, section: str = "") -> frozenset[str]:
        """The words of a section; empty if the file does not have it."""
        if section not in self._words:
            self._words[section] = frozenset(" ".join(self.sections.get(section, ())).split())
        return self._words[section]

    def phrases(self, section: str = "") -> frozenset[str]:
        """The lines of a section; empty if the file does not have it."""
        if section not in self._phrases:
            self._phrases[section] = frozenset(self.sections.get(section, ()))
        return self._phrases[section]
