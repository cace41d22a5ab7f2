"""Calls that cost nothing: every call is allowed and recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from chyme.digester import Calls
from chyme.errors import DigestError
from chyme.model import CallEnd, Question, Reply, Ticket


@dataclass
class FreeCalls(Calls):
    """The contract of Calls without a database. Replies in `kept` replace calls; `refusal` refuses them."""

    refusal: DigestError | None = None
    kept: dict[str, Reply] = field(default_factory=dict)  # question's hash → reply
    questions: list[Question] = field(default_factory=list)  # those that were really sent
    ends: list[CallEnd] = field(default_factory=list)
    well: list[str] = field(default_factory=list)  # providers that answered
    ill: list[tuple[str, DigestError, bool]] = field(default_factory=list)

    def begin(self, question: Question) -> Ticket | Reply:
        if self.refusal is not None:
            raise self.refusal
        if question.hash in self.kept:
            return self.kept[question.hash]
        self.questions.append(question)
        return Ticket(len(self.questions))

    def end(self, ticket: Ticket, end: CallEnd) -> None:
        self.ends.append(end)
        if end.reply is not None:
            self.kept[self.questions[ticket.id - 1].hash] = end.reply

    def answered(self, provider: str) -> None:
        self.well.append(provider)

    def failed(self, provider: str, error: DigestError, outage: bool) -> None:
        self.ill.append((provider, error, outage))
