"""What follows from the registered digesters, computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from chyme.core.pipeline.plan import connect_form_readers, find_misordered, optional_readers_of, readers_of
from chyme.core.pipeline.recorders import Recorder
from chyme.core.pipeline.retry_policy import RetryPolicy
from chyme.core.store.digests import LANE_SPACING
from chyme.digester import Digester, Makes
from chyme.errors import UsageError
from chyme.model import Digest, File, Form, Kind, Status


@dataclass(frozen=True)
class Rules:
    """The registered digesters in order, the retry policy, and the recorders of the capabilities."""

    registry: tuple[Digester, ...]
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    recorders: tuple[Recorder, ...] = ()
    readers: dict[str, tuple[str, ...]] = field(init=False)
    optional_readers: dict[str, tuple[Digester, ...]] = field(
        init=False
    )  # by output: digesters that do not wait for it
    outputs: tuple[str, ...] = field(init=False)
    uncounted: frozenset[str] = field(init=False)
    captures: frozenset[str] = field(init=False)  # outputs that may be impossible to get again
    traits: Mapping[str, Makes] = field(init=False)  # what each output is
    classifiers: Mapping[str, Digester] = field(init=False)  # the outputs that classify a file, with their digesters
    essential: Mapping[Kind, tuple[str, ...]] = field(init=False)

    def adopt(self, registry: tuple[Digester, ...]) -> None:
        """Use the same digesters with other settings from now on. Attempts that run keep theirs."""
        if [digester.outputs for digester in registry] != [digester.outputs for digester in self.registry]:
            raise UsageError("these settings make other outputs; they take effect when chyme is started again")
        object.__setattr__(self, "registry", registry)
        self.__post_init__()

    def __post_init__(self) -> None:
        connect_form_readers(self.registry)
        problems = find_misordered(self.registry)
        if problems:
            raise UsageError("the digesters do not fit together: " + "; ".join(problems))
        object.__setattr__(self, "readers", readers_of(self.registry))
        object.__setattr__(self, "optional_readers", optional_readers_of(self.registry))
        object.__setattr__(self, "outputs", tuple(n for d in self.registry for n in d.outputs))
        object.__setattr__(self, "captures", self._outputs_where(lambda digester: digester.promises.captures))
        object.__setattr__(self, "uncounted", self._outputs_where(lambda digester: not digester.promises.counts))
        traits = {name: makes for digester in self.registry for name, makes in digester.traits.items()}
        object.__setattr__(self, "traits", traits)
        made_by = {name: digester for digester in self.registry for name in digester.outputs}
        classifiers = {name: made_by[name] for name in self.of_form(Form.CLASSIFICATION)}
        object.__setattr__(self, "classifiers", classifiers)
        essential = {kind: tuple(n for n, makes in traits.items() if kind in makes.essential_for) for kind in Kind}
        object.__setattr__(self, "essential", essential)

    def _outputs_where(self, condition: Callable[[Digester], bool]) -> frozenset[str]:
        return frozenset(name for digester in self.registry if condition(digester) for name in digester.outputs)

    def of_form(self, *forms: Form) -> tuple[str, ...]:
        """The outputs of these forms, in the order of the digesters."""
        return tuple(name for name, makes in self.traits.items() if makes.form in forms)

    def preferred(self, form: Form) -> tuple[str, ...]:
        """The outputs of a form, corrections first."""
        return tuple(sorted(self.of_form(form), key=lambda name: self.traits[name].corrects is None))

    def form_of(self, output: str) -> Form:
        """The form of an output's content; DATA if its digester is no longer registered."""
        return self.traits[output].form if output in self.traits else Form.DATA

    def essential_for(self, kind: Kind) -> tuple[str, ...]:
        """The outputs without which a file of this kind counts as unreadable."""
        return self.essential[kind]

    def applicable_outputs(self, file: File) -> list[tuple[str, bool, int]]:
        """Each output, whether it applies to this file, and its weight in the queue: small files come first."""
        size_weight = file.size.bit_length()
        return [
            (name, digester.can_digest(file), size_weight + digester.runs.lane * LANE_SPACING)
            for digester in self.registry
            for name in digester.outputs
        ]

    def lanes(self) -> dict[str, int]:
        """The lane of each output."""
        return {name: int(digester.runs.lane) for digester in self.registry for name in digester.outputs}

    def has_capture(self, name: str, rows: Mapping[str, Digest]) -> bool:
        """Whether the digester of this output has captured the file before; a failure must not delete that capture."""
        if name not in self.captures:
            return False
        siblings = next(digester.outputs for digester in self.registry if name in digester.outputs)
        return any(rows[sibling].content_hash is not None for sibling in siblings if sibling in rows)

    def captured_whole(self, rows: Mapping[str, Digest]) -> frozenset[str]:
        """The outputs of capturing digesters that have completed all their outputs."""
        return frozenset(
            name
            for digester in self.registry
            if digester.promises.captures
            and all(output in rows and rows[output].status is Status.COMPLETED for output in digester.outputs)
            for name in digester.outputs
        )

    def kept_by_reset(self, rows: Mapping[str, Digest]) -> frozenset[str]:
        """The outputs that keep their content at a reset: captures, and for a captured file everything.

        A page may be unavailable for hours, or for ever. Until it is captured again, search must find its old content.
        """
        captured = any(self.has_capture(name, rows) for name in self.captures)
        return frozenset(self.outputs) if captured else self.captures

    def classifiers_of(self, file: File) -> tuple[str, ...]:
        """The outputs that classify files like this one."""
        return tuple(name for name, digester in self.classifiers.items() if digester.can_digest(file))

    def recipes(self) -> list[tuple[str, str]]:
        """The current recipe of each output."""
        return [(name, digester.recipe) for digester in self.registry for name in digester.outputs]

    def refresh_recipes(self) -> None:
        """Compute the recipes anew: engines may have been installed or removed."""
        for digester in self.registry:
            vars(digester).pop("recipe", None)

    def resolve_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Check digester or output names given by a person."""
        known = {d.name for d in self.registry} | set(self.outputs)
        for name in names:
            if name not in known:
                raise UsageError(f"there is no digester called {name!r}; there are: {', '.join(sorted(known))}")
        return tuple(names)
