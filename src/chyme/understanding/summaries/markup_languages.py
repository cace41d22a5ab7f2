"""Read plain texts written in Typst, LaTeX, AsciiDoc or commands: headings and prose without formulas and code."""

from __future__ import annotations

import re
from dataclasses import replace

from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.facts import DocumentFacts

_READ = 20_000  # characters that are read
_FORMULA = "\ufffd"  # replaces a formula: a sentence with one is not quoted
_TYPST = re.compile(r"^#(?:set|let|show|import|include) ", re.MULTILINE)
_LATEX = re.compile(r"^\s*\\(?:documentclass|begin\{document\})", re.MULTILINE)
_ASCIIDOC = re.compile(r"\A\s*= \S[^\n]*\n(?s:.*?)^==+ \S", re.MULTILINE)
_EQUALS_HEADING = re.compile(r"^(={1,6}) +(\S[^\n]*)$", re.MULTILINE)
_LATEX_HEADING = re.compile(r"^\s*\\(?:part|chapter|(?:sub){0,2}section)\*?\{([^{}\n]{1,200})\}.*$", re.MULTILINE)
_LATEX_WORDS = re.compile(r"\\(?:emph|text(?:bf|it|tt|sc)|underline)\{([^{}\n]{0,300})\}")
_LETTER_FORMULA = re.compile(r"\$(\w)\$")
_FORMULAS = re.compile(r"\$[^$]{1,500}\$")
_TYPST_CODE = re.compile(
    r"^#(?:set|let|show|import|include|align|figure|table)\b[^\n]*(?:\n[ \t)][^\n]*)*$", re.MULTILINE
)
_LATEX_CODE = re.compile(r"^\s*(?:\\|%|[{}]).*$", re.MULTILINE)
_ASCIIDOC_CODE = re.compile(r"^(?::[\w-]+:.*|\[[^\]\n]*\]|[=\-.*_]{4,}|\|===)$", re.MULTILINE)
# Commands of programs for statistics, by the first word of their lines, and how many lines are needed.
_COMMANDS = {
    "Stata": re.compile(
        r"^[ \t]*(?:clear all|set obs \d|gen(?:erate)? \w+ |replace \w+ ?=|save \S+\.dta|use \S+\.dta"
        r"|(?:regress|summarize|tabulate) \w).*$",
        re.MULTILINE,
    ),
    "R": re.compile(r"^[ \t]*(?:[\w.]+ <- \S|library\(\w+\)).*$", re.MULTILINE),
}
_MIN_COMMANDS = 3


def read_markup(source: SourceText, facts: DocumentFacts) -> tuple[SourceText, DocumentFacts]:
    """The text as headings and prose, and what it is; both unchanged if it is in none of these languages."""
    if facts.mime != "text/plain":
        return source, facts
    text = source.text[:_READ]
    form = ""
    if _TYPST.search(text):
        form, text = "A Typst document", _without_formulas(_marked_headings(_TYPST_CODE.sub("", text)))
    elif _LATEX.search(text):
        headed = _LATEX_WORDS.sub(r"\1", _LATEX_HEADING.sub(r"# \1", text))
        form, text = "A LaTeX document", _without_formulas(_LATEX_CODE.sub("", headed))
    elif _ASCIIDOC.match(text):
        form, text = "An AsciiDoc document", _marked_headings(_ASCIIDOC_CODE.sub("", text))
    else:
        for name, commands in _COMMANDS.items():
            if len(commands.findall(text)) >= _MIN_COMMANDS:
                form, text = f"A text with {name} commands", commands.sub("", text)
                break
    if not form:
        return source, facts
    return replace(source, text=text, blocks=blocks_of(text)), replace(facts, form=form)


def _marked_headings(text: str) -> str:
    return _EQUALS_HEADING.sub(lambda match: f"\n{'#' * len(match[1])} {match[2]}\n", text)


def _without_formulas(text: str) -> str:
    return _FORMULAS.sub(_FORMULA, _LETTER_FORMULA.sub(r"\1", text))
