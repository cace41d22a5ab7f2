"""What of a question's conditions may be dropped when no file meets them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from chyme.search.query.parser import Filter, Query, Term, soften_phrases

_MAX_TRIED = 6  # conditions that are dropped one by one; more are dropped only all together


def relaxations(query: Query) -> Iterator[tuple[Query, tuple[str, ...]]]:
    """The question with fewer conditions, and which are dropped, as a person types them: each by itself, then all.

    Only a question with words is relaxed: without any, its conditions are all it says. A question that is nothing but
    quoted phrases keeps them.
    """
    if not query.terms:
        return
    single = [relaxed for relaxed in (_without_phrases(query), *_without_filters(query)) if relaxed is not None]
    if query.excluded:
        single.append((replace(query, excluded=()), tuple(f"-{_format_term(term)}" for term in query.excluded)))
    yield from single[:_MAX_TRIED]
    if len(single) > 1:
        softened = _without_phrases(query)
        everything = softened[0] if softened else query
        yield replace(everything, filters=(), excluded=()), tuple(part for _, parts in single for part in parts)


def without_each_filter(query: Query) -> Iterator[tuple[Query, str]]:
    """The question without one of its filters, and that filter as typed; only a few are tried."""
    for relaxed, dropped in _without_filters(query)[:_MAX_TRIED]:
        yield relaxed, dropped[0]


def format_filter(filter_: Filter) -> str:
    """A filter as a person types it."""
    value = f'"{filter_.value}"' if " " in filter_.value else filter_.value
    return f"{'-' if filter_.negated else ''}{filter_.field}:{value}"


def _without_phrases(query: Query) -> tuple[Query, tuple[str, ...]] | None:
    phrases = [term for term in query.terms if term.phrase]
    if not query.phrases_required or not phrases or len(phrases) == len(query.terms):
        return None
    return soften_phrases(query), tuple(_format_term(term) for term in phrases)


def _without_filters(query: Query) -> list[tuple[Query, tuple[str, ...]]]:
    return [
        (replace(query, filters=(*query.filters[:i], *query.filters[i + 1 :])), (format_filter(filter_),))
        for i, filter_ in enumerate(query.filters)
    ]


def _format_term(term: Term) -> str:
    return f'"{term.text}"' if term.phrase else term.text
