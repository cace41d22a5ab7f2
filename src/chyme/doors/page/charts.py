"""Turns numbers into the marks of a bar chart, which a template draws as SVG, and into the rows of its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT, GAP = 600.0, 120.0, 2.0
MIN_HEIGHT = 2.0  # a part that is not empty is never invisible
SERIES = 8  # colours; further series share the last one


@dataclass(frozen=True, slots=True)
class Part:
    """One series within a bar: where it is drawn."""

    series: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of stacked parts, with its words and where it leads, if anywhere."""

    label: str
    text: str  # label and numbers, as read aloud
    href: str | None
    x: float
    width: float
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    label: str
    href: str | None
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A stacked bar chart. Everything drawn is also in `rows`."""

    title: str
    heading: str  # of the first column
    names: tuple[str, ...]  # of the series
    bars: tuple[Bar, ...]
    rows: tuple[Row, ...]
    highest: str
    width: float = WIDTH
    height: float = HEIGHT


def stacked_bars(
    title: str,
    heading: str,
    labels: Sequence[str],
    series: Mapping[str, Mapping[str, float]],
    *,
    href: Callable[[str], str | None] = lambda _label: None,
    show: Callable[[float], str] = lambda amount: f"{amount:,.0f}",
) -> Chart:
    """Return a chart with a bar for each label, and in it a part for each series: name → label → amount."""
    totals = {label: sum(amounts.get(label, 0.0) for amounts in series.values()) for label in labels}
    highest = max(totals.values(), default=0.0)
    step = WIDTH / max(1, len(labels))
    gap = min(GAP, step / 4)
    bars, rows = [], []
    for number, label in enumerate(labels):
        amounts = [(index, name, values.get(label, 0.0)) for index, (name, values) in enumerate(series.items())]
        said = ", ".join(f"{name} {show(amount)}" for _, name, amount in amounts if amount)
        text = f"{label}: {said or 'nothing'}"
        x, width = round(number * step + gap / 2, 2), round(step - gap, 2)
        bars.append(Bar(label, text, href(label) if totals[label] else None, x, width, _parts(amounts, highest)))
        if totals[label]:
            values = tuple(show(amount) for _, _, amount in amounts)
            rows.append(Row(label, href(label), (*values, show(totals[label])) if len(series) > 1 else values))
    return Chart(title, heading, tuple(series), tuple(bars), tuple(rows), show(highest))


def _parts(amounts: Sequence[tuple[int, str, float]], highest: float) -> tuple[Part, ...]:
    parts, top = [], HEIGHT
    for index, _, amount in amounts:
        if amount > 0:
            height = min(top, max(MIN_HEIGHT, HEIGHT * amount / highest))
            top -= height
            parts.append(Part(min(index, SERIES - 1), round(top, 2), round(height, 2)))
    return tuple(parts)


def years_between(first: str, last: str, most: int) -> list[str]:
    """Return every year from the first to the last, at most so many, the latest ones."""
    if not (first.isdecimal() and last.isdecimal()):
        return []
    return [f"{year:04}" for year in range(max(int(first), int(last) - most + 1), int(last) + 1)]
