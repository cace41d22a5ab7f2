"""Recognise plain texts that are source code or commands of a program."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LINES, _LINE_LENGTH = 200, 300  # lines that are looked at, and characters of each
_MIN_LINES, _CODE_SHARE = 4, 0.6  # lines of code, and their share of all lines
_MIN_CALLS = 2  # lines with a call, a quoted value or a bracket: lists of `key = value` have none
_ASSIGNMENT = r"(?:[A-Za-z_$@%][\w.$\[\]-]*\s+){0,2}[A-Za-z_$@%][\w.$\[\]-]*\s*(?:=|:=|\+=|<-)\s*\S.*"
_COMMAND = (
    r"(?:import|from|use|using|include|require|library|def|class|function|func|fn|return|if|else|elif|for|while|foreach"
    r"|end|endif|fi|done|do|then|case|switch|break|try|catch|except|let|var|const|public|private|static|void|int|set|unset"
    r"|export|echo|print|printf|cd|sudo|mkdir|rm|cp|mv|git|pip|npm|docker|apt-get|clear|gen|generate|replace|drop|keep"
    r"|save|load|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE)(?=[ (]|;?$)(?!.*[a-z]{2}[.!?]$).{0,80}"
)
_CODE_LINE = re.compile(rf"(?:{_ASSIGNMENT}|{_COMMAND}|.*[;{{}}]|[{{}}()\[\]]+[;,]?|\$ .+|[\w.]+\(.*\))")
_CALL = re.compile(r"\w\(|[\"'].*[\"']|[;{}]$|^\$ ")
_COMMENT = re.compile(r"(?:#|//|--|/\*|\*|%|')")
_RULE = re.compile(r"\W{3,}")


def is_code_text(text: str) -> bool:
    """Whether most lines of a text are statements or commands, of which some call something or quote a value."""
    lines = _code_candidates(text)
    code = [line for line in lines if _CODE_LINE.fullmatch(line)]
    calls = sum(_CALL.search(line) is not None for line in code)
    return len(code) >= _MIN_LINES and calls >= _MIN_CALLS and len(code) >= _CODE_SHARE * len(lines)


def _code_candidates(text: str) -> Sequence[str]:
    """The first lines without empty ones, rules and comments."""
    lines = [line.strip()[:_LINE_LENGTH] for line in text[: _LINES * _LINE_LENGTH].split("\n", _LINES)[:_LINES]]
    return [line for line in lines if line and not _COMMENT.match(line) and not _RULE.fullmatch(line)]
