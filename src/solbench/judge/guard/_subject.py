"""A solution with all that rules ask of it."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.spec import Definition, Solution


@dataclass(frozen=True, slots=True)
class Subject:
    """What is reviewed."""

    solution: Solution
    definition: Definition | None = None
    """The problem's; rules that need it are silent without."""

    @property
    def outputs(self) -> int:
        """How many trailing parameters of the entry are outputs; 0 if it returns them or that is unknown."""
        if self.definition is None or not self.solution.spec.destination_passing_style:
            return 0
        return len(self.definition.outputs)

    @property
    def own_modules(self) -> frozenset[str]:
        """Top-level names that an import finds among the sources."""
        return frozenset(
            source.path.partition("/")[0].removesuffix(".py") for source in self.solution.sources
        )

    @property
    def lower_precision_allowed(self) -> bool:
        own = self.definition.solbench if self.definition is not None else None
        return own is not None and own.policy.lower_precision

    @property
    def libraries_forbidden(self) -> bool:
        own = self.definition.solbench if self.definition is not None else None
        return own is not None and not own.policy.library_calls

    @property
    def dtypes(self) -> frozenset[str]:
        """Of the problem's tensors; empty if it is unknown."""
        if self.definition is None:
            return frozenset()
        tensors = (*self.definition.inputs.values(), *self.definition.outputs.values())
        return frozenset(str(each.dtype) for each in tensors if each.shape is not None)
